"""The constraints of GCuts (Chakrabarti, Kumar, Punera 2008, Section 4.2), checked on a labelling."""

from __future__ import annotations

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.papers.graph_cuts.energy import INVISIBLE
from scrapy_pagelets.papers.graph_cuts.tree import Tree


def feasible(tree: Tree, labels: Ints) -> bool:
    """True if no leaf is invisible and each node below a visible one has its label: the rendering constraint."""
    below: Bools = labels[tree.parent[1:]] != INVISIBLE
    same = labels[1:] == labels[tree.parent[1:]]
    return bool((labels[tree.leaves] != INVISIBLE).all() and (same | ~below).all())
