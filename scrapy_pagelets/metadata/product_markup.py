"""The product of a page, by its markup (JSON-LD, microdata, RDFa, ``<meta>`` elements) and by what it shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from lxml import etree

from scrapy_pagelets.base.characters import lazily, words
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.metadata.product_page import ShownProduct
from scrapy_pagelets.metadata.product_values import amount_of, availability_of, currency_of, gtin_of, number_of, text_of
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.nodes import values_at
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import Object, by_id, types_of, value_of, values_of

#: The fields of a product, in their order.
FIELDS: Final = ("name", "price", "highest_price", "currency", "availability", "sku", "gtin", "brand")
_TELLING: Final = ("price", "sku", "gtin", "brand")  # those of which a product has one at least
#: The numbers of a product: that of the shop, one of an application or the address, and that of its maker.
_NUMBER_FIELDS: Final = ("sku", "id", "mpn")
#: Types of pages that only show products of a list, or speak of them.
_OTHER: Final = lazily(r"article|posting|collection|itemlist|catalog|group|searchresults|profile", re.IGNORECASE)


def product_of(
    page: Page, headline: Headline | None, metas: Mapping[str, str]
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Return what a page tells of its product, None if it has none or is a list of several; and its numbers and brands.

    Of each field, the first that tells it counts: JSON-LD, microdata, ``<meta>`` elements, RDFa, and what the page
    shows beside its heading. The page alone is believed if its price stands right beside the heading, or it has a
    control to buy.

    ``metas``: the content of ``<meta>`` elements by their names in lower case.
    """
    heading = headline.text if headline else page.title
    declared_products = [each for each in page.objects if _is_product(each)]
    json_ld, others = _of_objects(declared_products, page, heading, by_id(page.objects))
    microdata, further = _by_microdata(page, heading)
    of_metas = _by_metas(metas)
    shown = ShownProduct(page, headline, json_ld.get("name") or microdata.get("name"))
    declared = [json_ld, microdata, of_metas if "price" in of_metas else {}]
    if not any(field in each for each in declared for field in _TELLING):
        is_declared = bool(json_ld or microdata) or _type_of(metas) in _PRODUCT_TYPES or shown.is_declared
        is_believed = shown.is_offered if is_declared else _is_believed(page, metas, shown)
        if others or further or not is_believed:
            return None, ()
    named = {"name": headline.text} if headline else {}
    rdfa, _ = _of_items(_RDFA(page.root), ("property", "typeof", "typeof"), page, heading)
    told = [json_ld, microdata, named, of_metas, rdfa, shown.facts(), {"name": heading}]
    if not any(field in each for each in told for field in _TELLING):
        return None, ()
    facts = [each.get(field) for each in told for field in (*_NUMBER_FIELDS, "gtin", "brand")]
    return _merged(told), tuple(dict.fromkeys(filter(None, facts)))


def _is_believed(page: Page, metas: Mapping[str, str], shown: ShownProduct) -> bool:
    """Whether a page shows one product, and does not call itself a list or an article."""
    if not shown.names_a_price or not (shown.is_alone or shown.is_labelled):
        return False
    return not any(map(_OTHER.search, (_type_of(metas), *(kind for each in page.objects for kind in types_of(each)))))


def _merged(sources: list[Facts]) -> dict[str, Any]:
    """The first value of each field; of several prices of a source, the one that the page shows.

    The highest price is that of the same source. A number that the page shows counts before a declared one, which often
    is that of a variant. The page is the last but one of the sources.
    """
    shown = sources[-2]
    priced = _first(sources, "price")
    price = shown["price"] if shown.get("price") in priced.get("prices", ()) else priced.get("price")
    highest = priced.get("highest_price")
    found = {field: _first(sources, field).get(field) for field in FIELDS}
    number = next((each[field] for field in _NUMBER_FIELDS if (each := _first([shown, *sources], field))), None)
    brand = (found["brand"] or "").rpartition(": ")[2] or None  # "More of the brand: Ana"
    highest = None if highest == price else highest
    return found | {"price": price, "highest_price": highest, "sku": number, "brand": brand}


