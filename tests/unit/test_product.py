"""The product of a page: by its markup, by what it shows, none on lists and articles, and hostile input."""

import json
import time
from typing import Any

import pytest

from scrapy_pagelets.feed.feed_schema import PRODUCT
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.metadata.metadata import metadata_of
from scrapy_pagelets.metadata.product_markup import FIELDS
from scrapy_pagelets.page.page import Page

URL = "http://shop.example/tea/green-471101.html"
PROSE = "<p>" + "Leaves of the first harvest, steamed and rolled by hand, for many cups of a mild green tea. " * 3
CART = "<button class='add-to-cart'>Add to cart</button>"
PRODUCT_TYPE = "<meta property=og:type content=product>"
PRODUCT_LD: dict[str, Any] = {
    "@context": "https://schema.org",
    "@type": "Product",
    "name": "Green &amp; mild",
    "sku": "T-17",
    "gtin13": "4006381333931",
    "brand": {"@type": "Brand", "name": "Ana"},
    "offers": {
        "@type": "Offer",
        "price": "1299.50",
        "priceCurrency": "EUR",
        "availability": "http://schema.org/InStock",
    },
}
ALL = {
    "name": "Green & mild",
    "price": 1299.5,
    "currency": "EUR",
    "availability": "InStock",
    "sku": "T-17",
    "gtin": "4006381333931",
    "brand": "Ana",
}


def told(text, url=URL):
    """What a page tells of its product, without what it does not tell; None without a product."""
    page = Page.parse(text.encode(), url)
    found = metadata_of(page, headline_of(page)).fields["product"]
    return found and {name: value for name, value in found.items() if value is not None}


def ld(*values):
    return "".join(f'<script type="application/ld+json">{json.dumps(value)}</script>' for value in values)


def shop(inside, head=""):
    """A page with a heading, what stands below it, and prose."""
    return f"<html lang=en><title>Green tea | Shop</title>{head}<body><h1>Green tea</h1>{inside}{PROSE}"


def offer(**values):
    return PRODUCT_LD | {"offers": values}


def test_the_fields_are_those_of_the_feed():
    assert tuple(field.name for field in PRODUCT) == FIELDS


def test_json_ld_tells_all():
    assert told(ld(PRODUCT_LD) + PROSE) == ALL


def test_the_graph_is_followed():
    parts: dict[str, Any] = {
        "@graph": [
            {"@type": "ItemPage", "mainEntity": {"@id": "#tea"}},
            PRODUCT_LD | {"@id": "#tea", "offers": {"@id": "#offer"}, "brand": {"@id": "#ana"}},
            PRODUCT_LD["offers"] | {"@id": "#offer"},
            {"@type": "Brand", "@id": "#ana", "name": "Ana"},
        ]
    }
    assert told(ld(parts) + PROSE) == ALL


@pytest.mark.parametrize(
    ("offers", "price", "highest"),
    [
        ({"price": 7, "priceCurrency": "EUR"}, 7, None),
        ({"price": "1.299,50 €"}, 1299.5, None),
        ({"@type": "AggregateOffer", "lowPrice": "10", "highPrice": "30.5", "priceCurrency": "EUR"}, 10, 30.5),
        ([{"price": "20"}, {"price": "15"}, {"price": "18"}], 15, 20),
        ([{"price": "20", "url": URL}, {"price": "15", "url": "/other.html"}], 20, None),
        ({"price": "0", "priceSpecification": {"price": "5.00", "priceCurrency": "EUR"}}, 5, None),
        ({"priceSpecification": [{"priceType": "https://schema.org/ListPrice", "price": 9}, {"price": 8}]}, 8, None),
        ({"priceSpecification": [{"price": 8}, {"price": 80, "referenceQuantity": {"value": 1}}]}, 8, None),
        ([{"price": 8, "priceCurrency": "EUR"}, {"price": 7, "priceCurrency": "USD"}], 8, None),
        ({"price": "on request"}, None, None),
        ({"price": "twelve euros"}, None, None),
        ({"price": True}, None, None),
        ({"price": -3}, None, None),
        ({"price": "9" * 50}, None, None),
        ({"price": {"price": {"price": 3}}}, None, None),
        ("free", None, None),
    ],
)
def test_prices_of_offers(offers, price, highest):
    found = told(ld(PRODUCT_LD | {"offers": offers}) + PROSE)
    assert (found.get("price"), found.get("highest_price")) == (price, highest)


