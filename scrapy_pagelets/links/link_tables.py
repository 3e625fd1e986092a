"""The tables PAGES, PAGELETS and LINKS of a crawl, as columns.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2 (``docs/algorithms/pagelets-templates-2002.md``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from scrapy_pagelets.errors import PageletsError
from scrapy_pagelets.links.query import Query
from scrapy_pagelets.nodes import Bools, Ints
from scrapy_pagelets.segmentation.pagelet import CONTENT
from scrapy_pagelets.urls import normalise, resolve, site_of

#: Pagelets with links are shown by so much of their text.
_LABEL: Final = 60


class TableError(PageletsError, ValueError):
    """Raised for what is no feed; the message says which line, and why."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """A crawl with n pages, k pagelets, m links; a page that is only linked to is a page, too.

    Of links to a page of the crawl, whatever way they are spelt, and of a page that was crawled twice, the last time
    counts. Links that are broken, or no pages (``mailto:``), are left out.

    Attributes
    ----------
    urls, titles : n, as the feed writes them; of pages that were not crawled, as the first link to each, and ``""``
    crawled : (n,) whether the page is in the feed
    terms : (n,) number of different terms of the query in the content of the page
    page : (k,) of the pagelet
    number : (k,) the pagelet's ``id`` in the feed
    template : (k,) whether its role is another one than content
    matches : (k,) how often terms of the query occur in it
    labels : k beginnings of their texts, ``""`` for pagelets without links
    source, target : (m,) pagelet and page, in document order
    near : (m,) how often terms of the query occur around the link: see `Query.find`
    """

    urls: list[str]
    titles: list[str]
    crawled: Bools
    terms: Ints
    page: Ints
    number: Ints
    template: Bools
    matches: Ints
    labels: list[str]
    source: Ints
    target: Ints
    near: Ints

    @cached_property
    def hosts(self) -> Ints:
        """(n,) number of the host of each page."""
        return _numbered([_host(url) for url in self.urls])

    @cached_property
    def sites(self) -> Ints:
        """(n,) number of the site of each page: its registrable domain."""
        names = dict.fromkeys(map(_host, self.urls))
        sites = {host: site_of(f"http://{host}/") for host in names}
        return _numbered([sites[_host(url)] for url in self.urls])

    @property
    def single_site(self) -> bool:
        """Whether all pages of the feed are of one site."""
        return len(np.unique(self.sites[self.crawled])) == 1

    def find(self, url: str) -> int | None:
        """Number of the page of a URL, None if the crawl does not know it."""
        wanted = _spelt(url)
        return next((number for number, known in enumerate(self.urls) if _spelt(known) == wanted), None)


def read(lines: Iterable[Mapping[str, Any]], query: Query | None = None) -> Tables:
    """The tables of a feed that was made with ``PAGELETS_EXPORT=all``.

    Without that setting the feed has content pagelets only, and so have the tables.

    Parameters
    ----------
    lines : of the feed: ``url``, ``title`` and ``pagelets``
    query : what the columns ``terms``, ``matches`` and ``near`` count; without one they are zero

    Raises
    ------
    TableError : for lines that are no pages of a feed

    Examples
    --------
    >>> menu = {"id": 0, "role": "navigation", "text": "Home", "links": [{"url": "http://h/", "anchor": "Home"}]}
    >>> tables = read([{"url": "http://h/a", "title": "A", "pagelets": [menu]}])
    >>> tables.urls, tables.crawled.tolist(), tables.template.tolist(), tables.source.tolist(), tables.target.tolist()
    (['http://h/a', 'http://h/'], [True, False], [True], [0], [1])
    """
    reader = _Reader(query)
    for number, line in enumerate(lines, 1):
        try:
            reader.add(line)
        except (KeyError, TypeError, AttributeError) as error:
            raise TableError(f"line {number} is not a page ({type(error).__name__}: {error})") from None
    return reader.tables()


class _Reader:
    """The tables while they grow."""

    def __init__(self, query: Query | None) -> None:
        self.query = query
        self.known: dict[str, int] = {}
        self.urls: list[str] = []
        self.titles: list[str] = []
        #: Number of lines read when the page was last met, 0 for pages that are only linked to.
        self.last = array("q")
        self.terms = array("q")
        self.labels: list[str] = []
        self.pagelets = {name: array("q") for name in ("page", "number", "template", "matches", "line")}
        self.links = {name: array("q") for name in ("source", "target", "near")}
        self.lines = 0

    def add(self, line: Mapping[str, Any]) -> None:
        self.lines += 1
        if not isinstance(line["url"], str):
            raise TypeError("its url is no string")
        page = self._page(_spelt(line["url"]), line["url"])
        self.urls[page], self.titles[page], self.last[page] = line["url"], line.get("title") or "", self.lines
        terms: set[str] = set()
        for pagelet in line["pagelets"] or ():
            terms |= self._pagelet(page, pagelet)
        self.terms[page] = len(terms)

    def _page(self, spelt: str, url: str) -> int:
        number = self.known.setdefault(spelt, len(self.urls))
        if number == len(self.urls):
            self.urls.append(url)
            self.titles.append("")
            self.last.append(0)
            self.terms.append(0)
        return number

    def _pagelet(self, page: int, pagelet: Mapping[str, Any]) -> frozenset[str]:
        """Take in a pagelet; returns the terms in it, if it is content."""
        links = [link for link in pagelet["links"] if resolve("", link["url"])[0]]
        urls = [link["url"] for link in links]
        template, text = pagelet["role"] != CONTENT, pagelet["text"]
        found = self.query.find(text, [link["anchor"] for link in links]) if self.query else None
        own = len(self.labels)
        row = (page, pagelet["id"], template, found.matches if found else 0, self.lines)
        for column, value in zip(self.pagelets.values(), row, strict=True):
            column.append(value)
        self.labels.append(" ".join(text[: 2 * _LABEL].split())[:_LABEL] if links else "")
        self.links["source"].extend([own] * len(links))
        self.links["target"].extend(self._page(resolve("", url)[1], url.partition("#")[0]) for url in urls)
        self.links["near"].extend(found.near if found else [0] * len(links))
        return found.terms if found and not template else frozenset()

    def tables(self) -> Tables:
        """The rows of each page's last line."""
        pagelets = {name: np.array(column, np.int64) for name, column in self.pagelets.items()}
        links = {name: np.array(column, np.int64) for name, column in self.links.items()}
        last = np.array(self.last, np.int64)
        newest = last[pagelets["page"]] == pagelets.pop("line")
        kept = newest[links["source"]]
        links = {name: column[kept] for name, column in links.items()}
        links["source"] = (np.cumsum(newest) - 1)[links["source"]]
        return Tables(
            urls=self.urls,
            titles=self.titles,
            crawled=last > 0,
            terms=np.array(self.terms, np.int64),
            page=pagelets["page"][newest],
            number=pagelets["number"][newest],
            template=pagelets["template"][newest] > 0,
            matches=pagelets["matches"][newest],
            labels=[label for label, new in zip(self.labels, newest.tolist(), strict=True) if new],
            **links,
        )


def _spelt(url: str) -> str:
    """One spelling for each page; a broken URL as it is."""
    try:
        return normalise(url)
    except ValueError:
        return url


def _host(url: str) -> str:
    """Host of a URL, the default port apart."""
    return _spelt(url).partition("//")[2].partition("/")[0]


def _numbered(names: list[str]) -> Ints:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
