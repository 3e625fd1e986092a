"""Full disks: every item is yielded, and a run that loses something reports it and ends with exit code 1."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest

from scrapy_pagelets.crawler.commands import merge
from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.duplicates.band_index import BandIndex
from tests.crawling import PREFACE, ROOT, Crawl, crawl, finished, menu_site, options, page, run_spider, scrapy
from tests.server import Route, SiteServer, html

NAMES = ["home", *(f"p{number}" for number in range(60))]
PATHS = ["/", *(f"/{name}" for name in NAMES[1:])]
#: The spider `site`; from some response on, no file can grow.
SPIDER = """
import resource
from scrapy_pagelets.crawler.spiders.site_spider import SiteSpider

class Site(SiteSpider):
    name = "stranger"

    def __init__(self, full="-1", **arguments):
        super().__init__(**arguments)
        self.left = int(full) + 1
        self.fill(None)

    def fill(self, response):
        self.left -= 1
        if self.left == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    async def start(self):
        self.crawler.signals.connect(self.fill, signals.response_received)
        async for request in super().start():
            yield request
"""


class Disk(NamedTuple):
    """A folder that can be filled.

    Attributes
    ----------
    fill : leaves no room in it; None if it cannot, because nothing may be mounted here: the crawl limits itself then
    """

    folder: Path
    fill: Callable[[], None] | None


def fill(folder: Path) -> None:
    """Write until the disk is full."""
    with open(folder / "filler", "ab", buffering=0) as file:
        for size in (1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A separate disk of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield Disk(folder, None)
        return
    yield Disk(folder, lambda: fill(folder))
    subprocess.run(["umount", str(folder)], check=True)


def site(after: int, fill: Callable[[], None] | None) -> dict[str, Route]:
    """The menu site; after a number of requests the disk is full."""
    asked: list[str] = []

    def route(path: str) -> Any:
        asked.append(path)
        if len(asked) == after and fill is not None:
            fill()
        return html(page(path.strip("/") or "home", PATHS))

    return dict.fromkeys(PATHS, route)


def crawl_until_full(
    tmp_path: Path, disk: Disk, after: int, code: int, more: Mapping[str, Any] | None = None, *, tmp: str = ""
) -> Crawl:
    """Crawl with files on a disk that fills up; the feed goes to standard output."""
    if not after and disk.fill is not None:
        disk.fill()
    (tmp_path / "stranger.py").write_text(PREFACE + dedent(SPIDER), encoding="utf-8")
    settings: dict[str, Any] = {"ADDONS": {"scrapy_pagelets.Addon": 500}, "FEEDS": {"stdout:": {"format": "jsonl"}}}
    settings |= {"TELNETCONSOLE_ENABLED": 0, "REMOTE_CONTROL_ENABLED": 0} | dict(more or {})
    with SiteServer(routes=site(after, disk.fill)) as server:
        arguments = {"url": server.url(""), "full": -1 if disk.fill is not None else after}
        command = ["runspider", "stranger.py", *options(settings, arguments)]
        done = scrapy(*command, cwd=tmp_path, TMPDIR=tmp or str(tmp_path))
    feed = tmp_path / "feed.jsonl"
    feed.write_text(done.stdout, encoding="utf-8")
    found = finished(done, feed, code)
    assert sorted(f"/{url.split('/', 3)[3]}" for url in found.urls) == sorted(PATHS)
    return found


# The index of near-duplicates


@pytest.mark.parametrize("after", [0, 20])
def test_every_item_is_yielded_when_the_folder_for_temporary_files_is_full(tmp_path, disk, after):
    found = crawl_until_full(tmp_path, disk, after, 0, tmp=str(disk.folder))
    assert found.errors == []
    assert len(found.warnings) <= 2
    if after:
        assert found.stat("store/failed") >= 1
        assert "No space left" in found.warnings[0] or "File too large" in found.warnings[0]


def test_every_item_is_yielded_when_the_job_directory_is_full_at_the_start(tmp_path, disk):
    found = crawl_until_full(tmp_path, disk, 0, 0, {"JOBDIR": str(disk.folder / "job")})
    assert found.errors == []
    assert found.stat("scheduler/in_memory") >= 1
    assert found.stat("store/failed") >= 1


def test_every_item_is_yielded_when_the_job_directory_fills_up(tmp_path, disk):
    found = crawl_until_full(tmp_path, disk, 20, 1, {"JOBDIR": str(disk.folder / "job")})
    assert found.stat("lost") == found.stat("duplicates/failed") >= 1
    assert len(found.errors) == 1
    assert found.errors[0].startswith(f"This run has lost something: {found.stat('lost')} pages were not compared")
    assert "make room on the disk" in found.errors[0]


def test_the_files_of_the_index_reserve_their_blocks(tmp_path, monkeypatch):
    """Writing to a sparse mapped file on a full disk would kill the process."""
    opened, temporary = list[int](), tempfile.TemporaryFile

    def watched(**options: Any) -> Any:
        file = temporary(**options)
        opened.append(os.dup(file.fileno()))
        return file

    monkeypatch.setattr(tempfile, "TemporaryFile", watched)
    index = BandIndex(0.8, tmp_path)
    index.add(np.random.default_rng(1).integers(0, 1 << 32, (3000, 25), dtype=np.uint32))
    files = [os.fstat(file) for file in opened]
    for file in opened:
        os.close(file)
    assert len(files) == 6
    assert sum(file.st_size for file in files[3:]) == index.nbytes
    assert all(512 * file.st_blocks >= file.st_size for file in files)


def test_an_index_without_room_on_disk_is_kept_in_memory_and_finds_the_same(tmp_path):
    keys = np.random.default_rng(1).integers(0, 1 << 12, (3000, 25), dtype=np.uint32)
    on_disk, told = BandIndex(0.8), list[str]()
    in_memory = BandIndex(0.8, tmp_path / "missing", told.append)
    for index in (on_disk, in_memory):
        index.add(keys)
    for mine, theirs in zip(on_disk.query(keys[:50]), in_memory.query(keys[:50]), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert told
    assert all("stays in memory" in sentence for sentence in told)


# Commands


@pytest.mark.parametrize("room", [0, 100])
def test_a_feed_that_cannot_be_merged_on_a_full_disk_leaves_nothing_behind(tmp_path, capsys, room):
    parts, out = [tmp_path / f"{name}.jsonl" for name in ("one", "two")], tmp_path / "out" / "feed.jsonl"
    for part in parts:
        part.write_text("".join(json.dumps({"url": f"{part}{n}"}) + "\n" for n in range(9)), encoding="utf-8")
    out.parent.mkdir()
    out.write_text("the feed before", encoding="utf-8")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit[1]))
    try:
        code = run_command(merge.run, Namespace(parts=list(map(str, parts)), out=str(out), field="url"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert code == 1
    assert f"{out} cannot be written: File too large" in capsys.readouterr().err
    assert {path.name: path.read_text(encoding="utf-8") for path in out.parent.iterdir()} == {
        "feed.jsonl": "the feed before"
    }


# Feeds


def test_a_feed_on_a_full_disk_is_reported_at_the_end(tmp_path):
    """The failure does not affect other feeds."""
    good = tmp_path / "good.jsonl"
    settings = {"FEEDS": {"/dev/full": {"format": "jsonl"}, str(good): {"format": "jsonl"}}}
    with SiteServer(routes=menu_site(*NAMES[:12])) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
    assert len(found.lines) == len(good.read_text(encoding="utf-8").splitlines()) == 12
    assert found.stat("lost") == found.stat("feeds/failed") >= 1
    assert len(found.errors) == len(found.warnings) == 1
    assert "full cannot be written: [Errno 28] No space left on device" in found.warnings[0]
    assert found.errors[0].startswith("This run has lost something: ")
    assert "full" in found.errors[0]


@pytest.mark.parametrize("items", [1, 256])
def test_a_parquet_feed_on_a_full_disk_is_reported_at_the_end(tmp_path, items):
    feed = {"format": "parquet", "item_export_kwargs": {"batch_items": items}}
    with SiteServer(routes=menu_site(*NAMES[:12])) as server:
        settings = {"FEEDS": {"/dev/full": {**feed, "overwrite": True}}}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
    assert len(found.lines) == 12
    assert found.stat("lost") >= 12
    assert len(found.errors) == 1
    assert "items may be missing from full, which could not be finished" in found.errors[0]


@pytest.mark.parametrize("folder", ["", "deep/"])
def test_a_feed_that_cannot_be_opened_ends_the_crawl_before_it_begins(tmp_path, folder):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    settings = {"FEEDS": {f"{tmp_path}/file/{folder}feed.csv": {"format": "csv"}}}
    with SiteServer(routes=menu_site(*NAMES[:6])) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
    assert server.hits == []
    assert found.errors == [f"feed.csv cannot be written: there is no folder {tmp_path}/file; name another file"]


def test_an_item_that_a_feed_cannot_hold_is_reported_with_scrapys_traceback(tmp_path):
    source = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield {"a": 1}
        yield {"a": object()}
        yield {"a": 3}
"""
    found = run_spider(tmp_path, source, code=1, traceback=True)
    assert [line["a"] for line in found.lines] == [1, 3]
    assert found.stat("lost") == 1
    assert "1 items could not be written to feed.jsonl" in found.errors[-1]
    assert "is not JSON serializable" in found.log


