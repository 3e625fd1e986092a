"""Training data and pages that are hard to decide: nothing fails, and what is surely content stays."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.training.model_training import train
from scrapy_pagelets.training.training_tables import Example, by_gold
from tests.crawling import scrapy

MENU = (
    "<nav><ul>"
    + "".join(f"<li><a href=/{one}>{one.title()}</a>" for one in "home news about contact".split())
    + "</ul></nav>"
)
FOOTER = "<footer>© Example Society, all rights reserved. <a href=/imprint>Imprint</a></footer>"
TEXT = "The river rose by two metres within a night, and the village had to be left by boat before the morning came. "


def page(url: str, main: str) -> Page:
    return Page.parse(f"<title>Example</title>{MENU}<main>{main}</main>{FOOTER}".encode(), f"http://{url}")


def content(one: Page, site: Site) -> str:
    return "\n".join(part.text for part in segment(one, site.templateness(one)) if part.role == "content")


def labelled(sites: int, pages: int, first: int = 0) -> list[Example]:
    examples = []
    for i in range(first, first + sites):
        for j in range(pages):
            text = f"Plums of number {chr(97 + i)}{chr(97 + j)} taste like those of no other tree in the garden"
            examples.append(Example(one := page(f"s{i}.test/{j}", f"<p>{text}</p>"), by_gold(one, text)))
    return examples


def test_an_empty_label_a_single_page_and_a_site_under_two_names_do_not_stop_training():
    empty = page("empty.test/", "<p>Nobody has marked anything here</p>")
    twice = [
        Example(Page.parse(_source(e.page), e.page.url.replace("s1.", "copy.")), e.labels) for e in labelled(1, 4, 1)
    ]
    examples = [*labelled(12, 4), *twice, Example(empty, by_gold(empty, "")), *labelled(1, 1, 20)]
    model, folds, figures = train(examples, trees=5)
    assert len(folds) == 6
    assert 0.5 < figures["words, page alone"] <= 1
    one = examples[0].page
    assert np.isfinite(model.page_evidence(one).in_context).all()


def _source(one: Page) -> bytes:
    return bytes(etree.tostring(one.root, method="html", encoding="utf-8"))


def test_families_are_left_out_as_a_whole():
    by_name = {Example(e.page, e.labels).fold for e in labelled(12, 1)}
    by_family = {Example(e.page, e.labels, "plums").fold for e in labelled(12, 1)}
    assert len(by_name) > 1
    assert len(by_family) == 1


@pytest.mark.parametrize("known", [0, 4])
def test_a_page_of_captions_keeps_them(known):
    figures = "".join(
        f"<figure><img src={i}.jpg><figcaption>{place} at low tide, seen from the old bridge</figcaption></figure>"
        for i, place in enumerate(("The harbour", "A boat yard", "The lighthouse", "The fish market"))
    )
    site = _site(known)
    one = page("a.test/pictures", figures)
    site.learn(one)
    text = content(one, site)
    assert "The lighthouse at low tide" in text
    assert "Imprint" not in text


@pytest.mark.parametrize("known", [0, 4])
def test_an_article_stays_although_its_comments_are_longer(known):
    comments = "".join(
        f"<div class=comment id=comment-{i}><p>Visitor {i} writes: {TEXT * 2}</p></div>" for i in range(8)
    )
    site = _site(known)
    one = page(
        "a.test/flood",
        f"<article><h1>The flood</h1><p>{TEXT * 3}</p></article><section id=comments>{comments}</section>",
    )
    site.learn(one)
    text = content(one, site)
    assert "The flood" in text
    assert text.count("The river rose") >= 3


def test_both_halves_of_a_site_in_two_languages_keep_their_content():
    german = (
        "Der Fluss stieg in einer Nacht um zwei Meter, und das Dorf musste vor dem Morgen mit Booten geräumt werden. "
    )
    pages = [
        page(f"a.test/{language}/{i}", f"<h1>{title} {chr(97 + i)}</h1><p>{text * 2} {chr(97 + i) * 7}</p>")
        for i in range(5)
        for language, title, text in (("en", "The flood of", TEXT), ("de", "Die Flut von", german))
    ]
    site = Site("a.test")
    for one in pages:
        site.learn(one)
    for one in pages:
        text = content(one, site)
        assert chr(97 + int(one.url[-1])) * 7 in text
        assert "Imprint" not in text


def test_pages_that_differ_only_in_a_number_keep_their_text():
    """All but a number is on every page: repetition alone would leave the number."""
    pages = [page(f"a.test/{i}", f"<h1>Report {i}</h1><p>{TEXT * 3}</p>") for i in range(6)]
    site = Site("a.test")
    for one in pages:
        site.learn(one)
    assert all(f"Report {i}" in content(one, site) for i, one in enumerate(pages))


def _site(known: int) -> Site:
    site = Site("a.test")
    for i in range(known):
        site.learn(page(f"a.test/{i}", f"<h1>Day {chr(97 + i)}</h1><p>On day {chr(97 + i) * 6} it rained. {TEXT}</p>"))
    return site


@pytest.mark.parametrize("families", ["[]", '{"s1.test": 1}', "no JSON"])
def test_a_file_that_names_no_families_is_refused(tmp_path, families):
    (tmp_path / "families.json").write_text(families)
    (tmp_path / "page.html").write_text("<p>text")
    answer = scrapy(
        "pagelets",
        "train",
        str(tmp_path),
        "--families",
        str(tmp_path / "families.json"),
        "--out",
        str(tmp_path / "m.npz"),
    )
    assert answer.returncode == 1
    assert "families.json: a JSON object with the name of a family for each site is needed" in answer.stderr
    assert not (tmp_path / "m.npz").exists()
