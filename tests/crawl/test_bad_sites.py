"""Sites that mislead a comparison of pages, and stores that fail: the crawl goes on, and its items are right."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.recrawl.version_store import FILE
from scrapy_pagelets.sites.site_store import SiteStore, meaning
from tests.crawling import SITE, answer, crawl, finished, menu_site, options, page, run_spider, start, words
from tests.server import SiteServer, html

MENU = ["/", *(f"/p{i}" for i in range(16))]


def text_of(one: Page, site: Site) -> str:
    return "\n".join(pagelet.text for pagelet in segment(one, site.templateness(one)) if pagelet.role == "content")


def stored_pages(folder, name):
    """Return the number of pages of a site in a store file."""
    store = SiteStore(folder, load(LABELLED))
    site = Site(name)
    store.load(site)
    store.close()
    return site.pages


def test_a_site_whose_pages_are_all_equal_keeps_its_content(tmp_path):
    same = answer(page("home", ["/", "/a", "/b", "/c", "/d", "/e"]))
    with SiteServer(routes=dict.fromkeys(("/", "/a", "/b", "/c", "/d", "/e"), same)) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    assert len(found.lines) == 6
    assert all(words("home") in line["text"] for line in found.lines)
    assert found.errors == []
    # One page, as far as templates are concerned.
    assert found.stat("sites/of_one_page") == 1
    assert all(line["template"]["pages"] == 1 for line in found.lines)


@pytest.mark.parametrize("body", ["<html>", "<p>", "one", "<br>", "<!doctype html>"])
def test_a_page_with_a_single_node(tmp_path, body):
    menu = ["/", "/a", "/b", "/c", "/one"]
    routes = {path: answer(page(path[1:] or "home", menu)) for path in menu[:-1]}
    with SiteServer(routes=routes | {"/one": answer(body)}) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    assert len(found.lines) == 5
    assert found.errors == []
    texts = {line["url"].removeprefix(server.url("")): line["text"] for line in found.lines}
    assert texts.pop("one") == ("one" if body == "one" else "")
    assert all("slogan" not in text and "Menu" not in text for text in texts.values())


def old_look(path):
    return page(path.strip("/") or "home", MENU)


def new_look(path):
    """A template with other elements and other words, and with the menu at the end."""
    name = path.strip("/") or "home"
    rows = "".join(f"<tr><td><a href='{url}'>Chapter {url.strip('/')}</a></td></tr>" for url in MENU)
    return f"""<html><head><title>{name}</title></head><body class=relaunch><section class=frame>
<div class=banner><b>Our motto has changed</b> <i>Find us in the new building</i></div>
<article class=story><h2>Heading {name}</h2><p class=prose>{words(name)}</p></article>
<table class=chapters>{rows}</table><div class=small>Printed on recycled electrons</div></section></body></html>"""


def test_pages_are_clean_after_the_template_has_changed_during_the_crawl(tmp_path):
    asked: list[str] = []

    def route(path):
        asked.append(path)
        return html((old_look if len(asked) <= 8 else new_look)(path))

    with SiteServer(routes=dict.fromkeys(MENU, route)) as server:
        settings = {"CONCURRENT_REQUESTS": 1, "PAGELETS_FIRST_PAGES": 1}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert len(found.lines) == len(MENU)
    assert found.stat("templates") == 2
    assert found.errors == []
    known: Counter[str] = Counter()
    for line in found.lines:
        name = line["url"].removeprefix(server.url("")) or "home"
        assert words(name) in line["text"]
        known[line["template"]["id"]] += 1
        if known[line["template"]["id"]] < 3:  # the first pages have the least evidence
            continue
        for text in ("slogan", "Menu entry", "All rights", "motto", "Chapter", "recycled"):
            assert text not in line["text"], line["url"]


def test_a_real_template_after_another(tmp_path):
    """Pages of tests/site, then pages with another template on the same host, are as clean as if they were alone."""
    before = [Page.parse(f.read_bytes(), f"http://host.test/{f.name}") for f in sorted(SITE.rglob("*.html"))[:20]]
    after = [Page.parse(new_look(path).encode(), f"http://host.test{path}") for path in MENU]
    both, alone = Site("host.test"), Site("host.test")
    for one in before:
        both.learn(one)
    for one in after[1:]:
        both.learn(one)
        alone.learn(one)
    for one in after[1:]:
        assert text_of(one, both) == text_of(one, alone)
        assert "motto" not in text_of(one, both)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_a_hostile_page_cannot_have_the_content_of_another_stripped(copies):
    """An attacker posts the text of a page on other pages of the same site, once and several times."""
    site = Site("victim.test")
    pages = {path: Page.parse(old_look(path).encode(), f"http://victim.test{path}") for path in MENU}
    for one in pages.values():
        site.learn(one)
    victim = pages["/p3"]
    before = text_of(victim, site)
    assert words("p3") in before
    for number in range(copies):
        hostile = page("p3", MENU, more=f"<p>Posted for the time {'abcdefgh'[number]}</p>")
        site.learn(Page.parse(hostile.encode(), f"http://victim.test/hostile{number}"))
        repeated = old_look("/p9").replace("</h1>", f"</h1><p>{words('p3')}</p><p>{'hijklm'[number]}</p>")
        site.learn(Page.parse(repeated.encode(), f"http://victim.test/comment{number}"))
    assert text_of(victim, site) == before


def test_a_store_of_another_model_causes_a_warning(tmp_path):
    store = {"PAGELETS_STORE": str(tmp_path / "store")}
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        crawl(tmp_path, "site", url=server.url(""), settings=store | {"PAGELETS_MODEL": "automatic"})
        found = crawl(tmp_path, "site", url=server.url(""), settings=store, feed="second.jsonl")
        third = crawl(tmp_path, "site", url=server.url(""), settings=store, feed="third.jsonl")
    assert len(found.lines) == len(third.lines) == 7
    assert len(found.warnings) == 1
    assert "is of another version or model: it is left unchanged, and the sites are learnt again" in found.warnings[0]
    assert found.stat("templates/probed") == 1
    assert third.warnings == found.errors == third.errors == []
    assert third.stat("templates/probed") == 0  # it has the counts of the second run
    assert len(list((tmp_path / "store").glob("pagelets-sites-*.sqlite"))) == 2


def test_two_crawls_on_one_store_at_once_add_up(tmp_path):
    """Both crawl the same site; each page counts once, and both feeds are complete."""
    names = ["home", *(f"p{i}" for i in range(30))]
    settings = {"PAGELETS_STORE": str(tmp_path / "store"), "PAGELETS_FIRST_PAGES": 5}
    feeds = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    with SiteServer(routes=menu_site(*names)) as server:
        processes = [
            start("crawl", "site", "-o", str(feed), *options(settings, {"url": server.url("")})) for feed in feeds
        ]
        ends = [process.communicate(timeout=120) for process in processes]
        host = f"{server.host}:{server.port}"
        visits = Counter(server.hits)
    for process, (out, err), feed in zip(processes, ends, feeds, strict=True):
        found = finished(subprocess.CompletedProcess("", process.returncode, out, err), feed)
        assert len(found.lines) == len(set(found.urls)) == len(names)
        assert found.errors == found.warnings == []
        assert all("slogan" not in line["text"] for line in found.lines)
    assert {visits[f"/{name}"] for name in names[1:]} == {2}
    assert stored_pages(tmp_path / "store", host) == len(names)


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))  # as if the disk was full
class Spider(scrapy.Spider):
    name = "stranger"
    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]
    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")
"""


