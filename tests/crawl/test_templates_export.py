"""``PAGELETS_TEMPLATES``: what is stripped is written once for each class of pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.feed.class_templates import Merged, StrippedClass, StrippedRun, StrippedTemplates
from tests.crawl.test_archive_spider import NAMES, pages, warc
from tests.crawling import SITE, answer, crawl, menu_site, page, run_spider
from tests.server import SiteServer

KEYS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# Merging


@given(st.lists(KEYS, max_size=6))
def test_merged_sequences_have_each_key_once_with_its_count(sequences):
    merged = Merged[str]()
    for sequence in sequences:
        merged.add(sequence)
    assert dict(merged) == {key: sum(key in one for one in sequences) for one in sequences for key in one}
    assert len(list(merged)) == len(merged)


@given(st.lists(st.sets(st.sampled_from("abcdefgh")), max_size=6))
def test_the_first_sequence_and_those_that_add_nothing_keep_their_order(sets):
    merged = Merged[str]()
    merged.add("abcdefgh")
    for some in sets:
        merged.add(sorted(some))
    assert "".join(key for key, _ in merged) == "abcdefgh"


def test_rare_keys_make_room_for_frequent_ones():
    merged = Merged[str](most=10)
    for number in range(20):
        merged.add(["menu", f"own{number}", "other", f"mine{number}", "foot"])
    assert len(merged) <= 10
    assert [(key, count) for key, count in merged if count > 1] == [("menu", 20), ("other", 20), ("foot", 20)]


def test_a_giant_text_does_not_displace_the_others():
    merged = Merged[str](characters=100)
    for _ in range(3):
        merged.add(["menu", "x" * 1000, "foot"])
    assert list(merged) == [("menu", 3), ("foot", 3)]


def test_further_classes_are_left_out_when_there_is_no_room():
    templates = StrippedTemplates(most=1)
    runs, links = [StrippedRun("Menu", 1, 0)], [("http://h/", "Home")]
    added = [templates.add(StrippedClass("h", name, 1), runs, links) for name in ("h#1", "h#2", "h#1")]
    assert added == [True, False, True]
    assert [one["id"] for one in templates.records()] == ["h#1"]


# Crawls


def test_what_is_stripped_from_several_pages_is_in_the_template(tmp_path):
    path = tmp_path / "some" / "templates.jsonl"
    settings = {"PAGELETS_TEMPLATES": str(path), "PAGELETS_EXPORT": "all"}
    with SiteServer(SITE) as server:
        found = crawl(tmp_path, "site", url=server.url("index.html"), settings=settings)
    templates = {one["id"]: one for one in read(path)}
    assert templates.keys() == {line["template"]["id"] for line in found.lines}
    assert found.stat("templates/exported") == len(templates)
    texts: dict[str, list[set[str]]] = {}
    links: dict[str, list[set[tuple[str, str]]]] = {}
    for line in found.lines:
        stripped = [pagelet for pagelet in line["pagelets"] if pagelet["role"] != "content"]
        name = line["template"]["id"]
        texts.setdefault(name, []).append({part for one in stripped for part in one["text"].split("\n") if part})
        links.setdefault(name, []).append({pair for one in stripped for pair in pairs(one)})
    for name, one in templates.items():
        assert one["pages"] == len(texts[name])
        for kept, wanted in ((one["text"].split("\n"), texts[name]), (pairs(one), links[name])):
            frequent = [each for each in set().union(*wanted) if sum(each in some for some in wanted) >= 2]
            assert [each for each in frequent if each not in kept] == []
            assert frequent
    [largest] = [one for one in templates.values() if one["pages"] == max(o["pages"] for o in templates.values())]
    anchors = [anchor for _, anchor in pairs(largest)]
    assert anchors.index("Docs Home") < anchors.index("Status Worker") < anchors.index("Changelog")
    assert largest["text"].endswith("The Apache Software Foundation")
    assert found.errors == found.warnings == []


def pairs(one):
    return [(link["url"], link["anchor"]) for link in one["links"]]


def test_an_archive_has_a_template_for_each_class(tmp_path):
    path = tmp_path / "templates.jsonl"
    archive = warc(tmp_path / "crawl.warc", pages("http://example.com/"))
    crawl(tmp_path, "archive", path=archive, settings={"PAGELETS_TEMPLATES": str(path)})
    templates = read(path)
    assert [(one["id"], one["site"], one["pages"]) for one in templates] == [
        (f"example.com#{number}", "example.com", len(NAMES) // 2) for number in (1, 2)
    ]
    for one, kind in zip(templates, ("blog", "shop"), strict=True):
        menu = [(f"http://example.com/{name}", f"Menu entry {name}") for name in NAMES if name.startswith(kind)]
        assert pairs(one) == menu
        assert {link["pages"] for link in one["links"]} == {len(NAMES) // 2}
        assert one["text"].split("\n") == ["The slogan of the house", "", *(anchor for _, anchor in menu), "",
                                           "All rights reserved by the house"]  # fmt: skip


STRANGER = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        for name in "abcdef":
            yield Request(self.base + "/" + name)
    def parse(self, response):
        yield {"kind": "first"}
        yield {"kind": "second"}
"""


def test_a_page_with_several_items_counts_once_with_any_spider(tmp_path):
    path = tmp_path / "templates.jsonl"
    path.write_text("of an earlier crawl", encoding="utf-8")
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        run_spider(tmp_path, STRANGER, base=server.url("")[:-1], settings={"PAGELETS_TEMPLATES": str(path)})
    [template] = read(path)
    assert {link["pages"] for link in template["links"]} == {6}
    assert [anchor for _, anchor in pairs(template)] == [
        "Menu entry home",
        *(f"Menu entry {name}" for name in "abcdef"),
    ]
    assert sorted(each.name for each in tmp_path.iterdir() if "templates" in each.name) == ["templates.jsonl"]


def test_nothing_is_written_if_no_page_was_cleaned(tmp_path):
    path = tmp_path / "templates.jsonl"
    path.write_text("of an earlier crawl", encoding="utf-8")
    with SiteServer(routes={"/": answer(page("home"), Content_Type="text/plain")}) as server:
        crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_TEMPLATES": str(path)}, code=1)
    assert path.read_text(encoding="utf-8") == "of an earlier crawl"


@pytest.mark.parametrize("name", ["folder", "file/templates.jsonl"])
def test_a_path_that_cannot_be_written_ends_the_crawl_before_it_begins(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    path = str(tmp_path / name)
    settings = {"PAGELETS_TEMPLATES": path}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(f"PAGELETS_TEMPLATES cannot be used: {path}: ")
