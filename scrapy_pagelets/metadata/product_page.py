"""The product that a page shows beside its heading: price, availability, number and brand."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.metadata import product_values as values
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import ENTRY, OFFER
from scrapy_pagelets.page.nodes import TAG, TEXT, rows_with
from scrapy_pagelets.page.page import Page

#: Leaves behind and before the heading that are looked at, for prices, for what stands right beside it, and for labels.
_AFTER, _BEFORE, _BESIDE, _LABELS = 150, 30, 6, 400
_MOST_LEAVES: Final = 12  # leaves of one price
_LONGEST: Final = 80  # characters of one price
_LISTED: Final = 3  # elements of one path from which on they are those of a list
_KIN: Final = 60  # leaves behind a price within which those of a list have others of their kind
_MOST_READ: Final = 40  # rows with the name of a price, and leaves without one, that are read
_BUTTONS: Final = [TAG[name] for name in ("button", "input", "a")]
_LONGEST_BRAND, _BRAND_WORDS = 40, 5  # characters and words of a brand
_PRICE_ALONE: Final = lazily(r"\D{0,16}\d[\d.,'’\s]*\D{0,8}")
_RANGE: Final = lazily(r"\D{0,6}?(?:[-–—~〜]|\b(?:to|bis|до|a|à|até|do|tot)\b)\D{0,6}", re.IGNORECASE)
_OF_UNIT: Final = lazily(r"\D{0,4}(?:/|\b(?:per|pro|je|par|por|al|за)\b)\s*\w", re.IGNORECASE)
_NOT_NOW: Final = lazily(
    r"\b(?:was|regular|original|rrp|msrp|list|retail|statt|uvp|vorher|avant|antes|prima|van|before|instead of|"
    r"compare at|saved?|sparen|off|ship\w*|delivery|versand|over|under)\b",
    re.IGNORECASE,
)
_MARKS: Final = " :：\n\t〈〉《》【】"  # around a label and its value
_NUMBER: Final = lazily(r"(?=[\w./-]{3})[\w./-]*\d[\w./-]*")
_PARTED: Final = lazily(r"(?=(?:\D?\d){6})\d+(?:[/.-]\d+){1,3}")
_IN_ADDRESS: Final = lazily(
    r"(?<![A-Za-z0-9])(?:\d{5,15}|(?=[A-Z]*\d)(?=(?:[A-Z]*\d){2})[A-Z0-9]{8,14})(?![A-Za-z0-9])"
)
_MOST_IN_ADDRESS: Final = 3
_DECLARED: Final = lazily(r"(?:^|\s)type-product(?:$|\s)")
_CARD: Final = 2  # elements around a price that may be a card
#: Whether an element has a heading that is a link.
_LEADING: Final = etree.XPath("boolean((h2|h3|h4|h5|*/h2|*/h3|*/h4|*/h5)//a[@href and not(starts-with(@href,'#'))])")
_HAS_NUMBER: Final = etree.XPath(
    "boolean(descendant::*[@value=$it or @data-product-id=$it or @data-productid=$it or @data-id=$it or @data-sku=$it"
    " or @data-item-id=$it or @data-asin=$it or @data-product=$it or @data-product_id=$it or @data-pid=$it])"
)


class _Price(NamedTuple):
    lowest: float
    highest: float | None
    text: str
    row: int = -1  # of the element that is named so, or has it near behind the heading
    beside: bool = False  # whether it stands right beside the heading, with its currency


class ShownProduct:
    """The product that a page shows; each value is None if the page does not show it for sure.

    ``name``: what it is called, by which its place is found if it has no heading.
    """

    def __init__(self, page: Page, headline: Headline | None, name: str | None = None) -> None:
        self._page = page
        nodes = page.nodes
        named = nodes.strings.index(name) if headline is None and name in nodes.strings else -1
        self._heading = nodes.leaves_of(headline.row) if headline else slice(max(named, 0), named + 1)
        self._kinds = [0] * len(nodes.looks)
        for number in (nodes.signs & OFFER).nonzero()[0].tolist():
            self._kinds[number] = values.kinds_of(nodes.looks[number])

    @property
    def is_declared(self) -> bool:
        """Whether the element with its heading says that it is a product, as WooCommerce does."""
        nodes, place = self._page.nodes, self._heading.start
        own = (row for row in rows_with(nodes, ENTRY) if nodes.first_leaf[row] <= place < nodes.last_leaf[row])
        return any(_DECLARED.search(nodes.looks[nodes.look.item(row)][2]) for row in own)

    @property
    def is_offered(self) -> bool:
        """Whether it shows a price or a control to buy."""
        return self._is_sold or self._price is not None

    @property
    def is_labelled(self) -> bool:
        """Whether it labels its number and its brand, and shows a price or says that it has none in stock."""
        is_labelled = all(any(self._labelled(each)) for each in (values.NUMBER_LABELS, values.BRAND_LABELS))
        return is_labelled and (self._price is not None or self._availability() == "OutOfStock")

    @property
    def is_alone(self) -> bool:
        """Whether it shows a price, right beside the heading or with a control to buy, and few others of its kind."""
        price, nodes = self._price, self._page.nodes
        if price is None or price.row < 0 or not (price.beside or self._is_sold):
            return False
        row = price.row
        near = (nodes.first_leaf >= self._heading.start) & (nodes.first_leaf < nodes.first_leaf[row] + _KIN)
        kin = near & (nodes.signature == nodes.signature[row]) & (nodes.tag != TEXT)
        return bool(np.count_nonzero(kin & (self._around & values.RELATED == 0)) < _LISTED)

    @property
    def names_a_price(self) -> bool:
        """Whether the names of some element speak of a price: a quick look."""
        return any(map(values.PRICE.__and__, self._kinds))

    def facts(self) -> dict[str, Any]:
        """What it shows, by the names of the feed."""
        price = self._price
        told = {
            "price": price and price.lowest,
            "highest_price": price and price.highest,
            "currency": self._currency(price.text) if price else None,
            "availability": self._availability(),
            "sku": self._number(),
            "id": self._in_address(),
            "mpn": _first(_word_with_digit, self._labelled(values.MAKERS_NUMBER_LABELS)),
            "gtin": next(filter(None, map(values.gtin_of, self._labelled(values.GTIN_LABELS))), None),
            "brand": self._brand(),
        }
        return {field: value for field, value in told.items() if value is not None}

    def _currency(self, text: str) -> str | None:
        """That of a price itself, else that before the next one, which may be in another one, else the first."""
        ends = [end for _, *around in values.amounts_in(text) for end in around][1:3]
        told = (values.currency_of(text[:end], self._page.language, self._page.url) for end in (*ends, None))
        return next(filter(None, told), None)

    @cached_property
    def _is_sold(self) -> bool:
        """Whether there is a control to buy."""
        return any(kind & values.CART for kind in self._kinds)

    @cached_property
    def _of_rows(self) -> Ints:
        """(n,) what the names of each row say."""
        column: Ints = np.array(self._kinds, np.int64)[self._page.nodes.look]
        return column

    @cached_property
    def _around(self) -> Ints:
        """(n,) what those of each row and of the elements around it say."""
        return self._page.nodes.inherit(self._of_rows.copy(), np.bitwise_or)

    def _rows(self, kind: int, before: int, after: int) -> Iterator[int]:
        """The rows with a name, but those of other products: behind the heading, then before it."""
        nodes = self._page.nodes
        first = nodes.first_leaf
        chosen = (self._of_rows & kind > 0) & (self._around & values.RELATED == 0) & (nodes.tag != TEXT)
        later = chosen & (first >= self._heading.stop) & (first < self._heading.stop + after)
        earlier = chosen & (first >= self._heading.start - before) & (nodes.last_leaf <= self._heading.start)
        yield from later.nonzero()[0].tolist()
        yield from earlier.nonzero()[0].tolist()[::-1]

    @cached_property
    def _price(self) -> _Price | None:
        """The price that names of elements tell, rather one beside a higher regular one, else one that stands alone."""
        named = (self._read(leaves, row) for leaves, row in self._named(values.FORMER | values.OTHER))
        struck_out = (self._read(leaves, row) for leaves, row in self._named(values.OTHER))
        found = filter(None, chain(named, map(self._read, self._unnamed()), struck_out))
        price, nodes = next(found, None), self._page.nodes
        if price is None or price.row < 0:
            return price
        label = nodes.strings[nodes.first_leaf.item(price.row) - 1][:_LONGEST]
        if not (self._around[price.row] & values.REGULAR or (":" in label and _NOT_NOW.search(label))):
            return price
        lower = (each for each in found if each.lowest < price.lowest and each.row > price.row)
        near = (each for each in lower if nodes.first_leaf[each.row] < nodes.last_leaf[price.row] + _BESIDE)
        return next(near, price)

    def _read(self, leaves: list[int], row: int = -1) -> _Price | None:
        text = self._text(leaves)
        amounts = current(text) if len(text) <= _LONGEST else None
        if amounts is None:
            return None
        start, stop = self._heading.start, self._heading.stop
        gap = leaves[0] - stop if leaves[0] >= stop else start - leaves[-1]
        beside = row >= 0 and stop > 0 and gap <= _BESIDE and values.has_currency(text)
        if row < 0 and 0 < stop <= leaves[0] < stop + _BEFORE:
            row = self._page.nodes.parent.item(self._page.nodes.leaves.item(leaves[0]))
        return _Price(*amounts, text, row, beside)

    def _named(self, others: int) -> Iterator[tuple[list[int], int]]:
        """The leaves of each price that the names of an element tell, without some kinds, and its row."""
        nodes = self._page.nodes
        for row in [*self._rows(values.PRICE, _BEFORE, _AFTER)][:_MOST_READ]:
            few = nodes.last_leaf.item(row) - nodes.first_leaf.item(row) <= 2 * _MOST_LEAVES
            if few and not nodes.anchor.item(row) and not self._is_listed(row) and not self._is_on_card(row):
                leaves = self._current_leaves(row, others)
                if 0 < len(leaves) <= _MOST_LEAVES:
                    yield leaves, row

    def _current_leaves(self, row: int, others: int) -> list[int]:
        """The leaves of a row that are not of other prices."""
        nodes = self._page.nodes
        leaves = range(nodes.first_leaf.item(row), nodes.last_leaf.item(row))
        kinds = {leaf: self._around.item(nodes.leaves.item(leaf)) for leaf in leaves}
        others |= values.NUMBER & ~self._around.item(row)
        usable = [leaf for leaf in leaves if not kinds[leaf] & others]
        now = [leaf for leaf in usable if not kinds[leaf] & values.REGULAR]
        return now if any(map(str.isdigit, self._text(now))) else usable

    def _unnamed(self) -> Iterator[list[int]]:
        """Each leaf near the heading that says nothing but a price with its currency."""
        nodes, read = self._page.nodes, 0
        for leaf in self._window(_AFTER // 2, _BEFORE // 2):
            text, row = nodes.strings[leaf], nodes.leaves.item(leaf)
            if len(text) < 30 and _PRICE_ALONE.fullmatch(text) and read < _MOST_READ:
                read += 1
                above = nodes.parent.item(row)
                spoilt = nodes.anchor[row] or self._around[row] & (values.FORMER | values.OTHER | values.RELATED)
                spoilt = spoilt or nodes.tag[above] == TAG["option"]
                spoilt = spoilt or "line-through" in nodes.elements[above].get("style", "")
                if not spoilt and not self._is_listed(row) and values.has_currency(text):
                    yield [leaf]

    def _is_listed(self, row: int) -> bool:
        """Whether as many elements stand alike as in a list."""
        shape = self._page.nodes.shape
        return bool(np.count_nonzero(shape == shape[row]) >= _LISTED)

    def _is_on_card(self, row: int) -> bool:
        """Whether a heading that leads to another page stands beside a row, as on the card of another product."""
        nodes = self._page.nodes
        for _ in range(_CARD):
            row = nodes.parent.item(row)
            if row < 0 or nodes.first_leaf[row] <= self._heading.start < nodes.last_leaf[row]:
                return False
            if _LEADING(nodes.elements[row]):
                return True
        return False

    def _window(self, after: int, before: int) -> list[int]:
        """The leaves behind the heading, then those before it, from near to far."""
        start, stop = self._heading.start, self._heading.stop
        later = range(stop, min(len(self._page.nodes.leaves), stop + after))
        return [*later, *range(start - 1, max(-1, start - 1 - before), -1)]

    def _text(self, leaves: Iterable[int]) -> str:
        """The text of leaves; cents of their own are parted by a point."""
        nodes, text = self._page.nodes, ""
        for leaf in leaves:
            piece = nodes.strings[leaf]
            if text and text[-1].isdigit() and re.fullmatch(r"\d\d\b\D*", piece):
                text += "."
            elif text and not re.search(r"\d[.,]$", text) and not re.match(r"[.,](?:\d|$)", piece):
                text += " "
            text += piece
        return text

    def _availability(self) -> str | None:
        """What a text or a name near the heading tells, a labelled one first; in stock if a control to buy is on."""
        nodes = self._page.nodes
        near = [leaf for leaf in self._window(_AFTER, _BEFORE) if len(nodes.strings[leaf]) <= _LONGEST]
        own = ~nodes.hidden & (self._around & values.RELATED == 0)
        seen = [leaf for leaf in near if own[nodes.leaves[leaf]]]
        labelled = (values.stock_of(nodes.strings[leaf]) for leaf in seen if ":" in nodes.strings[leaf])
        if told := next(filter(None, labelled), None):  # some shops keep the control when all is sold
            return told
        buying = (nodes.leaves.item(leaf) for leaf in seen if values.is_buying(nodes.strings[leaf]))
        if any(not self._is_listed(row) and not self._is_disabled(row) for row in buying):
            return "InStock"
        if told := next(filter(None, (values.stock_of(nodes.strings[leaf]) for leaf in seen)), None):
            return told
        named = {self._of_rows.item(row) & (values.IN_STOCK | values.OUT_OF_STOCK) for row in self._stock_rows()}
        if len(named) == 1:
            return "InStock" if named == {values.IN_STOCK} else "OutOfStock"
        if not self._is_sold or self._price is None:
            return None
        buttons = np.flatnonzero((self._of_rows & values.CART > 0) & np.isin(nodes.tag, _BUTTONS)).tolist()
        states = ["disabled" in nodes.elements[row].attrib for row in buttons[:_MOST_READ]]
        return None if states and states[0] else "InStock"

    def _is_disabled(self, row: int) -> bool:
        above = islice(self._page.nodes.above(row), _CARD + 1)
        return any("disabled" in self._page.nodes.elements[each].attrib for each in above)

    def _stock_rows(self) -> Iterator[int]:
        """The rows with a name of availability: near the heading, or around it."""
        nodes = self._page.nodes
        yield from self._rows(values.IN_STOCK | values.OUT_OF_STOCK, _BEFORE, _AFTER)
        if self._heading.stop:
            around = (nodes.first_leaf <= self._heading.start) & (nodes.last_leaf >= self._heading.stop)
            yield from np.flatnonzero(around & (self._of_rows & (values.IN_STOCK | values.OUT_OF_STOCK) > 0)).tolist()

    def _labelled(self, labels: re.Pattern[str]) -> Iterator[str]:
        """What stands behind some labels, in the same leaf or in the next one."""
        nodes, strings = self._page.nodes, self._page.nodes.strings
        for leaf in self._window(_LABELS, _BEFORE):
            if len(strings[leaf]) <= _LONGEST and (match := labels.match(strings[leaf].lstrip(_MARKS))):
                # A colon may stand apart.
                behind = (text for text in strings[leaf + 1 : leaf + 3] if text.strip(_MARKS))
                value = match["value"].strip(_MARKS) or next(behind, "")
                if value and len(value) <= _LONGEST and not self._around[nodes.leaves[leaf]] & values.RELATED:
                    yield value.strip(_MARKS)

    def _number(self) -> str | None:
        """The number of the article: behind a label, or in an element with its name."""
        named = (self._joined(row) for row in self._rows(values.NUMBER, _BEFORE, _AFTER))
        behind = (match["value"] if (match := values.NUMBER_LABELS.match(text)) else text for text in named)
        return _first(_word_with_digit, self._labelled(values.NUMBER_LABELS), behind, self._parts_of_address())

    def _parts_of_address(self) -> Iterator[str]:
        """The numbers alone beside the heading whose digits are a part of the address: "1044/320"."""
        near = (self._page.nodes.strings[leaf] for leaf in self._window(_BESIDE, 0))
        digits = ((text, "".join(filter(str.isdigit, text))) for text in near if _PARTED.fullmatch(text))
        yield from (text for text, number in digits if number in self._page.url)

    def _in_address(self) -> str | None:
        """A number in the address of the page that the page has as a number of its own."""
        parts = urlsplit(self._page.url)
        some = list(dict.fromkeys(_IN_ADDRESS.findall(f"{parts.path}?{parts.query}")[::-1]))[:_MOST_IN_ADDRESS]
        shown = " ".join(text for text in self._page.nodes.strings if len(text) <= _LONGEST) if some else ""
        return next((it for it in some if _HAS_NUMBER(self._page.root, it=it) or re.search(rf"\b{it}\b", shown)), None)

    def _brand(self) -> str | None:
        named = (self._joined(row) for row in self._rows(values.BRAND, _BESIDE, _AFTER // 3))
        return _first(_brand, self._labelled(values.BRAND_LABELS), named)

    def _joined(self, row: int) -> str:
        leaves = self._page.nodes.leaves_of(row)
        return self._text(range(leaves.start, leaves.stop)) if leaves.stop - leaves.start <= 3 else ""


def _first(read: Callable[[str], str | None], *values: Iterable[str]) -> str | None:
    return next(filter(None, (read(value) for each in values for value in each)), None)


def _word_with_digit(text: str) -> str | None:
    match = _NUMBER.match(text.lstrip("#№ "))
    return values.number_of(match[0].rstrip("./-")) if match else None


def _brand(text: str) -> str | None:
    match = values.BRAND_LABELS.fullmatch(text)
    name = values.text_of(match["value"] if match else text.rpartition(": ")[2]) or ""
    good = len(name) <= _LONGEST_BRAND and len(name.split()) <= _BRAND_WORDS and any(map(str.isalpha, name))
    return name if good else None


def current(text: str) -> tuple[float, float | None] | None:
    """Return the price in a text, and the highest if it is a range, without former prices and those of a unit."""
    found: list[float] = []
    end, last = 0, 0.0
    for amount, start, stop in values.amounts_in(text):
        between = text[end:start]
        if found and found[-1] == last and amount > last and _RANGE.fullmatch(between):
            return last, amount
        if not _NOT_NOW.search(between) and text.count("(", 0, start) <= text.count(")", 0, start):
            found += [] if _OF_UNIT.match(text[stop:]) and found else [amount]
        end, last = stop, amount
    return (min(found[:2]), None) if found else None
