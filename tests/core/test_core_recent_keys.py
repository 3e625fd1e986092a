"""The table of the pages that a crawl remembers: it is the same with the compiled core and without it."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.core import MISSING, in_python

KINDS = [RecentKeys, in_python(RecentKeys)]
#: Few keys that come again and again, keys that differ in their highest bits alone, and any others.
keys = st.integers(-3, 30) | st.integers(-128, 127).map(lambda key: key << 56) | st.integers(-(2**63), 2**63 - 1)
columns = st.lists(st.tuples(keys, st.integers(0, 127)), max_size=200)


@given(st.integers(1, 40), columns)
def test_the_core_remembers_and_forgets_what_python_does(most, added):
    compiled, python = RecentKeys(most), in_python(RecentKeys)(most)
    for key, number in added:
        for table in (compiled, python):
            table.add(key, number)
        for other, _ in added:
            assert compiled.get(other) == python.get(other)
            assert (other in compiled) == (other in python)
    assert len(compiled) == len(python) <= most
    for i in range(2):
        assert compiled.items()[i].dtype == python.items()[i].dtype
        assert compiled.items()[i].tolist() == python.items()[i].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_keys_are_remembered_in_their_order_after_many_rounds(kind):
    table, added = kind(1000), np.random.default_rng(1).integers(-(2**63), 2**63, 10_500)
    for key in added.tolist():
        table.add(key, key % 128)
    assert table.items()[0].tolist() == added[-1000:].tolist()
    assert table.items()[1].tolist() == (added[-1000:] % 128).tolist()
    assert [key in table for key in added.tolist()] == [False] * 9500 + [True] * 1000
    again = kind(1000)
    again.extend(*table.items())
    again.add(7)
    assert again.items()[0].tolist() == [*added[-999:].tolist(), 7]


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_does_not_fit_is_refused(kind):
    table = kind(3)
    for number in (-1, 128):
        with pytest.raises(ValueError, match=f"{number} is not a number from 0 to 127"):
            table.add(1, number)
    assert 1 not in table


@pytest.mark.skipif(bool(MISSING), reason="there is no core")
def test_a_hundred_thousand_keys_take_few_bytes():
    table = RecentKeys(100_000)
    for key in range(100_000):
        table.add(key << 40)
    full = sys.getsizeof(table)
    assert full <= 25 * 100_000
    for key in range(300_000):
        table.add(key << 20 | 1)
    assert sys.getsizeof(table) == full
