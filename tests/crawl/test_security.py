"""Pages must not reach files or internal services, trigger actions, or be handed over in place of other pages."""

import gzip
import json
import os
import signal
import tracemalloc
from collections import Counter
from textwrap import dedent
from threading import Event

import pytest
from scrapy.http import Response

from scrapy_pagelets.crawler.spiders.start_pages import sitemaps_of
from scrapy_pagelets.page.page import Page
from tests.crawling import answer, crawl, menu_site, options, page, pages_asked_for, run_spider, scrapy, start
from tests.server import Reply, SiteServer, html, redirect

SECRET = "the text of a local file that nobody may read"
#: Follows every link of the first page without any checks.
FOLLOWING = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base + "/")
    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            if link.startswith("/"):
                yield response.follow(link, self.parse_page)
    def parse_page(self, response):
        yield {"url": response.url}
"""
#: Requests a single page: all other requests are ours.
ONE_PAGE = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base + "/")
    def parse(self, response):
        yield {"url": response.url}
"""


@pytest.fixture
def secret(tmp_path):
    """A local file that looks like a page with the template."""
    menu = [f"/{name}" for name in "abcd"]
    path = tmp_path / "secret.html"
    path.write_text(page("secret", menu).replace("<h1>", f"<h1>{SECRET} "), encoding="utf-8")
    return path


def ways_to(url):
    """Every kind of HTML element that can link to a URL."""
    return f"""<a href="{url}">x</a><area href="{url}"><iframe src="{url}"></iframe><form action="{url}"></form>
    <link rel="canonical" href="{url}"><link rel="next" href="{url}"><embed src="{url}">"""


def leading_site(urls, bases=("",)):
    """A menu of pages that link to all URLs in every way, one page for each base."""
    menu = ["/", *(f"/p{letter}" for letter, _ in zip("abcdefghijkl", [*bases, *bases, *bases], strict=False))]
    routes = {}
    for path, base in zip(menu, [*bases] * 4, strict=False):
        head = f'<base href="{base}">' if base else ""
        text = page(path, menu, more="".join(map(ways_to, urls)))
        routes[path] = answer(text.replace("<title>", f"{head}<title>"))
    return routes


def crawled(tmp_path, spider, server, **arguments):
    """Crawl a site with our spider, or with one that requests a single page, so that all other requests are ours."""
    if spider == "site":
        return crawl(tmp_path, "site", url=server.url(""), settings={"RETRY_ENABLED": 0}, **arguments)
    return run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1], settings={"RETRY_ENABLED": 0})


FILES = [
    "file://{host}{secret}", "FILE://{host}{secret}", "file://{secret}", "file:{secret}", "file://localhost{secret}",
    "\tfile://{secret}", "fi&#10;le://{host}{secret}",
]  # fmt: skip


@pytest.mark.parametrize("spider", ["site", "stranger"])
def test_no_page_leads_to_a_local_file(tmp_path, secret, spider):
    with SiteServer() as server:
        urls = [url.format(host=f"{server.host}:{server.port}", secret=secret) for url in FILES]
        server.routes |= leading_site(urls)
        server.routes["/robots.txt"] = answer(f"Sitemap: {urls[0]}\nSitemap: {urls[2]}", Content_Type="text/plain")
        found = crawled(tmp_path, spider, server, **({"sitemap": 1} if spider == "site" else {}))
        paths = pages_asked_for(server.hits)
    assert set(paths) <= {*server.routes, "/sitemap.xml"}
    assert not any(SECRET in json.dumps(line) for line in found.lines)
    assert found.stats["downloader/request_method_count/GET"] == len(server.hits)  # a file would count too
    assert found.lines
    assert found.errors == []


@pytest.mark.parametrize("spider", ["site", "stranger"])
def test_no_base_leads_away_from_the_web(tmp_path, secret, spider):
    bases = ["file:///", "file://{host}/", "ftp://{host}/", "data:text/html,", r"http://{internal}\@{host}/"]
    with SiteServer() as internal, SiteServer() as server:
        places = {"host": f"{server.host}:{server.port}", "internal": f"{internal.host}:{internal.port}"}
        server.routes |= leading_site([str(secret)], [base.format(**places) for base in bases])
        found = crawled(tmp_path, spider, server)
    assert not any(SECRET in json.dumps(line) for line in found.lines)
    assert internal.hits == []
    assert found.stats["downloader/request_method_count/GET"] == len(server.hits)
    assert found.lines
    assert found.errors == []


