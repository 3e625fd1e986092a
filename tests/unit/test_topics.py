"""The benchmarks of search: tags and blocks of pages, queries with many answers, and the printed experiment of 2003."""

from __future__ import annotations

import gzip
import json
from argparse import Namespace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.expansion import (
    METHODS,
    SELECTED,
    SYSTEMS,
    Experiment,
    cut_body,
    eleven_points,
    main,
    mean_of,
    search_of,
    summary,
)
from benchmarks.searched_sites import CUTS, Link, Searched, Site, by_tags, load, segments_of
from benchmarks.topics import Found, Topic, Topics, answerable, answered, average_precision, precisions, tagged
from scrapy_pagelets import Page
from scrapy_pagelets.retrieval.collection import cut_whole

ranked = st.lists(st.booleans(), max_size=12).flatmap(
    lambda right: st.builds(
        lambda missed: Found(np.array(right, np.bool_), max(1, sum(right) + missed)), st.integers(0, 3)
    )
)


def page(body):
    return Page.parse(body.encode(), "http://h.example/a.html")


def precision(found, rank):
    return sum(found.right[:rank]) / rank


@given(ranked)
def test_average_precision_is_the_mean_over_all_answers(found):
    ranks = [rank for rank in range(1, len(found.right) + 1) if found.right[rank - 1]]
    expected = sum(precision(found, rank) for rank in ranks) / found.answers
    assert average_precision(found) == pytest.approx(expected)
    assert precisions([found])[0].tolist() == pytest.approx([expected, sum(found.right[:10]) / 10])


@given(ranked)
def test_eleven_points_are_the_best_precision_from_each_level_of_recall_on(found):
    def at(tenths):
        reached = [
            rank for rank in range(1, len(found.right) + 1) if 10 * sum(found.right[:rank]) >= tenths * found.answers
        ]
        return max((precision(found, rank) for rank in reached if found.right[:rank].any()), default=0.0)

    assert eleven_points(found).tolist() == pytest.approx([at(tenths) for tenths in range(11)])


def test_blocks_are_those_of_the_innermost_tag():
    found = page(
        "<h1>Head</h1>Free <b>text</b><p>One <i>two</i></p>tail"
        "<table><tr><td>cell</td><td><ul><li>a</li><li>b</li></ul></td><td>more</td></tr></table><div>end</div>"
    )
    blocks = segments_of(found, by_tags(found))
    assert [" ".join(block.split()) for block in blocks] == [
        "Head", "Free text", "One two", "tail", "cell", "a b", "more", "end",
    ]  # fmt: skip


def test_each_cut_has_all_text_of_the_page_but_what_is_hidden():
    found = page("<ul><li><a href=/x>Menu</a></ul><h1>Head</h1><p>One two</p><p>three</p><footer>Imprint</footer>")
    hidden = np.array([string == "Menu" for string in found.nodes.strings])
    for cut in CUTS.values():
        texts = segments_of(found, cut(found), hidden)
        assert sorted(" ".join(texts).split()) == ["Head", "Imprint", "One", "three", "two"]


POST = """<title>{0}</title><nav><a href=/p.html>Pearls</a></nav><ol class=breadcrumb><li><a href=/>Home</a>
<li><a href=/sea.html>Deep sea</a></ol><main><h1>{0}</h1><p>All about {0} and <a rel=tag href=/own.html>whales</a>.</p>
</main><p>Filed under <a rel="category tag" href=/p.html>Pearls</a></p>"""


