"""Pages loaded for a template are handed over when the spider requests them, and are not fetched twice."""

from collections import Counter
from threading import Event

import pytest

from tests.crawling import answer, menu_site, not_found, page, pages_asked_for, run_spider
from tests.server import Reply, SiteServer, html, redirect

#: Follows the links of each page, like the spider of Scrapy's tutorial.
FOLLOWING = """
class Spider(scrapy.Spider):
    name = "stranger"
    handle_httpstatus_list = [404]
    async def start(self):
        yield Request(self.base + "/")
    def parse(self, response):
        yield {"url": response.url, "status": response.status, "callback": "parse", "asked": response.request.url}
        for link in response.css("a"):
            yield response.follow(link, self.parse_page, cb_kwargs={"origin": response.url}, meta={"mine": 1})
    def parse_page(self, response, origin):
        yield {"url": response.url, "status": response.status, "callback": "parse_page", "asked": response.request.url,
               "origin": origin, "mine": response.meta["mine"]}
"""


def test_callback_and_meta_are_those_of_the_spiders_request(tmp_path):
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    assert len(found.lines) == 7
    assert set(Counter(server.hits).values()) == {1}
    assert found.stat("probe/handed_over") == found.stat("probe/loaded") == 3
    assert found.stat("probe/unclaimed") == 0
    for line in found.lines:
        if line["url"] == server.url(""):  # the order of items varies
            continue
        assert line["callback"] == "parse_page"
        assert line["mine"] == 1
        assert line["origin"] == server.url("")
        assert line["asked"] == line["url"]


def test_responses_that_are_not_pages_are_handed_over_too(tmp_path):
    menu = ["/gone", "/moved", "/file", "/a", "/b"]
    routes = {path: answer(page(path[1:] or "home", menu)) for path in ["/", "/a", "/b", "/new"]} | {
        "/gone": not_found,
        "/moved": lambda path: redirect("/new"),
        "/file": answer(b"just text", Content_Type="text/plain"),
    }
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    statuses = {line["url"].removeprefix(server.url("")): line["status"] for line in found.lines}
    assert statuses == {"": 200, "gone": 404, "new": 200, "file": 200, "a": 200, "b": 200}
    assert set(Counter(server.hits).values()) == {1}
    assert found.stat("probe/handed_over") == 5
    assert found.stat("items/no_page") == 2
    assert found.errors == []


def test_a_page_is_handed_over_while_it_is_still_loading(tmp_path):
    """The spider requests the page after its probe has reached the downloader; only then does the server answer."""
    source = """
    import asyncio
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {"CONCURRENT_REQUESTS": 8}
        async def start(self):
            yield Request(self.base + "/")
            while self.crawler.stats.get_value("downloader/request_count", 0) < 2:  # the start page, the probe
                await self.crawler.signals.wait_for(signals.request_reached_downloader)
            yield Request(self.base + "/slow")
            yield Request(self.base + "/release")
        def parse(self, response):
            yield {"url": response.url}
    """
    go = Event()
    menu = ["/slow", "/", "/a", "/b", "/c"]
    routes = {path: answer(page(path[1:] or "home", menu)) for path in menu[1:]}
    slow = Reply(*html(page("slow", menu))[:3], go)

    def release(path):
        go.set()
        return Reply(200, {"Content-Type": "text/plain"}, b"thanks")

    routes |= {"/slow": lambda path: slow, "/release": release}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1], settings={"PAGELETS_PROBE": 2})
    assert Counter(server.hits)["/slow"] == 1
    assert sorted(found.urls) == sorted(map(server.url, ("", "slow", "release")))
    assert found.stat("probe/handed_over") == 1


