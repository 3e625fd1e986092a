"""Template detection in crawls: incremental results equal those on tables, and are shown to the user."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest

from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.evidence.site_counts import body_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import REPEATED
from scrapy_pagelets.papers.shared_pagelets.incremental import RepeatedPagelets, Shares
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore
from tests.crawling import SITE, answer, crawl, page
from tests.oracles.shared_templates import global_templates, local_templates
from tests.server import SiteServer

MENU = "".join(f"<li><a href=/{name}>Entry {name}</a>" for name in "abcdef")


def parsed(url, text, *, menu=MENU, links=""):
    html = f"<body><ul>{menu}</ul><div><p>{text}</p>{links}</div></body>"
    return Page.parse(html.encode(), url)


def text_of(name, number=40):
    return " ".join(f"{name}{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(number))


def taught(pages, **options):
    found = RepeatedPagelets(**options)
    for one in pages:
        found.add(one)
    return found


@pytest.fixture(scope="module")
def bundled():
    files = sorted(SITE.rglob("*.html"))
    return [Page.parse(path.read_bytes(), f"http://example.com/{path.relative_to(SITE)}") for path in files]


def by_definition(found, pages, form):
    """Templateness by the definitions, from the shingles of all pages at once."""
    cut = {one.key: partition(one.nodes, STRICT_K, strict=True) for one in pages}
    table = [(key, i, s) for key in cut for i, row in enumerate(found._rows[key].tolist()) for s in row]
    bodies = {one.key: body_of(one) for one in pages}
    least = math.ceil(len({*bodies.values()}) / 5)
    if form == "local":
        templates = local_templates(table, sketches=bodies, least=least)
    else:
        links = [(one.key, int(key)) for one in pages for key in one.nodes.links.key]
        templates = global_templates(table, links, sketches=bodies, least=least)
    places = {place for template in templates for place in template.pagelets}
    return [np.array([(one.key, i) in places for i in cut[one.key].tolist()], np.float64) for one in pages]


@pytest.mark.parametrize("form", REPEATED)
def test_page_by_page_is_what_the_definitions_give(bundled, form):
    found = taught(bundled)
    expected = by_definition(found, bundled, form)
    assert [one.tolist() for one in expected] == [found.templateness(one, form).tolist() for one in bundled]
    assert 0.2 < np.concatenate(expected).mean() < 0.95


def test_a_pagelet_that_repeats_nearly_is_counted():
    words = text_of("word", 80).split()
    edited = [*words[:40], "altogether", *words[41:]]
    pages = [parsed(f"http://h/{i}", " ".join(text)) for i, text in enumerate((words, edited))]
    found = taught(pages)
    assert [shares.near for shares in found.shares()] == [2]
    assert found.templateness(pages[1], "local").min() == 1


@pytest.mark.parametrize("form", REPEATED)
def test_equal_links_in_unlike_words_are_no_template(form):
    links = '<a href="/ann">Ann</a> and <a href="/sea">the sea</a>'
    pages = [parsed(f"http://h/{name}", f"{text_of(name)} {links} {text_of(name * 2)}") for name in "abcdef"]
    found = taught(pages)
    assert [found.templateness(one, form).tolist() for one in pages] == [[1] * 6 + [0] * 5] * 6


@pytest.mark.parametrize("form", REPEATED)
def test_a_text_that_few_pages_quote_is_no_template(form):
    quoted = f"<div><p>{text_of('quoted')} <a href=/a>A</a><a href=/b>B</a><a href=/c>C</a></div>"
    names = "abcdefghijklmnopqrstu"
    pages = [parsed(f"http://h/{name}", text_of(name * 3), links=quoted * (name < "c")) for name in names]
    assert taught(pages).templateness(pages[0], form).tolist() == [1] * 6 + [0] * 5
    assert taught(pages[:6]).templateness(pages[0], form).tolist() == [1] * 6 + [0] + [1] * 4


@pytest.mark.parametrize("form", REPEATED)
def test_copies_of_a_page_are_no_template(form):
    pages = [parsed(f"http://h/{name}", "The same text on all of them") for name in "abcdef"]
    found = taught(pages)
    assert [found.templateness(one, form).max() for one in pages] == [0] * 6
    assert found.shares()[0].pagelets == 2


def test_sister_sites_are_told_from_strangers():
    """Three sites with one menu; a link leads from the first to the second."""
    bridge = '<a href="http://two.org/a">two</a>'
    pages = [parsed("http://one.org/a", text_of("first"), links=bridge), parsed("http://two.org/a", text_of("second"))]
    pages.append(parsed("http://three.org/a", text_of("third")))
    found = taught(pages)
    assert [sisters[:2] for sisters in found.sisters()] == [("one.org", "two.org")]
    menu = [found.templateness(one, "global")[0] for one in pages]
    assert menu == [1, 1, 0]
    assert [found.templateness(one, "local").max() for one in pages] == [0] * 3
    assert found.sisters() == [("one.org", "two.org", found.sisters()[0][2])]


def test_what_there_is_no_room_for_is_compared():
    pages = [parsed(f"http://h/{name}", text_of(name)) for name in "abcdef"]
    found = taught(pages, capacity=20)
    assert found.full
    assert found.shares() == [Shares("h", 6, 3, 3, 0)]
    for form in REPEATED:
        assert found.templateness(pages[-1], form).tolist() == [1] * 6 + [0]
    assert found.shares() == [Shares("h", 6, 3, 3, 0)]


def test_pages_count_once_and_in_any_order():
    pages = [parsed(f"http://h/{name}", text_of(name)) for name in "abcdef"]
    found = taught([*pages, *pages]).shares()
    assert found == taught(pages[::-1]).shares() == [Shares("h", 12, 6, 6, 0)]


@pytest.mark.parametrize("html", [b"", b"<p>", b"<img src=x>"])
def test_pages_without_text(html):
    one = Page.parse(html, "http://h/")
    assert taught([one]).templateness(one, "global").tolist() == []


# On disk


def shared_with(folder, pages):
    """The pagelets known to a process that uses the store of a folder and learns some pages."""
    store = SiteStore(folder, load(LABELLED))
    sites = SiteCache(store, detection="global")
    for one in pages:
        sites.learn(one)
    sites.close()
    store.close()
    assert sites.repeated is not None
    return sites.repeated


def test_a_run_goes_on_from_what_the_last_one_has_counted(tmp_path, bundled):
    shared_with(tmp_path, bundled[:20])
    again = shared_with(tmp_path, bundled[20:])
    whole = taught(bundled)
    assert again.shares() == whole.shares()
    for form in REPEATED:
        for one in bundled:
            assert again.templateness(one, form).tolist() == whole.templateness(one, form).tolist()


def test_two_crawls_on_one_store_know_the_pages_of_both(tmp_path, bundled):
    stores = [SiteStore(tmp_path, load(LABELLED)) for _ in range(2)]
    both = [SiteCache(store, detection="local") for store in stores]
    for one, other in pairwise(bundled[:20]):
        both[0].learn(one)
        both[1].learn(other)
    for sites in (*both, both[0]):
        sites.close()
    first, second = (sites.repeated.shares() for sites in both if sites.repeated)
    assert first == second == taught(bundled[:20]).shares()
    for store in stores:
        store.close()


def test_damaged_pagelets_are_left_out(tmp_path, bundled):
    shared_with(tmp_path, bundled[:5])
    [path] = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE pages SET pagelets = 'nothing' WHERE number = 2")
        db.execute("UPDATE pages SET pagelets = (SELECT learnt FROM sites) WHERE number = 3")
    told: list[str] = []
    store = SiteStore(tmp_path, load(LABELLED), told.append)
    found = store.exchange([], [bundled[0].site])
    assert found is not None
    assert len(found) == 3
    assert [sentence.partition(":")[0] for sentence in told] == [
        f"the pagelets of a page of {found[0].site} cannot be read"
    ] * 2
    store.close()


def test_pages_that_could_not_be_written_are_written_later(tmp_path, bundled):
    told: list[str] = []
    store = SiteStore(tmp_path, load(LABELLED), told.append)
    sites = SiteCache(store, detection="global")
    for one in bundled[:5]:
        sites.learn(one)
    [path] = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE pages RENAME TO away")
    sites.close()
    assert any("the pagelets of the last pages cannot be written" in sentence for sentence in told)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE away RENAME TO pages")
    sites.close()
    store.close()
    assert shared_with(tmp_path, bundled[4:5]).shares() == taught(bundled[:5]).shares()


def test_sites_that_a_crawl_does_not_meet_are_not_of_it(tmp_path):
    pages = [parsed(f"http://{host}.org/{i}", text_of(f"{host}{i}")) for host in ("one", "two") for i in range(3)]
    shared_with(tmp_path, pages[:3])
    assert [shares.site for shares in shared_with(tmp_path, pages[3:]).shares()] == ["two.org"]


def test_a_page_that_has_changed_is_judged_as_it_is(tmp_path):
    pages = [parsed(f"http://h/{name}", text_of(name)) for name in "abc"]
    shared_with(tmp_path, pages)
    changed = parsed("http://h/a", text_of("other"), menu="", links="<p>And more of it</p>" * 9)
    plain = parsed("http://h/a", text_of("a"), menu=MENU.replace("<a", "<b"))
    again = shared_with(tmp_path, [changed])
    for form in REPEATED:
        assert again.templateness(changed, form).max() == 0
        assert again.templateness(plain, form).shape == (7,)  # the same text in fewer pagelets
        assert again.templateness(pages[0], form).tolist() == [1] * 6 + [0]


# In real crawls


def sister_routes(hosts):
    """Pages of two hosts, one menu for all; its entries lead to both."""
    paths = [f"/{name}" for name in "abcdefgh"]
    menu = [f"{host}{path}" for host, mine in zip(hosts, (paths[:4], paths[4:]), strict=True) for path in mine]
    return {path: answer(page(path[1:] * 3, menu)) for path in paths}


def crawled(tmp_path, detection):
    with SiteServer() as server:
        hosts = [server.url("")[:-1], server.url("")[:-1].replace("127.0.0.1", "localhost")]
        server.routes.update(sister_routes(hosts))
        (tmp_path / "urls").write_text(f"{hosts[0]}/a\n{hosts[1]}/e\n", encoding="utf-8")
        return crawl(tmp_path, "site", urls=tmp_path / "urls", settings={"PAGELETS_DETECTION": detection})


def test_a_crawl_tells_of_shared_templates(tmp_path):
    found = crawled(tmp_path, "global")
    assert len(found.lines) == 8
    assert found.stat("detection/sisters") == 1
    assert found.stat("detection/pagelets") > found.stat("detection/linked") >= 16
    assert "localhost" in found.log.split(" link each other and have ")[0].splitlines()[-1]
    assert found.errors == found.warnings == []


@pytest.mark.parametrize("form", REPEATED)
def test_the_papers_form_decides_on_demand(tmp_path, form):
    found = crawled(tmp_path, form)
    assert len(found.lines) == 8
    for line in found.lines:
        name = line["url"][-1] * 3
        assert "Menu entry" not in line["text"]
        assert f"{name}word0 {name}word1" in line["text"]
    assert found.errors == found.warnings == []


def test_nothing_is_counted_by_default(tmp_path):
    found = crawled(tmp_path, "fused")
    assert not [name for name in found.stats if "detection" in name]
    assert "pagelets that can" not in found.log


def test_a_detection_that_is_none_calls_the_crawl_off(tmp_path):
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings={"PAGELETS_DETECTION": "yes"}, code=1)
    assert found.errors[0].startswith(
        "PAGELETS_DETECTION has 'yes': choose from fused, etdm, local, global, classifier"
    )
