"""The page-level system of 2007: labels of the site level, classifiers, visual cues, smoothing."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from scrapy_pagelets import Page
from scrapy_pagelets.decision.model import ModelError
from scrapy_pagelets.decision.page_features import NODE_FEATURES
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.papers.methods import PAGE_LEVEL, labels_of
from scrapy_pagelets.papers.page_level import VISUAL_FEATURES, load, scores, smoothed, templateness, visual_features
from scrapy_pagelets.training.model_training import node_f1
from scrapy_pagelets.training.paper_training import as_rendered, labelled
from scrapy_pagelets.training.paper_training import train_page_level as train
from scrapy_pagelets.training.training_tables import CONTENT, FOLDS, TEMPLATE, UNKNOWN, Example, by_gold
from tests.crawling import scrapy

MENU = "<ul class=menu>" + "".join(f"<li><a href=/{name}>{name}</a>" for name in "plums pears figs".split()) + "</ul>"
# As long as the text, so that its size class shows both kinds.
LEGAL = "Whoever reads this agrees to the terms of this site and of all sites to which its many links may lead"
FOOT = f"<div class=foot><a href=/legal>Terms of this site</a><p>{LEGAL}</div>"


def source(site: str, number: int, text: str = "") -> bytes:
    words = f"Fruit {chr(97 + number)} of {site} tastes like that of no other tree and ripens when others are gone"
    return f"{MENU}<div class=text><p>{words}<p>{text or words}s</div>{FOOT}".encode()


def page(site: str, number: int, text: str = "") -> Page:
    return Page.parse(source(site, number, text), f"http://{site}/x{number}")


def rendered(plain: Page) -> Page:
    """The page with a layout: the menu is narrow and grey, at the left; the rest is white."""
    nodes = plain.nodes
    n = len(nodes)
    menu = np.zeros(n, np.bool_)
    row = next(i for i in range(n) if nodes.looks[nodes.look[i]][2] == "menu")
    menu[row : nodes.end[row]] = True
    zero = np.zeros(n, np.float32)
    layout = Layout(
        x=np.where(menu, 0, 200).astype(np.float32), y=np.arange(n, dtype=np.float32),
        width=np.where(menu, 200, 800).astype(np.float32), height=zero + 16, font_size=zero + 16,
        font_weight=np.full(n, 400, np.int16), color=np.full(n, 0xFF, np.uint32),
        background=np.where(menu, 0x808080FF, 0xFFFFFFFF).astype(np.uint32), picture=np.zeros(n, np.bool_),
        visible=np.ones(n, np.bool_), display=np.zeros(n, np.int8), position=np.zeros(n, np.int8),
        floating=np.zeros(n, np.bool_), page_width=1000, page_height=n + 16,
    )  # fmt: skip
    return Page(plain.url, plain.root, nodes, plain.base, layout)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [one for site in range(12) for one in labelled([page(f"s{site}.test", number) for number in range(5)])]


def test_sections_are_the_connected_sets_of_nodes_of_one_score():
    parsed = page("a.test", 0)
    nodes, y = parsed.nodes, smoothed(parsed.nodes, scores(parsed, load()))
    graph = nx.Graph((row, int(above)) for row, above in enumerate(nodes.parent) if row and y[row] == y[above])
    graph.add_nodes_from(range(len(nodes)))
    leaves = set(nodes.leaves.tolist())
    expected = [found & leaves for found in nx.connected_components(graph) if found & leaves]
    labels = labels_of(parsed, "sections")
    found = [set(np.flatnonzero(labels == number).tolist()) for number in np.unique(labels[nodes.leaves])]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    assert set(np.flatnonzero(labels < 0).tolist()) == set(range(len(nodes))) - leaves
    assert 1 < len(expected) < len(leaves)
    assert load().about == load(PAGE_LEVEL).about


def test_text_of_few_pages_is_not_template():
    pages = [page("s.test", number, "said of two fruits" if number < 2 else "") for number in range(8)]
    first = next(labelled(pages))
    strings = first.page.nodes.strings
    assert first.labels[strings.index("plums")] == TEMPLATE
    assert first.labels[strings.index("said of two fruitss")] == CONTENT


def test_sites_of_two_pages_say_nothing():
    assert not list(labelled([page("s.test", number) for number in range(2)]))


def test_a_page_of_an_unknown_site_is_cleaned_by_itself(examples):
    model, folds = train(examples)
    assert model.rendered is None
    other = page("other.test", 3)
    found = templateness(other, model)
    kept = [text for text, y in zip(other.nodes.strings, found, strict=True) if y < 0.5]
    assert kept
    assert all(text.startswith("Fruit d") for text in kept)
    for example in examples[::7]:
        nodes = example.page.nodes
        assert node_f1(example, smoothed(nodes, scores(example.page, folds[example.fold]))) == 1


def test_rendered_pages_are_judged_by_their_appearance(examples):
    seen = [Example(rendered(example.page), example.labels) for example in examples]
    model, _ = train([*examples, *seen])
    assert model.rendered is not None
    assert model.rendered.weight.shape[1] == len(NODE_FEATURES) + len(VISUAL_FEATURES)
    # Only the appearance differs here.
    plain = page("other.test", 1)
    assert (scores(plain, model) != scores(rendered(plain), model)).any()
    model, _ = train(examples)
    assert scores(rendered(plain), model).tolist() == scores(plain, model).tolist()


def test_the_rendered_form_of_a_page_has_its_labels():
    received = page("s.test", 1)
    labels = np.array([CONTENT if text.startswith("Fruit") else TEMPLATE for text in received.nodes.strings])
    added = source("s.test", 1).replace(b"</ul>", b"<li>added by a script</ul>")
    shown = replace(Page.parse(added, received.url), source=received)
    found = dict(zip(shown.nodes.strings, as_rendered(Example(received, labels), shown).labels, strict=True))
    assert found.pop("added by a script") == UNKNOWN
    assert found == dict(zip(received.nodes.strings, labels, strict=True))


def test_rendered_examples_leave_the_classifier_of_pages_as_received_alone(examples):
    seen = [Example(rendered(example.page), example.labels) for example in examples[::2]]
    mixed, _ = train([*examples, *seen])
    alone, _ = train(examples)
    assert vars(mixed.plain).keys() == vars(alone.plain).keys()
    for name, value in vars(alone.plain).items():
        assert np.array_equal(getattr(mixed.plain, name), value), name
    assert mixed.about == {"pages": len(examples), "rendered": len(seen)}


def test_visual_features():
    shown = rendered(page("s.test", 1))
    assert shown.layout is not None
    columns = dict(zip(VISUAL_FEATURES, visual_features(shown.layout).T, strict=True))
    row = next(i for i in range(len(shown.nodes)) if shown.nodes.looks[shown.nodes.look[i]][2] == "menu")
    assert columns["left"][row] == 0
    assert columns["right"][row] == pytest.approx(0.2)
    assert columns["width"][row] == pytest.approx(0.2)
    assert columns["aspect_ratio"][row] == pytest.approx(np.log(201 / 17))
    assert columns["lightness"][row] == pytest.approx(0x80 / 255)
    assert columns["lightness"][0] == pytest.approx(1)
    assert columns["other_background"][row] == 1
    assert not columns["other_background"][0]


def test_a_few_words_are_no_section():
    nodes = Page.parse(f"<div><p>{'word ' * 200}</p></div><div><p>one</p></div>".encode(), "http://h/").nodes
    x = np.zeros(len(nodes))
    for leaf in nodes.leaves:
        x[nodes.parent[leaf] : leaf + 1] = 1
    assert smoothed(nodes, x)[nodes.leaves].tolist() == [1, 0]


def test_smoothed_scores_are_monotone():
    nodes = page("s.test", 1).nodes
    y = smoothed(nodes, np.random.default_rng(0).random(len(nodes)))
    assert (y[nodes.parent[1:]] <= y[1:]).all()


def test_the_shipped_model_cleans_a_page():
    text = "The trees of this valley bear fruit twice a year, which nobody outside of it has ever believed. " * 4
    html = f"<nav>{MENU}</nav><main><h1>Valley</h1><p>{text}<p>{text}</main><footer>{FOOT}</footer>"
    one = Page.parse(html.encode(), "http://h.test/")
    gold = by_gold(one, f"Valley {text} {text}")
    found = templateness(one, load()) >= 0.5
    words = one.nodes.words
    assert words[found == (gold == TEMPLATE)].sum() > 0.9 * words.sum()


def test_a_page_without_text():
    one = Page.parse(b"<p></p>", "http://h.test/")
    assert templateness(one, load()).tolist() == []


def test_files(examples, tmp_path):
    seen = [Example(rendered(example.page), example.labels) for example in examples]
    for chosen in (examples, seen):
        model, _ = train(chosen)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
        model.save(path)
        one = rendered(page("other.test", 1))
        assert scores(one, load(str(path))) == pytest.approx(scores(one, model), rel=1e-5)
    (tmp_path / "bad.npz").write_bytes(b"no model")
    for name in ("bad.npz", "none.npz"):
        with pytest.raises(ModelError, match=name):
            load(str(tmp_path / name))


def of_another_version(path: Path) -> Path:
    """Write the shipped file as if its features had been others."""
    with files("scrapy_pagelets.papers").joinpath("page_level.npz").open("rb") as file, np.load(file) as data:
        columns = {name: data[name] for name in data.files}
    about = json.loads(columns["about"].tobytes())
    columns["about"] = np.frombuffer(json.dumps(about | {"features": about["features"][1:]}).encode(), np.uint8)
    np.savez(path, **columns)
    return path


def test_files_of_another_version_or_kind_are_refused(tmp_path):
    older = of_another_version(tmp_path / "older.npz")
    weights = files("scrapy_pagelets.papers.graph_cuts").joinpath("gcuts-inner.npz")
    model = files("scrapy_pagelets.decision").joinpath("labelled.npz")
    for path in (older, weights, model):
        with pytest.raises(ModelError, match="is not a page-level model of this version: train it again with"):
            load(str(path))


def test_one_fold_is_not_enough(examples):
    with pytest.raises(ValueError, match="more sites"):
        train(examples[:5])


def test_the_command_trains_on_folders(tmp_path):
    for site in range(8):
        folder = tmp_path / "pages" / f"s{site}.test"
        folder.mkdir(parents=True)
        for number in range(4):
            folder.joinpath(f"{number}.html").write_bytes(source(folder.name, number))
    out = tmp_path / "model.npz"
    words = ["pages", "--page-level", "--out", str(out), "--folds", str(tmp_path / "folds")]
    done = scrapy("pagelets", "train", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "32 pages of 8 sites" in done.stdout
    assert load(str(out)).about["pages"] == 32
    assert len(list((tmp_path / "folds").iterdir())) == FOLDS


def test_the_command_trains_on_rendered_pages(tmp_path):
    for site in range(8):
        folder = tmp_path / "pages" / f"s{site}.test"
        folder.mkdir(parents=True)
        folder.joinpath("one.css").write_text(".menu{position:absolute;left:900px;width:100px;top:0;background:#888}")
        for number in range(4):
            style = b"<link rel=stylesheet href=/one.css>"
            folder.joinpath(f"{number}.html").write_bytes(style + source(folder.name, number))
    out = tmp_path / "model.npz"
    done = scrapy("pagelets", "train", "pages", "--page-level", "--render", "--out", str(out), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = load(str(out))
    assert (model.about["pages"], model.about["rendered"]) == (32, 32)
    assert model.rendered is not None
    # The style sheet has moved the menu to the right: where a node begins tells something.
    assert model.rendered.weight[:, len(NODE_FEATURES) + VISUAL_FEATURES.index("left")].any()
