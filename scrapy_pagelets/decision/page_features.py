"""Features of the leaves of a page by the page alone, and of the regions around them.

Source of the cues: Chakrabarti, Kumar, Punera 2007 (slides), "Cues used Implicitly by Humans": link density, sentence
size, text outside anchors. The cues that need a browser (placement on screen, background colour, aspect ratio) are not
used: ``docs/algorithms/isotonic-2007.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints, of_window
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import page_features as page_features
from scrapy_pagelets.decision.features import Feature, FeatureTable
from scrapy_pagelets.decision.lexicon import Lexicon, heading_odds, look_odds, own_tokens_of
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
#: Distance to the last heading if there is none, in words on a log scale.
_FAR: Final = 9.0
_ALL_LANDMARKS: Final = sum(LANDMARKS.values())
_ENDS: Final = ".!?…。！？:;"
_DIGIT: Final = re.compile(r"\d").search
#: Types of Open Graph and schema.org that say the same.
_KINDS: Final = {
    "article": ("article", "blogposting"),
    "product": ("product",),
    "discussion": ("discussion", "qapage", "question"),
}
_SCHEMA_TYPE: Final = re.compile(r'"@type"\s*:\s*"(\w+)"')


class RegionMeasures:
    """What is measured of the subtree of each row of a page."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.count = len(nodes)
        self.leaves = nodes.last_leaf - nodes.first_leaf
        self.words = nodes.words.astype(np.float64)
        self.linked = self.words * nodes.anchor[nodes.leaves]
        self.total = self.nodes.sum_below(self.words)
        self.floor = np.maximum(1, self.total)

    @cached_property
    def headings(self) -> Floats:
        """(n,) number of leaves in headings."""
        return self.nodes.sum_below((_landmarks(self.nodes) & LANDMARKS["heading"] > 0).astype(np.float64))

    @cached_property
    def prose(self) -> Floats:
        """(n,) words of prose."""
        return self.nodes.sum_below(np.where((self.words >= PROSE) & (self.linked == 0), self.words, 0.0))


#: The features of a region. Each leaf has those of the `LEVELS` regions around it, each node those of its own subtree.
REGION: Final = FeatureTable(RegionMeasures, (
    Feature("words", "Words, log.", lambda of: np.log1p(of.total), "few words", "many words"),
    Feature("link_density", "Share of the words in links.", lambda of: of.nodes.sum_below(of.linked) / of.floor,
            "little text in links", "much text in links"),
    Feature("leaves", "Runs of text, log.", lambda of: np.log1p(of.leaves), "few runs of text", "many runs of text"),
    Feature("words_per_leaf", "Words of a run of text, log.",
            lambda of: np.log1p(of.total / np.maximum(1, of.leaves)), "short runs of text", "long runs of text"),
    Feature("share_of_page", "Share of the words of the page.", lambda of: of.total / max(1.0, float(of.words.sum())),
            "a small share of the page", "a large share of the page"),
    Feature("headings", "Share of the runs of text in headings.",
            lambda of: of.headings / np.maximum(1, of.leaves), "few headings", "many headings"),
    Feature("prose", "Share of the words in prose.", lambda of: of.prose / of.floor,
            "few sentences", "many sentences"),
    Feature("first", "Place of its first leaf on the page, 0 to 1.",
            lambda of: of.nodes.first_leaf / max(1, len(of.words)),
            "it begins early on the page", "it begins late on the page"),
))  # fmt: skip


