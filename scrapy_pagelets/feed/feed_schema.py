"""The schema of the feed, version 1: one table for the code; ``docs/feed.md`` says what each field means.

Settings, blank items, the columns of Parquet and of the corpus job, and the checks of commands follow from it. The
value of a field is the attribute of `page_record.PageRecord` with its name. Fields may be added, but none is renamed or
given another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

VERSION: Final = "1"
#: The item pipelines that set the fields; of `PAGE`, `SegmentPipeline` sets those that the spider has not set.
PAGE, SEGMENT, STRIP, DUPLICATES, RECRAWL = "page", "segment", "strip", "duplicates", "recrawl"


@dataclass(frozen=True)
class FeedField:
    """A field of the feed, or of the objects in it.

    Attributes
    ----------
    name : its name
    kind : ``string``, ``integer``, ``number`` or ``object``; of a list, the kind of its values
    step : of a field of `FEED`, the pipeline that sets it, ``PAGE`` to ``RECRAWL``
    listed : True if it is a list
    nullable : True if it can be null
    parts : the fields of an object, or of each object in a list
    setting : the setting that switches it on or off; "" if there is none
    optional : True if the field is missing when its setting is off; other fields are always in the items of our spiders
        and have a Parquet column
    """

    name: str
    kind: str = "string"
    step: str = ""
    listed: bool = False
    nullable: bool = False
    parts: tuple[FeedField, ...] = ()
    setting: str = ""
    optional: bool = False

    def is_on(self, settings: object) -> bool:
        """Return whether the field is wanted: a list of names has to name it, any other value must not be 0 or empty.

        Parameters
        ----------
        settings : with the value of each setting, ``chunks`` for ``PAGELETS_CHUNKS``, as ``session.config.Config``

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> settings = SimpleNamespace(chunks=0, formats=("text",))
        >>> [field.name for field in FEED if field.step == STRIP and field.is_on(settings)]
        ['text', 'template', 'content_hash']
        """
        if not self.setting:
            return True
        value = getattr(settings, self.setting.removeprefix("PAGELETS_").lower())
        return self.name in value if isinstance(value, tuple) else bool(value)


_TEXTS: Final = "PAGELETS_FORMATS"
_COMPARED: Final = "PAGELETS_DUPLICATES"
#: Made by ``Pagelet.links``.
LINK: Final = (FeedField("url"), FeedField("anchor"))
#: Made by ``Pagelet.record``.
PAGELET: Final = (
    FeedField("id", "integer"),
    FeedField("xpaths", listed=True),
    FeedField("role"),
    FeedField("templateness", "number"),
    FeedField("text"),
    FeedField("words", "integer"),
    FeedField("links", "object", listed=True, parts=LINK),
)
#: Made by `chunk_records`.
CHUNK: Final = (
    FeedField("id", "integer"),
    FeedField("url"),
    FeedField("headings", listed=True),
    FeedField("markdown"),
    FeedField("xpaths", listed=True),
    FeedField("words", "integer"),
    FeedField("tokens", "integer"),
    FeedField("templateness", "number"),
)
#: Made by ``PageRecord.template``.
TEMPLATE: Final = (FeedField("id"), FeedField("pages", "integer"), FeedField("share", "number"))
#: Made by `StrippedClass.record`, as is a line of the file ``PAGELETS_TEMPLATES``.
TEMPLATE_LINK: Final = (*LINK, FeedField("pages", "integer"))
TEMPLATES: Final = (
    FeedField("id"),
    FeedField("site"),
    FeedField("pages", "integer"),
    FeedField("text"),
    FeedField("links", "object", listed=True, parts=TEMPLATE_LINK),
)
#: The fields of a line, in their order.
FEED: Final = (
    FeedField("url", step=PAGE),
    FeedField("title", step=PAGE),
    FeedField("headline", step=PAGE, nullable=True),
    FeedField("language", step=PAGE, nullable=True),
    FeedField("fetched_at", step=PAGE),
    FeedField("author", step=PAGE, nullable=True),
    FeedField("published", step=PAGE, nullable=True),
    FeedField("modified", step=PAGE, nullable=True),
    FeedField("canonical", step=PAGE, nullable=True),
    FeedField("description", step=PAGE, nullable=True),
    FeedField("image", step=PAGE, nullable=True),
    FeedField("breadcrumbs", step=PAGE, listed=True),
    FeedField("text", step=STRIP, nullable=True, setting=_TEXTS),
    FeedField("markdown", step=STRIP, setting=_TEXTS, optional=True),
    FeedField("html", step=STRIP, setting=_TEXTS, optional=True),
    FeedField("chunks", "object", STRIP, listed=True, parts=CHUNK, setting="PAGELETS_CHUNKS", optional=True),
    FeedField("pagelets", "object", SEGMENT, listed=True, parts=PAGELET),
    FeedField("template", "object", STRIP, nullable=True, parts=TEMPLATE),
    FeedField("near_duplicate_of", step=DUPLICATES, nullable=True, setting=_COMPARED),
    FeedField("similarity", "number", DUPLICATES, nullable=True, setting=_COMPARED),
    FeedField("sketch", step=DUPLICATES, nullable=True, setting=_COMPARED),
    FeedField("content_hash", step=STRIP, nullable=True),
    FeedField("changed", step=RECRAWL, nullable=True),
    FeedField("changed_share", "number", RECRAWL, nullable=True),
)


def arrow_type(field: FeedField) -> pa.DataType:
    """The Arrow type of the column of a field; pyarrow must be installed."""
    import pyarrow as pa

    if field.kind == "object":
        kind = pa.struct({part.name: arrow_type(part) for part in field.parts})
    else:
        kind = {"string": pa.string(), "integer": pa.int32(), "number": pa.float64()}[field.kind]
    return pa.list_(kind) if field.listed else kind
