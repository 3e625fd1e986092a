"""Crawls with the spider ``site``: every page appears once, in the feed that docs/feed.md describes."""

import gzip
import json
import signal
from collections import Counter
from importlib.resources import files
from threading import Event

import pyarrow.parquet as pq
import pytest
from lxml import etree
from w3lib.url import safe_url_string

from scrapy_pagelets.feed.feed_schema import FEED
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.report.summary import summary_of
from tests.crawling import (
    SITE,
    answer,
    crawl,
    finished,
    menu_site,
    not_found,
    options,
    page,
    pages_asked_for,
    scrapy,
    start,
    words,
)
from tests.server import Reply, SiteServer, html, redirect

PAGES = sorted("/" + str(path.relative_to(SITE)) for path in SITE.rglob("*.html"))
KEYS = [field.name for field in FEED if not field.optional]


def paths(lines, server):
    return sorted(line["url"].removeprefix(server.url("")[:-1]) for line in lines)


#: A smaller site than the bundled one.
SMALL = ["home", *"abcdefghijkl"]


def assert_complete(found, server, pages=PAGES):
    """Assert that every page is in the feed once, and that none was fetched twice."""
    assert paths(found.lines, server) == sorted(pages)
    assert set(Counter(server.hits).values()) == {1}
    assert found.stat("pages/cleaned") == len(pages)
    assert found.stat("probe/loaded") == found.stat("probe/handed_over") <= 8 * found.stat("templates/probed")
    assert found.errors == found.warnings == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with SiteServer(SITE) as server:
        found = crawl(tmp_path_factory.mktemp("whole"), "site", url=server.url("index.html"))
    return found, server


def test_all_pages_come_once(whole):
    assert_complete(*whole)


def test_lines_have_the_keys_of_the_feed(whole):
    for line in whole[0].lines:
        assert list(line) == KEYS
        assert [type(line[key]) for key in ("url", "title", "language", "fetched_at", "text")] == [str] * 5
        assert [type(line[key]) for key in ("breadcrumbs", "pagelets")] == [list] * 2
        assert set(line["template"]) == {"id", "pages", "share"}
        for pagelet in line["pagelets"]:
            assert list(pagelet) == ["id", "xpaths", "role", "templateness", "text", "words", "links"]
            assert pagelet["role"] == "content"
            assert 0 <= pagelet["templateness"] <= 1
            assert all(list(link) == ["url", "anchor"] for link in pagelet["links"])


def test_the_words_that_were_stripped_follow_from_the_share_of_template(whole):
    summary = summary_of(whole[0].lines)
    assert not summary.all_pagelets
    assert summary.stripped == whole[0].stat("words/template") > 0


def test_xpaths_find_their_nodes_on_the_body(whole):
    found, server = whole
    for line in found.lines:
        body = (SITE / line["url"].removeprefix(server.url(""))).read_bytes()
        root = Page.parse(body, line["url"]).root
        for pagelet in line["pagelets"]:
            nodes = [node for xpath in pagelet["xpaths"] for node in root.xpath(xpath)]
            assert len(nodes) == len(pagelet["xpaths"])
            texts = ["".join(n.itertext()) if isinstance(n, etree._Element) else str(n) for n in nodes]
            assert "".join(pagelet["text"].split()) == "".join("".join(texts).split())


@pytest.mark.parametrize("concurrent", [1, 8])
def test_concurrency_changes_nothing(tmp_path, whole, concurrent):
    with SiteServer(SITE) as server:
        settings = {"CONCURRENT_REQUESTS": concurrent, "CONCURRENT_REQUESTS_PER_DOMAIN": concurrent}
        found = crawl(tmp_path, "site", url=server.url("index.html"), settings=settings)
    assert_complete(found, server)
    texts = {line["title"]: line["text"] for line in found.lines}
    assert texts == {line["title"]: line["text"] for line in whole[0].lines}


def test_a_small_scraper_slot_does_not_lock_the_crawl(tmp_path):
    with SiteServer(routes=menu_site(*SMALL)) as server:
        settings = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "CONCURRENT_ITEMS": 1, "PAGELETS_FIRST_PAGES": 5}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert_complete(found, server, server.routes)


