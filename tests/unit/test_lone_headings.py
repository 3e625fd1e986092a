"""Headings whose whole section is template."""

import numpy as np
import pytest

from scrapy_pagelets.decision.corrections import lone_headings_of
from tests.trees import page


def lone(html, alike=(), anywhere=()):
    """The headings that go, where texts in small letters are template.

    All other pages have the texts ``alike`` at their places, and those ``anywhere`` at others; one has those that end
    in an exclamation mark.
    """
    nodes = page(html).nodes
    keep = np.array([not text.islower() for text in nodes.strings], np.bool_)
    others = np.array([9 * (text in alike) + text.endswith("!") for text in nodes.strings], np.int64)
    elsewhere = others + np.array([9 * (text in anywhere) for text in nodes.strings], np.int64)
    found = lone_headings_of(nodes, keep, others, elsewhere, 9)
    return [text for text, one in zip(nodes.strings, found, strict=True) if one]


@pytest.mark.parametrize(
    ("html", "alike", "expected"),
    [
        ("<h1>Tea</h1><p>Of tea<h2>Share!</h2><p>us", [], ["Share!"]),
        ("<h1>Tea</h1><p>Of tea<h2>Share!</h2><p>us<footer>tea house</footer>", [], ["Share!"]),
        ("<h2>Tags</h2>green<h2>Cups</h2><p>Of clay", ["Tags"], ["Tags"]),
        ("<h2>Read</h2><h3>Also</h3><a href=/x>cups</a><h2>Cups</h2><p>Clay", ["Read", "Also"], ["Read", "Also"]),
        ("<h2>Tags <b>of all</b></h2>green<h2>Cups</h2><p>Of clay", ["Tags"], []),  # part of it is template
        # the site lacks evidence
        ("<h2>Water!</h2>boiled<h2>Cups</h2><p>Of clay", [], []),
        ("<p>Tea<h2>Water</h2>boiled", [], []),
        # its section has content, or has no text at all
        ("<h2>Tags</h2>green<h3>Cups</h3><p>Of clay", ["Tags"], []),
        ("<h2>Tags</h2><p>Green<p>black", ["Tags"], []),
        ("<h2>Tags</h2><h2>Cups</h2><p>Of clay", ["Tags"], []),
        ("<p>Tea<h2>Tags</h2>", ["Tags"], []),
        # a post, a gallery, a list of posts
        ("<p>Tea<h2><a href=/x>Cups!</a></h2><p>today", [], []),
        ("<p>Tea<h2>Pictures!</h2><img src=i.png><p>share", [], []),
        ("<p>Tea<h2>Cups!</h2>today<h2>Pots!</h2>today", [], ["Pots!"]),
        ("", [], []),
    ],
)
def test_headings_without_a_section(html, alike, expected):
    assert lone(html, alike) == expected


def test_many_headings():
    assert lone("<h1>Tea!</h1>x" * 10_000) == ["Tea!"]
    assert len(lone("<h1>Tea</h1>x" * 10_000, ["Tea"])) == 10_000
    assert lone("<h1>" * 1000 + "Tea" + "</h1>" * 1000 + "<p>x", ["Tea"]) == ["Tea"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Tea<h4>Share</h4><p>us<h4>Cups</h4><p>Of clay", ["Share"]),  # paragraphs before it shift its place
        ("<p>Tea<h4>Share</h4><p>us", ["Share"]),
        ("<p>Tea<h2><a href=/x>Share</a></h2><p>us<h2>Cups</h2><p>Of clay", []),  # a post that lists of posts name
        ("<p>Tea<h4>Share</h4><p>Tags", []),
    ],
)
def test_other_pages_have_the_heading_at_other_places(html, expected):
    assert lone(html, anywhere=["Share"]) == expected