SPELLINGS = [
    r"http://{internal}\path\@{host}/z", r"http:\\{internal}\@{host}/z", r"\\{internal}\z", r"/\{internal}/z",
    "http://{host}@{internal}/z", "http://user:{host}@{internal}/z", "http://{internal}#@{host}/z",
    "http://{internal}?@{host}/z", "ht\ntp://{internal}/z", "//{internal}/z", "http://{internal}&#9;@{host}/z",
    "http://{internal}\x7f@{host}/z", "http:{internal}/z", "http:/{internal}/z",
]  # fmt: skip


@pytest.mark.parametrize("spider", ["site", "stranger"])
def test_no_spelling_of_a_link_leads_to_another_service(tmp_path, spider):
    with SiteServer(routes={"/*": answer(page("internal"))}) as internal, SiteServer() as server:
        places = {"host": f"{server.host}:{server.port}", "internal": f"{internal.host}:{internal.port}"}
        server.routes |= leading_site([link.format(**places) for link in SPELLINGS])
        found = crawled(tmp_path, spider, server)
    assert internal.hits == []
    assert found.lines
    assert found.errors == []


KINDS = """javascript:alert(1) mailto:a@b tel:1 data:text/html,<p>x ftp://{host}/x ws://{host}/x s3://bucket/x
    view-source:http://{host}/x blob:http://{host}/x about:blank chrome://version intent://x gopher://{host}/x
    http://{host}:0/ http://127.0.0.1:0/ http://127.0.0.1:65536/ http://127.0.0.1:99999999999/x http://[::1/x http://[::1]/x
    http://[::ffff:127.0.0.1]/x http://%31%32%37.0.0.1/x http://xn--a/x http://ex%61mple.invalid/x http:///x
    http://bücher.invalid/x http://2130706433/x http://0x7f.1/x http://127.1/x""".split()


@pytest.mark.parametrize("spider", ["site", "stranger"])
def test_no_kind_of_link_causes_an_error(tmp_path, spider):
    with SiteServer() as server:
        server.routes |= leading_site([link.format(host=f"{server.host}:{server.port}") for link in KINDS])
        found = crawled(tmp_path, spider, server)
    assert set(pages_asked_for(server.hits)) <= {*server.routes, "/x"}  # http:///x resolves to /x
    assert found.lines
    assert found.errors == []


@pytest.mark.parametrize("allowed", [0, 1])
@pytest.mark.parametrize("place", ["http://127.0.0.2:{port}/", "http://localhost:{port}/", "http://127.1:{port}/"])
def test_a_start_page_redirects_to_no_private_address_unless_allowed(tmp_path, place, allowed):
    """The crawl is started on one port of 127.0.0.1, and only that port is permitted."""
    host = "127.0.0.2" if "127.0.0.2" in place else "127.0.0.1"
    with SiteServer(routes=menu_site("home", "a"), host=host) as internal, SiteServer() as server:
        server.routes["/"] = lambda path: redirect(place.format(port=internal.port))
        settings = {"PAGELETS_PRIVATE_ADDRESSES": allowed}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=0 if allowed else 1)
    assert bool(pages_asked_for(internal.hits)) == bool(allowed)
    assert len(found.lines) == (2 if allowed else 0)
    assert found.stat("links/private") == (0 if allowed else 1)
    assert allowed or any("PAGELETS_PRIVATE_ADDRESSES" in error for error in found.errors)


#: A name server that gives a public address once, and then a private one.
REBINDING = """
import socket
answers, resolved = ["93.184.216.34"], socket.gethostbyname
socket.gethostbyname = lambda name: answers.pop() if answers and name == "localhost" else resolved(name)
"""


@pytest.mark.parametrize("dns_cache", [0, 1])
def test_a_name_that_was_public_leads_to_no_private_address(tmp_path, dns_cache):
    source = f"""{REBINDING}
from scrapy_pagelets.crawler.spiders.site_spider import SiteSpider
class Spider(SiteSpider):
    name = "stranger"
"""
    with SiteServer(routes=menu_site("home", "a")) as internal, SiteServer() as server:
        server.routes["/"] = lambda path: redirect(f"http://localhost:{internal.port}/")
        settings = {"DNSCACHE_ENABLED": dns_cache, "RETRY_ENABLED": 0, "DOWNLOAD_TIMEOUT": 2}
        found = run_spider(tmp_path, source, url=server.url(""), settings=settings, code=1)
        assert server.hits
    assert internal.hits == []
    assert found.lines == []


def test_a_sitemap_may_not_be_at_a_private_address(tmp_path):
    with SiteServer(host="127.0.0.2") as internal, SiteServer(routes=menu_site("home", "a")) as server:
        server.routes["/robots.txt"] = answer(f"Sitemap: {internal.url('map.xml')}", Content_Type="text/plain")
        found = crawl(tmp_path, "site", url=server.url(""), sitemap=1)
    assert internal.hits == []
    assert len(found.lines) == 2
    assert found.stat("links/private") == 1


