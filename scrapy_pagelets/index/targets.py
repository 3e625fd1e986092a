"""Names of indexes, and how to open them."""

from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from scrapy_pagelets.index.interface import Index, IndexUnusable, shown

#: Kind of an index -> prefixes and suffixes of its names, the library that it needs, and its class.
_KINDS: Final = {
    "tantivy": (("tantivy:",), (), "tantivy", "scrapy_pagelets.index.tantivy.TantivyIndex"),
    "postgres": (("postgresql://", "postgres://"), (), "psycopg", "scrapy_pagelets.index.postgres.PostgresIndex"),
    "bulk": ((), (".ndjson",), "", "scrapy_pagelets.index.bulk.BulkFile"),
    "sqlite": ((), (".sqlite", ".sqlite3", ".db"), "", "scrapy_pagelets.index.sqlite.SQLiteIndex"),
}
_SHOWN: Final = 200  # longer names are truncated in messages


def kind_of(target: object) -> str:
    """Return the kind of index that a name stands for; IndexUnusable if there is none, or for lack of a library."""
    if not isinstance(target, str):
        raise IndexUnusable(f"{target!r} is not the name of an index: give a string")
    for kind, (begins, ends, library, _) in _KINDS.items():
        if (target.startswith(begins) and target not in begins) or target.endswith(ends):
            if library and find_spec(library) is None:
                raise IndexUnusable(f"{shown(target)} needs a library: pip install 'scrapy-pagelets[search]'")
            return kind
    advice = "give a path that ends in .sqlite or .ndjson, tantivy:FOLDER, or postgresql://..."
    raise IndexUnusable(f"{shown(target)[:_SHOWN]!r} is not the name of an index: {advice}")


def open_index(target: str) -> Index:
    """Open an index, created if it does not exist; IndexUnusable or IndexAway if that is not possible, see `Index`."""
    opened: Index = resolve_name(_KINDS[kind_of(target)][-1])(target.removeprefix("tantivy:"))
    return opened


def folder_of(target: str) -> Path:
    """Return the folder in which pages wait for an index: that of its file, or the working directory for a server."""
    return Path() if "://" in target else Path(target.removeprefix("tantivy:")).parent
