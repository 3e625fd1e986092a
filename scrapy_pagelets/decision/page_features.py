"""Features of the leaves of a page: by the page alone, by its site, and by the decision about the leaves around them.

A table says what a classifier is told of each leaf, region or cut, by name; the compiled core computes the columns.

Source of the cues: Chakrabarti, Kumar, Punera 2007 (slides), "Cues used Implicitly by Humans": link density, sentence
size, text outside anchors. The cues that need a browser (placement on screen, background colour, aspect ratio) are not
used: ``docs/algorithms/isotonic-2007.md``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

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


@dataclass(frozen=True)
class Feature:
    """A row of a table."""

    name: str  # its name in model files, and in the core
    about: str  # what it says
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


#: The features of a region. Each leaf has those of the `LEVELS` regions around it, each node those of its own subtree.
REGION: Final = FeatureTable((
    Feature("words", "Words, log.", "few words", "many words"),
    Feature("link_density", "Share of the words in links.", "little text in links", "much text in links"),
    Feature("leaves", "Runs of text, log.", "few runs of text", "many runs of text"),
    Feature("words_per_leaf", "Words of a run of text, log.", "short runs of text", "long runs of text"),
    Feature("share_of_page", "Share of the words of the page.",
            "a small share of the page", "a large share of the page"),
    Feature("headings", "Share of the runs of text in headings.", "few headings", "many headings"),
    Feature("prose", "Share of the words in prose.", "few sentences", "many sentences"),
    Feature("first", "Place of its first leaf on the page, 0 to 1.",
            "it begins early on the page", "it begins late on the page"),
))  # fmt: skip
#: Features of the leaf itself.
_LEAF: Final = (
    Feature("words", "Words, log.", "short runs of text", "long runs of text"),
    Feature("chars_per_word", "Characters by word.", "short words", "long words"),
    Feature("ends_sentence", "It ends like a sentence.", "few ends of sentences", "it ends like a sentence"),
    Feature("starts_upper", "It begins with a capital.", "small letters at the start", "capital letters at the start"),
    Feature("digits", "It has a digit near its beginning.", "few digits", "digits"),
    Feature("anchor", "It is in a link.", "few links", "it is a link"),
    Feature("hidden", "It is hidden.", "it is not hidden", "it is hidden"),
    Feature("depth", "Its depth in the tree.", "it is not deep in the tree", "it is deep in the tree"),
    Feature("position", "Its place among the leaves, 0 to 1.",
            "it stands early on the page", "it stands late on the page"),
    Feature("word_position", "Share of the words up to it.", "little text before it", "much text before it"),
    Feature("from_end", "Words after it, log.", "little text after it", "much text after it"),
    Feature("gap", "The gap to the leaf before.",
            "it follows other text closely", "it stands apart from the text before"),
    Feature("same_shape", "Leaves of its shape, log.",
            "its form is rare on the page", "its form is frequent on the page"),
    Feature("in_title", "The title of the page has its text.",
            "words that the title does not have", "words of the title"),
    Feature("internal", "It is in a link to the same host.", "few links within the site", "links within the site"),
    Feature("fragment", "It is in a link within the page.", "few links within the page", "links within the page"),
    Feature("same_target", "Leaves in links to the same target, log.",
            "no links that repeat others", "links that repeat others"),
    Feature("prev_words", "Words of the leaf before, log.", "little text just before it", "long text just before it"),
    Feature("next_words", "Words of the next leaf, log.", "little text just after it", "long text just after it"),
    Feature("near_words", "Words of seven leaves around it, log.", "little text around it", "much text around it"),
    Feature("heading", "Log odds of the words of the last heading.",
            "a heading typical of content above it", "a heading typical of template above it"),
    Feature("heading_words", "Words since the last heading, log.", "close to its heading", "far from a heading"),
    Feature("lexicon_sum", "Sum of the log odds of the looks around it.",
            "classes and ids typical of content", "classes and ids typical of template"),
    Feature("lexicon_min", "The least of these, at most 0.",
            "a class or id typical of content", "no class or id typical of content"),
    Feature("lexicon_max", "The largest of these, at least 0.",
            "no class or id typical of template", "a class or id typical of template"),
    Feature("lexicon_near", "Those of the nearest look that has some.",
            "a class or id typical of content close to it", "a class or id typical of template close to it"),
)  # fmt: skip
#: Features of the whole page, the same for all leaves.
_PAGE: Final = (
    Feature("page_words", "Words of the page, log."),
    Feature("page_link_density", "Share of its words in links."),
    Feature("page_leaves", "Its runs of text, log."),
    Feature("has_main", "Some text is inside of a main element."),
    Feature("has_article", "Some text is inside of an article."),
    Feature("page_depth", "The depth of its tree."),
)  # fmt: skip
_LANDMARK_WORDS: Final = {"heading": "a heading", "list": "in a list", "p": "in a paragraph"}


def _inside(name: str) -> Feature:
    words = _LANDMARK_WORDS.get(name, f"inside <{name}>")
    no = "it is no heading" if name == "heading" else f"it is not {words}"
    return Feature(f"in_{name}", f"It is inside of: {name}.", no, f"it is {words}")


_OWN: Final = (*_LEAF, *map(_inside, LANDMARKS), *_PAGE)
_KIND: Final = tuple(Feature(f"declared_{kind}", f"The page declares: {kind}.") for kind in _KINDS)
#: The features of a leaf by its page alone.
PAGE: Final = FeatureTable((
    *_OWN,
    *(Feature(f"{row.name}_{level}", row.about) for level in range(LEVELS) for row in REGION.rows),
    *_KIND,
    *(Feature(f"mark_{number}", f"It is inside of mark {number}.") for number in range(OWN_TOKENS)),
))  # fmt: skip
#: Features of a node, for the classifier of the paper: of its region, and the mean of its leaves.
NODE: Final = (*REGION.rows, *_OWN)
NODE_FEATURES: Final = tuple(row.name for row in NODE)
PAGE_FEATURES: Final = PAGE.names
#: The features of the leaf itself, without those of the regions around it; and all but the own_tokens.
OWN_FEATURES: Final = (slice(0, len(_OWN)), slice(len(PAGE_FEATURES) - OWN_TOKENS - len(_KIND), len(PAGE_FEATURES)))
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
#: What log odds of a classifier there are: of the page itself, of the same node of other pages, of nodes of its shape.
_ODDS: Final = {
    "odds": "by the page itself",
    "odds_path": "of the same node on other pages",
    "odds_shape": "of nodes of its shape on other pages",
}
_AROUND: Final = {
    "rank": "rank among the leaves",
    "prev": "log odds of the leaf before",
    "next": "log odds of the next leaf",
    "near": "mean log odds of seven leaves around it",
}
_CONTAINER: Final = {
    "inside": "whether it is inside of the container",
    "above": "levels from the container up to the ancestor that both share",
    "branch": "content minus template words, over all words, of the branch of that ancestor with the leaf",
    "margin": "content minus template words of the container, over those of all content leaves",
    "share": "share of the container in all words",
}


def _by_odds(prefix: str) -> tuple[Feature, ...]:
    return tuple(
        Feature(f"{prefix}{classifier}_{kind}", f"Log odds by {classifier}, {about}.")
        for classifier in _CLASSIFIERS
        for kind, about in _ODDS.items()
    )


#: Features of the leaf. Shares are of the other pages of the site, or of the page's class.
_OF_SITE: Final = (
    Feature("site_pages", "Other pages of the site, log."),
    Feature("site_class_pages", "Other pages of the class, log."),
    Feature("site_text", "Share of the pages with the text."),
    Feature("site_placed", "Share with the text at its path."),
    Feature("site_path", "Share with the path."),
    Feature("site_variants", "Different texts at the path, by page."),
    Feature("site_values", "How likely two pages differ in the text at the path, digits as they are."),
    Feature("site_prev_values", "The same of the leaf before."),
    Feature("site_next_values", "The same of the next leaf."),
    Feature("site_target", "Share of the pages with a link to the target of its link."),
    Feature("site_prev_text", "Share of the pages with the text of the leaf before; of the last one for the first."),
    Feature("site_next_text", "Share of the pages with the text of the next leaf; of the first one for the last."),
    Feature("site_page_text", "Mean share of the pages with a text, over the words of the page."),
    Feature("site_class_text", "Share of the class with the text."),
    Feature("site_class_path", "Share of the class with the path."),
)  # fmt: skip
#: Features of a region.
_REGION: Final = (
    *_by_odds(""),
    Feature("text", "Mean share of the pages with a text, by words."),
    Feature("path", "Share of the pages with the path."),
    Feature("exact", "Share with all of its text."),
    Feature("links", "Share with its set of links."),
    Feature("linked", "Share of the pages with the node on which it is mostly links."),
    Feature("target", "Mean share of the pages with a link to a target."),
    Feature("class_text", "Mean share of the class with a text, by words."),
    Feature("class_path", "Share of the class with the path."),
    Feature("fresh", "Share of its words that are new on a page."),
    Feature("mass", "New words of a page, log."),
    Feature("mass_share", "Its share of the new words of the page."),
)  # fmt: skip
#: The features of a leaf by the other pages of its site.
SITE: Final = FeatureTable((
    *_OF_SITE,
    *_by_odds("site_"),
    *(Feature(f"site_{classifier}_{by}_{name}", f"By the log odds of {classifier}, {by}: {about}.")
      for classifier in _CLASSIFIERS for by in ("page", "pooled") for name, about in (_AROUND | _CONTAINER).items()),
    *(Feature(f"site_{row.name}_{level}", row.about) for level in range(LEVELS) for row in _REGION),
))  # fmt: skip
SITE_FEATURES: Final = SITE.names

give("features", SITE=SITE)

_REACH: Final = (2, 6, 20)  # numbers of leaves before and after a leaf over which log odds are averaged
_LEVELS: Final = 4  # regions around a leaf whose siblings, and whose repetitions on the page, are looked at
_BARS: Final = (0.25, 0.5, 0.75)  # probabilities of content that a run of leaves must exceed on average, see `_run`
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75)  # shares of the words of a page at which the log odds are read off
_HEADING_LEVEL: Final = np.zeros(max(TAG.values()) + 1, np.int64)
for _level in range(1, 7):
    _HEADING_LEVEL[TAG[f"h{_level}"]] = _level

_RUN: Final = {
    "in": "whether it is inside",
    "from_start": "words from the start, log, with a sign",
    "from_end": "words to the end, log, with a sign",
    "share": "share of the words of the page",
    "purity": "share of content in its words",
    "mass": "share of the content of the page",
}
_SIBLING: Final = {
    "before": "mean log odds of the sibling with text before the region",
    "after": "mean log odds of the sibling with text after the region",
    "words_before": "words of the sibling before, log",
    "words_after": "words of the sibling after, log",
    "mean": "mean log odds of the region",
}
_SECTION: Final = {
    "mean": "mean log odds of the text",
    "words": "words of the text, log",
    "links": "share of the text in links",
    "heading": "mean log odds of the heading",
    "level": "level of the heading",
    "number": "place among the sections, 0 to 1",
    "before": "mean log odds of the section before",
    "after": "mean log odds of the next section",
}
_RECORD: Final = {
    "count": "their number, log",
    "content": "share of content in their words",
    "mass": "share of the content of the page",
}

#: The features of a leaf by its context. Content and its words are expected values.
CONTEXT: Final = FeatureTable((
    Feature("context_mean", "Mean probability of content, by content."),
    Feature("context_share", "Share of content in the words of the page."),
    Feature("context_mass", "Words of content of the page, log."),
    Feature("context_sure", "Share of the words that are surely content."),
    Feature("context_unsure", "Share of the words in doubt."),
    Feature("context_best", "The best expected F1 of a cut of the page."),
    Feature("context_prose", "Share of prose in the content."),
    *(Feature(f"context_quantile_{share}", f"Log odds up to which {share} of the words lie.") for share in _QUANTILES),
    Feature("context_odds", "Log odds of the leaf."),
    Feature("context_above", "Share of the content in leaves that are likelier content."),
    Feature("context_precision", "Share of content in these leaves and this one."),
    Feature("context_kept", "Their share of the words of the page."),
    Feature("context_expected", "Expected F1 if they are kept, over the best one."),
    Feature("context_from_best", "Log odds beyond the cut of the best expected F1."),
    *(Feature(f"run_{bar}_{name}", f"Run of leaves, bar {bar}: {about}.")
      for bar in _BARS for name, about in _RUN.items()),
    *(Feature(f"{side}_{reach}", f"Mean log odds of {reach} leaves {side} it, by words.")
      for reach in _REACH for side in ("before", "after")),
    *(Feature(f"sibling_{name}_{k}", f"Region {k}: {about}.")
      for k in range(_LEVELS) for name, about in _SIBLING.items()),
    *(Feature(f"region_mass_{k}", f"Share of region {k} in the content of the page.") for k in range(_LEVELS)),
    *(Feature(f"section_{name}", f"Section: {about}.") for name, about in _SECTION.items()),
    Feature("after_h1", "Words from the first heading of level 1, log, with a sign."),
    *(Feature(f"record_{name}_{k}", f"Regions of the shape of region {k}: {about}.")
      for k in range(1, _LEVELS) for name, about in _RECORD.items()),
))  # fmt: skip
CONTEXT_FEATURES: Final = CONTEXT.names

give("features", CONTEXT=CONTEXT, HEADING_LEVEL=_HEADING_LEVEL)
