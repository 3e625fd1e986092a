"""Features of the leaves of a page by the page alone, and of the regions around them; what a table of features is.

A table says what a classifier is told of each leaf, region or cut, by name; the compiled core computes the columns.

Source of the cues: Chakrabarti, Kumar, Punera 2007 (slides), "Cues used Implicitly by Humans": link density, sentence
size, text outside anchors. The cues that need a browser (placement on screen, background colour, aspect ratio) are not
used: ``docs/algorithms/isotonic-2007.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import page_features as page_features
from scrapy_pagelets.core.features import region_features
from scrapy_pagelets.page.looks import LANDMARKS
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page

#: Number of nested regions around a leaf that give features.
LEVELS: Final = 6
#: Number of tokens that give features of their own, see `page_features`.
OWN_TOKENS: Final = 48
#: Number of leaves before and after a leaf that are near.
REACH: Final = 3
#: Words of a run of text, without links, that is prose.
PROSE: Final = 10
_ALL_LANDMARKS: Final = sum(LANDMARKS.values())
#: Types of Open Graph and schema.org that say the same.
_KINDS: Final = {
    "article": ("article", "blogposting"),
    "product": ("product",),
    "discussion": ("discussion", "qapage", "question"),
}
_SCHEMA_TYPE: Final = re.compile(r'"@type"\s*:\s*"(\w+)"')


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
OWN_FEATURES: Final = (
    slice(0, len(_OWN)),
    slice(len(PAGE_FEATURES) - OWN_TOKENS - len(_KIND), len(PAGE_FEATURES)),
)
SHARED_FEATURES: Final = slice(0, len(PAGE_FEATURES) - OWN_TOKENS)


def node_features(page: Page, columns: NDArray[np.float32]) -> Floats:
    """(n, len(NODE_FEATURES)) features of each node: those of its region, and the mean of its leaves by words.

    Parameters
    ----------
    columns : (m, len(PAGE_FEATURES)) result of ``page_features``
    """
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
    is_heading = _landmarks(nodes) & LANDMARKS["heading"] > 0
    return np.maximum.accumulate(np.where(is_heading, np.arange(len(is_heading)), -1))


def _landmarks(nodes: NodeTable) -> Ints:
    """(m,) the landmarks around each leaf, as bits."""
    return nodes.inherit((nodes.signs & _ALL_LANDMARKS)[nodes.look], np.bitwise_or)[nodes.leaves]


give(
    "features", REGION=REGION, PAGE=PAGE, OF_NODE=len(NODE), LANDMARKS=LANDMARKS, ALL_LANDMARKS=_ALL_LANDMARKS,
    TEXT=TEXT, declared=declared,
)  # fmt: skip
