"""Template detection by the page alone: the system of 2007 in its strict form.

Source: Chakrabarti, Kumar, Punera 2007, *Page-level Template Detection via Isotonic Smoothing* (slides), "Page-level
Model-based Template Detection" and "Smoothing via Regularized Isotonic Regression". Every node is scored by the
logistic model of its size class, and the scores are smoothed on the tree. Features and weights of the smoothing are
ours: ``docs/algorithms/isotonic-2007.md``.

A node is template if and only if all its children are, so no node may have a higher score than one of its children.
Among all such scores ``y`` on a grid, ``smooth`` finds those that minimise ``sum w |x - y| + c * #{edges: y_parent !=
y_child}``. The slides charge ``c`` for each distinct value of ``y``; here each edge between two sections, adjacent
nodes of one value, costs ``c``. ``tests/oracles/exact_smoothing.py`` minimises what the slides print: no gain.
"""

import json
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.core.isotonic import minimise as minimise
from scrapy_pagelets.decision.classifiers import Classifier, sigmoid, size_class
from scrapy_pagelets.decision.model import Lexicon, described, lexicon_of, read
from scrapy_pagelets.decision.page_features import NODE_FEATURES, node_features, page_features
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

#: Features of a node of a rendered page, after ``NODE_FEATURES``. Source: the slides, "Cues used Implicitly by Humans":
#: placement on screen, aspect ratio, background colour.
VISUAL_FEATURES: Final = (
    "left", "right", "top", "bottom", "width", "height", "aspect_ratio", "lightness", "other_background", "unseen",
)  # fmt: skip
#: Name of the shipped file, `methods.PAGE_LEVEL`; the segmenters there import this module.
_SHIPPED: Final = "page_level"
#: Cost of a section, in the weight of words on a log scale, learnt by ``benchmarks/smoothing.py``; number of levels.
_SECTION: Final = 1.5
_LEVELS: Final = 17
_LINE: Final = 16.0  # pixels per unit of height, about a line of text


@dataclass(frozen=True)
class PageLevel:
    """What the page-level system has learnt."""

    plain: Classifier  # classifier over ``NODE_FEATURES``
    #: classifier over ``NODE_FEATURES + VISUAL_FEATURES``; None if no training page was rendered
    rendered: Classifier | None
    lexicon: Lexicon  # log odds by hash of a class, id or role token, or of words of a heading
    about: dict[str, Any]  # how it was made

    def save(self, path: str | Path) -> None:
        """Write the file that ``load`` reads."""
        classifiers = {"plain": self.plain} | ({"rendered": self.rendered} if self.rendered else {})
        columns = {f"{name}_{part}": value for name, one in classifiers.items() for part, value in vars(one).items()}
        about = self.about | {"features": [*NODE_FEATURES, *VISUAL_FEATURES]}
        with open(path, "wb") as file:
            np.savez_compressed(file, **described(about, self.lexicon), **columns)


@lru_cache(4)
def load(name: str = _SHIPPED) -> PageLevel:
    """Read the shipped file, or that of a path; ModelError if there is none, or if it is not of this version."""
    path = files("scrapy_pagelets.papers").joinpath(f"{name}.npz") if name == _SHIPPED else Path(name)
    return read(path, name, _page_level, "page-level model", (_SHIPPED,), " --page-level")


def _page_level(data: dict[str, Any]) -> PageLevel:
    about = json.loads(data["about"].tobytes())
    if about["features"] != [*NODE_FEATURES, *VISUAL_FEATURES]:
        raise ValueError("it was made with other features")

    def classifier(name: str) -> Classifier:
        return Classifier(*(data[f"{name}_{part.name}"] for part in fields(Classifier)))

    rendered = classifier("rendered") if "rendered_weight" in data else None
    return PageLevel(classifier("plain"), rendered, lexicon_of(data), about)


def templateness(page: Page, model: PageLevel) -> Floats:
    """(m,) templateness of each leaf, 0 to 1, after smoothing; from 0.5 on it is template."""
    return smoothed(page.nodes, scores(page, model))[page.nodes.leaves]


def cut_by_sections(page: Page) -> Ints:
    """(n,) number of the section of each run of text, else -1: the second output of the slides, shipped model."""
    labels = np.full(len(page.nodes), -1)
    leaves = page.nodes.leaves
    if len(leaves):
        labels[leaves] = sections(page.nodes.parent, smoothed(page.nodes, scores(page, load())))[leaves]
    return labels


def scores(page: Page, model: PageLevel) -> Floats:
    """(n,) templateness of each node before smoothing: each is judged in isolation.

    A rendered page is judged by its appearance as well, if the model has learnt from rendered pages.
    """
    columns = node_features(page, page_features(page, model.lexicon))
    sizes = size_class(page.nodes)
    if page.layout is not None and model.rendered is not None:
        return sigmoid(model.rendered(np.hstack([columns, visual_features(page.layout)]), sizes))
    return sigmoid(model.plain(columns, sizes))


