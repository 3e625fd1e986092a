"""The energy that GCuts minimises.

Source: Chakrabarti, Kumar, Punera 2008, equation (1) with the constraints (3) to (8) of section 4.2; see
``docs/algorithms/gcuts-2008.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.papers.graph_cuts.tree import Tree

#: The label of nodes that only hold the tree together. Leaves never have it; the parent of an invisible node does.
INVISIBLE = -1


@dataclass(frozen=True, eq=False)
class Energy:
    """Costs of a labelling of the nodes of a tree with the labels 0 to K - 1 and ``INVISIBLE``.

    Attributes
    ----------
    tree : the tree whose nodes are labelled
    data : (k, K) D, the cost of each visible label for each node
    hidden : (k,) D of the invisible label; leaves never have it
    edge : (k,) V of the edge to the parent, at least 0: paid if the node is visible and the parent is not
    one, other : (e,) leaves, 0 to m - 1, that are neighbours: ``one < other``, no pair twice
    weight : (e,) V of the neighbours, at least 0: paid if their labels differ
    """

    tree: Tree
    data: Floats
    hidden: Floats
    edge: Floats
    one: Ints
    other: Ints
    weight: Floats

    def of(self, labels: Ints) -> float:
        """Energy of a labelling, (k,): no leaf is invisible, and each node below a visible one has its label."""
        tree, visible = self.tree, labels != INVISIBLE
        nodes = np.flatnonzero(visible)
        leaf = labels[tree.leaves]
        cut = leaf[self.one] != leaf[self.other]
        hanging = visible[1:] & ~visible[tree.parent[1:]]
        return float(
            self.data[nodes, labels[nodes]].sum()
            + self.hidden[~visible].sum()
            + self.edge[1:][hanging].sum()
            + self.weight[cut].sum()
        )

    @property
    def between(self) -> Floats:
        """(m,) V of each leaf and the one before it; 0 if they are not neighbours."""
        beside = self.other == self.one + 1
        weights = np.zeros(len(self.tree.leaves), self.weight.dtype)
        weights[self.other[beside]] = self.weight[beside]
        return weights
