"""The product of a page: what it is called and costs, by its markup and by what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.metadata.product_markup import by_json_ld, by_metas, by_microdata, by_rdfa
from scrapy_pagelets.metadata.product_page import ShownProduct
from scrapy_pagelets.page.page import Page

#: The fields of a product, in their order.
FIELDS: Final = ("name", "price", "highest_price", "currency", "availability", "sku", "gtin", "brand")


def product_of(page: Page, headline: Headline | None, metas: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what a page tells of its product; None if it has none, or is a list of several.

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
    >>> {name: value for name, value in product_of(page, headline_of(page), {}).items() if value}
    {'name': 'Tea', 'price': 3.5, 'currency': 'EUR', 'availability': 'InStock', 'sku': 'T-17'}
    """
    heading = headline.text if headline else page.title
    (json_ld, others), (microdata, further) = by_json_ld(page, heading), by_microdata(page, heading)
    told = [json_ld, microdata, {"name": headline.text} if headline else {}, by_metas(metas)]
    is_declared = bool(json_ld or microdata or told[-1])
    if not is_declared and (others or further):
        return None
    shown = ShownProduct(page, headline)
    if not is_declared and not (shown.can_be_offered and shown.is_offered):
        return None
    return _merged([*told, by_rdfa(page, heading)[0], shown.facts(), {"name": page.title or None}])


def _merged(sources: list[dict[str, Any]]) -> dict[str, Any]:
    """The first value of each field; the highest price is that of the source with the price."""
    first = {field: next((each for each in sources if each.get(field) is not None), {}) for field in FIELDS}
    return {field: first["price" if field == "highest_price" else field].get(field) for field in FIELDS}
