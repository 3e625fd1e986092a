"""Log messages about items are short, whatever the items' type, and leave the items as they are."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import attrs
import pytest
from itemadapter import ItemAdapter
from scrapy import Field, Item
from scrapy.exceptions import DropItem
from scrapy.logformatter import LogFormatter

from scrapy_pagelets.crawler.progress_log import ShortFields
from scrapy_pagelets.session import page_context

LONG = "word " * 1000
OURS = {"text": LONG, "sketch": "0f" * 300, "pagelets": [{"id": 1, "text": LONG}] * 12, "template": {"share": 0.2}}


@dataclass
class Data:
    title: Any
    text: str = ""
    pagelets: list[Any] = field(default_factory=list, repr=False)


@attrs.define
class Checked:
    title: Any
    text: str = attrs.field(default="", validator=attrs.validators.instance_of(str))
    pagelets: list[Any] = attrs.field(factory=list, validator=attrs.validators.instance_of(list))


class Declared(Item):
    title = Field()
    text = Field()
    pagelets = Field()


class Long(dict[str, Any]):
    """There is one of it only."""

    def __copy__(self) -> Any:
        return self


ITEMS = [{"title": LONG, **OURS}, Data(LONG), Checked(LONG), Declared(title=LONG)]


def messages(item: Any, places: dict[str, str], formatter: LogFormatter) -> list[str]:
    def made() -> list[str]:
        page_context._places.set(places)
        results = [
            formatter.scraped(item, None, None),  # type: ignore[arg-type]
            formatter.dropped(item, DropItem("doubled", log_level="DEBUG"), None, None),  # type: ignore[arg-type]
            formatter.item_error(item, ValueError(), None, None),  # type: ignore[arg-type]
        ]
        return [result["msg"] % result["args"] for result in results]

    async def run() -> list[str]:  # in a context of its own
        return made()

    return asyncio.run(run())


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)
def test_our_fields_are_short_and_those_of_the_spider_whole(item):
    fields = ItemAdapter(item)
    for name in fields.field_names() & OURS.keys():
        fields[name] = OURS[name]
    before = fields.asdict()
    for message in messages(item, {name: name for name in OURS}, ShortFields()):
        assert 1000 <= message.count("word") < 1020
    assert fields.asdict() == before
    assert messages(item, {}, ShortFields()) == messages(item, {}, LogFormatter())


def test_an_item_that_cannot_be_copied_is_shown_as_it_is():
    item = Long(text=LONG)
    assert messages(item, {"text": "text"}, ShortFields()) == messages(item, {}, LogFormatter())
    assert item == {"text": LONG}
