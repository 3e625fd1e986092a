"""What the process of a crawl does before the first request, and what it lets go of in the middle of it."""

import asyncio
import gc
import os
import platform
import resource
import subprocess
import sys
import threading
import weakref
from ipaddress import ip_address
from pathlib import Path

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.base.characters import WORD
from scrapy_pagelets.crawler.extensions import GarbageCollector
from scrapy_pagelets.duplicates.shingles import _kinds
from scrapy_pagelets.rendering.snapshot import Frame
from scrapy_pagelets.session.requests import PageFingerprinter
from scrapy_pagelets.session.response_store import RenderedResponse, ResponseStore
from scrapy_pagelets.session.threads import GIVE_BACK, in_thread, let_go
from tests.crawling import ROOT, SITE, menu_site, run_spider
from tests.server import SiteServer


@pytest.fixture
def thresholds():
    """Leaves the garbage collection of the tests as it was."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)
    gc.unfreeze()


class TestGarbageCollector:
    def test_begins_and_ends(self, thresholds):
        collector = GarbageCollector()
        collector.begin()
        assert gc.get_threshold() > thresholds
        assert gc.get_freeze_count() > 1000
        collector.end()
        assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, 0)

    def test_ends_with_the_last_of_several_crawls(self, thresholds):
        collector = GarbageCollector()
        collector.begin()
        collector.begin()
        collector.end()
        assert gc.get_threshold() > thresholds
        collector.end()
        assert gc.get_threshold() == thresholds

    @pytest.mark.parametrize("own", [(50_000, 5, 5), (0, 10, 10)])
    def test_thresholds_of_a_project_stay(self, thresholds, own):
        collector = GarbageCollector()
        gc.set_threshold(*own)
        collector.begin()
        assert gc.get_threshold()[:2] == own[:2]
        collector.end()
        assert gc.get_threshold()[:2] == own[:2]

    def test_thresholds_that_are_set_in_the_middle_of_a_crawl_stay(self, thresholds):
        collector = GarbageCollector()
        collector.begin()
        gc.set_threshold(900)
        collector.end()
        assert gc.get_threshold()[0] == 900


def test_a_crawl_scans_less_and_only_its_own_objects(tmp_path):
    source = """
    import gc
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base)
        def parse(self, response):
            yield {"threshold": gc.get_threshold()[0], "frozen": gc.get_freeze_count()}
    """
    with SiteServer(routes=menu_site("home", "a")) as server:
        [line] = run_spider(tmp_path, source, base=server.url("")).lines
    assert line["threshold"] > gc.get_threshold()[0]
    assert line["frozen"] > 10_000


IMPORTS = """
import sys
from ipaddress import ip_address
from pathlib import Path
from scrapy_pagelets import Page
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.session import crawl_session
from scrapy_pagelets.session.config import Config
from scrapy_pagelets.crawler.extensions import prepare
from scrapy_pagelets.decision.site import Site

prepare(Config())
import scipy.optimize  # by the search for a set
before = set(sys.modules)
files = sorted(Path(sys.argv[1]).rglob("*.html"))[:6]
pages = [Page.parse(file.read_bytes(), f"http://example.com/{file.name}") for file in files]
site = Site("example.com")
site.learn_set(pages[0], pages[1:])
for page in pages:
    decision = decided(page, site)
    labels = labels_of(page, "pagelets", decision.templateness)
    for pagelet in pagelets_of(page, labels, decision.templateness):
        pagelet.record()
    word_weights(page.nodes, decision.content, decision.templateness)
print(sorted(set(sys.modules) - before))
"""


def test_no_page_imports_what_was_not_imported_before_the_crawl():
    command = [sys.executable, "-c", IMPORTS, str(SITE)]
    assert subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout == "[]\n"


def test_unused_objects_are_freed_in_a_thread():
    class Tree:
        pass

    freed = []
    tree = Tree()
    weakref.finalize(tree, lambda: freed.append(threading.get_ident()))
    let_go(tree)
    del tree
    assert freed == []
    asyncio.run(in_thread(int))
    assert freed
    assert threading.get_ident() not in freed


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library gives back by itself, or never")
def test_memory_that_pages_have_left_is_given_back_in_the_middle_of_a_crawl():
    blocks = [b"x" * 50_000 for _ in range(2_000)]
    kept = blocks[::100]  # between what is freed: without help, the library gives nothing back
    full = resident()
    del blocks
    assert full - resident() < 20e6

    async def compute() -> None:
        for _ in range(GIVE_BACK):
            await in_thread(int)

    asyncio.run(compute())
    assert full - resident() > 50e6
    assert len(kept) == 20


def resident() -> int:
    """Bytes of this process that are in memory, as Linux reports them."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


