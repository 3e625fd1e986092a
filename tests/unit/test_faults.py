"""The benchmarks of faults: the causes of what is decided wrongly, the best cut of a page, and what a change moves."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.stability import CHANGES, difference, footed
from benchmarks.worst import CAUSES, best_f1, causes
from scrapy_pagelets import Page


def page(body: str) -> Page:
    return Page.parse(f"<body class=sidebar>{body}</body>".encode(), "http://a.test/")


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("<p>The river rose by two metres within a single night of rain", "prose"),
        ("<div class='entry-comments'><span class=date>Monday", "comments"),
        ("<div class=entry><span class=date>Monday", "bylines, dates"),
        ("<h2>The flood", "headings"),
        ("<ul><li><a href=a>A</a><li><a href=b>B</a><li><a href=c>C</a></ul>", "lists of links"),
        ("<table><tr><td>Monday", "tables"),
        ("<p>Monday", "short texts"),
    ],
)
def test_the_cause_of_a_fault_is_what_the_elements_around_it_say(body, cause):
    assert {CAUSES[number] for number in causes(page(body).nodes).tolist()} == {cause}


def test_the_best_cut_keeps_the_likeliest_leaves_that_pay():
    words, content = np.array([10, 5, 10]), np.array([True, False, True])
    assert best_f1(words, content, np.array([0.9, 0.95, 0.8])) == 1
    assert best_f1(words, content, np.array([0.1, 0.2, 0.3])) == pytest.approx(2 * 20 / 45)
    assert best_f1(words, ~np.ones(3, np.bool_), np.array([0.1, 0.2, 0.3])) == 0


def test_text_that_a_change_only_moves_is_the_same():
    body = footed(b"<body><ul><li><a href=a>First</a></li></ul><p>two words</p></body>")
    changed = CHANGES["one more entry in a list"](body)
    before, after = Page.parse(body, "http://a.test/"), Page.parse(changed, "http://a.test/")
    assert len(after.nodes.leaves) == len(before.nodes.leaves) + 1
    assert difference((before, np.array([1, 0, 1])), (after, np.array([0, 1, 0, 1]))) == (False, 0, False)
    assert difference((before, np.array([1, 0, 1])), (after, np.array([0, 1, 1, 1]))) == (True, 1, True)