@pytest.fixture
def data(tmp_path):
    """Three posts with a tag and a trail, the page of the tag, one that lists two posts, and others."""
    posts = {f"{name}.html": (POST.format(name), f"{name} All about {name} and whales.") for name in ("a", "b", "c")}
    entry = "<h2>{0}</h2><a rel=tag href=/p.html>Pearls</a>"
    others = {
        "p.html": ("<title>P</title><main>Posts</main>", "Posts"),
        "list.html": (f"<main>{entry.format('a')}{entry.format('b')}</main>", "a b"),
        **{f"{n}.html": (f"<title>N</title><main>Pearls of page {n}</main>", f"Pearls of page {n}") for n in range(7)},
    }
    folder = tmp_path / "sites"
    (folder / "h").mkdir(parents=True)
    (folder / "sites.json").write_text(json.dumps([{"name": "h", "content_css": "main"}]))
    for path, (body, _) in (pages := posts | others).items():
        (folder / "h" / path).write_text(body)
    gold = [{"path": path, "content": content, "full": content} for path, (_, content) in pages.items()]
    with gzip.open(folder / "h" / "gold.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(each) + "\n" for each in gold)
    (tmp_path / "score.py").write_text(REFEREE)
    (tmp_path / "sites2").mkdir()
    (tmp_path / "sites2" / "sites.json").write_text("[]")
    return Namespace(data=tmp_path, referee=tmp_path, feeds=tmp_path / "none", cache=tmp_path, only="", every=1)


@pytest.fixture
def site(data):
    [found] = load(data, ("tags",), tags=True)
    return found


REFEREE = """
import gzip, json
def read(path):
    return [json.loads(line) for line in gzip.open(path, "rt")]
def by_path(feed, paths):
    return dict.fromkeys(paths)
"""


def test_tags_are_what_is_named_outside_of_the_content(site):
    assert site.tags["a.html"] == {("pearls",), ("deep", "sea")}
    assert site.tags["0.html"] == set()
    assert site.listing == {"p.html", "list.html"}
    assert tagged([site]) == [
        Topic((*words,), frozenset(("h", f"{name}.html") for name in "abc")) for words in (["deep", "sea"], ["pearls"])
    ]


def test_tags_and_trails_are_in_no_text_but_words_of_the_content_are(site):
    text = {path: " ".join(texts) for path, texts in site.texts["tags"].items()}
    assert text["a.html"].split() == "a All about a and whales. Filed under".split()
    assert text["list.html"].split() == ["a", "b"]
    assert text["0.html"] == "Pearls of page 0"


def test_a_topic_without_an_answer_is_left_out_with_a_sentence(site, capsys):
    """The only answers of a category page are lists, which are not searched."""
    answer, other = ("h", "a.html"), ("h", "b.html")
    topics = [Topic(("one",), frozenset([answer])), Topic(("two",), frozenset([answer, other]))]
    assert answerable(topics, {answer}) == [Topic(("two",), frozenset([other]))]
    assert average_precision(Found(np.array([False]), 0)) == 0.0
    site.links = [Link(("posts",), "0.html", "1.html")]
    site.links += [
        Link((f"p{n}",), "1.html", path) for n, path in enumerate(("p.html", "list.html", "2.html", "3.html"))
    ]
    found = Topics([site])
    assert found.left_out == {("h", path) for path in ("p.html", "list.html", "1.html")}
    assert found.kinds["category pages"] == [Topic(("posts",), frozenset([("h", "2.html"), ("h", "3.html")]))]
    assert "left out" not in capsys.readouterr().out
    site.listing |= {"2.html", "3.html"}
    assert "category pages" not in Topics([site]).kinds
    assert capsys.readouterr().out.endswith("they have no answer among the pages that are searched: 1\n")
    with pytest.raises(SystemExit, match="these sites have no topic: name more with --only"):
        Topics([Site("h", {"a.html": "A"})])


def small():
    """Six pages about a bell with an imprint, which two others have as well, and pages about the sea."""
    texts = {f"bell{n}.html": ["The bell, telephone", "Imprint gorman"] for n in range(6)}
    texts |= {f"other{n}.html": ["A pencil", "Imprint gorman"] for n in range(2)} | {"phone.html": ["A telephone"]}
    texts |= {f"sea{n}.html": ["The sea", "A wave"] for n in range(19)}
    site = Site("h", dict.fromkeys(texts, ""), dict.fromkeys(SYSTEMS, texts))
    answers = frozenset(("h", path) for path in ("bell0.html", "bell1.html", "phone.html"))
    return {system: Searched([site], system) for system in SYSTEMS}, [Topic(("bell",), answers)]


def test_terms_come_from_blocks_and_not_from_what_stands_beside_them(capsys):
    """By the word telephone, the third answer is found; by the imprint, which is in whole pages, others are as well."""
    experiment = Experiment(*small())
    assert mean_of(experiment.base) == pytest.approx((1 / 1 + 2 / 2 + 0) / 3)
    for name, n in product(METHODS, SELECTED):
        [found] = experiment.expanded(name, n)
        assert found.right.sum() == found.answers == 3
        assert len(found.right) == (6 + 1 + 2 if name == "FULLDOC" else 6 + 1)
    lines = experiment.by_segments()
    assert lines["VIPS"] == lines["DOMPS"] == pytest.approx([(1 / 1 + 2 / 2 + 3 / 7) / 3] * 8)
    assert capsys.readouterr().out.splitlines()[2].split() == ["no", "feedback", *["0.667"] * 3]
    experiment.by_recall()
    assert "all queries are of the same half of the sites" in capsys.readouterr().out
    experiment.by_default()
    assert [row.split()[2] for row in capsys.readouterr().out.splitlines()[3:5]] == ["none", "segments"]


def test_the_experiment_runs_on_a_folder_of_sites(data, tmp_path, capsys):
    folder = str(data.data)
    main(["--data", folder, "--referee", folder, "--feeds", folder + "/none", "--picture", str(tmp_path / "chart.svg")])
    printed = capsys.readouterr().out
    assert "1 sites, 12 pages" in printed
    assert "tags: 2 queries, 3.0 answers on average" in printed
    assert printed.count("no feedback") == 1
    assert "<svg" in (tmp_path / "chart.svg").read_text()
    assert printed.splitlines()[-1].split() == ["whole", "pages,", "rm3", "0.000", "0.000", "-", "1.0000"]
    [row] = summary(data)
    assert row == ["2003: MAP, no query among these sites", None, None, 0.1655]


def test_the_printed_search_takes_so_many_pages_or_segments():
    whole, blocks = (search_of(name, 30, 5)["feedback"] for name in ("FULLDOC", "DOMPS"))
    assert (whole.cut, whole.pages, whole.selected, whole.terms, whole.share) == (cut_whole, 30, 30, 5, 1.0)
    assert (blocks.cut, blocks.pages, blocks.selected, blocks.terms, blocks.share) == (cut_body, 80, 30, 5, 1.0)


def test_the_title_is_searched_but_is_no_block():
    site = Site("h", {"a.html": "Bell", "b.html": ""}, {"tags": {"a.html": ["Sea"], "b.html": ["Boat"]}})
    searched = Searched([site], "tags")
    [found] = answered(searched, [Topic(("bell",), frozenset([("h", "a.html")]))], {})
    assert found.right.tolist() == [True]
    segments = searched.collection.segments(np.array([0, 1]), cut_body)
    assert sorted(segments.vocabulary) == ["boat", "sea"]


def test_the_text_of_a_link_is_not_searched_where_it_stands():
    site = Site(
        "h", {"a.html": "", "b.html": ""}, {"tags": {"a.html": ["See the bell tower"], "b.html": ["A bell tower"]}}
    )
    searched = Searched([site], "tags", [(site, Link(("bell", "tower"), "a.html", "b.html"))])
    [found] = answered(searched, [Topic(("bell", "tower"), frozenset([("h", "b.html")]))], {})
    assert found == Found(found.right, 1)
    assert found.right.tolist() == [True]
