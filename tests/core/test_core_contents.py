"""The words, shingles and sketches of texts in the compiled core: every one is the same as without it."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.duplicates.shingles import runs_of_tokens, shingles, weighted_shingles, word_hashes
from scrapy_pagelets.duplicates.sketch import minhash, minhashes
from tests.core.test_core_shingles import texts
from tests.oracles import word_shingles

#: Few words, so that shingles repeat.
words = st.lists(st.sampled_from("a b c dog Übung 東".split()), max_size=40).map(" ".join)
sizes = st.integers(1, 9)


def assert_equal(found, expected):
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert (found == expected).all()


@given(texts | words)
@example("")
@example("Zß" + "x" * 200 + " " + "Y" * 64)
@example("\0a\0")
def test_the_words_are_equal(text):
    assert_equal(word_hashes(text), word_shingles.word_hashes(text))


@given(st.lists(texts | words, max_size=6))
@example([])
@example(["", "a", "", "é \0 b", "\0"])
def test_the_runs_of_words_are_equal(runs):
    assert_equal(runs_of_tokens(runs), word_shingles.runs_of_tokens(runs))


@given(words, sizes)
def test_the_shingles_are_equal(text, size):
    token = word_hashes(text)
    assert_equal(shingles(token, size), word_shingles.shingles(token, size))


@given(words, sizes, st.randoms(use_true_random=False))
def test_the_weighted_shingles_are_equal(text, size, random):
    token = word_hashes(text)
    weights = np.array([random.choice((0, 0.001, 0.25, 0.498, 0.5, 0.502, 1)) for _ in token])
    found, expected = weighted_shingles(token, weights, size), word_shingles.weighted_shingles(token, weights, size)
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other)


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=40), max_size=5))
@example([list(range(0, 2**32, 2**32 // 2000)), []])
def test_sketches_are_the_same_one_by_one_and_together(lists):
    columns = [np.array(values, np.uint32) for values in lists]
    assert_equal(minhashes(columns), np.array([minhash(column) for column in columns], np.uint32).reshape(-1, 128))


def test_columns_that_are_not_contiguous():
    token = word_hashes("one two three four five six seven eight")
    assert_equal(shingles(token[::2], 2), word_shingles.shingles(token[::2], 2))
    column = np.arange(100, dtype=np.uint32)
    assert_equal(minhash(column[::3]), minhash(column[::3].copy()))


@pytest.mark.parametrize("call", [word_hashes, lambda text: runs_of_tokens([text])])
def test_other_things_than_texts_are_refused(call):
    with pytest.raises(TypeError):
        call(None)


def test_a_weight_for_each_word_is_needed():
    with pytest.raises(ValueError, match="3 weights for 4 words"):
        weighted_shingles(word_hashes("a b c d"), np.ones(3), 2)