class LeafMeasures:
    """What is measured of each leaf of a page, see `page_features` for the parameters."""

    def __init__(self, page: Page, lexicon: Lexicon, own_tokens: Sequence[int] = ()) -> None:
        self.page = page
        self.nodes = page.nodes
        self.count = len(self.nodes.leaves)
        self.text = self.nodes.strings
        self._lexicon = lexicon
        self._own_tokens = own_tokens

    @cached_property
    def words(self) -> Floats:
        """(m,) words."""
        return self.nodes.words.astype(np.float64)

    @cached_property
    def log(self) -> Floats:
        """(m,) words, log."""
        return np.log1p(self.words)

    @cached_property
    def total(self) -> float:
        """Words of the page, at least 1."""
        return max(1.0, float(self.words.sum()))

    @cached_property
    def seen(self) -> Floats:
        """(m,) words up to each leaf, with its own."""
        return np.cumsum(self.words)

    @cached_property
    def title(self) -> str:
        """Title of the page in lower case."""
        return self.page.title.casefold()

    @cached_property
    def landmarks(self) -> Ints:
        """(m,) the landmarks around each leaf, as bits."""
        return _landmarks(self.nodes)

    @cached_property
    def near(self) -> Floats:
        """(m,) words of each leaf and of those near it."""
        far = self.count > 2 * REACH
        return of_window(self.words, REACH)[0] if far else np.full(self.count, self.total)

    @cached_property
    def target(self) -> dict[str, Ints]:
        """(m,) key of the link around each leaf, whether it leads to the same host, and whether to the same page."""
        nodes, links = self.nodes, self.nodes.links
        found = {name: np.zeros(len(nodes), np.int64) for name in ("key", "internal", "fragment")}
        if len(links.row):
            host = self.page.base.split("/")[2] if self.page.base.count("/") > 1 else ""
            found["key"][links.row] = links.key
            found["internal"][links.row] = [t.split("/", 3)[2] == host if t else 0 for t in links.target]
            found["fragment"][links.row] = [h.lstrip().startswith("#") for h in links.href]
        for rows in nodes.levels[1:]:
            free = rows[found["key"][rows] == 0]
            for column in found.values():
                column[free] = column[nodes.parent[free]]
        return {name: column[nodes.leaves] for name, column in found.items()}

    @cached_property
    def heading(self) -> Ints:
        """(m,) the last heading leaf at or before each leaf, -1 for none."""
        return headings(self.nodes)

    @cached_property
    def heading_odds(self) -> Floats:
        """(m,) log odds by the words of that heading; 0 for none."""
        odds = np.zeros(self.count + 1)  # the last entry is for leaves without a heading
        for leaf in np.unique(self.heading[self.heading >= 0]).tolist():
            odds[leaf] = heading_odds(self.text[leaf], self._lexicon)
        return odds[self.heading]

    @cached_property
    def after_heading(self) -> Floats:
        """(m,) words from that heading on, log."""
        begun = np.cumsum(self.nodes.words) - self.nodes.words
        return np.where(self.heading >= 0, np.log1p(np.maximum(0, begun - begun[self.heading])), _FAR)

    @cached_property
    def look_odds(self) -> dict[str, Floats]:
        """(m,) log odds of the looks of the elements around each leaf: sum, minimum, maximum, and of the nearest."""
        nodes = self.nodes
        own = np.array([look_odds(look, self._lexicon) for look in nodes.looks])[nodes.look]
        own[nodes.tag == TEXT] = 0
        summed, least, most, near = own.copy(), np.minimum(own, 0), np.maximum(own, 0), own.copy()
        for rows in nodes.levels[1:]:
            above = nodes.parent[rows]
            summed[rows] += summed[above]
            least[rows] = np.minimum(least[rows], least[above])
            most[rows] = np.maximum(most[rows], most[above])
            near[rows] = np.where(own[rows] != 0, own[rows], near[above])
        return {"sum": summed[nodes.leaves], "min": least[nodes.leaves], "max": most[nodes.leaves],
                "near": near[nodes.leaves]}  # fmt: skip

    @cached_property
    def own_tokens(self) -> Ints:
        """(m,) which of the own_tokens each leaf is inside of, as bits."""
        nodes = self.nodes
        own = np.array([own_tokens_of(look, self._own_tokens) for look in nodes.looks], np.int64)[nodes.look]
        return nodes.inherit(own, np.bitwise_or)[nodes.leaves]

    @cached_property
    def regions(self) -> NDArray[np.float32]:
        """(LEVELS, m, len(REGION.rows)) features of the regions around each leaf."""
        return REGION.columns(self.nodes)[regions(self.nodes)]


