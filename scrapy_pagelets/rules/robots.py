"""What a page asks of robots: the directives of its metadata and of the header X-Robots-Tag, and ``data-nosnippet``."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from lxml import etree

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import STRIP, Cause
from scrapy_pagelets.rules.host_rules import rows_of_elements

#: What is done with the directives: the feed tells of them, or they are obeyed as well.
TELL, OBEY = HANDLINGS = ("tell", "obey")
NOINDEX, NOFOLLOW, NOSNIPPET = "noindex", "nofollow", "data-nosnippet"
#: The directives that the feed tells of; others are ignored.
_KNOWN: Final = frozenset(
    (NOINDEX, NOFOLLOW, *"noarchive nocache nosnippet noimageindex notranslate noai noimageai".split())
)
#: Directives that have a value behind a colon, as the name of a robot has its directives.
_WITH_VALUE: Final = frozenset("max-snippet max-image-preview max-video-preview unavailable_after".split())
#: The name of a robot, or a directive with a value; in the time of a date, other words are before the colon.
_ROBOT: Final = lazily(r"\s*([\w.*-]+)\s*:")
_MOST: Final = 100  # parts of a header or of an element that are read
_HIDDEN_FROM_SNIPPETS: Final = etree.XPath("descendant-or-self::*[@data-nosnippet]")


def marked(page: Page, body: bytes, header: str = "", agent: str = "", *, obey: bool = False) -> Page:
    """Return the page with what it asks of robots in its ``marks``; the page itself if it asks nothing.

    ``body``: of the response. ``header``: the values of X-Robots-Tag, separated by commas. ``agent``: the name of this
    robot in lower case, whose own directives count as well. ``obey``: strip what no snippet may show, and ignore the
    links that no robot may follow.
    """
    found = dict.fromkeys(of_header(header, agent))
    for meta in page.metas:
        if meta.name and (name := meta.name.strip().lower()) and name in ("robots", agent):
            found |= dict.fromkeys(_named(meta.content.split(",", _MOST)))
    hidden = _HIDDEN_FROM_SNIPPETS(page.root) if b"data-nosnippet" in body else []
    if hidden:
        found[NOSNIPPET] = None
    marks = replace(page.marks, robots=tuple(found)) if found else page.marks
    if obey and hidden:
        row_of = rows_of_elements(page)
        rows = [row_of[element] for element in hidden if element in row_of]
        marks = replace(marks, rows={**marks.rows, Cause("robots", STRIP): rows})
    if obey:
        own = {i for i, rel in enumerate(page.nodes.links.rel) if NOFOLLOW in found or NOFOLLOW in rel.split()}
        marks = replace(marks, ignored_links=marks.ignored_links | own) if own else marks
    return page if marks is page.marks else replace(page, marks=marks)


def of_header(header: str, agent: str = "") -> Iterator[str]:
    """Yield the directives of X-Robots-Tag for all robots and for this one."""
    applies = True
    for part in header.split(",", _MOST):
        named = _ROBOT.match(part)
        if named and (name := named[1].lower()) not in _WITH_VALUE:
            applies, part = name in ("*", agent), part[named.end() :]
        if applies:
            yield from _named([part])


def _named(parts: Iterable[str]) -> Iterator[str]:
    for name in (part.strip().lower() for part in parts):
        yield from (NOINDEX, NOFOLLOW) if name == "none" else {name} & _KNOWN
