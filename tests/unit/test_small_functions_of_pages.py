"""What small functions return: of addresses, looks, dates, prices, names of pictures, links and tokens."""

import numpy as np
import pytest
from lxml import etree

from scrapy_pagelets import Page
from scrapy_pagelets.decision import asides
from scrapy_pagelets.document import pictures, units
from scrapy_pagelets.evidence import etdm, menu_links
from scrapy_pagelets.metadata import byline, dates, headline, posts, product_page, product_values
from scrapy_pagelets.page import code, flattening, formulas, gaps, looks, roles, structured_data, urls
from scrapy_pagelets.page import page as pages
from scrapy_pagelets.page.nodes import CELL, LINE, TAG
from scrapy_pagelets.papers.shared_pagelets import pagelet_shingles
from scrapy_pagelets.rules import robots


def test_code_line_numbers():
    html = b"<pre><i class=lineno>1</i>a = 1\n<i class=lineno>2</i>2 + 3</pre>"
    assert code.line_numbers(Page.parse(html, "http://a/").nodes).tolist() == [True, False, True, False]


def test_code_language_of():
    pre = etree.fromstring('<div class="highlight-python notranslate"><pre>x</pre></div>')[0]
    assert code.language_of(pre) == "python"


def test_code_is_gutter():
    one, other = etree.fromstring('<div><p class="line-numbers">1 2</p><pre class="line-numbers">a = 1</pre></div>')
    assert code.is_gutter(one)
    assert not code.is_gutter(other)


def test_code_code_of():
    assert code.code_of(etree.fromstring("<pre><ol><li>a = 1</li><li>  b</li></ol></pre>")) == "a = 1\n  b"


def test_code_has():
    nodes = Page.parse(b"<p><code>a<br>b</code> or <code>c</code>", "http://a/").nodes
    one, other = np.flatnonzero(nodes.tag == TAG["code"]).tolist()
    assert code.CodeBlocks(nodes).has(one)
    assert not code.CodeBlocks(nodes).has(other)


def test_flattening_xored():
    assert flattening._xored("422302206c21") == "a@b.c"


def test_formulas_split():
    assert list(formulas.split("so \\(x_1\\) is", formulas._SOURCE)) == [("so ", 0), ("x_1", 1), (" is", 0)]


def test_formulas_tex_of_mathml():
    assert (
        formulas.tex_of_mathml(etree.fromstring("<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mi>y</mi></math>"))
        == "x^{2}+y"
    )


def test_gaps_gap_of():
    assert gaps.gap_of(looks.AS_CELL, "") == CELL
    assert gaps.gap_of(0, "display: block") == LINE


def test_gaps_is_table():
    assert gaps.is_table(("div", "", "", "grid"), "")
    assert not gaps.is_table(("p", "", "", ""), "display:table-cell")


def test_gaps_panels_of():
    html = b"<p role=tab>A<p role=tab>B<div role=tabpanel>a</div><div role=tabpanel>b</div>"
    nodes = Page.parse(html, "http://a/").nodes
    assert {nodes.xpath(panel): nodes.xpath(tab) for panel, tab in gaps.panels_of(nodes).items()} == {
        "/html/body/div[1]": "/html/body/p[1]",
        "/html/body/div[2]": "/html/body/p[2]",
    }


@pytest.mark.parametrize(
    "html",
    [
        "<div class=sd-tab-set><input><label>A</label><div>A b</div><input><label>B</label><div>b</div></div>",
        "<div><ul><li><button class=nav-tab>A</button><li><button class=nav-tab>B</button></ul></div><p>a<p>b",
        "<div><ul class=tabs><li><a href=#A>A</a><li><a href=#B>B</a></ul></div><p>a<p>b",
        "<b role=tab aria-controls=a>x</b><b role=tab aria-controls=b>y</b>"
        "<b role=tab aria-controls=a>x</b><p id=a>a</p><b role=tab aria-controls=b>y</b><p id=b>b</p>",
    ],
)
def test_labels_stand_before_their_panels(html):
    nodes = Page.parse(f"<div>{html}</div>".encode(), "http://a/").nodes
    pairs = [*gaps.panels_of(nodes).items()]
    assert len(pairs) == 2
    assert not any(gaps.begins_with(nodes, *pair) for pair in pairs)
    assert all(tab < panel for panel, tab in pairs)


