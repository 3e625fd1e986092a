"""Corrections of what is content: titles of posts, and the lists below the last heading of an article."""

import numpy as np
import pytest

from scrapy_pagelets.decision.content import corrected
from tests.trees import page

TEXT = "<p>" + "All about green tea, and how it is picked. " * 6
DATE = "<i>January</i>"


def kept(html, **templateness):
    """The texts that are content, where the words of ``templateness`` have it, and small letters are template."""
    nodes = page(html).nodes
    told = [templateness.get(text.split()[0], 0.8 * text.islower()) for text in nodes.strings]
    found = corrected(nodes, np.array(told), None)
    return [text.split()[0] for text, one in zip(nodes.strings, found, strict=True) if one < 0.5]


@pytest.mark.parametrize(
    ("html", "title", "expected"),
    [
        ("<article><header><h2><a href=/a>Uji</a></h2><i>may</i></header>{text}</article>", 0.8, ["Uji", "All"]),
        ("<article><h2><a href=/a>Uji</a></h2><i>may</i>{text}</article>", 0.8, ["Uji", "All"]),
        # the name of the site, linked or not
        ("<article><header><h2><a href=/a>Uji</a></h2><i>may</i></header>{text}</article>", 0.96, ["All"]),
        ("<header><h2>Uji</h2><i>may</i></header>{text}", 0.8, ["All"]),
        # a heading in an element of its own
        ("<div><h2>Uji</h2></div>{text}", 0.8, ["Uji", "All"]),
        ("<div><h2>Uji</h2></div>{text}", 0.96, ["All"]),
        # a title whose text is not content
        (f"<main><h2><a href=/a>Uji</a></h2><ul>{'<li>of us<li>of tea' * 9}</ul></main>{{text}}", 0.8, ["All"]),
    ],
)
def test_the_title_of_a_post_whose_header_holds_a_date(html, title, expected):
    assert kept(html.format(text=TEXT), Uji=title) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("<h3>Features</h3><ul><li>size 60 g<li>crotch strap</ul>", ["Features", "size", "crotch"]),
        ("<h3>Features</h3><table><tr><td>size<td>60 g</table>", ["Features", "size", "60"]),
        ("<h3>Features</h3><ul><li>size 60 g<li><a href=/b>more of us</a></ul>", ["Features"]),
        ("<h3>features</h3><ul><li>size 60 g</ul>", []),
        ("<ul><li>size 60 g</ul>", []),
    ],
)
def test_what_stands_below_the_last_heading_of_an_article(end, expected):
    assert kept(f"<article>{TEXT}{end}</article>") == ["All", *expected]


def test_the_first_heading_of_an_article_announces_no_list():
    assert kept(f"<article><h3>Share</h3><ul><li>by mail</ul></article>{TEXT}") == ["Share", "All"]