def test_all_feeds_that_can_be_written_end_with_0(tmp_path):
    feeds: dict[str, Any] = {str(tmp_path / name): {"format": name} for name in ("json", "csv", "xml", "parquet")}
    feeds[str(tmp_path / "gz")] = {"format": "jsonl", "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}
    feeds[str(tmp_path / "part-%(batch_id)d.jsonl")] = {"format": "jsonl", "batch_item_count": 4}
    with SiteServer(routes=menu_site(*NAMES[:6])) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"FEEDS": feeds, "JOBDIR": str(tmp_path / "job")})
    assert (
        len(found.lines)
        == len(json.loads((tmp_path / "json").read_text()))
        == pq.read_table(tmp_path / "parquet").num_rows
    )
    assert found.stats["feedexport/success_count/FileFeedStorage"] == 8
    assert found.errors == found.warnings == []


NO_PYARROW = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


@pytest.mark.parametrize("spider", ["site", "archive"])
def test_parquet_without_its_library_is_refused_at_the_start(tmp_path, monkeypatch, spider):
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text(NO_PYARROW, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "without"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    with SiteServer(routes=menu_site(*NAMES[:6])) as server:
        arguments: dict[str, Any] = (
            {"url": server.url("")} if spider == "site" else {"path": str(ROOT / "tests" / "site")}
        )
        found = crawl(tmp_path, spider, feed="feed.parquet", code=1, **arguments)
    assert server.hits == []
    assert found.errors == [
        "feed.parquet cannot be written: writing Parquet needs pyarrow: pip install 'scrapy-pagelets[corpus]'"
    ]
    assert not (tmp_path / "feed.parquet").exists()


# Indexes


@pytest.mark.parametrize("name", ["pages.sqlite", "pages.ndjson"])
def test_pages_that_an_index_has_lost_are_reported_at_the_end(tmp_path, disk, name):
    index = disk.folder / name
    settings = {"PAGELETS_INDEX": str(index), "PAGELETS_INDEX_PURGE": 1, "PAGELETS_FIRST_PAGES": 2}
    found = crawl_until_full(tmp_path, disk, 20, 1, settings)
    assert found.stat("lost") == found.stat("index/lost") >= 1
    assert len(found.errors) == 1
    assert f"{found.stat('lost')} pages are not in the index {index}" in found.errors[0]
    assert found.stat("index/not_purged") == 1


# Responses


def test_a_file_in_place_of_the_folder_for_responses_causes_a_warning(tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "pagelets-responses").write_text("in the way", encoding="utf-8")
    with SiteServer(routes=menu_site(*NAMES[:12])) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"JOBDIR": str(tmp_path / "job")})
    assert len(found.lines) == 12
    assert len(found.warnings) == found.stat("store/failed") == 1
    assert "cannot be stored on disk and stay in memory" in found.warnings[0]
    assert found.errors == []


def test_pages_in_memory_do_not_wait_for_a_next_run(tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "pagelets-responses").write_text("in the way", encoding="utf-8")
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 2}
    with SiteServer(routes=menu_site(*NAMES[:12])) as server:
        first = crawl(tmp_path, "site", url=server.url(""), settings=settings | {"CLOSESPIDER_PAGECOUNT": 6})
        assert first.lines
        assert first.stats["finish_reason"] == "closespider_pagecount"
        both = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert len(set(both.urls)) == len(both.lines) == 12
