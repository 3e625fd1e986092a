"""Items as Arrow rows: the columns of the feed, further columns for other items, and one for everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from itemadapter import ItemAdapter, is_item
from scrapy.utils.serialize import ScrapyJSONEncoder

from scrapy_pagelets.feed.feed_schema import FEED, VERSION, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

#: The column for values that fit no other column: a JSON object.
EXTRA: Final = "extra"
#: Limit on columns and on struct fields: a dictionary keyed by words would become thousands of them.
MAX_FIELDS: Final = 256
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
Row = dict[str, Any]


def feed_types() -> dict[str, pa.DataType]:
    """Return the Arrow types of the columns that every feed has."""
    return {field.name: arrow_type(field) for field in FEED if not field.optional}


class Columns:
    """The columns of a table, inferred from its first rows.

    ``rows``: the first rows, see `plain`. ``declared``: types of the columns that are known in advance; None for a
    column of any type.
    """

    def __init__(self, rows: list[Row], declared: Mapping[str, pa.DataType | None]) -> None:
        import pyarrow as pa

        names = [name for name in dict.fromkeys(chain(declared, *rows)) if name != EXTRA][:MAX_FIELDS]
        values = {name: [row[name] for row in rows if row.get(name) is not None] for name in names}
        types = {name: _column_type(declared.get(name), values[name]) for name in names}
        columns = [*((name, kind) for name, kind in types.items() if kind is not None), (EXTRA, pa.string())]
        self.schema = pa.schema(columns, metadata={"scrapy_pagelets.feed": VERSION})

    def batch(self, row: Row) -> pa.RecordBatch:
        """Return a row as a batch; values that do not fit their column go into the column ``extra``."""
        import pyarrow as pa

        rest = dict(row)
        arrays = []
        for field in self.schema:
            array = None if field.name == EXTRA else _array(rest.get(field.name), field.type)
            if array is not None:
                rest.pop(field.name, None)
            arrays.append(array if array is not None else pa.nulls(1, field.type))
        rest = {name: plain(value) for name, value in rest.items()}
        arrays[-1] = pa.array([_json(rest) if rest else None], pa.string())
        return pa.record_batch(arrays, self.schema)


def _column_type(declared: pa.DataType | None, values: list[Any]) -> pa.DataType | None:
    """The declared type, widened to fit the values; or, if it fits none, the inferred type; None without either."""
    import pyarrow as pa

    if not values:
        return declared or pa.string()
    if declared is not None and all(_array(value, declared) is not None for value in values):
        return declared
    inferred = _inferred(values)
    if declared is None or inferred is None:
        return declared or inferred
    wide = _widened(declared, inferred)
    return wide if any(_array(value, wide) is not None for value in values) else inferred


def _inferred(values: list[Any]) -> pa.DataType | None:
    """The common type of all values; if they have none, the type of the first value with a storable type."""
    import pyarrow as pa

    for sample in (values, *([value] for value in values)):
        try:
            kind = _storable(pa.array(sample).type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
        if kind is not None:
            return kind
    return None


def _storable(kind: pa.DataType) -> pa.DataType | None:
    """The type under which Parquet can store a column, or None: Parquet has no null type and no empty structs."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        value_type = _storable(kind.value_type)
        return None if value_type is None else pa.list_(value_type)
    if pa.types.is_struct(kind):
        fields = {field.name: _storable(field.type) for field in kind}
        return None if None in fields.values() or not 0 < len(fields) <= MAX_FIELDS else pa.struct(fields)
    plain = pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind)
    return kind if (plain and not pa.types.is_duration(kind)) or pa.types.is_decimal(kind) else None


def _widened(declared: pa.DataType, inferred: pa.DataType) -> pa.DataType:
    """The declared type with the additional struct fields of the inferred one, at all levels."""
    import pyarrow as pa

    if pa.types.is_list(declared) and pa.types.is_list(inferred):
        return pa.list_(_widened(declared.value_type, inferred.value_type))
    if pa.types.is_struct(declared) and pa.types.is_struct(inferred):
        fields = {field.name: field.type for field in declared}
        for field in inferred:
            fields[field.name] = _widened(fields[field.name], field.type) if field.name in fields else field.type
        return pa.struct(fields)
    return declared


def _array(value: Any, kind: pa.DataType) -> pa.Array | None:
    """A column of one row; None if neither the value nor its plain form fits the type."""
    array = _exact(value, kind)
    return _exact(plain(value), kind) if array is None else array


def _exact(value: Any, kind: pa.DataType) -> pa.Array | None:
    """A column of one row; None if Arrow would silently make 1 of 1.5, letters of "abc", or drop struct fields."""
    import pyarrow as pa

    try:
        array = pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return array if _same(value, array[0].as_py()) else None


def _same(value: Any, back: Any) -> bool:
    """True if Arrow returns a value unchanged, apart from struct fields that it adds as nulls."""
    if value is None or back is None:
        return value is back
    if isinstance(value, dict):
        known = isinstance(back, dict) and value.keys() <= back.keys()
        return known and all(_same(value.get(name), part) for name, part in back.items())
    if isinstance(value, list | tuple):
        return isinstance(back, list) and len(value) == len(back) and all(map(_same, value, back))
    if isinstance(value, int | float) and isinstance(back, int | float):
        equal = value == back or (value != value and back != back)
        return equal and isinstance(value, bool) == isinstance(back, bool)
    same_kind = isinstance(value, datetime) == isinstance(back, datetime)  # datetime is a subclass of date
    return same_kind and isinstance(value, type(back)) and bool(value == back)


def plain(value: Any) -> Any:
    """Copy a value, converting nested items, sets and numpy values to types that Arrow and JSON support."""
    if value is None or isinstance(value, bool | int | float):
        return value.tolist() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if is_item(value):
        return _plain_mapping(ItemAdapter(value))
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {plain(str(name)): plain(part) for name, part in value.items()}


def _json(value: Row) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_jsonable)
    except ValueError:  # NaN and infinity are not valid JSON: they become strings
        loose = json.dumps(value, default=_jsonable)
        return json.dumps(json.loads(loose, parse_constant=str), ensure_ascii=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    try:
        return ScrapyJSONEncoder().default(value)
    except TypeError:
        return str(value)
