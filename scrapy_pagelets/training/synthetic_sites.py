"""Synthetic sites around single labelled pages: simulate the evidence of other pages of their sites.

People have labelled single pages of a thousand hosts, but few whole sites, most of them documentation: trained on these
alone, the final decision would learn that templates never change, and would see few page designs. A synthetic page has
the fragments of a real one: its content has other words at other paths, and its template is the same except for some
pagelets that change from page to page, and for captions, bylines and the like inside content. The rates of these
changes are drawn for each site, from ranges by which content and template recur on about as many pages, and at the same
path on about as many, as on the real training sites; template changes more than there. This method is ours.
"""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.decision.page_features import site_features
from scrapy_pagelets.evidence.evidence import Counts, Fragments, keys_of, link_sets
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.training.training_tables import TEMPLATE, UNKNOWN, Example

#: Maximum number of words of a run of content that may recur on another page, and of a heading above a changing list.
_SHORT: Final = 3
_HEADING: Final = 5
_LINKS: Final = 0.3  # a pagelet is a list of links if more than this share of its words is link text
#: Probability that template inside content changes from page to page: a longer run of text, and a short one.
_INSERTION: Final = (0.8, 0.3)
_CHANGES: Final = 0.96  # probability that a run of text that changes is another one on the next page
_STAYS: Final = 0.05  # the same of one that does not
#: Probability that a link without text has another target on another page: in content, and in template.
_PICTURE: Final = (0.9, 0.15)
_ODDS: Final = 0.5  # standard deviation of the classifiers' log odds between two pages at the same path
_OTHER_DIGITS: Final = 0.5  # probability that of a text with digits which changes nothing else changes
_KEYS: Final = 2**62


@dataclass(frozen=True)
class _Habits:
    """How the pages of a synthetic site differ, drawn once for the site. Apart from masks, values are probabilities."""

    pagelet: Ints  # (m,) number of the pagelet of each leaf
    inner: Bools  # (n,) whether the row has content only
    whole: Bools  # (n,) whether the row has template and is inside one pagelet
    fresh: Floats  # (m,) that a run of text is another one on the next page, if its pagelet changes
    template: Bools  # (pagelets,) whether the pagelet is template
    varies: Floats  # (pagelets,) that a template pagelet changes
    absent: Floats  # (pagelets,) that it is missing
    moves: float  # that a row of content has another path
    other: float  # that a page is of another class
    lost: float  # that a template pagelet is missing on pages of another class

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
        varied = template & (rng.random(count) < np.where(links, rng.random(), rng.random()))
        below = nodes.last_leaf - nodes.first_leaf
        inner = (nodes.sum_below(content.astype(np.int64)) == below) & (below > 0)
        last = np.append(pagelet, -1)[nodes.last_leaf - 1]
        return cls(
            pagelet=pagelet,
            inner=inner,
            whole=(below > 0) & ~inner & (_pagelet_of_rows(nodes, pagelet) == last),
            fresh=np.select(
                [content, template[pagelet]],
                [_new_content(words, rng), _new_template(nodes, varied[pagelet], rng)],
                _new_insertion(nodes, rng),
            ),
            template=template,
            varies=np.where(varied, rng.beta(4, 1, count), 0),
            absent=(template & (rng.random(count) < rng.uniform(0, 0.4))) * rng.uniform(0, 0.8, count),
            moves=rng.uniform(0.1, 0.6),
            other=rng.random() if rng.random() < 0.5 else 0.0,
            lost=rng.uniform(0.2, 0.8),
        )


def _new_content(words: Ints, rng: np.random.Generator) -> Floats:
    """(m,) probability that a run of content is another one on the next page; some short runs recur."""
    m = len(words)
    back = rng.random(m) < np.where(words <= _SHORT, rng.uniform(0, 0.5), rng.uniform(0, 0.1))
    return np.asarray(1 - rng.random(m) * back)


def _new_template(nodes: NodeTable, varied: Bools, rng: np.random.Generator) -> Floats:
    """(m,) the same for template; a list in a pagelet that varies has other links under the same heading."""
    heading = (nodes.words <= _HEADING) & ~nodes.anchor[nodes.leaves]
    noise = rng.uniform(0, 0.15) if rng.random() < 0.4 else 0.0
    return np.where(varied, np.where(heading, rng.uniform(0, 0.25, len(heading)), _CHANGES), noise)


def _new_insertion(nodes: NodeTable, rng: np.random.Generator) -> Floats:
    """(m,) the same for template inside content, by shape: captions change, labels such as "Share" do not."""
    _, kind = np.unique(nodes.shape[nodes.leaves], return_inverse=True)
    chance = np.where(nodes.words > _SHORT, *_INSERTION)
    changes = rng.random(int(kind.max(initial=-1)) + 1)[kind] < chance
    return np.where(changes, _CHANGES, _STAYS)


