"""The own headings of pages of a site: of entries, archives and numbered chapters."""

import numpy as np
import pytest

from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.metadata.headline import headline_of

NAMES = "Sencha Bancha Matcha Hojicha Genmaicha Kukicha Gyokuro Tencha".split()


def site_of(html):
    """A site whose pages differ in a name and a number."""
    site = Site("tea.test")
    head = (
        "<header><a href=/>Leaf House</a></header><nav>" + "".join(f"<a href=/{n}>{n}</a> " for n in NAMES) + "</nav>"
    )
    pages = []
    for number, name in enumerate(NAMES, 1):
        text = " ".join(f"{name} of hill {number} is picked in week {number * 7}." for _ in range(5))
        body = html.format(name=name, number=number, text=text, post=f"All about {name.lower()}")
        start, _, rest = body.partition("<body>")
        pages.append(Page.parse(f"{start}{head}{rest}<footer>Leaf House</footer>".encode(), f"http://tea.test/{name}"))
        site.learn(pages[-1])
    return site, pages


def heading_of(html):
    site, pages = site_of(html)
    headline = decided(pages[2], site).headline
    return headline and headline.text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # a guide is no name of a site
        ("<title>{name}, a guide</title><body><h1>{name}, a guide</h1><h1>{name}</h1><p>{text}", "Matcha, a guide"),
        ("<title>69 {name}</title><body><h1>69 <b class=title>{name}</b></h1><p>{text}", "69 Matcha"),
        # a title that shops write with the wrong attribute; reviews have headings of the first level, too
        (
            "<title>Buy {name}</title><meta name=og:title content='{name}, loose'><body><h1>{name}, loose</h1><p>{text}"
            "<h1>Review of {number}</h1><p>{text}",
            "Matcha, loose",
        ),
        # archives
        (
            "<title>{name} | Leaf House</title><body><h1><span>Posts categorized:</span> {name}</h1>"
            "<article><h2><a href=/p>{post}</a></h2><h1>Water</h1><p>{text}<h1>Cup {number}</h1><p>{text}</article>",
            "Posts categorized: Matcha",
        ),
        (
            "<title>{name} tea - Leaf House</title><body><h1>Tag: {name} tea</h1><h2><a href=/p>{post}</a></h2>"
            "<h1>Water for {name}</h1><p>{text}<h2><a href=/q>More of {name}</a></h2><h1>Cups</h1><p>{text}",
            "Tag: Matcha tea",
        ),
        ("<title>{name}</title><body><h2>{name} index</h2><ul><li><a href=/k>{text}</a></ul>", "Matcha index"),
        ("<title>{name}</title><body><h2>Index of {name}</h2><p>{text}<h2>{name} cups</h2><p>{text}", None),
        # generators: a group below the name of a class, the name of an interface, a file, the arrow to the top
        (
            "<title>Leaves: tea::{name} Class Reference</title><body><div class=title>tea::{name} Class Reference"
            "<div class=ingroups><a href=/g>Hills of {name}</a></div></div><h2>Members</h2><p>{text}"
            "<h2>Details</h2><p>{text}",
            "tea::Matcha Class Reference",
        ),
        ("<title>{name}7 (Leaves 7)</title><body><h2>Interface {name}7</h2><h3>A</h3><p>{text}", "Interface Matcha7"),
        (
            "<title>How_To_Brew_{name}</title><body><h3>Tea</h3><h2>5 How to brew {name}</h2>{text}",
            "5 How to brew Matcha",
        ),
        (
            "<title>{name}</title><body><h1>{name}<span><a href=#x>¶</a> <a href=#top>↑</a></span></h1><p>{text}",
            "Matcha",
        ),
        # badges behind it, which other pages have as well; what names its kind before it stays, as do words of its own
        (
            "<title>{name} class - leaves library</title><body><h1>{name} class <span>Null safety</span></h1><p>{text}",
            "Matcha class",
        ),
        (
            "<title>{name}, sorted | Store</title><body><h1>{name}, sorted <b>Open access</b></h1><p>{text}",
            "Matcha, sorted",
        ),
        ("<title>{name} - Leaf House</title><body><h1><i>class</i> {name}</h1><p>{text}", "class Matcha"),
        ("<title>Hill {number} - Tea</title><body><h1>Hill {number} <b>{name}</b></h1><p>{text}", "Hill 3 Matcha"),
        # what it hides, and links to the top of the page
        ("<title>{name}</title><body><h1>{name} <x-y hidden>Keep it</x-y></h1><p>{text}", "Matcha"),
        (
            "<title>{name}</title><body><h1>{name} <a href=#t>to top</a></h1><p>{text}<h2>A <a href=#t>to top</a></h2>",
            "Matcha",
        ),
        ("<title>{name} 2</title><body><h1>{name} <a href=#n>2</a></h1>{text}<h2>A <a href=#n>2</a></h2>", "Matcha 2"),
        ("<title>{name} on top</title><body><h1>{name} <a href=#t>on top</a></h1><p>{text}", "Matcha on top"),
        # labels before it and numbers behind it
        ("<title>{name} tea</title><body><h1>Thread: <a href=/t>{name} tea</a></h1><p>{text}", "Matcha tea"),
        ("<title>#{number} - {name} - Tea</title><body><h1>{name} <i>#{number}</i></h1><p>{text}", "Matcha"),
        # what names an icon to screen readers, and a line below the title
        (
            "<title>{name} - Tea v1</title><body><h1><a href=/s><i></i><b class=sr-only>Source</b></a> {name}</h1>"
            "<p>{text}",
            "Matcha",
        ),
        (
            "<title>News - {name}</title><meta property=og:title content={name}><body><div class=page-title><div>{name}"
            "</div><div>Report of <a href=/>Leaf House</a></div></div><p>{text}",
            "Matcha",
        ),
        ("<title>By the hill of {name}</title><body><h2>By the hill of {name}</h2><p>{text}", "By the hill of Matcha"),
        ("<title>{name}</title><body><h1>{name}<br><span class=subtitle>A tea</span></h1><p>{text}", "Matcha"),
        # a line and links before the title; a title that says all of it, and one that only ends with the line
        ("<title>{name} in cups: part 3</title><body><h1>Part 3<br>{name} in cups</h1>{text}", "Matcha in cups"),
        ("<title>3 {name} in cups</title><body><h1><b>Part 3</b><br>{name} in cups</h1>{text}", "Matcha in cups"),
        ("<title>Part 3 {name} in cups</title><body><h1>Part 3<br>{name} in cups</h1>", "Part 3 Matcha in cups"),
        ("<title>{name} | House of Bo Li</title><body><h1>{name} in cups<br>Bo Li</h1>{text}", "Matcha in cups Bo Li"),
        (
            "<title>{name} at noon | Teas | House</title><body><h2><a href=/>House</a> | <a href=/t>Teas</a> | "
            "{name} at noon</h2>{text}",
            "Matcha at noon",
        ),
        # links of all sections to one place
        (
            "<title>{name}</title><body><h1>{name} <a href=#t>[Top]</a></h1>{text}<h2>A <a href=#t>[Top]</a></h2>",
            "Matcha",
        ),
        # two equal ones are one
        ("<title>Leaf House</title><body><h1>Green {name}</h1><p>{text}<h1>green {name}</h1>", "Green Matcha"),
        # numbers
        ("<title>Part {number} - Leaf House</title><body><h1>Part {number}</h1><p>{text}", "Part 3"),
        ("<title>Leaf House</title><body><h1>RFC <b>{number}</b></h1><p>{text}", "RFC 3"),
        ("<title>v1.{number}.0</title><body><h2>Version 1.{number}.0</h2><p>{text}", None),
    ],
)
def test_the_own_heading(html, expected):
    assert heading_of(html) == expected


