"""PAGELETS_DETECTION: each method of the papers by itself, in crawls and for archives; menus of all kinds."""

from __future__ import annotations

import pytest

from scrapy_pagelets.papers.methods import CLASSIFIER, DETECTIONS
from tests.crawling import (
    SITE,
    answer,
    crawl,
    everything_is_template,
    menu_site,
    not_found,
    page,
    pages_asked_for,
    run_spider,
)
from tests.server import SiteServer, html, redirect

NAMES = ["home", *"abcdef"]


@pytest.mark.parametrize("detection", DETECTIONS)
def test_each_method_strips_the_menu(tmp_path, detection):
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_DETECTION": detection})
    assert len(found.lines) == len(NAMES)
    assert (found.warnings, found.errors) == ([], [])
    assert found.stat("words/template") > 0
    for line in found.lines:
        name = line["title"].split()[-1]
        # A page by itself does not tell what a slogan is.
        assert detection == CLASSIFIER or "slogan" not in line["text"]
        assert f"{name}word0" in line["text"]


@pytest.mark.parametrize("detection", DETECTIONS)
def test_each_method_cleans_an_archive(tmp_path, detection):
    settings = {"PAGELETS_DETECTION": detection}
    found = crawl(tmp_path, "archive", path=SITE, base="http://docs.example/", settings=settings)
    assert len(found.lines) == 35
    assert found.errors == []
    total, kept = found.stat("words"), found.stat("words") - found.stat("words/template")
    assert 0.2 < kept / total < 0.95


def test_the_template_of_the_paper_needs_no_more_pages_than_its_set(tmp_path):
    """In the paper the set of four is beside the key page."""
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), pages=1, settings={"PAGELETS_DETECTION": "etdm"})
    assert found.stat("probe/loaded") == 4
    assert "the template of a class of pages is what 5 pages that link each other share (loaded: 4)" in found.log
    [line] = found.lines
    assert "slogan" not in line["text"]
    assert "homeword0" in line["text"]


@pytest.mark.parametrize("menu", [[], ["/a"] * 9, ["/loop/1", "/loop/2"], ["/only", "/only?", "/only#x"]])
def test_a_menu_that_shows_no_template_strips_nothing(tmp_path, menu):
    """No menu, one page behind all links, links that redirect in circles, links that do not lead back."""
    routes = {
        "/": answer(page("home", menu)),
        "/a": answer(page("a", [])),
        "/only": answer(page("only", [])),
        "/loop/1": lambda path: redirect("/loop/2"),
        "/loop/2": lambda path: redirect("/loop/1"),
    }
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_DETECTION": "etdm"})
        assert len(pages_asked_for(server.hits)) < 12
    assert found.errors == []
    assert "no menu has shown a template, there are no two pages that link each other" in found.log
    home = next(line for line in found.lines if line["title"].endswith("home"))
    assert "slogan" in home["text"]


def test_the_method_of_the_menu_needs_its_pages(tmp_path):
    settings = {"PAGELETS_DETECTION": "etdm", "PAGELETS_PROBE": 0}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
    sentence = "which needs pages that link each other: set PAGELETS_PROBE to their number"
    assert found.errors == [f"PAGELETS_DETECTION is etdm, {sentence}"]


def test_a_trained_page_level_file_decides(tmp_path):
    path = everything_is_template(tmp_path / "own.npz")
    settings = {"PAGELETS_DETECTION": "classifier", "PAGELETS_CLASSIFIER": str(path)}
    with SiteServer(routes=menu_site(*NAMES)) as server:
        crawled = crawl(tmp_path, "site", url=server.url(""), feed="site.jsonl", settings=settings)
    read = crawl(tmp_path, "archive", path=SITE, base="http://docs.example/", feed="archive.jsonl", settings=settings)
    for found in (crawled, read):
        assert found.errors == []
        assert found.stat("words/template") == found.stat("words") > 0