def test_of_several_prices_the_page_shows_its_own():
    page = ld(PRODUCT_LD | {"offers": [{"price": 10}, {"price": 20}, {"price": 30}]}) + shop(
        "<b class=price>$20.00</b>"
    )
    assert (told(page)["price"], told(page)["highest_price"]) == (20, 30)
    assert told(page.replace("$20", "$25"))["price"] == 10


def test_variants_of_a_group():
    variants = [offer(price=price, priceCurrency="EUR", availability="OutOfStock") for price in (4, 6)]
    variants[1]["offers"]["availability"] = "InStock"
    found = told(ld({"@type": "ProductGroup", "name": "Tea", "hasVariant": variants}) + PROSE)
    assert found["price"] == 4
    assert found["highest_price"] == 6
    assert found["availability"] == "InStock"


def test_values_that_say_nothing_are_not_told():
    odd = {"sku": "N/A", "gtin13": "4006381333932", "brand": {"name": [None]}, "name": {}, "mpn": "M 1"}
    assert told(ld(PRODUCT_LD | odd | {"offers": {"price": "3"}}) + shop("")) == {
        "name": "Green tea",
        "price": 3,
        "sku": "M 1",
    }


MICRODATA = """<div itemscope itemtype="http://schema.org/Product"><span itemprop=name>Green &amp; mild</span>
<meta itemprop=gtin13 content=4006381333931><div itemprop=brand itemscope itemtype=http://schema.org/Brand>
<i itemprop=name>Ana</i></div><div itemprop=offers itemscope itemtype="http://schema.org/Offer">
<b itemprop=price>1.299,50</b><meta itemprop=priceCurrency content=EUR>{}
<link itemprop=availability href=http://schema.org/InStock></div>{}</div>"""
SIMILAR = """<div itemprop=isSimilarTo itemscope itemtype="http://schema.org/Product"><b itemprop=name>Black tea</b>
<span itemprop=sku>B-1</span><i itemprop=price>2</i></div>"""


def test_microdata_tells_all():
    page = MICRODATA.format("<b itemprop=sku>T-17</b>", SIMILAR)
    assert told(page + PROSE) == ALL
    rdfa = page.replace("itemprop", "property").replace("itemscope ", "").replace("itemtype=", "typeof=")
    found = told(PRODUCT_TYPE + "<h1>Green &amp; mild</h1>" + CART + rdfa.replace("http://schema.org/", "schema:"))
    assert found == ALL | {"availability": "InStock"}


def test_an_offer_alone_is_that_of_the_page():
    alone = '<div itemscope itemtype="http://schema.org/Offer"><b itemprop=price content=3.5>x</b></div>'
    assert told(shop(alone))["price"] == 3.5
    assert told(shop("<b itemprop=price>3.50</b>"))["price"] == 3.5


def test_meta_elements():
    names = {
        "og:type": "product",
        "og:title": "Green tea",
        "product:price:amount": "12,90",
        "product:sale_price:amount": "9.90",
        "product:price:currency": "EUR",
        "product:availability": "in stock",
        "product:retailer_item_id": "T-17",
        "product:brand": "Ana",
    }
    head = "".join(f'<meta property="{name}" content="{value}">' for name, value in names.items())
    assert told(f"<title>Tea</title>{head}{PROSE}") == {
        "name": "Green tea",
        "price": 9.9,
        "currency": "EUR",
        "availability": "InStock",
        "sku": "T-17",
        "brand": "Ana",
    }


