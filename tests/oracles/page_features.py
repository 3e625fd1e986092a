"""The features of the leaves of a page and of its regions, column by column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.model import Lexicon, heading_odds, look_odds, look_tokens
from scrapy_pagelets.decision.page_features import (
    _KINDS,
    LEVELS,
    OWN_TOKENS,
    PROSE,
    REACH,
    declared,
    headings,
)
from scrapy_pagelets.page.looks import LANDMARKS
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page
from tests.oracles.columns import Column, Columns, of_window

#: Distance to the last heading if there is none, in words on a log scale.
_FAR: Final = 9.0
_ENDS: Final = ".!?…。！？:;"
_DIGIT: Final = re.compile(r"\d").search


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
REGION: Final = Columns(RegionMeasures, (
    ("words", lambda of: np.log1p(of.total)),
    ("link_density", lambda of: of.nodes.sum_below(of.linked) / of.floor),
    ("leaves", lambda of: np.log1p(of.leaves)),
    ("words_per_leaf", lambda of: np.log1p(of.total / np.maximum(1, of.leaves))),
    ("share_of_page", lambda of: of.total / max(1.0, float(of.words.sum()))),
    ("headings", lambda of: of.headings / np.maximum(1, of.leaves)),
    ("prose", lambda of: of.prose / of.floor),
    ("first", lambda of: of.nodes.first_leaf / max(1, len(of.words))),
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
        tokens = [set(look_tokens(look)) for look in nodes.looks]
        bits = [sum(1 << i for i, one in enumerate(self._own_tokens) if one in own) for own in tokens]
        own = np.array(bits, np.int64)[nodes.look]
        return nodes.inherit(own, np.bitwise_or)[nodes.leaves]

    @cached_property
    def regions(self) -> NDArray[np.float32]:
        """(LEVELS, m, len(REGION.rows)) features of the regions around each leaf."""
        return REGION.columns(self.nodes)[regions(self.nodes)]


#: Features of the leaf itself.
_LEAF: Final[tuple[Column[LeafMeasures], ...]] = (
    ("words", lambda of: of.log),
    ("chars_per_word", lambda of: np.array(list(map(len, of.text))) / np.maximum(1, of.words)),
    ("ends_sentence", lambda of: [text[-1] in _ENDS for text in of.text]),
    ("starts_upper", lambda of: [text[0].isupper() for text in of.text]),
    ("digits", lambda of: [_DIGIT(text, 0, 40) is not None for text in of.text]),
    ("anchor", lambda of: of.nodes.anchor[of.nodes.leaves]),
    ("hidden", lambda of: of.nodes.hidden[of.nodes.leaves]),
    ("depth", lambda of: of.nodes.depth[of.nodes.leaves]),
    ("position", lambda of: np.arange(of.count) / max(1, of.count)),
    ("word_position", lambda of: of.seen / of.total),
    ("from_end", lambda of: np.log1p(of.total - of.seen)),
    ("gap", lambda of: of.nodes.gap),
    ("same_shape", lambda of: np.log1p(_repeats(of.nodes.shape[of.nodes.leaves]))),
    ("in_title", lambda of: [3 < len(text) <= len(of.title) and text.casefold() in of.title for text in of.text]),
    ("internal", lambda of: of.target["internal"]),
    ("fragment", lambda of: of.target["fragment"]),
    ("same_target", lambda of: np.log1p(np.where(of.target["key"] != 0, _repeats(of.target["key"]), 0))),
    ("prev_words", lambda of: before(of.log)),
    ("next_words", lambda of: after(of.log)),
    ("near_words", lambda of: np.log1p(of.near)),
    ("heading", lambda of: of.heading_odds),
    ("heading_words", lambda of: of.after_heading),
    ("lexicon_sum", lambda of: of.look_odds["sum"]),
    ("lexicon_min", lambda of: of.look_odds["min"]),
    ("lexicon_max", lambda of: of.look_odds["max"]),
    ("lexicon_near", lambda of: of.look_odds["near"]),
)  # fmt: skip


#: Features of the whole page, the same for all leaves.
_PAGE: Final[tuple[Column[LeafMeasures], ...]] = (
    ("page_words", lambda of: np.log1p(of.total)),
    ("page_link_density", lambda of: (of.words * of.nodes.anchor[of.nodes.leaves]).sum() / of.total),
    ("page_leaves", lambda of: np.log1p(of.count)),
    ("has_main", lambda of: (of.landmarks & LANDMARKS["main"]).any()),
    ("has_article", lambda of: (of.landmarks & LANDMARKS["article"]).any()),
    ("page_depth", lambda of: of.nodes.depth.max()),
)  # fmt: skip


def _inside(name: str) -> Column[LeafMeasures]:
    bit = LANDMARKS[name]
    return (f"in_{name}", lambda of: of.landmarks & bit > 0)


def _of_region(level: int, number: int) -> Column[LeafMeasures]:
    row = REGION.rows[number]
    return (f"{row[0]}_{level}", lambda of: of.regions[level, :, number])


def _declared(kind: str) -> Column[LeafMeasures]:
    return (f"declared_{kind}", lambda of: declared(of.page)[kind])


def _own_token(number: int) -> Column[LeafMeasures]:
    return (f"mark_{number}", lambda of: of.own_tokens >> number & 1)


_OWN: Final = (*_LEAF, *map(_inside, LANDMARKS), *_PAGE)
_KIND: Final = tuple(map(_declared, _KINDS))
#: The features of a leaf by its page alone.
PAGE: Final = Columns(
    LeafMeasures,
    (
        *_OWN,
        *(_of_region(level, number) for level in range(LEVELS) for number in range(len(REGION.rows))),
        *_KIND,
        *map(_own_token, range(OWN_TOKENS)),
    ),
)


def page_features(page: Page, lexicon: Lexicon, own_tokens: Sequence[int] = ()) -> NDArray[np.float32]:
    """See `core.features.page_features`."""
    return PAGE.columns(page, lexicon, own_tokens)


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


def _landmarks(nodes: NodeTable) -> Ints:
    """(m,) the landmarks around each leaf, as bits."""
    return nodes.inherit((nodes.signs & sum(LANDMARKS.values()))[nodes.look], np.bitwise_or)[nodes.leaves]