@pytest.mark.parametrize(
    ("detection", "content", "sentence"),
    [
        (
            "classifier",
            b"no model",
            "PAGELETS_CLASSIFIER cannot be used: {path} is not a page-level model of this version",
        ),
        ("classifier", None, "PAGELETS_CLASSIFIER cannot be used: there is no page-level model {path}"),
        ("fused", b"", "PAGELETS_CLASSIFIER is set, but PAGELETS_DETECTION is fused: set it to classifier"),
    ],
)
def test_a_page_level_file_that_cannot_be_used_calls_the_crawl_off(tmp_path, detection, content, sentence):
    path = tmp_path / "own.npz"
    if content is not None:
        path.write_bytes(content)
    settings = {"PAGELETS_DETECTION": detection, "PAGELETS_CLASSIFIER": str(path)}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
    [error] = found.errors
    assert error.startswith(sentence.format(path=path))


def test_a_page_of_many_siblings_is_compared(tmp_path):
    rows = "".join(f"<p>Row {number}</p>" for number in range(30_000))
    routes = menu_site("home", *"abcde")
    routes["/"] = answer(page("home", [f"/{name}" for name in "abcde"], more=rows))
    routes["/a"] = lambda path: html(page("a", list(routes), more=rows))
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_DETECTION": "etdm"})
    assert len(found.lines) == 6
    assert found.errors == []
    assert all("slogan" not in line["text"] for line in found.lines)


def test_copies_in_an_archive_are_no_template(tmp_path):
    """Five pages link each other and say the same."""
    folder = tmp_path / "copies"
    folder.mkdir()
    for name in "abcde":
        links = "".join(f"<a href={other}.html>Entry {other}</a> " for other in "abcde")
        (folder / f"{name}.html").write_text(f"<div>{links}</div><p>The same few words on all of them.</p>")
    settings = {"PAGELETS_DETECTION": "etdm"}
    found = crawl(tmp_path, "archive", path=folder, base="http://copies.example/", settings=settings)
    assert len(found.lines) == 5
    assert all("The same few words" in line["text"] for line in found.lines)


def of_two_versions(name: str, paths: list[str], version: str) -> str:
    """A page of the menu site whose footer has the name of a version."""
    return page(name, paths, more=f"<p class=edition>Edition {version}</p>").replace("All rights reserved", version)


def test_of_two_versions_of_a_template_what_both_say_is_stripped(tmp_path):
    """Half of the pages of a set have the old footer, half the new one."""
    paths = ["/", *(f"/{name}" for name in NAMES[1:])]
    versions = dict(zip(NAMES, ["Formerly", "Lately"] * len(NAMES), strict=False))
    routes = {
        path: answer(of_two_versions(name, paths, versions[name])) for path, name in zip(paths, NAMES, strict=True)
    }
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_DETECTION": "etdm"})
    assert (found.warnings, found.errors) == ([], [])
    assert len(found.lines) == len(NAMES)
    for line in found.lines:
        name = line["title"].split()[-1]
        assert "slogan" not in line["text"]
        assert "Menu entry" not in line["text"]
        assert f"{name}word0" in line["text"]
        assert f"{versions[name]} by the house" in line["text"]


ASKED_TWICE = """
class Spider(scrapy.Spider):
    name = "stranger"
    def __init__(self, base="", **kwargs):
        super().__init__(**kwargs)
        self.base = base
        self.start_urls = [base]
    def parse(self, response):
        yield {"url": response.url}
        if response.url == self.base:
            for name in "abcdef":
                yield Request(self.base + name, self.second)
    def second(self, response):
        yield {"url": response.url}
        yield Request(response.url, self.parse, dont_filter=True)
"""


def test_members_that_are_gone_on_the_second_visit_leave_the_template(tmp_path):
    routes = menu_site(*NAMES)

    def once(path):
        return not_found(path) if server.hits.count(path) > 1 else menu[path](path)

    menu = dict(routes)
    routes |= {f"/{name}": once for name in NAMES[1:]}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, ASKED_TWICE, base=server.url(""), settings={"PAGELETS_DETECTION": "etdm"})
        assert all(server.hits.count(f"/{name}") == 2 for name in NAMES[1:])
    assert found.errors == []
    assert sorted(found.urls) == sorted(server.url(name) for name in ["", *NAMES[1:]])
    assert found.stat("templates/subdigraph/4") == 1
    assert all("slogan" not in line["text"] for line in found.lines)