def test_a_second_crawl_is_answered_by_the_cache(tmp_path):
    settings = {"HTTPCACHE_ENABLED": 1, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    with SiteServer(routes=menu_site(*SMALL)) as server:
        first = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        assert_complete(first, server, server.routes)
        server.hits.clear()
        second = crawl(tmp_path, "site", url=server.url(""), settings=settings, feed="second.jsonl")
    assert server.hits == []
    assert paths(second.lines, server) == sorted(server.routes)
    assert sorted(map(json.dumps, second.lines)) == sorted(map(json.dumps, first.lines))  # when they were fetched, too


@pytest.mark.parametrize("settle", [4, 100])
def test_an_interrupted_job_continues(tmp_path, settle):
    settings = {"JOBDIR": str(tmp_path / "job"), "PAGELETS_FIRST_PAGES": settle, "CONCURRENT_REQUESTS": 2}
    with SiteServer(routes=menu_site(*SMALL)) as server:
        url = server.url("")
        first = crawl(tmp_path, "site", url=url, settings=settings | {"CLOSESPIDER_PAGECOUNT": 6})
        assert first.stats["finish_reason"] == "closespider_pagecount"
        assert len(first.lines) < len(SMALL)
        second = crawl(tmp_path, "site", url=url, settings=settings)  # appends to the feed
    assert second.stats["finish_reason"] == "finished"
    assert paths(second.lines, server) == sorted(server.routes)
    assert set(Counter(pages_asked_for(server.hits)).values()) == {1}
    assert first.errors == second.errors == []


def test_a_job_that_its_user_stops_while_it_probes_continues(tmp_path):
    go, asked = Event(), Event()

    def slow(path):
        asked.set()
        return html(page("b", ["/", "/a", "/b", "/c"]))._replace(delay=go)

    routes = menu_site("home", "a", "b", "c") | {"/b": slow}
    settings = {"JOBDIR": str(tmp_path / "job")}
    with SiteServer(routes=routes) as server:
        command = ["crawl", "site", "-o", str(tmp_path / "feed.jsonl"), *options(settings, {"url": server.url("")})]
        process = start(*command)
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        for line in process.stderr:
            if "shutting down gracefully" in line:
                break
        go.set()
        process.communicate(timeout=60)
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert paths(found.lines, server) == ["/", "/a", "/b", "/c"]
    hits = Counter(pages_asked_for(server.hits))
    assert hits.pop("/b") == 2  # cancelled so that the crawl could end, and requested again
    assert set(hits.values()) == {1}
    assert {line["text"].split()[1] for line in found.lines} == {"home", "a", "b", "c"}


def test_settling_pages_are_not_lost_when_the_crawl_is_stopped(tmp_path):
    with SiteServer(routes=menu_site(*SMALL)) as server:
        settings = {"CLOSESPIDER_PAGECOUNT": 9}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert len(found.lines) >= 3
    assert found.stats["finish_reason"] == "closespider_pagecount"
    assert set(paths(found.lines, server)) <= set(server.routes)


def test_cookies_of_the_first_page_open_the_others(tmp_path):
    names = ["/", "/a", "/b", "/c", "/d"]
    with SiteServer(routes=menu_site("home", "a", "b", "c", "d")) as server:
        server.routes["/"] = answer(page("home", names), Set_Cookie="key=1; Path=/")
        found = crawl(tmp_path, "site", url=server.url(""))
    assert paths(found.lines, server) == names
    sent = {path: headers.get("Cookie") for path, headers in server.requests if path in names}
    assert sent == {"/": None} | dict.fromkeys(names[1:], "key=1")


@pytest.mark.parametrize(("depth", "expected"), [("1", 3), ("2", 4), ("9", 6)])
def test_depth_is_the_number_of_links_from_the_start(tmp_path, depth, expected):
    chain = {"/": ["/1", "/x"], "/1": ["/2"], "/2": ["/3"], "/3": ["/4"], "/4": ["/"], "/x": []}
    with SiteServer(routes={path: answer(page(f"p{path[1:]}", links)) for path, links in chain.items()}) as server:
        found = crawl(tmp_path, "site", url=server.url(""), depth=depth)
    assert len(found.lines) == expected


@pytest.mark.parametrize("pages", [1, 7])
def test_the_number_of_pages_is_limited(tmp_path, pages):
    with SiteServer(routes=menu_site(*SMALL)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), pages=pages)
    assert len(found.lines) == pages
    extra = found.stat("probe/unclaimed")
    assert len(pages_asked_for(server.hits)) <= pages + extra
    assert extra <= 8


