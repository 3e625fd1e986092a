"""Clean pages without a crawl: one by itself, or several of a site that is learnt first."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.feed_schema import PAGE, SEGMENT, STRIP
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.feed.pagelet import Pagelet, Segmentation
from scrapy_pagelets.page.data_text import with_data
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import host_of
from scrapy_pagelets.rules.robots import marked

_UNICODE: Final = "text/html; charset=utf-8"
_PAIRS: Final = "Site.of takes pairs (html, url) of pages of one site, such as [(html, 'https://example.com/a'), ...]"


@dataclass(frozen=True, eq=False)
class CleanPage:
    """A page without its template. Its string is its Markdown."""

    record: PageRecord  # of which the other attributes are the ones that are asked for most

    def __str__(self) -> str:
        return self.markdown

    @property
    def url(self) -> str:
        """Address of the page, "" if none was given."""
        return self.record.page.url

    @property
    def title(self) -> str:
        """Text of ``<title>``."""
        return self.record.page.title

    @property
    def headline(self) -> str | None:
        """The page's own heading; None if it has none."""
        headline = self.record.decision.headline
        return headline.text if headline else None

    @property
    def language(self) -> str | None:
        """Language that the page says it is in, such as ``en``."""
        return self.record.page.language

    @cached_property
    def text(self) -> str:
        """The content as text."""
        return self.record.text

    @cached_property
    def markdown(self) -> str:
        """The content as Markdown."""
        return self.record.markdown

    @cached_property
    def html(self) -> str:
        """The content as HTML."""
        return self.record.html

    @property
    def pagelets(self) -> list[Pagelet]:
        """All pagelets of the page: kept are those with the role ``content``."""
        return Segmentation(self.record.cut())

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the feed: author, dates, product and all others that ``docs/feed.md`` explains."""
        return self.record.values(PAGE, SEGMENT, STRIP)


class LearntSite(Site):
    """One site, learnt page by page, that cleans its pages. It is imported as ``scrapy_pagelets.Site``."""

    @classmethod
    def of(cls, pages: Iterable[tuple[str | bytes, str]]) -> Self:
        """Learn a site from some of its pages, the more the better; ten tell most.

        Parameters
        ----------
        pages : HTML and URL of each

        Raises
        ------
        ValueError : if there is no page, or if these are no pairs of HTML and URL

        Examples
        --------
        >>> menu = "<div id=menu><a href=/a>Tea</a> <a href=/b>Coffee</a> <a href=/c>Order and delivery</a></div>"
        >>> pages = [(f"{menu}<p>All there is to say of {x}, and more.", f"http://h.example/{x}") for x in "abc"]
        >>> print(LearntSite.of(pages).clean(*pages[0]))
        All there is to say of a, and more.
        """
        parsed = []
        for pair in pages:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"a page is a {type(pair).__name__}: {_PAIRS}")
            parsed.append(_parsed(*pair))
        if not parsed:
            raise ValueError(f"there is no page to learn from: {_PAIRS}")
        site = cls(parsed[0].site)
        for page in parsed:
            site.learn(page)
        return site

    def clean(self, html: str | bytes, url: str) -> CleanPage:
        """Clean a page of the site, which learns it if it has not yet; see `clean`."""
        return _cleaned(_parsed(html, url), self)


def clean(html: str | bytes, url: str = "") -> CleanPage:
    """Clean one page by itself. If you have other pages of its site, `LearntSite.of` them cleans it better.

    Parameters
    ----------
    html : as text, or as the bytes that the server sent
    url : address of the page; without it, relative links stay relative

    Raises
    ------
    TypeError : if the HTML is neither text nor bytes
    ValueError : if the HTML is an address
    TooLarge : if the page has more nodes, or bytes, than can be cleaned

    Examples
    --------
    >>> page = clean("<title>Tea</title><h1>Tea</h1><p>All about <i>green</i> tea.", "http://example.com/")
    >>> print(page.markdown)
    # Tea
    <BLANKLINE>
    All about *green* tea.
    """
    page = _parsed(html, url)
    return _cleaned(page, Site(host_of(url)))


def _cleaned(page: Page, site: Site) -> CleanPage:
    site.learn(page)
    return CleanPage(PageRecord(page, decided(page, site), site.page_class(page)))


def _parsed(html: str | bytes, url: str) -> Page:
    if not isinstance(html, str | bytes):
        raise TypeError(f"the HTML is a {type(html).__name__}: give its text or bytes, such as path.read_bytes()")
    if not isinstance(url, str):
        raise TypeError(f"the URL is a {type(url).__name__}: give a string, such as 'https://example.com/'")
    if isinstance(html, str) and html.startswith(("http://", "https://")) and "<" not in html:
        raise ValueError(f"{html[:100]} is an address, not HTML: load the page first and give clean(html, url)")
    body, charset = (html, None) if isinstance(html, bytes) else (html.encode("utf-8", "replace"), _UNICODE)
    return marked(with_data(Page.parse(body, url, charset)), body)