@pytest.mark.parametrize(
    ("shown", "price", "highest"),
    [
        ("<p class=price>$12.50", 12.5, None),
        ("<p class=price><del>$20.00</del> <ins>$12.50</ins>", 12.5, None),
        (
            "<div class=price-box><span class=old-price>20 €</span><span class=special-price>12,50 €</span></div>",
            12.5,
            None,
        ),
        ("<div class=price><s>Regular $20.00</s> Sale price $12.50</div>", 12.5, None),
        ("<div class=productPrice>Was $20.00 Now $12.50</div>", 12.5, None),
        ("<div class=price>$30.00 – $40.00</div>", 30, 40),
        ("<div class=price>12<sup>50</sup> €</div>", 12.5, None),
        ("<div class=price><i>$</i><b>1,299<span>.</span></b><sup>00</sup></div>", 1299, None),
        ("<div class=price>15,99 € (1,60 € / 100 g)</div>", 15.99, None),
        ("<div class=price>1 299 Kč</div>", 1299, None),
        ("<div><b>€ 12,50</b></div>", 12.5, None),
        ("<div class=shipping-price>$5.00</div><div class=price>$12.50</div>", 12.5, None),
        ("<b class='price-box tax weee'><b class=price>12,50 €</b></b><b class=price-tax>10,50 €</b>", 12.5, None),
        ("<b class=price-including-tax>12,50 €</b> <b class=price-excluding-tax>10,50 €</b>", 12.5, None),
        ("<b class=price--withoutTax>12,50 €</b>", 12.5, None),
        ("Was: <b class=price--non-sale>20,00 €</b> Now: <b class=price>12,50 €</b>", 12.5, None),
        ("Regular price: <b class=price>12,50 €</b>", 12.5, None),
        ("<div class=priceRegular>￥3,300</div><div class=price02>￥2,750</div>", 2750, None),
        ("<div class=priceRegular>￥3,300</div><div class=price02>￥4,400</div>", 3300, None),
        ("<div class=info-price><b class=price>12,50 €</b> <p class=sku>No. <b>WS7-4</b></div>", 12.5, None),
        ("<div class=price>on request</div>", None, None),
        ("<div class=price>-20%</div>", None, None),
    ],
)
def test_prices_that_a_page_shows(shown, price, highest):
    found = told(shop(shown + CART, PRODUCT_TYPE)) or {}
    assert (found.get("price"), found.get("highest_price")) == (price, highest)


RELATED = "<div class=related-products>" + "".join(
    f"<div><a href=/{i}>Tea {i}</a><p class=price>$ {i}.00</p>SKU: R-{i}00 <b>Sold out</b></div>" for i in range(1, 5)
)


@pytest.mark.parametrize("label", ["EAN", "GTIN/EAN", "UPC / EAN code"])
def test_labels_beside_the_heading(label):
    details = f"<p>Artikelnummer: <b>T-17</b><p>Marke: Ana<p>{label}: 4006381333931<p>Sold out"
    found = told(shop(f"<p class=price>12,50 €</p>{details}") + RELATED)
    expected = {"price": 12.5, "currency": "EUR", "availability": "OutOfStock"}
    assert found == {"name": "Green tea"} | expected | {"sku": "T-17", "gtin": "4006381333931", "brand": "Ana"}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("GBP 12.50 Approximately US $16.20", "GBP"),
        ("12,50 € about £ 11.20", "EUR"),
        ("US $16.20 (GBP 12.50)", "USD"),
        ("Now 12.50 Was 16.20 €", "EUR"),
        ("12.50", None),
    ],
)
def test_the_currency_is_that_of_the_price(shown, expected):
    found = told(shop(f"<div class=price>{shown}</div>{CART}", PRODUCT_TYPE))
    assert found.get("currency") == expected


def test_what_is_sold_out_is_a_product_if_it_labels_number_and_brand():
    sold_out = "<p class=price-box>Currently unavailable.<p>Item number: <b>T-17</b><p>Brand: <b>Ana</b>"
    expected = {"name": "Green tea", "availability": "OutOfStock", "sku": "T-17", "brand": "Ana"}
    assert told(shop(sold_out)) == expected
    assert told(shop(sold_out, "<meta property=og:type content=article>")) is None
    assert told(shop(sold_out.replace("Brand", "Binding"))) is None
    assert told(shop(sold_out.replace("unavailable", "on loan"))) is None


def test_a_price_far_from_the_heading_is_a_product_if_the_page_labels_number_and_brand():
    facts = "<ul><li><b>商品货号：</b>T-17<li><b>商品品牌：</b><a href=/b>Ana</a>" + "<li><b>Kind:</b> red" * 4
    price = "<li><b>本店售价：</b><font id=ECS_SHOPPRICE>12.50元</font></ul>"
    found = told(shop(facts + price))
    assert found == {"name": "Green tea", "price": 12.5, "sku": "T-17", "brand": "Ana"}
    assert told(shop(facts + price, "<meta property=og:type content=article>")) is None
    assert told(shop(facts.replace("品牌", "重量") + price)) is None
    assert told(shop(facts + "</ul>")) is None


