"""Pagelets of a page: cut it and, given the templateness of its leaves, give each pagelet its role."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import fsum
from typing import Any

import numpy as np

from scrapy_pagelets.base import display as notebook
from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.core.subtrees import divided as divided
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import CONTENT, role_of
from scrapy_pagelets.page.text import anchors_of, paths_of, text_of, told_of, words_in
from scrapy_pagelets.page.urls import written_addresses
from scrapy_pagelets.papers.methods import labels_of


# Pagelets are never changed, but it takes three times as long to make frozen ones.
@dataclass(slots=True, eq=False)
class Pagelet:
    """A region of a page with one topic or function."""

    page: Page  # the page that it belongs to
    id: int  # its number on the page, in document order
    index: Ints  # (k,) its runs of text, as ascending indices of the page's leaves; empty if it has pictures only
    templateness: float  # mean over its words, 0 to 1
    role: str  # one of `page.roles.ROLES`
    #: the fewest nodes with its text and pictures and no others, in the page as received; None if pictures were ignored
    rows: Sequence[int] | None = None

    @property
    def leaves(self) -> Bools:
        """(m,) its runs of text, as a mask over the page's leaves."""
        mask = np.zeros(len(self.page.nodes.leaves), np.bool_)
        mask[self.index] = True
        return mask

    @property
    def text(self) -> str:
        """Its text."""
        return text_of(self.page.nodes, self.index)

    @property
    def words(self) -> int:
        """Number of its words."""
        return words_in(self.page.nodes, self.index)

    @property
    def xpaths(self) -> list[str]:
        """Paths of the fewest nodes that contain its text and no other; for rendered pages, in the page as received."""
        received = (self.page.source or self.page).nodes
        if self.rows is not None:
            return [received.xpath(row) for row in self.rows]
        if self.page.source is None:
            return paths_of(received, self.index)
        index = self.page.received[self.index]
        return paths_of(received, index[index >= 0])

    @property
    def links(self) -> list[dict[str, str]]:
        """Return the hyperlinks with the absolute ``url`` and the ``anchor`` text, in document order.

        A link belongs to the pagelet of its first run of text, or without text (a picture, a frame) of the next run.
        """
        links: list[dict[str, str]] = self.record()["links"]
        return links

    def _repr_html_(self) -> str:
        return Segmentation([self])._repr_html_()

    def _row(self) -> notebook.Row:
        paths = self.xpaths
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        role = f"{self.id} {self.role}, {'kept' if self.role == CONTENT else 'stripped'}"
        where = f"{paths[0]}{more}" if paths else "added by a script"
        return role, self.words, float(self.templateness), where, self.text

    def record(self) -> dict[str, Any]:
        """The pagelet as a record of the feed."""
        return records_of([self])[0]


def records_of(pagelets: Sequence[Pagelet]) -> list[dict[str, Any]]:
    """Pagelets of one page as records of the feed."""
    if not pagelets:
        return []
    page = pagelets[0].page
    told = told_of(page.nodes, [pagelet.index for pagelet in pagelets], page.source is None)
    ignored = page.marks.ignored_links
    numbers = [[link for link in links if link not in ignored] if ignored else links for *_, links in told]
    every = [link for each in numbers for link in each]
    urls = written_addresses(page.base, list(map(page.nodes.links.href.__getitem__, every)))
    pairs = zip(urls, anchors_of(page.nodes, every), strict=True)
    links = iter([{"url": url, "anchor": anchor} for url, anchor in pairs])
    return [
        {
            "id": pagelet.id,
            "xpaths": paths if page.source is None and pagelet.rows is None else pagelet.xpaths,
            "role": pagelet.role,
            "templateness": round(pagelet.templateness, 3),
            "text": text,
            "words": words,
            "links": [*islice(links, len(own))],
        }
        for pagelet, (paths, text, words, _), own in zip(pagelets, told, numbers, strict=True)
    ]