# Responses are handed over only to requests of the same identity


LOGIN = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base + "/login")
    def parse(self, response):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        yield Request(response.url, self.parse_page, method="POST", body="user=me", headers=form)
    def parse_page(self, response):
        yield {"url": response.url, "member": response.css(".member::text").get()}
        yield from response.follow_all(css="li a", callback=self.parse_page)
"""


def members_site(server, *, logout="/abmelden"):
    """A site with a login; its pages name the current user, and the menu has a logout link."""
    menu = ["/", "/a", "/b", "/c", "/d", logout]
    sessions = set()

    def shown(path):
        member = server.headers[path].get("Cookie", "") in sessions
        greeting = f'<p class="member">{"yes" if member else "no"}</p>'
        return html(page(path, menu, more=greeting))

    def log_in(path):
        if "Content-Length" not in server.headers[path]:
            return html(page("login", menu, more='<form method="post" action="/login"><input name="user"></form>'))
        sessions.add("session=1")
        return Reply(302, {"Location": "/", "Set-Cookie": "session=1"})

    def log_out(path):
        sessions.clear()
        return html(page("goodbye", menu))

    return dict.fromkeys(menu[:-1], shown) | {"/login": log_in, logout: log_out}


@pytest.mark.parametrize("logout", ["/abmelden", "/quit"])
def test_a_spider_that_logs_in_sees_what_members_see(tmp_path, logout):
    """The spider follows the menu itself, the logout link last."""
    with SiteServer() as server:
        server.routes |= members_site(server, logout=logout)
        source = LOGIN.replace('css="li a"', f"css='li a:not([href=\"{logout}\"])'")
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert {line["url"]: line["member"] for line in found.lines} == {server.url(p): "yes" for p in ("", *"abcd")}
    assert logout not in server.hits
    without = [(path, headers) for path, headers in server.requests if "Cookie" not in headers]
    assert {path for path, _ in without} <= {"/login", "/", "/a", "/b", "/c", "/d"}
    assert found.errors == []


#: Requests for a page that a probe has loaded, with various identities.
OTHERWISE = """
[dict(cookies={"currency": "USD"}, meta={"cookiejar": 1}), dict(headers={"Cookie": "currency=USD"}),
 dict(headers={"Authorization": "Basic eDp5"}),
 dict(headers={"Accept-Language": "fr"}), dict(headers={"X-Requested-With": "XMLHttpRequest"}),
 dict(headers={"X-Api-Key": "1"}), dict(headers={"User-Agent": "somebody else"}), dict(headers={"If-None-Match": "x"}),
 dict(headers={"Range": "bytes=0-10"}), dict(meta={"proxy": self.proxy}), dict(meta={"bindaddress": "127.0.0.1"}),
 dict(method="POST", body="x"), dict(method="HEAD")]
"""


def test_a_request_with_another_identity_is_fetched(tmp_path):
    """Only the last request has the identity of the probe, and gets its response."""
    source = f"""
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {{"CONCURRENT_REQUESTS": 1}}
        async def start(self):
            yield Request(self.base + "/")
        def parse(self, response):
            others = {" ".join(OTHERWISE.split())}
            for number, other in enumerate([*others, dict()]):
                meta = {{**other.pop("meta", {{}}), "number": number}}
                yield Request(self.base + "/a", self.parse_page, dont_filter=True, priority=-number, meta=meta, **other)
        def parse_page(self, response):
            yield {{"number": response.meta["number"]}}
    """
    with SiteServer() as proxy, SiteServer(routes=menu_site("home", *"abcd")) as server:
        proxy.routes["*"] = lambda path: html(page("through the proxy"))
        found = run_spider(tmp_path, source, base=server.url("")[:-1], proxy=proxy.url(""))
    assert len(found.lines) == 14
    assert found.stat("probe/loaded") == 3
    assert found.stat("probe/handed_over") == 1
    assert Counter(server.hits)["/a"] == 13  # by the probe, and by all but the last one and the one through the proxy
    assert len(pages_asked_for(proxy.hits)) == 1
    assert found.errors == []


def test_probes_send_no_session_and_none_is_sent_for_a_session(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        def parse(self, response):
            yield {"url": response.url}
        async def start(self):
            for name, value in (("Cookie", "a=b"), ("Authorization", "Basic eDp5")):
                yield Request(self.base + "/" + name, headers={name: value}, meta={"dont_merge_cookies": True})
    """
    with SiteServer() as server:
        server.routes["*"] = lambda path: html(page(path, [f"/{name}" for name in "abcd"], kind=path.strip("/")))
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert sorted(server.hits) == ["/Authorization", "/Cookie"]
    assert found.stat("templates/not_probed") == 2
    assert found.stat("probe/loaded") == 0
    assert len(found.lines) == 2