def _first(sources: list[Facts], field: str) -> Facts:
    return next((each for each in sources if each.get(field) is not None), {})


#: What is known of a product, and no more: by the names of the feed, and its ``prices``, ``id`` and ``mpn``.
Facts = dict[str, Any]
_PRODUCTS: Final = frozenset(
    "product individualproduct someproducts productmodel productgroup vehicle car motorcycle busorcoach".split()
)
#: Types of works that are products where they have an offer.
_SOLD: Final = frozenset(
    "book movie musicalbum musicrelease game videogame softwareapplication mobileapplication".split()
)
_OFFERS: Final = ("offers", "offerDetails")
_GTINS: Final = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "ean", "upc", "isbn", "productID", "identifier")
#: Properties with the numbers by which the shop knows a product, an application or catalogue does, and its maker.
_NUMBERS: Final = {"sku": ("sku",), "id": ("productID", "identifier"), "mpn": ("mpn",)}
#: Prices that are not what the product costs now; kinds of prices in schema.org.
_FORMER: Final = ("ListPrice", "StrikethroughPrice", "SRP", "MSRP")
#: Products, offers, and values of a property that are looked at; marked elements, and elements around each of them.
_MOST_PRODUCTS, _MOST_OFFERS, _MOST_VALUES = 50, 100, 5
_MOST_MARKED, _DEEPEST = 3000, 100
_PRODUCT_TYPES: Final = ("product", "product.item")
_MARKS: Final = ("itemtype", "itemprop")  # what a page with a product has in its microdata
_SOLD_HERE: Final = lazily(r"/(?:.*product|.*offer|vehicle|car|motorcycle)|^price$", re.IGNORECASE)
_RDFA: Final = etree.XPath("descendant::*[@typeof or @property and not(self::meta[@content][parent::head])]")
#: ``<meta>`` elements of Open Graph and of Facebook's catalogues, in the order of precedence.
_METAS: Final[Mapping[str, tuple[Callable[[Any], Any], Sequence[str]]]] = {
    "name": (text_of, ("og:title", "twitter:title")),
    "price": (amount_of, ("product:sale_price:amount", "product:price:amount", "og:price:amount", "product:price")),
    "currency": (
        currency_of,
        ("product:sale_price:currency", "product:price:currency", "og:price:currency", "product:currency"),
    ),
    "availability": (availability_of, ("product:availability", "og:availability")),
    "sku": (number_of, ("product:sku", "og:sku")),
    "id": (number_of, ("product:retailer_item_id",)),
    "mpn": (number_of, ("product:retailer_part_no", "product:mfr_part_no")),
    "gtin": (gtin_of, ("product:gtin", "product:ean", "product:upc", "product:isbn", "og:upc", "og:ean", "og:isbn")),
    "brand": (text_of, ("product:brand", "og:brand", "product:brand:name")),
}


def _by_microdata(page: Page, heading: str) -> tuple[Facts, bool]:
    """What microdata says of the product of a page, and whether it has others instead, as on a list."""
    if not any(map(_SOLD_HERE.search, (name for pair in values_at(page.microdata, _MARKS) for name in pair))):
        return {}, False
    return _of_items(page.microdata, ("itemprop", "itemscope", "itemtype"), page, heading)


def _by_metas(metas: Mapping[str, str]) -> Facts:
    """What ``<meta>`` elements say of it; nothing unless they tell its price, or the type of a product."""
    if _type_of(metas) not in _PRODUCT_TYPES and metas.keys().isdisjoint(_METAS["price"][1]):
        return {}
    read = ((field, read(metas.get(name))) for field, (read, names) in _METAS.items() for name in reversed(names))
    found = {field: value for field, value in read if value is not None}
    return found if "price" in found or _type_of(metas) in _PRODUCT_TYPES else {}


