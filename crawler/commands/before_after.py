"""A page before and after: its pagelets in document order, those that were stripped struck out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap
from typing import Final, NamedTuple

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.feed.pagelet import Pagelet
from scrapy_pagelets.page.roles import CONTENT

#: Pagelets that are shown at the beginning and at the end of a page.
_FIRST, _LAST = 5, 3
#: Characters of a line, and of a role.
_WIDEST: Final = 110
_ROLE: Final = 11
#: ANSI: dimmed and struck out, and back.
_STRUCK, _PLAIN = "\x1b[2;9m", "\x1b[0m"


class Region(NamedTuple):
    """A pagelet: its role, its words and the beginning of its text."""

    role: str
    words: int
    text: str


class Shown(NamedTuple):
    """What is shown of a page."""

    url: str
    kept: int
    stripped: int
    regions: list[Region]

    @property
    def worth(self) -> int:
        """How well it shows what is done: it has content and template."""
        return min(self.kept, 3 * self.stripped)


def shown_of(record: PageRecord, longest: int = 400) -> Shown:
    """What to show of a page, of which nothing else is kept."""
    kept = record.words_of_content
    groups = groupby(record.cut(), key=lambda one: one.role)
    regions = [_region(role, list(found), longest) for role, found in groups]
    return Shown(record.page.url, kept, record.words_of_page - kept, regions)


def _region(role: str, pagelets: list[Pagelet], longest: int) -> Region:
    """Pagelets of one role that follow each other, as one."""
    text = " | ".join(" ".join(one.text[:longest].split()) for one in pagelets)
    return Region(role, sum(one.words for one in pagelets), text[:longest])


def lines(page: Shown, width: int, *, ansi: bool) -> Iterator[str]:
    r"""The page for a terminal, or with ``[-...-]`` around what was stripped.

    >>> regions = [Region("navigation", 2, "Home Help"), Region("content", 3, "All about tea")]
    >>> print("\n".join(lines(Shown("http://h/", 3, 2, regions), 60, ansi=False)))
    http://h/: 3 words kept, 2 stripped [-like this-]
      navigation [-Home Help-]
      content    All about tea
    """
    mark = _struck("like this", ansi=ansi)
    yield f"{visible(page.url)}: {counted(page.kept, 'word')} kept, {page.stripped:,} stripped {mark}"
    hidden = page.regions[_FIRST:-_LAST] if len(page.regions) > _FIRST + _LAST + 1 else []
    for number, region in enumerate(page.regions):
        if hidden and number == _FIRST:
            stripped = sum(one.role != CONTENT for one in hidden)
            yield f"  ... {counted(len(hidden), 'more region')}, {stripped} of them stripped"
        if not hidden or not _FIRST <= number < _FIRST + len(hidden):
            yield from _lines(region, width, ansi=ansi)


def _lines(region: Region, width: int, *, ansi: bool) -> Iterator[str]:
    """A region, on two lines if it is content."""
    is_kept = region.role == CONTENT
    room = max(20, min(width, _WIDEST) - _ROLE - 8)
    for number, text in enumerate(wrap(visible(region.text), room, max_lines=2 if is_kept else 1, placeholder=" …")):
        yield f"  {'' if number else region.role:{_ROLE - 1}} {text if is_kept else _struck(text, ansi=ansi)}"


def _struck(text: str, *, ansi: bool) -> str:
    return f"{_STRUCK}{text}{_PLAIN}" if ansi else f"[-{text}-]"
