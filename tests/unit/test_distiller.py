"""The distiller: which hubs it prefers, and what it expects of the pages that they link to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.links.relevance import Distiller

pages = st.integers(0, 9)
visits = st.lists(
    st.tuples(pages, st.floats(0, 1), st.lists(st.lists(pages, unique=True, max_size=5), max_size=3)), max_size=8
)


def distilled(*visited):
    distiller = Distiller()
    for visit in visited:
        distiller.add(*visit)
    return distiller.expected()


def test_the_links_of_a_hub_that_has_led_to_relevant_pages_are_expected_to_be_relevant():
    expected = distilled((0, 0.0, [[1, 2, 3, 4], [5, 6]]), (1, 0.8, []), (2, 0.4, []), (5, 0.0, []))
    assert expected == {3: pytest.approx(0.4), 4: pytest.approx(0.4)}  # (0.8 + 0.4) / (2 + 1)


def test_of_several_hubs_the_best_one_counts():
    expected = distilled((0, 0.0, [[1, 9]]), (7, 0.0, [[1, 2, 9]]), (1, 0.6, []), (2, 0.9, []))
    assert expected == {9: pytest.approx(0.5)}


def test_only_the_ten_best_hubs_are_followed():
    """Twelve lists have led to one relevant page each; two of these lists to a second one."""
    lists = [[1, 100 + n] for n in range(10)] + [[1, 2, 110], [1, 2, 111]]
    expected = distilled((0, 0.0, lists), (1, 0.5, []), (2, 0.5, []))
    assert {110, 111} < set(expected)
    assert len(expected) == 10


def test_old_pagelets_are_forgotten():
    distiller = Distiller(most=2)
    distiller.add(0, 0.0, [[1, 10], [1, 11], [1, 12], [1]])
    distiller.add(1, 0.5, [])
    assert set(distiller.expected()) == {11, 12}


def test_old_pages_are_forgotten(monkeypatch):
    monkeypatch.setattr("scrapy_pagelets.links.relevance._VISITED", 2)
    distiller = Distiller()
    for page in range(1, 5):
        distiller.add(page, 0.5, [])
    distiller.add(5, 0.0, [[1, 2, 4]])
    assert set(distiller.expected()) == {1, 2}
    assert distiller.added == 5


def test_without_links_or_relevance_nothing_is_expected():
    assert distilled() == distilled((0, 0.9, [])) == distilled((0, 0.9, [[1, 2]])) == {}
    assert distilled((0, 0.0, [[1, 2]]), (1, 0.0, [])) == {}


@settings(deadline=None)
@given(visits)
def test_only_unvisited_pages_with_links_are_expected_and_never_more_than_was_found(visited):
    found = distilled(*visited)
    linked = {target for _, _, lists in visited for links in lists for target in links}
    assert set(found) <= linked - {page for page, _, _ in visited}
    assert all(0 <= value <= max(relevance for _, relevance, _ in visited) for value in found.values())
