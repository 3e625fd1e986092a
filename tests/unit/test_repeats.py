"""What a page says twice is content once."""

import numpy as np
import pytest
from hypothesis import given

from scrapy_pagelets import Site
from scrapy_pagelets.decision.corrections import repeats_of
from scrapy_pagelets.decision.decision import decided
from tests.trees import page, soups

CARD = "<h3>Green tea</h3><p>Green tea of the hills is picked by hand,</p><p>and dried in the same week, or is lost"
BLOCK = f"<div>{CARD}</div>"
SAID = "All that there is to say about tea"


def found(html, lost=""):
    """Places of the repeated texts of a page, of which the passes have lost one."""
    nodes = page(html).nodes
    keep = np.array([text != lost for text in nodes.strings], np.bool_)
    return np.flatnonzero(repeats_of(nodes, keep)).tolist()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"<div class=wide>{CARD}</div><div class=narrow>{CARD}</div>", [3, 4, 5]),
        (f"<main><div><div>{BLOCK}</div></div><section><div>{CARD}</div></section></main>", [3, 4, 5]),
        (f"{BLOCK}<div>{CARD}, or not</div>", []),
        (BLOCK * 3, []),
        (f"<ul><li>{CARD}<li>{CARD}</ul>", []),
        (f"<div><table><tr><td>{CARD}</table></div>" * 2, []),
        (f"{BLOCK}<p>{'Another text of the page. ' * 60}</p>{BLOCK}", []),
        ("<div><p>Tea<p>Tea<p>Tea</div><div><p>Tea<p>Tea<p>Tea</div>", []),
    ],
)
def test_a_block_that_stands_twice_side_by_side(html, expected):
    assert found(html) == expected


def test_the_second_copy_stays_if_the_first_one_is_no_content():
    html = f"{BLOCK}{BLOCK}"
    nodes = page(html).nodes
    assert not repeats_of(nodes, np.arange(6) >= 3).any()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"<p>{SAID}<blockquote><p>Bo said:<p>{SAID}</blockquote><p>No", [1, 2]),
        (f"<blockquote><p>{SAID}</blockquote><p>{SAID}", []),
        (f"<p>{SAID}<blockquote>{SAID}<p>and much more that is not in the text above it</blockquote>", []),
        (f"<p>{SAID}<div>{SAID}</div>", []),
        ("<p>Tea of the hills<blockquote>Tea of the hills</blockquote>", []),
        (f"<blockquote><p>{SAID}<blockquote><p>{SAID}</blockquote></blockquote>", [1]),
        (f"<p>May<blockquote>{SAID}</blockquote><p>June<blockquote>{SAID}</blockquote>", []),  # indented, not quoted
    ],
)
def test_a_quotation_of_what_stands_above(html, expected):
    assert found(html) == expected


def test_in_a_thread_the_first_quotation_of_what_another_page_says_stays():
    nodes = page("".join(f"<blockquote>{SAID}</blockquote><p>{answer}" for answer in ("Yes", "No"))).nodes
    found = repeats_of(nodes, np.ones(len(nodes.leaves), np.bool_), is_thread=True)
    assert found.tolist() == [False, False, True, False]


def test_a_quotation_stays_if_what_it_quotes_is_no_content():
    assert found(f"<p>{SAID}<blockquote><p>{SAID}</blockquote>", lost=SAID) == []


def test_a_page_is_left_with_one_copy():
    site, twice = Site("a"), page(f"<h1>Of tea</h1>{BLOCK}{BLOCK}")
    site.learn(twice)
    assert np.flatnonzero(decided(twice, site).content).tolist() == [0, 1, 2, 3]


@given(soups)
def test_the_first_of_equal_texts_is_never_repeated(html):
    nodes = page(html).nodes
    repeated = repeats_of(nodes, np.ones(len(nodes.leaves), np.bool_))
    _, first = np.unique(nodes.text, return_index=True)
    assert not repeated[first].any()
