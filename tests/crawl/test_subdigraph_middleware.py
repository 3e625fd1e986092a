"""Menu subdigraphs in real crawls: which pages are loaded for a template, and which responses wait for it."""

from collections import Counter
from threading import Event

from scrapy_pagelets.rendering.browser import launch_options
from scrapy_pagelets.sites.site_store import FILES, read_sites
from tests.crawling import answer, letters, menu_site, not_found, page, pages_asked_for, run_spider
from tests.server import Reply, SiteServer, html, redirect

#: Requests all the given pages at once.
SOME_PAGES = """
class Spider(scrapy.Spider):
    name = "stranger"
    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = start.split()
    def parse(self, response):
        yield {"url": response.url}
"""


def test_a_spider_that_never_requests_the_probed_pages_gets_clean_items(tmp_path):
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        found = run_spider(tmp_path, SOME_PAGES, start=server.url(""))
    assert found.urls == [server.url("")]
    assert found.stat("probe/loaded") == found.stat("probe/unclaimed") == 3
    assert found.stat("templates/subdigraph/4") == 1
    assert len(server.hits) == 4  # Scrapy's defaults do not obey robots.txt
    text = found.lines[0]["text"]
    assert text.startswith("Heading home")
    assert text.endswith("homeword59")


def test_pages_of_one_class_wait_for_one_search(tmp_path):
    names = ["home", *(f"p{n}" for n in range(12))]
    with SiteServer(routes=menu_site(*names)) as server:
        start = " ".join(server.url(path) for path in server.routes)
        settings = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
        found = run_spider(tmp_path, SOME_PAGES, start=start, settings=settings)
    assert len(found.lines) == len(names)
    assert set(Counter(server.hits).values()) == {1}
    assert found.stat("templates/probed") == 1
    assert found.stat("probe/loaded") <= 3
    assert all("slogan" not in line["text"] for line in found.lines)


def test_a_page_of_another_class_passes_while_one_waits(tmp_path):
    """The server answers the probe of the first class only after the page of the other class is scraped."""
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/")
            yield Request(self.base + "/other", self.parse_other)
        def parse(self, response):
            yield {"url": response.url}
        def parse_other(self, response):
            yield {"url": response.url}
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.scraped, signals.item_scraped)
            return spider
        def scraped(self, response):
            if response.url.endswith("/other"):
                self.crawler.engine.crawl(Request(self.base + "/release", self.parse_other))
    """
    go = Event()
    routes = menu_site("home", *"abcd")
    slow = Reply(*html(page("a", ["/", "/a", "/b", "/c", "/d"]))[:3], go)

    def release(path):
        go.set()
        return html(page("release", kind="other"))

    other = page("other", kind="other", more="<table><tr><td>x</td></tr></table>" * 3)
    routes |= {path: lambda path: slow for path in ("/a", "/b", "/c", "/d")}
    routes |= {"/other": answer(other), "/release": release}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1], settings={"PAGELETS_FIRST_PAGES": 1})
    assert found.urls.index(server.url("other")) < found.urls.index(server.url(""))
    assert len(found.lines) == 3
    assert found.stat("templates/subdigraph/4") == 1


def test_every_class_of_pages_gets_its_own_subdigraph(tmp_path):
    def group(kind, names):
        return {f"/{n}": answer(page(n, [f"/{m}" for m in names], kind=kind)) for n in names}

    blog, shop = [f"blog{n}" for n in range(6)], [f"shop{n}" for n in range(6)]
    routes = group("blog", blog) | group("shop", shop)
    with SiteServer(routes=routes) as server:
        start = " ".join(map(server.url, [*blog, *shop]))
        found = run_spider(tmp_path, SOME_PAGES, start=start, settings={"PAGELETS_DETECTION": "etdm"})
    assert len(found.lines) == 12
    assert set(Counter(server.hits).values()) == {1}
    assert found.stat("templates/probed") == found.stat("templates") == 2
    assert found.stat("templates/subdigraph/4") == 2
    ids = {line["url"].removeprefix(server.url(""))[:4]: line["template"]["id"] for line in found.lines}
    assert len(set(ids.values())) == 2
    # Two sets of four beside their key page, most of whose pages the spider has requested itself.
    assert found.stat("templates/linked_pages") == 10
    for line in found.lines:
        assert "slogan" not in line["text"]
        assert line["template"]["share"] > 0.1


def test_a_set_has_pages_that_were_crawled_in_an_earlier_run(tmp_path):
    """The menu of a page of a new class leads to pages that another run has crawled."""
    rows = "".join(f"<section class=row{letters(str(n))}><p>Row {n}</p></section>" for n in range(40))
    names = ["home", *"abcde"]
    settings = {"PAGELETS_DETECTION": "etdm", "JOBDIR": str(tmp_path / "job")}
    with SiteServer(routes=menu_site(*names)) as server:
        server.routes["/other"] = answer(page("other", ["/", *(f"/{name}" for name in names[1:])], more=rows))
        start = " ".join(map(server.url, ("", *names[1:])))
        first = run_spider(tmp_path, SOME_PAGES, start=start, settings=settings)
        second = run_spider(tmp_path, SOME_PAGES, start=server.url("other"), settings=settings)
        assert set(Counter(server.hits).values()) == {1}
    assert first.stat("templates/subdigraph/4") == second.stat("templates/subdigraph/4") == 1
    assert second.stat("probe/loaded") == 0
    line = second.lines[-1]
    assert line["url"] == server.url("other")
    assert "slogan" not in line["text"]
    [store] = (tmp_path / "job").glob(FILES)
    [(_, site)] = read_sites(store)
    home, other = (one.subdigraph_template for one in site.classes)
    assert home is not None
    assert other is not None
    assert len(home.members) == len(other.members) == 4
    assert f"(loaded: 0): {' '.join([other.source.url, *other.members])}" in second.log


def test_scrapy_playwrights_pages_are_the_same_with_the_search_as_without(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/", meta={"playwright": True})
        def parse(self, response):
            yield {"url": response.url, "drawn": response.css(".drawn::text").get()}
            for link in response.css("a"):
                yield response.follow(link, meta={"playwright": True, "mine": 1})
    """
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    # Our own switches would leave this browser without a network.
    launch = launch_options() | {"args": ["--no-first-run", "--disable-background-networking"]}
    settings = {"DOWNLOAD_HANDLERS": {"http": handler}, "PLAYWRIGHT_LAUNCH_OPTIONS": launch}
    script = "<script>document.write('<p class=drawn>drawn for ' + location.pathname + '</p>')</script>"
    items = []
    with SiteServer(routes=menu_site("home", *"abcdef", more=lambda name: script)) as server:
        for size in (4, 0):
            server.hits.clear()
            folder = tmp_path / str(size)
            folder.mkdir()
            found = run_spider(folder, source, base=server.url("")[:-1], settings=settings | {"PAGELETS_PROBE": size})
            assert Counter(path for path in server.hits if path in server.routes) == dict.fromkeys(server.routes, 1)
            assert found.stat("probe/handed_over") == found.stat("probe/loaded") == max(0, size - 1)
            assert found.stat("templates/not_probed") == 0
            items.append(sorted((line["url"], line["drawn"], line["text"]) for line in found.lines))
    assert items[0] == items[1]
    assert len(items[0]) == 7
    assert all(drawn == "drawn for " + url.removeprefix(server.url("")[:-1]) for url, drawn, _ in items[0])


