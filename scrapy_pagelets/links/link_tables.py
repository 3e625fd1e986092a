"""PAGES, PAGELETS and LINKS of a crawl as columns (Bar-Yossef & Rajagopalan 2002, Section 3.2), and query matches."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.characters import WORD, caseless, without_controls, words
from scrapy_pagelets.base.errors import QueryError
from scrapy_pagelets.feed.feed_reader import FeedError
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.page.urls import host_of, normalised, resolve, site_of

_WINDOW: Final = 50  # characters on either side of a link that describe its target (Clever: 50 bytes)
_LABEL: Final = 60  # characters of the text that label a pagelet with links


class Query:
    """The words of a query. Quotes, operators, order and repetition are ignored; QueryError if it has no word."""

    def __init__(self, text: str) -> None:
        self.terms = frozenset(words(without_controls(text)))
        if not self.terms:
            raise QueryError("the query has no words: give some letters or digits")

    def find(self, text: str, anchors: Sequence[str] = ()) -> tuple[frozenset[str], int, list[int]]:
        """Find the terms in a text and in the windows of its links, given by their ``anchors`` in document order.

        Return the terms that occur, the number of their occurrences, and that in the window of each link.
        A window is the anchor text and 50 characters on either side (Chakrabarti et al. 1998). An empty anchor, or one
        that is not in the text, is placed at the end of the previous one.
        """
        flat = _folded(text)
        matches = [match for match in WORD.finditer(flat) if match[0] in self.terms]
        if not matches:
            return frozenset(), 0, [0] * len(anchors)
        starts, ends = [match.start() for match in matches], [match.end() for match in matches]
        near = [
            max(0, bisect_right(ends, last + _WINDOW) - bisect_left(starts, first - _WINDOW))
            for first, last in _places(flat, anchors)
        ]
        return frozenset(match[0] for match in matches), len(matches), near


def _folded(text: str) -> str:
    """Normalise a text as ``words`` does, and fold its white space."""
    return " ".join(caseless(text).split())


def _places(flat: str, anchors: Sequence[str]) -> list[tuple[int, int]]:
    places, end = [], 0
    for anchor in map(_folded, anchors):
        start = flat.find(anchor, end)
        start, end = (end, end) if start < 0 else (start, start + len(anchor))
        places.append((start, end))
    return places


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """A crawl with n pages, k pagelets and m links. Pages that are linked to but were not crawled are included.

    Links lead to one page if their normalised URLs are equal; those that are broken or lead to no page (``mailto:``)
    are left out. If a page was crawled twice, the last line counts.
    """

    #: urls, titles: of n pages as in the feed; if not crawled, the URL of the first link to it and the title ``""``
    urls: list[str]
    titles: list[str]
    crawled: Bools  # (n,) whether the page is in the feed
    terms: Ints  # (n,) number of distinct query terms in the content of the page
    page: Ints  # (k,) number of the page of each pagelet
    number: Ints  # (k,) ``id`` of the pagelet in the feed
    template: Bools  # (k,) whether the role of the pagelet is other than content
    matches: Ints  # (k,) number of occurrences of query terms in the pagelet
    labels: list[str]  # k beginnings of the texts, ``""`` for pagelets without links
    #: source, target: (m,) the pagelet and the page that each link connects, in document order
    source: Ints
    target: Ints
    near: Ints  # (m,) number of occurrences of query terms around the link, see `Query.find`

    @cached_property
    def hosts(self) -> Ints:
        """(n,) number of the host of each page."""
        return np.unique([host_of(url) for url in self.urls], return_inverse=True)[1]

    @cached_property
    def sites(self) -> Ints:
        """(n,) number of the site of each page: its registrable domain."""
        sites = {host: site_of(f"http://{host}/") for host in map(host_of, self.urls)}
        return np.unique([sites[host_of(url)] for url in self.urls], return_inverse=True)[1]

    @property
    def single_site(self) -> bool:
        """Whether all pages of the feed are of one site."""
        return len(np.unique(self.sites[self.crawled])) == 1

    def find(self, url: str) -> int | None:
        """Number of the page with a URL, None if the crawl neither has it nor links to it."""
        wanted = normalised(url)
        return next((number for number, other in enumerate(self.urls) if normalised(other) == wanted), None)


def read(lines: Iterable[Mapping[str, Any]], query: Query | None = None) -> Tables:
    """Read the tables from a feed, which has pagelets of templates if it was made with ``PAGELETS_EXPORT=all``.

    ``lines``: of the feed, with ``url``, ``title`` and ``pagelets``; FeedError for others. ``query``: that the columns
    ``terms``, ``matches`` and ``near`` count; without one they are zero.
    """
    reader = _Reader(query)
    for number, line in enumerate(lines, 1):
        try:
            reader.add(number, line)
        except (KeyError, TypeError, AttributeError) as error:
            raise FeedError(f"line {number} is not a page ({type(error).__name__}: {error})") from None
    return reader.tables()


class _Reader:
    def __init__(self, query: Query | None) -> None:
        self.query = query
        self.known: dict[str, int] = {}
        self.urls: list[str] = []
        self.titles: list[str] = []
        self.last = array("q")  # number of the last line with the page, 0 for pages that are only linked to
        self.terms = array("q")
        self.labels: list[str] = []
        #: Rows of page, number, template, matches and line; of source, target and near.
        self.pagelets, self.links = array("q"), array("q")

    def add(self, place: int, line: Mapping[str, Any]) -> None:
        if not isinstance(line["url"], str):
            raise TypeError("its url is not a string")
        page = self._page(normalised(line["url"]), line["url"])
        self.urls[page], self.titles[page], self.last[page] = line["url"], line.get("title") or "", place
        terms: set[str] = set()
        for pagelet in line["pagelets"] or ():
            terms |= self._pagelet(page, pagelet, place)
        self.terms[page] = len(terms)

    def _page(self, normalised: str, url: str) -> int:
        number = self.known.setdefault(normalised, len(self.urls))
        if number == len(self.urls):
            self.urls.append(url)
            self.titles.append("")
            self.last.append(0)
            self.terms.append(0)
        return number

    def _pagelet(self, page: int, pagelet: Mapping[str, Any], place: int) -> frozenset[str]:
        """Add a pagelet and its links; returns the query terms in it if it is content."""
        links = [link for link in pagelet["links"] if resolve("", link["url"])[0]]
        template, text = pagelet["role"] != CONTENT, pagelet["text"]
        nothing = frozenset[str](), 0, [0] * len(links)
        terms, matches, near = self.query.find(text, [link["anchor"] for link in links]) if self.query else nothing
        for link, count in zip(links, near, strict=True):
            target = self._page(resolve("", link["url"])[1], link["url"].partition("#")[0])
            self.links.extend((len(self.labels), target, count))
        self.pagelets.extend((page, pagelet["id"], template, matches, place))
        self.labels.append(" ".join(text[: 2 * _LABEL].split())[:_LABEL] if links else "")
        return frozenset() if template else terms

    def tables(self) -> Tables:
        """The tables, with the rows of the last line of each page."""
        pagelets = np.array(self.pagelets, np.int64).reshape(-1, 5)
        links = np.array(self.links, np.int64).reshape(-1, 3)
        last = np.array(self.last, np.int64)
        newest = last[pagelets[:, 0]] == pagelets[:, 4]
        page, number, template, matches, _ = pagelets[newest].T
        source, target, near = links[newest[links[:, 0]]].T
        return Tables(
            urls=self.urls,
            titles=self.titles,
            crawled=last > 0,
            terms=np.array(self.terms, np.int64),
            page=page,
            number=number,
            template=template > 0,
            matches=matches,
            labels=[label for label, new in zip(self.labels, newest.tolist(), strict=True) if new],
            source=(np.cumsum(newest) - 1)[source],
            target=target,
            near=near,
        )