def test_on_a_site_that_sets_cookies_nothing_is_loaded_twice(tmp_path):
    routes = menu_site("home", *"abcdef")
    routes["/"] = lambda path: html(page("home", [f"/{n}" for n in "abcdef"]), Set_Cookie="visitor=1")
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    assert set(Counter(server.hits).values()) == {1}
    assert all("visitor=1" in headers["Cookie"] for path, headers in server.requests if path != "/")
    assert found.stat("templates/not_probed") == 1
    assert len(found.lines) == 7


def test_probes_do_not_change_the_cookies_of_the_spider(tmp_path):
    """Each page of the menu sets a cookie; the spider requests none of them."""
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/")
        def parse(self, response):
            yield {"url": response.url}
            yield Request(self.base + "/last", self.parse_last)
        def parse_last(self, response):
            yield {"url": response.url}
    """
    menu = [f"/{name}" for name in "abcd"]
    routes = {path: answer(page(path, menu), Set_Cookie=f"seen={path[1:]}") for path in menu}
    routes |= {"/": answer(page("home", menu)), "/last": answer(page("last", menu))}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert found.stat("probe/loaded") == 4
    assert "Cookie" not in server.headers["/last"]


# Actions


ACTIONS = """
/logout /user/sign-out /abmelden /deconnexion /d%C3%A9connexion /cerrar-sesion /sair /esci /uitloggen /wyloguj
/odhlasit /cart/clear /cart/add/5 /cancel-order /buy /buy-now /shutdown /restart /%64elete/1 /%2564elete/1
/delete/4 /items/4/remove /wipe /reset /confirm/77 /unsubscribe /abbestellen /vote/up/3 /like/3 /follow/me
/publish/9 /approve/2 /warenkorb /in-den-warenkorb /kaufen /bestellen /acheter /comprar /acquista /koop/kopen
/loeschen /l%C3%B6schen /supprimer /borrar /eliminar/3 /cancella /usun /%E9%80%80%E5%87%BA /%E5%88%A0%E9%99%A4/3
/%E8%B4%AD%E4%B9%B0 /%D0%B2%D1%8B%D0%B9%D1%82%D0%B8 /%D1%83%D0%B4%D0%B0%D0%BB%D0%B8%D1%82%D1%8C
/%E3%83%AD%E3%82%B0%E3%82%A2%E3%82%A6%E3%83%88 /%EB%A1%9C%EA%B7%B8%EC%95%84%EC%9B%83 /doLogout /deletePost
/Special:UserLogout /index.php?action=delete&id=3 /?do=logout /page?id=4 /admin?cmd=reboot
/api/v1/orders/4/cancel /settings/disable /users/3/ban /checkout /pay /donate /transfer /revoke/4 /run/job
/execute /trigger/build /stop /kill/3 /enable /toggle/3 /install /upgrade /import /set/lang/de /mark/read
/clear-cache /empty-trash /purge /flush /rollback /revert/4 /merge/7 /close?id=3
""".split()


def test_probes_do_not_follow_links_to_actions(tmp_path):
    menu = [*ACTIONS, "/", "/about", "/team", "/news.html"]
    with SiteServer() as server:
        server.routes["*"] = lambda path: html(page(path, menu))
        found = run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1])
    assert sorted(server.hits) == ["/", "/about", "/news.html", "/team"]
    assert len(found.lines) == 1


#: No list has these words. A form, a script, or an attribute that a script reads leads to the first ones as well.
COMMANDS = {
    "/quit": '<form action="/quit" method="post"><button>x</button></form>',
    "/wave": '<form><button formaction="wave">x</button></form>',
    "/ring": "<button onclick=\"fetch('/ring')\">x</button>",
    "/dim": "<script>let r = new XMLHttpRequest(); r.open('POST', '/dim')</script>",
    "/brew": '<button data-url="/brew">x</button><button hx-get="http://[broken">x</button>',
    "/door/open": "",  # alone in its folder
}


def test_probes_do_not_follow_links_to_commands(tmp_path):
    menu = [*COMMANDS, "/", "/about", "/team", "/news.html", "/press/", "/jobs/", "/faq/", "/map/", "/shop/", "/blog/"]
    data = '<script>window.state = {pages: ["/about", "/team"], now: "/team"}</script>'
    with SiteServer() as server:
        server.routes["*"] = lambda path: html(page(path, menu, more="".join(COMMANDS.values()) + data))
        found = run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1], settings={"PAGELETS_PROBE": 20})
    assert found.stat("probe/loaded") == 8
    assert set(server.hits).isdisjoint(COMMANDS)
    assert not set(server.hits).isdisjoint({"/about", "/team"})
    assert len(found.lines) == 1


LABELS = ["Log out", "Abmelden", "Déconnexion", "Выйти", "退出", "ログアウト", "Delete account", "Kaufen"]


def test_the_label_of_a_link_reveals_an_action(tmp_path):
    links = {f"/{kind}{number}": label for number, label in enumerate(LABELS) for kind in ("text", "title")}
    written = [
        f'<a href="{url}">{label}</a>' if "text" in url else f'<a href="{url}" title="{label}">x</a>'
        for url, label in links.items()
    ]
    menu = page("home", ["/a"]).replace("<ul", f"{''.join(written)}<ul")
    with SiteServer() as server:
        server.routes["*"] = lambda path: html(menu)
        run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1])
    assert [links[url] for url in server.hits if url in links] == []
    assert server.hits == ["/", "/a"]


# Time limits


def patient(limit):
    """Code that sets the time limits of a search, in seconds."""
    return f"""