def test_a_search_that_is_not_made_is_told_of(tmp_path):
    """A handler of another package may read any meta; other handlers are known."""
    source = """
    from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
    class Handler(HTTP11DownloadHandler):
        pass
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {"DOWNLOAD_HANDLERS": {"http": Handler}}
        async def start(self):
            yield Request(self.base, meta={"mine": 1})
        def parse(self, response):
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = run_spider(tmp_path, source, base=server.url(""))
    assert pages_asked_for(server.hits) == ["/"]
    assert found.stat("templates/not_probed") == found.stat("templates/not_probed/handler") == 1
    why = "because the download handler may send pages with the meta mine differently"
    assert f"no page of the menu was loaded for a template, {why}" in found.log
    assert "there are no two pages that link each other" not in found.log


def test_links_that_fail_are_counted_and_harmful_ones_are_not_requested(tmp_path):
    bad = ["/gone", "/moved", "/loop", "/file", "/forbidden", "http://elsewhere.invalid/x", "/paper.pdf"]
    harmful = ["/logout", "/user/sign-out", "/delete/4", "/page?action=delete&id=3", "/cart/add-to-cart"]
    good = ["/", "/a", "/b", "/c"]
    more = '<a href="/wipe" data-method="delete">x</a><a href="/vote" rel="nofollow">y</a><form action="/post"></form>'
    routes = {path: answer(page(path[1:] or "home", [*bad, *harmful, *good], more=more)) for path in good} | {
        "/robots.txt": answer("User-agent: *\nDisallow: /forbidden", Content_Type="text/plain"),
        "/gone": not_found,
        "/moved": lambda path: redirect("/a"),
        "/loop": lambda path: redirect("/loop"),
        "/file": answer(b"%PDF-1.4", Content_Type="application/pdf"),
    }
    with SiteServer(routes=routes) as server:
        start = server.url("")
        settings = {"ROBOTSTXT_OBEY": 1, "PAGELETS_PROBE": 3}
        found = run_spider(tmp_path, SOME_PAGES, start=start, settings=settings)
    asked = pages_asked_for(server.hits)
    assert set(asked) <= {"/", "/gone", "/moved", "/loop", "/file", "/a", "/b", "/c"}
    assert set(Counter(asked).values()) == {1}
    assert found.stat("templates/subdigraph/3") == 1
    failed = {name: found.stat(f"probe/failed/{name}") for name in ("broken", "redirected", "not_html", "forbidden")}
    assert failed == {"broken": 1, "redirected": 1, "not_html": 1, "forbidden": 1}
    assert found.errors == []


def test_failing_links_are_counted_and_at_most_eight_are_loaded(tmp_path):
    menu = [f"/dead{n}" for n in range(40)]
    with SiteServer(routes={"/": answer(page("home", menu)), "/dead*": lambda path: (500, {}, b"")}) as server:
        found = run_spider(tmp_path, SOME_PAGES, start=server.url(""), settings={"RETRY_ENABLED": 0})
    assert len(pages_asked_for(server.hits)) == 9
    assert found.stat("probe/failed/broken") == 8
    assert found.stat("templates/subdigraph/1") == 1  # the key page alone
    assert found.lines[0]["text"]
    assert found.errors == []


def test_broken_connections_count_as_loads(tmp_path):
    menu = [f"/dead{n}" for n in range(40)]

    def cut(path):
        raise ConnectionResetError  # closes the connection without a response

    with SiteServer(routes={"/": answer(page("home", menu)), "/dead*": cut}) as server:
        found = run_spider(tmp_path, SOME_PAGES, start=server.url(""), settings={"RETRY_ENABLED": 0})
    assert len(set(server.hits)) == 9  # the transport retries a broken connection once
    assert found.stat("probe/failed/broken") == 8
    assert found.stat("probe/unclaimed") == 0
    assert len(found.lines) == 1


def test_slow_pages_are_cancelled_and_do_not_keep_the_crawl_from_finishing(tmp_path):
    """Two pages never arrive; the server holds them back until the test ends."""
    never = Event()
    impatient = """