def smoothed(nodes: NodeTable, x: Floats, section: float = _SECTION) -> Floats:
    """(n,) templateness of all nodes after isotonic smoothing: few sections, and no node above one of its children.

    Source: the slides. A node weighs log(1 + words below it). ``x``: (n,) scores, 0 to 1. ``section``: its cost.
    """
    weight = np.log1p(nodes.sum_below(nodes.words).astype(np.float64))
    return smooth(nodes.levels, nodes.parent, x, weight, section, _LEVELS)


def visual_features(layout: Layout) -> Floats:
    """(n, len(VISUAL_FEATURES)) features of the appearance of each node of a rendered page.

    Places and widths are shares of the page, heights also lines of text on a log scale.
    """
    left, top, width, high = (column.astype(np.float64) for column in (layout.x, layout.y, layout.width, layout.height))
    wide, tall = max(1, layout.page_width), max(1, layout.page_height)
    red, green, blue = ((layout.background >> shift & 0xFF) / 255 for shift in (24, 16, 8))
    return np.column_stack(
        [
            left / wide,
            (left + width) / wide,
            top / tall,
            (top + high) / tall,
            width / wide,
            np.log1p(high / _LINE),
            np.log((width + 1) / (high + 1)),
            0.3 * red + 0.6 * green + 0.1 * blue,
            layout.background != layout.background[0],
            ~layout.visible,
        ]
    )


def smooth(levels: list[Ints], parent: Ints, x: Floats, w: Floats, c: float = 0.3, k: int = 64) -> Floats:
    """Minimise the objective with ``y[parent[i]] <= y[i]`` on a grid of k levels; exact on the grid, in O(n k).

    Of several optimal scores the lower one is chosen, which means less template. The optimum on the grid exceeds that
    over all scores by ``sum(w) / (2 * (k - 1))`` at most. Return (n,) smoothed scores. Raise ValueError if the columns
    differ in length, or a score, a weight or the cost is out of range. ``levels``: rows of each depth from the root
    down, as ``NodeTable.levels``. ``parent``: (n,) row of the parent, -1 at the root. ``x``: (n,) scores, 0 to 1.
    ``w``: (n,) weights, 0 or more: the cost of a difference of 1. ``c``: cost of an edge between two sections, in the
    unit of the weights. ``k``: levels, evenly spaced from 0 to 1.

    >>> levels, parent = [np.array([0]), np.array([1, 2, 3])], np.array([-1, 0, 0, 0])
    >>> smooth(levels, parent, np.array([0.6, 0.9, 0.1, 0.2]), np.ones(4), c=0.3, k=11)
    array([0.2, 0.9, 0.2, 0.2])
    """
    if k < 2:
        raise ValueError(f"k is {k}: the grid needs 2 levels or more")
    x, w = _columns(x, w, c)
    if x.size and not 0 <= x.min() <= x.max() <= 1:
        raise ValueError("x has a score outside 0 to 1, the range of the grid")
    return minimise(_tree(levels, parent), np.linspace(0, 1, k), x, w, c)


def sections(parent: Ints, y: Floats) -> Ints:
    """Number the sections, the maximal connected sets of rows with equal ``y``: (n,) from 0, in order of first rows.

    ``parent``: (n,) row of the parent, -1 at the root. ``y``: (n,) smoothed scores. ValueError if lengths differ.

    >>> sections(np.array([-1, 0, 1, 0]), np.array([0.1, 0.9, 0.9, 0.1]))
    array([0, 1, 1, 0])
    """
    if len(parent) != len(y):
        raise ValueError(f"parent has {len(parent)} rows and y has {len(y)}: give one of each for every node")
    top = np.where((parent < 0) | (y != y[parent]), np.arange(len(y)), parent)
    while (top != (higher := top[top])).any():  # each round doubles the distance covered, so deep pages need few
        top = higher
    return np.unique(top, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree in the order of the dynamic program: first the rows with children, level by level, then all leaves."""

    parent: Ints  # (n,) row of the parent of each row
    order: Ints  # (n,) row at each position
    above: Ints  # (n,) position of the parent for each position, 0 at the root
    starts: list[int]  # position where each level of rows with children begins, and where the last one ends


def _columns(x: Floats, w: Floats, c: float) -> tuple[Floats, Floats]:
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    if x.ndim != 1 or x.shape != w.shape:
        raise ValueError(f"x has the shape {x.shape} and w has {w.shape}: give one score and one weight for each node")
    if not np.isfinite(x).all():
        raise ValueError(f"x is not finite in row {np.flatnonzero(~np.isfinite(x))[0]}: each node needs a score")
    if not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError(f"w is {w[~(w >= 0) | np.isinf(w)][0]} in a row: weights must be finite and 0 or more")
    if not 0 <= c < np.inf:
        raise ValueError(f"c is {c}: the cost of an edge between two sections must be finite and 0 or more")
    return x, w


def _tree(levels: list[Ints], parent: Ints) -> _Tree:
    order, depth = np.concatenate(levels), np.repeat(np.arange(len(levels)), [len(rows) for rows in levels])
    inner = np.zeros(len(order), np.bool_)
    inner[parent[order[1:]]] = inner[order[0]] = True
    within = inner[order]
    starts = [0, *np.cumsum(np.bincount(depth[within])).tolist()]
    order = np.concatenate((order[within], order[~within]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    above = place[parent[order]]
    above[0] = 0
    return _Tree(parent, order, above, starts)
