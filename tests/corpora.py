"""Corpora for tests: archives of synthetic sites, jobs on them, and their tables."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.dataset as ds
from warcio.warcwriter import WARCWriter

from scrapy_pagelets.corpus.embedded import EmbeddedEngine
from scrapy_pagelets.corpus.inputs import CorpusOptions, sources_of
from scrapy_pagelets.corpus.job import CorpusJob, Report, prepare_job
from tests.crawling import page, words
from tests.unit.test_archives import response

DATE = "2026-01-02T03:04:05Z"
TABLES = ("pages", "pagelets", "links", "templates", "duplicates")

Pages = list[tuple[str, bytes]]

#: Worker processes that wait for a job, by their number.
_pools: dict[int, ProcessPoolExecutor] = {}


def site(host: str, names: Iterable[str], more: str = "") -> Pages:
    """Pages of a site with one menu."""
    names = list(names)
    menu = [f"/{name}" for name in names[:8]]
    return [(f"http://{host}/{name}", page(name, menu, more=more, kind=host.split(".")[0]).encode()) for name in names]


def near(name: str, changed: int) -> bytes:
    """A page whose content is that of ``name`` but for some words, which versions with more of them have as well."""
    text = words(name, 200).split()
    for place in range(changed):
        text[place * 7] = f"changed{place}"
    return f"<html><body><div class=c><h1>All of it</h1><p>{' '.join(text)}</p></div></body></html>".encode()


def two_sites() -> Pages:
    """Pages of two sites in turn, with near-duplicates and copies within a site and across sites."""
    one = site("one.example", (f"one{letter}" for letter in "abcdefghijkl"))
    other = site(
        "two.example", (f"two{letter}" for letter in "abcdefghijkl"), more='<a href="http://one.example/onea">x</a>'
    )
    pages = [each for both in zip(one, other, strict=True) for each in both]
    alike = [(f"http://{host}.example/{host}{n}", near("story", n)) for n in (0, 2, 4) for host in ("one", "two")]
    return (
        pages + alike + [("http://three.example/copy", near("story", 0)), ("http://three.example/b", near("other", 0))]
    )


def warc(path: Path, pages: Pages, **options: Any) -> Path:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for url, body in pages:
            response(writer, url, body, **{"date": DATE, **options})
    return path


def offsets(path: Path) -> Iterator[dict[str, Any]]:
    """URL, offset and length of the records of a WARC file."""
    from warcio.archiveiterator import ArchiveIterator

    with path.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            records.read_to_end(record)
            yield {
                "url": record.rec_headers.get_header("WARC-Target-URI"),
                "offset": str(records.get_record_offset()),
                "length": str(records.get_record_length()),
                "filename": path.name,
                "status": "200",
                "mime": "text/html",
            }


def cdxj(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(f"key 20260102030405 {json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def wacz(path: Path, *archives: Path, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as packed:
        packed.writestr("datapackage.json", "{}")
        for archive in archives:
            packed.write(archive, f"archive/{archive.name}")
    return path


def run(
    source: Any,
    out: Path,
    *,
    base: str = "",
    workers: int = 1,
    round_pages: int = 0,
    progress: Any = None,
    **options: Any,
) -> Report:
    """A job in this process. Its worker processes, each of which takes a second to start, are kept for the next one."""
    sources = sources_of(str(source), base)
    wanted = prepare_job(out, sources, CorpusOptions(started=DATE, **options), "duckdb")
    engine = EmbeddedEngine(out / "_work" / "spill", workers=workers)
    engine._pool = _pools.pop(workers, None)
    if round_pages:
        engine.round_pages = round_pages
    try:
        return CorpusJob(engine, out, sources, wanted, progress or (lambda _: None)).run()
    finally:
        if engine._pool is not None:
            _pools[workers], engine._pool = engine._pool, None
        engine.close()


def table(out: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table, sorted."""
    rows: list[dict[str, Any]] = ds.dataset(out / name, format="parquet").to_table().to_pylist()
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def feed(out: Path) -> dict[str, dict[str, Any]]:
    """The lines of the feed by URL, as a crawl writes them."""
    return {row["url"]: {name: value for name, value in row.items() if name != "page"} for row in table(out, "pages")}


class RangeServer:
    """Serves the files of a folder on loopback, whole or in ranges, as archives are served; records the requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ranges: list[tuple[str, str]] = []
        handler = type("_Ranges", (_RangeHandler,), {"served": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/{name}"

    def __enter__(self) -> RangeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _RangeHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: RangeServer

    def do_HEAD(self) -> None:
        self._answer(send=False)

    def do_GET(self) -> None:
        self._answer(send=True)

    def _answer(self, *, send: bool) -> None:
        path = self.served.folder / os.path.basename(self.path)
        wanted = self.headers.get("Range", "")
        self.served.ranges.append((path.name, wanted))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
        self.send_response(206 if match else 200)
        if match:
            start, end = int(match[1]), min(int(match[2] or len(content) - 1), len(content) - 1)
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
            content = content[start : end + 1]
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if send:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass
