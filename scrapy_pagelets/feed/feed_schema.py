"""The schema of the feed, version 1. ``docs/feed.md`` has its tables, and says what each field means.

Settings, blank items, columns of Parquet, and the checks of commands follow from it. The value of a field is the
attribute of `page_record.PageRecord` with its name. Fields may be added, but none is renamed or given another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
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
#: Fields by what they are of: the page, its content, its near-duplicates, its earlier version.
_of_page = partial(FeedField, step=PAGE)
_of_content = partial(FeedField, step=STRIP)
_form = partial(_of_content, setting="PAGELETS_FORMATS")
_near = partial(_nullable, setting="PAGELETS_DUPLICATES", step=DUPLICATES)
_earlier = partial(_nullable, step=RECRAWL)
FEED: Final = (  # the fields of a line, in their order
    _of_page("url"),
    _of_page("title"),
    _of_page("headline", nullable=True),
    _of_page("language", nullable=True),
    _of_page("fetched_at"),
    _of_page("author", nullable=True),
    _of_page("published", nullable=True),
    _of_page("modified", nullable=True),
    _of_page("canonical", nullable=True),
    _of_page("description", nullable=True),
    _of_page("image", nullable=True),
    _of_page("tags", listed=True),
    _of_page("breadcrumbs", listed=True),
    _of_page("product", "object", nullable=True, parts=PRODUCT),
    _of_page("robots", listed=True),
    _form("text", nullable=True),
    _form("markdown", optional=True),
    _form("html", optional=True),
    _of_content("chunks", "object", listed=True, parts=CHUNK, setting="PAGELETS_CHUNKS", optional=True),
    _of_content("comments", nullable=True),
    _of_content("posts", "object", listed=True, parts=POST),
    _list("pagelets", "object", parts=PAGELET, step=SEGMENT),
    _of_content("template", "object", nullable=True, parts=TEMPLATE),
    _near("near_duplicate_of"),
    _near("similarity", "number"),
    _near("sketch"),
    _of_content("content_hash", nullable=True),
    _earlier("changed"),
    _earlier("changed_share", "number"),
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
