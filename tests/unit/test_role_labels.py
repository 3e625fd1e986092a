"""Labels from the roles of texts and from facts, with which benchmarks train and judge."""

from __future__ import annotations

import pytest

from benchmarks.role_labels import by_facts, by_roles
from scrapy_pagelets import Page
from scrapy_pagelets.training.training_tables import CONTENT, TEMPLATE, UNKNOWN

BODY = "<ul class=menu><li><a href=/>Home</a><li><a href=/plums>Plums</a></ul><p>{}</p><div>Home</div>"


def page(text: str) -> Page:
    return Page.parse(BODY.format(text).encode(), "http://s.test/a")


def test_labels_from_the_roles_of_runs():
    one = page("Plums are <b>what we</b> have at Home, and nothing else")
    runs = [
        ("navigation", "Home Plums"),
        ("content", "Plums are what we have at Home, and nothing"),
        ("metadata", "else Home"),
    ]
    assert one.nodes.strings[2:] == ["Plums are", "what we", "have at Home, and nothing else", "Home"]
    assert by_roles(one, runs).tolist() == [TEMPLATE, TEMPLATE, CONTENT, CONTENT, CONTENT, UNKNOWN]


def test_words_that_are_not_in_the_runs_stay_without_a_label():
    one = page("Plums")
    assert by_roles(one, []).tolist() == [UNKNOWN] * 4
    assert by_roles(one, [("content", "Nothing of this is there")]).tolist() == [UNKNOWN] * 4


def test_an_unknown_role_is_refused():
    with pytest.raises(ValueError, match="no role is called 'advert': take comments, content, contents, forms"):
        by_roles(page("Plums"), [("advert", "Plums")])


def test_facts_and_what_names_them_are_content():
    one = page("Plums of Home <b>ISBN-13:</b> 978-1-60260-015-7 <i>$ 5.00</i> plums, 9781602600157 of them")
    labels = by_facts(one, ["9781602600157", "5.00", ""])
    known = [text for text, label in zip(one.nodes.strings, labels, strict=True) if label == CONTENT]
    assert known == ["ISBN-13:", "978-1-60260-015-7", "$ 5.00", "plums, 9781602600157 of them"]
    assert TEMPLATE not in labels
