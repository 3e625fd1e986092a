"""Names of indexes, and how to open them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from scrapy_pagelets.index.interface import Index, IndexUnusable, shown

#: Kind of an index -> prefixes and suffixes of its names, and the library that it needs.
_KINDS: Final = {
    "tantivy": (("tantivy:",), (), "tantivy"),
    "postgres": (("postgresql://", "postgres://"), (), "psycopg"),
    "bulk": ((), (".ndjson",), ""),
    "sqlite": ((), (".sqlite", ".sqlite3", ".db"), ""),
}
#: Longer names are truncated in messages.
_SHOWN: Final = 200


def kind_of(target: object) -> str:
    """Return the kind of index that a name stands for: ``sqlite``, ``tantivy``, ``postgres`` or ``bulk``.

    Raises
    ------
    IndexUnusable : if the name is not that of an index, or a library is missing

    Examples
    --------
    >>> kind_of("pages.sqlite"), kind_of("postgresql://localhost/search")
    ('sqlite', 'postgres')
    """
    if not isinstance(target, str):
        raise IndexUnusable(f"{target!r} is not the name of an index: give a string")
    for kind, (begins, ends, library) in _KINDS.items():
        if target.startswith(begins) or target.endswith(ends):
            if library and find_spec(library) is None:
                raise IndexUnusable(f"{shown(target)} needs a library: pip install 'scrapy-pagelets[search]'")
            return kind
    raise IndexUnusable(
        f"{shown(target)[:_SHOWN]!r} is not the name of an index: "
        "give a path that ends in .sqlite or .ndjson, tantivy:FOLDER, or postgresql://..."
    )


def open_index(target: str) -> Index:
    """Open an index, creating it if it does not exist.

    Raises
    ------
    IndexUnusable : for an index of another version, or a name that is not that of an index
    IndexAway : if the index is currently unavailable
    """
    kind = kind_of(target)
    if kind == "tantivy":
        from scrapy_pagelets.index.tantivy import TantivyIndex

        return TantivyIndex(target.removeprefix("tantivy:"))
    if kind == "postgres":
        from scrapy_pagelets.index.postgres import PostgresIndex

        return PostgresIndex(target)
    if kind == "bulk":
        from scrapy_pagelets.index.bulk import BulkFile

        return BulkFile(target)
    from scrapy_pagelets.index.sqlite import SQLiteIndex

    return SQLiteIndex(target)


def folder_of(target: str) -> Path:
    """Return the folder in which pages wait for an index: that of its file, or the working directory for a server.

    >>> folder_of("out/pages.sqlite").as_posix(), folder_of("postgresql://localhost/search").as_posix()
    ('out', '.')
    """
    return Path() if "://" in target else Path(target.removeprefix("tantivy:")).parent