def test_a_page_is_not_handed_over_to_another_identity(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/", meta={"cookiejar": "one"})
        def parse(self, response):
            for visitor in ("one", "two"):
                yield Request(self.base + "/a", self.parse_page, meta={"cookiejar": visitor}, dont_filter=True)
        def parse_page(self, response):
            yield {"url": response.url, "visitor": response.meta["cookiejar"]}
    """
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert sorted(line["visitor"] for line in found.lines) == ["one", "two"]
    assert Counter(server.hits)["/a"] == 2
    assert found.stat("probe/handed_over") == 1


def test_a_page_that_is_requested_again_is_fetched_again(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/")
        def parse(self, response):
            yield Request(self.base + "/a", self.parse_page, dont_filter=True)
        def parse_page(self, response):
            yield {"url": response.url}
            if not response.meta.get("again"):
                yield Request(self.base + "/a", self.parse_page, dont_filter=True, meta={"again": 1})
    """
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert len(found.lines) == 2
    assert Counter(server.hits)["/a"] == 2


def test_probed_pages_survive_an_interruption(tmp_path):
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        base = server.url("")[:-1]
        first = run_spider(tmp_path, FOLLOWING, base=base, settings=settings | {"CLOSESPIDER_PAGECOUNT": 2})
        assert first.stats["finish_reason"] == "closespider_pagecount"
        second = run_spider(tmp_path, FOLLOWING, base=base, settings=settings)
    assert len(second.lines) == 7
    assert set(Counter(server.hits).values()) == {1}
    assert first.stat("probe/handed_over") + second.stat("probe/handed_over") == 3
    assert second.stat("templates/probed") == 0
    assert all("slogan" not in line["text"] for line in second.lines)


@pytest.mark.parametrize("broken", ["pagelets-sites-*.sqlite", "pagelets-responses"])
def test_a_damaged_job_directory_causes_a_warning(tmp_path, broken):
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        base = server.url("")[:-1]
        run_spider(tmp_path, FOLLOWING, base=base, settings=settings | {"CLOSESPIDER_PAGECOUNT": 2})
        [damaged] = (tmp_path / "job").glob(broken)
        for file in damaged.iterdir() if damaged.is_dir() else [damaged]:
            file.write_bytes(file.read_bytes()[:20])
        found = run_spider(tmp_path, FOLLOWING, base=base, settings=settings)
    assert len(found.lines) == 7
    assert found.warnings
    assert all("cannot be read" in warning for warning in found.warnings)
    assert found.errors == []


def test_without_the_middleware_the_spider_fetches_all_pages_itself(tmp_path):
    off = {"scrapy_pagelets.middlewares.handover.HandoverMiddleware": None}
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        base = server.url("")[:-1]
        found = run_spider(tmp_path, FOLLOWING, base=base, settings={"DOWNLOADER_MIDDLEWARES": off})
    assert len(found.lines) == 7
    assert found.stat("probe/loaded") == found.stat("probe/handed_over") == 0
    assert len(pages_asked_for(server.hits)) == 7
    assert found.errors == []


@pytest.mark.parametrize("always", [False, True])
def test_nothing_is_handed_over_if_a_middleware_below_may_sign_in(tmp_path, always):
    source = """
    class SignIn:
        def process_request(self, request):
            if request.meta.get("member"):
                request.headers["Authorization"] = "Basic eDp5"
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {SignIn: 860}}
        async def start(self):
            yield Request(self.base + "/", meta={"member": self.always == "True"})
        def parse(self, response):
            for link in response.css("a"):
                yield response.follow(link, self.parse_page, meta={"member": True})
        def parse_page(self, response):
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1], always=always)
    assert len(found.lines) == 6
    assert set(Counter(server.hits).values()) == {1}
    assert all("Authorization" in headers for path, headers in server.requests if path != "/")
    assert found.stat("probe/loaded") == found.stat("probe/handed_over") == 0
    assert found.stat("templates/not_probed/middleware") == 1
    assert "SignIn may change requests: give it a priority below 845" in found.log


def test_probes_have_the_negotiation_headers_of_their_key_page(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/", headers={"Accept-Language": "fr", "Referer": "http://nowhere.invalid/"})
        def parse(self, response):
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        run_spider(tmp_path, source, base=server.url("")[:-1])
    for path in ("/a", "/b", "/c"):
        assert server.headers[path]["Accept-Language"] == "fr"
        assert "Referer" not in server.headers[path]


@pytest.mark.parametrize("status", [403, 500])
def test_temporary_errors_are_not_handed_over(tmp_path, status):
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        bad = html(page("a"), status=status)
        good = server.routes["/a"]
        answers = iter([bad])
        server.routes["/a"] = lambda path: next(answers, None) or good(path)
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1], settings={"RETRY_ENABLED": 0})
    assert Counter(server.hits)["/a"] == 2
    assert len(found.lines) == 7
    assert found.stat("probe/failed/broken") == 1
