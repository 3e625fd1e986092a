"""Shingles, sketches, bands and the content store, compared with brute force and datasketch, and with bad input."""

from __future__ import annotations

import itertools
import random
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import networkx
import numpy as np
import pytest
from datasketch import LeanMinHash, MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.duplicates import in_common, nearest, on_larger
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.base.errors import StoreError
from scrapy_pagelets.duplicates import band_index as index_module
from scrapy_pagelets.duplicates.band_index import BandIndex, BloomBands
from scrapy_pagelets.duplicates.content_store import ContentStore, PageText, Verdict
from scrapy_pagelets.duplicates.groups import Mirror, mirrors, near_groups, near_pairs, on_several_hosts
from scrapy_pagelets.duplicates.shingles import (
    jaccard,
    shingles,
    weighted_shingles,
    word_hashes,
    word_weights,
)
from scrapy_pagelets.duplicates.shingles import resemblance as weighed
from scrapy_pagelets.duplicates.sketch import (
    PERMUTATIONS,
    SCHEME,
    SEED,
    Sketched,
    SketchError,
    Threshold,
    band_keys,
    banding,
    contained,
    encode,
    lean_minhash,
    minhash,
    minhashes,
    most_similar,
)
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import plain
from tests.oracles.minima import largest, near, signature

ROOT = Path(__file__).resolve().parents[2]
small_words = st.sampled_from("a b c d e f g h".split())


def text_of(*numbers):
    return " ".join(f"word{n}" for n in numbers)


def windows(text, size=5):
    found = words(text)
    return {tuple(found[i : i + size]) for i in range(len(found) - size + 1)}


def resemblance(one, other, size=5):
    one, other = windows(one, size), windows(other, size)
    return Fraction(len(one & other), len(one | other)) if one | other else Fraction(0)


def judge(store, *pairs, site="site"):
    """Return the verdicts on texts by URL; the pages have no canonical link."""
    return [store.add(PageText(url, text, hash(url) >> 1, site))[0] for url, text in pairs]


@pytest.fixture
def store():
    opened = ContentStore(None)
    yield opened
    opened.close()


# Words and shingles


@settings(deadline=None)  # the first word takes longer
@given(st.text() | st.text(st.sampled_from("aA1_ é\u0301東タ한ไ\u0e34ﬁß\U0001d54f\U00020000-'\ud800")))
def test_words_are_those_of_the_definition(text):
    found, hashes = words(text), word_hashes(text).tolist()
    assert len(found) == len(hashes)
    assert len(set(found)) == len(set(hashes)) == len(set(zip(found, hashes, strict=True)))


def test_hashes_are_stable():
    """Hashes are stored: another version, machine or process must compute the same ones."""
    assert word_hashes("Café, café 12").tolist() == [2945578491600794847, 2945578491600794847, 17490304171035453615]
    assert shingles(word_hashes("one two three four five six")).tolist() == [1636188962, 2572225449]


def test_the_hash_of_a_word_does_not_depend_on_its_neighbours():
    assert word_hashes("plain words")[0] == word_hashes("é plain")[1] == word_hashes("東plain")[1]


@given(st.lists(small_words, max_size=40), st.integers(1, 8))
def test_shingles_are_the_distinct_windows(found, size):
    text = " ".join(found)
    hashes = shingles(word_hashes(text), size)
    assert len(hashes) == len(windows(text, size))
    assert (np.diff(hashes.astype(np.int64)) > 0).all()


@given(st.lists(small_words, max_size=30), st.lists(small_words, max_size=30))
def test_jaccard_is_that_of_the_sets(one, other):
    one, other = " ".join(one), " ".join(other)
    assert jaccard(shingles(word_hashes(one)), shingles(word_hashes(other))) == float(resemblance(one, other))


@pytest.mark.parametrize(("first", "last"), [("\u4e00", "\u9fff"), ("\u0e01", "\u0e2e")], ids=["chinese", "thai"])
def test_an_edit_of_a_text_without_spaces_changes_little(first, last):
    letters = random.Random(1).choices([chr(c) for c in range(ord(first), ord(last) + 1)], k=600)
    edited = letters.copy()
    edited[300] = letters[301]
    one, other = (shingles(word_hashes("".join(found))) for found in (letters, edited))
    assert 0.97 < jaccard(one, other) < 1