#: Features of the leaf itself.
_LEAF: Final[tuple[Feature[LeafMeasures], ...]] = (
    Feature("words", "Words, log.", lambda of: of.log, "short runs of text", "long runs of text"),
    Feature("chars_per_word", "Characters by word.",
            lambda of: np.array(list(map(len, of.text))) / np.maximum(1, of.words), "short words", "long words"),
    Feature("ends_sentence", "It ends like a sentence.", lambda of: [text[-1] in _ENDS for text in of.text],
            "few ends of sentences", "it ends like a sentence"),
    Feature("starts_upper", "It begins with a capital.", lambda of: [text[0].isupper() for text in of.text],
            "small letters at the start", "capital letters at the start"),
    Feature("digits", "It has a digit near its beginning.",
            lambda of: [_DIGIT(text, 0, 40) is not None for text in of.text], "few digits", "digits"),
    Feature("anchor", "It is in a link.", lambda of: of.nodes.anchor[of.nodes.leaves], "few links", "it is a link"),
    Feature("hidden", "It is hidden.", lambda of: of.nodes.hidden[of.nodes.leaves],
            "it is not hidden", "it is hidden"),
    Feature("depth", "Its depth in the tree.", lambda of: of.nodes.depth[of.nodes.leaves],
            "it is not deep in the tree", "it is deep in the tree"),
    Feature("position", "Its place among the leaves, 0 to 1.", lambda of: np.arange(of.count) / max(1, of.count),
            "it stands early on the page", "it stands late on the page"),
    Feature("word_position", "Share of the words up to it.", lambda of: of.seen / of.total,
            "little text before it", "much text before it"),
    Feature("from_end", "Words after it, log.", lambda of: np.log1p(of.total - of.seen),
            "little text after it", "much text after it"),
    Feature("gap", "The gap to the leaf before.", lambda of: of.nodes.gap,
            "it follows other text closely", "it stands apart from the text before"),
    Feature("same_shape", "Leaves of its shape, log.",
            lambda of: np.log1p(_repeats(of.nodes.shape[of.nodes.leaves])),
            "its form is rare on the page", "its form is frequent on the page"),
    Feature("in_title", "The title of the page has its text.",
            lambda of: [3 < len(text) <= len(of.title) and text.casefold() in of.title for text in of.text],
            "words that the title does not have", "words of the title"),
    Feature("internal", "It is in a link to the same host.", lambda of: of.target["internal"],
            "few links within the site", "links within the site"),
    Feature("fragment", "It is in a link within the page.", lambda of: of.target["fragment"],
            "few links within the page", "links within the page"),
    Feature("same_target", "Leaves in links to the same target, log.",
            lambda of: np.log1p(np.where(of.target["key"] != 0, _repeats(of.target["key"]), 0)),
            "no links that repeat others", "links that repeat others"),
    Feature("prev_words", "Words of the leaf before, log.", lambda of: before(of.log),
            "little text just before it", "long text just before it"),
    Feature("next_words", "Words of the next leaf, log.", lambda of: after(of.log),
            "little text just after it", "long text just after it"),
    Feature("near_words", "Words of seven leaves around it, log.", lambda of: np.log1p(of.near),
            "little text around it", "much text around it"),
    Feature("heading", "Log odds of the words of the last heading.", lambda of: of.heading_odds,
            "a heading typical of content above it", "a heading typical of template above it"),
    Feature("heading_words", "Words since the last heading, log.", lambda of: of.after_heading,
            "close to its heading", "far from a heading"),
    Feature("lexicon_sum", "Sum of the log odds of the looks around it.", lambda of: of.look_odds["sum"],
            "classes and ids typical of content", "classes and ids typical of template"),
    Feature("lexicon_min", "The least of these, at most 0.", lambda of: of.look_odds["min"],
            "a class or id typical of content", "no class or id typical of content"),
    Feature("lexicon_max", "The largest of these, at least 0.", lambda of: of.look_odds["max"],
            "no class or id typical of template", "a class or id typical of template"),
    Feature("lexicon_near", "Those of the nearest look that has some.", lambda of: of.look_odds["near"],
            "a class or id typical of content close to it", "a class or id typical of template close to it"),
)  # fmt: skip
#: Features of the whole page, the same for all leaves.
_PAGE: Final[tuple[Feature[LeafMeasures], ...]] = (
    Feature("page_words", "Words of the page, log.", lambda of: np.log1p(of.total)),
    Feature("page_link_density", "Share of its words in links.",
            lambda of: (of.words * of.nodes.anchor[of.nodes.leaves]).sum() / of.total),
    Feature("page_leaves", "Its runs of text, log.", lambda of: np.log1p(of.count)),
    Feature("has_main", "Some text is inside of a main element.",
            lambda of: (of.landmarks & LANDMARKS["main"]).any()),
    Feature("has_article", "Some text is inside of an article.",
            lambda of: (of.landmarks & LANDMARKS["article"]).any()),
    Feature("page_depth", "The depth of its tree.", lambda of: of.nodes.depth.max()),
)  # fmt: skip
_LANDMARK_WORDS: Final = {"heading": "a heading", "list": "in a list", "p": "in a paragraph"}