def test_failed_pages_are_replaced_up_to_the_limit(tmp_path):
    names = ["home", *(f"p{n}" for n in range(12))]
    routes = menu_site(*names)
    for n in range(0, 12, 2):
        routes[f"/p{n}"] = not_found
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), pages=6, settings={"PAGELETS_PROBE": 0})
    assert len(found.lines) == 6
    assert found.stat("pages/missing/404") >= 1


def test_several_start_pages_come_from_a_file(tmp_path):
    with SiteServer(routes=menu_site("home", "a")) as one, SiteServer(routes=menu_site("other", "b")) as two:
        file = tmp_path / "urls.txt"
        file.write_text(f"\ufeff{one.url('')}\n\n  # not this one\n{two.url('')}\n", encoding="utf-8")
        found = crawl(tmp_path, "site", urls=file)
    assert sorted(found.urls) == sorted([one.url(""), one.url("a"), two.url(""), two.url("b")])
    assert found.stat("sites") == 2


def sitemap(*urls, kind="urlset"):
    entry = "sitemap" if kind == "sitemapindex" else "url"
    listed = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    return (
        f'<?xml version="1.0"?><{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</{kind}>'.encode()
    )


def test_sitemaps_are_start_pages_too(tmp_path):
    with SiteServer(routes=menu_site("home", "a")) as server:
        index = sitemap(server.url("one.xml"), server.url("two.xml.gz"), kind="sitemapindex")
        one = sitemap(server.url("island"), "http://elsewhere.invalid/", "nonsense", server.url("x.pdf"))
        two = gzip.compress(sitemap(server.url("isle"), server.url("gone.xml")))
        server.routes |= {
            "/robots.txt": answer(f"Sitemap: {server.url('map')}", Content_Type="text/plain"),
            "/map": answer(index, Content_Type="application/xml"),
            "/one.xml": answer(one, Content_Type="application/xml"),
            "/two.xml.gz": answer(two, Content_Type="application/gzip"),
            "/island": answer(page("island", ["/deep"])),
            "/isle": answer(page("isle")),
            "/deep": answer(page("deep", ["/deeper"])),
            "/deeper": answer(page("deeper")),
        }
        found = crawl(tmp_path, "site", url=server.url(""), sitemap=1, depth=1)
    assert paths(found.lines, server) == ["/", "/a", "/deep", "/island", "/isle"]
    assert "/x.pdf" not in server.hits
    assert found.errors == []


def test_without_robots_txt_the_sitemap_is_at_its_default_url(tmp_path):
    with SiteServer(routes=menu_site("home")) as server:
        server.routes["/sitemap.xml"] = lambda path: (200, {}, sitemap(server.url("isle")))
        server.routes["/isle"] = answer(page("isle"))
        found = crawl(tmp_path, "site", url=server.url(""), sitemap=1)
    assert paths(found.lines, server) == ["/", "/isle"]


@pytest.mark.parametrize(("status", "body"), [(404, b""), (200, b"<html><p>Hello")])
def test_an_invalid_sitemap_causes_a_warning(tmp_path, status, body):
    with SiteServer(routes=menu_site("home", "a")) as server:
        server.routes["/sitemap.xml"] = lambda path: (status, {"Content-Type": "text/html"}, body)
        found = crawl(tmp_path, "site", url=server.url(""), sitemap=1)
    assert paths(found.lines, server) == ["/", "/a"]
    assert [warning for warning in found.warnings if "/sitemap.xml" in warning] == found.warnings != []
    assert found.stat("sitemaps/failed") == 1
    assert found.errors == []


def test_frames_areas_and_links_below_a_base_are_followed(tmp_path):
    frameset = '<html><head><base href="/sub/"></head><frameset><frame src="left"><frame src="main"></frameset></html>'
    body = '<map><area href="area"></map><iframe src="inner"></iframe><a href="../up#part">x</a><a href="?q=1">y</a>'
    routes = {
        "/": answer(frameset),
        "/sub/left": answer(page("left", more=body)),
        "/sub/main": answer(page("main")),
        "/sub/area": answer(page("area")),
        "/sub/inner": answer(page("inner")),
        "/up": answer(page("up")),
        "/sub/left?q=1": answer(page("query")),
    }
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    assert paths(found.lines, server) == sorted(routes)
    assert found.errors == []