def test_numbers_count():
    one, other = (shingles(word_hashes(f"the release {n} of the manual")) for n in (1, 2))
    assert jaccard(one, other) == 0


# Weights


@st.composite
def weighted_texts(draw):
    """A list of words and a weight for each."""
    found = draw(st.lists(small_words, max_size=20))
    return found, np.array(draw(st.lists(st.floats(0, 1), min_size=len(found), max_size=len(found))))


def weights_of(found, weight, size=3):
    """The weight of each window of a text: the least of its words, the largest of its occurrences; never 0."""
    known: dict[tuple[str, ...], int] = {}
    for i in range(len(found) - size + 1):
        window = tuple(found[i : i + size])
        known[window] = max(known.get(window, 1), round(255 * min(weight[i : i + size])))
    return known


@given(weighted_texts())
def test_weighted_shingles_are_the_shingles(text):
    found, weight = text
    token = word_hashes(" ".join(found))
    hashes, level = weighted_shingles(token, weight, 3)
    assert (hashes == shingles(token, 3)).all()
    assert sorted(level.tolist()) == sorted(weights_of(found, weight).values())


@given(weighted_texts(), weighted_texts())
def test_weighted_jaccard_is_that_of_the_weights(one, other):
    made = [weighted_shingles(word_hashes(" ".join(found)), weight, 3) for found, weight in (one, other)]
    a, b = (weights_of(*text) for text in (one, other))
    whole = sum(max(a.get(window, 0), b.get(window, 0)) for window in a.keys() | b.keys())
    common = sum(max(a[window], b[window]) for window in a.keys() & b.keys())
    similarity = weighed(*made, one_site=False)
    assert similarity == (common / whole if whole else 0)
    assert (similarity == 1) == (a.keys() == b.keys() != set())
    level = [(hashes, np.full(len(hashes), 7, np.uint8)) for hashes, _ in made]
    assert weighed(*level, one_site=False) == jaccard(made[0][0], made[1][0])


MARKUP = r"<p> <b> </b> <pre> </pre> <br> <td> <i></i> Cats sleep\u6771 \xe9 \u0301 1.5 \0 &nbsp; &#x4e00; &shy; \u200b"
NOTE = "<sup><a href=#n>1</a></sup>"
FORMULA = (
    "<span class=katex><math><semantics><mi>x</mi><annotation encoding=application/x-tex>{}</annotation></semantics>"
)
FORMULA += "</math><b>x y</b></span>"
wholes = [" ", "\n", NOTE, FORMULA.format("x_1 z"), FORMULA.format("x")]
fragments = st.lists(st.sampled_from([*MARKUP.encode().decode("unicode_escape").split(" "), *wholes]))


