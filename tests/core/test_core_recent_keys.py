"""The table of the pages that a crawl remembers."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.base.caches import RecentKeys

#: Few keys that come again and again, keys that differ in their highest bits alone, and any others.
keys = st.integers(-3, 30) | st.integers(-128, 127).map(lambda key: key << 56) | st.integers(-(2**63), 2**63 - 1)
columns = st.lists(st.tuples(keys, st.integers(0, 127)), max_size=200)


@given(st.integers(1, 40), columns)
def test_keys_are_remembered_and_forgotten_as_by_a_dictionary(most, added):
    table, expected = RecentKeys(most), dict[int, int]()
    for key, number in added:
        assert table.add(key, number) == (key not in expected)
        expected[key] = number
        if len(expected) > most:
            del expected[next(iter(expected))]
        for other, _ in added:
            assert table.get(other) == expected.get(other)
            assert (other in table) == (other in expected)
    assert len(table) == len(expected)
    keys_left, numbers = table.items()
    assert [column.dtype.name for column in (keys_left, numbers)] == ["int64", "int8"]
    assert dict(zip(keys_left.tolist(), numbers.tolist(), strict=True)) == expected
    assert keys_left.tolist() == list(expected)


def test_the_last_keys_are_remembered_in_their_order_after_many_rounds():
    table, added = RecentKeys(1000), np.random.default_rng(1).integers(-(2**63), 2**63, 10_500)
    for key in added.tolist():
        table.add(key, key % 128)
    assert table.items()[0].tolist() == added[-1000:].tolist()
    assert table.items()[1].tolist() == (added[-1000:] % 128).tolist()
    assert [key in table for key in added.tolist()] == [False] * 9500 + [True] * 1000
    again = RecentKeys(1000)
    again.extend(*table.items())
    again.add(7)
    assert again.items()[0].tolist() == [*added[-999:].tolist(), 7]


def test_a_number_that_does_not_fit_is_refused():
    table = RecentKeys(3)
    for number in (-1, 128):
        with pytest.raises(ValueError, match=f"{number} is not a number from 0 to 127"):
            table.add(1, number)
    assert 1 not in table


def test_a_hundred_thousand_keys_take_few_bytes():
    table = RecentKeys(100_000)
    for key in range(100_000):
        table.add(key << 40)
    full = sys.getsizeof(table)
    assert full <= 25 * 100_000
    for key in range(300_000):
        table.add(key << 20 | 1)
    assert sys.getsizeof(table) == full
