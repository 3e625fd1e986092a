"""Where functions run: short ones in the reactor's thread, others in the thread that computes."""

import asyncio
import threading
from time import thread_time

import pytest

from scrapy_pagelets.session import threads
from scrapy_pagelets.session.threads import in_thread, in_thread_if_long, let_go, until_free
from tests.crawling import menu_site, run_spider
from tests.server import SiteServer

HERE = threading.get_ident()


@pytest.fixture(autouse=True)
def paces(monkeypatch):
    """No function has run before."""
    monkeypatch.setattr(threads, "_paces", type(threads._paces)(threads._Pace))


def thread() -> int:
    return threading.get_ident()


def busy(seconds: float) -> int:
    """Use CPU time; return the thread."""
    until = thread_time() + seconds
    while thread_time() < until:
        pass
    return threading.get_ident()


def in_turn(*calls):
    """Await one call after the other; their results."""

    async def run():
        return [await call for call in calls]

    return asyncio.run(run())


def test_a_function_is_tried_in_the_thread_before_it_runs_here():
    first, second = in_turn(in_thread_if_long(1000, thread), in_thread_if_long(1000, thread))
    assert first != HERE
    assert second == HERE


def test_a_function_that_takes_long_stays_in_the_thread():
    assert HERE not in in_turn(*(in_thread_if_long(1000, busy, 0.02) for _ in range(3)))


def test_a_function_that_has_become_fast_comes_back():
    found = in_turn(*(in_thread_if_long(1000, busy, 0.02 if n == 0 else 0.0) for n in range(40)))
    assert found[1] != HERE
    assert found[-1] == HERE


def test_a_large_page_goes_to_the_thread():
    calls = (in_thread_if_long(size, busy, size / 1e6) for size in (1000, 1000, 100_000, 1000))
    first, small, large, last = in_turn(*calls)
    assert small == last == HERE
    assert large == first != HERE


def test_a_short_function_waits_until_none_is_in_the_thread():
    async def run():
        await in_thread_if_long(1000, thread)
        gate = threading.Event()
        before = asyncio.ensure_future(in_thread(gate.wait))
        await asyncio.sleep(0)  # lets it begin
        short = [asyncio.ensure_future(in_thread_if_long(1000, thread)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(one.done() for one in short)
        gate.set()
        return [await before, *[await one for one in short]]

    assert asyncio.run(run()) == [True, HERE, HERE, HERE]


def test_a_short_function_does_not_wait_for_ever():
    async def run():
        async def line():
            for _ in range(100):
                await in_thread(int)

        await in_thread_if_long(1000, thread)
        lines = [asyncio.ensure_future(line()) for _ in range(3)]
        await asyncio.sleep(0)
        where = await in_thread_if_long(1000, thread)
        assert not any(one.done() for one in lines)
        await asyncio.gather(*lines)
        return where

    assert asyncio.run(run()) != HERE


def test_a_page_begins_after_the_functions_of_those_that_have_begun():
    done = list[str]()

    async def begin():
        await until_free()
        await in_thread(done.append, "first of another page")

    async def run():
        gate = threading.Event()
        first = asyncio.ensure_future(in_thread(gate.wait))
        await asyncio.sleep(0)  # lets it begin
        rest = [asyncio.ensure_future(begin()), asyncio.ensure_future(in_thread(done.append, "second of the page"))]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *rest)

    asyncio.run(run())
    assert done == ["second of the page", "first of another page"]


def test_an_error_reaches_the_caller_and_blocks_nothing():
    def fail():
        raise ValueError("broken page")

    for _ in range(2):
        with pytest.raises(ValueError, match="broken page"):
            asyncio.run(in_thread_if_long(1000, fail))
    assert in_turn(in_thread_if_long(1000, thread), in_thread_if_long(1000, thread))[-1] == HERE


def test_what_is_no_longer_used_is_freed_by_the_next_function_wherever_it_runs():
    asyncio.run(in_thread_if_long(1000, thread))
    let_go(object())
    asyncio.run(in_thread_if_long(1000, thread))
    assert not threads._unused


#: Follows all links, and tells what was found on the way.
FOLLOWING = """
found = []

class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base)
    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
    def closed(self, reason):
        self.crawler.stats.set_value("found", found)
"""
#: Says of each page whether its item was cleaned in the reactor's thread.
NOTING = """
import threading
from scrapy_pagelets.feed.page_record import PageRecord

cut = PageRecord.cut

def noted(self, **kwargs):
    found.append(threading.current_thread() is threading.main_thread())
    return cut(self, **kwargs)

PageRecord.cut = noted
"""


@pytest.mark.parametrize("lasting", [False, True])
def test_a_crawl_that_never_waits_for_the_disk_cleans_its_pages_in_the_thread_of_the_reactor(tmp_path, lasting):
    names = ("home", *(f"{a}{b}" for a in "abcd" for b in "abcd"))
    settings = {"CONCURRENT_REQUESTS": 1} | ({"PAGELETS_STORE": str(tmp_path / "store")} if lasting else {})
    with SiteServer(routes=menu_site(*names)) as server:
        found = run_spider(tmp_path, FOLLOWING + NOTING, base=server.url(""), settings=settings)
    assert len(found.lines) == len(names)
    assert all(line["text"] for line in found.lines)
    assert any(found.stats["found"]) != lasting


#: Counts the parsed pages that are in memory when an item is written; each function of a page counts as long.
COUNTING = """
import gc
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.session import threads

threads._SHORT = 0.0

class Counting:
    def process_item(self, item):
        found.append(sum(type(one) is Page for one in gc.get_objects()))
        return item

Spider.custom_settings = {"ITEM_PIPELINES": {Counting: 900}}
"""


def test_few_pages_are_in_memory_at_the_same_time(tmp_path):
    names = ("home", *(f"{a}{b}" for a in "abcdef" for b in "abcdef"))
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 16, "PAGELETS_FIRST_PAGES": 1, "PAGELETS_PROBE": 0}
    with SiteServer(routes=menu_site(*names)) as server:
        found = run_spider(tmp_path, FOLLOWING + COUNTING, base=server.url(""), settings=settings)
    assert len(found.lines) == len(names)
    assert max(found.stats["found"]) <= 6