def test_external_and_invalid_links_are_not_followed(tmp_path):
    links = [
        "http://elsewhere.invalid/",
        "mailto:a@b.c",
        "javascript:void(0)",
        "#top",
        "http://[broken",
        "/a.pdf",
        "/ä ö",
    ]
    with SiteServer(routes={"/": answer(page("home", links)), "/%C3%A4%20%C3%B6": answer(page("umlaut"))}) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    assert paths(found.lines, server) == ["/", "/%C3%A4%20%C3%B6"]
    assert sorted(pages_asked_for(server.hits)) == ["/", "/%C3%A4%20%C3%B6"]
    assert found.errors == []


@pytest.mark.parametrize("start_page", ["http://shop.test/", "http://shop.test:80/", "http://www.shop.test./"])
def test_a_host_is_the_same_however_links_write_it(tmp_path, start_page):
    """A proxy gets the addresses of the pages as they are requested."""
    own = ["http://shop.test/a", "http://SHOP.test:80/b", "http://www.shop.test/c", "http://shop.test./d"]
    menu = [*own, "http://shop.test:8080/e", "http://other.test/f"]
    with SiteServer() as proxy:
        proxy.routes["*"] = lambda url: not_found(url) if url.endswith(".txt") else html(page(url[-4:], menu))
        feed = tmp_path / "feed.jsonl"
        command = ["crawl", "site", "-o", str(feed), *options({"PAGELETS_PROBE": 0}, {"url": start_page})]
        found = finished(scrapy(*command, http_proxy=proxy.url("")), feed)
    assert sorted(line["url"] for line in found.lines) == sorted([start_page, *map(safe_url_string, own)])
    assert not [url for url in proxy.hits if "8080" in url or "other" in url]


def test_a_dead_link_with_a_trailing_slash_is_tried_without_it(tmp_path):
    routes = {"/": answer(page("home", ["/guide/", "/gone/"])), "/guide": answer(page("guide"))}
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    assert paths(found.lines, server) == ["/", "/guide"]
    assert sorted(pages_asked_for(server.hits)) == ["/", "/gone", "/gone/", "/guide", "/guide/"]
    assert found.stat("pages/missing/404") == 3


def test_a_redirect_between_two_names_of_one_page_is_followed(tmp_path):
    routes = {
        "/": answer(page("home", ["/a/index.html"])),
        "/index.html": lambda path: redirect("/"),
        "/a/index.html": lambda path: redirect("/a/"),
        "/a/": answer(page("a", ["/index.html"])),
    }
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url("index.html"))
    assert paths(found.lines, server) == ["/", "/a/"]


def test_a_start_page_may_lead_to_another_host_and_other_pages_may_not(tmp_path):
    with SiteServer(routes={}) as old, SiteServer(routes={}) as new, SiteServer(routes=menu_site("foreign")) as foreign:
        old.routes["/"] = lambda path: redirect(new.url("home"))
        new.routes["/home"] = answer(page("home", ["/a", "/go"]))
        new.routes["/a"] = answer(page("a"))
        new.routes["/go"] = lambda path: redirect(foreign.url(""))
        found = crawl(tmp_path, "site", url=old.url(""), settings={"PAGELETS_PRIVATE_ADDRESSES": 1})
    assert sorted(found.urls) == [new.url("a"), new.url("home")]
    assert pages_asked_for(foreign.hits) == []
    assert found.stat("pages/missing/offsite") == 1


def test_a_menu_of_150_links_is_crawled_with_eight_pages_loaded(tmp_path):
    menu = ["/", *(f"/p{n}" for n in range(150))]
    routes = {"/": answer(page("home", menu)), "/p*": lambda path: html(page(path[1:]))}  # nobody links back
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_FIRST_PAGES": 50})
    assert len(found.lines) == 151
    assert set(Counter(pages_asked_for(server.hits)).values()) == {1}
    assert found.stat("probe/loaded") <= 8 * found.stat("templates/probed")
    assert found.errors == []


def test_text_html_and_markdown_are_exported_on_demand(tmp_path):
    routes = menu_site("home", "a", "b", "c", more=lambda name: "<table><tr><td>cell</td></tr></table>")
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_FORMATS": "markdown,html"})
    for line in found.lines:
        name = line["title"].split()[-1]
        assert f"# Heading {name}\n\n{words(name)}" in line["markdown"]
        assert f"<h1>Heading {name}</h1>" in line["html"].replace("> ", ">")
        assert line["text"] is None


