"""Training: labels, lexicon, trees, model files."""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from catboost import CatBoostClassifier

from benchmarks.train_roles import fit_classes
from scrapy_pagelets import Page
from scrapy_pagelets.decision.model import LABELLED, ModelError, load
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.page.roles import ROLES, role_of
from scrapy_pagelets.training.model_training import train
from scrapy_pagelets.training.training_tables import (
    CONTENT,
    TEMPLATE,
    UNKNOWN,
    Example,
    Leaves,
    by_gold,
    by_sites,
    lexicon,
)

ROOT = Path(__file__).resolve().parents[2]
MODELS = {path.stem: path for path in sorted((ROOT / "scrapy_pagelets").rglob("*.npz"))}
MENU = "<ul class=menu><li><a href=/>Home</a><li><a href=/plums>Plums</a></ul>"
BODY = MENU + "<p class=text>{}</p><div class=foot>Home</div>"


def page(site: str, name: str, text: str) -> Page:
    return Page.parse(BODY.format(text).encode(), f"http://{site}.test/{name}")


def pages(sites: int, each: int) -> list[Page]:
    return [
        page(f"s{i}", str(j), f"Plums of number {chr(97 + i)}{chr(97 + j)} taste like those of no other tree at Home")
        for i in range(sites)
        for j in range(each)
    ]


def test_a_word_of_the_menu_is_not_labelled_as_content():
    one = page("s", "a", "Plums are what we have at Home, and nothing else")
    labels = by_gold(one, "Plums are what we have at Home, and nothing else")
    assert one.nodes.strings == ["Home", "Plums", "Plums are what we have at Home, and nothing else", "Home"]
    assert labels.tolist() == [TEMPLATE, TEMPLATE, CONTENT, TEMPLATE]


def test_labels_without_people():
    examples = list(by_sites(pages(1, 5)))
    assert [e.labels.tolist() for e in examples] == [[TEMPLATE, TEMPLATE, CONTENT, TEMPLATE]] * 5
    alone = list(by_sites(pages(1, 2)))
    assert all((e.labels == UNKNOWN).all() for e in alone)


def test_the_lexicon_separates_names_of_template_and_content():
    examples = list(by_sites(pages(12, 4)))
    odds = lexicon(examples)
    values = sorted(odds.values())
    assert values[0] < 0 < values[-1]


def test_trees_in_numpy_equal_those_of_catboost():
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(400, 5)).astype(np.float32)
    columns[rng.random(columns.shape) < 0.1] = np.nan
    target = (np.nan_to_num(columns[:, 0]) + np.nan_to_num(columns[:, 1]) ** 2) > 0.7
    table = Leaves(columns, target, np.ones(400), np.zeros(400, np.int64))
    ours = table.fit(np.ones(400, np.bool_), 20)
    classifier = CatBoostClassifier(
        iterations=20, depth=6, learning_rate=0.08, border_count=48, l2_leaf_reg=5, rsm=0.4, bootstrap_type="Bernoulli",
        subsample=0.5, random_seed=0, verbose=False, allow_writing_files=False,
    )  # fmt: skip
    classifier.fit(columns, target, sample_weight=np.ones(400))
    assert ours(columns) == pytest.approx(classifier.predict(columns, prediction_type="RawFormulaVal"), abs=1e-5)


def test_training_learns_and_its_model_is_read_back(tmp_path: Path):
    examples = list(by_sites(pages(12, 5)))
    model, _, figures = train(examples, trees=10, by_people=False)
    assert figures["words, page alone"] > 0.95
    path = tmp_path / "own.npz"
    model.save(path)
    again = load(str(path))
    one = examples[0].page
    assert again.page_evidence(one).odds == pytest.approx(model.page_evidence(one).odds, abs=1e-4)
    assert Site("s", str(path)).templateness(one) == pytest.approx([1, 1, 0, 1], abs=0.3)
    assert again.lexicon == pytest.approx(model.lexicon)


