"""Features of the leaves of a page, for the page-level classifiers and for the final decision.

Source of the cues: Chakrabarti, Kumar, Punera 2007 (slides), "Cues used Implicitly by Humans": link density, sentence
size, text outside anchors. The cues that need a browser (placement on screen, background colour, aspect ratio) are not
used: ``docs/algorithms/isotonic-2007.md``. No language or class name is hard-coded: the lexicon is learnt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, in_order, of_window
from scrapy_pagelets.base.caches import MOST_BYTES, cached, once
from scrapy_pagelets.base.characters import words as words_of
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.evidence.evidence import CLASSIFIERS, SiteEvidence
from scrapy_pagelets.page.looks import LANDMARKS, Look
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page

#: Number of nested regions around a leaf that give features.
LEVELS: Final = 6
#: By hash of a class, id or role token, or of words of a heading, the log odds that the text below it is template.
Lexicon = Mapping[int, float]

_ALL_LANDMARKS: Final = sum(LANDMARKS.values())
_LEAF: Final = (
    "words", "chars_per_word", "ends_sentence", "starts_upper", "digits", "anchor", "hidden", "depth", "position",
    "word_position", "from_end", "gap", "same_shape", "in_title", "internal", "fragment", "same_target", "prev_words",
    "next_words", "near_words",
    "heading", "heading_words",
    "lexicon_sum", "lexicon_min", "lexicon_max", "lexicon_near", *(f"in_{name}" for name in LANDMARKS),
)  # fmt: skip
_PAGE: Final = ("page_words", "page_link_density", "page_leaves", "has_main", "has_article", "page_depth")
_REGION: Final = ("words", "link_density", "leaves", "words_per_leaf", "share_of_page", "headings", "prose", "first")
_DECLARED: Final = ("declared_article", "declared_product", "declared_discussion")
#: Number of tokens that give features of their own, see `page_features`.
MARKS: Final = 48
_NAMES: Final = ("trees", "classifier")
_ODDS: Final = ("odds", "odds_path", "odds_shape")
_CONTAINER: Final = ("inside", "above", "branch", "margin", "share")
_AROUND: Final = ("rank", "prev", "next", "near")
_SITE_LEAF: Final = (
    "pages", "class_pages", "text", "placed", "path", "variants", "target",
    "prev_text", "next_text", "page_text", "class_text", "class_path",
    *(f"{one}_{name}" for one in _NAMES for name in _ODDS),
    *(f"{one}_{by}_{name}" for one in _NAMES for by in ("page", "pooled") for name in (*_AROUND, *_CONTAINER)),
)  # fmt: skip
_SITE_REGION: Final = (
    *(f"{one}_{name}" for one in _NAMES for name in _ODDS),
    "text", "path", "exact", "links", "linked", "target", "class_text",
    "class_path", "fresh", "mass", "mass_share",
)  # fmt: skip

#: Features of a node, for the classifier of the paper.
NODE_FEATURES: Final = (*_REGION, *_LEAF, *_PAGE)
PAGE_FEATURES: Final = (
    *_LEAF,
    *_PAGE,
    *(f"{name}_{k}" for k in range(LEVELS) for name in _REGION),
    *_DECLARED,
    *(f"mark_{number}" for number in range(MARKS)),
)
#: The features of the leaf itself, without those of the regions around it; and all but the marks.
OWN_FEATURES: Final = (
    slice(0, len(_LEAF) + len(_PAGE)),
    slice(len(PAGE_FEATURES) - MARKS - len(_DECLARED), len(PAGE_FEATURES)),
)
SHARED_FEATURES: Final = slice(0, len(PAGE_FEATURES) - MARKS)
SITE_FEATURES: Final = (
    *(f"site_{n}" for n in _SITE_LEAF),
    *(f"site_{name}_{k}" for k in range(LEVELS) for name in _SITE_REGION),
)


#: Number of leaves before and after a leaf that are near.
_REACH: Final = 3
#: Longer headings, in words or characters, name the subject of a text and not its function.
_HEADING_WORDS, _HEADING_CHARACTERS = 6, 60
#: Distance to the last heading if there is none, in words on a log scale.
_FAR: Final = 9.0

#: Types of Open Graph and schema.org that say the same.
_KINDS: Final = (("article", "blogposting"), ("product",), ("discussion", "qapage", "question"))
_SCHEMA_TYPE: Final = re.compile(r'"@type"\s*:\s*"(\w+)"')
_DIGIT: Final = re.compile(r"\d").search
_ASCII_LETTERS: Final = re.compile(r"[A-Za-z]+").findall


class Regions:
    """The nested regions around the leaves of a page; a chain of nodes with the same leaves is one region.

    Attributes
    ----------
    rows : (LEVELS, m) row of the region of each leaf at each level; the root if there is no larger region
    """

    def __init__(self, nodes: NodeTable) -> None:
        leaves = nodes.last_leaf - nodes.first_leaf
        larger = nodes.parent.copy()
        larger[0] = 0
        for rows in nodes.levels[1:]:
            above = larger[rows]
            alone = leaves[above] == leaves[rows]
            larger[rows] = np.where(alone & (above > 0), larger[above], above)
        current = nodes.leaves
        levels = []
        for _ in range(LEVELS):
            current = larger[current]
            levels.append(current)
        self.rows = np.array(levels)


@compiled("features")
def page_features(page: Page, lexicon: Lexicon, marks: Sequence[int] = ()) -> NDArray[np.float32]:
    """(m, len(PAGE_FEATURES)) features of each leaf that need the page alone.

    Parameters
    ----------
    lexicon : log odds by hash of a token
    marks : hashes of at most ``MARKS`` class, id and role tokens whose meaning depends on the kind of page: each
        gives a feature, whether the leaf is inside such an element
    """
    nodes = page.nodes
    m = len(nodes.leaves)
    words = nodes.words.astype(np.float64)
    linked = words * nodes.anchor[nodes.leaves]
    total = max(1.0, float(words.sum()))
    bits = _landmarks(nodes)
    lex = _lexicon(nodes, lexicon)
    log = np.log1p(words)
    before, after = np.roll(log, 1), np.roll(log, -1)
    before[:1] = after[-1:] = 0
    window = of_window(words, _REACH)[0] if m > 2 * _REACH else np.full(m, total)
    text = nodes.strings
    target, internal, fragment = _targets(page)
    title = page.title.casefold()
    index = np.arange(m)
    seen = np.cumsum(words)
    leaf = [
        log,
        np.array(list(map(len, text))) / np.maximum(1, words),
        np.array([s[-1] in ".!?…。！？:;" for s in text]),
        np.array([s[0].isupper() for s in text]),
        np.array([_DIGIT(s, 0, 40) is not None for s in text]),
        nodes.anchor[nodes.leaves],
        nodes.hidden[nodes.leaves],
        nodes.depth[nodes.leaves],
        index / max(1, m),
        seen / total,
        np.log1p(total - seen),
        nodes.gap,
        np.log1p(_repeats(nodes.shape[nodes.leaves])),
        np.array([3 < len(s) <= len(title) and s.casefold() in title for s in text]),
        internal,
        fragment,
        np.log1p(np.where(target != 0, _repeats(target), 0)),
        before,
        after,
        np.log1p(window),
        *_heading(nodes, bits, lexicon),
        *lex,
        *((bits & bit) > 0 for bit in LANDMARKS.values()),
    ]
    of_page = (
        np.log1p(total), linked.sum() / total, np.log1p(m), (bits & LANDMARKS["main"]).any(),
        (bits & LANDMARKS["article"]).any(), nodes.depth.max(),
    )  # fmt: skip
    columns = np.empty((m, len(PAGE_FEATURES)), np.float32, "F")
    for j, column in enumerate((*leaf, *of_page)):
        columns[:, j] = column
    per_row = _of_rows(nodes, words, linked, bits)
    rows = Regions(nodes).rows
    for k in range(LEVELS):
        start = len(leaf) + len(of_page) + k * len(_REGION)
        columns[:, start : start + len(_REGION)] = per_row[rows[k]]
    columns[:, -MARKS - len(_DECLARED) : -MARKS] = declared(page)
    columns[:, -MARKS:] = _marked(nodes, marks)
    return columns


def node_features(page: Page, columns: NDArray[np.float32]) -> Floats:
    """(n, len(NODE_FEATURES)) features of each node: those of its region, and the mean of its leaves by words.

    Parameters
    ----------
    columns : (m, len(PAGE_FEATURES)) result of ``page_features``
    """
    nodes = page.nodes
    words = nodes.words.astype(np.float64)
    weight = words + 0.1  # leaves without words, such as a bullet, have a small weight
    summed = np.zeros((len(weight) + 1, len(_LEAF) + len(_PAGE)))
    np.cumsum(columns[:, : summed.shape[1]] * weight[:, None], axis=0, out=summed[1:])
    share = nodes.total(nodes.spread(weight))
    mean = (summed[nodes.last_leaf] - summed[nodes.first_leaf]) / np.maximum(share, 0.05)[:, None]
    linked = words * nodes.anchor[nodes.leaves]
    return np.hstack([_of_rows(nodes, words, linked, _landmarks(nodes)), mean])


def _of_rows(nodes: NodeTable, words: Floats, linked: Floats, bits: Ints) -> NDArray[np.float32]:
    """(n, len(_REGION)) features of the subtree of each node."""
    total = nodes.total(nodes.spread(words))
    leaves = nodes.last_leaf - nodes.first_leaf
    link_words = nodes.total(nodes.spread(linked))
    heading = nodes.total(nodes.spread((bits & LANDMARKS["heading"] > 0).astype(np.float64)))
    prose = nodes.total(nodes.spread(np.where((words >= 10) & (linked == 0), words, 0.0)))
    floor = np.maximum(1, total)
    return np.stack(
        [
            np.log1p(total),
            link_words / floor,
            np.log1p(leaves),
            np.log1p(total / np.maximum(1, leaves)),
            total / max(1.0, float(words.sum())),
            heading / np.maximum(1, leaves),
            prose / floor,
            nodes.first_leaf / max(1, len(words)),
        ],
        axis=1,
    ).astype(np.float32)


@compiled("features")
def site_features(page: Page, evidence: SiteEvidence, odds: Floats, of_class: int) -> NDArray[np.float32]:
    """(m, len(SITE_FEATURES)) features of each leaf from the evidence of the other pages of the site.

    Parameters
    ----------
    evidence : the evidence, see `Counts.evidence`
    odds : (n, CLASSIFIERS) log odds of the page-level classifiers
    of_class : number of other pages of the page's class
    """
    nodes, leaves = page.nodes, page.nodes.leaves
    words = nodes.words.astype(np.float64)
    text = evidence.text
    target, links = np.zeros(len(nodes)), np.zeros(len(nodes))
    target[nodes.links.row] = evidence.target
    links[nodes.links.row] = 1
    below = np.maximum(1, nodes.total(nodes.spread(words)))
    # As in _ODDS, by classifier.
    all_odds = np.stack([odds, evidence.odds, evidence.shape_odds], 2).reshape(len(nodes), -1)
    pooled = np.where(np.isnan(evidence.odds), odds, (odds + evidence.odds) / 2)
    leaf = (
        np.log1p(evidence.pages),
        np.log1p(of_class),
        text,
        evidence.placed,
        evidence.path[leaves],
        evidence.variants,
        _inherit(nodes, target)[leaves],
        np.roll(text, 1),
        np.roll(text, -1),
        in_order(text * words) / max(1.0, words.sum()),
        evidence.class_text,
        evidence.class_path[leaves],
        *all_odds[leaves].T,
        *(
            column
            for one in range(CLASSIFIERS)
            for by in (odds[leaves, one], pooled[leaves, one])
            for column in (*_around(by), *_container(nodes, by))
        ),
    )
    columns = np.empty((len(leaves), len(SITE_FEATURES)), np.float32, "F")
    for j, column in enumerate(leaf):
        columns[:, j] = column
    per_row = np.column_stack(
        [
            all_odds,
            nodes.total(nodes.spread(text * words)) / below,
            evidence.path,
            evidence.exact,
            evidence.links,
            evidence.linked,
            nodes.total(target) / np.maximum(1, nodes.total(links)),
            nodes.total(nodes.spread(evidence.class_text * words)) / below,
            evidence.class_path,
            evidence.fresh,
            np.log1p(evidence.mass),
            evidence.mass / max(1, evidence.mass[0]),
        ],
    ).astype(np.float32)
    rows = Regions(nodes).rows
    for k in range(LEVELS):
        start = len(leaf) + k * len(_SITE_REGION)
        columns[:, start : start + len(_SITE_REGION)] = per_row[rows[k]]
    return columns


def _around(odds: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(m,) rank of each leaf by log odds; log odds of the previous and of the next leaf; mean of seven leaves."""
    m = len(odds)
    before, after = np.roll(odds, 1), np.roll(odds, -1)
    before[:1] = after[-1:] = 0
    around, count = of_window(odds, _REACH)
    near = around / count if m > 2 * _REACH else np.full(m, in_order(odds) / max(1, m))
    rank = np.empty(m)
    rank[np.argsort(odds, kind="stable")] = np.arange(m)
    return rank / max(1, m), before, after, near


