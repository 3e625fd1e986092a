"""Equal top-down mappings: one-to-one, equal, top-down and as large as possible; and votes over pages."""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.etree import fromstring
from scipy.optimize import linear_sum_assignment

from scrapy_pagelets.core.assignment import assign
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.etdm import etdm, extract, same_signature
from scrapy_pagelets.evidence.evidence import CAPACITY, CLASSIFIERS, Counts, Fragments, keys_of
from scrapy_pagelets.page.flattening import build
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import Page
from tests.oracles.greedy_mapping import greedy, greedy_template
from tests.oracles.node_equalities import by_label, same_signature_and_text, weighted
from tests.oracles.template_by_votes import mapped, template_nodes
from tests.trees import URL, page

LABELS = [same_signature, same_signature_and_text]
EQUALITIES = [*map(by_label, LABELS), weighted]
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
        return mapped(self, nodes, keys(nodes), 0, self.pages, include_slots=include_slots)

    def seen(self, nodes):
        return self.evidence(nodes, keys(nodes), np.zeros((len(nodes), CLASSIFIERS)), 0, self.pages, known=False)

    def support(self, nodes):
        return self.seen(nodes).path


def keys(nodes):
    return keys_of(Page(URL, nodes.elements[0], nodes, URL))


def children(nodes, row):
    return [i for i in range(len(nodes)) if nodes.parent[i] == row]


def brute_force(one, other, label_of):
    """Size of the largest ETDM, by trying every pairing of children."""
    left, right = label_of(one), label_of(other)

    @cache
    def best(i, j):
        return 1 + among(tuple(children(one, i)), tuple(children(other, j))) if left[i] == right[j] else 0

    @cache
    def among(rows, images):
        if not rows:
            return 0
        found = [among(rows[1:], images)]
        for k, image in enumerate(images):
            if size := best(rows[0], image):
                found.append(size + among(rows[1:], images[:k] + images[k + 1 :]))
        return max(found)

    return best(0, 0)


def compared(one, rows, other, images, equality):
    return equality(one, other)(np.array(rows, np.int64), np.array(images, np.int64))


def assert_is_etdm(pairs, one, other, equality):
    found: dict[int, int] = dict(np.asarray(pairs).tolist())
    assert len(found) == len(set(found.values())) == len(pairs)
    assert (compared(one, list(found), other, list(found.values()), equality) > 0).all()
    for row, image in found.items():
        if row == 0 or image == 0:
            assert (row, image) == (0, 0)
        else:
            assert found[int(one.parent[row])] == other.parent[image]


def identity(nodes):
    return [[row, row] for row in range(len(nodes))]


def listing(items):
    return page("<ul>" + "".join(f"<li>{item}</li>" for item in items)).nodes