#: Follows all links, reads each page by a selector, which makes a cycle of response and tree, and never collects.
KEEPING = """
import gc
from scrapy.http import HtmlResponse
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

def alive():
    kinds = [type(one) for one in gc.get_objects()]
    return max(map(kinds.count, (Page, NodeTable, HtmlResponse)))

class Spider(scrapy.Spider):
    name = "stranger"
    custom_settings = {"PAGELETS_FIRST_PAGES": %d, "CONCURRENT_REQUESTS": 4}
    async def start(self):
        gc.disable()
        yield Request(self.base)
    def parse(self, response):
        if %r:
            yield {"alive": alive()}
        yield from response.follow_all(css="a")
    def closed(self, reason):
        self.crawler.stats.set_value("alive", alive())
"""


@pytest.mark.parametrize(("first_pages", "yields"), [(1, True), (10, True), (1, False)])
def test_pages_and_responses_of_a_crawl_do_not_wait_for_the_garbage_collection(tmp_path, first_pages, yields):
    names = ("home", *(f"{a}{b}" for a in "abcdef" for b in "abcdef"))
    with SiteServer(routes=menu_site(*names)) as server:
        found = run_spider(tmp_path, KEEPING % (first_pages, yields), base=server.url(""))
    assert found.stats["response_received_count"] == len(names)
    assert found.stats["alive"] < len(names) / 3  # more of them if threads are slow
    assert [line for line in found.lines if line["alive"] > 25] == []


class TestPageFingerprinter:
    def test_remembers_a_request_as_long_as_it_exists(self):
        fingerprinter = PageFingerprinter()
        request = Request("http://example.com/a/index.html")
        first = fingerprinter.fingerprint(request)
        assert fingerprinter.fingerprint(request) is first
        assert fingerprinter.fingerprint(Request("http://example.com/a/")) == first
        gone = weakref.ref(request)
        del request
        assert gone() is None

    def test_a_redirect_is_another_request(self):
        fingerprinter = PageFingerprinter()
        request = Request("http://example.com/a")
        before = fingerprinter.fingerprint(request)
        request.meta["redirect_urls"] = ["http://example.com/a/index.html", "http://example.com/a"]
        assert fingerprinter.fingerprint(request) != before


class TestResponseStore:
    def response(self, url):
        return HtmlResponse(url, body=b"text")

    def test_knows_what_it_has_without_looking_into_the_folder(self, tmp_path, monkeypatch):
        store = ResponseStore(tmp_path)
        store.put("one", self.response("http://a/"))
        store.put("two", self.response("http://b/"))
        assert store.take("one") is not None
        monkeypatch.setattr(os, "stat", pytest.fail)
        assert [store.has(token) for token in ("one", "two", "three")] == [False, True, False]
        assert [store.lasts(token) for token in ("one", "two", "three")] == [False, True, False]

    def test_knows_the_responses_of_an_earlier_run(self, tmp_path):
        ResponseStore(tmp_path).put("one", self.response("http://a/"))
        (tmp_path / "two.new").write_bytes(b"half a respon")
        store = ResponseStore(tmp_path)
        assert (store.has("one"), store.has("two"), store.has("two.new")) == (True, False, False)

    def test_a_response_is_read_as_it_was_written(self, tmp_path):
        meta = {"download_latency": 0.5, "download_slot": "a", "other": 1}
        one = RenderedResponse(
            "http://a/ü",
            status=203,
            headers={"Set-Cookie": [b"a=\xff", b"b=2"], "Content-Type": b"text/html"},
            body=b"line\nline",
            flags=["cached"],
            ip_address=ip_address("::1"),
            protocol="HTTP/1.1",
            frames=[Frame(-1, 0, '{"\ud800": "ü"}'), Frame(0, 1, "")],
            request=Request("http://a/", meta=meta),
        )
        for response in (
            one,
            Response("http://a/", headers={"Content-Type": "image/png"}, body=b"\x01"),
            HtmlResponse("http://a/x.html", body=b""),
        ):
            ResponseStore(tmp_path).put("one", response)
            again = ResponseStore(tmp_path, pytest.fail).take("one")
            assert type(again) is type(response)
            names = [name for name in response.attributes if name not in ("request", "certificate")]
            assert [getattr(again, name) for name in names] == [getattr(response, name) for name in names]
        ResponseStore(tmp_path).put("one", one)
        again = ResponseStore(tmp_path).take("one")
        assert again is not None
        assert again.meta == {"download_latency": 0.5, "download_slot": "a"}

    def test_what_does_not_fit_on_the_disk_is_there_but_does_not_last(self, tmp_path):
        said: list[str] = []
        store = ResponseStore(tmp_path / "file" / "folder", said.append)
        (tmp_path / "file").write_text("in the way")
        store.put("one", self.response("http://a/"))
        assert (store.has("one"), store.lasts("one"), len(said)) == (True, False, 1)
        assert store.take("one") is not None
        assert not store.has("one")


def test_the_kinds_of_all_characters_are_those_of_the_expression_of_words():
    wanted = [len(WORD.findall(chr(code) * 2)) for code in range(0x10000)]
    assert _kinds()[:0x10000].tolist() == wanted
    assert _kinds()[0x10000:].tolist() == [chr(code).isalnum() for code in range(0x10000, sys.maxunicode + 1)]
