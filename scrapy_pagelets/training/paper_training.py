"""Train the page-level classifier of 2007 on labels of the site level; no page is labelled by people.

Source: Chakrabarti, Kumar, Punera 2007 (slides), "Automatically Labeling Data" and "Learning the 'Templateness'
Classifier"; ``docs/algorithms/isotonic-2007.md``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision.classifiers import Trees
from scrapy_pagelets.decision.model import Lexicon
from scrapy_pagelets.decision.page_features import node_features, page_features
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import nearest
from scrapy_pagelets.papers.graph_cuts.gcuts import Costed, Described
from scrapy_pagelets.papers.graph_cuts.segment_features import consecutive, evenly
from scrapy_pagelets.papers.graph_cuts.segment_weights import INNER, Group, Logistic, Weights, learn_metric
from scrapy_pagelets.papers.methods import LEARNT
from scrapy_pagelets.papers.page_level import PageLevel, visual_features
from scrapy_pagelets.training import training_tables
from scrapy_pagelets.training.training_tables import CONTENT, FOLDS, UNKNOWN, Example, Nodes

_NODES_PER_PAGE: Final = 200  # maximum number of nodes of one page that become rows
_FOLDS: Final = 5
GRID: Final = tuple(float(2.0**k) for k in np.arange(-4, 6.01, 0.5))  # penalties to try for each method
_RANK, _ITERATIONS = 8, 40
#: Largest number of nodes of a page that the metric is learnt from: the cost is quadratic in it.
_METRIC_NODES: Final = 120
#: Scikit-learn's C, the inverse of the regularisation strength; most leaves of a page whose pairs are used.
_C, _LEAVES = 0.05, 60
#: The table of nodes: a node is template if all text below it is.
_table: Final = partial(Nodes.stack, most=_NODES_PER_PAGE, least=1.0)


def labelled(pages: Sequence[Page]) -> Iterator[Example]:
    """Yield examples with labels from the site level: text that many pages share is template, the rest is not.

    Unlike in ``by_sites``, text on a few pages is content: the slides accept that. Sites of one or two are left out.
    """
    for example in training_tables.by_sites(pages):
        if (example.labels != UNKNOWN).any():
            rest = (example.labels == UNKNOWN) & (example.page.nodes.words > 0)
            yield replace(example, labels=np.where(rest, CONTENT, example.labels))


def as_rendered(example: Example, page: Page) -> Example:
    """Give the rendered form of a page the labels of its texts as received; texts that only it has are unknown."""
    rows = page.received
    return replace(example, page=page, labels=np.where(rows < 0, UNKNOWN, example.labels[rows]))


def train_page_level(examples: Sequence[Example]) -> tuple[PageLevel, list[PageLevel]]:
    """Train on some pages of each site, on all sites and without each fold; return the model, and those of the folds.

    Examples with a layout train the classifier of rendered pages, the others that of pages as received; if all have
    one, they train both. The lexicon behind the features of a page was made without its fold, as for sites that it does
    not know. Raise ValueError if the examples are of one fold only.
    """
    if len({example.fold for example in examples}) < 2:
        raise ValueError("pages of more sites are needed: all of them are in one fold of the cross-validation")
    shown = training_tables.thinned(example for example in examples if example.page.layout is not None)
    received = training_tables.thinned(example for example in examples if example.page.layout is None) or shown
    lexica = [training_tables.lexicon(e for e in received if e.fold != fold) for fold in range(FOLDS)]
    plain = _table((_columns(e.page, lexica[e.fold])[0], e) for e in received)
    rendered = _table((np.hstack(_columns(e.page, lexica[e.fold])), e) for e in shown) if shown else None
    about = {"pages": len(received), "rendered": len(shown)}

    def without(fold: int, words: Lexicon) -> PageLevel:
        by_look = rendered.fit(rendered.fold != fold) if rendered and (rendered.fold != fold).any() else None
        return PageLevel(plain.fit(plain.fold != fold), by_look, words, about)

    return without(-1, training_tables.lexicon(received)), [without(fold, lexica[fold]) for fold in range(FOLDS)]


def _columns(page: Page, words: Lexicon) -> list[Floats]:
    """Features of the nodes of a page, and those of their appearance if it was rendered."""
    columns = node_features(page, page_features(page, words))
    return [columns] if page.layout is None else [columns, visual_features(page.layout)]


@dataclass(frozen=True, eq=False)
class SegmentedPage:
    """A page with its blocks."""

    described: Described  # the page
    blocks: Ints  # (m,) number of the innermost block that each leaf of the tree is in, -1 for none

    @classmethod
    def of(cls, described: Described, paths: Sequence[str]) -> Self:
        """Make an example from the xpaths of the blocks in the page as received; of equal paths, the first counts."""
        page = described.page
        received = page.source or page
        nodes = received.nodes
        rows = {element: row for row, element in enumerate(nodes.elements) if nodes.tag[row] != TEXT}
        block = np.full(len(nodes), UNKNOWN)
        for number, path in reversed(list(enumerate(paths))):
            elements: Any = received.root.xpath(path)
            block[[rows[element] for element in elements if element in rows]] = number
        block = nearest(nodes, block)
        # Nodes that the browser has added are in no block.
        rows_of_leaves = described.tree.seen if page.source is None else page.received_rows[described.tree.seen]
        return cls(described, np.where(rows_of_leaves < 0, UNKNOWN, block[rows_of_leaves]))

    def block(self) -> tuple[Ints, Ints]:
        """(k,) Block of all labelled leaves of each node, -1 for none or several; (k,) number of labelled leaves."""
        tree, labelled = self.described.tree, np.flatnonzero(self.blocks >= 0)
        first, last = (np.searchsorted(labelled, leaves) for leaves in (tree.first, tree.last))
        blocks = np.full(len(tree), UNKNOWN)
        some = np.flatnonzero(last > first)
        changes = np.cumsum(np.diff(self.blocks[labelled], prepend=-1) != 0)
        pure = some[changes[first[some]] == changes[last[some] - 1]]
        blocks[pure] = self.blocks[labelled[first[pure]]]
        return blocks, last - first


def read_examples(lines: Sequence[dict[str, Any]], pages: Callable[[str], Page], level: str) -> list[SegmentedPage]:
    """Make examples from lines with ``page`` and ``blocks``; each block has ``xpath`` and ``level``, 1 or 2.

    ``pages``: from names to pages. ``level``: ``top`` for the blocks of level 1, ``inner`` for the innermost of all.
    """

    def paths(line: dict[str, Any]) -> list[str]:
        return [block["xpath"] for block in line["blocks"] if level == INNER or block["level"] == 1]

    return [SegmentedPage.of(Described.of(pages(line["page"])), paths(line)) for line in lines]


def train_weights(examples: Sequence[SegmentedPage]) -> Weights:
    """Learn the weights of a level, with penalties chosen by cross-validation; ``about`` has the scores.

    Folds are held out by `_folds_of_looks`. ValueError for fewer pages than folds; ImportError without catboost.
    """
    if len(examples) < _FOLDS:
        raise ValueError(f"{len(examples)} pages with blocks are too few to learn from: {_FOLDS} are needed at least")
    fold = _folds_of_looks(examples)
    curves = {name: np.zeros((len(GRID), 2)) for name in LEARNT}
    for number in range(_FOLDS):
        weights = fit([e for e, own in zip(examples, fold, strict=True) if own != number])
        held_out = [e for e, own in zip(examples, fold, strict=True) if own == number]
        for name, method in LEARNT.items():
            curves[name] += curve(held_out, weights, method.function) * len(held_out) / len(examples)
    chosen = {name: best(curve) for name, curve in curves.items()}
    figures = {name: [round(float(v), 4) for v in curves[name][at]] for name, at in chosen.items()}
    penalties = {name: GRID[at] for name, at in chosen.items()}
    return replace(fit(examples), penalties=penalties, about={"figures": figures})


def _folds_of_looks(examples: Sequence[SegmentedPage]) -> Ints:
    """(pages,) Fold by the first principal component of the features: lambda is chosen on looks not learnt from."""
    looks = np.array([example.described.columns.mean(axis=0) for example in examples])
    looks -= looks.mean(axis=0)
    looks /= np.maximum(looks.std(axis=0), 1e-9)
    component = np.linalg.svd(looks, full_matrices=False)[0][:, 0]
    return np.argsort(np.argsort(component, kind="stable")) * _FOLDS // len(examples)


def curve(examples: Sequence[SegmentedPage], weights: Weights, method: Costed) -> Floats:
    """(penalties, 2) Mean adjusted Rand index and NMI of the pages for each penalty of ``GRID``."""
    figures = np.zeros((len(GRID), 2))
    for example in examples:
        cut = method(example.described, weights)
        figures += [agreement(example, cut(penalty)) for penalty in GRID]
    return figures / len(examples)


def agreement(example: SegmentedPage, segments: Ints) -> tuple[float, float]:
    """Adjusted Rand index and NMI of segments with the blocks, over the leaves that are in a block."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    labelled = example.blocks >= 0
    pair = example.blocks[labelled], segments[labelled]
    return adjusted_rand_score(*pair), normalized_mutual_info_score(*pair, average_method="geometric")


