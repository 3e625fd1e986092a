"""Read the marks of hAtom and h-entry: author and dates of the one entry of a page, wherever in it they stand."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from scrapy_pagelets.base.patterns import lazily
from scrapy_pagelets.metadata.byline import dates_told, machine_date, name_in
from scrapy_pagelets.metadata.habits import Habits
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import COMMENT, COMMENTS, ENTRY, RELATED
from scrapy_pagelets.page.nodes import rows_named, rows_with
from scrapy_pagelets.page.page import Page


def _class(names: str) -> re.Pattern[str]:
    return lazily(rf"(?:^|\s)(?:{names})(?:$|\s)", re.IGNORECASE)


_PUBLISHED: Final = _class("published|dt-published")
_UPDATED: Final = _class("updated|dt-updated")
_AUTHOR: Final = _class("(?:(?:entry|post)-)?author|p-author")
_NAME: Final = _class("fn|p-name")
#: Runs of text of a mark, and marks that are looked at.
_LEAVES: Final = 5
_MOST: Final = 20


class Entry:
    """What the entry with the heading of a page tells, or its one entry; nothing in a list of entries.

    Parameters
    ----------
    page : the page
    headline : its own heading
    habits : what the pages of its site tell alike
    """

    def __init__(self, page: Page, headline: Headline | None, habits: Habits) -> None:
        self._page = page
        self._habits = habits
        self._headline = headline

    @cached_property
    def author(self) -> str | None:
        """The one name that it tells."""
        names = {self._name(row) for row in self._rows(_AUTHOR)} - {None}
        return names.pop() if len(names) == 1 else None

    @cached_property
    def published(self) -> str | None:
        """The first date of publication; hAtom demands a date of change, even of what was never changed."""
        return self._date(_PUBLISHED) or self._date(_UPDATED)

    @property
    def modified(self) -> str | None:
        """The first date of a change, if it has one of publication."""
        return self._date(_UPDATED) if self._date(_PUBLISHED) else None

    @cached_property
    def _span(self) -> tuple[int, int] | None:
        """The first row of the entry, and the one behind it."""
        nodes = self._page.nodes
        rows = rows_with(nodes, ENTRY)
        spans = [(row, nodes.end.item(row)) for row in rows[: 2 * _MOST]]
        if self._headline is not None:  # the one entry of a tag, say, stands below the heading of the page
            spans = [(row, end) for row, end in spans if row < self._headline.row < end]
        return spans[0] if len(spans) == 1 else None

    def _rows(self, names: re.Pattern[str]) -> list[int]:
        """The rows of its marks of some names, without those of comments and of related posts."""
        if self._span is None:
            return []
        nodes, (first, end) = self._page.nodes, self._span
        found = [row for row in rows_named(nodes, names) if first < row < end]
        others = [(row, nodes.end.item(row)) for row in rows_with(nodes, COMMENTS | COMMENT | RELATED) if row > first]
        return [row for row in found if not any(start <= row < stop for start, stop in others[:_MOST])][:_MOST]

    def _date(self, names: re.Pattern[str]) -> str | None:
        """The first date of its marks of some names."""
        for row in self._rows(names):
            leaves = self._page.nodes.leaves_of(row)
            near = range(leaves.start, min(leaves.stop, leaves.start + _LEAVES))
            told = (date for leaf in near for date in dates_told(self._page, leaf, self._habits))
            if date := machine_date(self._page, row) or next(told, None):
                return date[0]
        return None

    def _name(self, row: int) -> str | None:
        """The name in a mark: of hCard, or all that it has."""
        nodes = self._page.nodes
        inner = next((each for each in rows_named(nodes, _NAME) if row <= each < nodes.end.item(row)), row)
        leaves = nodes.leaves_of(inner)
        return name_in(" ".join(nodes.strings[leaves])) if leaves.stop - leaves.start <= _LEAVES else None
