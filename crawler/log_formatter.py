"""Log messages about items, with our fields in short."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from itemadapter import ItemAdapter
from scrapy import Spider
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from twisted.python.failure import Failure

from scrapy_pagelets.session.page_context import copied, current_places

#: Characters of a text that are shown.
_SHOWN: Final = 60


class ShortFields(LogFormatter):
    """Scrapy's log messages; values that the pipelines have set on an item are cut to a few words, or counted.

    What the spider has set is shown whole. Scrapy would log each item, with all of its text and pagelets, at DEBUG,
    its default level.
    """

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult:
        return _shortened(super().scraped(item, response, spider), item)

    def dropped(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        return _shortened(super().dropped(item, exception, response, spider), item)

    def item_error(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        return _shortened(super().item_error(item, exception, response, spider), item)


class _Short:
    """An item for a log message, formatted only if the message is written."""

    def __init__(self, item: Any, ours: frozenset[str]) -> None:
        self._item = item
        self._ours = ours

    def __str__(self) -> str:
        return str(self._in_short())

    def __repr__(self) -> str:
        return repr(self._in_short())

    def _in_short(self) -> Any:
        """A copy of the item with short values of the same types; the item itself if it has no copy that takes them."""
        with suppress(Exception):  # types and their validators can raise anything
            if (copy := copied(self._item)) is not self._item:
                fields = ItemAdapter(copy)
                for name in self._ours & fields.keys():
                    fields[name] = _short(fields[name])
                return copy
        return self._item


def _shortened(result: LogFormatterResult, item: Any) -> LogFormatterResult:
    if (ours := frozenset(current_places().values())) and isinstance(result["args"], dict):
        result["args"]["item"] = _Short(item, ours)
    return result


def _short(value: Any) -> Any:
    """A value of the same type that is short: the item's type may check it."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]}..."
    return [f"... {len(value):,} in all"] if isinstance(value, list) and value else value
