"""The schema of the feed, version 1. ``docs/feed.md`` has its tables, and says what each field means.

Settings, blank items, columns of Parquet, and the checks of commands follow from it. The value of a field is the
attribute of `page_record.PageRecord` with its name. Fields may be added, but none is renamed or given another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

VERSION: Final = "1"
#: The item pipelines that set the fields; of `PAGE`, `SegmentPipeline` sets those that the spider has not set.
PAGE, SEGMENT, STRIP, DUPLICATES, RECRAWL = "page", "segment", "strip", "duplicates", "recrawl"


@dataclass(frozen=True)
class FeedField:
    """A field of the feed, or of the objects in it."""

    name: str
    kind: str = "string"  # ``string``, ``integer``, ``number`` or ``object``; of a list, the kind of its values
    listed: bool = False  # True if it is a list
    nullable: bool = False  # True if it can be null
    parts: tuple[FeedField, ...] = ()  # the fields of an object, or of each object in a list
    setting: str = ""  # the setting that switches it on or off; "" if there is none
    optional: bool = False  # True if it is missing when its setting is off; others are in all items
    step: str = ""  # of a field of `FEED`, the pipeline that sets it, ``PAGE`` to ``RECRAWL``

    def is_on(self, settings: object) -> bool:
        """Whether ``settings``, a `Config`, ask for it: a list must name it, another value must not be 0 or empty."""
        if not self.setting:
            return True
        value = getattr(settings, self.setting.removeprefix("PAGELETS_").lower())
        return self.name in value if isinstance(value, tuple) else bool(value)


#: Fields that can be null, and lists.
_nullable = partial(FeedField, nullable=True)
_list = partial(FeedField, listed=True)


def _set_by(step: str, fields: tuple[FeedField, ...]) -> tuple[FeedField, ...]:
    return tuple(replace(field, step=step) for field in fields)


LINK: Final = (FeedField("url"), FeedField("anchor"))  # made by ``Pagelet.links``
PAGELET: Final = (  # made by ``Pagelet.record``
    FeedField("id", "integer"),
    _list("xpaths"),
    FeedField("role"),
    FeedField("templateness", "number"),
    FeedField("text"),
    FeedField("words", "integer"),
    _list("links", "object", parts=LINK),
)
CHUNK: Final = (  # made by `chunk_records`
    FeedField("id", "integer"),
    FeedField("url"),
    _list("headings"),
    FeedField("markdown"),
    _list("xpaths"),
    FeedField("words", "integer"),
    FeedField("tokens", "integer"),
    FeedField("templateness", "number"),
)
POST: Final = (  # made by ``PageRecord.posts``
    _nullable("author"),
    _nullable("published"),
    FeedField("role"),
    _list("xpaths"),
)
TEMPLATE: Final = (  # made by ``PageRecord.template``
    FeedField("id"),
    FeedField("pages", "integer"),
    FeedField("share", "number"),
)
#: Made by `StrippedClass.record`, as is a line of the file ``PAGELETS_TEMPLATES``.
TEMPLATE_LINK: Final = (*LINK, FeedField("pages", "integer"))
TEMPLATES: Final = (
    FeedField("id"),
    FeedField("site"),
    FeedField("pages", "integer"),
    FeedField("text"),
    _list("links", "object", parts=TEMPLATE_LINK),
)
PRODUCT: Final = (  # made by `product_markup.product_of`
    _nullable("name"),
    _nullable("price", "number"),
    _nullable("highest_price", "number"),
    _nullable("currency"),
    _nullable("availability"),
    _nullable("sku"),
    _nullable("gtin"),
    _nullable("brand"),
)
_OF_PAGE: Final = (
    FeedField("url"),
    FeedField("title"),
    _nullable("headline"),
    _nullable("language"),
    FeedField("fetched_at"),
    _nullable("author"),
    _nullable("published"),
    _nullable("modified"),
    _nullable("canonical"),
    _nullable("description"),
    _nullable("image"),
    _list("tags"),
    _list("breadcrumbs"),
    _nullable("product", "object", parts=PRODUCT),
    _list("robots"),
)
_form = partial(FeedField, setting="PAGELETS_FORMATS")
_OF_CONTENT: Final = (
    _form("text", nullable=True),
    _form("markdown", optional=True),
    _form("html", optional=True),
    _list("chunks", "object", parts=CHUNK, setting="PAGELETS_CHUNKS", optional=True),
    _nullable("comments"),
    _list("posts", "object", parts=POST),
)
_near = partial(_nullable, setting="PAGELETS_DUPLICATES", step=DUPLICATES)
FEED: Final = (  # the fields of a line, in their order
    *_set_by(PAGE, _OF_PAGE),
    *_set_by(STRIP, _OF_CONTENT),
    _list("pagelets", "object", parts=PAGELET, step=SEGMENT),
    _nullable("template", "object", parts=TEMPLATE, step=STRIP),
    _near("near_duplicate_of"),
    _near("similarity", "number"),
    _near("sketch"),
    _nullable("content_hash", step=STRIP),
    _nullable("changed", step=RECRAWL),
    _nullable("changed_share", "number", step=RECRAWL),
)
#: The fields that the lean feed does without.
HEAVY: Final = ("pagelets", "template", "similarity", "sketch", "content_hash", "changed", "changed_share")


def arrow_type(field: FeedField) -> pa.DataType:
    """The Arrow type of the column of a field; pyarrow must be installed."""
    import pyarrow as pa

    if field.kind == "object":
        kind = pa.struct({part.name: arrow_type(part) for part in field.parts})
    else:
        kind = {"string": pa.string(), "integer": pa.int32(), "number": pa.float64()}[field.kind]
    return pa.list_(kind) if field.listed else kind
