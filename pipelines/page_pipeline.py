"""The base class of our item pipelines, and how they set fields on items of any type."""

import logging
from collections.abc import Callable, MutableMapping
from dataclasses import MISSING, is_dataclass
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from itemadapter import ItemAdapter
from scrapy import Item

from scrapy_pagelets.base.errors import DiskError, StoreError
from scrapy_pagelets.base.transactions import set_aside
from scrapy_pagelets.feed.feed_schema import FEED
from scrapy_pagelets.metadata.metadata import TOLD
from scrapy_pagelets.session.config import FIELDS
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.page_context import PageContext, current_context, current_places, follow_items

logger = logging.getLogger(__name__)
#: Fields that the types of items may lack without a warning.
_OPTIONAL: Final = frozenset(("headline", "comments", "posts", "content_hash", "robots", *TOLD))
_COLLECTIONS: Final = (str, bytes, list, tuple, dict, set, frozenset)
P = ParamSpec("P")
T = TypeVar("T")


class PagePipeline(Component):
    """Base class of pipelines that need the page of an item, and set fields on it; other items pass unchanged.

    Fields of the feed are set on items of any type, under the names from ``PAGELETS_FIELDS``. Values that a spider has
    set stay: in a dict, ours then goes under an alternative name, ``content`` for ``text``, ``page_<name>`` for other
    fields, elsewhere it is left out. The first case for each type and field is a warning; all fields that a type lacks
    are one.
    """

    def open_spider(self) -> None:
        follow_items(self.crawler)

    async def process_item(self, item: Any) -> Any:
        context = current_context()
        if context is not None and not context.failed:
            await self.process_page(item, context)
        return item

    async def process_page(self, item: Any, context: PageContext) -> None:
        raise NotImplementedError

    async def computed(
        self, method: Callable[Concatenate[PageContext, P], T], context: PageContext, *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Call a method with a page, in a thread if it is long; if it raises an exception, log that and return None."""
        try:
            return await self.session.compute(context.response, method, context, *args, **kwargs)
        except Exception:
            context.fail()
            return None

    def opened(self, stat: str, path: Path, make: Callable[[Path], T]) -> T | None:
        """Open what earlier crawls have written, anew if it is damaged; warn, and return None, if that fails."""
        try:
            try:
                return make(path)
            except DiskError:
                raise
            except StoreError as error:
                sentence = "%s is set aside, pages are not compared with those of earlier crawls: %s"
                self.session.warn(stat, sentence, set_aside(path), error)
                return make(path)
        except (OSError, StoreError) as error:
            sentence = "%s cannot be used, the next crawl cannot compare its pages with those of this one: %s"
            self.session.warn(stat, sentence, path, error)
            return None

    def put(self, item: Any, name: str, value: Any, *, only_if_missing: bool = False) -> None:
        """Set a field, under an alternative name if the spider has set it; or not at all then."""
        field = self.session.config.field_name(name)
        if field is None or (name in _OPTIONAL and not _can_have(item, field)):
            return
        if not self._is_set(item, field):
            self._set(item, name, field, value)
        elif only_if_missing:
            return
        elif (alternative := self._alternative(item, name)) is None:
            what = "the spider's value stays, ours is left out; give it another name in PAGELETS_FIELDS, or None"
            self._count_and_warn("missing", item, f"Field {field!r} of", what)
        elif self._set(item, name, alternative, value):
            what = f"the spider's value stays, ours goes into {alternative!r}; PAGELETS_FIELDS can give it another name"
            self._count_and_warn("renamed", item, f"Field {field!r} of", what)

    def get(self, item: Any, name: str) -> Any:
        """Return the value of a field that we have set, under whatever name; None if we have not set it."""
        field = current_places().get(name)
        return None if field is None else value_of(item, field)

    def _is_set(self, item: Any, field: str) -> bool:
        """True if the spider has set a field; blank values do not count if they are the default of the item's type."""
        content = _content_of(item)
        if content is None or field not in list(content):
            return False
        value = content[field]
        if not (value is None or (isinstance(value, _COLLECTIONS) and not value)):
            return True
        return not getattr(self.crawler.spider, "yields_blanks", False) and not _is_default(item, field, value)

    def _alternative(self, item: Any, name: str) -> str | None:
        alternative = "content" if name == "text" else f"page_{name}"
        taken = {self.session.config.field_name(each) for each in FIELDS}
        return alternative if isinstance(item, dict) and alternative not in item and alternative not in taken else None

    def _set(self, item: Any, name: str, field: str, value: Any) -> bool:
        content = _content_of(item)
        if content is None:
            what = "this is not an item; yield a dict, a dataclass, an attrs class or an Item"
            self._count_and_warn("missing", item, "An object of the type", what)
        elif not _can_have(item, field):
            what = "our values are left out; declare these fields, or give them other names in PAGELETS_FIELDS, or None"
            self._count_and_warn("missing", item, f"There is no {', '.join(self._lacked(item))} in", what)
        else:
            try:
                content[field] = value
            except Exception:  # validators can raise anything
                what = "the type does not accept our value; change it, or PAGELETS_FIELDS"
                self._count_and_warn("missing", item, f"Field {field!r} of", what)
            else:
                current_places()[name] = field
                return True
        return False

    def _lacked(self, item: Any) -> list[str]:
        config = self.session.config
        names = (config.field_name(field.name) for field in FEED if field.is_on(config) and field.name not in _OPTIONAL)
        return [name for name in names if name is not None and not _can_have(item, name)]

    def _count_and_warn(self, case: str, item: Any, subject: str, what: str) -> None:
        self.session.count(f"fields/{case}")
        sentence = f"{subject} {type(item).__name__}: {what}"
        if self.session.is_new(str(type(item)), sentence):
            logger.warning("%s", sentence)


def value_of(item: Any, field: str | None) -> Any:
    """Return the value of a field of an item, None without one; a ``defaultdict`` does not create it."""
    content = None if field is None else _content_of(item)
    return content[field] if content is not None and field in list(content) else None


def _content_of(item: Any) -> MutableMapping[str, Any] | None:
    if isinstance(item, dict):  # as most are: to ask itemadapter each time would take longer than all else
        return item
    return ItemAdapter(item) if ItemAdapter.is_item(item) else None


def _can_have(item: Any, field: str) -> bool:
    """True if an item has a field or is a dict, which takes any."""
    return isinstance(item, dict) or (ItemAdapter.is_item(item) and field in ItemAdapter(item).field_names())


def _is_default(item: Any, field: str, blank: Any) -> bool:
    """True if a blank value is the default that the item's type gives a field; dicts and Items have no defaults."""
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