def test_links_to_places_of_the_page_are_no_tabs():
    html = b"<div><ul class=tabs><li><a href=#A>A</a><li><a href=#B>B</a></ul><p id=C>a<p>b</div><p id=A>c<p id=B>d"
    nodes = Page.parse(html, "http://a/").nodes
    assert [nodes.strings[nodes.first_leaf[panel]] for panel in gaps.panels_of(nodes)] == ["c", "d"]


def test_looks_placing():
    assert looks.placing("navbar d-block", "cell") == looks.AS_CELL | looks.AS_LINE | looks.LINKS


def test_looks_signs():
    assert looks.signs(("ul", "", "breadcrumb", "")) == looks.LANDMARKS["list"] | looks.CRUMBS | looks.MENU


def test_page_sections_as_text():
    assert pages.sections_as_text("<p>a <![CDATA[< b]]><script>//<![CDATA[") == "<p>a &lt; b<script>//<![CDATA["


def test_page_with_closed_headings():
    assert (
        pages.with_closed_headings(b"<h2>Tea</h1><!-- <h3> --><p>Boil it.</h3>")
        == b"<h2>Tea</h2><!-- <h3> --><p>Boil it.</h3>"
    )


def test_roles_is_template():
    assert roles.is_template(np.array([0.5, 0.49])).tolist() == [True, False]


def test_structured_data_values_of():
    assert structured_data.values_of("a") == ["a"]
    assert structured_data.values_of(["a", 1]) == ["a", 1]
    assert structured_data.values_of(None) == []


def test_structured_data_types_of():
    assert structured_data.types_of({"@type": ["https://schema.org/NewsArticle", 3]}) == ["NewsArticle"]


def test_structured_data_is_work():
    assert structured_data.is_work("NewsArticle")
    assert not structured_data.is_work("Comment")
    assert not structured_data.is_work("WebPage")


def test_structured_data_is_page():
    assert structured_data.is_page("WebPage")
    assert structured_data.is_page("AboutPage")
    assert structured_data.is_page("QAPage")
    assert not structured_data.is_page("WebSite")


def test_urls_resolve():
    assert urls.resolve("http://h/a/b.html", "../c.html#top")[1] == "http://h/c.html"
    assert urls.resolve("http://h/", "javascript:void(0)") == (0, "")


def test_urls_cost_of():
    assert urls.cost_of("http://h/ü?a=1") == 0
    assert urls.cost_of("/?a=1&b=2") == 20
    assert urls.cost_of("//bücher.de/") == 180


def test_urls_links_of_header():
    assert urls.links_of_header('</a.css>; rel=preload, <http://example.com/>; title="a, b"; rel="canonical"') == [
        ("preload", "/a.css"),
        ("canonical", "http://example.com/"),
    ]


def test_urls_schemes_from():
    assert urls.schemes_from("http://example.com/") == ("http://", "https://")
    assert urls.schemes_from("file:///srv/index.html") == ("http://", "https://", "file://")


def test_urls_is_ambiguous():
    assert not urls.is_ambiguous("http://example.com/a b")
    assert urls.is_ambiguous("http://example.com@internal/")


def test_urls_is_web():
    assert urls.is_web("https://[::1]:8000/")
    assert not urls.is_web("http://user@example.com/")
    assert not urls.is_web("http://example.com:0/")


def test_urls_host_of():
    assert urls.host_of("https://user@Example.com:443/a") == "example.com"
    assert urls.host_of("http://[::1]:8000/") == "[::1]:8000"


def test_urls_same_host():
    assert urls.same_host("https://www.example.com/a", "http://example.com:80/b")
    assert not urls.same_host("http://a/", "http://a:81/")


def test_urls_site_of():
    assert urls.site_of("https://docs.example.co.uk/a") == "example.co.uk"
    assert urls.site_of("https://a.github.io/") == "a.github.io"
    assert urls.site_of("http://127.0.0.1:8000/") == "127.0.0.1:8000"


