"""Train the page-level classifier of 2007 on labels of the site level; no page is labelled by people.

Source: Chakrabarti, Kumar, Punera 2007 (slides), "Automatically Labeling Data" and "Learning the 'Templateness'
Classifier"; ``docs/algorithms/isotonic-2007.md``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifier import size_class
from scrapy_pagelets.decision.lexicon import Lexicon
from scrapy_pagelets.decision.page_features import node_features, page_features
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.page_alone.page_level import PageLevel, visual_features
from scrapy_pagelets.training.labels import CONTENT, FOLDS, UNKNOWN, Example, by_sites, template_share
from scrapy_pagelets.training.training_tables import Nodes, by_site, lexicon

#: Maximum number of pages of one site that are learnt from, and of nodes of one page that become rows.
_PAGES_PER_SITE: Final = 16
_NODES_PER_PAGE: Final = 200


def labelled(pages: Sequence[Page]) -> Iterator[Example]:
    """Yield examples with labels from the site level: text that many pages share is template, the rest is not.

    Unlike in ``by_sites``, no text is left out because it is on a few pages only: the slides accept that some template
    is labelled as content. Pages of sites with fewer than three pages are left out.
    """
    for example in by_sites(pages):
        if (example.labels != UNKNOWN).any():
            rest = (example.labels == UNKNOWN) & (example.page.nodes.words > 0)
            yield replace(example, labels=np.where(rest, CONTENT, example.labels))


def as_rendered(example: Example, page: Page) -> Example:
    """Give the rendered form of a page the labels of its texts as received; texts that only it has are unknown."""
    rows = page.received
    return replace(example, page=page, labels=np.where(rows < 0, UNKNOWN, example.labels[rows]))


def train_page_level(examples: Sequence[Example]) -> tuple[PageLevel, list[PageLevel]]:
    """Train on some pages of each site, on all sites and without each fold; return the model, and those of the folds.

    Examples with a layout train the classifier of rendered pages, the others train the one of pages as received; if all
    have a layout, they train both. The lexicon that gives a training page its features was made without its fold,
    because it will be applied to sites that it does not know.

    Raises
    ------
    ValueError : if the examples are of one fold only
    """
    if len({example.fold for example in examples}) < 2:
        raise ValueError("pages of more sites are needed: all of them are in one fold of the cross-validation")
    shown = thinned([example for example in examples if example.page.layout is not None])
    received = thinned([example for example in examples if example.page.layout is None]) or shown
    lexica = [lexicon(e for e in received if e.fold != fold) for fold in range(FOLDS)]
    plain = _table((e, _columns(e.page, lexica[e.fold])[0]) for e in received)
    rendered = _table((e, np.hstack(_columns(e.page, lexica[e.fold]))) for e in shown) if shown else None
    about = {"pages": len(received), "rendered": len(shown)}

    def without(fold: int, words: Lexicon) -> PageLevel:
        by_look = rendered.fit(rendered.fold != fold) if rendered and (rendered.fold != fold).any() else None
        return PageLevel(plain.fit(plain.fold != fold), by_look, words, about)

    return without(-1, lexicon(received)), [without(fold, lexica[fold]) for fold in range(FOLDS)]


def thinned(examples: Sequence[Example]) -> list[Example]:
    """Return a sample of the examples of each site, always the same one."""
    rng = random.Random(0)
    return [
        example
        for group in by_site(examples).values()
        for example in (group if len(group) <= _PAGES_PER_SITE else rng.sample(group, _PAGES_PER_SITE))
    ]


def _columns(page: Page, words: Lexicon) -> list[Floats]:
    """Features of the nodes of a page, and those of their appearance if it was rendered."""
    columns = node_features(page, page_features(page, words))
    return [columns] if page.layout is None else [columns, visual_features(page.layout)]


def _table(parts: Iterable[tuple[Example, Floats]]) -> Nodes:
    """One row for each node with labels; a sample of large pages. A node is template if all text below it is."""
    rng = np.random.default_rng(0)
    tables = []
    for example, columns in parts:
        share, below = template_share(example)
        rows = np.flatnonzero(below > 0)
        rows = rng.permutation(rows)[:_NODES_PER_PAGE]
        weight = np.log1p(below[rows])
        sizes = size_class(example.page.nodes)[rows]
        fold = np.full(len(rows), example.fold)
        tables.append((columns[rows].astype(np.float32), sizes, share[rows] == 1, weight / weight.sum(), fold))
    return Nodes(*(np.concatenate(column) for column in zip(*tables, strict=True)))