def best(figures: Floats) -> int:
    """Index of the penalty with the best sum of adjusted Rand index and NMI, in (penalties, 2) figures, see `curve`.

    They are averaged over three neighbouring penalties: with a few dozen pages, single peaks are chance.
    """
    padded = np.pad(figures.sum(axis=1), 1, mode="edge")
    return int(np.convolve(padded, np.ones(3) / 3, "valid").argmax())


def fit(examples: Sequence[SegmentedPage]) -> Weights:
    """Learn weights without penalties."""
    columns = np.vstack([e.described.columns for e in examples])
    center, scale = columns.mean(axis=0), columns.std(axis=0)
    scale[scale == 0] = 1
    groups = [group for e in examples if len((group := _group(e, center, scale)).target)]
    followed = [_pairs_of(e, *consecutive(len(e.blocks))) for e in examples]
    every = [_pairs_of(e, *evenly(len(e.blocks), _LEAVES)) for e in examples]
    return Weights(
        center=center,
        scale=scale,
        metric=learn_metric(groups, _RANK, _ITERATIONS),
        edge=_logistic([_edges(e) for e in examples]),
        neighbours=_logistic(followed),
        pairs=_logistic(every),
        whole=_trees([_wholes(e) for e in examples]),
        penalties={},
        about={},
    )


