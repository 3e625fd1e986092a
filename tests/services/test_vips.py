"""VIPS: separators compared with a quadratic version, the rules on small pages, properties of all structures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets import Page
from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.page.looks import DISPLAY, POSITION
from scrapy_pagelets.page.nodes import TAG, TEXT
from scrapy_pagelets.page.text import paths_of
from scrapy_pagelets.papers.vips.vips import INNER_PDOC, TOP_PDOC, guess_layout, vips
from scrapy_pagelets.papers.vips.vips_blocks import crossed, separators
from scrapy_pagelets.papers.vips.vips_strict import Strict
from scrapy_pagelets.papers.vips.vips_visual import Visual
from tests.browsing import rendered
from tests.trees import URL, page, soups

intervals = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])), min_size=1)
BOTH = pytest.mark.parametrize("strict", [False, True])


def laid(html, boxes, **columns):
    """A page on which the given boxes are those of elements, by id, and of their text; other boxes enclose these."""
    parsed = page(html)
    nodes = parsed.nodes
    box = np.zeros((len(nodes), 4), np.float32)
    visible = np.zeros(len(nodes), np.bool_)
    ids = {nodes.looks[nodes.look[row]][1]: row for row in range(len(nodes)) if nodes.tag[row] != TEXT}
    for name, values in boxes.items():
        rows = [ids[name], *(row for row in nodes.leaves.tolist() if nodes.parent[row] == ids[name])]
        box[rows], visible[rows] = values, True
    for row in reversed(range(1, len(nodes))):
        above = nodes.parent[row]
        if visible[row] and nodes.looks[nodes.look[above]][1] not in boxes:
            ours, theirs = box[row], box[above]
            low = np.minimum(ours[:2], theirs[:2]) if visible[above] else ours[:2].copy()
            high = np.maximum(ours[:2] + ours[2:], theirs[:2] + theirs[2:]) if visible[above] else ours[:2] + ours[2:]
            box[above], visible[above] = (*low, *(high - low)), True
    x, y, width, height = box.T
    layout = replace(guess_layout(nodes), x=x, y=y, width=width, height=height, visible=visible, page_height=1000)
    for name, values in columns.items():
        column = getattr(layout, name).copy()
        for key, value in values.items():
            column[ids[key] : nodes.end[ids[key]]] = value
        layout = replace(layout, **{name: column})
    return replace(parsed, layout=layout)


def segments_of(parsed, pdoc=10, **options):
    """The texts of the segments."""
    labels = vips(parsed, **options).labels(pdoc).tolist()
    groups: dict[int, list[str]] = {}
    for label, string in zip(labels, parsed.nodes.strings, strict=True):
        groups.setdefault(label, []).append(string)
    return sorted(groups.values())


def first_segments(parsed, **options):
    """The texts of the segments at the lowest PDoC that gives several segments."""
    return next(texts for pdoc in range(1, 11) if len(texts := segments_of(parsed, pdoc, **options)) > 1)


# ---- separators


def by_every_cut(blocks, tolerance):
    """Gaps at which all blocks that start earlier end before those that start later, pair by pair."""
    blocks = sorted(blocks)
    gaps: list[tuple[float, float]] = []
    for cut in range(1, len(blocks)):
        before, after = blocks[:cut], blocks[cut:]
        if all(start - end > -tolerance for _, end in before for start, _ in after):
            gaps.append((max(end for _, end in before), after[0][0]))
    return gaps


def as_in_the_paper(blocks):
    """Separators split, shrunk and removed block by block, without those at the border."""
    gaps = [(-np.inf, np.inf)]
    for start, end in blocks:
        rest = [(low, high) for low, high in gaps if high <= start or low >= end]
        for low, high in gaps:
            if not (high <= start or low >= end):
                rest += [(low, min(high, start)), (max(low, end), high)]
        gaps = [(low, high) for low, high in rest if low < high]
    return sorted((low, high) for low, high in gaps if np.isfinite((low, high)).all())


@given(intervals, st.integers(0, 3))
def test_separators_are_those_of_every_pair_of_blocks(blocks, tolerance):
    blocks = [(low, high + tolerance + 1) for low, high in blocks]
    start, end = np.array(blocks, float).T
    strips = separators(start, end, tolerance)
    assert list(zip(strips.start, strips.end, strict=True)) == by_every_cut(blocks, tolerance)
    assert strips.side.tolist() == [sum(low >= edge for edge in strips.end) for low, _ in blocks]


@given(intervals.map(lambda blocks: [(low, high) for low, high in blocks if low < high]).filter(len))
def test_separators_are_those_of_the_paper(blocks):
    start, end = np.array(blocks, float).T
    strips = separators(start, end)
    assert list(zip(strips.start, strips.end, strict=True)) == as_in_the_paper(blocks)


def test_only_chosen_separators_are_crossed():
    strips = separators(np.array([0.0, 20, 40]), np.array([10.0, 30, 50]))
    assert crossed(strips, np.array([False, True])).tolist() == [0, 0, 1]


# ---- today's pages

THREE = "<div id=a>one</div><div id=b>two</div><div id=c>three</div>"


@BOTH
def test_the_widest_gap_divides_first(strict):
    parsed = laid(THREE, {"a": (0, 0, 500, 50), "b": (0, 60, 500, 50), "c": (0, 260, 500, 50)})
    assert first_segments(parsed, strict=strict) == [["one", "two"], ["three"]]


@BOTH
def test_another_background_divides_first(strict):
    boxes = {"a": (0, 0, 500, 50), "b": (0, 60, 500, 50), "c": (0, 120, 500, 50)}
    parsed = laid(THREE, boxes, background={"a": 0x224466FF})
    assert first_segments(parsed, strict=strict) == [["one"], ["two", "three"]]


@BOTH
def test_a_ruler_divides_first(strict):
    html = "<div id=a>one</div><div id=b>two</div><hr id=r><div id=c>three</div>"
    boxes = {"a": (0, 0, 500, 50), "b": (0, 60, 500, 50), "r": (0, 120, 500, 2), "c": (0, 132, 500, 50)}
    assert first_segments(laid(html, boxes), strict=strict) == [["one", "two"], ["three"]]


def test_columns_are_parted_whatever_stands_in_them():
    html = "<div><div><p id=a>one<p id=b>two</div><div><p id=c>three<p id=d>four</div></div>"
    boxes = {"a": (0, 0, 200, 300), "b": (0, 310, 200, 300), "c": (300, 0, 200, 150), "d": (300, 160, 200, 450)}
    assert first_segments(laid(html, boxes)) == [["one", "two"], ["three", "four"]]


def test_items_of_one_look_are_separated_last():
    html = "<div><div class=card id=a>one</div><div class=card id=b>two</div><p class=note id=c>three</p></div>"
    parsed = laid(html, {"a": (0, 0, 500, 50), "b": (0, 60, 500, 50), "c": (0, 120, 500, 50)})
    weights = []

    class Noted(Visual):
        def weigh(self, pool, strips, *, horizontal):
            weights.append(super().weigh(pool, strips, horizontal=horizontal))
            return weights[-1]

    Noted(parsed.nodes, parsed.layout).structure()
    assert weights[0][0] < weights[0][1]


def test_a_fixed_element_is_a_part_of_its_own_and_covers_no_separator():
    html = "<div id=a>one</div><div><div id=f>fixed</div><p id=b>two</div>"
    boxes = {"a": (0, 0, 500, 50), "b": (0, 300, 500, 50), "f": (0, 40, 500, 280)}
    parsed = laid(html, boxes, position={"f": POSITION["fixed"]})
    assert ["fixed"] in segments_of(parsed, 2)
    assert segments_of(parsed) == [["fixed"], ["one"], ["two"]]


def test_a_fixed_element_inside_of_a_line_is_a_part_of_its_own():
    parsed = laid("<p id=a>one <b id=f>fixed</b></p>", {"a": (0, 0, 500, 50), "f": (0, 700, 500, 50)})
    parsed = replace(parsed, layout=replace(parsed.layout, position=positions(parsed, "fixed", POSITION["fixed"])))
    assert segments_of(parsed, 2) == [["fixed"], ["one"]]


def positions(parsed, text, code):
    column = parsed.layout.position.copy()
    row = parsed.nodes.leaves[parsed.nodes.strings.index(text)]
    column[parsed.nodes.parent[row]] = code
    return column


def test_a_sticky_element_stays_in_the_flow():
    boxes = {"a": (0, 0, 500, 50), "b": (0, 60, 500, 50), "c": (0, 260, 500, 50)}
    parsed = laid(THREE, boxes, position={"a": POSITION["sticky"]})
    assert first_segments(parsed) == [["one", "two"], ["three"]]


def test_floating_blocks_hide_no_separator():
    boxes = {"a": (0, 0, 500, 50), "b": (0, 30, 400, 300), "c": (0, 260, 500, 50)}
    parsed = laid(THREE, boxes, position={"b": POSITION["absolute"]})
    assert first_segments(parsed) == [["one"], ["three"], ["two"]]


def test_blocks_that_all_overlap_become_single_blocks():
    parsed = laid(THREE, {"a": (0, 0, 300, 200), "b": (50, 50, 300, 200), "c": (100, 100, 300, 200)})
    assert segments_of(parsed) == [["one"], ["three"], ["two"]]


def test_invisible_nodes_belong_to_the_segment_around_them():
    html = "<ul><li id=a><a id=l>entry</a><ul><li>hidden</ul><li id=b>other</ul><div><p>gone</div>"
    parsed = laid(html, {"a": (0, 0, 90, 20), "l": (0, 0, 90, 20), "b": (200, 0, 90, 20)})
    assert segments_of(parsed) == [["entry", "hidden"], ["gone"], ["other"]]


@BOTH
def test_boxes_without_size_are_not_blocks(strict):
    parsed = laid(THREE, {"a": (0, 0, 500, 50), "b": (0, 60, 0, 0), "c": (0, 160, 500, 50)})
    labels = vips(parsed, strict=strict).labels(INNER_PDOC)
    assert len(labels) == 3
    assert vips(parsed, strict=strict).labels(1).tolist() == [0, 0, 0]


def test_lines_of_text_with_inline_elements_are_never_cut():
    html = "<div id=a>some <b id=b>bold</b> words</div><p id=c>other</p>"
    parsed = laid(html, {"a": (0, 0, 500, 20), "b": (60, 0, 40, 20), "c": (0, 40, 500, 20)})
    assert segments_of(parsed) == [["other"], ["some", "bold", "words"]]


def test_thin_blocks_without_text_are_spacing():
    html = "<table><tr><td id=a>one<td><img id=i><td id=b>two</table>"
    parsed = laid(html, {"a": (0, 0, 300, 500), "i": (300, 0, 25, 500), "b": (325, 0, 300, 500)})
    gaps: list[tuple[float, float]] = []

    class Noted(Visual):
        def weigh(self, pool, strips, *, horizontal):
            gaps.extend(zip(strips.start.tolist(), strips.end.tolist(), strict=True))
            return super().weigh(pool, strips, horizontal=horizontal)

    Noted(parsed.nodes, parsed.layout).structure()
    assert gaps == [(300, 325)]


def test_text_between_blocks_is_a_block():
    html = "<div id=w>before<p id=p>paragraph</p>after <i id=i>it</i></div>"
    parsed = laid(html, {"w": (0, 0, 500, 20), "p": (0, 40, 500, 20), "i": (0, 80, 500, 20)})
    assert parsed.layout is not None
    rows = parsed.nodes.leaves[[0, 2]]
    parsed.layout.y[rows] = 0, 80
    assert segments_of(parsed) == [["after", "it"], ["before"], ["paragraph"]]


def test_a_landmark_is_separated_before_a_division():
    html = "<div id=a>one</div><div id=b>two</div><aside id=c>three</aside>"
    parsed = laid(html, {"a": (0, 0, 500, 50), "b": (0, 60, 500, 50), "c": (0, 120, 500, 50)})
    assert first_segments(parsed) == [["one", "two"], ["three"]]


# ---- the rules of 2003


def ruled(html, boxes, name, root=False, divided=False, **columns):
    parsed = laid(html, boxes, **columns)
    nodes = parsed.nodes
    row = next(row for row in range(len(nodes)) if nodes.looks[nodes.look[row]][1] == name and nodes.tag[row] != TEXT)
    return Strict(nodes, parsed.layout).rule(row, root=root, divided=divided)


LARGE, HALF, SMALL = (0, 0, 1366, 900), (0, 0, 1366, 450), (0, 0, 100, 100)


@pytest.mark.parametrize(
    ("rule", "html", "boxes", "options", "what"),
    [
        (1, "<div id=x><p></div>", {"x": LARGE}, {}, "cut"),
        (2, "<div id=x><p id=y>a</div>", {"x": LARGE, "y": LARGE}, {}, "divide"),
        (3, "<div id=x>a<b id=y>b</b></div>", {"x": LARGE, "y": SMALL}, {"root": True}, "divide"),
        (4, "<div id=x>a<b id=y>b</b></div>", {"x": LARGE, "y": SMALL}, {}, "keep"),
        (5, "<p id=x>a<object id=y>b</object>", {"x": SMALL, "y": SMALL}, {}, "divide"),
        (6, "<div id=x>a<hr id=y>b</div>", {"x": SMALL, "y": (0, 0, 90, 2)}, {}, "divide"),
        (7, "<div id=x><p id=y>a<p id=z>b</div>", {"x": HALF, "y": HALF, "z": SMALL}, {}, "divide"),
        (9, "<div id=x><p id=y>a</p><b id=z>b</b></div>", {"x": SMALL, "y": (0, 0, 9, 9), "z": (0, 9, 9, 9)}, {},
         "keep"),
        (10, "<div id=x><p id=y>a<p id=z>b</div>", {"x": LARGE, "y": SMALL, "z": SMALL}, {}, "keep"),
        (11, "<table><td id=x><p id=y>a<p id=z>b</table>", {"x": LARGE, "y": HALF, "z": SMALL}, {"divided": True},
         "divide"),
        (12, "<div id=x><p id=y>a<p id=z>b</div>", {"x": LARGE, "y": HALF, "z": SMALL}, {}, "divide"),
        (13, "<table><td id=x><p id=y>a<p id=z>b</table>", {"x": LARGE, "y": HALF, "z": SMALL}, {}, "keep"),
    ],
)  # fmt: skip
def test_each_rule_decides(rule, html, boxes, options, what):
    assert ruled(html, boxes, "x", **options)[0] == what, f"rule {rule}"


def test_rule_8_parts_a_row_from_a_cell_of_another_colour():
    html = "<table><tr id=r><td id=x><p>a<td id=y>b<td id=z>c</table>"
    boxes = {"r": LARGE, "x": HALF, "y": SMALL, "z": SMALL}
    assert ruled(html, boxes, "r")[0] == "keep"
    assert ruled(html, boxes, "r", background={"y": 0x808080FF})[0] == "part"


def test_children_that_fill_their_parent_are_not_larger_than_it():
    boxes = {"x": (0, 0, 700, 99), "u": (0, 0, 700, 33), "v": (0, 33, 700, 33), "w": (0, 66, 700, 33)}
    parsed = laid("<div id=x><p id=u>a<p id=v>b<p id=w>c</div>", boxes)
    row = parsed.nodes.parent[parsed.nodes.parent[parsed.nodes.leaves[0]]]
    heights = [replace(parsed.layout, page_height=height) for height in range(1000, 1200)]
    assert {Strict(parsed.nodes, layout).rule(row, root=False, divided=False)[0] for layout in heights} == {"keep"}


def separator(above, below):
    """The weight of the separator between two blocks, one above the other."""
    parsed = page(above + below)
    strict = Strict(parsed.nodes, guess_layout(parsed.nodes))
    (body,) = np.flatnonzero(parsed.nodes.tag == TAG["body"])
    pool = np.flatnonzero(parsed.nodes.parent == body)
    (weight,) = strict.weights(pool, separators(np.array([0.0, 50]), np.array([40.0, 90])), horizontal=True).tolist()
    return weight


def test_a_separator_of_fonts_weighs_more_in_both_orders():
    title, text = "<h1>Title</h1>", "<p>Words of a text</p>"
    other = "<div><p>Other words</p></div>"  # of another look: equal looks weigh less
    assert separator(title, text) > separator(text, other)
    assert separator(text, title) > separator(title, text)
    bold = "<div><b>Words in bold</b></div>"
    assert separator(bold, text) == separator(text, bold) > separator(text, other)


def test_the_font_of_a_block_is_that_of_most_of_its_text():
    text, other = "<p>Words of a text</p>", "<div><p>Other words</p></div>"
    assert separator("<div><p><small>Small words</small></p></div>", text) > separator(other, text)
    assert separator("<div><p>Many other words and <small>few</small></p></div>", text) == separator(other, text)
    assert separator("<div><small>few</small><p>Many other words</p></div>", text) == separator(other, text)
    assert separator("<h1><img src=a></h1>", text) == separator("<div><img src=a></div>", text)


def test_text_of_one_font_is_more_coherent():
    boxes = {"x": SMALL, "y": (0, 0, 50, 50)}
    assert ruled("<div id=x>a<i id=y>b</i></div>", boxes, "x") == ("keep", 10)
    assert ruled("<div id=x>a<b id=y>b</b></div>", boxes, "x") == ("keep", 9)


def test_the_strict_tree_joins_blocks_across_branches():
    html = "<div><p id=a>one<p id=b>two</div><div><p id=c>three<p id=d>four</div>"
    boxes = {"a": (0, 0, 600, 300), "b": (0, 400, 600, 300), "c": (0, 710, 600, 300), "d": (0, 1100, 600, 300)}
    assert first_segments(laid(html, boxes), strict=True) == [["four"], ["one"], ["two", "three"]]


# ---- every content structure


@BOTH
@given(html=soups)
def test_structures_are_coherent_downwards_and_partition_the_leaves(html, strict):
    parsed = page(html)
    tree = vips(parsed, strict=strict)
    assert (tree.parent[1:] < np.arange(1, len(tree))).all()
    assert (tree.doc[1:] >= tree.doc[tree.parent[1:]]).all()
    assert ((tree.doc >= 1) & (tree.doc <= 10)).all()
    finer = None
    for pdoc in range(10, 0, -1):
        labels = tree.labels(pdoc)
        assert labels.shape == parsed.nodes.leaves.shape
        if finer is not None:
            assert len(set(zip(finer.tolist(), labels.tolist(), strict=True))) == len(set(finer.tolist()))
        finer = labels
    assert set(tree.labels(1).tolist()) <= {0}


@given(soups)
def test_segments_are_whole_subtrees_and_leave_inline_elements_whole(html):
    parsed = page(html)
    nodes, blocks = parsed.nodes, Visual(parsed.nodes, guess_layout(parsed.nodes)).blocks
    tree = vips(parsed)
    labels = tree.labels(10)
    for start, end, level, valid in zip(
        nodes.first_leaf, nodes.last_leaf, blocks.block_level, blocks.valid, strict=True
    ):
        if valid and not level:
            assert len(set(labels[start:end].tolist())) <= 1
    for label in set(labels.tolist()):
        index = np.flatnonzero(labels == label)
        texts = {" ".join(readable(text).split()) for path in paths_of(nodes, index) for text in texts_at(parsed, path)}
        assert texts >= {nodes.strings[i] for i in index.tolist() if nodes.strings[i].isalnum()}


def texts_at(parsed, path):
    for node in parsed.root.xpath(path):
        texts = [node] if isinstance(node, str) else node.itertext()
        yield from (" ".join(str(text).split()) for text in texts)


@BOTH
@pytest.mark.parametrize("html", ["", "<img src=x><hr>", "<p hidden>gone", "<div style='display:none'><p>a<p>b</div>"])
def test_pages_with_nothing_visible_are_one_segment(html, strict):
    tree = vips(page(html), strict=strict)
    assert len(set(tree.labels(10).tolist())) <= 1


@BOTH
def test_nesting_needs_no_recursion(strict):
    parsed = page("<div><p>a</p>" * 1500 + "x" + "</div>" * 1500)
    assert len(set(vips(parsed, strict=strict).labels(10).tolist())) == 1501 or strict


@pytest.mark.parametrize(
    "html",
    ["<p>text</p>" * 50_000, "<div>" * 20 + ("<div><h2>a</h2><p>b <b>c</b></p></div>" * 100 + "<hr>") * 160],
)
def test_a_hundred_thousand_nodes_are_weighed_few_times_each(html):
    weighed = []

    class Counted(Visual):
        def weigh(self, pool, strips, *, horizontal):
            weighed.append(len(pool))
            return super().weigh(pool, strips, horizontal=horizontal)

    nodes = page(html).nodes
    tree = Counted(nodes, guess_layout(nodes)).structure()
    assert len(nodes) > 90_000
    assert sum(weighed) < 5 * len(nodes)
    assert len(np.unique(tree.labels(10))) > 30_000


@pytest.mark.parametrize("pdoc", [0, 11, -1])
def test_a_bad_pdoc_is_refused(pdoc):
    with pytest.raises(ValueError, match="from 1"):
        vips(page("<p>a")).labels(pdoc)


# ---- without and with a browser


@given(soups)
def test_a_guessed_layout_puts_children_into_their_parents(html):
    nodes = page(html).nodes
    layout = guess_layout(nodes)
    seen = np.flatnonzero(layout.visible[1:]) + 1
    above = nodes.parent[seen]
    assert (layout.x[seen] >= layout.x[above] - 0.1).all()
    assert (layout.y[seen] >= layout.y[above] - 0.1).all()
    right, bottom = layout.x + layout.width, layout.y + layout.height
    assert (right[seen] <= right[above] + 0.1).all()
    assert (bottom[seen] <= bottom[above] + 8.5).all()  # a margin may stick out


def test_a_guessed_layout_puts_cells_beside_each_other():
    nodes = page("<table><tr><td>a long text<td>b<tr><td>c</table><p>d").nodes
    layout = guess_layout(nodes)
    a, b, c, d = nodes.leaves
    assert layout.y[a] == layout.y[b] < layout.y[c] < layout.y[d]
    assert layout.x[b] == pytest.approx(layout.x[a] + layout.width[nodes.parent[a]])
    assert (layout.display[nodes.tag == TAG["td"]] == DISPLAY["table-cell"]).all()


REAL = """<!DOCTYPE html><html><head><style>body{margin:0;font:16px/20px serif} nav,main{float:left;min-height:400px}
nav{width:200px;background:#ddd} main{width:800px;margin-left:60px} footer{clear:both;padding-top:40px;color:#888}
#cookies{position:fixed;bottom:0;left:0;right:0;background:#ffc} .contents{display:contents} .gone{opacity:0}
#grid{display:grid;grid-template-columns:1fr 1fr;gap:60px}</style></head><body><header><h1>The name of the site</h1>
</header><nav><a href=/a>First</a><br><a href=/b>Second</a></nav><main><div class=contents><h2>Headline</h2><p>Some
words that are the content of this page, and <b>some more</b>.</p></div><div id=grid><p>left card</p><p>right card</p>
</div><p class=gone>not to be seen</p></main><footer>All rights reserved</footer>
<div id=cookies>We use cookies</div>"""


def test_a_rendered_page_is_cut_into_its_regions():
    (parsed,) = rendered(REAL)
    texts = segments_of(parsed, TOP_PDOC)
    assert ["First", "Second"] in texts
    assert ["We use cookies"] in texts
    assert ["All rights reserved"] in texts
    assert not any("First" in part and "Headline" in part for part in texts)
    finest = segments_of(parsed)
    assert ["left card"] in finest
    assert ["right card"] in finest


def test_a_page_without_layout_is_cut_into_its_regions():
    parsed = Page.parse(REAL.encode(), URL)
    assert ["First", "Second"] in segments_of(parsed)
    assert ["All rights reserved"] in segments_of(parsed, INNER_PDOC)