import scrapy_pagelets.probing.prober
scrapy_pagelets.probing.prober.PATIENCE = 0.05
"""
    menu = ["/slow1", "/slow2", "/", "/a", "/b", "/c"]
    routes = {path: answer(page(path[1:] or "home", menu)) for path in menu[2:]}
    slow = Reply(*html(page("slow"))[:3], never)
    routes |= {"/slow1": lambda path: slow, "/slow2": lambda path: slow}
    with SiteServer(routes=routes) as server:
        settings = {"PAGELETS_PROBE": 3, "DOWNLOAD_TIMEOUT": 1000}
        found = run_spider(tmp_path, impatient + SOME_PAGES, start=server.url(""), settings=settings)
    assert found.stat("probe/failed/slow") >= 2
    assert found.stats["finish_reason"] == "finished"
    assert found.urls == [server.url("")]
    assert found.errors == []


def test_robots_txt_that_forbids_all_but_the_start_forbids_the_probes(tmp_path):
    routes = menu_site("home", *"abcdef")
    routes["/robots.txt"] = answer("User-agent: *\nAllow: /$\nDisallow: /", Content_Type="text/plain")
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, SOME_PAGES, start=server.url(""), settings={"ROBOTSTXT_OBEY": 1})
    assert server.hits == ["/robots.txt", "/"]
    assert found.stat("probe/failed/forbidden") == 6
    assert found.stat("probe/loaded") == 0
    assert len(found.lines) == 1


def test_pending_redirects_of_the_spider_do_not_delay_a_search(tmp_path):
    """Both are candidates of the key page and pending during the search; both redirect."""
    menu = ["/old", "/refresh", "/", "/a", "/b", "/c"]
    refresh = '<html><head><meta http-equiv="refresh" content="0; url=/b"></head></html>'
    routes = {path: answer(page(path[1:] or "home", menu)) for path in menu[2:]}
    routes |= {"/old": lambda path: redirect("/a"), "/refresh": answer(refresh)}
    patient = """
import scrapy_pagelets.probing.prober
scrapy_pagelets.probing.prober.PATIENCE = 1000.0
"""
    with SiteServer(routes=routes) as server:
        start = " ".join(map(server.url, ("old", "refresh", "")))
        found = run_spider(tmp_path, patient + SOME_PAGES, start=start, settings={"PAGELETS_PROBE": 3})
    assert sorted(found.urls) == sorted(map(server.url, ("", "a", "b")))
    assert found.stat("templates/subdigraph/3") == 1
    assert found.errors == []


def test_a_page_can_be_excluded(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base, meta={"pagelets_probe": False})
        def parse(self, response):
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = run_spider(tmp_path, source, base=server.url(""))
    assert pages_asked_for(server.hits) == ["/"]
    assert found.stat("templates/probed") == 0


def test_subdigraphs_are_disabled_on_other_reactors(tmp_path):
    settings = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        start = " ".join(map(server.url, ("", "a", "b", "c")))
        found = run_spider(tmp_path, SOME_PAGES, start=start, settings=settings)
    assert len(found.lines) == 4
    assert found.stat("probe/loaded") == 0
    assert found.stat("pages/cleaned") == 4
    assert "menu subdigraphs need the asyncio reactor" in found.log
