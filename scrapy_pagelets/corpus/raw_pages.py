"""Read the pages of a source of a corpus job: each as it was received, with its site."""

import json
import os
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.archives import reader
from scrapy_pagelets.archives.record import Record, SkipRecord, checked_page, date_of, timestamp
from scrapy_pagelets.corpus.engines import RAW
from scrapy_pagelets.corpus.inputs import BUCKETS, Source, file_system, is_remote, reading
from scrapy_pagelets.page import urls

POSITION: Final = 32  # bits of a page number that count the pages of a source
_RUN: Final = 64 << 20  # bytes of pages that are sorted by site, so that those of a site can be found again
_RANGES: Final = 64  # ranges of a remote file that are requested at once
#: Names that the columns of raw pages may have, of which the first one present counts.
_NAMES: Final = {
    "url": ("url", "warc_target_uri"),
    "body": ("body", "html", "content", "raw"),
    "fetched_at": ("fetched_at", "date", "warc_date"),
    "content_type": ("content_type", "mime"),
}
_ROWS: Final = 64


def read_pages(table: pa.Table, started: str) -> Iterator[pa.Table]:
    """Yield the pages of sources as ``RAW``, undated ones as of ``started``; the last rows say what was skipped."""
    for row in table.to_pylist():
        yield from _read_source(row["source"], Source(row["path"], row["offsets"], row["sizes"]), started)


def _read_source(number: int, source: Source, started: str) -> Iterator[pa.Table]:
    skipped: Counter[str] = Counter()
    messages: list[str] = []
    rows: list[dict[str, Any]] = []
    size = position = cut = 0

    def log(message: str, name: str, *more: object) -> None:
        messages.append((message % (name, *more)).replace(os.fspath(name), source.path))

    for position, record in enumerate(_records(source, skipped, log)):
        rows.append(_row((number << POSITION) + position, record, started))
        size += len(record.body)
        cut += record.cut
        if size >= _RUN:
            yield _sorted(rows)
            rows, size = [], 0
    found = {"path": source.path, "skipped": dict(skipped), "messages": messages, "cut": cut}
    rows.append({"page": number << POSITION, "bucket": -1, "skipped": json.dumps(found)})
    yield _sorted(rows)


def _row(page: int, record: Record, started: str) -> dict[str, Any]:
    site = urls.site_of(record.url)
    return {
        "page": page,
        "site": site,
        "bucket": xxh3_64_intdigest(site.encode("utf-8", "replace")) % BUCKETS,
        "key": urls.key(record.url),
        "url": record.url,
        "fetched_at": record.fetched_at or date_of(record.headers.get("Date", [""])[0]) or started,
        "content_type": record.headers.get("Content-Type", [""])[0],
        "link": ", ".join(record.headers.get("Link", [])),
        "robots": ", ".join(record.headers.get("X-Robots-Tag", ())),
        "body": record.body,
    }


def _sorted(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(sorted(rows, key=lambda row: (row["bucket"], row["page"])), schema=RAW)


def _records(source: Source, skipped: Counter[str], log: Callable[..., None]) -> Iterator[Record]:
    """The pages of a source; what cannot be read is counted and logged, and never raises an error."""
    try:
        if source.path.lower().endswith(".parquet"):
            yield from _of_parquet(source.path, skipped)
            return
        with _local(source) as paths:
            for path in paths:
                yield from reader.records(path, skipped=skipped, log=log)
    except Exception as error:  # each file system and each library has errors of its own
        skipped["unreadable"] += 1
        log("%s cannot be read and is left out: %s", source.path, error)


@contextmanager
def _local(source: Source) -> Iterator[list[str]]:
    """Local WARC files with the records of a source: copies of what is remote, packed, or selected by an index."""
    is_packed = source.path.lower().endswith(".wacz")
    if not (source.offsets or is_packed or is_remote(source.path)):
        yield [source.path]
        return
    with TemporaryDirectory(prefix="pagelets-") as folder:
        copy = os.path.join(folder, os.path.basename(source.path.partition("?")[0]))
        if source.offsets:
            _copy_ranges(source, copy)
        elif is_remote(source.path):
            with reading(source.path) as file, open(copy, "wb") as local:
                shutil.copyfileobj(file, local, 1 << 20)
        if not is_packed:
            yield [copy]
            return
        # A WACZ file is a ZIP file with WARC files in the folder ``archive``.
        with zipfile.ZipFile(copy if is_remote(source.path) else source.path) as packed:
            names = sorted(name for name in packed.namelist() if name.startswith("archive/") and ".warc" in name)
            yield [packed.extract(name, folder) for name in names]


def _copy_ranges(source: Source, copy: str) -> None:
    offsets, sizes = source.offsets or [], source.sizes or []
    with open(copy, "wb") as local:
        if not is_remote(source.path):
            with reading(source.path) as file:
                for offset, size in zip(offsets, sizes, strict=True):
                    file.seek(offset)
                    local.write(file.read(size))
            return
        system, path = file_system(source.path)
        for first in range(0, len(offsets), _RANGES):
            starts, some = offsets[first : first + _RANGES], sizes[first : first + _RANGES]
            ends = [start + size for start, size in zip(starts, some, strict=True)]
            local.writelines(system.cat_ranges([path] * len(starts), starts, ends, on_error="raise"))


def _of_parquet(path: str, skipped: Counter[str]) -> Iterator[Record]:
    from pyarrow.parquet import ParquetFile

    with reading(path) as file, ParquetFile(file) as table:
        present = table.schema_arrow.names
        columns = {name: next((one for one in names if one in present), None) for name, names in _NAMES.items()}
        if columns["url"] is None or columns["body"] is None:
            raise ValueError(f"raw pages need the columns url and body (or html), it has {', '.join(present)}")
        for batch in table.iter_batches(_ROWS, columns=[name for name in columns.values() if name]):
            for row in batch.to_pylist():
                try:
                    yield _record({name: row.get(column) for name, column in columns.items()}, path)
                except SkipRecord as reason:
                    skipped[str(reason)] += 1


def _record(row: dict[str, Any], path: str) -> Record:
    body, url = row["body"], row["url"]
    if not isinstance(url, str) or "://" not in url:
        raise SkipRecord("no_url")
    content_type = row["content_type"] or "text/html"
    if isinstance(body, str):  # it was decoded already
        body, content_type = body.encode("utf-8", "replace"), "text/html; charset=utf-8"
    date = row["fetched_at"]
    fetched_at = timestamp(date) if isinstance(date, (str, datetime)) else None
    return Record(url, {"Content-Type": [content_type]}, checked_page(body or b""), fetched_at, path, 0)