@given(fragments, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_each_word_of_a_text_has_a_weight(pieces, generator):
    nodes = Page.parse(f"<body>{''.join(pieces)}".encode(), "http://a/", "text/html; charset=utf-8").nodes
    keep = np.array([generator.random() < 0.8 for _ in nodes.leaves], np.bool_)
    weights = word_weights(nodes, keep, np.array([generator.random() / 2 for _ in nodes.leaves]))
    assert len(weights) == len(word_hashes(plain(nodes, keep)))
    assert ((weights > 0) & (weights <= 1)).all()
    assert not len(weights) or weights.max() == 1


PARTS = Page.parse(b"<p>All about the cats of the town<p>Share this<p>12", "http://a/").nodes


@pytest.mark.parametrize("templateness", [0.0, 0.2, 0.499])
def test_all_words_count_the_same_where_nothing_is_surer_than_the_rest(templateness):
    keep = np.ones(3, np.bool_)
    assert set(word_weights(PARTS, keep, np.full(3, templateness)).tolist()) == {1}


def test_weights_are_relative_to_the_page():
    keep = np.ones(3, np.bool_)
    clear, unclear = (word_weights(PARTS, keep, 1 / (1 + np.exp([shift, shift - 1, shift - 2]))) for shift in (5, 2))
    assert clear == pytest.approx(unclear)
    assert clear[[0, 7, 9]] == pytest.approx(np.exp([0, -1, -2]))


# Sketches


@given(st.sets(st.integers(0, 2**32 - 1), max_size=600))
@settings(deadline=None)
def test_sketches_are_those_of_datasketch(values):
    theirs = MinHash(PERMUTATIONS, SEED, scheme=SCHEME, hashfunc=lambda value: value)
    theirs.update_batch(values)
    ours = minhash(np.array(sorted(values), np.uint32))
    assert (ours == theirs.hashvalues).all()
    read = LeanMinHash.deserialize(bytes.fromhex(encode(ours)), "<")
    assert read == lean_minhash(encode(ours)) == LeanMinHash(theirs)


@given(st.lists(st.sets(st.integers(0, 40)), min_size=2, max_size=2))
@settings(deadline=None)
def test_datasketch_estimates_what_equal_values_say_to_the_last_bit(sets):
    theirs = [MinHash(PERMUTATIONS, SEED, scheme=SCHEME, hashfunc=lambda value: value) for _ in sets]
    for one, values in zip(theirs, sets, strict=True):
        one.update_batch(values)
    ours = [minhash(np.array(sorted(values), np.uint32)) for values in sets]
    one, other = (lean_minhash(encode(values)) for values in ours)
    assert one.jaccard(other) == theirs[0].jaccard(theirs[1]) == (ours[0] == ours[1]).mean()


def test_sketches_made_otherwise_are_not_compared():
    ours = lean_minhash(encode(minhash(np.arange(9, dtype=np.uint32))))
    assert MinHash(PERMUTATIONS).seed != SEED
    with pytest.raises(ValueError, match="different seeds"):
        ours.jaccard(MinHash(PERMUTATIONS, scheme=SCHEME))
    assert ours.hashvalues.dtype == MinHash(PERMUTATIONS, scheme=SCHEME).hashvalues.dtype


SKETCH = encode(np.arange(PERMUTATIONS, dtype=np.uint32))


@pytest.mark.parametrize(
    ("sketch", "sentence"),
    [
        (f"{(1).to_bytes(8, 'little').hex()}{SKETCH[16:]}", "of another version"),
        (encode(np.arange(64, dtype=np.uint32)), "of another version"),
        (SKETCH[:-8], "damaged"),
        (SKETCH[:-1], "damaged"),
        (f"{SKETCH}00", "damaged"),
        ("", "damaged"),
        ("no sketch", "damaged"),
    ],
)
def test_sketches_of_other_versions_and_damaged_ones_are_refused(sketch, sentence):
    assert lean_minhash(SKETCH).hashvalues.tolist() == list(range(PERMUTATIONS))
    with pytest.raises(SketchError, match=f"{sentence}.*: crawl the pages again"):
        lean_minhash(sketch)


def sketched(values):
    hashes = np.array(sorted(values), np.uint32)
    return Sketched(lean_minhash(encode(minhash(hashes))), hashes)


def excerpts_of(sets, least):
    """By the definition: of each set, the larger one that has the greatest share of it."""
    for number, inner in enumerate(sets):
        larger = [i for i, outer in enumerate(sets) if (len(outer), -i) > (len(inner), -number)]
        if larger:
            share, _, of = max((len(inner & sets[i]) / len(inner), len(sets[i]), -i) for i in larger)
            if share >= least:
                yield number, -of, share


@pytest.mark.parametrize("seed", range(5))
def test_excerpts_are_those_of_the_definition(seed):
    generator = random.Random(seed)
    sets = [set(generator.sample(range(2**32), generator.randint(200, 400))) for _ in range(20)]
    for whole in sets[:10]:
        part = set(generator.sample(sorted(whole), len(whole) // generator.choice([1, 2, 4])))
        sets.append(part | set(generator.sample(range(2**32), generator.choice([0, len(part) // 4]))))
    generator.shuffle(sets)
    sets += [sets[0], {7}]
    texts = [sketched(values) for values in sets]
    common, sizes = in_common([text.shingles for text in texts]), np.array(list(map(len, sets)))
    for least in (0.9, 1.0):
        expected = list(excerpts_of(sets, least))
        assert list(contained(texts, least)) == expected
        assert on_larger(common, sizes, least) == {number for number, _, _ in expected}
        assert expected
    assert not list(contained(texts[:1], 0.9))


def test_the_most_similar_texts_are_those_of_all_comparisons():
    generator = random.Random(0)
    words_ = [generator.randrange(2**32) for _ in range(3000)]
    sets = [{words_[i] for i in range(start, start + 300)} for start in range(0, 2700, 30)]
    minhashes_ = [sketched(values).minhash for values in sets]
    common = in_common([np.array(sorted(values), np.uint32) for values in sets])
    for number in (0, 40):
        resembling = {i for i, other in enumerate(sets) if 10 * len(other & sets[number]) >= len(other | sets[number])}
        near_ones = sorted(resembling - {number}, key=lambda i: (abs(i - number), i))
        assert nearest(common, np.full(len(sets), 300), number) == set(near_ones[:10])
        every = [(i, minhashes_[number].jaccard(other)) for i, other in enumerate(minhashes_) if i != number]
        best = sorted(every, key=lambda pair: (-pair[1], pair[0]))
        assert most_similar(minhashes_, number, 6) == best[:6]
    alone = [*minhashes_[:1], sketched({1, 2, 3}).minhash]
    assert most_similar(alone, 1, 6) == most_similar(alone[:1], 0, 1) == []


@given(st.lists(st.integers(0, 40), max_size=12))
@settings(deadline=None)
def test_sketches_of_many_texts_are_those_of_each(sizes):
    generator = np.random.default_rng(0)
    texts = [generator.integers(0, 2**32, size, np.uint32) for size in sizes]
    found = minhashes(texts)
    assert found.shape == (len(texts), PERMUTATIONS)
    assert found.dtype == np.uint32
    assert all((row == minhash(text)).all() for row, text in zip(found, texts, strict=True))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_estimates_are_not_biased(share):
    generator = np.random.default_rng(5)
    estimates = []
    for _ in range(60):
        common, one, other = np.split(
            generator.integers(0, 2**32, 1000, np.uint32), [int(1000 * share), int(500 + 500 * share)]
        )
        estimates.append((minhash(np.append(common, one)) == minhash(np.append(common, other))).mean())
    assert np.mean(estimates) == pytest.approx(share, abs=4 * (share * (1 - share) / PERMUTATIONS / 60) ** 0.5)


@given(st.floats(0.1, 1))
def test_bands_are_the_longest_that_miss_one_pair_in_a_thousand(threshold):
    bands, rows = banding(threshold)
    assert bands == PERMUTATIONS // rows
    assert (1 - threshold**rows) ** bands <= 0.001
    longer = ((1 - threshold**r) ** (PERMUTATIONS // r) for r in range(rows + 1, PERMUTATIONS + 1))
    assert all(missed > 0.001 for missed in longer)


@given(st.floats(0.1, 1), st.integers(0, 2**62))
def test_bands_are_common_where_their_values_are(threshold, salt):
    generator = np.random.default_rng(0)
    one = generator.integers(0, 2**32, PERMUTATIONS, np.uint32)
    other = np.where(generator.random(PERMUTATIONS) < threshold, one, one + np.uint32(1))
    bands, rows = banding(threshold)
    keys = band_keys(np.array([one, other]), threshold, salt)
    same = (one == other)[: bands * rows].reshape(bands, rows).all(1)
    assert ((keys[0] == keys[1]) == same).all()
    assert not (band_keys(one[None], threshold, salt) == band_keys(one[None], threshold, salt + 1)).any()


# The index


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 9), st.integers(2, 40))
@settings(deadline=None)
def test_the_index_finds_what_has_a_key_in_common(batches, seed, different):
    generator = np.random.default_rng(seed)
    index = BandIndex(0.8)
    keys = generator.integers(0, different, (sum(batches), 25), np.uint32) * 25 + np.arange(25, dtype=np.uint32)
    start = 0
    for size in batches:
        assert index.add(keys[start : start + size]) == start
        start += size
    row, number, common = index.query(keys)
    expected = (keys[:, None] == keys[None]).sum(2)
    assert sorted(zip(row, number, common, strict=True)) == [
        (i, j, expected[i, j]) for i, j in zip(*np.nonzero(expected), strict=True)
    ]
    assert list(zip(row, -common, number, strict=True)) == sorted(zip(row, -common, number, strict=True))


def test_the_index_grows_and_forgets_nothing():
    keys = np.random.default_rng(0).integers(0, 2**32, (5000, 25), np.uint32)
    index = BandIndex(0.8)
    for start in range(0, 5000, 700):
        index.add(keys[start : start + 700])
    row, number, common = index.query(keys)
    own = common == 25
    assert len(index) == 5000
    assert (row[own] == np.arange(5000)).all()
    assert (number[own] == np.arange(5000)).all()


def test_a_sketch_takes_few_bytes():
    keys = np.random.default_rng(0).integers(0, 2**32, (4096, 25), np.uint32)
    index = BandIndex(0.8)
    for start in range(0, 4096, 1024):
        index.add(keys[start : start + 1024])
    assert index.nbytes / len(index) <= 25 * 4 * 2 + 64  # keys and chains, and the beginnings of the chains
    index.add(keys[:1])
    assert index.nbytes / len(index) <= 2 * (25 * 4 * 2 + 64)  # room for as many again


def test_thousands_of_equal_sketches_cost_no_more_than_some():
    index = BandIndex(0.8)
    index.add(np.tile(np.arange(25, dtype=np.uint32), (5000, 1)))
    _, number, _ = index.query(np.arange(25, dtype=np.uint32)[None])
    assert number.tolist() == list(range(4936, 5000))


def test_a_full_index_raises_an_error(monkeypatch):
    index = BandIndex(0.8)
    monkeypatch.setattr(index_module, "_LIMIT", 100_000)
    with pytest.raises(OverflowError, match="use BloomBands"):
        index.add(np.zeros((5000, 25), np.uint32))


# The store


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), st.lists(small_words, min_size=5, max_size=14)), max_size=7))
@settings(deadline=None, derandomize=True)
def test_verdicts_are_true_and_complete(pages):
    """With so few pages all candidates are verified: a page is new if and only if nothing before resembles it."""
    threshold = Threshold(0.7, 0.5)
    store, before = ContentStore(None, threshold), dict[str, tuple[str, str]]()
    for number, (site, found) in enumerate(pages):
        url, text = f"http://{site}/{number}", " ".join(found)
        verdict, sketch = store.add(PageText(url, text, number, site))
        near = {
            other: resemblance(text, known)
            for other, (home, known) in before.items()
            if resemblance(text, known) >= threshold.between(site, home)
        }
        assert sketch is not None
        assert (verdict is None) == (not near)
        if verdict:
            assert verdict.similarity == float(near[verdict.url])
        before[url] = site, text
    store.close()


def test_the_first_page_of_a_group_is_named(store):
    texts = [text_of(*range(100)), text_of(*range(1, 101)), text_of(*range(2, 102))]
    verdicts = judge(store, *((f"http://h/{i}", text) for i, text in enumerate(texts)))
    assert [v and v.url for v in verdicts] == [None, "http://h/0", "http://h/0"]
    assert [v.similarity for v in verdicts[1:]] == [
        float(resemblance(texts[0], texts[1])),
        float(resemblance(texts[0], texts[2])),
    ]


def test_the_most_similar_page_is_named_if_the_first_is_too_different(store):
    texts = [text_of(*range(start, start + 100)) for start in (0, 10, 20)]
    verdicts = judge(store, *((f"http://h/{i}", text) for i, text in enumerate(texts)))
    assert [v and v.url for v in verdicts] == [None, "http://h/0", "http://h/1"]
    assert resemblance(texts[0], texts[2]) < 0.8


def test_equal_pages_under_a_thousand_urls_are_one_content(tmp_path):
    store = ContentStore(tmp_path / "store")
    text = text_of(*range(50))
    first, *others = judge(store, *((f"http://h/?page={i}", text) for i in range(1000)))
    store.close()
    assert first is None
    assert set(others) == {Verdict("http://h/?page=0", 1.0)}
    with sqlite3.connect(tmp_path / "store") as base:
        assert base.execute("SELECT count(*) FROM contents").fetchone() == (1,)
        assert base.execute("SELECT count(*) FROM pages").fetchone() == (1000,)
    base.close()


def test_a_repeated_page_gets_the_same_verdict(store):
    a, b = text_of(*range(50)), text_of(*range(1, 51))
    first = judge(store, ("http://h/a", a), ("http://h/b", b), ("http://h/c", b))
    again = judge(store, ("http://h/c", b), ("http://h/a", a), ("http://h/b", b))
    assert again == [first[2], first[0], first[1]]
    assert first == [None, *[Verdict("http://h/a", float(resemblance(a, b)))] * 2]


def test_a_page_that_has_changed_is_no_duplicate_of_itself(store):
    a, near = text_of(*range(50)), text_of(*range(1, 51))
    verdicts = judge(store, ("http://h/a", a), ("http://h/b", near), ("http://h/a", a + " and more"))
    assert [v and v.url for v in verdicts] == [None, "http://h/a", None]


@pytest.mark.parametrize("text", ["", "   \n", "one two three", "!!! ??? ... --- ,,,"])
def test_texts_shorter_than_a_shingle_are_not_judged(store, text):
    for url in ("http://h/a", "http://h/b"):
        assert store.add(PageText(url, text, 1, "site")) == (None, None)


def test_a_page_of_a_million_words_is_judged(store):
    numbers = np.random.default_rng(0).integers(0, 10**6, 10**6)
    text = " ".join(map(str, numbers.tolist()))
    first, other = judge(store, ("http://h/a", text), ("http://h/b", text + " and a word or two more"))
    assert first is None
    assert other.url == "http://h/a"
    assert 0.99999 < other.similarity < 1


def test_canonical_links_are_verified_by_the_contents(store):
    text = text_of(*range(50))
    for url, content, expected in (
        ("http://h/print", text, None),
        ("http://h/", text_of(*range(200, 250)), None),
        ("http://h/page", text + " printed", "http://h/print"),
    ):
        verdict, _ = store.add(PageText(url, content, 7, "site"))
        assert (verdict and verdict.url) == expected


def test_a_page_that_others_declare_as_canonical_takes_the_place_of_the_first_one(store):
    text, key = text_of(*range(100)), urls.key("http://h/page")
    thief, own = urls.key("http://thief/2"), urls.key("http://h/plain")
    for url, content, address, expected in (
        ("http://h/plain", text, own, None),
        ("http://h/print", text, key, "http://h/plain"),
        ("http://thief/1", text, thief, "http://h/plain"),
        ("http://thief/2", text + " 2", thief, "http://h/plain"),  # that thieves declare each other proves nothing
        ("http://h/page", text + " 3", key, None),
        ("http://h/page", text + " 3", key, None),
        ("http://h/session", text, key, "http://h/page"),
        ("http://h/plain", text, own, "http://h/page"),
        ("http://h/other", text + " 4", urls.key("http://h/other"), "http://h/page"),
    ):
        verdict, _ = store.add(PageText(url, content, address, urls.site_of(url)))
        assert (verdict and verdict.url) == expected, url


def test_sites_are_compared_or_not():
    text, worn = text_of(*range(100)), text_of(*range(10), *range(11, 60), *range(61, 100))
    assert 0.65 < resemblance(text, worn) < 0.85
    for within, expected in ((False, Verdict("http://a/1", float(resemblance(text, worn)))), (True, None)):
        store = ContentStore(None, Threshold(0.9, 0.65), within_sites=within)
        judge(store, ("http://a/1", text), site="a")
        assert judge(store, ("http://b/1", worn), site="b") == [expected]
        assert judge(store, ("http://b/2", worn + " x"), site="b")[0].url in ("http://b/1", "http://a/1")
        store.close()
    store = ContentStore(None, Threshold(0.9, 0.65))
    assert judge(store, ("http://a/1", text), ("http://a/2", worn), site="a") == [None, None]
    store.close()


def leftover(url, *parts):
    """A document of texts and their weights."""
    token = [len(word_hashes(text)) for text, _ in parts]
    weights = np.repeat([weight for _, weight in parts], token)
    return PageText(url, " ".join(text for text, _ in parts), hash(url) >> 1, url.split("/")[2], weights)


COPY = text_of(*range(100))


def test_leftovers_of_templates_do_not_separate_copies_on_two_sites(store):
    first, copy, plain_copy = (
        leftover(f"http://{site}/", (COPY, 1.0), (text_of(*range(start, start + 60)), weight))
        for site, start, weight in (("a", 200, 0.1), ("b", 300, 0.1), ("c", 400, 1.0))
    )
    assert resemblance(first.text, copy.text) < 0.65
    verdicts = [store.add(document)[0] for document in (first, copy, plain_copy)]
    assert verdicts[0] is verdicts[2] is None
    assert verdicts[1].url == "http://a/"
    # The shingles across the end of the copy count as little as the leftovers.
    assert verdicts[1].similarity == pytest.approx(96 / (96 + 2 * 60 * 0.1), abs=0.01)


def test_pages_of_one_site_are_compared_without_weights(store):
    """Releases of a manual differ in what looks like template: a number, a date."""
    one, other = (
        leftover(f"http://a/{i}", (COPY, 1.0), (text_of(*range(start, start + 60)), 0.01))
        for i, start in enumerate((200, 300))
    )
    assert store.add(one)[0] is store.add(other)[0] is None


def test_a_text_without_weights_counts_in_full(store):
    """The user has set it."""
    store.add(leftover("http://a/", (COPY, 1.0), (text_of(*range(200, 260)), 0.1)))
    assert store.add(PageText("http://b/", COPY + " " + text_of(*range(300, 360)), 1, "b"))[0] is None
    assert store.add(PageText("http://c/", COPY, 2, "c"))[0].url == "http://a/"


def test_weights_must_be_those_of_the_words(store):
    with pytest.raises(ValueError, match="there are 99 weights for 100 words"):
        store.add(PageText("http://a/", COPY, 1, "a", np.ones(99)))


def test_weights_outlive_the_process(tmp_path):
    documents = [
        leftover(f"http://{site}/", (COPY, 1.0), (text_of(*range(start, start + 60)), 0.1))
        for site, start in (("a", 200), ("b", 300))
    ]
    for document, expected in zip(documents, (None, "http://a/"), strict=True):
        store = ContentStore(tmp_path / "store")
        verdict, _ = store.add(document)
        assert (verdict and verdict.url) == expected
        store.close()


def library(seed, pages=120):
    """Texts with near-duplicates, some of them in chains."""
    generator = random.Random(seed)
    texts = [[generator.randrange(3000) for _ in range(generator.randrange(5, 120))] for _ in range(pages // 3)]
    while len(texts) < pages:
        text = generator.choice(texts).copy()
        for _ in range(generator.randrange(3)):
            text[generator.randrange(len(text))] = generator.randrange(3000)
        texts.append(text)
    return [(f"http://h/{i}", text_of(*text)) for i, text in enumerate(texts)]


@pytest.mark.parametrize("cut", [1, 50, 119])
def test_a_closed_store_can_be_opened_again(tmp_path, store, cut):
    pages = library(cut)
    unbroken = judge(store, *pages)
    first = ContentStore(tmp_path / "store")
    found = judge(first, *pages[:cut])
    first.close()
    second = ContentStore(tmp_path / "store")
    found += judge(second, *pages[cut:])
    second.close()
    assert found == unbroken
    assert sum(v is not None for v in found) > 40


KILLED = """
import sys
from pathlib import Path
from tests.unit.test_duplicates import library, judge
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.duplicates.content_store import ContentStore
store = ContentStore(Path(sys.argv[1]))
for number, page in enumerate(library(3)):
    judge(store, page)
    print(number, flush=True)
sys.stdin.read()
"""


def test_the_store_of_a_killed_process_can_be_opened_again(tmp_path, store):
    path, pages = tmp_path / "store", library(3)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if int(line) == 60:
                break
        process.kill()
    opened = ContentStore(path)
    found = judge(opened, *pages)  # the job requests everything without a response again
    opened.close()
    assert found == judge(store, *pages)


def test_thresholds_may_change_between_two_runs(tmp_path):
    text = text_of(*range(100))
    path = tmp_path / "store"
    for threshold, expected in ((0.8, None), (0.3, "http://h/a")):
        near = text_of(*range(60), *range(int(1000 * threshold), int(1000 * threshold) + 40))
        store = ContentStore(path, Threshold(threshold, 1))
        found = judge(store, ("http://h/a", text), (f"http://h/{threshold}", near))
        store.close()
        assert found[0] is None
        assert (found[1] and found[1].url) == expected


@pytest.mark.parametrize("damage", ["cut", "noise", "other file", "other scheme", "other scope"])
def test_a_store_that_cannot_be_used_is_refused(tmp_path, damage):
    path = tmp_path / "store"
    store = ContentStore(path, within_sites=damage == "other scope")
    judge(store, *library(1))
    store.close()
    if damage in ("cut", "noise"):
        content = path.read_bytes()
        middle = content[: len(content) // 2]
        path.write_bytes(middle if damage == "cut" else bytes(reversed(content)))
    if damage == "other file":
        path.write_text("a text, and no database at all")
    if damage == "other scheme":
        base = sqlite3.connect(path)
        base.execute("UPDATE scheme SET scheme = replace(scheme, 'affine32', 'legacy')")
        base.commit()
        base.close()
    with pytest.raises(StoreError, match="it cannot be used"):
        ContentStore(path)


def test_threads_find_one_new_page_for_each_text(store):
    pages = [(f"http://h/{i}/{t}", text_of(i, i + 1, i + 2, i + 3, i + 4, i + 5)) for i in range(80) for t in range(8)]
    random.Random(0).shuffle(pages)
    found = []
    workers = [threading.Thread(target=lambda part=pages[i::8]: found.extend(judge(store, *part))) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 640
    assert sum(v is None for v in found) == 80


# Bloom filters


def test_filters_recognise_added_texts():
    sketches = np.random.default_rng(0).integers(0, 2**32, (2000, PERMUTATIONS), np.uint32)
    filters = BloomBands(2000, error=0.01)
    assert filters.add(sketches).mean() < 0.01
    assert filters.add(sketches).all()


def test_filters_keep_their_error_when_they_are_full():
    generator = np.random.default_rng(1)
    filters = BloomBands(20_000, error=0.01)
    filters.add(generator.integers(0, 2**32, (20_000, PERMUTATIONS), np.uint32))
    fresh = filters.add(generator.integers(0, 2**32, (2000, PERMUTATIONS), np.uint32))
    assert 0.003 < fresh.mean() < 0.02


def test_filters_find_near_duplicates():
    filters = BloomBands(100)
    one, other = (minhash(shingles(word_hashes(text_of(*range(start, start + 300))))) for start in (0, 10))
    assert filters.add(np.array([one, other])).tolist() == [False, True]


# Groups, mirrors, blocks


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_the_components_of_all_near_pairs(seed):
    texts = [("site", text) for _, text in library(seed, 300)]
    sets = [windows(text) for _, text in texts]
    graph = networkx.Graph(
        (i, j)
        for (i, one), (j, other) in itertools.combinations(enumerate(sets), 2)
        if 5 * len(one & other) >= 4 * len(one | other) > 0
    )
    expected = sorted((sorted(group) for group in networkx.connected_components(graph)), key=lambda g: (-len(g), g))
    assert near_groups(texts, Threshold()) == expected
    assert all(s == float(resemblance(texts[i][1], texts[j][1])) for i, j, s in near_pairs(texts, Threshold()))


def test_copied_sites_are_found():
    pages = [f"http://a/{i}" for i in range(10)]
    copies = [f"http://mirror/{i}" for i in range(6)]
    alone = [f"http://b/{i}" for i in range(4)]
    groups = [*zip(pages, copies[:5], strict=False), ("http://a/9", "http://b/0"), ("http://b/1", "http://b/2")]
    assert mirrors(groups, pages + copies + alone) == [Mirror("mirror", "a", 5, 5 / 6)]


def test_blocks_are_counted_by_pages_and_sites():
    urls = ["http://a/1", "http://a/2", "http://b/1", "http://a/1", "http://a/3"]
    assert on_several_hosts([[0, 1, 2, 3], [3, 4]], urls) == [(0, 3, 2)]


# The method of the GCuts paper


@given(st.lists(small_words, max_size=30))
def test_a_signature_holds_the_least_windows_of_six_words(found):
    text = " ".join(found)
    assert len(signature(text)) == min(8, len(windows(text, 6)))
    assert signature(text) == signature(text.upper().replace(" ", "- --\n_"))
    assert signature("don't do it, it's as it is") == signature("dont do it its as it is")


def test_signatures_that_share_four_hashes_are_near():
    hashes = [frozenset(range(start, start + 8)) for start in range(6)]
    assert [near(hashes[0], other) for other in hashes] == [True] * 5 + [False]


def test_the_largest_segment_has_the_most_words():
    menu = "".join(f"<li><a href=/{i}>Menu entry {i}</a>" for i in range(6))
    page = Page.parse(f"<ul>{menu}</ul><div><p>{text_of(*range(40))}</div>".encode(), "http://h/")
    assert largest(segment(page)) == text_of(*range(40))
    assert largest([]) == ""