def evidence(example: Example, odds: Floats, others: int, rng: np.random.Generator) -> tuple[int, NDArray[np.float32]]:
    """As `Site.evidence`, of synthetic pages about a page; ``odds``: (n, CLASSIFIERS) of its classifiers."""
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
        counts.add(_synthetic_page(example, own, habits, same, rng), int(not same))
    found = counts.evidence(page.nodes, keys, odds, 0, of_class, True)
    return found.pages, site_features(page, found, odds, min(of_class - 1, found.pages))


def _synthetic_page(
    example: Example, own: Fragments, habits: _Habits, same: bool, rng: np.random.Generator
) -> Fragments:
    """Generate the fragments of another page of the site, of the same class as the example or of another one."""
    nodes, keys = example.page.nodes, own.keys
    steady = (habits.varies > 0) & (rng.random(len(habits.varies)) >= habits.varies)
    fresh = (rng.random(len(nodes.leaves)) < habits.fresh) & ~steady[habits.pagelet]
    text = np.where(fresh, rng.integers(1, _KEYS, len(fresh)), keys.text)
    has_digits = keys.text != mix(nodes.text * 31)
    other_digits = fresh & has_digits & (rng.random(len(fresh)) < _OTHER_DIGITS)
    folded = np.where(fresh & ~other_digits, text, nodes.text)  # all digits alike
    path = _paths(nodes, habits, same, rng)
    there = _present_rows(example, habits, same, rng)
    change, elsewhere = _new_targets(nodes, habits, fresh, rng)
    return replace(
        own,
        keys=replace(
            keys,
            text=text,
            placed=mix(path[nodes.leaves] * 31 + folded),
            value=np.where(fresh, rng.uniform(-1, 1, len(fresh)), keys.value),
            path=path,
            exact=nodes.sum_below(mix(folded)),
            links=link_sets(nodes, np.where(change & (nodes.links.key != 0), elsewhere, nodes.links.key)),
            target=np.where(change & (keys.target != 0), elsewhere, keys.target),
        ),
        odds=own.odds + rng.normal(0, _ODDS, own.odds.shape),
        seen=own.seen & there,
        links=own.links & there[nodes.links.row],
    )


def _paths(nodes: NodeTable, habits: _Habits, same: bool, rng: np.random.Generator) -> Ints:
    """(n,) paths; some rows of content move, and on pages of another class some template pagelets do as well."""
    moved = habits.inner & (rng.random(len(nodes)) < habits.moves)
    if not same:
        lost = np.append(rng.random(len(habits.varies)) < habits.lost, False)
        moved |= habits.whole & lost[_pagelet_of_rows(nodes, habits.pagelet)]
    nodes.inherit(moved, np.bitwise_or)
    return np.where(moved, mix(nodes.path + rng.integers(1, _KEYS)), nodes.path)


def _present_rows(example: Example, habits: _Habits, same: bool, rng: np.random.Generator) -> Bools:
    """(n,) whether the page has the row: some template pagelets are missing, and the content may end early."""
    nodes = example.page.nodes
    absent = habits.absent if same else np.maximum(habits.absent, habits.lost * habits.template)
    kept = (rng.random(len(absent)) >= absent)[habits.pagelet]
    there: Bools = (nodes.sum_below(kept.astype(np.int64)) > 0) | (nodes.first_leaf == nodes.last_leaf)
    content = np.append(0, np.cumsum(example.labels != TEMPLATE))
    before = content[nodes.first_leaf] / max(1, int(content[-1]))
    ends = habits.inner & (before > rng.uniform(0.2, 1.6))
    return there & ~ends


def _new_targets(nodes: NodeTable, habits: _Habits, fresh: Bools, rng: np.random.Generator) -> tuple[Bools, Ints]:
    """(links,) whether the target of a link changes, as it does if its text is fresh, and the key of a new target."""
    rows = nodes.links.row
    first = nodes.first_leaf[rows]
    picture = rng.random(len(rows)) < np.where(habits.inner[rows], *_PICTURE)
    change = np.where(first < nodes.last_leaf[rows], np.append(fresh, False)[first], picture)
    return change, rng.integers(1, _KEYS, len(rows))


def _pagelet_of_rows(nodes: NodeTable, pagelet: Ints) -> Ints:
    """(n,) number of the pagelet of the first leaf at or after each row, -1 if there is none."""
    return np.append(pagelet, -1)[nodes.first_leaf]