def test_labels_of_one_kind_are_refused():
    examples = [Example(one, np.full(len(one.nodes.leaves), CONTENT)) for one in pages(12, 3)]
    with pytest.raises(ValueError, match="all of one kind"):
        train(examples, trees=2)


def test_one_site_is_not_enough():
    with pytest.raises(ValueError, match="more sites"):
        train(list(by_sites(pages(1, 5))), trees=2)


def test_the_shipped_model_says_how_it_was_made():
    about = load(LABELLED).about
    out = "scrapy_pagelets/decision/labelled.npz"
    assert about["command"] == f"python -m benchmarks train_roles --trees 400 --out {out} --folds .data/models"
    assert 0.8 < about["figures"]["words, page alone"] <= 1


@pytest.mark.parametrize(
    ("name", "archives"),
    [
        ("automatic", [".data/sites", ".data/sites2", ".data/content/wcxb-dev.warc"]),
        ("page_level", [".data/sites", ".data/sites2"]),
    ],
)
def test_the_shipped_models_have_learnt_from_nothing_but_what_the_docs_name(name, archives):
    """``docs/how-it-works.md`` has a table with the data and the labels of each file."""
    with np.load(MODELS[name]) as data:
        command = json.loads(data["about"].tobytes())["command"].split()
    options = [i for i, word in enumerate(command) if word.startswith("--")]
    assert command[3 : options[0]] == archives
    assert {word for word in command if word.startswith(".data")} <= {*archives, ".data/models"}
    assert not any(word.startswith(("/", "..")) for word in command)


def test_the_docs_have_a_row_for_each_shipped_model():
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    rows = [name for line in text.splitlines() if line.startswith("| `") for name in line.split("|")[1].split()]
    assert len(MODELS) >= 7
    assert [file.name for file in MODELS.values() if not any(fnmatch(file.name, row.strip("`")) for row in rows)] == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no model"])
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="train it again"):
        load(str(path))


def test_a_model_of_other_features_is_refused(tmp_path: Path):
    path = tmp_path / "old.npz"
    np.savez(path, about=np.frombuffer(b'{"version": 0}', np.uint8))
    with pytest.raises(ModelError, match="not a model of this version: train it again"):
        load(str(path))


def test_a_missing_model_is_refused():
    with pytest.raises(ModelError, match="there is no model"):
        load("nowhere.npz")


def test_ratings_of_classes_are_those_of_catboost():
    """All classes share their splits; the largest rating names the class, and no rating is that of another class."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(400, 5)).astype(np.float32)
    number = (columns[:, 0] > 0).astype(np.int64) + (columns[:, 1] > 0.5)
    ratings = fit_classes(columns, number, np.ones(400), 20)
    assert len(ratings) == 3
    assert all((one.feature == ratings[0].feature).all() for one in ratings)
    named = np.argmax([rating(columns) for rating in ratings], axis=0)
    assert (named == number).mean() > 0.95


def test_a_model_without_ratings_tells_no_roles():
    page = Page.parse(b"<p>one<p>two", "http://a/")
    values = np.array([0.0, 1.0])
    assert replace(load(LABELLED), roles=()).roles_of(page, values).tolist() == [0, 0]
    content, template = load(LABELLED).roles_of(page, values).tolist()
    assert content == 0
    assert template in range(1, len(ROLES))


@pytest.mark.parametrize(
    ("roles", "expected"),
    [([0, 0, 0], "navigation"), ([5, 5, 6], "forms"), ([1, 6, 6], "template"), ([0, 0, 1], "navigation")],
)
def test_the_role_of_a_pagelet_is_that_of_most_of_its_words(roles, expected):
    nodes = Page.parse(b"<a href=b>one</a><p><a href=c>two</a><p>three", "http://a/").nodes
    assert role_of(nodes, np.arange(3), 0.9, np.array(roles)) == expected
    assert role_of(nodes, np.arange(3), 0.1, np.array(roles)) == "content"
