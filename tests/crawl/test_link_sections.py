"""A heading that a site repeats, with links to other pages below it, is template."""

import numpy as np
import pytest

from scrapy_pagelets import Site
from scrapy_pagelets.decision.corrections import link_sections_of
from scrapy_pagelets.decision.decision import decided
from tests.crawling import words
from tests.trees import page

LINKS = "<ul><li><a href=/black>Black tea</a><li><a href=/white>White tea</a></ul>"


CARDS = "<div><h4><a href=/black>Black tea</a></h4><p>Of the hills in the spring</div><div><h4><a href=/x>X</a></h4>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"<h3>More</h3>{LINKS}<h3>Of tea</h3><p>Green", ["More", "Black tea", "White tea"]),
        (f"<div><h3>More</h3>{LINKS}</div><p>Green", ["More", "Black tea", "White tea"]),
        (f"<h3>More</h3><p>All about the teas of the hills in the spring</p>{LINKS}", []),
        (f"<h3>Rare</h3>{LINKS}", []),
        ("<h3>More</h3><ul><li><a href=/black>Black tea</a></ul>", []),
        ("<h3>More</h3><ul><li><a href='#black'>Black tea</a><li><a href='#white'>White tea</a></ul>", []),
        ("<h3>More</h3><ul><li><a href=/black.pdf>Black tea</a><li><a href=/white.pdf>White tea</a></ul>", []),
        ("<h3>More", []),
    ],
)
def test_what_is_a_section_of_links(html, expected):
    found = page(html)
    often = np.array([9 if text == "More" else 1 for text in found.nodes.strings])
    mask = link_sections_of(found, np.zeros(len(found.nodes.leaves)), often, 9)
    assert [text for text, links in zip(found.nodes.strings, mask, strict=True) if links] == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"<h3>More</h3>{CARDS}", 4),
        (f"<h4>More</h4>{CARDS}", 0),
        (f"<h3>More</h3>{CARDS}".replace("href=/black", ""), 0),
        (f"<h3>More</h3>All about the teas of the hills in the spring{CARDS}", 0),
    ],
)
def test_cards_below_linked_headings_are_links(html, expected):
    found = page(html)
    often = np.array([9 if text == "More" else 1 for text in found.nodes.strings])
    assert link_sections_of(found, np.zeros(len(found.nodes.leaves)), often, 9, cards=True).sum() == expected
    assert not link_sections_of(found, np.zeros(len(found.nodes.leaves)), often, 9).any()


@pytest.mark.parametrize(("told", "expected"), [(0.6, 5), (0.2, 0)])
def test_cards_with_more_than_links_are_a_section_if_the_model_takes_them_for_template(told, expected):
    cards = "".join(f"<div><h4><a href=/{name}>{name} tea</a></h4>4 euros</div>" for name in ("Black", "White"))
    found = page(f"<div><h3>More</h3>{cards}</div><p>Green")
    often = np.array([9 if text == "More" else 1 for text in found.nodes.strings])
    templateness = np.array([0.9, *[told] * 4, 0.1])
    assert link_sections_of(found, templateness, often, 9).sum() == expected


@pytest.mark.parametrize(("told", "expected"), [(0.6, 3), (0.4, 0)])
def test_links_to_other_sites_are_content_unless_the_model_takes_them_for_template(told, expected):
    found = page("<div><h3>More</h3><a href=http://b.test/>Black tea</a><p><a href=http://w.test/>White tea</a></div>")
    assert link_sections_of(found, np.array([0.9, told, told]), np.array([9, 1, 1]), 9).sum() == expected


def test_a_site_of_few_pages_tells_nothing():
    found = page(f"<h3>More</h3>{LINKS}")
    assert not link_sections_of(found, np.zeros(len(found.nodes.leaves)), np.full(3, 3), 3).any()


def post(number):
    """A post that follows others of the same section, with the links inside of its text."""
    more = "".join(f"<p>{i}. <a href=/{number}-{i}>{words(f'{number} {i}', 9)}</a>" for i in (1, 2))
    text = f"<p>{words(f'post {number}', 60)}</p><h4>Von hier</h4>{more}"
    return page(f"<article><h1>Post {number}</h1>{text}</article>", f"http://example.com/{number}")


def test_related_posts_are_template_on_a_known_site():
    site, posts = Site("example.com"), [post(number) for number in range(8)]
    for one in posts:
        site.learn(one)
    for one in posts:
        content = decided(one, site).content
        assert "Von hier" not in [text for text, keep in zip(one.nodes.strings, content, strict=True) if keep]