import scrapy_pagelets.probing.prober
scrapy_pagelets.probing.prober.PATIENCE = scrapy_pagelets.probing.prober.LIMIT = {limit}
"""


def hanging_site():
    """A home page whose menu links to pages that never arrive."""
    never = Reply(*html(page("slow"))[:3], Event())
    menu = [f"/slow{name}" for name in "abcdefgh"]
    return {"/": answer(page("home", menu)), "/slow*": lambda path: never}


def test_a_whole_search_has_one_time_limit(tmp_path):
    source = patient(1000) + "scrapy_pagelets.probing.prober.LIMIT = 2\n" + ONE_PAGE
    with SiteServer(routes=hanging_site()) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1], settings={"DOWNLOAD_TIMEOUT": 1000})
    assert len(pages_asked_for(server.hits)) == 2
    assert found.urls == [server.url("")]
    assert found.stats["finish_reason"] == "finished"


def test_a_search_does_not_keep_a_spider_from_closing(tmp_path):
    closing = """
    @classmethod
    def from_crawler(cls, crawler, **arguments):
        spider = super().from_crawler(crawler, **arguments)
        crawler.signals.connect(spider.close_when_searching, scrapy.signals.request_reached_downloader)
        return spider
    def close_when_searching(self, request):
        if "/slow" in request.url:
            self.closing = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="enough"))
"""
    with SiteServer(routes=hanging_site()) as server:
        source, settings = "import asyncio\n" + patient(1000) + ONE_PAGE + closing, {"DOWNLOAD_TIMEOUT": 1000}
        found = run_spider(tmp_path, source, base=server.url("")[:-1], settings=settings)
    assert found.stats["finish_reason"] == "enough"
    assert found.urls == [server.url("")]
    assert found.errors == []


def test_a_search_does_not_keep_a_user_from_stopping_a_crawl(tmp_path):
    spider, feed = tmp_path / "stranger.py", tmp_path / "feed.jsonl"
    spider.write_text("import scrapy\nfrom scrapy import Request\n" + patient(1000) + ONE_PAGE, encoding="utf-8")
    asked = Event()
    with SiteServer(routes=hanging_site()) as server:
        slow = server.routes["/slow*"]

        def told(path):
            asked.set()
            return slow(path)

        server.routes["/slow*"] = told
        given = options(
            {"ADDONS": {"scrapy_pagelets.Addon": 500}, "DOWNLOAD_TIMEOUT": 1000}, {"base": server.url("")[:-1]}
        )
        process = start("runspider", str(spider), "-o", str(feed), *given, cwd=tmp_path)
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
    assert "'finish_reason': 'shutdown'" in log
    assert [json.loads(line)["url"] for line in feed.read_text().splitlines()] == [server.url("")]


# Statistics of the engine, and attributes of responses


FIFO = "scrapy.squeues.FifoMemoryQueue"


def test_probes_are_not_counted_as_responses_of_the_spider(tmp_path):
    with SiteServer(routes=menu_site("home", *(f"p{n}" for n in range(30)))) as server:
        base = server.url("")[:-1]
        settings = {"CLOSESPIDER_PAGECOUNT": 10, "CONCURRENT_REQUESTS": 1, "SCHEDULER_MEMORY_QUEUE": FIFO}
        found = run_spider(tmp_path, FOLLOWING, base=base, settings=settings)
    assert found.stat("probe/handed_over") > 0
    # Scrapy counts to ten, and may have sent one more request by then.
    assert len(found.lines) in {10, 11}
    assert found.stats["response_received_count"] == len(found.lines)
    assert found.stats["downloader/request_count"] == found.stats["downloader/response_count"] == len(set(server.hits))


def test_a_response_that_is_handed_over_has_the_attributes_of_a_fetched_one(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + "/")
        def parse(self, response):
            yield from response.follow_all(css="a", callback=self.parse_page)
        def parse_page(self, response):
            yield {"url": response.url, "address": str(response.ip_address), "protocol": response.protocol,
                   "latency": response.meta["download_latency"], "flags": response.flags, "slot":
                   response.meta["download_slot"], "private": [key for key in response.meta if key.startswith("_")]}
    """
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert found.stat("probe/handed_over") == 3
    assert len(found.lines) == 6
    for line in found.lines:
        assert (line["address"], line["protocol"], line["flags"]) == ("127.0.0.1", "HTTP/1.1", [])
        assert line["latency"] > 0
        assert line["private"] == []