def test_urls_is_private():
    assert urls.is_private("127.0.0.1")
    assert not urls.is_private("93.184.216.34")
    assert urls.is_private("[::ffff:10.0.0.1]")
    assert urls.is_private("localhost") is None


def test_dates_iso():
    assert dates.iso("2024-01-25 12:59:33 UTC") == "2024-01-25T12:59:33+00:00"
    assert dates.iso("2025-08-22T20:53:52.108-0700") == "2025-08-22T20:53:52-07:00"
    assert dates.iso("Oct 31, 2025") == "2025-10-31"
    assert dates.iso("soon") is None


def test_dates_find():
    assert dates.find("Posted on 5 de agosto de 2026 by Ana") == ("2026-08-05", 10, 29)
    assert dates.find("03/04/2024") is None
    assert dates.find("03/04/2024", True) == ("2024-04-03", 0, 10)


def test_dates_find_all():
    assert dates.find_all("Posted 4 March 2025, updated 7 June 2025") == [("2025-03-04", 7, 19), ("2025-06-07", 29, 40)]


def test_dates_proven_orders():
    for text, expected in ((b"25/04/2024, 03/04/2024", {True}), (b"4/25/2024", {False}), (b"03/04/2024", set())):
        assert dates.proven_orders(Page.parse(text, "http://a/")) == expected


def test_headline_buttons_in_headings():
    html = b"<h1>Tea<button>Copy</button></h1><h2><button>How hot?</button></h2><h2>Cups <small><a href=#>hide"
    assert [*headline.buttons_in_headings(Page.parse(html, "http://a/").nodes)] == [4, 12]


def test_product_page_current():
    assert product_page.current("Was $20.00 Now $15.00") == (15.0, None)
    assert product_page.current("30 € – 40 €") == (30.0, 40.0)
    assert product_page.current("15,99 € (1,60 €/100 g)") == (15.99, None)
    assert product_page.current("soon") is None


def test_product_values_text_of():
    assert product_values.text_of(" Tea \n pot ") == "Tea pot"
    assert product_values.text_of(17) == "17"
    assert product_values.text_of("N/A") is None
    assert product_values.text_of("$brand") is None
    assert product_values.text_of({"@type": "Thing"}) is None


def test_product_values_amount_of():
    assert product_values.amount_of("1299.50") == 1299.5
    assert product_values.amount_of("1.299,50 €") == 1299.5
    assert product_values.amount_of(7) == 7.0
    assert product_values.amount_of("on request") is None
    assert product_values.amount_of("0.00") is None


def test_product_values_amounts_in():
    assert list(product_values.amounts_in("5 % off: 1 299,50 €")) == [(1299.5, 9, 17)]


def test_product_values_has_currency():
    assert product_values.has_currency("12 EUR")
    assert product_values.has_currency("3 €")
    assert not product_values.has_currency("AX27 Top")


def test_product_values_currency_of():
    assert product_values.currency_of("eur") == "EUR"
    assert product_values.currency_of("$ 12") is None
    assert product_values.currency_of("$ 12", url="http://shop.com.au/") == "AUD"
    assert product_values.currency_of("12 zł") == "PLN"


def test_product_values_availability_of():
    assert product_values.availability_of("https://schema.org/InStock") == "InStock"
    assert product_values.availability_of("out of stock") == "OutOfStock"
    assert product_values.availability_of("soon") is None


def test_product_values_number_of():
    assert product_values.number_of("sku:A-17") == "A-17"
    assert product_values.number_of(4711) == "4711"
    assert product_values.number_of("the number of an article is long") is None


def test_product_values_gtin_of():
    assert product_values.gtin_of("4-006381-333931") == "4006381333931"
    assert product_values.gtin_of("4006381333932") is None
    assert product_values.gtin_of("ean 4006381333931") == "4006381333931"


def test_product_values_kinds_of():
    assert product_values.kinds_of(("div", "", "product-price", "")) == product_values.PRICE
    assert product_values.kinds_of(("s", "", "price", "")) == product_values.PRICE | product_values.FORMER


def test_product_values_stock_of():
    assert product_values.stock_of("Availability: In stock") == "InStock"
    assert product_values.stock_of("Sold out") == "OutOfStock"
    assert product_values.stock_of("In stockings") is None


