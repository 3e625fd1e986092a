"""Writing during a crawl: no page is lost if the index is unavailable, and nothing waits forever."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace

import psycopg
import pytest

from scrapy_pagelets.index.interface import line_of
from scrapy_pagelets.index.sqlite import SQLiteIndex
from scrapy_pagelets.index.targets import open_index
from scrapy_pagelets.index.writer import BATCH_PAGES, PendingPages, Writer
from tests.crawling import ROOT
from tests.indexing import at, indexed

#: Seconds after which a test fails.
LIMIT = 120


def pages(number, minute=0):
    return [indexed(f"http://example.com/{n}", f"common own{n}", minute=minute) for n in range(number)]


class Watched:
    """A writer that records its reports and counts."""

    def __init__(self, opened, folder, *, away=False):
        self.counts: Counter[str] = Counter()
        self.told: list[str] = []
        self.changed = threading.Condition()
        self.pending = PendingPages(folder, "index")
        self.writer = Writer(opened, None if away else opened(), self.pending, self.tell, self.count)
        self.writer.start()

    def count(self, name, by):
        with self.changed:
            self.counts[name] += by
            self.changed.notify_all()

    def tell(self, name, message, *arguments):
        self.told.append(message % arguments)
        self.count(name, 1)

    def put(self, pages):
        for page in pages:
            self.writer.put(page)

    def wait(self, name, number):
        with self.changed:
            assert self.changed.wait_for(lambda: self.counts[name] >= number, LIMIT), self.counts

    def close(self, patience=LIMIT):
        return self.writer.close(patience)


@pytest.fixture
def path(tmp_path):
    """The path of an index whose folder does not exist yet: until it does, the index is unavailable."""
    return tmp_path / "later" / "pages.sqlite"


def texts(path):
    with SQLiteIndex(path, create=False) as index:
        return dict(index.base.execute("SELECT url, text FROM pages JOIN pagelets ON page = pages.id"))


def expected(pages):
    return {page.url: page.pagelets[0].text for page in pages}


def test_pages_are_written_in_batches(tmp_path):
    watched = Watched(lambda: SQLiteIndex(tmp_path / "pages.sqlite"), tmp_path)
    watched.put(pages(500))
    assert watched.close() == 0
    assert texts(tmp_path / "pages.sqlite") == expected(pages(500))
    assert watched.counts["index/pages"] == watched.counts["index/pagelets"] == 500
    assert 500 / BATCH_PAGES <= watched.counts["index/batches"] <= 500
    assert set(watched.counts) == {"index/pages", "index/pagelets", "index/batches"}
    assert list(tmp_path.glob("*.jsonl")) == []


def test_pages_wait_on_disk_while_the_index_is_unavailable(tmp_path, path):
    watched = Watched(lambda: SQLiteIndex(path), tmp_path, away=True)
    watched.put(pages(100))
    watched.wait("index/spooled", 100)
    watched.wait("index/retries", 2)
    files = list(tmp_path.glob("*.jsonl"))
    assert sum(len(file.read_text().splitlines()) for file in files) == 100
    path.parent.mkdir()
    watched.put(pages(120)[100:])
    watched.wait("index/pages", 100)
    assert watched.close() == 0
    assert texts(path) == expected(pages(120))
    assert watched.counts["index/unspooled"] == watched.counts["index/spooled"] >= 100
    assert watched.counts["index/away"] == len(watched.told) == 1
    assert "unable to open database file" in watched.told[0]
    assert list(tmp_path.glob("*.jsonl")) == []


def test_the_next_crawl_writes_the_pages_that_are_left(tmp_path, path):
    first = Watched(lambda: SQLiteIndex(path), tmp_path, away=True)
    first.put(pages(10))
    assert first.close(patience=0) == 10
    path.parent.mkdir()
    with SQLiteIndex(path) as index:
        index.upsert([indexed("http://example.com/3", "newer", minute=1)])
    second = Watched(lambda: SQLiteIndex(path), tmp_path)
    assert second.close() == 0
    assert texts(path) == expected(pages(10)) | {"http://example.com/3": "newer"}
    assert second.counts["index/unspooled"] == 10
    assert list(tmp_path.glob("*.jsonl")) == []


def test_a_refused_page_does_not_block_others(tmp_path, database):
    watched = Watched(lambda: open_index(database), tmp_path, away=True)
    bad = replace(indexed("http://example.com/bad", "text"), words=10**30)
    watched.put([*pages(5), bad, *pages(10)[5:]])
    assert watched.close() == 0
    with open_index(database) as index:
        assert len(index.search("common", 100)) == 10
    assert watched.counts["index/refused"] == 1
    assert watched.told[-1].startswith("the index does not accept http://example.com/bad: ")


def test_nothing_waits_forever_while_the_index_does_not_answer(tmp_path, database):
    """Another connection has locked its tables."""
    watched = Watched(lambda: open_index(database), tmp_path)
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE pagelets.pages")
        watched.put(pages(700))
        assert watched.counts["index/pages"] == 0
        assert watched.counts["index/spooled"] > 100
    assert watched.close() == 0
    with open_index(database) as index:
        assert len(index.search("common", 1000)) == 700
    assert watched.counts["index/unspooled"] == watched.counts["index/spooled"]


def test_old_pages_are_purged(tmp_path):
    path = tmp_path / "pages.sqlite"
    watched = Watched(lambda: SQLiteIndex(path), tmp_path)
    watched.put([*pages(3), *pages(2, minute=5)])
    assert watched.close() == 0
    watched.writer.purge(at(5), {"example.com"})
    assert (watched.counts["index/purged"], set(texts(path))) == (1, {"http://example.com/0", "http://example.com/1"})


def test_an_unavailable_index_is_not_purged(tmp_path, path):
    watched = Watched(lambda: SQLiteIndex(path), tmp_path, away=True)
    assert watched.close() == 0
    watched.writer.purge(at(5), {"example.com"})
    assert watched.counts == {"index/not_purged": 1}


# Pending pages


def taken(pending):
    found = []
    while len(pending):
        found += pending.take()
        pending.sent()
    return found


def test_pending_pages_keep_their_order(tmp_path):
    pending = PendingPages(tmp_path, "index")
    pending.append(pages(3))
    assert [page.url for page in pending.take()] == [page.url for page in pending.take()]
    pending.append(pages(200)[3:])
    assert len(pending) == 200
    assert taken(pending) == pages(200)
    pending.append(pages(1))
    assert taken(pending) == pages(1)
    assert list(tmp_path.iterdir()) == []


def test_pages_that_are_appended_meanwhile_come_later(tmp_path):
    pending = PendingPages(tmp_path, "index")
    pending.append(pages(2))
    assert pending.take() == pages(2)
    pending.append([indexed("http://example.com/new", "text")])
    pending.sent()
    assert taken(pending) == [indexed("http://example.com/new", "text")]


def test_two_queues_of_one_index_have_separate_files(tmp_path):
    one, other, third = (
        PendingPages(tmp_path, "index"),
        PendingPages(tmp_path, "index"),
        PendingPages(tmp_path, "another index"),
    )
    one.append(pages(1))
    other.append(pages(2))
    third.append(pages(3))
    assert [len(taken(pending)) for pending in (one, other)] == [1, 2]
    one.append(pages(4))
    again = PendingPages(tmp_path, "index")
    assert taken(again) == pages(4)
    assert len(list(tmp_path.iterdir())) == 1


def test_damaged_lines_are_counted_and_skipped(tmp_path):
    pending = PendingPages(tmp_path, "index")
    pending.append(pages(3))
    (file,) = tmp_path.iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"\xff{\n{}\n" + lines[1] + lines[2][:20])
    pending = PendingPages(tmp_path, "index")
    assert len(pending) == 5
    assert taken(pending) == pages(2)
    assert pending.unreadable == 3
    assert list(tmp_path.iterdir()) == [file.with_suffix(".damaged")]


FULL = """
import resource, sys
from pathlib import Path
from scrapy_pagelets.index.writer import PendingPages
from tests.indexing import indexed
pending = PendingPages(Path(sys.argv[1]), "index")
pending.append([indexed("http://example.com/1", "text")])
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    pending.append([indexed(f"http://example.com/{n}", "text " * 100) for n in range(2, 20)])
except OSError as error:
    print(error.strerror)
pending.append([indexed("http://example.com/20", "text")])
"""


def test_a_full_disk_leaves_no_partial_lines(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout) == (0, "File too large\n"), done.stderr
    files = sorted(tmp_path.iterdir())
    kept = [indexed(f"http://example.com/{n}", "text") for n in (1, 20)]
    assert [json.loads(file.read_text()) for file in files] == json.loads(json.dumps([*map(line_of, kept)]))