def test_a_compressed_page_is_handed_over_as_it_would_be_fetched(tmp_path):
    menu = ["/", "/a", "/b", "/c", "/d"]
    routes = {path: answer(gzip.compress(page(path, menu).encode()), Content_Encoding="gzip") for path in menu}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    assert found.stat("probe/handed_over") == 3
    assert len(found.lines) == 5
    assert all(line["text"].startswith("Heading") for line in found.lines)


@pytest.mark.parametrize(
    "arguments", [("shell", "{url}", "-c", "response.status"), ("fetch", "{url}"), ("view", "{url}")]
)
def test_commands_for_one_page_load_one_page(tmp_path, arguments, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("BROWSER", "true")
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        scrapy(*(part.format(url=server.url("")) for part in arguments))
    assert pages_asked_for(server.hits) == ["/"]
    assert [name for name in os.listdir(folder) if name.startswith("pagelets")] == []


# Requests that another download handler sends


RENDERED = """
class Renderer:
    def process_request(self, request):
        if request.meta.get("renderer") and "/render" not in request.url:
            return request.replace(url=self.base + "/render?url=" + request.url, dont_filter=True)
    @classmethod
    def from_crawler(cls, crawler):
        renderer = cls()
        renderer.base = crawler.spider.renderer
        return renderer
class Spider(scrapy.Spider):
    name = "stranger"
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {Renderer: 600}}
    async def start(self):
        yield Request(self.base + "/", meta={"renderer": 1})
    def parse(self, response):
        yield {"url": response.url}
"""

HANDLED = """
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
class Handler(HTTP11DownloadHandler):
    async def download_request(self, request):
        self.crawler.stats.inc_value("handled/" + str(request.meta.get("include_page")))
        return await super().download_request(request)
class Spider(scrapy.Spider):
    name = "stranger"
    custom_settings = {"DOWNLOAD_HANDLERS": {"http": Handler}}
    async def start(self):
        yield Request(self.base + "/", meta={"include_page": True})
    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a", callback=self.parse_page, meta={"include_page": True})
    def parse_page(self, response):
        yield {"url": response.url}
"""


def test_probes_for_a_rendered_page_do_not_bypass_the_renderer(tmp_path):
    menu = [f"/{name}" for name in "abcd"]
    with SiteServer(routes=menu_site("home", *"abcd")) as server, SiteServer() as renderer:
        renderer.routes["/render*"] = lambda path: html(page("home", map(server.url, menu)))
        found = run_spider(tmp_path, RENDERED, base=server.url("")[:-1], renderer=renderer.url("")[:-1])
    assert server.hits == []
    assert len(renderer.hits) == 1
    assert found.stat("probe/loaded") == 0


def test_pages_that_a_custom_handler_may_route_differently_are_fetched_once(tmp_path):
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        found = run_spider(tmp_path, HANDLED, base=server.url("")[:-1])
    assert set(Counter(server.hits).values()) == {1}
    assert found.stats["handled/True"] == len(found.lines) == 5
    assert "handled/None" not in found.stats


# Redirects


@pytest.mark.parametrize("spider", ["site", "stranger"])
def test_a_template_is_learnt_from_a_menu_whose_links_redirect(tmp_path, spider):
    names = [f"x{letter}" for letter in "abcdefghi"]
    menu = ["/", *(f"/{name}" for name in names)]
    routes = {"/": answer(page("home", menu))}
    for name in names:
        routes[f"/{name}"] = lambda path: redirect(f"{path}/", 301)
        routes[f"/{name}/"] = answer(page(name, menu))
    with SiteServer(routes=routes) as server:
        if spider == "site":
            found = crawl(tmp_path, "site", url=server.url(""))
        else:
            found = run_spider(tmp_path, FOLLOWING, base=server.url("")[:-1])
    assert set(Counter(pages_asked_for(server.hits)).values()) == {1}
    assert len(found.lines) == 10
    assert found.stat("templates/subdigraph/4") == 1
    assert found.stat("probe/unclaimed") == 0
    assert all("slogan" not in line["text"] for line in found.lines)


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:{port}/x", "file:///etc/passwd", "/logout", "/x?id=1", "/paper.pdf"]
)
def test_a_redirect_is_not_followed_where_a_link_would_not_be(tmp_path, target):
    with SiteServer() as internal, SiteServer() as server:
        server.routes |= menu_site("home", "a") | {"/a": lambda path: redirect(target.format(port=internal.port))}
        found = run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1])
    assert internal.hits == []
    assert server.hits == ["/", "/a"]
    assert found.stat("probe/failed/redirected") == 1


