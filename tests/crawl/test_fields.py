"""Our fields on items of any type: values that a spider has set stay."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from itemadapter import ItemAdapter
from scrapy import Field, Item, Spider
from scrapy.utils.test import get_crawler

from scrapy_pagelets.pipelines.page_pipeline import _OPTIONAL, PagePipeline, value_of
from scrapy_pagelets.session import page_context
from scrapy_pagelets.session.config import FIELDS
from scrapy_pagelets.session.crawl_session import session_of
from tests.crawling import answer, crawl, menu_site, run_spider
from tests.server import SiteServer

OURS = {name: f"our {name}" for name in FIELDS}


class Blanks(Spider):
    """A spider whose blank fields the pipelines fill, like those of our own spiders."""

    name = "blanks"
    yields_blanks = True


class Putting:
    """Sets our fields on items, as the pipelines of one crawl do, one item at a time."""

    def __init__(self, spider: type[Spider] = Spider, **settings: Any) -> None:
        self.crawler = get_crawler(settings_dict=settings)
        self.crawler.spider = spider("stranger")
        self.pipeline = PagePipeline(self.crawler)

    def __call__(self, item: Any, *names: str) -> dict[str, Any]:
        """Set fields on an item; return their values by their names in the feed."""
        before = page_context._places.set({})
        try:
            for name in names or FIELDS:
                self.pipeline.put(item, name, OURS[name])
            return {name: self.pipeline.get(item, name) for name in page_context.current_places()}
        finally:
            page_context._places.reset(before)

    def stat(self, name: str) -> Any:
        assert self.crawler.stats is not None
        return self.crawler.stats.get_value(f"pagelets/fields/{name}", 0)

    def close(self) -> None:
        asyncio.run(session_of(self.crawler).spider_closed())


@pytest.fixture(scope="module")
def putting() -> Iterator[Putting]:
    found = Putting()
    yield found
    found.close()


NAMES = [*FIELDS, "content", *(f"page_{name}" for name in FIELDS), "author"]
VALUES = st.none() | st.booleans() | st.integers() | st.text("ab", max_size=3) | st.lists(st.integers(), max_size=2)


@given(own=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8), kind=st.sampled_from([dict, OrderedDict]))
def test_whatever_a_spider_has_set_in_a_dict_stays(putting, own, kind):
    item = kind(own)
    before = putting.stat("missing")
    placed = putting(item)
    assert {name: item[name] for name in own} == own
    assert placed == {name: OURS[name] for name in placed}
    assert len(item) == len(own) + len(placed)
    assert putting.stat("missing") - before == len(FIELDS) - len(placed)


@pytest.mark.parametrize("value", ["mine", "", None, 0, False, [], {}, b"", ()])
@pytest.mark.parametrize(("name", "other"), [("text", "content"), ("pagelets", "page_pagelets"), ("url", "page_url")])
def test_in_a_dict_our_value_goes_under_another_name(putting, name, other, value):
    item = {name: value}
    assert putting(item, name) == {name: OURS[name]}
    assert item == {name: value, other: OURS[name]}


@dataclass
class Data:
    """Defaults of all kinds, and a field that must be given."""

    markdown: Any
    text: str | None = None
    html: str = ""
    template: Any = 0
    pagelets: list[Any] = field(default_factory=list)
    sketch: Any = "none yet"


@dataclass(slots=True)
class Slotted:
    text: str = ""
    late: str = field(init=False, repr=False)


@dataclass(frozen=True)
class Frozen:
    text: str = ""


@attrs.define
class Attrs:
    text: str | None = None
    pagelets: list[Any] = attrs.Factory(list)
    template: Any = attrs.field(factory=dict)
    markdown: Any = attrs.field(kw_only=True, default="")


@attrs.frozen
class FrozenAttrs:
    text: str = ""


def not_long(item: Any, attribute: Any, value: Any) -> None:
    if value is not None and len(value) > 3:
        raise RuntimeError("too long")


@attrs.define
class Picky:
    text: str | None = attrs.field(default=None, validator=not_long)


class Declared(Item):
    text = Field()
    pagelets = Field()


class Empty(Item):
    pass


@pytest.mark.parametrize(
    ("item", "placed"),
    [
        (Data("x"), {"text", "html", "pagelets"}),
        (Data(None, text=""), {"html", "pagelets"}),
        (Data("", text="mine", html="mine", pagelets=[1]), set()),
        (Data([], html=None), {"text", "pagelets"}),  # type: ignore[arg-type]
        (Data({}, sketch=None), {"text", "html", "pagelets"}),
        (Slotted(), {"text"}),
        (Slotted("mine"), set()),
        (Frozen(), set()),
        (Frozen("mine"), set()),
        (Attrs(), {"text", "pagelets", "template", "markdown"}),
        (Attrs("", [], {}, markdown=None), {"pagelets", "template"}),
        (Attrs("mine", [1], {"a": 1}, markdown="mine"), set()),
        (FrozenAttrs(), set()),
        (Picky(), set()),
        (Declared(), {"text", "pagelets"}),
        (Declared(text="mine"), {"pagelets"}),
        (Declared(text=None, pagelets=[]), set()),
        (Empty(), set()),
    ],
    ids=lambda value: ",".join(sorted(value)) if isinstance(value, set) else repr(value),
)
def test_declared_fields_that_are_not_set_are_filled(putting, item, placed):
    before, missing = ItemAdapter(item).asdict(), putting.stat("missing")
    assert putting(item).keys() == placed
    after = ItemAdapter(item).asdict()
    assert {name: after[name] for name in before.keys() - placed} == {
        name: before[name] for name in before.keys() - placed
    }
    assert putting.stat("missing") - missing == len(FIELDS) - len(_OPTIONAL) - len(placed)


@pytest.mark.parametrize("item", ["text", b"", 5, None, [], ({},), object(), Data, Frozen])
def test_objects_that_are_not_items_stay_unchanged(putting, item):
    missing = putting.stat("missing")
    assert putting(item) == {}
    assert value_of(item, "text") is None
    assert putting.stat("missing") - missing == len(FIELDS) - len(_OPTIONAL)


def test_a_defaultdict_does_not_create_values(putting):
    item: defaultdict[str, Any] = defaultdict(list, author="x")
    assert value_of(item, "text") is None
    assert putting(item, "text") == {"text": "our text"}
    assert item == {"author": "x", "text": "our text"}


def test_each_type_and_field_is_reported_once(caplog):
    putting = Putting()
    for _ in range(3):
        putting.pipeline = PagePipeline(putting.crawler)  # each of several sets fields
        putting({"text": "mine"}, "text", "html")
        putting({"text": "mine", "content": "mine"}, "text")
        putting(Declared(text="mine"), "text", "template", "sketch", "headline", "content_hash")
        putting(Frozen(), "text")
        putting("mine", "text", "sketch")
    putting.close()
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "Field 'text' of dict: the spider's value stays, ours goes into 'content'; "
        "PAGELETS_FIELDS can give it another name",
        "Field 'text' of dict: the spider's value stays, ours is left out; "
        "give it another name in PAGELETS_FIELDS, or None",
        "Field 'text' of Declared: the spider's value stays, ours is left out; "
        "give it another name in PAGELETS_FIELDS, or None",
        "There is no url, title, language, fetched_at, template, near_duplicate_of, similarity, sketch, changed, "
        "changed_share in Declared: our values are left out; declare these fields, or give them other names in "
        "PAGELETS_FIELDS, or None",
        "Field 'text' of Frozen: the type does not accept our value; change it, or PAGELETS_FIELDS",
        "An object of the type str: this is not an item; yield a dict, a dataclass, an attrs class or an Item",
    ]
    assert (putting.stat("renamed"), putting.stat("missing")) == (3, 21)


def test_names_are_those_of_the_settings():
    putting = Putting(PAGELETS_FIELDS={"text": "body", "html": None, "sketch": "content", "template": "page_pagelets"})
    mine = {"text": "mine", "html": "mine"}
    assert putting(mine, "text", "html", "sketch") == {"text": "our text", "sketch": "our sketch"}
    assert mine == {"text": "mine", "html": "mine", "body": "our text", "content": "our sketch"}
    # A name from the settings is not used for another field.
    taken = {"body": "mine", "pagelets": "mine"}
    assert putting(taken, "text", "pagelets") == {}
    assert taken == {"body": "mine", "pagelets": "mine"}
    putting.close()


def test_blank_fields_of_our_own_spiders_are_filled():
    putting = Putting(Blanks)
    item: dict[str, Any] = {"url": "u", "title": "of a pipeline", "text": None, "pagelets": [], "template": None}
    assert putting(item, "text", "pagelets", "template", "sketch").keys() == {"text", "pagelets", "template", "sketch"}
    assert (item["text"], item["pagelets"], item["title"]) == ("our text", "our pagelets", "of a pipeline")
    assert putting({"text": "of a pipeline"}, "text") == {"text": "our text"}
    putting.close()


# Whole crawls

AGAIN = """
class Uncopyable(dict):
    def __copy__(self):
        raise TypeError("there is one of me")
    __reduce_ex__ = __copy__

