"""The tables of the corpus job as Arrow schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from scrapy_pagelets.corpus.options import CorpusOptions
from scrapy_pagelets.feed.feed_schema import FEED, FeedField, arrow_type

Row = Mapping[str, Any]

_TEXT: Final = pa.string()
_WHOLE: Final = pa.int64()
_NUMBER: Final = pa.float64()

#: What is to be read: a file, or records of it. ``page`` numbers begin with the number of the source.
SOURCES: Final = pa.schema({"source": _WHOLE, "path": _TEXT, "offsets": pa.list_(_WHOLE), "sizes": pa.list_(_WHOLE)})
#: A page as it was received; or, with ``skipped``, what was left out of a source, as JSON.
RAW: Final = pa.schema(
    {"page": _WHOLE, "site": _TEXT, "bucket": pa.int32(), "key": _WHOLE, "url": _TEXT, "fetched_at": _TEXT,
     "content_type": _TEXT, "body": pa.binary(), "skipped": _TEXT}
)  # fmt: skip
#: What was learnt of a site, or of a part of it.
COUNTS: Final = pa.schema({"site": _TEXT, "part": _WHOLE, "counts": pa.binary()})
#: Resemblance of two pages, the second of which is the earlier one.
PAIRS: Final = pa.schema({"page": _WHOLE, "earlier": _WHOLE, "similarity": _NUMBER, "canonical": pa.bool_()})

#: Rows that cleaning a page makes; ``page`` is the number of the page everywhere.
KINDS: Final = {
    "pagelet": {"page": _WHOLE, "url": _TEXT, "id": pa.int32(), "role": _TEXT, "templateness": _NUMBER,
                "words": pa.int32(), "text": _TEXT, "xpaths": pa.list_(_TEXT)},
    "link": {"page": _WHOLE, "url": _TEXT, "pagelet": pa.int32(), "role": _TEXT, "target_url": _TEXT, "anchor": _TEXT,
             "key": _WHOLE},
    "shingle": {"page": _WHOLE, "pagelet": pa.int32(), "shingle": _WHOLE, "of_site": _WHOLE, "text": _TEXT},
    "origin": {"page": _WHOLE, "url": _TEXT, "site": _TEXT, "key": _WHOLE, "body": _WHOLE, "body_of_site": _WHOLE},
    "content": {"page": _WHOLE, "url": _TEXT, "site": _WHOLE, "address": _WHOLE, "exact": _WHOLE,
                "shingles": pa.binary(), "weights": pa.binary()},
    "band": {"page": _WHOLE, "key": _WHOLE},
    "failure": {"page": _WHOLE, "url": _TEXT, "reason": _TEXT},
}  # fmt: skip


def feed_fields(options: CorpusOptions) -> list[FeedField]:
    """The fields of the feed that a job writes, in their order."""
    return [each for each in FEED if not each.optional or each.is_on(options)]


def cleaned_schema(options: CorpusOptions) -> pa.Schema:
    """The table of everything that cleaning makes: ``kind``, and a structure for each kind, null in the other rows."""
    feed = {each.name: arrow_type(each) for each in feed_fields(options)}
    kinds = {"page": {"page": _WHOLE, **feed}, **KINDS}
    return pa.schema({"kind": _TEXT, **{name: pa.struct(columns) for name, columns in kinds.items()}})


def union(rows: Mapping[str, Sequence[Row]], schema: pa.Schema) -> pa.Table:
    """Rows of several kinds as one table of `cleaned_schema`."""
    tables = []
    for kind, some in rows.items():
        if some:
            column = pa.array(some, schema.field(kind).type)
            empty = {name: pa.nulls(len(some), schema.field(name).type) for name in schema.names}
            tables.append(pa.table(empty | {"kind": pa.array([kind] * len(some), _TEXT), kind: column}, schema=schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()