def _type_of(metas: Mapping[str, str]) -> str:
    """The type that Open Graph tells."""
    return metas.get("og:type", "").strip().lower().removeprefix("og:")


def _is_product(value: Object) -> bool:
    kinds = {kind.lower() for kind in types_of(value)}
    return bool(kinds & _PRODUCTS or (kinds & _SOLD and any(value.get(name) for name in _OFFERS)))


def _of_objects(found: list[Object], page: Page, heading: str, ids: Mapping[str, Object]) -> tuple[Facts, bool]:
    """The facts of the one product, or of that which has the address of the page or the words of its heading."""
    if len(found) > 1:
        said = words(heading)
        some = found[:_MOST_PRODUCTS]
        ours = [each for each in some if is_here(each, page)] or [each for each in some if _is_named(each, said)]
        if not ours:
            return {}, True
        found = ours
    return (_facts(found[0], page, ids), False) if found else ({}, False)


def is_here(value: Object, page: Page) -> bool:
    """Return True if an object has the address of a page, or its canonical one."""
    own = {page.key, urls.key(page.canonical_url)}
    told = (each for name in ("url", "@id", "mainEntityOfPage") for each in values_of(value.get(name))[:_MOST_VALUES])
    addresses = (each.get("@id") or each.get("url") if isinstance(each, dict) else each for each in told)
    return any(isinstance(one, str) and one.strip() and urls.resolve(page.base, one)[0] in own for one in addresses)


def _is_named(value: Object, said: list[str]) -> bool:
    """Whether the words of a heading begin with those of the name, or these with them."""
    name = words(next(filter(None, map(text_of, values_of(value.get("name"))[:_MOST_VALUES])), ""))
    return bool(name and said) and name[: len(said)] == said[: len(name)]


def _facts(product: Object, page: Page, ids: Mapping[str, Object]) -> Facts:
    known = _Properties(ids)
    parts = [product, *islice(known.objects(product, ("hasVariant", "model")), _MOST_OFFERS)]
    offers = list(islice((offer for part in parts for offer in known.objects(part, _OFFERS)), _MOST_OFFERS))
    own = [offer for offer in offers if is_here(offer, page) and offer.get("price")] if len(offers) > 1 else []
    near = (product, *own, *offers[:1])
    told = {
        "name": known.first(product, ("name",), text_of),
        **_price((own[:1] or offers) or [product], known, page),
        "availability": _availability([*(own[:1] or offers), product], known),
        **{
            field: next(filter(None, (known.first(each, names, number_of) for each in near)), None)
            for field, names in _NUMBERS.items()
        },
        "gtin": next(filter(None, (known.first(each, _GTINS, gtin_of) for each in near)), None),
        "brand": known.first(product, ("brand", "manufacturer"), text_of),
    }
    return {field: value for field, value in told.items() if value is not None}


class _Properties:
    """Properties of objects that may stand elsewhere in the graph: ``ids`` are those that others refer to."""

    def __init__(self, ids: Mapping[str, Object]) -> None:
        self._ids = ids

    def objects(self, value: Object, names: Iterable[str]) -> Iterator[Object]:
        """The objects that are values of some properties, and those in an offer of several."""
        for each in (each for name in names for each in values_of(value.get(name))):
            if isinstance(each, dict):
                whole = self._whole(each)
                yield whole
                yield from (self._whole(inner) for inner in values_of(whole.get("offers")) if isinstance(inner, dict))

    def first(self, value: Object, names: Iterable[str], read: Callable[[Any], Any]) -> Any:
        """The first value that can be read; of an object, its name or value."""
        for each in (each for name in names for each in values_of(value.get(name))[:_MOST_VALUES]):
            if isinstance(each, dict):
                whole = self._whole(each)
                each = whole.get("value") or whole.get("@value") or whole.get("name")
                each = next(iter(values_of(each)), None)
            if (told := read(each)) is not None:
                return told
        return None

    def _whole(self, value: Object) -> Object:
        reference = value.get("@id")
        return self._ids.get(reference, value) if isinstance(reference, str) and len(value) <= 2 else value