def _group(example: SegmentedPage, center: Floats, scale: Floats) -> Group:
    """The nodes whose leaves are all in one block."""
    block, labelled = example.block()
    nodes = np.flatnonzero((block >= 0) & (labelled == example.described.tree.size))
    if len(nodes) > _METRIC_NODES:
        nodes = nodes[np.unique(np.linspace(0, len(nodes) - 1, _METRIC_NODES).astype(np.int64))]
    return Group.of((example.described.columns[nodes] - center) / scale, block[nodes])


def _edges(example: SegmentedPage) -> tuple[Floats, Bools]:
    """Features of nodes below the root, and whether each is in one block with its parent."""
    block, labelled = example.block()
    nodes = np.flatnonzero(labelled[1:] > 0) + 1
    return example.described.situation[nodes], block[example.described.tree.parent[nodes]] >= 0


def _wholes(example: SegmentedPage) -> tuple[Floats, Bools]:
    """Features of nodes with at least two labelled leaves, and whether these leaves are in one block."""
    block, labelled = example.block()
    nodes = np.flatnonzero(labelled >= 2)
    return example.described.situation[nodes], block[nodes] >= 0


def _pairs_of(example: SegmentedPage, one: Ints, other: Ints) -> tuple[Floats, Bools]:
    """Features of pairs of labelled leaves, and whether both are in one block."""
    tree, blocks = example.described.tree, example.blocks
    labelled = (blocks[one] >= 0) & (blocks[other] >= 0)
    one, other = one[labelled], other[labelled]
    return example.described.pairs(tree.leaves[one], tree.leaves[other]), blocks[one] == blocks[other]


def _stacked(parts: Sequence[tuple[Floats, Bools]]) -> tuple[Floats, Bools]:
    columns, target = (np.concatenate(part) for part in zip(*parts, strict=True))
    if target.all() or not target.any():
        raise ValueError("each page is a single block, or each leaf is a block of its own: nothing can be learnt")
    return columns, target


def _logistic(parts: Sequence[tuple[Floats, Bools]]) -> Logistic:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    columns, target = _stacked(parts)
    scaler = StandardScaler().fit(columns)
    model = LogisticRegression(C=_C, max_iter=2000).fit(scaler.transform(columns), target)
    coefficients = model.coef_[0] / scaler.scale_
    return Logistic(coefficients, float(model.intercept_[0] - coefficients @ scaler.mean_))


def _trees(parts: Sequence[tuple[Floats, Bools]]) -> Trees:
    from catboost import CatBoostClassifier

    columns, target = _stacked(parts)
    classifier = CatBoostClassifier(
        iterations=150, depth=4, learning_rate=0.05, l2_leaf_reg=5, rsm=0.15, random_seed=0, thread_count=1,
        verbose=False, allow_writing_files=False,
    )  # fmt: skip
    classifier.fit(columns.astype(np.float32), target)
    return training_tables.read(classifier)