class Sized(scrapy.Item):
    size = scrapy.Field()
    text = scrapy.Field()
    def __init__(self, *, size):
        super().__init__(size=size)

class Spider(scrapy.Spider):
    name = "stranger"

    async def start(self):
        yield Request(self.base, errback=self.failed)
        yield Request(self.base + "gone", errback=self.failed)
        yield Request(self.base + "data.json", self.parse_other)

    def parse(self, response):
        item = {}
        for number in range(4):
            item["number"] = number
            yield item
        yield Request(self.base + "a", self.parse_next, cb_kwargs={"item": item})
        yield Uncopyable(kind="one")
        yield Sized(size=9)
        yield {"kind": "blank", "text": None, "title": None, "pagelets": 0}

    def parse_next(self, response, item):
        item["seen"] = sorted(item)
        yield item

    def parse_other(self, response):
        yield {"kind": "json", "text": None}

    def failed(self, failure):
        yield {"kind": "failed", "text": "mine"}
"""


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    routes = menu_site("home", *"abc") | {"/data.json": answer("{}", Content_Type="application/json")}
    with SiteServer(routes=routes) as server:
        return run_spider(tmp_path_factory.mktemp("again"), AGAIN, base=server.url("")), server.url("")


def test_an_object_that_is_yielded_again_is_a_new_item(again):
    found, base = again
    *first, last = sorted((line for line in found.lines if "number" in line), key=lambda line: "seen" in line)
    assert [(line["number"], line["url"]) for line in first] == [(3, base)] * 4  # Scrapy processes it four times
    assert all(line["text"].startswith("Heading home") for line in first)
    assert last["seen"] == ["number"]  # the spider's own object has none of our fields
    assert (last["url"], last["title"]) == (base + "a", "Title of a")
    assert last["text"].startswith("Heading a")
    assert not any("content" in line for line in [*first, last])
    assert found.errors == []


def test_items_that_cannot_be_copied_get_their_fields(again):
    found, _ = again
    [one] = [line for line in found.lines if line.get("kind") == "one"]
    [sized] = [line for line in found.lines if line.get("size") == 9]
    assert one["text"].startswith("Heading home")
    assert sized["text"].startswith("Heading home")


def test_items_of_errbacks_and_of_other_documents_stay_unchanged(again):
    found, _ = again
    others = [line for line in found.lines if line.get("kind") in ("json", "failed")]
    assert others == [{"kind": "failed", "text": "mine"}, {"kind": "json", "text": None}] or others == [
        {"kind": "json", "text": None},
        {"kind": "failed", "text": "mine"},
    ]
    assert found.stat("items/no_page") == 2


def test_none_counts_as_set_by_the_spider(again):
    found, _ = again
    [blank] = [line for line in found.lines if line.get("kind") == "blank"]
    assert (blank["text"], blank["title"], blank["pagelets"]) == (None, None, 0)
    assert blank["content"].startswith("Heading home")
    assert blank["page_pagelets"][0]["text"] == blank["content"]
    assert "page_title" not in blank


def test_a_pipeline_before_ours_may_change_the_lines_of_the_spider_site(tmp_path):
    module = tmp_path / "changing.py"
    module.write_text(
        "class Changing:\n"
        "    def process_item(self, item):\n"
        '        return {**item, "title": "of the pipeline", "kind": "changed"}\n',
        encoding="utf-8",
    )
    settings = {"ITEM_PIPELINES": {"changing.Changing": 50}}
    with SiteServer(routes=menu_site("home", *"abc")) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert len(found.lines) == 4
    for line in found.lines:
        assert (line["title"], line["kind"]) == ("of the pipeline", "changed")
        assert line["text"].startswith("Heading ")
        assert line["pagelets"]
        assert "content" not in line
    assert found.warnings == found.errors == []
