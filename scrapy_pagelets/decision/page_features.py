"""Features of the leaves of a page: by the page alone, by its site, and by the decision about the leaves around them.

A table says what a classifier is told of each leaf, region or cut, by name; the compiled core computes the columns.

Source of the cues: Chakrabarti, Kumar, Punera 2007 (slides), "Cues used Implicitly by Humans": link density, sentence
size, text outside anchors. The cues that need a browser (placement on screen, background colour, aspect ratio) are not
used: ``docs/algorithms/isotonic-2007.md``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import context_features as context_features
from scrapy_pagelets.core.features import page_features as page_features
from scrapy_pagelets.core.features import region_features
from scrapy_pagelets.core.features import site_features as site_features
from scrapy_pagelets.page.looks import LANDMARKS
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable
from scrapy_pagelets.page.page import Page

LEVELS: Final = 6  # number of nested regions around a leaf that give features
OWN_TOKENS: Final = 48  # number of tokens that give features of their own, see `page_features`
REACH: Final = 3  # number of leaves before and after a leaf that are near
PROSE: Final = 10  # words of a run of text, without links, that is prose
_ALL_LANDMARKS: Final = sum(LANDMARKS.values())
#: Types of Open Graph and schema.org that say the same.
_KINDS: Final = {
    "article": ("article", "blogposting"),
    "product": ("product",),
    "discussion": ("discussion", "qapage", "question"),
}
_SCHEMA_TYPE: Final = lazily(r'"@type"\s*:\s*"(\w+)"')


class Feature(NamedTuple):
    """A row of a table."""

    name: str  # its name in model files, and in the core
    #: what the inspector says of a node whose value is below or above the mean of its page
    less: str = ""
    more: str = ""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """An ordered table of features."""

    rows: tuple[Feature, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(row.name for row in self.rows)


def table(*rows: Feature | str) -> FeatureTable:
    """A table of features; the inspector says nothing of those that are given by their name alone."""
    return FeatureTable(tuple(row if isinstance(row, Feature) else Feature(row) for row in rows))


#: The features of a region. Each leaf has those of the `LEVELS` regions around it, each node those of its own subtree.
REGION: Final = table(
    Feature("words", "few words", "many words"),  # log
    Feature("link_density", "little text in links", "much text in links"),  # share of the words
    Feature("leaves", "few runs of text", "many runs of text"),  # log
    Feature("words_per_leaf", "short runs of text", "long runs of text"),  # log
    Feature("share_of_page", "a small share of the page", "a large share of the page"),  # of its words
    Feature("headings", "few headings", "many headings"),  # share of the runs of text
    Feature("prose", "few sentences", "many sentences"),  # share of the words
    Feature("first", "it begins early on the page", "it begins late on the page"),  # place of its first leaf, 0 to 1
)
#: Features of the leaf itself.
_LEAF: Final = (
    Feature("words", "short runs of text", "long runs of text"),  # log
    Feature("chars_per_word", "short words", "long words"),
    Feature("ends_sentence", "few ends of sentences", "it ends like a sentence"),
    Feature("starts_upper", "small letters at the start", "capital letters at the start"),
    Feature("digits", "few digits", "digits"),  # near its beginning
    Feature("anchor", "few links", "it is a link"),  # or in one
    Feature("hidden", "it is not hidden", "it is hidden"),
    Feature("depth", "it is not deep in the tree", "it is deep in the tree"),
    Feature("position", "it stands early on the page", "it stands late on the page"),  # among the leaves, 0 to 1
    Feature("word_position", "little text before it", "much text before it"),  # share of the words up to it
    Feature("from_end", "little text after it", "much text after it"),  # words, log
    Feature("gap", "it follows other text closely", "it stands apart from the text before"),
    Feature("same_shape", "its form is rare on the page", "its form is frequent on the page"),  # leaves, log
    Feature("in_title", "words that the title does not have", "words of the title"),
    Feature("internal", "few links within the site", "links within the site"),  # in a link to the same host
    Feature("fragment", "few links within the page", "links within the page"),
    Feature("same_target", "no links that repeat others", "links that repeat others"),  # leaves in such links, log
    Feature("prev_words", "little text just before it", "long text just before it"),  # of the leaf before, log
    Feature("next_words", "little text just after it", "long text just after it"),  # of the next leaf, log
    Feature("near_words", "little text around it", "much text around it"),  # of seven leaves, log
    # log odds of the words of the last heading
    Feature("heading", "a heading typical of content above it", "a heading typical of template above it"),
    Feature("heading_words", "close to its heading", "far from a heading"),  # words since the last heading, log
    # log odds of the looks around it: their sum, the least, at most 0, the largest, at least 0, and the nearest
    Feature("lexicon_sum", "classes and ids typical of content", "classes and ids typical of template"),
    Feature("lexicon_min", "a class or id typical of content", "no class or id typical of content"),
    Feature("lexicon_max", "no class or id typical of template", "a class or id typical of template"),
    Feature("lexicon_near", "a class or id typical of content close by", "a class or id typical of template close by"),
)
#: Features of the whole page, the same for all leaves: its words and leaves, log, the share of its words in links,
#: whether some text is inside of these elements, and the depth of its tree.
_PAGE: Final = ("page_words", "page_link_density", "page_leaves", "has_main", "has_article", "page_depth")
_LANDMARK_WORDS: Final = {"heading": "a heading", "list": "in a list", "p": "in a paragraph"}


def _inside(name: str) -> Feature:
    words = _LANDMARK_WORDS.get(name, f"inside <{name}>")
    return Feature(f"in_{name}", "it is no heading" if name == "heading" else f"it is not {words}", f"it is {words}")


_OWN: Final = table(*_LEAF, *map(_inside, LANDMARKS), *_PAGE).rows
#: The features of a leaf by its page alone: those of regions, what the page declares, and the marks that it is inside.
PAGE: Final = table(
    *_OWN,
    *(f"{name}_{level}" for level in range(LEVELS) for name in REGION.names),
    *(f"declared_{kind}" for kind in _KINDS),
    *(f"mark_{number}" for number in range(OWN_TOKENS)),
)
#: Features of a node, for the classifier of the paper: of its region, and the mean of its leaves.
NODE: Final = (*REGION.rows, *_OWN)
NODE_FEATURES: Final = tuple(row.name for row in NODE)
PAGE_FEATURES: Final = PAGE.names
#: The features of the leaf itself, without those of the regions around it; and all but the own_tokens.
OWN_FEATURES: Final = (slice(0, len(_OWN)), slice(len(PAGE_FEATURES) - OWN_TOKENS - len(_KINDS), len(PAGE_FEATURES)))
SHARED_FEATURES: Final = slice(0, len(PAGE_FEATURES) - OWN_TOKENS)


def node_features(page: Page, columns: NDArray[np.float32]) -> Floats:
    """(n, len(NODE_FEATURES)) those of each node's region, and the mean of its leaves' `page_features` by words."""
    nodes = page.nodes
    weight = nodes.words.astype(np.float64) + 0.1  # leaves without words, such as a bullet, have a small weight
    summed = np.zeros((len(weight) + 1, len(_OWN)))
    np.cumsum(columns[:, : len(_OWN)] * weight[:, None], axis=0, out=summed[1:])
    share = nodes.sum_below(weight)
    mean = (summed[nodes.last_leaf] - summed[nodes.first_leaf]) / np.maximum(share, 0.05)[:, None]
    return np.hstack([region_features(nodes), mean])


@once
def declared(page: Page) -> dict[str, bool]:
    """Whether the head of the page declares an article, a product, a discussion: in Open Graph, or in JSON-LD."""
    kinds = {meta.content.strip().lower() for meta in page.metas if meta.property.lower() == "og:type"}
    for script in page.declared["script"]:
        if "ld+json" in script.get("type", ""):
            kinds.update(kind.lower() for kind in _SCHEMA_TYPE.findall(script.text or ""))
    return {name: any(word in kind for kind in kinds for word in words) for name, words in _KINDS.items()}


def headings(nodes: NodeTable) -> Ints:
    """(m,) index of the last heading leaf at or before each leaf, -1 for none."""
    landmarks = nodes.inherit((nodes.signs & _ALL_LANDMARKS)[nodes.look], np.bitwise_or)[nodes.leaves]
    is_heading = landmarks & LANDMARKS["heading"] > 0
    return np.maximum.accumulate(np.where(is_heading, np.arange(len(is_heading)), -1))


give(
    "features", REGION=REGION, PAGE=PAGE, OF_NODE=len(NODE), LANDMARKS=LANDMARKS, ALL_LANDMARKS=_ALL_LANDMARKS,
    TEXT=TEXT, declared=declared,
)  # fmt: skip

#: The page-level classifiers, in the order of the columns of their log odds, see `evidence.CLASSIFIERS`.
_CLASSIFIERS: Final = ("trees", "classifier")
#: Log odds of a classifier: of the page itself, of the same node of other pages, of nodes of its shape on other pages.
_ODDS: Final = ("odds", "odds_path", "odds_shape")
#: Rank of the leaf among the leaves; log odds of the leaf before, of the next one, and the mean of seven around it.
_AROUND: Final = ("rank", "prev", "next", "near")
#: Whether it is inside of the container; levels from that up to the ancestor that both share; content minus template
#: words, over all words, of the branch of that ancestor with the leaf; content minus template words of the container,
#: over those of all content leaves; and its share in all words.
_CONTAINER: Final = ("inside", "above", "branch", "margin", "share")
#: Features of the leaf. Shares are of the other pages of the site, or of the page's class.
_OF_SITE: Final = (
    "site_pages",  # other pages of the site, log
    "site_class_pages",  # other pages of the class, log
    "site_text",  # share of the pages with the text
    "site_placed",  # share with the text at its path
    "site_path",  # share with the path
    "site_variants",  # different texts at the path, by page
    "site_values",  # how likely two pages differ in the text at the path, digits as they are
    "site_prev_values",  # the same of the leaf before
    "site_next_values",  # the same of the next leaf
    "site_target",  # share of the pages with a link to the target of its link
    "site_prev_text",  # share of the pages with the text of the leaf before; of the last one for the first
    "site_next_text",  # share of the pages with the text of the next leaf; of the first one for the last
    "site_page_text",  # mean share of the pages with a text, over the words of the page
    "site_class_text",  # share of the class with the text
    "site_class_path",  # share of the class with the path
    *(f"site_{classifier}_{odds}" for classifier in _CLASSIFIERS for odds in _ODDS),
)
#: Features of a region.
_REGION: Final = (
    *(f"{classifier}_{odds}" for classifier in _CLASSIFIERS for odds in _ODDS),
    "text",  # mean share of the pages with a text, by words
    "path",  # share of the pages with the path
    "exact",  # share with all of its text
    "links",  # share with its set of links
    "linked",  # share of the pages with the node on which it is mostly links
    "target",  # mean share of the pages with a link to a target
    "class_text",  # mean share of the class with a text, by words
    "class_path",  # share of the class with the path
    "fresh",  # share of its words that are new on a page
    "mass",  # new words of a page, log
    "mass_share",  # its share of the new words of the page
)
#: The features of a leaf by the other pages of its site.
SITE: Final = table(
    *_OF_SITE,
    *(f"site_{c}_{by}_{name}" for c in _CLASSIFIERS for by in ("page", "pooled") for name in (*_AROUND, *_CONTAINER)),
    *(f"site_{name}_{level}" for level in range(LEVELS) for name in _REGION),
)
SITE_FEATURES: Final = SITE.names

give("features", SITE=SITE)

_REACH: Final = (2, 6, 20)  # numbers of leaves before and after a leaf over which log odds are averaged
_LEVELS: Final = 4  # regions around a leaf whose siblings, and whose repetitions on the page, are looked at
_BARS: Final = (0.25, 0.5, 0.75)  # probabilities of content that a run of leaves must exceed on average, see `_run`
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75)  # shares of the words of a page at which the log odds are read off
_HEADING_LEVEL: Final = np.zeros(max(TAG.values()) + 1, np.int64)
for _level in range(1, 7):
    _HEADING_LEVEL[TAG[f"h{_level}"]] = _level

_RUN: Final = (
    "in",  # whether it is inside
    "from_start",  # words from the start, log, with a sign
    "from_end",  # words to the end, log, with a sign
    "share",  # share of the words of the page
    "purity",  # share of content in its words
    "mass",  # share of the content of the page
)
#: Mean log odds and words, log, of the siblings with text before and after a region, and its own mean log odds.
_SIBLING: Final = ("before", "after", "words_before", "words_after", "mean")
_SECTION: Final = (
    "mean",  # mean log odds of the text
    "words",  # words of the text, log
    "links",  # share of the text in links
    "heading",  # mean log odds of the heading
    "level",  # level of the heading
    "number",  # place among the sections, 0 to 1
    "before",  # mean log odds of the section before
    "after",  # mean log odds of the next section
)
#: Of the regions of one shape: their number, log, the share of content in them, and theirs of the content of the page.
_RECORD: Final = ("count", "content", "mass")

#: The features of a leaf by its context. Content and its words are expected values.
CONTEXT: Final = table(
    "context_mean",  # mean probability of content, by content
    "context_share",  # share of content in the words of the page
    "context_mass",  # words of content of the page, log
    "context_sure",  # share of the words that are surely content
    "context_unsure",  # share of the words in doubt
    "context_best",  # the best expected F1 of a cut of the page
    "context_prose",  # share of prose in the content
    *(f"context_quantile_{share}" for share in _QUANTILES),  # log odds up to which this share of the words lies
    "context_odds",  # log odds of the leaf
    "context_above",  # share of the content in leaves that are likelier content
    "context_precision",  # share of content in these leaves and this one
    "context_kept",  # their share of the words of the page
    "context_expected",  # expected F1 if they are kept, over the best one
    "context_from_best",  # log odds beyond the cut of the best expected F1
    *(f"run_{bar}_{name}" for bar in _BARS for name in _RUN),
    *(f"{side}_{reach}" for reach in _REACH for side in ("before", "after")),  # mean log odds of leaves, by words
    *(f"sibling_{name}_{k}" for k in range(_LEVELS) for name in _SIBLING),
    *(f"region_mass_{k}" for k in range(_LEVELS)),  # share of region k in the content of the page
    *(f"section_{name}" for name in _SECTION),
    "after_h1",  # words from the first heading of level 1, log, with a sign
    *(f"record_{name}_{k}" for k in range(1, _LEVELS) for name in _RECORD),  # regions of the shape of region k
)
CONTEXT_FEATURES: Final = CONTEXT.names

give("features", CONTEXT=CONTEXT, HEADING_LEVEL=_HEADING_LEVEL)