class Segmentation(list[Pagelet]):
    """The pagelets of a page, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return notebook.table("No pagelet: the page has no text", (), [])
        shown, page = self[: notebook.MOST], self[0].page
        kept = sum(pagelet.words for pagelet in self if pagelet.role == CONTENT)
        stripped = sum(pagelet.words for pagelet in self) - kept
        note = f"Pagelets: {len(self):,}. Words kept: {kept:,}, stripped: {stripped:,}."
        more = f" The first {notebook.MOST} pagelets are shown." if len(shown) < len(self) else ""
        colors = [notebook.KEPT if pagelet.role == CONTENT else notebook.STRIPPED for pagelet in shown]
        head = ("pagelet", "words", "templateness", "where", "text")
        return notebook.table(page.title or page.url, head, [one._row() for one in shown], note + more, colors)


def segment(
    page: Page, templateness: Floats | None = None, method: str = "pagelets", *, whole: bool = False, **options: Any
) -> Segmentation:
    r"""Cut a page into pagelets; every leaf is in exactly one.

    Parameters
    ----------
    templateness : (m,) of each leaf, 0 to 1; all content if None
    method : a name in ``papers.methods.METHODS``; `PAGELETS_SEGMENTER` in ``docs/settings.md`` explains them
    whole : do not divide pagelets that have both content and template; else such a pagelet becomes two pagelets, so
        that exactly the content is exported. Whole pagelets include their pictures if the method uses pictures
    options : of the method: ``k`` links, a ``pdoc``, a ``penalty`` for each cut or a number of ``segments``, a file of
        ``weights``; see `labels_of`

    Raises
    ------
    ValueError : if there is no such method or option, or if templateness does not have one value for each leaf
    ImportError : if the method needs a library that is missing

    Examples
    --------
    >>> page = Page.parse(b"<h1>Title</h1><p>Some words.<p>More.", "http://example.com/")
    >>> [(p.text, p.role) for p in segment(page)]
    [('Title\n\nSome words.\n\nMore.', 'content')]
    """
    leaves = page.nodes.leaves
    if templateness is not None and templateness.shape != leaves.shape:
        raise ValueError(f"templateness has {templateness.size} values, the page {leaves.size} runs of text")
    return Segmentation(pagelets_of(page, labels_of(page, method, templateness, **options), templateness, whole=whole))


def pagelets_of(
    page: Page, labels: Ints, templateness: Floats | None = None, roles: Ints | None = None, *, whole: bool = False
) -> list[Pagelet]:
    """Make the pagelets of a page, like `segment`, from the (n,) `labels_of` its rows; for (m,) roles see `role_of`."""
    templateness = np.zeros(len(page.nodes.leaves)) if templateness is None else templateness
    roles = np.zeros(len(page.nodes.leaves), np.int64) if roles is None else roles
    if whole:
        return _undivided(page, labels, templateness, roles)
    parts = divided(page.nodes, labels, templateness, roles)
    return [Pagelet(page, number, *part) for number, part in enumerate(parts)]


def _undivided(page: Page, labels: Ints, templateness: Floats, roles: Ints) -> list[Pagelet]:
    """Undivided pagelets, with the pictures that have a label."""
    nodes = page.nodes
    seen = np.flatnonzero(labels >= 0)
    if not len(nodes.leaves):
        return []
    order = np.argsort(labels[seen], kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[seen][order])) + 1)
    number = np.searchsorted(nodes.leaves, seen)
    rows = page.received_rows[seen] if page.source else seen
    roots = _roots((page.source or page).nodes, rows[rows >= 0], labels[seen][rows >= 0])
    pagelets: list[Pagelet] = []
    for group in sorted(groups, key=lambda group: group.item(0)):
        index = number[group[nodes.tag[seen[group]] == TEXT]]
        # A pagelet of pictures only takes its templateness and role from the text that follows.
        near = index if len(index) else np.minimum(number[group[:1]], len(templateness) - 1)
        weights = np.maximum(nodes.words[near], 1)
        mean = fsum((templateness[near] * weights).tolist()) / int(weights.sum())
        role = role_of(nodes, near, mean, roles)
        pagelets.append(Pagelet(page, len(pagelets), index, mean, role, roots.get(int(labels[seen[group[0]]]), [])))
    return pagelets


def _roots(nodes: NodeTable, seen: Ints, labels: Ints) -> dict[int, list[int]]:
    """For each label, the rows of the maximal subtrees that contain rows of this label only."""
    first, last = (np.searchsorted(seen, rows) for rows in (np.arange(len(nodes)), nodes.end))
    changes = np.cumsum(np.diff(labels, prepend=labels[:1]) != 0)
    uniform = np.zeros(len(nodes), np.bool_)
    some = np.flatnonzero(last > first)
    uniform[some] = changes[first[some]] == changes[last[some] - 1]
    top = uniform.copy()
    top[1:] &= ~uniform[nodes.parent[1:]]
    roots: dict[int, list[int]] = {}
    for row in np.flatnonzero(top).tolist():
        roots.setdefault(int(labels[first[row]]), []).append(row)
    return roots