@pytest.mark.parametrize("segmenter", ["pagelets", "pagelets-strict"])
def test_all_pagelets_make_up_the_page(tmp_path, segmenter):
    settings = {"PAGELETS_EXPORT": "all", "PAGELETS_SEGMENTER": segmenter}
    with SiteServer(routes=menu_site("home", *"abcdefgh")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    for line in found.lines:
        roles = Counter(pagelet["role"] for pagelet in line["pagelets"])
        assert {"content", "template"} < roles.keys()
        text = " ".join(pagelet["text"] for pagelet in line["pagelets"])
        for part in ("The slogan", "Menu entry a", line["title"].split()[-1] + "word59", "All rights reserved"):
            assert text.count(part) == 1
        assert [pagelet["id"] for pagelet in line["pagelets"]] == list(range(len(line["pagelets"])))


def test_custom_weights_cut_pages(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.html").write_bytes((SITE / "index.html").read_bytes())
    cut = []
    for level in ("", "inner", "top"):
        settings = {"PAGELETS_SEGMENTER": "gcuts", "PAGELETS_EXPORT": "all"}
        if level:
            shipped = files("scrapy_pagelets.papers.graph_cuts").joinpath(f"gcuts-{level}.npz")
            (tmp_path / f"{level}.npz").write_bytes(shipped.read_bytes())
            settings["PAGELETS_SEGMENTER_WEIGHTS"] = str(tmp_path / f"{level}.npz")
        pages, feed = tmp_path / "pages", f"cut-{level}.jsonl"
        [line] = crawl(tmp_path, "archive", path=pages, base="http://a.test/", settings=settings, feed=feed).lines
        cut.append([pagelet["xpaths"] for pagelet in line["pagelets"]])
    assert cut[0] == cut[1] != cut[2]


@pytest.mark.parametrize(
    ("segmenter", "message"),
    [
        (
            "gcuts",
            "PAGELETS_SEGMENTER_WEIGHTS cannot be used: there is no file of weights none.npz: give top or inner",
        ),
        (
            "vips",
            "PAGELETS_SEGMENTER_WEIGHTS is set, but the segmenter vips has no weights: "
            "choose PAGELETS_SEGMENTER from gcuts-top, ",
        ),
    ],
)
def test_unusable_weights_end_the_crawl_before_it_starts(tmp_path, segmenter, message):
    settings = {"PAGELETS_SEGMENTER": segmenter, "PAGELETS_SEGMENTER_WEIGHTS": "none.npz"}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
    assert found.errors[0].startswith(message)


def test_without_probing_the_template_is_learnt_from_settling_pages(tmp_path):
    with SiteServer(routes=menu_site(*SMALL)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_PROBE": 0})
    assert_complete(found, server, server.routes)
    assert found.stat("probe/loaded") == 0
    assert {line["template"]["pages"] for line in found.lines} == {len(SMALL)}


def test_parquet_has_the_same_lines(tmp_path):
    settings = {"FEEDS": {str(tmp_path / "both.jsonl"): {"format": "jsonl"}}}
    with SiteServer(routes=menu_site(*SMALL)) as server:
        crawl(tmp_path, "site", url=server.url(""), feed="feed.parquet", settings=settings)
    rows = pq.read_table(tmp_path / "feed.parquet").to_pylist()
    assert [row.pop("extra") for row in rows] == [None] * len(SMALL)
    assert rows == [json.loads(line) for line in (tmp_path / "both.jsonl").read_text(encoding="utf-8").splitlines()]


def test_fields_have_the_names_from_the_settings(tmp_path):
    fields = {"text": "body", "template": None, "sketch": None, "pagelets": "parts", "url": "address"}
    with SiteServer(routes=menu_site("home", "a", "b", "c")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_FIELDS": fields})
    assert len(found.lines) == 4
    for line in found.lines:
        assert line.keys() == {*KEYS, "body", "parts", "address"} - fields.keys()
        assert "word59" in line["body"]
        assert line["parts"]


def test_a_slow_page_does_not_delay_the_others(tmp_path):
    """The server sends the slow page after all others have arrived."""
    go = Event()
    names = ["home", "a", "b", "c", "d", "last"]
    routes = menu_site(*names)
    slow = Reply(*html(page("slow", ["/"]))[:3], go)

    def last(path):
        go.set()
        return html(page("last", ["/"]))

    links = ["/slow", "/a", "/b", "/c", "/d", "/last"]
    routes |= {"/slow": lambda path: slow, "/last": last, "/": answer(page("home", links))}
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_PROBE": 0})
    assert len(found.lines) == 7
    assert set(Counter(server.hits).values()) == {1}