def test_a_number_alone_beside_the_heading_counts_if_the_address_has_its_digits():
    price = f"<p class=price>12,50 €</p>{CART}"
    for number, expected in (("1044/320", "1044/320"), ("1044/321", "T-17"), ("10.44", "T-17")):
        text = ld(PRODUCT_LD) + shop(f"<p>Red<p>{number}{price}")
        assert told(text, "http://shop.example/tea-p01044320.html")["sku"] == expected
    far = ld(PRODUCT_LD) + shop("<p>Red" * 9 + f"<p>1044/320{price}")
    assert told(far, "http://shop.example/tea-p01044320.html")["sku"] == "T-17"


@pytest.mark.parametrize(
    "label",
    [
        "〈商品編號：T-17〉",
        "Product Code - <b>T-17</b>",
        "ID Produto <b>T-17</b>",
        "Šifra: T-17",
        "<i>Product Code</i><i>:</i> <b>T-17</b>",
    ],
)
def test_labels_of_numbers(label):
    assert told(shop(f"<p class=price>12,50 €</p>{CART}<p>{label}"))["sku"] == "T-17"


def test_a_price_that_is_named_the_old_one_counts_if_there_is_no_other():
    old = "<b class=price-old>20,00 €</b>"
    assert told(shop(old + CART))["price"] == 20
    assert told(shop(f"{old} <b class=price-new>12,50 €</b>{CART}"))["price"] == 12.5
    assert told(shop(f"{old} <b>12,50 €</b>{CART}"))["price"] == 12.5
    assert told(shop("<b class=price-saved>7,50 €</b>" + CART)) is None


def test_who_made_a_product_is_its_brand():
    assert told(shop(f"<p class=price>12,50 €</p>{CART}<p>Manufactured by: Ana Bo"))["brand"] == "Ana Bo"
    assert "brand" not in told(shop(f"<p class=price>12,50 €</p>{CART}<p>Manufactured by hand in Kyoto"))
    assert told(ld(PRODUCT_LD | {"brand": "More of the brand: Ana"}))["brand"] == "Ana"


def test_a_number_that_the_page_labels_counts_before_a_declared_one():
    details = f"<p class=price>12,50 €</p>{CART}<p>Product code: <b>838106</b>"
    assert told(ld(PRODUCT_LD) + shop(details))["sku"] == "838106"
    assert told(ld(PRODUCT_LD) + shop(details.replace("Product code", "Seats")))["sku"] == "T-17"


def test_a_sentence_before_the_label_is_not_the_brand():
    view = "<h2 class=productView-brand>Ana</h2>"
    assert told(ld(PRODUCT_LD | {"brand": None}) + shop(view))["brand"] == "Ana"
    assert "brand" not in told(ld(PRODUCT_LD | {"brand": None}) + shop(view.replace("product", "nav")))
    assert told(ld(PRODUCT_LD | {"brand": None}) + shop("<p class=brand>More of the brand: Ana"))["brand"] == "Ana"


def test_a_control_to_buy_means_in_stock():
    page = shop("<p class=price>12,50 €</p><button class=add-to-cart>Go</button>") + RELATED
    assert told(page)["availability"] == "InStock"
    assert "availability" not in told(page.replace("<button", "<button disabled"))


def test_a_control_that_is_off_does_not_mean_in_stock():
    page = shop("<p class=price>12,50 €</p><button class=add-to-cart>Ajouter au panier</button><p>Rupture de stock")
    assert told(page)["availability"] == "InStock"
    assert told(page.replace("<button", "<button disabled"))["availability"] == "OutOfStock"


@pytest.mark.parametrize(
    ("stock", "expected"),
    [
        ("<p class='stock unavailable'>Nije dostupno", "OutOfStock"),
        ("<p class='stock available'>Dostupno", "InStock"),
        ("<p>Niet op voorraad", "OutOfStock"),
    ],
)
def test_classes_and_words_tell_the_stock(stock, expected):
    assert told(shop(f"<p class=price>12,50 €</p>{stock}", PRODUCT_TYPE))["availability"] == expected