@pytest.mark.parametrize(
    ("title", "html", "expected"),
    [
        ("Flexbox - Learn web design | Docs", "<h2>Learn web design</h2><h1>Flexbox</h1>", "Flexbox"),
        (
            "Cheap jugs, inside and out",
            "<h4>Inside and out</h4><h1>Jug for inside and out</h1>",
            "Jug for inside and out",
        ),
        ("Tea: the green one", "<h1>Tea</h1><h2>The green one</h2>", "The green one"),
        ("Tea | The green one", "<h1><a href=/>Tea</a></h1><h2>The green one</h2>", "The green one"),
        ("Tea, by Bo of the hill", "<h2>Tea</h2><h3>by Bo of the hill</h3>", "Tea"),
        ("The green one | Tea", "<h1>Tea</h1><h2>The green one</h2>", "The green one"),
    ],
)
def test_the_only_heading_of_the_first_level_has_what_the_title_begins_with(title, html, expected):
    page = Page.parse(f"<title>{title}</title>{html}<p>All about it".encode(), "http://tea.test/a")
    assert (headline := headline_of(page)) is not None
    assert headline.text == expected


def test_the_heading_of_the_first_level_says_as_much_of_the_title_as_another_one_but_for_its_label():
    html = "<title>Tea | Cups 2</title><h1>Class Tea Type</h1><p>All about it<h4>Returns <a href=/tea>Tea</a></h4>"
    page = Page.parse(html.encode(), "http://tea.test/a")
    alike = np.array([9 * (text.strip() == "Returns") for text in page.nodes.strings], np.int64)
    assert (headline := headline_of(page, alike, 9)) is not None
    assert headline.text == "Class Tea Type"


