"""Sites imagined around pages that stand alone: what other pages of their site would say of them.

People have labelled single pages of a thousand hosts, but few whole sites, and most of these are documentation. From
these alone the last decision learns that a template does not change, and knows few of the looks that pages have. An
imagined page has the fragments of a real one: content is of other words at other places, template is the same but for
pagelets that change from page to page; how many change, and how often, each site decides anew. The ranges of these
chances were set so that, over all imagined sites, content and template are on as many pages, and at their places on as
many, as on the real sites to learn from, as far as that goes. Ours: no paper has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Bools, Floats, Ints, NodeTable, mix
from scrapy_pagelets.templates.evidence import Counts, Fragments, keys_of, link_sets
from scrapy_pagelets.templates.page_features import site_features
from scrapy_pagelets.templates.partition import STRICT_K, partition
from scrapy_pagelets.templates.training.labels import TEMPLATE, UNKNOWN, Example

#: Words of a run of text that may be the same in the content of two pages, and of a heading above what changes.
_SHORT: Final = 3
_HEADING: Final = 5
#: Share of link text from which on a pagelet is a list of links.
_LINKS: Final = 0.3
#: Chance that a link without text goes elsewhere on another page: in content, and in template.
_PICTURE: Final = (0.9, 0.15)
#: By how much the classifiers differ on the same place of two pages, in log odds.
_ODDS: Final = 0.5
_KEYS: Final = 2**62


@dataclass(frozen=True)
class _Habits:
    """How the pages of an imagined site differ; chances that are drawn once for the site.

    Attributes
    ----------
    pagelet : (m,) number of the pagelet of each leaf
    inner : (n,) rows that hold content alone
    whole : (n,) rows within one pagelet that hold template
    fresh : (m,) that a run of text is another on the next page, where its pagelet changes
    template : (pagelets,) pagelets that are template
    varies, absent : (pagelets,) that one of them changes, is not there
    moves : that a row of content has another place
    other, lost : that a page is of another class; that a pagelet of the template is not on pages of another class
    """

    pagelet: Ints
    inner: Bools
    whole: Bools
    fresh: Floats
    template: Bools
    varies: Floats
    absent: Floats
    moves: float
    other: float
    lost: float

    @classmethod
    def drawn(cls, example: Example, rng: np.random.Generator) -> Self:
        """The habits of a site that may have the page."""
        nodes, words = example.page.nodes, example.page.nodes.words
        pagelet = partition(nodes, STRICT_K)
        count = int(pagelet.max(initial=-1)) + 1
        content = example.labels != TEMPLATE
        known = words * (example.labels != UNKNOWN)
        template = np.bincount(pagelet, known * ~content, count) > np.bincount(pagelet, known, count) / 2
        linked = np.bincount(pagelet, words * nodes.anchor[nodes.leaves], count)
        links = linked > _LINKS * np.bincount(pagelet, words, count)
        varied = template & (rng.random(count) < np.where(links, rng.random(), rng.uniform(0, 0.6)))
        below = nodes.last_leaf - nodes.first_leaf
        inner = (nodes.total(nodes.spread(content.astype(np.int64))) == below) & (below > 0)
        last = np.append(pagelet, -1)[nodes.last_leaf - 1]
        return cls(
            pagelet=pagelet,
            inner=inner,
            whole=(below > 0) & ~inner & (_pagelet_of_rows(nodes, pagelet) == last),
            fresh=np.where(content, _new_content(words, rng), _new_template(nodes, varied[pagelet], rng)),
            template=template,
            varies=np.where(varied, rng.beta(4, 1, count), 0),
            absent=(template & (rng.random(count) < rng.uniform(0, 0.4))) * rng.uniform(0, 0.8, count),
            moves=rng.uniform(0.1, 0.6),
            other=rng.random() if rng.random() < 0.5 else 0.0,
            lost=rng.uniform(0.2, 0.8),
        )


def _new_content(words: Ints, rng: np.random.Generator) -> Floats:
    """(m,) chance that a run of text, if it is content, is another on the next page: some short ones come back."""
    m = len(words)
    back = rng.random(m) < np.where(words <= _SHORT, rng.uniform(0, 0.5), rng.uniform(0, 0.1))
    chance: Floats = 1 - rng.random(m) * back
    return chance


def _new_template(nodes: NodeTable, varied: Bools, rng: np.random.Generator) -> Floats:
    """(m,) the same for template: a list that changes has other links under the same heading.

    Parameters
    ----------
    varied : (m,) leaves of pagelets that change
    """
    heading = (nodes.words <= _HEADING) & ~nodes.anchor[nodes.leaves]
    noise = rng.uniform(0, 0.15) if rng.random() < 0.4 else 0.0
    return np.where(varied, np.where(heading, rng.uniform(0, 0.25, len(heading)), 0.96), noise)


def evidence(example: Example, odds: Floats, others: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """(m, len(SITE_FEATURES)) what imagined pages say of the page, see `features.site_features`.

    Parameters
    ----------
    odds : (n, JUDGES) of the page-level classifiers
    others : how many pages to imagine
    """
    page = example.page
    keys = keys_of(page)
    own = Fragments.of(page.nodes, keys, odds)
    habits = _Habits.drawn(example, rng)
    counts = Counts()
    counts.add(own, 0)
    of_class = 1
    for _ in range(others):
        same = rng.random() >= habits.other
        of_class += same
        counts.add(_imagined(example, own, habits, same, rng), int(not same))
    witness = counts.witness(page.nodes, keys, odds, 0, of_class, True)
    return site_features(page, witness, odds, others, of_class - 1)


def _imagined(example: Example, own: Fragments, habits: _Habits, same: bool, rng: np.random.Generator) -> Fragments:
    """The fragments of another page of the site.

    Parameters
    ----------
    same : it is of the page's class
    """
    nodes, keys = example.page.nodes, own.keys
    steady = (habits.varies > 0) & (rng.random(len(habits.varies)) >= habits.varies)
    fresh = (rng.random(len(nodes.leaves)) < habits.fresh) & ~steady[habits.pagelet]
    text = np.where(fresh, rng.integers(1, _KEYS, len(fresh)), keys.text)
    path = _paths(nodes, habits, same, rng)
    there = _there(example, habits, same, rng)
    change, elsewhere = _elsewhere(nodes, habits, fresh, rng)
    return replace(
        own,
        keys=replace(
            keys,
            text=text,
            placed=mix(path[nodes.leaves] * 31 + text),
            path=path,
            exact=nodes.total(nodes.spread(mix(text))),
            links=link_sets(nodes, np.where(change & (nodes.links.key != 0), elsewhere, nodes.links.key)),
            target=np.where(change & (keys.target != 0), elsewhere, keys.target),
        ),
        odds=own.odds + rng.normal(0, _ODDS, own.odds.shape),
        seen=own.seen & there,
        links=own.links & there[nodes.links.row],
    )


def _paths(nodes: NodeTable, habits: _Habits, same: bool, rng: np.random.Generator) -> Ints:
    """(n,) paths: rows of content stand elsewhere, and on pages of another class pagelets of the template do."""
    moved = habits.inner & (rng.random(len(nodes)) < habits.moves)
    if not same:
        lost = np.append(rng.random(len(habits.varies)) < habits.lost, False)
        moved |= habits.whole & lost[_pagelet_of_rows(nodes, habits.pagelet)]
    for level in nodes.levels[1:]:
        moved[level] |= moved[nodes.parent[level]]
    return np.where(moved, mix(nodes.path + rng.integers(1, _KEYS)), nodes.path)


def _there(example: Example, habits: _Habits, same: bool, rng: np.random.Generator) -> Bools:
    """(n,) rows that the page has: of the template not all pagelets, of the content perhaps the beginning alone."""
    nodes = example.page.nodes
    absent = habits.absent if same else np.maximum(habits.absent, habits.lost * habits.template)
    kept = (rng.random(len(absent)) >= absent)[habits.pagelet]
    there: Bools = (nodes.total(nodes.spread(kept.astype(np.int64))) > 0) | (nodes.first_leaf == nodes.last_leaf)
    content = np.append(0, np.cumsum(example.labels != TEMPLATE))
    before = content[nodes.first_leaf] / max(1, int(content[-1]))
    ends = habits.inner & (before > rng.uniform(0.2, 1.6))
    return there & ~ends


def _elsewhere(nodes: NodeTable, habits: _Habits, fresh: Bools, rng: np.random.Generator) -> tuple[Bools, Ints]:
    """(links,) whether a link goes elsewhere, as those of other texts do, and where it would.

    Parameters
    ----------
    fresh : (m,) runs of text that are others
    """
    rows = nodes.links.row
    first = nodes.first_leaf[rows]
    picture = rng.random(len(rows)) < np.where(habits.inner[rows], *_PICTURE)
    change = np.where(first < nodes.last_leaf[rows], np.append(fresh, False)[first], picture)
    return change, rng.integers(1, _KEYS, len(rows))


def _pagelet_of_rows(nodes: NodeTable, pagelet: Ints) -> Ints:
    """(n,) number of the pagelet of the first leaf at or after each row, -1 where there is none."""
    return np.append(pagelet, -1)[nodes.first_leaf]