def _price(offers: Sequence[Object], known: _Properties, page: Page) -> Facts:
    """What the offers cost, from the lowest price to the highest, in the first currency that is told."""
    found = [each for offer in offers for each in _amounts(offer, known, page)]
    currency = next((currency for _, currency in found if currency), None)
    amounts = [amount for amount, its in found if its in (currency, None)]
    if not amounts:
        return {}
    highest = max(amounts) if max(amounts) > min(amounts) else None
    return {"price": min(amounts), "highest_price": highest, "currency": currency, "prices": amounts}


def _amounts(offer: Object, known: _Properties, page: Page) -> Iterator[tuple[float, str | None]]:
    """The prices of an offer, else those of the first of its specifications that has any, and their currency."""
    for part in (offer, *islice(known.objects(offer, ("priceSpecification",)), _MOST_VALUES)):
        if (text_of(part.get("priceType")) or "").endswith(_FORMER) or "referenceQuantity" in part:
            continue
        amounts = [known.first(part, (name,), amount_of) for name in ("price", "lowPrice", "highPrice")]
        if told := [amount for amount in amounts if amount is not None]:
            named = (known.first(each, ("priceCurrency", "currency"), text_of) for each in (part, offer))
            beside = next(filter(None, named), None) or known.first(part, ("price", "lowPrice"), text_of)
            yield from ((amount, currency_of(beside, page.language, page.url)) for amount in told)
            return


def _availability(values: Sequence[Object], known: _Properties) -> str | None:
    """That which one of the offers has in stock, else the first that is told."""
    told = [each for value in values if (each := known.first(value, ("availability",), availability_of))]
    return "InStock" if "InStock" in told else next(iter(told), None)


def _of_items(
    marked: Sequence[etree._Element], attributes: tuple[str, str, str], page: Page, heading: str
) -> tuple[Facts, bool]:
    """What items in the page say: of products, else of the page's one offer, or outside of any item."""
    if not marked:
        return {}, False
    items, scopes = _items(marked, attributes)
    products = {element: each for element, each in items.items() if element is not None and _is_product(each)}
    outer = [each for element, each in products.items() if products.keys().isdisjoint(scopes(element))]
    if not outer:
        offers = [each for each in items.values() if any(kind.endswith("Offer") for kind in types_of(each))]
        loose = items.get(None, {})
        outer = [{"offers": offers}] if len(offers) == 1 else [loose] if "price" in loose else []
    return _of_objects(outer, page, heading, {})


def _items(
    marked: Sequence[etree._Element], attributes: tuple[str, str, str]
) -> tuple[dict[etree._Element | None, Object], Callable[[etree._Element], Iterable[etree._Element]]]:
    """The items as objects of JSON-LD, by element, None for what is outside of any; and a function for those around."""
    named, scoped, typed = attributes
    found: dict[etree._Element | None, Object] = {None: {}}

    def scopes(element: etree._Element) -> Iterator[etree._Element]:
        return (each for each in islice(element.iterancestors(), _DEEPEST) if scoped in each.attrib)

    for element in islice(marked, _MOST_MARKED):
        item: Object | None = None
        if scoped in element.attrib:
            kinds = [kind.rpartition(":")[2] for kind in (element.get(typed) or "").split()]
            item = found[element] = {"@type": kinds}
        names = (element.get(named) or "").split()
        if names:
            owner = found.get(next(scopes(element), None), {})  # what an item without properties or type has is lost
            value = item if item is not None and not element.get("content") else _value(element)
            for name in names:
                owner.setdefault(name.rpartition(":")[2], []).append(value)
    return found, scopes


def _value(element: etree._Element) -> str:
    """The value of a property; links may name an availability."""
    value = element.get("value") if element.tag in ("data", "meter", "input") else None
    href = element.get("href") or ""
    return value or (href if "schema.org/" in href else value_of(element))
