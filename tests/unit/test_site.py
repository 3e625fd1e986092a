"""What is learnt from the pages of a site, and the evidence that it gives about a page."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.evidence.evidence import CLASSIFIERS, Counts, Fragments, LossyCounter, SiteEvidence, keys_of
from scrapy_pagelets.evidence.site_counts import outline, same_class

FOLDER = Path(__file__).parents[1] / "site"
MENU = "<nav><ul><li><a href=/>Home</a><li><a href=/a>Apples</a><li><a href=/b>Pears</a></ul></nav>"
FOOT = "<footer>Copyright by the orchard, all rights reserved</footer>"


def page(name: str, body: str) -> Page:
    return Page.parse(body.encode(), f"http://orchard.test/{name}")


def article(name: str) -> Page:
    text = (
        f"<h1>All about {name}</h1><p>Of {name} there is much to be said, and this is the {name} of it, in a sentence."
    )
    return page(name, f"<html><body>{MENU}<main>{text}</main>{FOOT}</body></html>")


def text_of(page: Page, site: Site) -> str:
    return "\n".join(p.text for p in segment(page, site.templateness(page)) if p.role == "content")


@pytest.fixture(scope="module")
def bundled() -> list[Page]:
    files = sorted(FOLDER.rglob("*.html"))
    return [Page.parse(file.read_bytes(), f"http://tomcat.test/{file.relative_to(FOLDER)}") for file in files]


def test_template_goes_and_content_stays():
    site = Site("orchard.test")
    pages = [article(name) for name in ("cherries", "plums", "quinces", "medlars")]
    for known in pages:
        site.learn(known)
    for one in pages:
        text = text_of(one, site)
        assert "there is much to be said" in text
        assert "Home" not in text
        assert "Copyright" not in text


def test_a_page_counts_once():
    site = Site("orchard.test")
    first = article("plums")
    assert site.learn(first) is site.learn(article("plums"))
    assert site.pages == 1
    assert site.classes[0].pages == 1


#: Sums of log odds depend on the order in their last digits, which may take a tree to another branch.
_BRANCH = 0.02


def test_the_order_of_pages_does_not_matter(bundled: list[Page]):
    forward, backward = Site("tomcat.test"), Site("tomcat.test")
    for one in bundled:
        forward.learn(one)
    for one in reversed(bundled):
        backward.learn(one)
    for one in bundled[::7]:
        assert forward.templateness(one) == pytest.approx(backward.templateness(one), abs=_BRANCH)


def test_threads_may_share_a_site(bundled: list[Page]):
    alone, shared = Site("tomcat.test"), Site("tomcat.test")
    for one in bundled:
        alone.learn(one)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(shared.learn, bundled * 2))
    assert shared.pages == len(bundled)
    assert shared.templateness(bundled[3]) == pytest.approx(alone.templateness(bundled[3]), abs=_BRANCH)


@pytest.mark.parametrize("body", ["", "<html></html>", "<p>one", "\x00", "<table><tr><td></table>"])
def test_pages_of_next_to_nothing(body: str):
    site = Site("orchard.test")
    for name in ("a", "b", "c"):
        one = page(name, body)
        site.learn(one)
        weights = site.templateness(one)
        assert weights.shape == one.nodes.leaves.shape
        assert np.all((weights >= 0) & (weights <= 1))


def test_a_single_page_is_not_lost():
    site = Site("orchard.test")
    only = article("plums")
    site.learn(only)
    assert "there is much to be said" in text_of(only, site)


def counted(pages: list[Page], odds: np.ndarray) -> Counts:
    """Counts of pages of one class, all nodes of a page with the same log odds."""
    counts = Counts()
    for one, value in zip(pages, odds, strict=True):
        counts.add(Fragments.of(one.nodes, keys_of(one), np.full((len(one.nodes), CLASSIFIERS), value)), 0)
    return counts


def evidence(counts: Counts, one: Page) -> SiteEvidence:
    odds = np.zeros((len(one.nodes), CLASSIFIERS))
    return counts.evidence(one.nodes, keys_of(one), odds, 0, counts.pages, True)


def test_classes_of_pages_are_told_apart():
    site = Site("orchard.test")
    rows = "".join(f"<tr><td><a href=/{i}>No. {i}</a></td></tr>" for i in range(9))
    listing = page("list", f"<body><center><table class=list>{rows}</table></center></body>")
    assert site.learn(article("plums")).id == "orchard.test#1"
    assert site.page_class(listing) is None
    assert site.learn(listing).id == "orchard.test#2"
    assert same_class(outline(article("pears").nodes), outline(article("plums").nodes))
    assert not same_class(outline(listing.nodes), outline(article("plums").nodes))


def test_no_more_classes_than_bounded():
    site = Site("orchard.test")
    for i in range(30):
        site.learn(
            page(str(i), f"<body><div class='look{chr(97 + i)}'><p class='p{chr(97 + i)}'>text {i}</p></div>" * 3)
        )
    assert len(site.classes) == 8
    assert site.pages == 30


def texts_of(one: Page) -> list[str]:
    return [" ".join(text.casefold().split()) for text in one.nodes.strings]


def test_shares_are_those_of_the_other_pages(bundled: list[Page]):
    counts = counted(bundled, np.zeros(len(bundled)))
    texts = Counter(text for one in bundled for text in set(texts_of(one)))
    for one in bundled[:5]:
        brute = [(texts[text] - 1) / (len(bundled) - 1) for text in texts_of(one)]
        assert evidence(counts, one).text == pytest.approx(brute)


def test_odds_of_the_same_place_leave_out_the_page_itself(bundled: list[Page]):
    rest = evidence(counted(bundled[:3], np.arange(3.0)), bundled[0])
    assert rest.odds[0] == pytest.approx([1.5, 1.5])  # the root: the mean of 1 and 2
    assert np.nanmin(rest.odds) >= 1
    assert rest.shape_odds[0] == pytest.approx([1.5, 1.5])


def test_shares_of_a_class_are_of_its_pages_alone(bundled: list[Page]):
    counts = Counts()
    for number, one in enumerate(bundled[:10]):
        fragments = Fragments.of(one.nodes, keys_of(one), np.zeros((len(one.nodes), CLASSIFIERS)))
        counts.add(fragments, number % 2)
    texts = Counter(text for one in bundled[:10:2] for text in set(texts_of(one)))
    first = bundled[0]
    brute = [(texts[text] - 1) / 4 for text in texts_of(first)]
    seen = counts.evidence(first.nodes, keys_of(first), np.zeros((len(first.nodes), CLASSIFIERS)), 0, 5, True)
    assert seen.class_text == pytest.approx(brute)


def test_a_slot_of_numbers_is_told_from_a_text_that_repeats():
    """The place is the same, whatever the digits are; how often two texts differ is told by the variance of numbers."""
    rows = ("Price", "{} EUR", "Volume {}", "Sold out")
    pages = [
        page(f"p{i}", "<body>" + "".join(f"<p class=c{n}>{row.format(100 + i * 7)}" for n, row in enumerate(rows)))
        for i in range(40)
    ]
    seen = evidence(counted(pages, np.zeros(len(pages))), pages[3])
    assert seen.text == pytest.approx([1, 0, 0, 1])
    assert seen.placed == pytest.approx([1, 1, 1, 1])
    assert seen.values[[0, 3]] == pytest.approx([0, 0], abs=1e-6)
    assert (seen.values[[1, 2]] > 0.7).all()


@pytest.mark.parametrize("heading", ["Chapter {}", "Version 3.{}.0", "{}"])
def test_a_heading_that_differs_in_its_number_only_is_the_pages_own(heading):
    site = Site("orchard.test")
    pages = [
        page(f"c{i}", f"<title>{one} - The book</title><body>{MENU}<h1>{one}</h1><p>Of {i} trees.<p>{FOOT}")
        for i in range(3, 13)
        for one in [heading.format(i)]
    ]
    for one in pages:
        site.learn(one)
    for number, one in enumerate(pages, 3):
        found = decided(one, site)
        assert found.headline is not None
        assert found.headline.text == heading.format(number)


def test_words_are_fresh_where_no_page_before_had_them():
    counts = counted([article("plums"), article("pears"), article("quinces")], np.zeros(3))
    one = article("plums")
    seen = evidence(counts, one)
    changes = seen.variants > 1 / 2
    assert changes.any()
    assert not changes.all()
    rows = one.nodes.leaves
    assert (seen.fresh[rows[changes]] == 1).all()
    assert seen.fresh[rows[~changes]] == pytest.approx(1 / 3)  # new on the first page only


@given(st.lists(st.sets(st.integers(-5, 30), max_size=12), max_size=25))
def test_a_table_sums_by_key(batches: list[set[int]]):
    table, sums = LossyCounter(2), Counter[int]()
    for number, batch in enumerate(batches):
        keys = np.array(sorted(batch), np.int64)
        table.add(keys, np.array([1, number]))
        sums.update(dict.fromkeys(batch, number))
    keys, rows = table.items()
    pages = Counter(key for batch in batches for key in batch)
    assert dict(zip(keys.tolist(), rows[:, 0].tolist(), strict=True)) == pages
    assert table[np.arange(-5, 31)][:, 1].tolist() == [sums[key] for key in range(-5, 31)]
    assert table.has(np.arange(-5, 31)).tolist() == [key in pages for key in range(-5, 31)]


def test_tables_are_bounded():
    table = LossyCounter(1, capacity=10)
    for _ in range(4):
        table.add(np.arange(8), np.ones(1))
    table.add(np.arange(100, 150), np.ones(1))
    assert sorted(table.items()[0].tolist()) == list(range(8))
    assert table[np.arange(7, 9)].tolist() == [[4], [0]]
    even = LossyCounter(1, capacity=10)
    even.add(np.arange(40), np.full(1, 6))
    assert len(even) <= 10


def test_a_giant_page_does_not_drive_out_what_is_known(bundled: list[Page]):
    site = Site("tomcat.test")
    for one in bundled:
        site.learn(one)
    before = site.templateness(bundled[0])
    giant = "".join(f"<p class=c{i}>item{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{i}" for i in range(40_000))
    site.learn(Page.parse(f"<body>{giant}".encode(), "http://tomcat.test/giant"))
    after = site.templateness(bundled[0])
    assert np.mean((before >= 0.5) == (after >= 0.5)) > 0.98


def blog(name: str, number: int) -> Page:
    """A page of one of the sites of a host: its look and its words are its own, but two entries of its menu."""
    tags = "section div article main aside p".split()
    block = tags[ord(name) % len(tags)]
    menu = "".join(f"<{block}><a href=/~{name}/{i}>{text}</a></{block}>" for i, text in enumerate(
        ("Home", "About", *(f"{name}{letter * 3} of {name}{name}" for letter in "vwxyz"))
    ))  # fmt: skip
    words = " ".join(f"{name}{chr(97 + number)}{one}{other}" for one in "abcdefg" for other in "hijklm")
    html = f"<body class={name * 3}><div class={name * 4}>{menu}</div><{block} class={name * 5}>{words}.</{block}>"
    return Page.parse(html.encode(), f"http://host.example/~{name}/{number}")


@pytest.mark.parametrize("number", [1, 5])
@pytest.mark.parametrize("names", ["abcdef", "abcdefghijklmnop"])
def test_sites_of_one_host_do_not_witness_against_each_other(names, number):
    pages = {name: [blog(name, i) for i in range(number)] for name in names}
    together = Site("host.example")
    for page in chain.from_iterable(pages.values()):
        together.learn(page)
    for name, group in pages.items():
        alone = Site(name)
        for page in group:
            alone.learn(page)
        for page in group:
            found, expected = together.templateness(page), alone.templateness(page)
            assert ((found >= 0.5) == (expected >= 0.5)).all()
            assert number > 1 or found.tolist() == expected.tolist()


def test_the_pages_with_a_place_are_those_with_any_text_there_but_the_page_itself():
    texts = ["<b>Size</b><b>3 cm</b>", "<b>Weight</b>", "<b>Size</b>"]
    pages = [Page.parse(f"<p>{text}".encode(), f"http://a.test/{n}") for n, text in enumerate(texts)]
    site = Site("a.test")
    for page in pages:
        site.learn(page)
    assert site.pages_with_place(pages[0]).tolist() == [2, 0]
    assert site.pages_with_text(pages[0]).tolist() == [1, 0]
