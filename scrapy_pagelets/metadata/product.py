"""The product of a page: what it is called and costs, by its markup and by what it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.metadata.product_markup import (
    PRODUCT_TYPES,
    Facts,
    by_json_ld,
    by_metas,
    by_microdata,
    by_rdfa,
    type_of,
)
from scrapy_pagelets.metadata.product_page import ShownProduct
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import types_of

#: The fields of a product, in their order.
FIELDS: Final = ("name", "price", "highest_price", "currency", "availability", "sku", "gtin", "brand")
#: Those of which a product has one at least.
_TELLING: Final = ("price", "sku", "gtin", "brand")
#: The numbers of a product: that of the shop, one of an application or the address, and that of its maker.
_NUMBERS: Final = ("sku", "id", "mpn")
#: Types of pages that only show products of a list, or speak of them.
_OTHER: Final = re.compile(r"article|posting|collection|itemlist|catalog|group|searchresults|profile", re.IGNORECASE)


def product_of(
    page: Page, headline: Headline | None, metas: Mapping[str, str]
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Return what a page tells of its product, None if it has none or is a list of several; and its numbers and brands.

    Of each field, the first that tells it counts: JSON-LD, microdata, ``<meta>`` elements, RDFa, and what the page
    shows beside its heading. The page alone is believed if its price stands right beside the heading, or it has a
    control to buy.

    Parameters
    ----------
    metas : the content of ``<meta>`` elements by their names in lower case

    Examples
    --------
    >>> text = b"<h1>Tea</h1><div class=price>3,50 &euro;</div><button>Add to cart</button>SKU: T-17"
    >>> page = Page.parse(text, "http://h/")
    >>> from scrapy_pagelets.metadata.headline import headline_of
    >>> product, facts = product_of(page, headline_of(page), {})
    >>> {name: value for name, value in product.items() if value}
    {'name': 'Tea', 'price': 3.5, 'currency': 'EUR', 'availability': 'InStock', 'sku': 'T-17'}
    >>> facts
    ('T-17',)
    """
    heading = headline.text if headline else page.title
    (json_ld, others), (microdata, further) = by_json_ld(page, heading), by_microdata(page, heading)
    of_metas = by_metas(metas)
    shown = ShownProduct(page, headline, json_ld.get("name") or microdata.get("name"))
    declared = [json_ld, microdata, of_metas if "price" in of_metas else {}]
    if not any(field in each for each in declared for field in _TELLING):
        is_declared = bool(json_ld or microdata) or type_of(metas) in PRODUCT_TYPES
        is_believed = shown.is_offered if is_declared else _is_believed(page, metas, shown)
        if others or further or not is_believed:
            return None, ()
    named = {"name": headline.text} if headline else {}
    told = [json_ld, microdata, named, of_metas, by_rdfa(page, heading)[0], shown.facts(), {"name": heading}]
    if not any(field in each for each in told for field in _TELLING):
        return None, ()
    facts = [each.get(field) for each in told for field in (*_NUMBERS, "gtin", "brand")]
    return _merged(told), tuple(dict.fromkeys(filter(None, facts)))


def _is_believed(page: Page, metas: Mapping[str, str], shown: ShownProduct) -> bool:
    """Whether a page shows one product, and does not call itself a list or an article."""
    if not (shown.names_a_price and shown.is_alone):
        return False
    return not any(map(_OTHER.search, (type_of(metas), *(kind for each in page.objects for kind in types_of(each)))))


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
    number = next((each[field] for field in _NUMBERS if (each := _first([shown, *sources], field))), None)
    return found | {"price": price, "highest_price": None if highest == price else highest, "sku": number}


def _first(sources: list[Facts], field: str) -> Facts:
    return next((each for each in sources if each.get(field) is not None), {})
