"""Shingles: equal for equal pagelets, and nearly equal for nearly equal ones, whatever page they are on."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.evidence.partition import partition
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import (
    NEAR,
    Shingles,
    resemblance,
    shingles,
    super_shingles,
    token_hashes,
)
from tests.oracles.near_groups import group_near

SITE = Path(__file__).parents[1] / "site"
words = st.lists(st.sampled_from([*"abcdefghij", "12", "7th", "größe", "ストロー", "link"]), min_size=1, max_size=40)


def whole(html: str, url: str = "http://example.com/page") -> Shingles:
    """The page as one pagelet."""
    page = Page.parse(html.encode(), url)
    return shingles(page, np.zeros(len(page.nodes.leaves), np.int64))


def near_of(text: str):
    return whole(f"<p>{text}</p>").near[0]


def same(one: str, other: str, **urls: str) -> bool:
    return bool(whole(one).exact == whole(other, **urls).exact)


def test_values_stay():
    """Shingles are stored, so they must be the same in other versions, on other machines and in other processes."""
    found = whole("<p>Page 1: <a href=/a>one</a> <a href=/b>two</a> and <b>some</b> more words")
    assert token_hashes("page").tolist() == [8720896029100270081]
    assert found.exact.tolist() == [3403944167235371306]
    assert found.near[0, :2].tolist() == [1013042520197218092, 816026772249633658]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Home News", "HOME\n  news"),
        ("12 comments", "7 Comments"),
        ("1,234.5", "99,1.0"),
        ("ｆｕｌｌ ﬁne", "full fine"),
        ("Größe", "GRÖSSE"),
        ("cafe\u0301", "caf\u00e9"),
        ("don't", "don’t"),
        ("٣ تعليقات", "٤٥ تعليقات"),
    ],
)
def test_tokens_are_equal(one, other):
    assert token_hashes(one).tolist() == token_hashes(other).tolist()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("... — !", 0),
        ("one two  three", 3),
        ("हिन्दी में", 2),
        ("ユーザー登録", 4),
        ("登録", 1),
        ("登録 and 新着情報", 4),
        ("สวัสดีชาวโลก", 10),
        ("Donaudampfschiff", 14),
        ("Donaudampfschif", 1),
        ("1234567890123456", 1),
    ],
)
def test_number_of_tokens(text, count):
    assert len(token_hashes(text)) == count


def test_tokens_of_a_page_are_those_of_its_texts():
    strings = ["plain text", "größer", "登録情報です", "", "more 17 text", "ｆｕｌｌ width", "Donaudampfschifffahrt"]
    page = Page.parse("".join(f"<p>{s}</p>" for s in strings).encode(), "http://example.com/")
    pagelets = shingles(page, np.arange(len(page.nodes.leaves)))
    assert pagelets.tokens.tolist() == [len(token_hashes(s)) for s in strings if s]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<ul class=a id=x><li>one<li>two</ul>", "<ul><li class=current>ONE<li style='color:red'>two</ul>"),
        ("<div><p>one <b>two</b></div>", "<main><div><div><p>one <b>two</b></div></div></main>"),
        ("<p>one <a href='/a?x=1'>two</a>", "<p>one <a href='/a?x=2#top'>two</a>"),
        ("<p>one <a href=/page/2>next</a>", "<p>one <a href=/page/3>next</a>"),
        ("<p>one <a href=//one.example.com/a>two</a>", "<p>one <a href=//other.example.com/a>two</a>"),
        ("<p>page 1 of 20", "<p>page 13 of 20"),
    ],
)
def test_exact_is_equal(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>one two", "<p>two one"),
        ("<p>one two", "<p>one two two"),
        ("<p>one <b>two</b>", "<p>one <i>two</i>"),
        ("<p>one <a href=/a>two</a>", "<p>one <a href=/b>two</a>"),
        ("<p>one <a href=/a>two</a>", "<p>one <a>two</a>"),
        ("<p>one <a href=/a>two</a>", "<p>one <a href='javascript:x'>two</a>"),
        ("<p>one<p>two", "<p>one<p><img>two"),
    ],
)
def test_exact_differs(one, other):
    assert not same(one, other)


def test_a_menu_is_equal_on_every_page():
    """Links to the page itself and to the top of the page are included."""
    menu = "<ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href='#'>top</a><li><a href='#x'>more</a></ul>"
    assert same(menu, menu, url="http://example.com/a")
    assert same(menu, menu, url="http://example.com/deep/other")


def test_what_stands_around_a_pagelet_does_not_count():
    body = "<div><h1>{}</h1><ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/c>C</a></ul><p>{}</div>"
    found = []
    for contents in (("Title", "text"), ("Another title", "another <b>text</b> of more runs")):
        page = Page.parse(body.format(*contents).encode(), "http://example.com/")
        menu = (page.nodes.anchor[page.nodes.leaves]).astype(np.int64)
        found.append(shingles(page, menu))
    for name in ("exact", "near"):
        one, other = (getattr(f, name) for f in found)
        assert (one[1] == other[1]).all()
    assert found[0].exact[0] != found[1].exact[0]


def test_targets_are_distinct_pages():
    links = "".join(f"<a href={link}>x</a> " for link in ("/a", "/b", "/a", "/page", "#x", "mailto:x"))
    assert whole(links).targets.tolist() == [2]
    assert whole(f"<p>Wörter <a href='/b#x'>zwei</a> {links}").targets.tolist() == [2]


@pytest.mark.parametrize(
    ("text", "candidate"),
    [
        ("Read more", False),
        ("a b c", False),
        ("a b c d", True),
        ("<a href=/a>x</a>", False),
        ("<a href=/a>x</a> <a href=/a>y</a> <a href=/page>z</a>", False),
        ("<a href=/a>x</a> <a href=/b>y</a>", True),
        ("登録情報です", True),
        ("登録", False),
    ],
)
def test_candidates(text, candidate):
    assert whole(f"<p>{text}").candidates.tolist() == [candidate]


def jaccard(one, other):
    windows = [{tuple(t[i : i + 4]) for i in range(max(1, len(t) - 3))} for t in (one, other)]
    return len(windows[0] & windows[1]) / len(windows[0] | windows[1])


def test_resemblance_estimates_jaccard():
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(150):
        one = [f"w{i}x" for i in range(300)]
        other = list(one)
        for start in rng.integers(0, 300, rng.integers(0, 60)):
            other[start] = f"changed{chr(97 + start % 26)}"
        one, other = ([w.translate(str.maketrans("0123456789", "ghijklmnop")) for w in words] for words in (one, other))
        errors.append(resemblance(near_of(" ".join(one)), near_of(" ".join(other))) - jaccard(one, other))
    assert abs(np.mean(errors)) < 0.03
    assert np.std(errors) < 0.15


def test_resemblance_of_short_texts():
    """With fewer windows than values, values are borrowed: equal texts stay equal, different ones different."""
    rng = np.random.default_rng(1)
    letters = list("abcdefghijklmnop")
    errors = []
    for _ in range(300):
        one = rng.choice(letters, 12).tolist()
        other = list(one)
        other[rng.integers(12)] = "z"
        assert resemblance(near_of(" ".join(one)), near_of(" ".join(one))) == 1
        errors.append(resemblance(near_of(" ".join(one)), near_of(" ".join(other))) - jaccard(one, other))
    assert abs(np.mean(errors)) < 0.05


@given(words, words)
@settings(deadline=None)
def test_resemblance_of_any_texts(one, other):
    near, near_ = near_of(" ".join(one)), near_of(" ".join(other))
    assert resemblance(near, near) == 1
    assert resemblance(near, near_) == resemblance(near_, near)
    if token_hashes(" ".join(one)).tolist() == token_hashes(" ".join(other)).tolist():
        assert (near == near_).all()


@given(st.lists(st.integers(0, 15), max_size=16, unique=True), st.randoms())
def test_super_shingles_miss_no_near_pair(places, random):
    one = np.array([[random.randrange(1, 1 << 60) for _ in range(16)]])
    other = one.copy()
    other[0, places] += 1
    common = (super_shingles(one) == super_shingles(other)).any()
    assert common == any(not set(range(i, i + 4)) & set(places) for i in range(0, 16, 4))
    if resemblance(one, other)[0] >= NEAR:
        assert common


def test_super_shingles_depend_on_their_place():
    assert len(np.unique(super_shingles(np.full((1, 16), 5)))) == 4
    assert super_shingles(np.zeros((2, 16), np.int64)).tolist() == [[0] * 4] * 2


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(200)),
        "この利用規約は、当サイトの利用に関する条件を定めるものです。" * 3
        + "個人情報の取り扱いについては別途定めます。ご意見はお問い合わせフォームからお寄せください。",
        "สงวนลิขสิทธิ์ตามกฎหมายห้ามคัดลอกหรือเผยแพร่ส่วนหนึ่งส่วนใดของเว็บไซต์นี้โดยไม่ได้รับอนุญาตเป็นลายลักษณ์อักษร" * 2,
    ],
)
def test_an_edit_leaves_texts_nearly_equal(text):
    middle = len(text) // 2
    edited = text[:middle] + text[middle + 1 :]
    assert resemblance(near_of(text), near_of(edited)) >= NEAR
    assert whole(f"<p>{text}").exact != whole(f"<p>{edited}").exact
    assert resemblance(near_of(text), near_of(text[::-1])) < 0.3


def test_without_words_nothing_is_near():
    assert resemblance(near_of("..."), near_of("!")) == 0
    assert not near_of("...").any()


def brute_groups(near):
    graph = networkx.Graph()
    for i, j in itertools.combinations_with_replacement(range(len(near)), 2):
        if near[i].any() and resemblance(near[i], near[j]) >= NEAR:
            graph.add_edge(i, j)
    return {frozenset(group) for group in networkx.connected_components(graph)}


@given(st.integers(0, 2**32 - 1), st.integers(0, 25))
@settings(deadline=None)
def test_groups_of_near_pagelets(seed, size):
    rng = np.random.default_rng(seed)
    near = rng.integers(1, 3, (3, 16))[rng.integers(0, 3, size)]
    near += (rng.random(near.shape) < 0.08) * rng.integers(1, 9, near.shape)
    near[rng.random(size) < 0.1] = 0
    group = group_near(near)
    found = {frozenset(np.flatnonzero(group == value).tolist()) for value in np.unique(group[group != 0])}
    assert found == brute_groups(near)
    order = rng.permutation(size)
    assert (group_near(near[order]) == group[order]).all()


def test_groups_of_no_pagelets():
    assert group_near(np.zeros((0, 16), np.int64)).tolist() == []
    assert group_near(np.zeros((2, 16), np.int64)).tolist() == [0, 0]


@pytest.mark.parametrize(
    "body", ["", "<p></p>", "<img src=a.png>", "<script>x</script>", "<a href=/a></a><a href=/b></a>"]
)
def test_page_without_text(body):
    found = whole(body)
    assert len(found.exact) == len(found.candidates) == 0
    assert found.near.shape == (0, 16)


def test_numbers_of_pagelets():
    """Numbers may be skipped, which gives empty pagelets, and leaves of one pagelet need not be adjacent."""
    page = Page.parse(b"<p>one<p>two <a href=/a>three</a><p>four", "http://example.com/")
    found = shingles(page, np.array([5, 0, 0, 5]))
    assert found.tokens.tolist() == [2, 0, 0, 0, 0, 2]
    assert found.exact[1:5].tolist() == [0] * 4
    assert not found.near[1:5].any()
    assert found.exact[0] != 0
    for pagelet in (np.array([0, 0, 0]), np.array([0, 0, 0, -1]), np.zeros((4, 1), np.int64)):
        with pytest.raises(ValueError, match="each of 4 leaves"):
            shingles(page, pagelet)


def test_renumbering_moves_the_rows():
    page = Page.parse((SITE / "index.html").read_bytes(), "http://example.com/")
    pagelet = partition(page.nodes)
    number = np.random.default_rng(2).permutation(pagelet.max() + 1)
    one, other = shingles(page, pagelet), shingles(page, number[pagelet])
    for name in ("exact", "near", "tokens", "targets"):
        assert (getattr(one, name) == getattr(other, name)[number]).all()


def test_deep_page():
    page = Page.parse(b"<div><a href=/a>x</a>" * 1900 + b"deep", "http://example.com/")
    found = shingles(page, np.arange(len(page.nodes.leaves)))
    assert found.tokens.sum() == 1901
    assert shingles(page, np.zeros(len(page.nodes.leaves), np.int64)).tokens.tolist() == [1901]


def test_pagelets_of_the_site_recur():
    pages = [
        Page.parse(path.read_bytes(), f"http://example.com/{path.relative_to(SITE)}")
        for path in sorted(SITE.rglob("*.html"))
    ]
    owners: dict[int, set[str]] = {}
    for page in pages:
        found = shingles(page, partition(page.nodes))
        for i in np.flatnonzero(found.candidates):
            owners.setdefault(int(found.exact[i]), set()).add(page.url)
    assert [len(urls) for urls in owners.values()].count(len(pages)) >= 6