def test_pages_that_all_redirect_to_one_are_one_page(tmp_path):
    menu = [f"/x{name}" for name in "abcdef"]
    routes = {"/": answer(page("home", menu)), "/there/": answer(page("there", menu))}
    routes |= dict.fromkeys(menu, lambda path: redirect("/there/"))
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1])
    assert Counter(server.hits)["/there/"] == 1
    assert found.stat("templates/subdigraph/1") == 1


def test_redirects_obey_robots_txt(tmp_path):
    routes = menu_site("home", "a") | {"/a": lambda path: redirect("/forbidden/"), "/forbidden/": answer(page("no"))}
    routes["/robots.txt"] = answer("User-agent: *\nDisallow: /forbidden", Content_Type="text/plain")
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, ONE_PAGE, base=server.url("")[:-1], settings={"ROBOTSTXT_OBEY": 1})
    assert pages_asked_for(server.hits) == ["/", "/a"]
    assert found.stat("probe/failed/forbidden") == 1


def test_a_sitemap_may_be_a_bomb_or_broken(tmp_path):
    def sitemap(*urls):
        return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>"

    with SiteServer() as server:
        server.routes |= menu_site("home") | {"/only": answer(page("only", ["/"]))}
        bomb = gzip.compress(b"<urlset>" + b" " * (1 << 28) + b"</urlset>")
        lines = [f"Sitemap: {url}" for url in ("/bomb.xml.gz", "/broken.xml", "http://[half", "file:///etc/passwd")]
        server.routes |= {
            "/robots.txt": answer("\n".join(lines), Content_Type="text/plain"),
            "/bomb.xml.gz": answer(bomb, Content_Type="application/gzip"),
            "/broken.xml": answer(
                sitemap("http://[half", "file:///etc/passwd", server.url("only")), Content_Type="text/xml"
            ),
        }
        found = crawl(tmp_path, "site", url=server.url(""), sitemap=1)
    assert sorted(found.urls) == [server.url(""), server.url("only")]
    assert found.stat("sitemaps/failed") == 1
    assert found.errors == []


# What a review found afterwards


def test_a_long_base_does_not_make_every_link_as_long():
    body = f"<base href='http://h/{'a' * 200_000}/'>" + "".join(f"<a href='x{n}'>link {n}</a>" for n in range(2000))
    tracemalloc.start()
    found = Page.parse(f"<html><head></head><body>{body}</body></html>".encode(), "http://h/")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.base == "http://h/"
    assert peak < 50_000_000  # 2,000 URLs of 200,000 characters would be 400 MB


def test_a_probe_is_not_followed_to_what_a_middleware_asks_for_instead(tmp_path):
    source = """
    class Consent:
        def process_response(self, request, response):
            if request.url.endswith("/b") and "agreed" not in request.meta:
                return Request(request.url.replace("/b", "/agree"), method="POST", callback=request.callback,
                               meta={"agreed": True}, dont_filter=True)
            return response
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {Consent: 547}}
        async def start(self):
            yield Request(self.base + "/")
        def parse(self, response):
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abcd") | {"/agree": answer(page("agree"))}) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert "/agree" not in server.hits
    assert found.stat("probe/failed/forbidden") == 1
    assert found.errors == []


def test_robots_txt_does_not_redirect_to_a_private_address(tmp_path):
    with SiteServer(host="127.0.0.2") as internal, SiteServer(routes=menu_site("home", "a")) as server:
        server.routes["/robots.txt"] = lambda path: redirect(internal.url("secret?delete=1"))
        found = crawl(tmp_path, "site", url=server.url(""))
    assert internal.hits == []
    assert len(found.lines) == 2
    assert found.stat("links/private") == 1


def test_lines_of_robots_txt_are_found_in_linear_time():
    robots = Response("http://h/robots.txt", body=b"\n" * 400_000 + b"Sitemap: http://h/map.xml\n")
    assert sitemaps_of(robots) == ["http://h/map.xml"]


def test_a_page_is_handed_over_under_its_own_url_only(tmp_path):
    """The fingerprinter of the project takes all pages of a list for one."""
    source = """
    class Fingerprinter:
        def fingerprint(self, request):
            return request.url.partition("?")[0].encode()
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {"REQUEST_FINGERPRINTER_CLASS": Fingerprinter}
        async def start(self):
            yield Request(self.base + "/")
        def parse(self, response):
            yield {"url": response.url}
            yield Request(self.base + "/a?page=2", self.parse_page, dont_filter=True)
        def parse_page(self, response):
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert sorted(found.urls) == [server.url(""), server.url("a?page=2")]
    assert found.stat("probe/handed_over") == 0


