"""The features of the leaves of a page from the other pages of its site, column by column."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.decision.page_features import _AROUND, _CLASSIFIERS, _CONTAINER, _ODDS, LEVELS, REACH
from scrapy_pagelets.evidence.evidence import SiteEvidence
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page
from tests.oracles.columns import Column, Columns, in_order, of_window, stacked
from tests.oracles.page_features import after, before, regions


class SiteMeasures:
    """What is measured of the leaves of a page with the evidence of its site, see `site_features`."""

    def __init__(self, page: Page, evidence: SiteEvidence, odds: Floats, of_class: int) -> None:
        self.nodes = page.nodes
        self.leaves = page.nodes.leaves
        self.count = len(self.leaves)
        self.evidence = evidence
        self.of_class = of_class
        self.words = page.nodes.words.astype(np.float64)
        self.odds = {
            classifier: {"odds": odds[:, k], "odds_path": evidence.odds[:, k], "odds_shape": evidence.shape_odds[:, k]}
            for k, classifier in enumerate(_CLASSIFIERS)
        }

    def share(self, column: Floats) -> Floats:
        """(n,) the mean of a column of the leaves below each row, weighted by words."""
        total = self.nodes.sum_below(self.words)
        return self.nodes.sum_below(column * self.words) / np.maximum(1, total)

    @cached_property
    def target(self) -> Floats:
        """(n,) share of the pages that link to the target of the row."""
        target = np.zeros(len(self.nodes))
        target[self.nodes.links.row] = self.evidence.target
        return target

    @cached_property
    def mean_target(self) -> Floats:
        """(n,) the mean of these shares over the links below the row."""
        links = np.zeros(len(self.nodes))
        links[self.nodes.links.row] = 1
        return self.nodes.total(self.target) / np.maximum(1, self.nodes.total(links))

    @cached_property
    def around(self) -> dict[tuple[str, str], dict[str, ArrayLike]]:
        """By classifier, and by log odds of the page or pooled with those of its site: the columns about neighbours."""
        found = {}
        for classifier, odds in self.odds.items():
            own, others = odds["odds"], odds["odds_path"]
            pooled = np.where(np.isnan(others), own, (own + others) / 2)
            for by, column in (("page", own), ("pooled", pooled)):
                of_leaves = column[self.leaves]
                found[classifier, by] = _around(of_leaves) | _container(self.nodes, of_leaves)
        return found

    @cached_property
    def regions(self) -> NDArray[np.float32]:
        """(LEVELS, m, len(_REGION)) features of the regions around each leaf."""
        return stacked(_REGION, self, len(self.nodes))[regions(self.nodes)]


def _odds_of_row(classifier: str, kind: str) -> Column[SiteMeasures]:
    return (f"{classifier}_{kind}", lambda of: of.odds[classifier][kind])


def _odds_of_leaf(classifier: str, kind: str) -> Column[SiteMeasures]:
    row = _odds_of_row(classifier, kind)
    return (f"site_{row[0]}", lambda of: of.odds[classifier][kind][of.leaves])


def _of_neighbours(classifier: str, by: str, name: str) -> Column[SiteMeasures]:
    return (f"site_{classifier}_{by}_{name}", lambda of: of.around[classifier, by][name])


def _of_region(level: int, number: int) -> Column[SiteMeasures]:
    row = _REGION[number]
    return (f"site_{row[0]}_{level}", lambda of: of.regions[level, :, number])


#: Features of the leaf. Shares are of the other pages of the site, or of the page's class.
_LEAF: Final[tuple[Column[SiteMeasures], ...]] = (
    ("site_pages", lambda of: np.log1p(of.evidence.pages)),
    ("site_class_pages", lambda of: np.log1p(of.of_class)),
    ("site_text", lambda of: of.evidence.text),
    ("site_placed", lambda of: of.evidence.placed),
    ("site_path", lambda of: of.evidence.path[of.leaves]),
    ("site_variants", lambda of: of.evidence.variants),
    ("site_values", lambda of: of.evidence.values),
    ("site_prev_values", lambda of: before(of.evidence.values)),
    ("site_next_values", lambda of: after(of.evidence.values)),
    ("site_target",
     lambda of: of.nodes.inherit(of.target.copy(), lambda own, above: np.where(own > 0, own, above))[of.leaves]),
    ("site_prev_text", lambda of: np.roll(of.evidence.text, 1)),
    ("site_next_text", lambda of: np.roll(of.evidence.text, -1)),
    ("site_page_text", lambda of: in_order(of.evidence.text * of.words) / max(1.0, of.words.sum())),
    ("site_class_text", lambda of: of.evidence.class_text),
    ("site_class_path", lambda of: of.evidence.class_path[of.leaves]),
)  # fmt: skip


#: Features of a region.
_REGION: Final[tuple[Column[SiteMeasures], ...]] = (
    *(_odds_of_row(classifier, kind) for classifier in _CLASSIFIERS for kind in _ODDS),
    ("text", lambda of: of.share(of.evidence.text)),
    ("path", lambda of: of.evidence.path),
    ("exact", lambda of: of.evidence.exact),
    ("links", lambda of: of.evidence.links),
    ("linked", lambda of: of.evidence.linked),
    ("target", lambda of: of.mean_target),
    ("class_text", lambda of: of.share(of.evidence.class_text)),
    ("class_path", lambda of: of.evidence.class_path),
    ("fresh", lambda of: of.evidence.fresh),
    ("mass", lambda of: np.log1p(of.evidence.mass)),
    ("mass_share", lambda of: of.evidence.mass / max(1, of.evidence.mass[0])),
)  # fmt: skip


#: The features of a leaf by the other pages of its site.
SITE: Final = Columns(
    SiteMeasures,
    (
        *_LEAF,
        *(_odds_of_leaf(classifier, kind) for classifier in _CLASSIFIERS for kind in _ODDS),
        *(
            _of_neighbours(classifier, by, name)
            for classifier in _CLASSIFIERS
            for by in ("page", "pooled")
            for name in (*_AROUND, *_CONTAINER)
        ),
        *(_of_region(level, number) for level in range(LEVELS) for number in range(len(_REGION))),
    ),
)


def site_features(page: Page, evidence: SiteEvidence, odds: Floats, of_class: int) -> NDArray[np.float32]:
    """See `core.features.site_features`."""
    return SITE.columns(page, evidence, odds, of_class)


def _around(odds: Floats) -> dict[str, ArrayLike]:
    """Compare each leaf with the others by log odds, (m,); see `_AROUND`."""
    m = len(odds)
    summed, count = of_window(odds, REACH)
    rank = np.empty(m)
    rank[np.argsort(odds, kind="stable")] = np.arange(m)
    near = summed / count if m > 2 * REACH else in_order(odds) / max(1, m)
    return {"rank": rank / max(1, m), "prev": before(odds), "next": after(odds), "near": near}


def _container(nodes: NodeTable, odds: Floats) -> dict[str, ArrayLike]:
    """Relate the leaves to the container, the node with the most content minus template words; see `_CONTAINER`."""
    words = nodes.words.astype(np.float64)
    gain = words * (1 - 2 / (1 + np.exp(-odds)))
    gained, below = nodes.sum_below(gain), nodes.sum_below(words)
    best = int(np.lexsort((nodes.depth, gained))[-1])
    above: Bools = np.zeros(len(nodes), np.bool_)  # the container and its ancestors
    above[: best + 1] = nodes.end[: best + 1] > best
    # Branches do not overlap, so the last one that begins at or before a leaf contains it.
    branches = np.flatnonzero(above[nodes.parent] & ~above)
    leaves = nodes.leaves
    inside = (leaves >= best) & (leaves < nodes.end[best])
    branch = branches[np.searchsorted(branches, leaves, side="right") - 1] if len(branches) else leaves
    quality = gained / np.maximum(1, below)
    return {
        "inside": inside,
        "above": np.where(inside, 0, nodes.depth[best] - nodes.depth[branch] + 1),
        "branch": np.where(inside, 1, quality[branch]),
        "margin": gained[best] / max(1, in_order(np.maximum(gain, 0))),
        "share": below[best] / max(1, below[0]),
    }
