"""Synthetic sites: their evidence about a page is evidence that real pages of a site could give."""

from __future__ import annotations

import numpy as np
import pytest

from scrapy_pagelets import Page
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.page_features import PAGE_FEATURES, SHARED_FEATURES, SITE_FEATURES
from scrapy_pagelets.evidence.evidence import CLASSIFIERS
from scrapy_pagelets.training.model_training import Material
from scrapy_pagelets.training.synthetic_sites import evidence
from scrapy_pagelets.training.training_tables import CONTENT, TEMPLATE, Example

MENU = "".join(f"<li><a href=/{name}>{name.title()}</a>" for name in "home plums pears quinces cherries".split())
PROSE = "".join(
    f"<p>Of the {name} there is more to be said than of all other trees</p>" for name in "root leaf bark".split()
)
HTML = (
    f"<body><ul class=menu>{MENU}</ul><div class=text>{PROSE}</div><div class=foot>All rights are reserved here</div>"
)


def example(site: str = "orchard", html: str = HTML) -> Example:
    page = Page.parse(html.encode(), f"http://{site}.test/plums")
    return Example(page, np.array([CONTENT if text.startswith("Of the") else TEMPLATE for text in page.nodes.strings]))


def said(one: Example, others: int, seed: int) -> dict[str, Floats]:
    odds = np.zeros((len(one.page.nodes), CLASSIFIERS))
    family, columns = evidence(one, odds, others, np.random.default_rng(seed))
    assert family <= others
    assert columns.shape == (len(one.labels), len(SITE_FEATURES))
    return dict(zip(SITE_FEATURES, columns.T.astype(np.float64), strict=True))


@pytest.fixture(scope="module")
def sites() -> list[dict[str, Floats]]:
    return [said(example(), 8, seed) for seed in range(60)]


def test_template_comes_back_and_content_does_not(sites: list[dict[str, Floats]]):
    content = example().labels == CONTENT
    for name in ("site_text", "site_placed", "site_path"):
        mean = np.mean([one[name] for one in sites], axis=0)
        assert mean[~content].min() > mean[content].max()
    text = np.mean([one["site_text"] for one in sites], axis=0)
    assert text[content].max() < 0.1


def test_some_sites_have_a_template_that_changes(sites: list[dict[str, Floats]]):
    menu = np.array([one["site_text"][0] for one in sites])
    assert (menu == 1).any()
    assert (menu < 0.5).any()
    assert (menu > 0).sum() > len(menu) / 2


def test_shares_are_those_of_one_set_of_pages(sites: list[dict[str, Floats]]):
    families = [one for one in sites if one["site_pages"].any()]
    assert len(families) > len(sites) / 2
    for one in families:
        for name in ("site_text", "site_placed", "site_path", "site_target"):
            assert one[name].min() >= 0
            assert one[name].max() <= 1
        assert (one["site_placed"] <= one["site_text"]).all()
        # A class with texts of its own is compared with its own pages only.
        alone = np.array_equal(one["site_pages"], one["site_class_pages"])
        if not alone:
            assert one["site_pages"] == pytest.approx(np.log1p(8))
            assert (one["site_placed"] <= one["site_path"]).all()
        assert (one["site_class_pages"] <= one["site_pages"]).all()


def test_one_seed_is_one_site():
    one, again = (said(example(), 3, 7) for _ in range(2))
    assert all(np.array_equal(one[name], again[name], equal_nan=True) for name in SITE_FEATURES)


@pytest.mark.parametrize("html", ["<p>Of the plums", "<a href=/x>Plums</a>", "<p>Of the <a href=/x><img></a> plums"])
def test_small_pages_have_sites_too(html: str):
    one = example(html=html)
    for others in (1, 5):
        assert said(one, others, 0)["site_pages"] == pytest.approx(np.log1p(others))


def test_sites_of_few_pages_are_learnt_from_as_imagined_ones():
    lonely = [example(f"s{i}") for i in range(12)]
    known = Material.of(lonely, trees=5).known
    found = {part.example.site for part in known}  # none of one whose imagined pages share nothing with it
    assert len(known) == len(found) > len(lonely) / 2
    assert found <= {one.site for one in lonely}
    assert all(part.others > 0 for part in known)
    assert all(0 < part.weight < 1 for part in known)
    shapes = {part.columns.shape for part in known}
    assert shapes == {(len(lonely[0].labels), len(PAGE_FEATURES[SHARED_FEATURES]) + 1 + len(SITE_FEATURES))}
    with pytest.raises(ValueError, match="two pages of one site"):
        Material.of(lonely, trees=5, by_people=False)
