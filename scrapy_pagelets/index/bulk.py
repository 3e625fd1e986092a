"""Pages as a file for the ``_bulk`` interface of OpenSearch and Elasticsearch.

A page is one document with nested pagelets, because ``_bulk`` can delete only by identifier: indexing a page again
then replaces all of its pagelets. Its identifier is a hash of the URL (identifiers are limited to 512 bytes), and its
version is the time of the crawl, so that an older page never replaces a later one.
"""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from scrapy_pagelets.base.characters import BY_CHARACTER
from scrapy_pagelets.base.transactions import append_whole, whole_file
from scrapy_pagelets.index import interface

_BLOCK: Final = 1 << 16  # bytes that are read at once when a file is repaired
_KEYWORD: Final = {"type": "keyword", "ignore_above": 8000}
_STORED: Final = {"type": "keyword", "index": False, "doc_values": False}
_ALONE: Final = "".join(one if one == "-" else rf"\u{ord(one):04X}" for one in BY_CHARACTER)
#: The definition of `terms`, with a Java regular expression.
_ANALYSIS: Final = {
    "tokenizer": {
        "pagelets": {"type": "pattern", "pattern": rf"[{_ALONE}]|[\p{{L}}\p{{M}}\p{{N}}&&[^{_ALONE}]]+", "group": 0}
    },
    "analyzer": {
        "pagelets": {"type": "custom", "tokenizer": "pagelets", "filter": ["cjk_width", "lowercase", "asciifolding"]}
    },
}
_TEXT: Final = {"type": "text", "analyzer": "pagelets"}
MAPPING: Final[dict[str, Any]] = {
    "settings": {"analysis": _ANALYSIS},
    "mappings": {
        "dynamic": False,
        "_meta": {"scrapy_pagelets": interface.VERSION},
        "properties": {
            "url": _STORED,
            "site": _KEYWORD,
            "title": _TEXT,
            "language": _KEYWORD,
            "fetched_at": {"type": "date", "ignore_malformed": True},
            "crawled": {"type": "date"},
            "near_duplicate_of": _KEYWORD,
            "words": {"type": "integer"},
            "pagelets": {
                "type": "nested",
                "properties": {
                    "number": {"type": "integer"},
                    "role": _KEYWORD,
                    "templateness": {"type": "float"},
                    "text": _TEXT,
                    "words": {"type": "integer"},
                    "xpaths": _STORED,
                    "links": {"type": "object", "enabled": False},
                },
            },
        },
    },
}


class BulkFile(interface.Index):
    """A growing file of ``_bulk`` lines; several crawls may write to it at the same time.

    Next to ``NAME.ndjson`` it writes ``NAME.mapping.json``, the mapping to create the index with; a purge writes
    ``NAME.purge.json``, a request for ``_delete_by_query``. Raises IndexUnusable for a file of another version.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        mapping = self._path.with_suffix(".mapping.json")
        with interface.errors_of_files(self._path):
            if self._path.exists() and self._path.stat().st_size:
                version = interface.version_in(mapping, "mappings", "_meta", "scrapy_pagelets")
                interface.check_version(str(path), version)
            _replace(mapping, MAPPING)
            with self._locked() as file:
                _repair(file)

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file, exclusively locked and positioned at its end."""
        with open(self._path, "ab+", buffering=0) as file:
            flock(file, LOCK_EX)
            file.seek(0, os.SEEK_END)
            yield cast(BinaryIO, file)

    def upsert(self, pages: Sequence[interface.IndexedPage]) -> None:
        lines = "".join(f"{interface.to_json(line)}\n" for page in pages for line in _lines_of(page)).encode()
        with interface.errors_of_files(self._path), self._locked() as file:
            append_whole(file.fileno(), lines)

    def purge(self, before: str, sites: Collection[str]) -> int:
        """Write the request that deletes pages; return 0, because only the server knows their number."""
        filters = [{"terms": {"site": sorted(sites)}}, {"range": {"crawled": {"lt": before}}}]
        with interface.errors_of_files(self._path):
            _replace(self._path.with_suffix(".purge.json"), {"query": {"bool": {"filter": filters}}})
        return 0

    def find(self, wanted: object, limit: int) -> list[interface.Match]:  # noqa: ARG002
        """Raise an error: only a server can search the file."""
        raise interface.IndexUnusable(f"{self._path} cannot be searched: send it to the _bulk interface of a server.")


def _lines_of(page: interface.IndexedPage) -> Iterator[dict[str, Any]]:
    version = interface.milliseconds(page.crawled)
    yield {"index": {"_id": interface.key_of(page.url), "version": version, "version_type": "external_gte"}}
    pagelets = [pagelet for pagelet in page.pagelets if pagelet.role not in (interface.TITLE, *interface.UNSEARCHED)]
    yield asdict(replace(page, pagelets=tuple(pagelets)))


def _repair(file: BinaryIO) -> None:
    """Remove an unfinished last line, and a last action without its document, which a killed crawl may leave."""
    end, tail = file.tell(), b""
    while end and tail.count(b"\n") < 2:
        start = max(0, end - _BLOCK)
        file.seek(start)
        tail, end = file.read(end - start) + tail, start
    kept = tail[: tail.rfind(b"\n") + 1]
    last = kept[kept.rfind(b"\n", 0, -1) + 1 :]
    if last.startswith(b'{"index":'):
        kept = kept[: -len(last)]
    file.truncate(end + len(kept))


def _replace(path: Path, value: object) -> None:
    with whole_file(path, f".{os.getpid()}") as new:
        new.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