@pytest.mark.parametrize("limit", [45_000, 20_000])
def test_a_full_disk_causes_a_warning_and_the_crawl_goes_on(tmp_path, limit):
    """45,000 bytes are too few for the counts of the site, 20,000 even for an empty store."""
    settings = {"JOBDIR": str(tmp_path / "job"), "PAGELETS_DUPLICATES": "off", "PAGELETS_FIELDS": {"pagelets": None}}
    with SiteServer(routes={path: answer(old_look(path)) for path in MENU}) as server:
        found = run_spider(tmp_path, FULL_DISK.format(limit=limit), start=server.url(""), settings=settings)
    assert len(set(found.urls)) == len(MENU)
    assert all("slogan" not in line["text"] for line in found.lines)
    assert found.stat("store/failed") >= 1
    of_sites = [warning for warning in found.warnings if "earlier version" not in warning]
    assert len(of_sites) == 1
    assert len(found.warnings) <= 2  # the versions of pages have a file of their own
    lost = "goes on with what is in memory|what the crawl learns about sites is lost when it ends"
    assert re.search(lost, of_sites[0])
    assert found.errors == []


def test_files_that_cannot_be_created_cause_a_warning_and_the_crawl_goes_on(tmp_path):
    for name in (f"pagelets-sites-{meaning(load(LABELLED))}.sqlite", FILE):
        (tmp_path / "store" / name).mkdir(parents=True)
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_STORE": str(tmp_path / "store")})
    assert len(found.lines) == 5
    assert all("slogan" not in line["text"] for line in found.lines)
    assert found.stat("store/failed") == 2  # counts of sites, versions of pages
    assert len(found.warnings) == 1
    assert "cannot be used, what the crawl learns about sites is lost when it ends" in found.warnings[0]
    assert found.errors == []


@pytest.mark.parametrize("name", ["file", "file/store"])
def test_a_file_in_the_place_of_the_store_ends_the_crawl_before_it_begins(tmp_path, name):
    (tmp_path / "file").touch()
    with SiteServer(routes=menu_site("home")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_STORE": str(tmp_path / name)}, code=1)
    assert server.hits == []
    assert len(found.errors) == 1
    assert f"PAGELETS_STORE cannot be used: {tmp_path / name} cannot be a folder" in found.errors[0]


def test_a_crawl_without_a_job_leaves_no_file(tmp_path):
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        run_spider(tmp_path, FULL_DISK.format(limit=10_000_000), start=server.url(""))
    left = {path.name for path in Path(tmp_path).iterdir()} - {"__pycache__"}  # which Python leaves, unless told not to
    assert left == {"feed.jsonl", "stranger.py"}
