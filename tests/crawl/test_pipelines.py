"""Items of any type, from any callback, are matched with their page; items without a page pass unchanged."""

from typing import Any

import pytest

from scrapy_pagelets.metadata.metadata import TOLD
from tests.crawling import answer, menu_site, not_found, run_spider
from tests.server import SiteServer

KINDS = """
import asyncio
import dataclasses
import attrs

@dataclasses.dataclass
class Full:
    kind: str
    url: str = None
    title: str = ""
    language: str = None
    fetched_at: str = None
    text: str = ""
    pagelets: list = None
    template: dict = None

@dataclasses.dataclass
class Bare:
    kind: str
    url: str

@dataclasses.dataclass(frozen=True)
class Frozen:
    kind: str
    text: str = ""

@attrs.define
class Attrs:
    kind: str
    text: str = ""
    pagelets: list = None

@attrs.define
class Picky:
    kind: str
    text: int = attrs.field(default=0, validator=attrs.validators.instance_of(int))

class FullItem(scrapy.Item):
    kind = scrapy.Field()
    text = scrapy.Field()
    pagelets = scrapy.Field()

class BareItem(scrapy.Item):
    kind = scrapy.Field()

class First:
    async def process_item(self, item):
        await asyncio.sleep(0)
        return dict(item, kind="replaced") if isinstance(item, dict) and item["kind"] == "to replace" else item

class Last:
    def process_item(self, item):
        return {"kind": "string", "value": item} if isinstance(item, str) else item

class Spider(scrapy.Spider):
    name = "stranger"
    custom_settings = {"ITEM_PIPELINES": {First: 10, Last: 900}}
    pages = {"/": "parse_dict", "/a": "parse_data", "/b": "parse_attrs", "/c": "parse_items", "/d": "parse_late"}

    async def start(self):
        yield {"kind": "from start"}
        for path, callback in self.pages.items():
            yield Request(self.base + path, getattr(self, callback))

    def parse_dict(self, response):
        yield {"kind": "dict"}
        yield {"kind": "to replace"}
        yield {"kind": "own", "url": "urn:mine", "title": "Mine", "text": "my text"}
        yield Request(self.base + "/file", self.parse_file)
        yield Request(self.base + "/gone", self.parse_file, errback=self.failed)
        yield Request("http://127.0.0.1:1/", self.parse_file, errback=self.failed)
        for number in range(20):
            yield {"kind": "one of many"}

    def parse_data(self, response):
        yield Full("full")
        yield Bare("bare", response.url)
        yield Frozen("frozen")

    def parse_attrs(self, response):
        return [Attrs("attrs"), Picky("picky")]

    def parse_items(self, response):
        yield FullItem(kind="full item")
        yield BareItem(kind="bare item")
        yield "neither this"

    async def parse_late(self, response):
        yield {"kind": "early"}
        other = await self.crawler.engine.download_async(Request(self.base + "/e"))
        yield {"kind": "late", "other": other.url}

    def parse_file(self, response):
        yield {"kind": "file"}

    def failed(self, failure):
        yield {"kind": "failed"}
"""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    with SiteServer(routes=menu_site("home", *"abcde")) as server:
        server.routes |= {"/file": answer(b"not a page", Content_Type="text/plain"), "/gone": not_found}
        settings = {"RETRY_ENABLED": 0}
        found = run_spider(tmp_path_factory.mktemp("kinds"), KINDS, base=server.url("")[:-1], settings=settings)
    items: dict[str, list[dict[str, Any]]] = {}
    for line in found.lines:
        items.setdefault(line["kind"], []).append(line)
    return found, items, server


@pytest.mark.parametrize(
    ("kind", "name", "number"),
    [
        ("dict", "home", 1),
        ("replaced", "home", 1),
        ("one of many", "home", 20),
        ("full", "a", 1),
        ("attrs", "b", 1),
        ("full item", "c", 1),
        ("early", "d", 1),
        ("late", "d", 1),
    ],
)
def test_items_with_the_fields_get_the_values_of_their_page(kinds, kind, name, number):
    items = kinds[1][kind]
    assert len(items) == number
    for item in items:
        assert item["text"].startswith(f"Heading {name}\n\n{name}word0 ")
        assert item["text"].endswith(f" {name}word59")
        assert [pagelet["text"] for pagelet in item["pagelets"]] == [item["text"]]


