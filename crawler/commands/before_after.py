"""A page before and after: its pagelets in document order, those that were stripped struck out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.page.roles import CONTENT

#: Pagelets that are shown at the beginning and at the end of a page.
_FIRST, _LAST = 6, 3
#: Characters of a role.
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
    regions = [Region(one.role, one.words, " ".join(one.text[:longest].split())) for one in record.cut()]
    return Shown(record.page.url, kept, record.words_of_page - kept, regions)


def lines(page: Shown, width: int, *, ansi: bool) -> Iterator[str]:
    """The page for a terminal, or with ``[-...-]`` around what was stripped.

    >>> regions = [Region("navigation", 2, "Home Help"), Region("content", 3, "All about tea")]
    >>> print("\\n".join(lines(Shown("http://h/", 3, 2, regions), 60, ansi=False)))
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
            yield _line(region, width, ansi=ansi)


def _line(region: Region, width: int, *, ansi: bool) -> str:
    room = max(20, width - _ROLE - 8)
    text = visible(region.text)
    text = text if len(text) <= room else f"{text[: room - 1]}…"
    return f"  {region.role:{_ROLE - 1}} {text if region.role == CONTENT else _struck(text, ansi=ansi)}"


def _struck(text: str, *, ansi: bool) -> str:
    return f"{_STRUCK}{text}{_PLAIN}" if ansi else f"[-{text}-]"
