"""The template of a page by the votes of the pages of its class: equal top-down mappings alone, without a model."""

from __future__ import annotations

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.class_template import VOTE
from scrapy_pagelets.evidence.evidence import _ODDS, CLASSIFIERS, Counts, Keys, keys_of
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page


def mapped(
    counts: Counts, nodes: NodeTable, keys: Keys, number: int, of_class: int, *, include_slots: bool = False
) -> Bools:
    """(n,) rows of the template by votes: the share ``VOTE`` of the class, two pages at least, has the row's path.

    All ancestors of a row must be template as well. Nodes with equal path hashes form a mapping that is one-to-one,
    equal and top-down: Definition 3.2 of Alarte et al. 2014, where nodes are equal if they have the same signature
    (``equality.same_signature``) and the same rank among siblings with it.
    ``docs/algorithms/menu-templates-2014.md`` has the proof.

    Parameters
    ----------
    number : number of the page's class
    of_class : number of pages of the class
    include_slots : include runs of text whose path the pages share while their words vary
    """
    needed = max(2.0, VOTE * of_class)
    rows: Bools = counts.tables["path"][nodes.path][:, _ODDS + CLASSIFIERS + number] >= needed
    if not include_slots:
        texts = counts.tables["text"][keys.text][:, 1 + number]
        rows[nodes.leaves] &= np.minimum(texts, counts.tables["placed"][keys.placed][:, 0]) >= needed
    return nodes.inherit(rows, np.bitwise_and)


def template_nodes(site: Site, page: Page) -> Bools:
    """(n,) whether enough pages of its class have each row of a page: at its path, or in its place.

    The place is that relative to the key page of the class, see `ClassTemplate`, which an inserted sibling does not
    shift. Source: Alarte et al. 2014, Definition 3.3.
    """
    page_class = site.page_class(page)
    if page_class is None:
        return np.zeros(len(page.nodes), np.bool_)
    rows = mapped(site.counts, page.nodes, keys_of(page), page_class.number, page_class.pages)
    if page_class.template is not None:
        rows |= page_class.template.rows_of(page)
    return rows
