"""Features of the leaves of a page from the other pages of its site."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, in_order, of_window
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import site_features as site_features
from scrapy_pagelets.decision.features import Feature, FeatureTable, stacked
from scrapy_pagelets.decision.page_features import LEVELS, REACH, after, before, regions
from scrapy_pagelets.evidence.evidence import SiteEvidence
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

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


def _odds_of_row(classifier: str, kind: str) -> Feature[SiteMeasures]:
    about = f"Log odds by {classifier}, {_ODDS[kind]}."
    return Feature(f"{classifier}_{kind}", about, lambda of: of.odds[classifier][kind])


def _odds_of_leaf(classifier: str, kind: str) -> Feature[SiteMeasures]:
    row = _odds_of_row(classifier, kind)
    return Feature(f"site_{row.name}", row.about, lambda of: of.odds[classifier][kind][of.leaves])


def _of_neighbours(classifier: str, by: str, name: str) -> Feature[SiteMeasures]:
    about = f"By the log odds of {classifier}, {by}: {(_AROUND | _CONTAINER)[name]}."
    return Feature(f"site_{classifier}_{by}_{name}", about, lambda of: of.around[classifier, by][name])


def _of_region(level: int, number: int) -> Feature[SiteMeasures]:
    row = _REGION[number]
    return Feature(f"site_{row.name}_{level}", row.about, lambda of: of.regions[level, :, number])


#: Features of the leaf. Shares are of the other pages of the site, or of the page's class.
_LEAF: Final[tuple[Feature[SiteMeasures], ...]] = (
    Feature("site_pages", "Other pages of the site, log.", lambda of: np.log1p(of.evidence.pages)),
    Feature("site_class_pages", "Other pages of the class, log.", lambda of: np.log1p(of.of_class)),
    Feature("site_text", "Share of the pages with the text.", lambda of: of.evidence.text),
    Feature("site_placed", "Share with the text at its path.", lambda of: of.evidence.placed),
    Feature("site_path", "Share with the path.", lambda of: of.evidence.path[of.leaves]),
    Feature("site_variants", "Different texts at the path, by page.", lambda of: of.evidence.variants),
    Feature("site_values", "How likely two pages differ in the text at the path, digits as they are.",
            lambda of: of.evidence.values),
    Feature("site_prev_values", "The same of the leaf before.", lambda of: before(of.evidence.values)),
    Feature("site_next_values", "The same of the next leaf.", lambda of: after(of.evidence.values)),
    Feature("site_target", "Share of the pages with a link to the target of its link.",
            lambda of: of.nodes.inherit(of.target.copy(), lambda own, above: np.where(own > 0, own, above))[of.leaves]),
    Feature("site_prev_text", "Share of the pages with the text of the leaf before; of the last one for the first.",
            lambda of: np.roll(of.evidence.text, 1)),
    Feature("site_next_text", "Share of the pages with the text of the next leaf; of the first one for the last.",
            lambda of: np.roll(of.evidence.text, -1)),
    Feature("site_page_text", "Mean share of the pages with a text, over the words of the page.",
            lambda of: in_order(of.evidence.text * of.words) / max(1.0, of.words.sum())),
    Feature("site_class_text", "Share of the class with the text.", lambda of: of.evidence.class_text),
    Feature("site_class_path", "Share of the class with the path.", lambda of: of.evidence.class_path[of.leaves]),
)  # fmt: skip
#: Features of a region.
_REGION: Final[tuple[Feature[SiteMeasures], ...]] = (
    *(_odds_of_row(classifier, kind) for classifier in _CLASSIFIERS for kind in _ODDS),
    Feature("text", "Mean share of the pages with a text, by words.", lambda of: of.share(of.evidence.text)),
    Feature("path", "Share of the pages with the path.", lambda of: of.evidence.path),
    Feature("exact", "Share with all of its text.", lambda of: of.evidence.exact),
    Feature("links", "Share with its set of links.", lambda of: of.evidence.links),
    Feature("linked", "Share of the pages with the node on which it is mostly links.", lambda of: of.evidence.linked),
    Feature("target", "Mean share of the pages with a link to a target.", lambda of: of.mean_target),
    Feature("class_text", "Mean share of the class with a text, by words.",
            lambda of: of.share(of.evidence.class_text)),
    Feature("class_path", "Share of the class with the path.", lambda of: of.evidence.class_path),
    Feature("fresh", "Share of its words that are new on a page.", lambda of: of.evidence.fresh),
    Feature("mass", "New words of a page, log.", lambda of: np.log1p(of.evidence.mass)),
    Feature("mass_share", "Its share of the new words of the page.",
            lambda of: of.evidence.mass / max(1, of.evidence.mass[0])),
)  # fmt: skip
#: The features of a leaf by the other pages of its site.
SITE: Final = FeatureTable(
    SiteMeasures,
    (
        *_LEAF,
        *(_odds_of_leaf(classifier, kind) for classifier in _CLASSIFIERS for kind in _ODDS),
        *(
            _of_neighbours(classifier, by, name)
            for classifier in _CLASSIFIERS
            for by in ("page", "pooled")
            for name in _AROUND | _CONTAINER
        ),
        *(_of_region(level, number) for level in range(LEVELS) for number in range(len(_REGION))),
    ),
)
SITE_FEATURES: Final = SITE.names


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


give("features", SITE=SITE)
