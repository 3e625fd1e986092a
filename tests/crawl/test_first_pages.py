"""Items of the first pages of a class wait until more pages of the class are known, and never for ever."""

import asyncio
from collections import Counter
from threading import Event

import pytest
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import context_of
from tests.crawling import answer, menu_site, page, pages_asked_for, run_spider
from tests.server import Reply, SiteServer, html

#: Follows all links; what a page can load ahead would be known without waiting.
FOLLOWING = """
class Spider(scrapy.Spider):
    name = "stranger"
    custom_settings = {"PAGELETS_PROBE": 0}
    async def start(self):
        yield Request(self.base + "/")
    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a"):
            yield response.follow(link)
"""
TWELVE = ("home", *"abcdefghijk")


def released(found):
    """How many items waited, and why they were released."""
    prefix = "pagelets/first_pages/"
    counts = {name.removeprefix(prefix): n for name, n in found.stats.items() if name.startswith(prefix)}
    assert counts.pop("held", 0) == sum(counts.values())
    return counts


def test_items_wait_until_enough_pages_of_their_class_are_known(tmp_path):
    with SiteServer(routes=menu_site(*TWELVE)) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    assert len(found.lines) == 12
    assert min(line["template"]["pages"] for line in found.lines) >= 10
    assert set(released(found)) <= {"enough"}  # none waits if all pages come before the first item
    assert found.stat("few_pages") == 0


def test_one_page_does_not_wait(tmp_path):
    with SiteServer(routes=menu_site("home")) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    assert [line["template"]["pages"] for line in found.lines] == [1]
    assert released(found) == {"idle": 1}
    assert found.stat("few_pages") == 1


@pytest.mark.parametrize("first_pages", [1, 10])
def test_classes_that_never_have_enough_pages(tmp_path, first_pages):
    paths = ["/", "/a", "/b", "/c", "/d"]
    routes = {path: answer(page(path[1:] or "home", paths, kind=f"kind{path[1:]}")) for path in paths}
    with SiteServer(routes=routes) as server:
        settings = {"PAGELETS_FIRST_PAGES": first_pages}
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings=settings)
    assert sorted(found.urls) == sorted(map(server.url, paths))
    assert released(found) == ({"idle": 5} if first_pages > 1 else {})
    assert found.stat("few_pages") == 5


@pytest.mark.parametrize("settings", [{"CONCURRENT_ITEMS": 1}, {"CONCURRENT_ITEMS": 1, "CONCURRENT_REQUESTS": 1}])
def test_waiting_items_do_not_hold_up_the_links_of_their_page(tmp_path, settings):
    with SiteServer(routes=menu_site(*TWELVE)) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings=settings)
    assert len(found.lines) == 12
    assert set(released(found)) == {"enough"}


def test_waiting_responses_are_limited_in_bytes(tmp_path):
    with SiteServer(routes=menu_site(*TWELVE)) as server:
        settings = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings=settings)
    assert len(found.lines) == 12
    assert set(released(found)) == {"full"}


def test_a_spider_that_is_closed_early_loses_no_item(tmp_path):
    with SiteServer(routes=menu_site(*TWELVE)) as server:
        # The links of the first page follow its item.
        settings = {"CLOSESPIDER_PAGECOUNT": 3, "CONCURRENT_REQUESTS": 1, "CONCURRENT_ITEMS": 1}
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings=settings)
    assert found.stats["finish_reason"] == "closespider_pagecount"
    assert len(found.lines) == found.stats["response_received_count"] < 12
    assert set(released(found)) == {"closing"}


def test_a_job_that_goes_on_has_each_item_once(tmp_path):
    with SiteServer(routes=menu_site(*TWELVE)) as server:
        job = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1, "CONCURRENT_ITEMS": 1}
        first = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings=job | {"CLOSESPIDER_PAGECOUNT": 3})
        both = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings=job)
    assert set(released(first)) == {"closing"}
    assert len(first.lines) < len(both.lines) == 12  # the second run appends to the feed
    assert set(Counter(both.urls).values()) == set(Counter(pages_asked_for(server.hits)).values()) == {1}


def test_many_items_of_one_page_do_not_all_wait(tmp_path):
    spider = FOLLOWING.replace(
        'yield {"url": response.url}', 'yield from ({"url": response.url, "n": n} for n in range(40))'
    )
    with SiteServer(routes=menu_site("home")) as server:
        found = run_spider(tmp_path, spider, base=server.url("")[:-1], settings={"CONCURRENT_ITEMS": 1})
    assert sorted(line["n"] for line in found.lines) == list(range(40))
    assert released(found) == {"full": 8, "idle": 32}


