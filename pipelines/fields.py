"""Writing to items of any kind."""

from __future__ import annotations

import logging
from dataclasses import MISSING, is_dataclass
from typing import Any, Final

from itemadapter import ItemAdapter
from scrapy import Item
from scrapy.crawler import Crawler

from scrapy_pagelets.session.config import FIELDS
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import current_places

logger = logging.getLogger(__name__)

#: Other names of fields, for items that have a value of the spider under the first one; without one, ``page_<name>``.
_OTHER: Final = {"text": "content"}
_COLLECTIONS: Final = (str, bytes, list, tuple, dict, set, frozenset)


class Fields:
    """Set fields of the feed on items of any type, under the names that ``PAGELETS_FIELDS`` gives them.

    What a spider has set stays. In a dict, our value goes under another name then: ``content`` for ``text``,
    ``page_<name>`` for others; ``pagelets/fields/renamed`` counts such values. A value for which an item has no place
    is left out and counted in ``pagelets/fields/missing``. The first case of a type and a field is a warning.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.session = session_of(crawler)
        self._crawler = crawler
        self._warned: set[tuple[str, type, str]] = set()

    def put(self, item: Any, name: str, value: Any) -> None:
        """Set a field, under another name if the spider has set it."""
        field = self.session.config.field_name(name)
        if field is None:
            return
        if not self._is_set(item, field):
            self._write(item, name, field, value)
        elif (other := self._other(item, name)) is None:
            what = "what the spider has set stays, ours is left out; give it another name in PAGELETS_FIELDS, or None"
            self._tell("missing", item, field, what)
        elif self._write(item, name, other, value):
            what = f"what the spider has set stays, ours goes into {other!r}; PAGELETS_FIELDS can give it another name"
            self._tell("renamed", item, field, what)

    def fill(self, item: Any, name: str, value: Any) -> None:
        """Set a field if the spider has not."""
        field = self.session.config.field_name(name)
        if field is not None and not self._is_set(item, field):
            self._write(item, name, field, value)

    def get(self, item: Any, name: str) -> Any:
        """The value of a field that we have set, wherever it went; None without one."""
        field = current_places().get(name)
        return None if field is None else value_of(item, field)

    def _is_set(self, item: Any, field: str) -> bool:
        """True if a value is there that is not ours, but for what the type of the item has put there as a blank."""
        if not ItemAdapter.is_item(item) or field not in list(ItemAdapter(item)):
            return False
        value = ItemAdapter(item)[field]
        if not _is_blank(value):
            return True
        return not getattr(self._crawler.spider, "yields_blanks", False) and not _is_default(item, field, value)

    def _other(self, item: Any, name: str) -> str | None:
        """Another name for a field, None if there is no room for it."""
        other = _OTHER.get(name, f"page_{name}")
        taken = {self.session.config.field_name(each) for each in FIELDS}
        return other if isinstance(item, dict) and other not in item and other not in taken else None

    def _write(self, item: Any, name: str, field: str, value: Any) -> bool:
        if not ItemAdapter.is_item(item):
            self._tell("missing", item, field, "this is no item; yield a dict, a dataclass, an attrs class or an Item")
            return False
        try:
            ItemAdapter(item)[field] = value
        except Exception:  # whatever the validators of a type raise
            what = "the type has no such field, or does not take our value; change it, or PAGELETS_FIELDS"
            self._tell("missing", item, field, what)
            return False
        current_places()[name] = field
        return True

    def _tell(self, case: str, item: Any, field: str, what: str) -> None:
        self.session.count(f"fields/{case}")
        kind = type(item)
        if (case, kind, field) not in self._warned:
            self._warned.add((case, kind, field))
            logger.warning("Field %r of %s: %s", field, kind.__name__, what)


def value_of(item: Any, field: str | None) -> Any:
    """The value of a field of an item, None if it has none: a ``defaultdict`` is not to make one."""
    if field is None or not ItemAdapter.is_item(item) or field not in list(ItemAdapter(item)):
        return None
    return ItemAdapter(item)[field]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, _COLLECTIONS) and not value)


def _is_default(item: Any, field: str, blank: Any) -> bool:
    """True if a blank value is what the type of an item gives a field that nobody sets; a dict gives none."""
    if isinstance(item, (dict, Item)):
        return False
    if is_dataclass(item):
        declared: Any = item.__dataclass_fields__[field]
        return declared.default_factory is not MISSING or _is_same(declared.default, blank)
    for declared in getattr(type(item), "__attrs_attrs__", ()):
        if declared.name == field:
            return hasattr(declared.default, "factory") or _is_same(declared.default, blank)
    return True


def _is_same(default: Any, blank: Any) -> bool:
    return type(default) is type(blank) and bool(default == blank)