def letters(number):
    """A word of its own for each number: all digits of a text count as one."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


@given(trees, trees, st.sampled_from(LABELS))
def test_one_to_one_equal_and_closed(one, other, label_of):
    left, right = table(one), table(other)
    pairs = etdm(left, right, label_of)
    assert pairs[0].tolist() == [0, 0]
    assert_is_etdm(pairs, left, right, by_label(label_of))


@pytest.mark.parametrize("label_of", LABELS)
def test_the_largest_of_random_pages(label_of):
    """A greedy mapping was smaller than the largest in 19 of 300 pairs."""
    rng = random.Random(15)

    def content(depth):
        tags = [rng.choice(TAGS[:2]) for _ in range(rng.randint(0, 3))] if depth else []
        return rng.choice(["", "one", "two"]), [(tag, content(depth - 1)) for tag in tags]

    for _ in range(300):
        left, right = table(content(3)), table(content(3))
        pairs = etdm(left, right, label_of)
        assert_is_etdm(pairs, left, right, by_label(label_of))
        assert len(pairs) == brute_force(left, right, label_of)


def test_children_are_looked_at_below():
    """The example of the docs: the empty `div` must not take the place of the full one, as it does in Algorithm 2."""
    left = page("<div><b>x</b><i>y</i></div>").nodes
    right = page("<div></div><div><b>x</b><i>y</i></div>").nodes
    for label_of in LABELS:
        assert len(etdm(left, right, label_of)) == len(left)
    assert len(greedy(left, right, by_label(same_signature))) == len(left) - 4


@given(trees, trees, st.sampled_from(EQUALITIES))
def test_the_mapping_as_printed_is_an_etdm_and_not_larger(one, other, equality):
    left, right = table(one), table(other)
    pairs = greedy(left, right, equality)
    assert_is_etdm(pairs, left, right, equality)
    among = np.zeros(len(left), np.bool_)
    among[pairs[:, 0]] = True
    assert greedy(left, right, equality, among).tolist() == pairs.tolist()
    for label_of in LABELS:
        assert len(greedy(left, right, by_label(label_of))) <= len(etdm(left, right, label_of))


@given(unique_trees, unique_trees)
def test_the_template_as_printed_is_that_of_the_largest_mappings_where_siblings_differ(one, other):
    left, right = table(one), table(other)
    rows, same = greedy_template(left, [right, left], by_label(same_signature))
    template = extract(left, [right, left], same_signature)
    assert (rows.tolist(), same.tolist()) == tuple(column.tolist() for column in template)


def test_headers_are_mapped_to_headers():
    left = page("<div><p>Menu</p></div><div><p>One story</p></div>").nodes
    right = page("<div><p>Advertisement</p></div><div><p>Menu</p></div><div><p>Another story</p></div>").nodes
    for row, image in etdm(left, right, same_signature).tolist():
        if left.tag[row] == TEXT and left.strings[left.first_leaf[row]] == "Menu":
            assert right.strings[right.first_leaf[image]] == "Menu"


@given(unique_trees, unique_trees)
def test_path_hashes_are_the_mapping_where_siblings_differ(one, other):
    left, right = table(one), table(other)
    rows = etdm(left, right, same_signature)[:, 0]
    common = set(left.path.tolist()) & set(right.path.tolist())
    assert {int(left.path[row]) for row in rows} == common
    votes = Votes()
    votes.learn(left)
    votes.learn(right)
    assert np.flatnonzero(votes.template(left, include_slots=True)).tolist() == rows.tolist()


@given(trees, trees)
def test_path_hashes_are_a_mapping(one, other):
    left, right = table(one), table(other)
    rows = {path: row for row, path in enumerate(right.path.tolist())}
    pairs = [(row, rows[path]) for row, path in enumerate(left.path.tolist()) if path in rows]
    assert_is_etdm(pairs, left, right, by_label(same_signature))
    assert len(pairs) <= len(etdm(left, right, same_signature))


@given(trees, st.sampled_from(LABELS))
def test_a_tree_maps_onto_itself(tree, label_of):
    nodes = table(tree)
    assert etdm(nodes, nodes, label_of).tolist() == identity(nodes)


@given(trees, trees, st.sampled_from(LABELS), st.data())
def test_only_among_the_rows_that_are_allowed(one, other, label_of, data):
    left, right = table(one), table(other)
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(left), max_size=len(left))))
    pairs = etdm(left, right, label_of, among)
    assert_is_etdm(pairs, left, right, by_label(label_of))
    assert among[pairs[:, 0]].all()
    assert bool(len(pairs)) == among[0]


def test_labels_of_ones_own():
    left = page("<p class=x>a<p class=y>b").nodes
    right = page("<p class=y>b<p class=x>a").nodes
    by_tag = etdm(left, right, lambda nodes: nodes.tag)
    assert by_tag.tolist() == [[0, 0], [1, 1], [2, 4], [3, 5], [4, 2], [5, 3]]
    assert etdm(left, right, lambda nodes: np.full(len(nodes), id(nodes))).tolist() == []
    only_roots = etdm(left, right, lambda nodes: np.where(nodes.depth == 0, 0, id(nodes)))
    assert only_roots.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("<p>", "<p>", 1.0),
        ("<p>", "<div>", 0.0),
        ("<x-a>", "<x-b>", 0.0),
        ("<p class='a b'>", "<p class='a'>", 0.8),
        ("<p class='a a'>", "<p class='a'>", 1.0),
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
    assert compared(left, rows[:1], right, rows[1:], weighted) == pytest.approx([equal])


def test_texts_are_equal_whatever_they_say_or_not():
    left, right = listing(["one", "two", "three"]), listing(["three", "four"])
    assert len(etdm(left, right, same_signature)) == 7
    assert len(etdm(left, right, same_signature_and_text)) == 6
    for equality in EQUALITIES:
        assert compared(left, [0, 4], right, [4, 0], equality).tolist() == [0, 0]


@pytest.mark.parametrize("label_of", LABELS)
def test_equal_siblings_meet_in_order(label_of):
    left, right = listing("abc"), listing("abcd")
    assert etdm(left, right, label_of).tolist() == identity(left)


@pytest.mark.parametrize("label_of", LABELS)
def test_a_hundred_thousand_siblings(label_of):
    names = [letters(n) for n in range(100_000)]
    left, right = listing(names), listing(names[3:])
    pairs = etdm(left, right, label_of)
    assert_is_etdm(pairs, left, right, by_label(label_of))
    assert len(pairs) == len(right)


@pytest.mark.parametrize("label_of", LABELS)
def test_siblings_that_are_too_many_to_compare_are_paired_in_order(label_of):
    def items(rng):
        pairs = [f"<{outer}><{inner}></{inner}></{outer}>" for outer in ("b", "i", "u", "s") for inner in TAGS]
        return ["".join(rng.choices(pairs, k=6)) for _ in range(2000)]

    left, right = listing(items(random.Random(1))), listing(items(random.Random(2)))
    pairs = etdm(left, right, label_of)
    assert_is_etdm(pairs, left, right, by_label(label_of))
    assert len(pairs) > 4000


def test_pages_that_are_deep():
    left, right = page("<div>" * 200 + "<p>x").nodes, page("<div>" * 200 + "<b>y</b><p>x").nodes
    for label_of in LABELS:
        pairs = etdm(left, right, label_of)
        assert len(pairs) == len(left)


def test_pages_of_one_node_and_roots_that_differ():
    left, right = (build(fromstring(f"<{tag}/>"), URL) for tag in ("html", "svg"))
    for label_of in LABELS:
        assert etdm(left, left, label_of).tolist() == [[0, 0]]
        pairs = etdm(left, right, label_of)
        assert pairs.shape == (0, 2)
        assert extract(left, [right], label_of)[0].all()


# assignment


@given(st.data())
def test_assignments_are_the_best_of_all(data):
    groups, shape = data.draw(st.integers(1, 3)), data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    edges = [(g, a, b) for g in range(groups) for a in range(shape[0]) for b in range(shape[1])]
    edges = data.draw(st.lists(st.sampled_from(edges), unique=True))
    weight = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(edges), max_size=len(edges))), float)
    group, left, right = np.array(edges, np.int64).reshape(-1, 3).T.copy()
    chosen = assign(group, group * 9 + left, group * 9 + right, weight, 0.5)
    for ends in (group * 9 + left, group * 9 + right):
        assert len(set(ends[chosen].tolist())) == chosen.sum()
    for number in range(groups):
        by_edge = {(a, b): w for (g, a, b), w in zip(edges, weight.tolist(), strict=True) if g == number}
        few, many = sorted((range(shape[0]), range(shape[1])), key=len)
        flipped = len(shape) and shape[0] > shape[1]
        best = max(
            sum(by_edge.get((b, a) if flipped else (a, b), 0) for a, b in zip(few, found, strict=True))
            for found in permutations(many, len(few))
        )
        assert weight[chosen & (group == number)].sum() == best


@pytest.mark.parametrize("shape", [(1, 9), (30, 20), (40, 40), (3, 200)])
def test_large_assignments_weigh_what_those_of_scipy_do(shape):
    weight = np.random.default_rng(len(shape) + sum(shape)).random(shape)
    left, right = np.indices(shape).reshape(2, -1).copy()
    chosen = assign(np.zeros(weight.size, np.int64), left, right + shape[0], weight.ravel(), 0.0)
    assert weight.ravel()[chosen].sum() == pytest.approx(weight[linear_sum_assignment(weight, maximize=True)].sum())


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
    masks = {tuple(extract(key, order, same_signature)[0].tolist()) for order in permutations(others)}
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
    assert "Home" not in texts(key, extract(key, pages[1:], same_signature)[0])
    votes = Votes()
    for nodes in pages:
        votes.learn(nodes)
    assert texts(key, votes.template(key)) == ["Home", "About", "Imprint"]


def test_pages_with_another_root_are_passed_over():
    key, other = article(0), build(fromstring("<svg><g/></svg>"), URL)
    assert extract(key, [other])[0].all()
    assert extract(key, [])[0].all()
    assert (extract(key, [other, article(1)])[0] == extract(key, [article(1)])[0]).all()


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
    assert max(map(len, votes.tables.values())) <= CAPACITY
    key = article(0)
    assert texts(key, votes.template(key)) == ["Home", "About", "Imprint"]


def test_pairs_of_pages_agree_with_votes_of_two():
    pages = [article(n) for n in range(3)]
    for one, other in combinations(pages, 2):
        votes = Votes()
        votes.learn(one)
        votes.learn(other)
        assert (votes.template(one, include_slots=True) == extract(one, [other], same_signature)[0]).all()


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
    assert texts(one.nodes, template_nodes(site, one)) == ["Menu"]
    stranger = page("<article><h2>Menu</h2></article>", f"{URL}s")
    assert texts(stranger.nodes, template_nodes(site, stranger)) == []