def test_what_was_loaded_for_a_finished_job_is_not_handed_over_in_the_next(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base + self.path)
        def parse(self, response):
            yield {"heading": response.css("h1::text").get()}
    """
    settings = {"JOBDIR": str(tmp_path / "job")}
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        base = server.url("")[:-1]
        first = run_spider(tmp_path, source, base=base, path="/", settings=settings)
        server.routes["/a"] = answer(page("new", ["/", "/b", "/c", "/d"]))
        found = run_spider(tmp_path, source, base=base, path="/a", settings=settings)
    assert first.stat("probe/unclaimed") == 3
    assert found.lines[-1]["heading"] == "Heading new"


def test_held_pages_that_cannot_be_learnt_do_not_stop_a_job(tmp_path):
    """The second run refuses pages of that size, so that they come as they are."""
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        first = crawl(tmp_path, "site", url=server.url(""), settings=settings | {"CLOSESPIDER_PAGECOUNT": 4})
        assert first.stats["finish_reason"] == "closespider_pagecount"
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings | {"PAGELETS_MAX_NODES": 5})
    assert found.stats["finish_reason"] == "finished"
    assert found.stat("pages/too_large") > 0
    assert set(map(server.url, ("", "a"))) & set(found.urls)
    assert found.errors == []


def test_pages_of_random_structure_do_not_cause_a_search_each(tmp_path):
    """Each page is of a class of its own, and links to pages that nothing else links to."""
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            for letter in "abcdefghijklmno":
                yield Request(self.base + "/" + letter)
        def parse(self, response):
            yield {"url": response.url}
    """
    with SiteServer() as server:
        server.routes["*"] = lambda path: html(page(path, [f"{path}{n}" for n in "abcdefgh"], kind=path.strip("/")))
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert len(found.lines) == 15
    assert 0 < found.stat("probe/loaded") <= 40 + 15
    assert found.stat("templates/over_budget") > 0


def test_a_fingerprinter_that_needs_meta_of_the_project_costs_only_the_template(tmp_path):
    source = """
    class Fingerprinter:
        def fingerprint(self, request):
            return (request.meta["page"] + request.url).encode()
    class Spider(scrapy.Spider):
        name = "stranger"
        custom_settings = {"REQUEST_FINGERPRINTER_CLASS": Fingerprinter}
        async def start(self):
            yield Request(self.base + "/moved", meta={"page": "1"})
        def parse(self, response):
            yield {"url": response.url}
            yield from response.follow_all(css="a", meta={"page": "2"})
    """
    with SiteServer(routes=menu_site("home", *"abcd") | {"/moved": lambda path: redirect("/")}) as server:
        found = run_spider(tmp_path, source, base=server.url("")[:-1])
    assert found.stat("probe/loaded") == 0
    assert {server.url(name) for name in ("", "a", "b", "c", "d")} == set(found.urls)
    assert found.errors == []
    [warning] = [line for line in found.warnings if "fingerprinter" in line]
    assert "no page is loaded for a template" in warning


@pytest.mark.parametrize("arguments", [("parse", "--spider", "own", "{url}"), ("check", "own")])
def test_commands_that_parse_and_check_single_pages_load_no_other(tmp_path, arguments):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = own_settings\n")
    settings = 'SPIDER_MODULES = ["own_spiders"]\nADDONS = {"scrapy_pagelets.Addon": 500}\n'
    (tmp_path / "own_settings.py").write_text(settings)
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        source = f"""
        import scrapy
        class Spider(scrapy.Spider):
            name = "own"
            def parse(self, response):
                \'\'\'
                @url {server.url("")}
                @returns items 1 1
                \'\'\'
                yield {{"url": response.url}}
        """
        (tmp_path / "own_spiders.py").write_text(dedent(source))
        done = scrapy(*(part.format(url=server.url("")) for part in arguments), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pages_asked_for(server.hits) == ["/"]