def _inside(name: str) -> Feature[LeafMeasures]:
    bit, words = LANDMARKS[name], _LANDMARK_WORDS.get(name, f"inside <{name}>")
    no = "it is no heading" if name == "heading" else f"it is not {words}"
    return Feature(f"in_{name}", f"It is inside of: {name}.", lambda of: of.landmarks & bit > 0, no, f"it is {words}")


def _of_region(level: int, number: int) -> Feature[LeafMeasures]:
    row = REGION.rows[number]
    return Feature(f"{row.name}_{level}", row.about, lambda of: of.regions[level, :, number])


def _declared(kind: str) -> Feature[LeafMeasures]:
    return Feature(f"declared_{kind}", f"The page declares: {kind}.", lambda of: declared(of.page)[kind])


def _own_token(number: int) -> Feature[LeafMeasures]:
    return Feature(f"mark_{number}", f"It is inside of mark {number}.", lambda of: of.own_tokens >> number & 1)


_OWN: Final = (*_LEAF, *map(_inside, LANDMARKS), *_PAGE)
_KIND: Final = tuple(map(_declared, _KINDS))
#: The features of a leaf by its page alone.
PAGE: Final = FeatureTable(
    LeafMeasures,
    (
        *_OWN,
        *(_of_region(level, number) for level in range(LEVELS) for number in range(len(REGION.rows))),
        *_KIND,
        *map(_own_token, range(OWN_TOKENS)),
    ),
)
#: Features of a node, for the classifier of the paper: of its region, and the mean of its leaves.
NODE: Final[tuple[Feature[Any], ...]] = (*REGION.rows, *_OWN)
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
    return np.hstack([REGION.columns(nodes), mean])


def regions(nodes: NodeTable, levels: int = LEVELS) -> Ints:
    """(levels, m) row of the region of each leaf at each level; the root if there is no larger region.

    Regions are nested. A chain of nodes with the same leaves is one region.
    """
    leaves = nodes.last_leaf - nodes.first_leaf
    larger = nodes.parent.copy()
    larger[0] = 0
    for rows in nodes.levels[1:]:
        above = larger[rows]
        alone = leaves[above] == leaves[rows]
        larger[rows] = np.where(alone & (above > 0), larger[above], above)
    found = [larger[nodes.leaves]]
    while len(found) < levels:
        found.append(larger[found[-1]])
    return np.array(found)


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


def before(column: Floats) -> Floats:
    """(m,) the value of the leaf before each one; 0 for the first."""
    return np.append(0.0, column[:-1])


def after(column: Floats) -> Floats:
    """(m,) the value of the leaf after each one; 0 for the last."""
    return np.append(column[1:], 0.0)


def _repeats(column: Ints) -> Ints:
    """Number of occurrences of each value in the column."""
    _, back, count = np.unique(column, return_inverse=True, return_counts=True)
    return count[back]


give(
    "features", REGION=REGION, PAGE=PAGE, OF_NODE=len(NODE), LANDMARKS=LANDMARKS, ALL_LANDMARKS=_ALL_LANDMARKS,
    TEXT=TEXT,
)  # fmt: skip