def test_url_title_and_similar_fields_are_filled_if_the_spider_has_not_set_them(kinds):
    [full], [own] = kinds[1]["full"], kinds[1]["own"]
    assert full["url"] == kinds[2].url("a")
    assert full["title"] == "Title of a"
    assert full["language"] == "en"
    assert full["template"]["id"].endswith("#1")
    assert (own["url"], own["title"], own["language"]) == ("urn:mine", "Mine", "en")
    assert own["text"] == "my text"
    assert own["content"].startswith("Heading home\n\nhomeword0 ")


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        ("bare", {"url"}),
        ("frozen", {"text"}),
        ("bare item", set()),
        ("picky", {"text"}),
        ("string", {"value"}),
        ("from start", set()),
        ("file", set()),
        ("failed", set()),
    ],
)
def test_items_without_fields_or_page_pass_unchanged(kinds, kind, left):
    for item in kinds[1][kind]:
        assert item.keys() == {"kind"} | left
        assert item.get("text") in (None, "", 0)


def test_items_that_pass_unchanged_are_counted(kinds):
    found, items, _ = kinds
    assert len(items["failed"]) == 2
    assert found.stat("items/no_page") == 4  # from start, the file, two errbacks
    assert found.stat("fields/missing") > 0
    assert found.stat("fields/renamed") == 1
    assert len([w for w in found.warnings if w.startswith("There is no ") and " in Bare: " in w]) == 1
    assert len([w for w in found.warnings if "the spider's value stays" in w and "of dict" in w]) == 1
    assert found.errors == []


def test_fields_get_other_names_or_are_left_out(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base)
        def parse(self, response):
            yield {"text": "mine", "title": "Mine"}
    """
    fields = {"text": "clean", "pagelets": None, "fetched_at": None, "template": None}
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        settings = {"PAGELETS_FIELDS": fields, "PAGELETS_FORMATS": "text,html"}
        found = run_spider(tmp_path, source, base=server.url(""), settings=settings)
    [item] = found.lines
    duplicates = {"near_duplicate_of", "similarity", "sketch"}
    ours = {"title", "headline", "url", "language", "clean", "html", "comments", "posts", "robots", "content_hash"}
    ours |= {*TOLD, *duplicates}
    assert item.keys() == {"text"} | ours
    assert item["text"] == "mine"
    assert item["clean"].endswith("homeword59")
    assert found.warnings == []


@pytest.mark.parametrize("probe", [0, 3])
def test_changes_of_a_spider_to_its_tree_have_no_effect(tmp_path, probe):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base)
        def parse(self, response):
            for path in ("h1", ".plain-header"):
                response.css(path).drop()
            for node in response.css("p"):
                node.root.text = "changed"
            yield {"url": response.url}
    """
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = run_spider(tmp_path, source, base=server.url(""), settings={"PAGELETS_PROBE": probe})
    [item] = found.lines
    assert "Heading home\n\nhomeword0" in item["text"]
    assert "changed" not in item["text"]
    xpaths = {xpath for pagelet in item["pagelets"] for xpath in pagelet["xpaths"]}
    assert xpaths == {"/html/body/div[2]"}
    assert found.errors == []


def test_the_item_of_a_page_that_cannot_be_cut_passes_unchanged(tmp_path):
    broken = """
import scrapy_pagelets.feed.page_record
def labels_of(*args):
    raise RuntimeError("made up")
scrapy_pagelets.feed.page_record.labels_of = labels_of
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base)
    def parse(self, response):
        yield {"url": response.url, "mine": 1}
"""
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = run_spider(tmp_path, broken, base=server.url(""), traceback=True)
    assert [line["mine"] for line in found.lines] == [1]
    assert found.stat("pages/failed") == 1
    assert len(found.errors) == 1
    assert "could not be cut into pagelets" in found.errors[0]