@pytest.mark.parametrize(("kind", "price"), [("type-product", 12.5), ("type-post", None)])
def test_a_type_of_post_declares_a_product_whatever_the_page_is(kind, price):
    page = shop("<p class=price>12,50 €</p><p>Agotado", "<meta property=og:type content=article>")
    found = told(page.replace("<body>", f"<body><div class='product {kind} post-7'>"))
    assert (found or {}).get("price") == price


def test_a_number_in_the_address_needs_the_page_to_say_it():
    page = shop(f"<p class=price>12,50 €</p>{CART}<input name=id value=471101>")
    assert told(page)["sku"] == "471101"
    assert "sku" not in told(page, "http://shop.example/tea/2024/green-471102.html")


@pytest.mark.parametrize(
    "page",
    [
        shop(""),
        shop("<p>It costs $12.50 in most shops."),
        shop(f"<p class=price>$12.50</p>{CART}", "<meta property=og:type content=article>"),
        shop(f"<p class=price>$12.50</p>{CART}", ld({"@type": "BlogPosting", "headline": "Green tea"})),
        shop(f"<p class=price>$12.50</p>{CART}", ld({"@type": "CollectionPage"})),
        shop("".join(f"<li><a href=/{i}>Tea {i}</a><p class=price>$ {i}.00</p>{CART}" for i in range(1, 9))),
        shop("", ld(*(PRODUCT_LD | {"name": f"Tea {i}", "url": f"/{i}"} for i in range(3000)))),
        shop("".join(MICRODATA.format("", "").replace("mild", str(i)) for i in range(3000))),
        shop("", PRODUCT_TYPE),
        shop("", ld({"@type": "Product", "name": "Consulting"})),
    ],
    ids="nothing prose article posting collection cards json-ld microdata type-alone name-alone".split(),
)
def test_no_product(page):
    assert told(page) is None


def test_of_several_products_the_heading_names_one():
    others = [PRODUCT_LD | {"name": f"Tea {i}", "sku": f"T-{i}"} for i in range(5)]
    mine = PRODUCT_LD | {"name": "Green tea", "sku": "mine-1"}
    assert told(shop("", ld(*others, mine)))["sku"] == "mine-1"
    assert told(shop("", ld(*others, mine | {"name": "Something else", "url": URL})))["sku"] == "mine-1"
    marked = MICRODATA.format("<b itemprop=sku>T-17</b>", "").replace("Green &amp; mild", "Green tea")
    assert told(shop(marked + SIMILAR.replace("itemprop=isSimilarTo ", "")))["sku"] == "T-17"


def nested(depth):
    value: dict[str, Any] = {"@type": "Product", "name": "Tea", "offers": {"price": 3}}
    for number in range(depth):
        value = {
            "@type": "Product",
            ("offers", "isRelatedTo", "hasVariant", "brand", "mainEntity")[number % 5]: [value],
        }
    return value


@pytest.mark.parametrize(
    "page",
    [
        shop("", ld(nested(100))),
        '<script type="application/ld+json">' + '{"@type":"Product","offers":' * 100_000,
        '<script type="application/ld+json">{"@type":"Product","offers":{"price":1e999,"priceCurrency":NaN}}</script>',
        '<script type="application/ld+json">{"@type":"Product",,}</script>' + shop(f"<p class=price>1 €</p>{CART}"),
        "<div itemscope itemtype=Product itemprop=offers>" * 1500 + "<b itemprop=price>1",
        shop("<p class=price>" + "9" * 200_000),
        shop("<p class=price>" + "<i>1</i>" * 50_000 + CART, PRODUCT_TYPE),
        shop("".join(f"<p class=price{i}>{i} €</p>" for i in range(20_000)) + CART, PRODUCT_TYPE),
        shop("<select>" + "<option>$ 3" * 50_000 + "</select>" + CART, PRODUCT_TYPE),
        shop("<p>SKU" * 20_000 + CART, PRODUCT_TYPE),
    ],
    ids="nested broken-deep infinite broken scopes digits pieces classes options labels".split(),
)
def test_hostile_pages_take_little_time(page):
    one = Page.parse(page.encode(), URL)
    headline = headline_of(one)
    start = time.process_time()
    found = metadata_of(one, headline).fields["product"]
    assert time.process_time() - start < 2
    json.dumps(found, allow_nan=False)
