"""GCuts and CClus on pages: partitions, granularity, pictures, training, bad input."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets import Page, segment
from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.crawler.commands.train import add_arguments, run
from scrapy_pagelets.decision.model import ModelError
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.page.nodes import TAG
from scrapy_pagelets.papers.graph_cuts.energy import cheapest_cover, expand, minimise, quantised, segments_of
from scrapy_pagelets.papers.graph_cuts.gcuts import Described, energy_of
from scrapy_pagelets.papers.graph_cuts.segment_features import beside
from scrapy_pagelets.papers.graph_cuts.segment_weights import load
from scrapy_pagelets.papers.graph_cuts.tree import compact
from scrapy_pagelets.papers.methods import LEARNT, METHODS, labels_of
from scrapy_pagelets.papers.vips.vips import vips
from tests.browsing import rendered as rendered_by_browser
from tests.oracles.constraints import feasible
from tests.trees import URL, leaf_strings, page, soups, words
from tests.unit.test_energy import labellings

MENU = "<ul id=menu>" + "".join(f"<li><a href=/{i}>Entry {i}</a></li>" for i in range(9)) + "</ul>"
ARTICLES = "".join(
    f"<div class=post><h2><a href=/p{i}>Head {i}</a></h2><img src=i{i}.png><p>Some longer words of article number {i}, "
    "which go on for a while.</p></div>"
    for i in range(4)
)
PAGE = f"<div id=header><img src=logo.png><h1>Site</h1>{MENU}</div><div id=content>{ARTICLES}</div>"
PAGE += "<div id=footer><p>Imprint</p><p>2026</p></div>"


def laid_out(parsed, seed=0):
    """The page with a layout: its leaves fill two columns, row by row."""
    nodes, n = parsed.nodes, len(parsed.nodes)
    random = np.random.default_rng(seed)
    first = np.minimum(nodes.first_leaf, max(0, len(nodes.leaves) - 1))
    zero = np.zeros(n, np.float32)
    layout = Layout(
        x=(500 * (first % 2)).astype(np.float32), y=(20.0 * (first // 2)).astype(np.float32), width=zero + 480,
        height=zero + 18, font_size=zero + 16, font_weight=np.full(n, 400, np.int16),
        color=np.full(n, 0xFF, np.uint32), background=np.full(n, 0xFFFFFFFF, np.uint32),
        picture=np.zeros(n, np.bool_), visible=random.random(n) < 0.9, display=np.zeros(n, np.int8),
        position=np.zeros(n, np.int8), floating=np.zeros(n, np.bool_),
        page_width=1000, page_height=int(20 * len(nodes.leaves)) + 1,
    )  # fmt: skip
    return Page(parsed.url, parsed.root, nodes, parsed.base, layout)


@settings(max_examples=30)
@given(soups, st.sampled_from([*LEARNT]), st.booleans())
def test_the_pagelets_are_the_page(html, method, whole):
    parsed = page(html)
    templateness = np.arange(len(parsed.nodes.leaves)) % np.float64(2)
    pagelets = segment(parsed, templateness, method, whole=whole)
    assert sorted(leaf for p in pagelets for leaf in p.index.tolist()) == list(range(len(parsed.nodes.leaves)))
    assert [p.id for p in pagelets] == list(range(len(pagelets)))
    for p in pagelets:
        texts = []
        for path in p.xpaths:
            (node,) = parsed.root.xpath(path)
            texts += leaf_strings(node) if isinstance(node, etree._Element) else [" ".join(readable(str(node)).split())]
        assert texts == [" ".join(parsed.nodes.strings[leaf].split()) for leaf in p.index]
        assert json.loads(json.dumps(p.record()))["words"] == p.words


@pytest.mark.parametrize("method", LEARNT)
def test_each_picture_is_in_one_whole_pagelet(method):
    parsed = page(PAGE)
    sources = []
    for p in segment(parsed, None, method, whole=True):
        for path in p.xpaths:
            (node,) = parsed.root.xpath(path)
            if isinstance(node, etree._Element):
                sources += [e.attrib["src"] for e in node.iter("img")]
    assert sorted(sources) == sorted(e.attrib["src"] for e in parsed.root.iter("img"))


def test_most_words_decide_the_role_of_a_whole_pagelet():
    parsed = page("<p>one two three <b>four</b></p>")
    templateness = np.array([0.0, 1.0])
    assert [(p.text, p.role) for p in segment(parsed, templateness, "gcuts-top", penalty=1e6)] == [
        ("one two three", "content"),
        ("four", "template"),
    ]
    (p,) = segment(parsed, templateness, "gcuts-top", penalty=1e6, whole=True)
    assert (p.text, p.role, p.templateness) == ("one two three four", "content", 0.25)


@pytest.mark.parametrize("method", LEARNT)
def test_a_huge_penalty_gives_one_segment(method):
    labels = labels_of(page(PAGE), method, penalty=1e9)
    assert set(labels[labels >= 0].tolist()) == {0}


@pytest.mark.parametrize("method", ["gcuts", "gcuts-top", "cclus"])
def test_no_penalty_gives_each_leaf_a_segment_of_its_own(method):
    labels = labels_of(page(PAGE), method, penalty=0.0)
    seen = labels[labels >= 0]
    assert len(set(seen.tolist())) == len(seen)


def test_without_a_penalty_the_paper_gives_each_leaf_its_nearest_label():
    described = Described.of(page(PAGE))
    energy = energy_of(described, load("inner"))
    free = type(energy)(
        energy.tree, energy.data, energy.hidden, 0 * energy.edge, energy.one, energy.other, 0 * energy.weight
    )
    leaves = described.tree.leaves
    chosen = minimise(free)[leaves]
    # Inner nodes pay for a label but not for being invisible, so no leaf has a cheaper label.
    assert (energy.data[leaves, chosen] <= energy.data[leaves].min(axis=1) + 1e-9).all()


def test_each_inner_node_is_a_label():
    described = Described.of(page(PAGE * 5))
    tree, weights = described.tree, load("inner")
    energy = energy_of(described, weights)
    assert tree.inner.sum() > 32
    assert energy.data.shape[1] == tree.inner.sum()
    # Each of them is at no distance from itself.
    assert np.diagonal(energy.data[tree.inner]) == pytest.approx(0, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.recursive(st.just(()), lambda below: st.lists(below, min_size=2, max_size=3), max_leaves=4))
def test_the_paper_finds_the_least_energy_of_a_page(shape):
    def html(part):
        return "<div>" + ("".join(map(html, part)) or "x") + "</div>"

    energy = energy_of(Described.of(page(html(shape))), load("inner"))
    least = min(energy.of(labels) for labels in labellings(energy.tree, energy.data.shape[1]))
    assert energy.of(minimise(energy)) == pytest.approx(least)


@pytest.mark.parametrize("method", ["gcuts", "gcuts-top", "gcuts-strict", "cclus"])
def test_the_wanted_number_of_segments_is_met_approximately(method):
    parsed = page(PAGE)
    for wanted in (1, 3, 8):
        labels = labels_of(parsed, method, segments=wanted)
        assert abs(len(set(labels[labels >= 0].tolist())) - wanted) <= 3
    assert set(labels_of(parsed, method, segments=1).tolist()) == {-1, 0}


def test_a_higher_penalty_never_separates():
    parsed = page(PAGE)
    finer = None
    for penalty in (0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 1e3):
        labels = labels_of(parsed, "gcuts", penalty=penalty)
        if finer is not None:
            assert all(len(set(labels[finer == number].tolist())) == 1 for number in set(finer.tolist()))
        finer = labels


def test_header_content_and_footer_are_told_apart():
    parsed = page(PAGE)
    tops = segment(parsed, None, "gcuts-top", segments=3)
    assert [words(p.text)[0] for p in tops] == ["Site", "Head", "Imprint"]


def test_blocks_are_cut_by_the_mean_of_three_estimates():
    """The cut of ``gcuts``, computed pair by pair."""
    described, weights = Described.of(page(PAGE)), load("inner")
    tree, count = described.tree, len(described.tree.leaves)
    assert count < 100  # so that all pairs are asked for
    structure = vips(described.page)
    rows = [structure.of_rows(pdoc)[tree.seen] for pdoc in range(5, 10)]
    trees = weights.whole(described.situation.astype(np.float32))
    hidden = np.zeros(len(tree))
    for node in np.flatnonzero(tree.inner):
        children = np.flatnonzero(tree.parent == node)
        child = {leaf: c for c in children.tolist() for leaf in range(tree.first[c], tree.last[c])}
        pairs = np.array([(i, j) for i in child for j in child if i < j and child[i] != child[j]])
        together = weights.pairs(described.pairs(tree.leaves[pairs[:, 0]], tree.leaves[pairs[:, 1]])).mean()
        votes = np.mean([row[i] == row[j] for row in rows for i, j in pairs])
        odds = [trees[node], *(np.log(max(p, 1e-9) / max(1 - p, 1e-9)) for p in (together, votes))]
        whole = 1 / (1 + np.exp(-np.mean([max(-4.0, min(4.0, value)) for value in odds])))
        hidden[node] = tree.size[node] * (0.5 * whole - (1 - whole))
    labels = labels_of(page(PAGE), "gcuts", penalty=0.5)
    assert labels[tree.seen].tolist() == segments_of(tree, cheapest_cover(tree, hidden)).tolist()
    assert len(set(labels[tree.seen].tolist())) > 1


@pytest.mark.parametrize("seed", range(3))
def test_a_rendered_page_is_cut_by_expansions_from_the_exact_program(seed):
    parsed = laid_out(page(PAGE), seed)
    described = Described.of(parsed)
    energy = energy_of(described, load("inner", rendered=True))
    start = minimise(energy)
    labels = expand(energy, start)
    assert feasible(described.tree, labels)
    assert quantised(energy).of(labels) <= quantised(energy).of(start)
    pagelets = segment(parsed, None, "gcuts-strict")
    assert sorted(leaf for p in pagelets for leaf in p.index.tolist()) == list(range(len(parsed.nodes.leaves)))


def test_neighbours_are_the_nearest_beside_and_below():
    parsed = laid_out(page("<p>a<p>b<p>c<p>d"))
    parsed.layout.visible[:] = True
    one, other = beside(compact(parsed.nodes), parsed.layout)
    # a b
    # c d     and what follows in the document
    assert set(zip(one.tolist(), other.tolist(), strict=True)) == {(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("html", ["", "<img src=x>", "<div></div>", "x", "<p>x", "<p>x<img src=y>"])
def test_pages_with_almost_nothing(html, method):
    parsed = page(html)
    assert len(segment(parsed, None, method)) == len(parsed.nodes.leaves)
    assert len(segment(parsed, None, method, whole=True)) <= 2


@pytest.mark.parametrize("method", METHODS)
def test_a_page_of_many_nodes(method):
    """Twenty-five thousand, or a quarter of it where that takes longest."""
    copies = 250 if method == "vips-strict" else 1000
    parsed = Page.parse(("<div>" + "<p>a <b>b</b></p>" * 6 + "</div>").encode() * copies, URL)
    assert len(parsed.nodes) > 24 * copies
    templateness = np.zeros(len(parsed.nodes.leaves))
    labels = labels_of(parsed, method, templateness)
    assert (labels[parsed.nodes.leaves] >= 0).all()


@pytest.mark.parametrize("method", ["gcuts", "gcuts-top", "gcuts-strict"])
def test_two_thousand_levels(method):
    parsed = page("".join(f"<div>t{level}" for level in range(2000)))
    labels = labels_of(parsed, method, np.zeros(len(parsed.nodes.leaves)))
    assert (labels[parsed.nodes.leaves] >= 0).all()


def test_bad_options():
    parsed = page("<p>x<p>y")
    with pytest.raises(ValueError, match="gcuts has no option k: it takes penalty and segments and weights"):
        segment(parsed, None, "gcuts", k=3)
    with pytest.raises(ValueError, match="segments is 0: give a number from 1"):
        segment(parsed, None, "gcuts", segments=0)


@pytest.mark.parametrize("penalty", [-0.1, math.nan, math.inf])
def test_a_penalty_that_makes_no_sense(penalty):
    with pytest.raises(ValueError, match=f"penalty is {penalty}: give a finite number, 0 or greater"):
        segment(page("<p>x<p>y"), None, "cclus", penalty=penalty)


def test_weights_that_cannot_be_used(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file of weights .*: give top or inner, or the path of a file"):
        load(str(tmp_path / "none.npz"))
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK broken")
    with pytest.raises(ModelError, match="train it again with `pagelets train --segments`"):
        load(str(broken))


@pytest.mark.parametrize("level", ["top", "inner"])
def test_rendered_pages_have_weights_of_their_own(level):
    plain, shown = load(level), load(level, rendered=True)
    assert (plain.rendered, shown.rendered) == (False, True)
    for weights, parsed in ((plain, page(PAGE)), (shown, laid_out(page(PAGE)))):
        described = Described.of(parsed)
        assert described.columns.shape[1] == len(weights.center)
        assert described.situation.shape[1] == len(weights.edge.coefficients) > weights.whole.feature.max()
        assert described.pairs(described.tree.leaves[:3], described.tree.leaves[4:7]).shape[1] == len(
            weights.neighbours.coefficients
        )


@settings(max_examples=30)
@given(soups, st.sampled_from([*LEARNT]), st.integers(0, 3))
def test_rendered_pages_are_cut_into_all_of_their_leaves(html, method, seed):
    parsed = laid_out(page(html), seed)
    labels = labels_of(parsed, method, np.zeros(len(parsed.nodes.leaves)))
    assert (labels[parsed.nodes.leaves] >= 0).all()


def learn(capsys, *argv):
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    code = run_command(run, parser.parse_args(argv))
    return code, capsys.readouterr()


def test_learning_from_pages_with_blocks(tmp_path, capsys):
    lines = []
    for number in range(6):
        name = f"page{number}.html"
        (tmp_path / name).write_text(PAGE.replace("Imprint", f"Imprint {number}"))
        blocks = [{"xpath": f"/html/body/div[{i}]", "level": 1} for i in (1, 2, 3)]
        blocks += [{"xpath": f"//div[@class='post'][{i}]", "level": 2} for i in (1, 2, 3, 4)]
        blocks += [{"xpath": "//ul", "level": 2}]
        lines.append({"page": name, "split": "test" if number == 5 else "train", "blocks": blocks})
    gold = tmp_path / "gold.jsonl"
    gold.write_text("\n".join(map(json.dumps, lines)))
    out = tmp_path / "weights.npz"
    code, output = learn(capsys, "--segments", str(tmp_path), "--gold", str(gold), "--out", str(out))
    assert (code, output.err) == (0, "")
    assert output.out.startswith("5 pages\n")  # none of the test split
    assert all(f"{name}: adjusted Rand" in output.out for name in LEARNT)
    weights = load(str(out))
    assert set(weights.penalties) == set(LEARNT)
    cut = LEARNT["gcuts"].function(Described.of(page(PAGE)), weights)(weights.penalties["gcuts"])
    parsed = page(PAGE)
    labels = labels_of(parsed, "gcuts", weights=str(out))
    assert labels[Described.of(parsed).tree.seen].tolist() == cut.tolist()
    # Header, menu, four articles, footer; the header is a block around the menu.
    assert 6 <= len(set(cut.tolist())) <= 9


def test_learning_from_rendered_pages(tmp_path, capsys):
    (tmp_path / "one.css").write_text("#menu{position:absolute;left:900px;top:0} #content{width:700px}")
    style = "<link rel=stylesheet href=one.css>"
    for number in range(5):
        (tmp_path / f"page{number}.html").write_text(style + PAGE.replace("Imprint", f"Imprint {number}"))
    blocks = [{"xpath": f"/html/body/div[{i}]", "level": 1} for i in (1, 2, 3)]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("\n".join(json.dumps({"page": f"page{n}.html", "blocks": blocks}) for n in range(5)))
    out = tmp_path / "weights.npz"
    arguments = ["--segments", str(tmp_path), "--gold", str(gold), "--level", "top", "--out", str(out)]
    assert learn(capsys, *arguments, "--render")[0] == 0
    weights = load(str(out))
    assert weights.rendered
    [shown] = rendered_by_browser(PAGE, source=True)
    cut = LEARNT["gcuts"].function(Described.of(shown), weights)(weights.penalties["gcuts"])
    assert len(set(cut.tolist())) == 3


def test_training_with_bad_input(tmp_path, capsys):
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"page": "a.html", "blocks": []}')
    out = str(tmp_path / "out.npz")
    code, output = learn(capsys, "--segments", str(tmp_path), "--gold", str(gold), "--out", out)
    assert (code, "a.html" in output.err) == (1, True)
    (tmp_path / "a.html").write_text(PAGE)
    code, output = learn(capsys, "--segments", str(tmp_path), "--gold", str(gold), "--out", out)
    assert code == 1
    assert "1 pages with blocks are too few to learn from: 5 are needed at least" in output.err
    gold.write_text('{"page": "a.html"}')
    code, output = learn(capsys, "--segments", str(tmp_path), "--gold", str(gold), "--out", out)
    assert "line 1: a JSON object with `blocks`, `page` is needed" in output.err
    code, output = learn(capsys, "--out", out)
    assert "there is nothing to learn from" in output.err


def test_pictures_are_leaves_of_the_tree():
    nodes = page(PAGE).nodes
    tree = compact(nodes)
    assert (nodes.tag[tree.seen] == TAG["img"]).sum() == 5
