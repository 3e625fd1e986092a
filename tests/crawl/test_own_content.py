"""What a page says of itself is content: its own heading, its author, its price, the headings of its sections."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.content import corrected, facts_of, permalinks, said_of_itself
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.own_texts import own_texts
from scrapy_pagelets.metadata.headline import headline_of
from tests.crawling import SITE
from tests.trees import page, soups

MENU = "<nav><a href=/>Home</a> <a href=/tea>Green tea</a> <a href=/cup>Cups</a></nav>"


def alone(html):
    found = headline_of(page(html))
    return found and found.text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title>Tea - Shop</title><h1>Shop</h1><h2>Tea</h2>", "Shop"),  # the site would know which of them is its name
        ("<title>Green tea | Shop</title><h1>Green tea</h1><h2>Shop</h2>", "Green tea"),
        ("<title>Shop: Green tea</title><div class=page-title>Green tea</div><h2>Contents</h2>", "Green tea"),
        ("<title>Shop</title><meta property=og:title content='Green tea'><h2>Green tea</h2><h2>x</h2>", "Green tea"),
        ("<title>Shop</title><h1>Green tea</h1>", "Green tea"),  # the only h1, and the title does not name it
        ("<title>Shop</title><h1 class=entry-title>Green tea</h1>", "Green tea"),  # the only one, whatever its class
        ("<title>Tea by Ana Bo | Shop</title><h1 id=title>Leaves of the hills</h1>", "Leaves of the hills"),
        ("<title>Shop</title><h1>Green tea</h1><h1>Cups</h1>", None),
        ("<title>Tea</title><h1>Green tea<a href='#t'>¶</a></h1>", "Green tea"),
        ("<title>Tea from Uji</title><h2>How to</h2><h1>Tea from Uji, a review</h1>", "Tea from Uji, a review"),
        ("<title>绿茶 - 商店</title><h1>绿茶</h1><h2>商店</h2>", "绿茶"),
        (
            '<title>Leaves from Uji - A shop</title><script type="application/ld+json">'
            '{"@type": "Product", "name": "Sencha"}</script>'
            "<h1>A shop</h1><h2>Sencha</h2><h2>Cups</h2>",
            "Sencha",
        ),
        (
            '<title>Tea</title><script type="application/ld+json">[{"@type": "Product", "name": "Cups"},'
            '{"@type": "Product", "name": "Pots"}]</script><h2>Cups</h2><h2>Pots</h2>',
            None,
        ),
        (
            "<title>Shop</title><a href=b.html#c>Cups</a> <a href=b.html>Pots</a> <a href=c>Tea</a>"
            "<h2>Cups</h2><h2>Tea</h2><h2>Pots</h2>",
            "Pots",
        ),
        ("<title>Tea</title>", None),
        ("<title></title><h1></h1><p>text", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_own_heading_of_a_page_alone(html, expected):
    assert alone(html) == expected


def shop(name, text):
    html = f"<title>{name} - Shop</title><h1>Shop</h1>{MENU}<h2>{name}</h2><p>{text}<footer>Imprint</footer>"
    return Page.parse(html.encode(), f"http://shop.example/{name.partition(' ')[0]}")


def test_the_name_of_the_site_is_not_the_heading_and_menus_do_not_make_it_template():
    pages = [
        shop(name, f"All that there is to say of {name} in so many different words of its own, number {i} of a few.")
        for i, name in enumerate(["Green tea", "Cups", "Kettles", "Sencha", "Matcha", "Oolong"])
    ]
    site = Site("shop.example")
    for one in pages:
        site.learn(one)
    for one, name in zip(pages, ["Green tea", "Cups"], strict=False):
        decision = decided(one, site)
        assert decision.headline is not None
        assert decision.headline.text == name
        kept = [string for string, content in zip(one.nodes.strings, decision.content, strict=True) if content]
        assert kept[0] == name  # and not the link of the menu, which has the same words
        assert "Shop" not in kept


def test_the_name_of_a_section_is_not_the_heading_however_much_of_the_title_it_is():
    files = sorted(SITE.rglob("*.html"))
    pages = [Page.parse(file.read_bytes(), f"http://docs.example/{file.relative_to(SITE)}") for file in files]
    site = Site("docs.example")
    for one in pages:
        site.learn(one)
    for one in pages:
        if "/" in one.url.removeprefix("http://docs.example/"):
            headline = headline_of(one, site.pages_alike(one), site.pages - 1)
            assert headline is not None
            assert headline.text == one.title.partition(" (1.2.x) - ")[2]


def test_monstrous_titles_and_headings():
    words = "word " * 300_000
    found = page(f"<title>{words}</title><div class=title>" * 200 + words + "<h1>word word</h1>" * 300)
    assert headline_of(found) is not None


def test_a_rule_of_the_user_names_the_heading():
    found = page("<title>Tea</title><h1>Tea</h1><p id=x>Own")
    row = next(i for i, element in enumerate(found.nodes.elements) if element.get("id") == "x")
    headline = headline_of(found, named=[row])
    assert headline is not None
    assert headline.text == "Own"


def test_headings_that_a_site_repeats_inside_of_content_are_content():
    found = page(
        "<main><h2>A</h2><p>one two three<h2>See also</h2><p>four five</main><nav><h2>Menu</h2><a href=x>x</a></nav>"
    )
    strings = found.nodes.strings
    template = np.isin(strings, ["See also", "Menu", "x"]).astype(np.float64)
    kept = corrected(found.nodes, template, None) < 0.5
    assert [s for s, k in zip(strings, kept, strict=True) if k] == ["A", "one two three", "See also", "four five"]


def test_a_heading_of_content_comes_back_without_its_permalink():
    found = page("<main><p>one two three<h2>See also<a href=#see>¶</a></h2><p>four five</main>")
    strings = list(found.nodes.strings)
    kept = corrected(found.nodes, np.isin(strings, ["See also", "¶"]).astype(np.float64), None) < 0.5
    assert [s for s, k in zip(strings, kept, strict=True) if k] == ["one two three", "See also", "four five"]


def test_a_line_that_is_content_on_average_is_whole():
    html = (
        "<p>Learn more about the <a href=/x>green tea</a> of the hills of Uji.<p>Gets the child of <a href=/y>self</a>."
        "<p>Read on. <a href=/a>Home</a> <a href=/b>Help</a> <a href=/c>News</a> <a href=/d>Jobs</a>"
    )
    assert kept_of(html, "green tea", "self", ".", "Home", "Help", "News", "Jobs") == [
        "Learn more about the", "green tea", "of the hills of Uji.", "Gets the child of", "self", ".", "Read on.",
    ]  # fmt: skip


def kept_of(html, *template):
    """The texts that are content, if some have been taken for template."""
    nodes = page(html).nodes
    known = np.isin(nodes.strings, template).astype(np.float64)
    return [text for text, value in zip(nodes.strings, corrected(nodes, known, None), strict=True) if value < 0.5]


def test_a_list_that_is_nearly_all_content_is_content():
    data = "<ul><li>Buoyancy of 170 N<li>Cylinder of 33 g<li>Crotch strap</ul>"
    assert kept_of(data, "Crotch strap") == ["Buoyancy of 170 N", "Cylinder of 33 g", "Crotch strap"]
    assert kept_of(data, "Crotch strap", "Cylinder of 33 g") == ["Buoyancy of 170 N"]
    assert kept_of("<ul><li><img></ul>") == []
    assert kept_of("<ul><li>a b c d e f<li>g<a href='#g'>¶</a></ul>", "g", "¶") == ["a b c d e f", "g"]


def test_the_label_of_an_admonition_of_content_is_content():
    note = "<div class='admonition note'><p class=admonition-title>Note</p><p>Water must not boil.</p></div>"
    assert kept_of(note, "Note") == ["Note", "Water must not boil."]
    assert kept_of(note, "Note", "Water must not boil.") == []
    assert kept_of(note.replace("admonition-title", "subtitle"), "Note") == ["Water must not boil."]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<p>This class is documented from these files:", ["color.h", "color.cpp"]),
        ("<p>这是 这个 类的 源文件：", ["color.h", "color.cpp"]),
        ("<p>This class is documented from these files.", []),
        ("<p>Sort by:", []),  # a label of a filter
        ("<p><a href=/x>All that there is to read about:</a>", []),
        ("<p>This class is documented from these files:<p>two", []),
    ],
)
def test_a_list_that_a_line_announces_is_content(line, expected):
    announced = kept_of(f"{line}<ul><li>color.h<li>color.cpp</ul>", "color.h", "color.cpp")
    assert [text for text in announced if text.startswith("color")] == expected


@pytest.mark.parametrize(
    ("html", "known", "expected"),
    [
        ("<h2>Features</h2><ul><li>a<li>b</ul>", [0.4, 0.6, 0.65], "Features a b"),
        ("<h2>Features<a href='#f'>¶</a></h2><ul><li>a<li>b</ul>", [0.4, 1, 0.6, 0.65], "Features a b"),
        ("<h2>Features</h2><ul><li>a<li>b</ul>", [0.4, 0.9, 0.3], "Features b"),  # a menu, but for one item
        ("<h2>Features</h2><ul><li>a<li>b<li>c</ul>", [0.4, 0.52, 0.3, 0.49], "Features a b c"),
        ("<h2>Features</h2><ul><li>a<li>b</ul>", [0.4, 0.7, 0.7], "Features"),
        ("<h2>Features</h2><ul><li>a<li>b</ul>", [0.6, 0.6, 0.6], ""),
        ("<h2>Features</h2><p>c<ul><li>a<li>b</ul>", [0.4, 0.3, 0.6, 0.6], "Features c"),
        ("<a href='#f'>¶</a><ul><li>a<li>b</ul>", [0.4, 0.6, 0.6], ""),
    ],
)
def test_a_list_in_doubt_right_below_a_heading_of_content_is_content(html, known, expected):
    nodes = page(html).nodes
    kept = corrected(nodes, np.array(known), None) < 0.5
    assert " ".join(text for text, is_kept in zip(nodes.strings, kept, strict=True) if is_kept) == expected


def test_a_menu_below_the_own_heading_is_template():
    found = page("<title>Tea</title><h1>Tea</h1><ul><li>Home<li>Cups</ul><p>text")
    headline = headline_of(found)
    for heading, expected in ((0.4, "Tea Home Cups text"), (0.9, "Tea text")):
        kept = corrected(found.nodes, np.array([heading, 0.6, 0.6, 0.1]), headline) < 0.5
        assert " ".join(np.array(found.nodes.strings)[kept]) == expected


@given(soups)
def test_only_permalinks_are_taken_away(html):
    found = page(html)
    marks = permalinks(found.nodes)
    assert not any(any(map(str.isalnum, s)) for s, m in zip(found.nodes.strings, marks, strict=True) if m)
    nothing = np.zeros(len(marks))
    assert ((corrected(found.nodes, nothing, headline_of(found)) > 0) == marks).all()


def test_author_and_price_are_content_near_the_heading_only():
    html = (
        "<title>Tea</title><h1>Tea</h1><p>Ana Bo<p>$ 4.50<p>Cups from $4.50<p>4.50 4.50<p>$4.50"
        + "<p>word" * 80
        + "<p>Ana Bo"
    )
    found = page(html)
    mask = said_of_itself(found, headline_of(found), ("Ana Bo", ""), ("4.5",))
    assert [s for s, m in zip(found.nodes.strings, mask, strict=True) if m] == ["Ana Bo", "$ 4.50"]
    assert not said_of_itself(found, None, ("Ana Bo",), ()).any()


@given(st.integers(1, 10**9), st.sampled_from(["${:,.2f}", "{:.2f} EUR", "€ {:,.2f}", "{:,.2f}"]), st.booleans())
def test_prices_are_found_as_people_write_them(cents, form, other):
    price = cents / 100
    shown = form.format(price + other)
    found = page(f"<title>T</title><h1>T</h1><p>{shown}")
    assert said_of_itself(found, headline_of(found), (), (str(price),)).tolist() == [False, not other]


@pytest.mark.parametrize(
    ("html", "facts", "expected"),
    [
        ("<p>Code <b>T-17</b></p><p>Buy</p><p>T-17", ["T-17"], ["T-17"]),
        ("<p>Product code: 8381</p>", ["8381"], ["Product code: 8381"]),
        ("<p><a href=/x>All</a> 8381", ["8381"], ["8381"]),
        ("<p>8381 of 9999 were sold", ["9999", "12"], []),
        ("<p>12</p>", ["12"], []),
        ("<p>Brand</p>", ["Uji Teas"], []),
    ],
)
def test_facts_that_a_page_declares_stay(html, facts, expected):
    """A name only within the content, since all pages name the shop; a number wherever it stands."""
    one = page(f"<h1>Tea</h1><p>Picked by hand</p>{html}<p>Uji Teas<p>Drink it")
    content = np.isin(one.nodes.strings, ["Tea", "Picked by hand"])
    mask = facts_of(one, headline_of(one), facts, content)
    assert [text.strip() for text, fact in zip(one.nodes.strings, mask, strict=True) if fact] == expected


def test_a_brand_stays_within_the_content_and_is_said_once():
    one = page("<p>Uji Teas<h1>Tea</h1><p>Picked by hand<p>Uji Teas<p>Drink it<p>Uji Teas")
    content = np.isin(one.nodes.strings, ["Tea", "Picked by hand", "Drink it"])
    brand = np.array([False, False, False, True, False, False])
    assert (facts_of(one, headline_of(one), ["Uji Teas"], content) == brand).all()
    assert not facts_of(one, headline_of(one), ["Uji Teas"], content | brand).any()


#: What a page that tells how to reach people has: no sentence, and no other page says it.
_PEOPLE = "".join(
    f"<div><span>{name}</span><span>{job}</span><a href=mailto:{name[0]}@tea.example>{name[0]}@tea.example</a></div>"
    for name, job in (("Ana Bo", "Leaves"), ("Cy Dee", "Cups"), ("Ed Fox", "Orders and post"), ("Gil Ha", "Pots"))
)
_SENTENCES = "".join(f"<p>Sentence {number} says how long the leaves of spring have to steep." for number in range(20))


@pytest.mark.parametrize("seen", [0.8, 0.99])
@pytest.mark.parametrize(("html", "shared"), [(_PEOPLE, 0), (_SENTENCES, 0), (_PEOPLE, 9), (_SENTENCES, 9)])
def test_what_a_page_alone_says_amid_its_content_is_content_however_long_it_is(html, shared, seen):
    """The model took a contact page for template, and half of a long page that has only sentences of its own."""
    found = page(f"<h1>Tea</h1><p>About tea.</p><div>{html}</div><p>More about tea.</p>")
    size = len(found.nodes.leaves)
    templateness, alike = np.full(size, seen), np.zeros(size, np.int64)
    templateness[[0, 1, -1]], alike[2:-1] = 0, shared
    own = own_texts(found, headline_of(found), templateness, alike, 9)
    assert own.tolist() == [False, False, *[shared == 0] * (size - 3), False]


@pytest.mark.parametrize(("others", "doubt", "stays"), [(0, 0.7, True), (0, 0.95, False), (3, 0.7, True)])
def test_a_long_page_alone_is_kept_to_its_last_paragraph(others, doubt, stays):
    """Half of the paragraphs of one element are content; those of the footer, and links, are not like them."""
    paragraph = "<p>All about the leaves of the green tea that grow here."
    html = f"<main>{paragraph * 12}<ul><li><a href=/b>{paragraph}</a></ul></main><footer>{paragraph * 6}</footer>"
    found = page(html)
    seen = np.array([0.1] * 7 + [doubt] * 5 + [0.7] * 7)
    alike = np.zeros(len(seen), np.int64)
    assert own_texts(found, None, seen, alike, others).tolist() == [False] * 7 + [stays] * 5 + [False] * 7


def test_a_heading_may_be_the_last_text_of_a_page():
    found = page("<p>All about tea.</p><h1>Tea</h1><img src=tea.png>")
    assert not own_texts(found, headline_of(found), np.array([0.8, 0]), np.zeros(2, np.int64), 9)[1]


def test_a_stretch_of_links_amid_content_is_no_content_because_other_pages_have_others():
    links = "".join(f"<li><a href=/{number}>Kind {number}</a> new</li>" for number in range(20))
    found = page(f"<h1>Tea</h1><p>About tea.</p><ul>{links}</ul><p>More about tea.</p>")
    templateness = np.full(len(found.nodes.leaves), 0.8)
    templateness[[0, 1, -1]] = 0
    alike = np.zeros(len(templateness), np.int64)
    assert not own_texts(found, headline_of(found), templateness, alike, 9).any()


@pytest.mark.parametrize(
    ("label", "others", "is_content"),
    [
        ("Since: 1.0", 7, True),
        ("Copy", 9, False),  # all others have it
        ("Methods that are inherited from the class of all kinds", 7, False),
        ("<a href=/edit>Edit</a>", 7, False),
    ],
)
def test_a_few_words_without_links_between_content_are_content_though_most_pages_have_them(label, others, is_content):
    found = page(f"<h1>Tea</h1><p>Pours the tea.</p><p>{label}</p><p>Fills the cup.</p><p>Since: 1.0</p>")
    templateness, alike = np.array([0, 0, 0.8, 0, 0.8]), np.array([0, 0, others, 0, 7])
    own = own_texts(found, headline_of(found), templateness, alike, 9)
    assert own.tolist() == [False, False, is_content, False, False]
