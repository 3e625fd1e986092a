"""Alignment of the texts of two trees: ascending, between equal texts, complete if one tree only adds to the other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.base.arrays import align_values

texts = st.lists(st.integers(0, 8), max_size=30)


@given(texts, texts)
def test_what_is_aligned_is_equal_and_ascending(ours, theirs):
    found = align_values(np.array(ours, np.int64), np.array(theirs, np.int64))
    assert len(found) == len(ours)
    places = np.flatnonzero(found >= 0)
    assert [ours[i] for i in places] == [theirs[j] for j in found[places]]
    assert (np.diff(found[places]) > 0).all()


@given(st.lists(st.integers(), unique=True, max_size=30), st.data())
def test_of_texts_that_are_all_different_those_that_are_left_are_found(theirs, data):
    keep = data.draw(st.lists(st.booleans(), min_size=len(theirs), max_size=len(theirs)))
    theirs = [value % 2**62 for value in theirs]
    kept = [j for j, kept in enumerate(keep) if kept]
    found = align_values(np.array([theirs[j] for j in kept], np.int64), np.array(theirs, np.int64))
    if len(set(theirs)) == len(theirs):
        assert found.tolist() == kept


def test_repeated_texts_around_what_was_added_are_found():
    theirs = [1, 2, 1, 2, 3, 1, 2]
    assert align_values(np.array([1, 2, 1, 2, 9, 3, 8, 1, 2]), np.array(theirs)).tolist() == [
        0,
        1,
        2,
        3,
        -1,
        4,
        -1,
        5,
        6,
    ]


def test_a_hundred_thousand_equal_texts_are_no_quadratic_matter():
    ours = np.ones(100_000, np.int64)
    found = align_values(np.append(ours, 2), np.append(ours[1:], 2))
    assert found[-1] == 99_999
    assert (found >= 0).sum() == 100_000