def _container(nodes: NodeTable, odds: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Relate the leaves to the content container: the node with the greatest number of content minus template words.

    Returns
    -------
    Five columns, (m,): whether the leaf is inside the container; levels from the container up to the lowest common
    ancestor with the leaf; content minus template words, over all words, of the branch of that ancestor with the leaf;
    content minus template words of the container over those of all content leaves; its share of all words
    """
    words = nodes.words.astype(np.float64)
    gain = words * (1 - 2 / (1 + np.exp(-odds)))
    gained, below = nodes.total(nodes.spread(gain)), nodes.total(nodes.spread(words))
    best = int(np.lexsort((nodes.depth, gained))[-1])
    above = np.zeros(len(nodes), np.bool_)  # the container and its ancestors
    above[: best + 1] = nodes.end[: best + 1] > best
    # Branches do not overlap, so the last one that begins at or before a leaf contains it.
    branches = np.flatnonzero(above[nodes.parent] & ~above)
    leaves = nodes.leaves
    inside = (leaves >= best) & (leaves < nodes.end[best])
    branch = branches[np.searchsorted(branches, leaves, side="right") - 1] if len(branches) else leaves
    quality = gained / np.maximum(1, below)
    all_leaves = np.ones(len(leaves))
    return (
        inside,
        np.where(inside, 0, nodes.depth[best] - nodes.depth[branch] + 1),
        np.where(inside, 1, quality[branch]),
        all_leaves * (gained[best] / max(1, in_order(np.maximum(gain, 0)))),
        all_leaves * (below[best] / max(1, below[0])),
    )


@once
def declared(page: Page) -> tuple[bool, bool, bool]:
    """Whether the head of the page declares an article, a product, a discussion: in Open Graph, or in JSON-LD."""
    kinds = {meta.content.strip().lower() for meta in page.metas if meta.property.lower() == "og:type"}
    for script in page.declared["script"]:
        if "ld+json" in script.get("type", ""):
            kinds.update(kind.lower() for kind in _SCHEMA_TYPE.findall(script.text or ""))
    return tuple(any(word in kind for kind in kinds for word in words) for words in _KINDS)  # type: ignore[return-value]


def _facts_of(look: Look, lexicon: Lexicon, marks: Sequence[int]) -> tuple[float, int]:
    return _odds_of(look, lexicon), _marks_of(look, marks)


def _odds_of(look: Look, lexicon: Lexicon) -> float:
    return sum(lexicon.get(token, 0.0) for token in tokens(look))


def _marks_of(look: Look, marks: Sequence[int]) -> int:
    own = set(tokens(look))
    if own.isdisjoint(marks):
        return 0
    return sum(1 << number for number, token in enumerate(marks) if token in own)


def _marked(nodes: NodeTable, marks: Sequence[int]) -> Bools:
    """(m, MARKS) whether each leaf is inside an element with each token."""
    own = np.array([_marks_of(look, marks) for look in nodes.looks], np.int64)[nodes.look]
    for rows in nodes.levels[1:]:
        own[rows] |= own[nodes.parent[rows]]
    return (own[nodes.leaves, None] >> np.arange(MARKS)) & 1 > 0


def _landmarks(nodes: NodeTable) -> Ints:
    """(m,) the landmarks around each leaf, as bits."""
    own = (nodes.signs & _ALL_LANDMARKS)[nodes.look]
    for rows in nodes.levels[1:]:
        own[rows] |= own[nodes.parent[rows]]
    return own[nodes.leaves]


def _inherit(nodes: NodeTable, column: Floats) -> Floats:
    """(n,) the value of each row, or of its nearest ancestor with a value above 0."""
    column = column.copy()
    for rows in nodes.levels[1:]:
        column[rows] = np.where(column[rows] > 0, column[rows], column[nodes.parent[rows]])
    return column


def headings(nodes: NodeTable) -> Ints:
    """(m,) index of the last heading leaf at or before each leaf, -1 for none."""
    return _last_heading(_landmarks(nodes))


def _last_heading(bits: Ints) -> Ints:
    return np.maximum.accumulate(np.where(bits & LANDMARKS["heading"], np.arange(len(bits)), -1))


def heading_tokens(text: str) -> tuple[int, ...]:
    """Hashes of the words of a short heading, of pairs of adjacent words, and of the whole heading."""
    return _heading_tokens(text) if len(text) < _HEADING_CHARACTERS else ()


@cached
def _heading_tokens(text: str) -> tuple[int, ...]:
    words = words_of(text)
    if len(words) > _HEADING_WORDS:
        return ()
    phrases = {*words, *map(" ".join, pairwise(words)), " ".join(words)}
    return tuple(
        sorted(xxh3_64_intdigest(f"heading {phrase}".encode("utf-8", "replace")) for phrase in phrases if phrase)
    )


def _heading(nodes: NodeTable, bits: Ints, lexicon: Lexicon) -> tuple[Floats, Floats]:
    """(m,) log odds of largest magnitude among the words of the last heading; log of the number of words since it."""
    last = _last_heading(bits)
    odds = np.zeros(len(last) + 1)  # the last entry is for leaves without a heading
    for leaf in np.unique(last[last >= 0]).tolist():
        odds[leaf] = _heading_odds(nodes.strings[leaf], lexicon)
    begun = np.cumsum(nodes.words) - nodes.words
    return odds[last], np.where(last >= 0, np.log1p(np.maximum(0, begun - begun[last])), _FAR)


def _heading_odds(text: str, lexicon: Lexicon) -> float:
    return max((lexicon.get(token, 0.0) for token in heading_tokens(text)), key=abs, default=0.0)


@cached
def tokens(look: Look) -> tuple[int, ...]:
    """Hashes of the words of id, class and role; ``main-menu`` gives ``main``, ``menu`` and ``main-menu``."""
    _, name, classes, role = look
    names = set()
    for token in filter(None, (name, *classes.split(), role)):
        words = _alphabetic(token.lower())
        names.update(words)
        if len(words) > 1:
            names.add("-".join(words))
    return tuple(sorted(xxh3_64_intdigest(t.encode("utf-8", "replace")) for t in names if len(t) > 1))


def _alphabetic(text: str) -> list[str]:
    """The runs of letters in a text. Many pages have a new id for each heading, so ASCII is taken in one step."""
    if text.isascii():
        return _ASCII_LETTERS(text)
    return "".join(c if c.isalpha() else " " for c in text).split()


def _lexicon(nodes: NodeTable, lexicon: Lexicon) -> tuple[Floats, Floats, Floats, Floats]:
    """(m,) log odds of the looks of each leaf's ancestors: sum, minimum, maximum, nearest."""
    own = np.array([_odds_of(look, lexicon) for look in nodes.looks])[nodes.look]
    own[nodes.tag == TEXT] = 0
    summed, least, most, near = own.copy(), np.minimum(own, 0), np.maximum(own, 0), own.copy()
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        summed[rows] += summed[above]
        least[rows] = np.minimum(least[rows], least[above])
        most[rows] = np.maximum(most[rows], most[above])
        near[rows] = np.where(own[rows] != 0, own[rows], near[above])
    return tuple(c[nodes.leaves] for c in (summed, least, most, near))  # type: ignore[return-value]


def _targets(page: Page) -> tuple[Ints, Floats, Floats]:
    """(m,) key of the link around each leaf, whether it leads to the same host, whether it leads to the same page."""
    nodes, links = page.nodes, page.nodes.links
    key, inside, own = np.zeros(len(nodes), np.int64), np.zeros(len(nodes)), np.zeros(len(nodes))
    if len(links.row):
        host = page.base.split("/")[2] if page.base.count("/") > 1 else ""
        key[links.row] = links.key
        inside[links.row] = [t.split("/", 3)[2] == host if t else 0 for t in links.target]
        own[links.row] = [h.lstrip().startswith("#") for h in links.href]
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        free = key[rows] == 0
        key[rows] = np.where(free, key[above], key[rows])
        inside[rows] = np.where(free, inside[above], inside[rows])
        own[rows] = np.where(free, own[above], own[rows])
    return key[nodes.leaves], inside[nodes.leaves], own[nodes.leaves]


def _repeats(column: Ints) -> Ints:
    """Number of occurrences of each value in the column."""
    _, back, count = np.unique(column, return_inverse=True, return_counts=True)
    return count[back]


give(
    "features", PAGE_FEATURES=PAGE_FEATURES, NODE_FEATURES=NODE_FEATURES, SITE_FEATURES=SITE_FEATURES, TEXT=TEXT,
    LANDMARKS=LANDMARKS, ALL_LANDMARKS=_ALL_LANDMARKS, declared=declared, facts_of=_facts_of,
    MOST_BYTES=MOST_BYTES, heading_odds=_heading_odds,
)  # fmt: skip
