"""The hashes of the words of many texts at once: the same as text by text."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import token_hashes, word_tokens

SITE = Path(__file__).parents[1] / "site"
#: Words, numbers, what separates them, and texts of other scripts; any of them may follow any other.
PIECES = (
    "a", "Word", "x" * 15, "Y" * 16, "1" * 20, "12", "7th", "v1_2", "_", "1_" * 9, "a1b22c333" * 3, " ", "  ", "\n",
    "\xa0", "-", ".", "'", "\x7f", "é", "ß", "İ", "n°", "ﬁ", "東京タワー", "สวัสดี", "한국", "שָׁלוֹם", "\u0301", "²", "٣",
    "\ud800", "\U0001f600",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(
    st.characters(exclude_characters="\0"), max_size=20
)


def assert_equal_tokens(strings):
    expected = list(map(token_hashes, strings))
    numbers, found = word_tokens(strings)
    assert numbers.dtype == found.dtype == np.int64
    assert numbers.tolist() == [number for number, own in enumerate(expected) for _ in own]
    assert found.tolist() == [token for own in expected for token in own.tolist()]


@given(st.lists(texts, max_size=8))
@example([])
@example(["", "é", "a b", "", "c é d", "e"])
@example(["1" * 20, "a" * 14 + "22", "12345 1a2b 3" + "x" * 20])
def test_all_hashes_are_equal(strings):
    assert_equal_tokens(strings)


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    assert_equal_tokens(Page.parse(path.read_bytes(), "http://example.com/").nodes.strings)


def test_more_words_than_are_remembered():
    strings = [f"a{chr(97 + i % 26)}{'b' * (i % 13)}{i // 338 * 'c'}d" for i in range(2000)]
    strings += ["".join(chr(97 + i // 26**place % 26) for place in range(5)) for i in range(70_000)]
    assert_equal_tokens(strings)
    assert word_tokens(strings[:1])[1].tolist() == token_hashes(strings[0]).tolist()


def test_a_long_word_gives_its_runs_of_three_characters():
    assert word_tokens(["a" * 16])[1].tolist() == token_hashes("aaa").tolist() * 14