@pytest.mark.parametrize(
    ("html", "is_found"),
    [
        ("<p>How to steep tea</p>", True),
        ("<title>703 – How to steep tea</title><p>How to steep tea</p>", True),
        ("<title>The Tea Times – How to steep tea</title><p>How to steep tea</p>", False),
        ("<p><a href=/tea>How to steep tea</a></p>", False),
        ("<p><a href=/a>How to steep tea</a></p>", True),
        ("<li>How to steep tea</li>", False),
        ("<p>How to steep tea, and when</p>", False),
    ],
)
def test_a_paragraph_of_what_the_title_begins_with_is_the_headline_of_a_page_without_headings(html, is_found):
    page = Page.parse(
        f"{html}<p>All about it<title>How to steep tea - The Tea Times</title>".encode(), "http://a.test/a"
    )
    assert (headline_of(page) is not None) == is_found


@pytest.mark.parametrize(
    ("title", "html", "pages", "expected"),
    [
        ("Tea.Leaf", "<p>Tea.Leaf</p>", 0, "Tea.Leaf"),
        ("Bo's page: How to steep tea", "<td><font>Bo's page</font><td><b>How to steep tea</b>", 9, "How to steep tea"),
        ("How to steep tea: the page of Bo", "<td><b>the page of Bo</b>", 0, None),
        ("Leaf of us", "<p>Leaf</p>", 0, None),
        ("leaf", "<tr><td>Keyword<td><b>leaf</b>", 9, None),
        ("Teas of Bo: Green tea", "<td><font size=6><b>Green tea</b></font>", 9, "Green tea"),
        ("Teas of Bo: Green tea", "<td><p>Green tea</p>", 9, None),
        ("All of green tea - Bo", "<td><b>Topic: All of green tea</b>", 9, "All of green tea"),
        ("Teas of Bo: Green tea", "<td><b>Green tea</b>", 0, None),
        ("Tea::Green - steep it", "<h1>NAME</h1><p>Tea::Green - steep it</p><h1>USE</h1>", 0, "Tea::Green - steep it"),
        ("Tea::Green - steep it", "<h1>NAME</h1><p>Tea::Green - steep it well</p><h1>USE</h1>", 0, None),
    ],
)
def test_a_line_of_all_of_the_title_or_its_end_is_the_headline(title, html, pages, expected):
    page = Page.parse(f"<title>{title}</title><table>{html}</table>".encode(), "http://a.test/a")
    found = headline_of(page, np.zeros(len(page.nodes.leaves), np.int64), pages)
    assert (found.text if found else None) == expected


@pytest.mark.parametrize(
    ("title", "html", "expected"),
    [
        ("Teas of Bo", "<h3>Steeping</h3><p>Hot.</p><h4>Cups</h4><p>Warm.</p><h4>Pots</h4>", "Steeping"),
        ("", "<h3>Steeping</h3><p>Hot.</p><h4>Cups</h4><p>Warm.</p><h4>Pots</h4>", "Steeping"),
        ("Teas of Bo", "<h3>Cups</h3><p>Warm.</p><h3>Pots</h3><p>Round.</p>", None),
        ("Teas of Bo and Ana", "<h3>Steeping</h3><p>Hot.</p>", None),
    ],
)
def test_a_title_that_names_the_site_alone_leaves_the_name_of_the_page_to_the_first_heading(title, html, expected):
    page = Page.parse(f"<title>{title}</title><h2>The Teas of Bo</h2>{html}".encode(), "http://a.test/a")
    found = headline_of(page, np.array([9] + [0] * (len(page.nodes.leaves) - 1)), pages=9)
    assert (found.text if found else None) == expected


@pytest.mark.parametrize(
    ("title", "html", "expected"),
    [
        # the title of a letter and that of a link that people discuss
        (
            "Green tea or white - Ana Bo",
            "<pre>To: all\nSubject: <a href=#r>Green tea or white</a>\nDate: 3</pre>",
            True,
        ),
        ("Green tea or white | News", "<td class=title><i><a href=/x>Green tea or white</a></i> (b.test)", True),
        ("Green tea or white | News", "<td class=cup><i><a href=/x>Green tea or white</a></i> (b.test)", False),
    ],
)
def test_a_link_is_the_headline_behind_a_label_or_in_what_is_named_a_title(title, html, expected):
    page = Page.parse(
        f"<title>{title}</title><table><tr><td>Home<td>{html}</table><p>Words".encode(), "http://a.test/b"
    )
    headline = headline_of(page)
    assert (headline is not None and headline.text == "Green tea or white") == expected