def test_product_values_is_buying():
    assert product_values.is_buying("Add to cart")
    assert product_values.is_buying("In den Warenkorb")
    assert not product_values.is_buying("How to add to cart")


def test_pictures_name_of():
    assert pictures.name_of("/2018/05/Uji-300x200.jpg?v=1") == "uji.jpg"
    assert pictures.name_of("Uji_600x@2x.jpg") == "uji.jpg"
    assert pictures.name_of("/i/71a._AC_SL1500_.jpg") == "71a.jpg"


def test_units_tokens_of():
    assert units.tokens_of("chunks") == 2
    assert units.tokens_of("東京") == 2


def test_units_tokenizer_of():
    assert units.tokenizer_of("builtins:len")("tea") == 3


def test_asides_controls_of_code():
    html = b"<p>Tea:</p><button>Copy</button><pre>a = 1</pre><div class=run-button>Run</div><p>All"
    assert asides.controls_of_code(Page.parse(html, "http://a/").nodes) == [1, 3]


def test_menu_links_shape():
    assert menu_links.shape("http://h/a/b.html") == ".html"
    assert menu_links.shape("http://h/a/") == "/"
    assert menu_links.shape("http://h/a") == ""
    assert menu_links.shape("http://h/index.php?id=4&page=x") == ".php?id&page"


def test_menu_links_lonely_words():
    assert menu_links.lonely_words(
        {1: "http://h/about", 2: "http://h/team", 3: "http://h/door/open", 4: "http://h/a/open-day"}, ""
    ) == {3}


def test_menu_links_acts():
    assert menu_links.acts("http://a/?action=delete&id=4")
    assert menu_links.acts("http://a/Special:UserLogout")
    assert menu_links.acts("http://a/%64elete/1")
    assert not menu_links.acts("http://a/additions.html")
    assert not menu_links.acts("http://a/install.html")
    assert menu_links.acts("http://a/install")


def test_menu_links_labels_action():
    assert menu_links.labels_action("Se déconnecter")
    assert not menu_links.labels_action("How to delete a branch and what to do before that")


def test_pagelet_shingles_token_hashes():
    assert pagelet_shingles.token_hashes("Page 12").tolist() == pagelet_shingles.token_hashes("PAGE 7").tolist()
    assert len(pagelet_shingles.token_hashes("テンプレート")) == 4


def test_robots_of_header():
    assert list(
        robots.of_header("noindex, unavailable_after: 25 Jun 2030, otherbot: none, mybot: nofollow, noarchive", "mybot")
    ) == ["noindex", "nofollow", "noarchive"]


def test_byline_name_in():
    assert byline.name_in("Posted by Ana Bo") == "Ana Bo"
    assert byline.name_in("Ana Bo") == "Ana Bo"
    assert byline.name_in("4 March 2025") is None


def test_byline_is_name():
    assert byline.is_name("Ana Bo")
    assert not byline.is_name("Unknown")
    assert not byline.is_name("--")


def test_posts_is_forum():
    assert posts.is_forum(Page.parse(b"<body class='thread'><p>Hello", "http://a/1"))
    odd = b"<body><p class=thread-odd>Hello"
    assert posts.is_forum(Page.parse(odd, "http://a/topics"))
    assert not posts.is_forum(Page.parse(odd, "http://a/1"))
    for address in ("issues/52.html", "pull/7", "browse/TEA-12"):
        assert posts.is_forum(Page.parse(b"<p>Hello", f"http://a/{address}"))


def test_etdm_in_order():
    one, other = etdm.in_order(np.array([7, 5, 5, 5]), np.array([5, 8, 5]))
    assert (one.tolist(), other.tolist()) == ([1, 2], [0, 2])


def test_etdm_product():
    one, other = etdm.product(np.array([5, 7, 5]), np.array([5, 8, 5]))
    assert (one.tolist(), other.tolist()) == ([0, 0, 2, 2], [0, 2, 0, 2])


def test_etdm_runs():
    assert etdm.runs(np.array([7, 3, 0]), np.array([2, 0, 3])).tolist() == [7, 8, 0, 1, 2]
