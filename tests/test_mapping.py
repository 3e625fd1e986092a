"""Equal top-down mappings: one-to-one, equal, top-down and as large as possible; and votes over pages."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.nodes import TEXT
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.evidence import CLASSIFIERS, Counts, Fragments, keys_of
from scrapy_pagelets.templates.lossy_counter import CAPACITY
from scrapy_pagelets.templates.mapping import etdm, extract, same_signature, weighted
from scrapy_pagelets.templates.site import Site
from tests.trees import URL, page

TAGS = "div section nav article aside main footer".split()
WORDS = st.sampled_from(["", "one", "two"])

#: A tree whose siblings all differ: its text, and its children by tag.
unique_trees: st.SearchStrategy[Any] = st.recursive(
    st.tuples(WORDS, st.just({})),
    lambda inner: st.tuples(WORDS, st.dictionaries(st.sampled_from(TAGS), inner, max_size=3)),
    max_leaves=8,
)
#: A tree whose siblings may be equal.
trees: st.SearchStrategy[Any] = st.recursive(
    st.tuples(WORDS, st.just([])),
    lambda inner: st.tuples(WORDS, st.lists(st.tuples(st.sampled_from(TAGS[:3]), inner), max_size=3)),
    max_leaves=6,
)


def html(tree):
    text, children = tree
    pairs = children.items() if isinstance(children, dict) else children
    return text + "".join(f"<{tag}>{html(child)}</{tag}>" for tag, child in pairs)


def table(tree):
    return page(f"<html><body>{html(tree)}</body></html>").nodes


class Votes(Counts):
    """The counts of a site whose pages are given as node tables."""

    def learn(self, nodes):
        self.add(Fragments.of(nodes, keys(nodes), np.zeros((len(nodes), CLASSIFIERS))), 0)

    def template(self, nodes, *, include_slots=False):
        return self.mapped(nodes, keys(nodes), self.pages, include_slots=include_slots)

    def seen(self, nodes):
        return self.evidence(nodes, keys(nodes), np.zeros((len(nodes), CLASSIFIERS)), 0, self.pages, known=False)

    def support(self, nodes):
        return self.seen(nodes).path


def keys(nodes):
    return keys_of(Page(URL, nodes.elements[0], nodes, URL))


def children(nodes, row):
    return [i for i in range(len(nodes)) if nodes.parent[i] == row]


def largest(one, i, other, j):
    """Size of the largest ETDM of two subtrees, by trying every pairing of children."""
    if not same_signature(one, i, other, j):
        return 0
    few, many = children(one, i), children(other, j)
    flipped = len(few) > len(many)
    if flipped:
        few, many = many, few
    best = 0
    for chosen in permutations(many, len(few)):
        pairs = [(y, x) if flipped else (x, y) for x, y in zip(few, chosen, strict=True)]
        best = max(best, sum(largest(one, x, other, y) for x, y in pairs))
    return 1 + best


def assert_is_etdm(found, one, other, equality):
    assert len(set(found.values())) == len(found)
    for row, image in found.items():
        assert equality(one, row, other, image) > 0
        if row == 0 or image == 0:
            assert (row, image) == (0, 0)
        else:
            assert found[int(one.parent[row])] == other.parent[image]


@given(trees, trees, st.sampled_from([weighted, same_signature]))
def test_one_to_one_equal_and_closed(one, other, equality):
    left, right = table(one), table(other)
    assert_is_etdm(etdm(left, right, equality), left, right, equality)


@given(unique_trees, unique_trees)
def test_as_large_as_can_be_where_siblings_differ(one, other):
    left, right = table(one), table(other)
    assert len(etdm(left, right, same_signature)) == largest(left, 0, right, 0)


@given(trees, trees)
def test_never_larger_than_the_largest(one, other):
    left, right = table(one), table(other)
    found = etdm(left, right, same_signature)
    assert 1 <= len(found) <= largest(left, 0, right, 0)
    # No further pair of children can be added.
    used = set(found.values())
    for row, image in found.items():
        for i in children(left, row):
            for j in children(right, image):
                assert i in found or j in used or not same_signature(left, i, right, j)


@given(unique_trees, unique_trees)
def test_path_hashes_are_the_mapping_where_siblings_differ(one, other):
    left, right = table(one), table(other)
    found = etdm(left, right, same_signature)
    common = set(left.path.tolist()) & set(right.path.tolist())
    assert {int(left.path[row]) for row in found} == common
    votes = Votes()
    votes.learn(left)
    votes.learn(right)
    assert np.flatnonzero(votes.template(left, include_slots=True)).tolist() == sorted(found)


@given(trees, trees)
def test_path_hashes_are_a_mapping(one, other):
    left, right = table(one), table(other)
    rows = {path: row for row, path in enumerate(right.path.tolist())}
    pairs = {row: rows[path] for row, path in enumerate(left.path.tolist()) if path in rows}
    assert_is_etdm(pairs, left, right, same_signature)


@given(trees)
def test_a_tree_maps_onto_itself(tree):
    nodes = table(tree)
    for equality in (weighted, same_signature):
        assert etdm(nodes, nodes, equality) == {row: row for row in range(len(nodes))}


@given(trees, trees, st.data())
def test_only_among_the_rows_that_are_allowed(one, other, data):
    left, right = table(one), table(other)
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(left), max_size=len(left))))
    found = etdm(left, right, same_signature, among)
    assert_is_etdm(found, left, right, same_signature)
    assert all(among[row] for row in found if row)


def test_an_equality_of_ones_own():
    left = page("<p class=x>a<p class=y>b").nodes
    right = page("<p class=y>b<p class=x>a").nodes

    def same_text(one, i, other, j):
        if (one.tag[i] == TEXT) != (other.tag[j] == TEXT):
            return 0.0
        if one.tag[i] != TEXT:
            return 1.0 if one.looks[one.look[i]] == other.looks[other.look[j]] else 0.5
        return float(one.strings[one.first_leaf[i]] == other.strings[other.first_leaf[j]])

    assert etdm(left, right, same_text) == {0: 0, 1: 1, 2: 4, 3: 5, 4: 2, 5: 3}
    assert etdm(left, right, lambda *_: 0.0) == {}
    assert etdm(left, right, lambda one, i, other, j: float(i == j == 0)) == {0: 0}


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("<p>", "<p>", 1.0),
        ("<p>", "<div>", 0.0),
        ("<x-a>", "<x-b>", 0.0),
        ("<p class='a b'>", "<p class='a'>", 0.8),
        ("<p class=a id=x>", "<p class=b id=y role=z>", 0.0),
        ("<p class=a>", "<p class=b>", 0.6),
        ("<p id=a>", "<p id=b>", 0.85),
        ("<p><i></i></p>", "<p></p>", 0.85),
        ("<p>", "<b></b><b></b><p>", 0.97),
    ],
)
def test_the_ponderation(one, other, equal):
    left, right = page(one).nodes, page(other).nodes
    rows = [next(r for r in range(2, len(n)) if n.elements[r].tag not in ("i", "b")) for n in (left, right)]
    assert weighted(left, rows[0], right, rows[1]) == pytest.approx(equal)


def test_equal_siblings_meet_in_order():
    left = page("<ul><li>a<li>b<li>c</ul>").nodes
    right = page("<ul><li>a<li>b<li>c<li>d</ul>").nodes
    for equality in (weighted, same_signature):
        assert etdm(left, right, equality) == {row: row for row in range(len(left))}


def test_long_lists_are_compared_in_a_band():
    items = [f"<li>{n}" for n in range(2000)]
    left, right = page("<ul>" + "".join(items)).nodes, page("<ul>" + "".join(items[3:])).nodes
    found = etdm(left, right, same_signature)
    assert_is_etdm(found, left, right, same_signature)
    assert len(found) == len(right)


# templates


HEAD = "<header><a href=/>Home</a><a href=/x>About</a></header>"
FOOT = "<footer>Imprint</footer>"


def article(number, head=HEAD, foot=FOOT):
    return page(
        f"{head}<main><h1>Title {'abcdefgh'[number]}</h1><p>Text {'stuvwxyz'[number]} of many</p></main>{foot}"
    ).nodes


def texts(nodes, template):
    return [s for s, row in zip(nodes.strings, nodes.leaves, strict=True) if template[row]]


@given(st.lists(unique_trees, min_size=2, max_size=4))
def test_a_template_does_not_depend_on_the_order(pages):
    key, *others = [table(tree) for tree in pages]
    masks = {tuple(extract(key, order, same_signature).tolist()) for order in permutations(others)}
    assert len(masks) == 1
    assert np.flatnonzero(masks.pop()).tolist() == [
        row for row, path in enumerate(key.path.tolist()) if all(path in other.path for other in others)
    ]


@given(st.lists(trees, min_size=1, max_size=4), st.booleans())
def test_votes_do_not_depend_on_the_order(pages, include_slots):
    tables = [table(tree) for tree in pages]
    masks = set()
    for order in permutations(tables):
        votes = Votes()
        for nodes in order:
            votes.learn(nodes)
        masks.add(tuple(tuple(votes.template(nodes, include_slots=include_slots).tolist()) for nodes in tables))
        assert votes.pages == len(pages)
    assert len(masks) == 1
    for nodes, mask in zip(tables, masks.pop(), strict=True):
        assert all(mask[nodes.parent[row]] for row in range(1, len(nodes)) if mask[row])


def test_one_odd_page_deletes_an_intersection_and_not_a_vote():
    pages = [article(n) for n in range(4)] + [article(4, head="", foot="")]
    key = pages[0]
    assert "Home" not in texts(key, extract(key, pages[1:], same_signature))
    votes = Votes()
    for nodes in pages:
        votes.learn(nodes)
    assert texts(key, votes.template(key)) == ["Home", "About", "Imprint"]


def test_pages_with_another_root_are_passed_over():
    key, other = article(0), article(1)

    def never(one, i, nodes, j):
        return 0.0 if nodes is other else same_signature(one, i, nodes, j)

    assert extract(key, [other], never).all()
    assert extract(key, []).all()


def test_slots_are_told_from_template_text():
    votes = Votes()
    pages = [article(n) for n in range(5)]
    for nodes in pages:
        votes.learn(nodes)
    key = pages[2]
    assert texts(key, votes.template(key)) == ["Home", "About", "Imprint"]
    slots = votes.template(key, include_slots=True)
    assert texts(key, slots) == key.strings
    # The parents of the slots are template in both cases.
    elements = key.tag != TEXT
    assert votes.template(key)[elements].all()
    assert slots[elements].all()
    assert (votes.support(key) == 1).all()


def test_new_text_in_a_known_place_is_a_slot():
    votes = Votes()
    for n in range(4):
        votes.learn(article(n))
    other = article(7, foot="<footer>Another imprint</footer><div>more</div>")
    assert texts(other, votes.template(other)) == ["Home", "About"]
    assert texts(other, votes.template(other, include_slots=True)) == other.strings[:-1]
    assert votes.support(other)[-1] == 0


@pytest.mark.parametrize(
    ("pages", "having", "template"),
    [
        (1, 1, False),
        (2, 1, False),
        (2, 2, True),
        (3, 2, True),
        (5, 3, True),
        (5, 2, False),
        (10, 6, True),
        (10, 5, False),
    ],
)
def test_how_many_votes_are_needed(pages, having, template):
    votes = Votes()
    for n in range(pages):
        votes.learn(page(f"<div>{'<nav>menu</nav>' if n < having else ''}</div>").nodes)
    nodes = page("<div><nav>menu</nav></div>").nodes
    assert bool(votes.template(nodes)[-1]) == template


def test_one_page_votes_once_and_links_are_known():
    votes = Votes()
    votes.learn(page("<p>x</p><!-- --><p>x</p><nav><a href=/a>a</a></nav>").nodes)
    votes.learn(page("<p>x</p><nav>b <a href=/a>a</a> c d</nav>").nodes)
    nodes = page("<p>x</p><nav><a href=/a>a</a></nav>").nodes
    names = [element.tag for element in nodes.elements]
    assert votes.support(nodes)[names.index("p")] == 1
    assert votes.seen(nodes).linked[names.index("nav")] == 0.5
    assert votes.seen(nodes).linked[names.index("a")] == 1
    assert votes.seen(nodes).linked[names.index("p")] == 0


def test_nothing_is_known_before_the_first_page():
    nodes = article(0)
    assert not Votes().template(nodes).any()
    assert not Votes().support(nodes).any()
    assert not Votes().seen(nodes).linked.any()


def test_giant_pages_do_not_drive_out_what_is_known():
    votes = Votes()
    body = "".join(f"<p id=x{'abcdefghij'[i % 10]}>{i}" for i in range(CAPACITY // 2))
    for n in range(3):
        votes.learn(page(f"{HEAD}<div class={'abc'[n]}>{body}</div>{FOOT}").nodes)
    assert max(map(len, votes._tables.values())) <= CAPACITY
    key = article(0)
    assert texts(key, votes.template(key)) == ["Home", "About", "Imprint"]


def test_pairs_of_pages_agree_with_votes_of_two():
    pages = [article(n) for n in range(3)]
    for one, other in combinations(pages, 2):
        votes = Votes()
        votes.learn(one)
        votes.learn(other)
        assert (votes.template(one, include_slots=True) == extract(one, [other], same_signature)).all()


def test_the_template_of_a_class_is_that_of_its_pages():
    """The many pages of another class have no vote."""
    site = Site("example.com")
    for number, name in enumerate("abcde"):
        site.learn(
            page(f"<header class=top>Menu</header><main class=text><p>Of {name} only</p></main>", f"{URL}{number}")
        )
    for number in range(20):
        text = "abcdefghijklmnopqrst"[number]
        site.learn(page(f"<center><table class=list><tr><td>Row {text}</td></tr></table></center>", f"{URL}/l{number}"))
    one = page("<header class=top>Menu</header><main class=text><p>Of f only</p></main>", f"{URL}f")
    assert len(site.classes) == 2
    assert texts(one.nodes, site.template_nodes(one)) == ["Menu"]
    assert texts(one.nodes, site.template_nodes(one, include_slots=True)) == ["Menu", "Of f only"]
    stranger = page("<article><h2>Menu</h2></article>", f"{URL}s")
    assert texts(stranger.nodes, site.template_nodes(stranger, include_slots=True)) == []