def test_an_item_that_the_spider_takes_along_and_changes(tmp_path):
    """It is written as it was when the spider yielded it."""
    spider = FOLLOWING.replace(
        'yield {"url": response.url}', 'self.item["url"] = response.url\n        yield self.item'
    ).replace('name = "stranger"', 'name, item = "stranger", {}')
    with SiteServer(routes=menu_site("home", "a", "b")) as server:
        found = run_spider(tmp_path, spider, base=server.url("")[:-1], settings={"CONCURRENT_ITEMS": 1})
    assert sorted(found.urls) == [server.url(""), server.url("a"), server.url("b")]
    assert released(found) == {"idle": 3}


def test_items_that_need_not_wait(tmp_path):
    spider = FOLLOWING.replace('Request(self.base + "/")', 'Request(self.base + "/", meta={"pagelets_probe": False})')
    routes = menu_site("home") | {"/": lambda path: html("<html><body><p>Some words")}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, spider, base=server.url("")[:-1])
    assert len(found.lines) == 1
    assert released(found) == {}


def test_a_spider_may_wait_for_its_items_when_it_is_idle(tmp_path):
    """A request that an item causes is made; a spider that stays open until it has its item ends."""
    spider = (
        FOLLOWING
        + """
    scraped = 0
    @classmethod
    def from_crawler(cls, crawler, **kwargs):
        spider = super().from_crawler(crawler, **kwargs)
        crawler.signals.connect(spider.item_scraped, signals.item_scraped)
        crawler.signals.connect(spider.spider_idle, signals.spider_idle)
        return spider
    def item_scraped(self, item):
        self.scraped += 1
        if self.scraped == 1:
            self.crawler.engine.crawl(Request(self.base + "/later"))
    def spider_idle(self):
        if self.scraped < 2:
            raise scrapy.exceptions.DontCloseSpider
"""
    )
    with SiteServer(routes=menu_site("home") | {"/later": answer(page("later"))}) as server:
        found = run_spider(tmp_path, spider, base=server.url("")[:-1])
    assert found.urls == [server.url(""), server.url("later")]
    assert released(found) == {"idle": 2}


def test_an_item_does_not_wait_longer_than_the_limit(tmp_path):
    """The second page comes only after the item of the first one, which therefore must not wait for it."""
    spider = (
        "from scrapy_pagelets.session import page_context\npage_context.LIMIT = 0\n"
        + FOLLOWING
        + """
    @classmethod
    def from_crawler(cls, crawler, **kwargs):
        spider = super().from_crawler(crawler, **kwargs)
        crawler.signals.connect(spider.item_scraped, signals.item_scraped)
        return spider
    def item_scraped(self, item):
        self.crawler.engine.crawl(Request(self.base + "/scraped"))
"""
    )
    scraped = Event()

    def note(path):
        scraped.set()
        return Reply(404)

    first = answer(page("home", ["/second"]))
    routes = {"/": first, "/scraped": note, "/second": lambda path: html(page("second"))._replace(delay=scraped)}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, spider, base=server.url("")[:-1])
    assert found.urls == [server.url(""), server.url("second")]
    assert released(found)["late"] >= 1


def test_an_item_tells_how_many_pages_were_known_when_its_page_was_decided():
    """Other pages may come between the pipelines of an item."""
    crawler = get_crawler()
    session = session_of(crawler)
    responses = [
        HtmlResponse(f"http://h/{name}", body=page(name, ["/a", "/b"]), encoding="utf-8") for name in ("a", "b")
    ]
    first, second = (context_of(response, session) for response in responses)
    assert first is not None
    assert second is not None
    assert first.record.cut()
    assert second.record.cut()
    assert [one.record.page_class and one.record.page_class.pages for one in (first, second)] == [1, 2]
    asyncio.run(session.spider_closed())


def test_what_a_store_knows_makes_items_independent_of_timing(tmp_path):
    """Without it, a page is cleaned by what is known when its item comes to the pipelines."""
    names = ("home", *(f"{a}{b}" for a in "abcd" for b in "abcd"))
    crawls = []
    with SiteServer(routes=menu_site(*names)) as server:
        for number, concurrent in enumerate((1, 1, 16)):
            folder = tmp_path / str(number)
            folder.mkdir()
            settings = {
                "PAGELETS_STORE": str(tmp_path / "store"),
                "PAGELETS_FIRST_PAGES": 1,
                "CONCURRENT_REQUESTS_PER_DOMAIN": concurrent,
            }
            found = run_spider(folder, FOLLOWING, base=server.url("")[:-1], settings=settings)
            kept = ("text", "pagelets", "template", "content_hash")
            crawls.append({line["url"]: [line[name] for name in kept] for line in found.lines})
    first, second, third = crawls
    assert len(first) == len(names)
    assert first != second == third
