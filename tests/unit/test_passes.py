"""The passes of the decision: declared types and own tokens of a page, the context of its leaves, the cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets import Page, Site
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.decision.cut import CUT_FEATURES, CUTS, TEMPERATURE, cut_features, mean_cut, shifted
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.model import LABELLED, load, look_tokens
from scrapy_pagelets.decision.page_features import (
    CONTEXT_FEATURES,
    OWN_TOKENS,
    PAGE_FEATURES,
    context_features,
    declared,
    page_features,
)
from scrapy_pagelets.page.text import text_of
from scrapy_pagelets.training.training_tables import CONTENT, TEMPLATE, Example, own_tokens

ODDS = st.lists(st.tuples(st.floats(-9, 9), st.integers(1, 30)), min_size=1, max_size=12)


def page(body: str, head: str = "") -> Page:
    return Page.parse(f"<html><head>{head}</head><body>{body}</body></html>".encode(), "http://a.test/")


def of_leaves(leaves: list[tuple[float, int]]) -> tuple[Page, Floats]:
    """A page of one paragraph for each leaf, and the log odds of the leaves."""
    return page("".join(f"<p>{'word ' * words}" for _, words in leaves)), np.array([odds for odds, _ in leaves])


def feature(one: Page, odds: Floats, name: str) -> list[float]:
    column: list[float] = context_features(one.nodes, odds)[:, CONTEXT_FEATURES.index(name)].round(4).tolist()
    return column


# What a page says of itself


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("", (False, False, False)),
        ("<meta property=og:type content=article>", (True, False, False)),
        ("<meta property='OG:TYPE' content=' Product.item '>", (False, True, False)),
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', (True, False, False)),
        ('<script type="application/ld+json">{"@type" :"DiscussionForumPosting"</script>', (False, False, True)),
        ('<script>{"@type": "Product"}</script>', (False, False, False)),
        ("<meta property=og:type>", (False, False, False)),
    ],
)
def test_the_declared_type_of_a_page(head, found):
    assert tuple(declared(page("text", head)).values()) == found


def test_an_own_token_is_a_feature_of_all_leaves_inside_its_element():
    one = page("<p>before</p><div class='comment-list main'><p>a</p><div>b</div></div><p id=comment>c</p>")
    [token] = look_tokens(("p", "", "comment", ""))
    columns = page_features(one, {}, (7, token))
    first = PAGE_FEATURES.index("mark_0")
    assert columns[:, first + 1].tolist() == [0, 1, 1, 1]
    assert not np.delete(columns[:, first : first + OWN_TOKENS], 1, axis=1).any()


def test_names_that_mean_template_on_some_sites_only_are_own_tokens():
    """The log odds of the lexicon are near 0 for these, so that they tell nothing by themselves."""
    examples = []
    for number in range(12):
        body = f"<p class=text>The text of site {number}</p><div class=comment>An answer to it</div><p class=x>y</p>"
        labels = np.array([CONTENT, CONTENT if number % 2 else TEMPLATE, TEMPLATE])
        examples.append(Example(Page.parse(body.encode(), f"http://s{number}.test/"), labels))
    [token] = look_tokens(("p", "", "comment", ""))
    assert token in own_tokens(examples)[:2]


# Context


@settings(deadline=None, max_examples=50)
@given(ODDS)
def test_the_context_equals_its_definition(leaves):
    one, odds = of_leaves(leaves)
    odds = np.clip(odds, -8, 8)
    words = one.nodes.words.astype(np.float64) + 0.1
    mass = words * sigmoid(-odds)
    m = len(odds)
    for reach in (2, 6, 20):
        before = [_mean(odds[max(0, i - reach) : i], words[max(0, i - reach) : i]) for i in range(m)]
        after = [_mean(odds[i + 1 : i + 1 + reach], words[i + 1 : i + 1 + reach]) for i in range(m)]
        assert feature(one, odds, f"before_{reach}") == pytest.approx(before, abs=1e-3)
        assert feature(one, odds, f"after_{reach}") == pytest.approx(after, abs=1e-3)
    for bar in (0.25, 0.5, 0.75):
        gain = mass - bar * words
        best = max((gain[i:j].sum() for i in range(m) for j in range(i, m + 1)), default=0)
        inside = np.array(feature(one, odds, f"run_{bar}_in"), np.bool_)
        assert gain[inside].sum() == pytest.approx(max(best, 0), abs=1e-6)
    assert feature(one, odds, "context_mean") == pytest.approx(
        [float(mass @ sigmoid(-odds) / mass.sum())] * m, abs=1e-3
    )
    order = np.argsort(odds, kind="stable")
    kept = np.cumsum(words[order]) / words.sum()
    assert np.array(feature(one, odds, "context_kept"))[order] == pytest.approx(kept, abs=1e-3)


def _mean(odds: Floats, words: Floats) -> float:
    return float(np.average(odds, weights=words)) if len(odds) else 0.0


def test_a_section_is_the_text_under_a_heading():
    one = page("<p>before<h2>one</h2><p>a b c<p><a href=x>d</a><h3>two</h3><p>e")
    odds = np.array([1.0, -2, -4, 4, 0, 3])
    assert one.nodes.strings == ["before", "one", "a b c", "d", "two", "e"]
    mean = (3.1 * -4 + 1.1 * 4) / 4.2
    assert feature(one, odds, "section_mean") == pytest.approx([1, mean, mean, mean, 3, 3], abs=1e-3)
    assert feature(one, odds, "section_heading") == [0, -2, -2, -2, 0, 0]
    assert feature(one, odds, "section_level") == [0, 2, 2, 2, 3, 3]
    assert feature(one, odds, "section_before") == pytest.approx([0, 1, 1, 1, mean, mean], abs=1e-3)
    assert feature(one, odds, "section_after") == pytest.approx([mean, 3, 3, 3, 0, 0], abs=1e-3)


def test_siblings_and_records():
    one = page("<ul><li><b>a</b> x<li><b>b</b> x<li><b>c</b> x</ul><p>p")
    odds = np.array([1.0, 1, 2, 2, 3, 3, -5])
    assert feature(one, odds, "sibling_before_0") == pytest.approx([0, 0, 1, 1, 2, 2, 0], abs=1e-3)
    assert feature(one, odds, "sibling_after_0")[:6] == pytest.approx([2, 2, 3, 3, 0, 0], abs=1e-3)
    assert feature(one, odds, "after_h1") == [-20] * 7


def test_a_page_without_text_has_no_context():
    assert context_features(page("").nodes, np.zeros(0)).shape == (0, len(CONTEXT_FEATURES))


# The cut


@settings(deadline=None, max_examples=50)
@given(ODDS, st.integers(0, 50), st.floats(-1, 1), st.floats(0, 1))
def test_a_stricter_cut_keeps_less_and_the_likeliest_leaf_stays(leaves, others, strict, more):
    one, odds = of_leaves(leaves)
    rating = load(LABELLED).cut
    kept = shifted(rating, one.nodes, odds, others, strict) < 0
    fewer = shifted(rating, one.nodes, odds, others, min(1.0, strict + more)) < 0
    assert not (fewer & ~kept).any()
    assert odds[kept].max(initial=-np.inf) < odds[~kept].min(initial=np.inf)
    assert kept[odds.argmin()] == (odds.min() < 3.9)


@settings(deadline=None, max_examples=50)
@given(ODDS, st.integers(0, 50))
def test_the_features_of_a_cut_are_finite(leaves, others):
    one, odds = of_leaves(leaves)
    columns = cut_features(one.nodes, odds, others)
    assert columns.shape == (len(CUTS), len(CUT_FEATURES))
    assert np.isfinite(columns).all()
    total = one.nodes.words + 0.1
    kept = [total[odds < cut].sum() / total.sum() for cut in CUTS]
    assert columns[:, CUT_FEATURES.index("cut_kept")] == pytest.approx(np.maximum(kept, 0.1 / total.sum()), abs=1e-4)


def rated(values: Floats) -> Trees:
    """A rating of one tree that compares the cut itself: it gives each cut its value."""
    borders = (CUTS[:-1] + CUTS[1:]) / 2
    return Trees(
        np.full((len(borders), 1), CUT_FEATURES.index("cut_cut")),
        borders[:, None].astype("f"),
        np.column_stack([np.zeros(len(borders)), np.diff(values)]).astype("f"),
        float(values[0]),
    )


@pytest.mark.parametrize("wanted", [0, 7, 15])
def test_a_cut_that_is_rated_far_above_all_others_is_taken(wanted):
    one, odds = of_leaves([(0, 3)])
    ratings = rated(np.where(np.arange(len(CUTS)) == wanted, 0.0, -2.0))(cut_features(one.nodes, odds, 0))
    assert mean_cut(ratings, TEMPERATURE) == pytest.approx(CUTS[wanted], abs=1e-3)


def test_the_cut_is_between_two_that_are_as_good():
    one, odds = of_leaves([(0, 3)])
    values = np.full(len(CUTS), -2.0)
    values[[3, 12]] = 0  # -2 and 0.5
    assert mean_cut(rated(values)(cut_features(one.nodes, odds, 0)), TEMPERATURE) == pytest.approx(-0.75, abs=1e-3)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-0.3, 0), min_size=len(CUTS), max_size=len(CUTS)), st.data())
def test_a_small_change_of_the_ratings_moves_the_cut_a_little(values, data):
    """A rating that is up to 0.001 off moves no weight by more than a fifteenth, whatever cuts are as good."""
    off = data.draw(st.lists(st.floats(-1e-3, 1e-3), min_size=len(CUTS), max_size=len(CUTS)))
    one, odds = of_leaves([(0, 3)])
    columns = cut_features(one.nodes, odds, 0)
    before = mean_cut(rated(np.array(values))(columns), TEMPERATURE)
    after = mean_cut(rated(np.array(values) + off)(columns), TEMPERATURE)
    assert CUTS[0] <= before <= CUTS[-1]
    assert abs(after - before) < 0.2


def test_a_page_without_text_has_no_cut():
    assert shifted(load(LABELLED).cut, page("").nodes, np.zeros(0), 0).shape == (0,)


def article(number: int, head: str) -> bytes:
    """A story with other stories below it, which are in doubt."""
    told = "met again, and what they said was written down by the clerk, who kept all of it."
    story = "".join(
        f"<p>{word} came rain. In {number + 1900} the people {told}</p>" for word in ("Soon", "Then", "Once")
    )
    others = "".join(
        f"<li><a href=/{number}{name}>Teaser {name} number {number * 7 + place} of another story</a>"
        f"<p>{name} words that say a little of what story {number * 5 + place} tells its readers.</p></li>"
        for place, name in enumerate(("River", "Mountain", "Harbour", "Council"))
    )
    menu = "<div class=nav><a href=/>Home</a> <a href=/a>News</a> <a href=/b>Sport</a></div>"
    main = f"<h1>Story {number} of the town</h1>{story}<div class=more><h3>More stories</h3><ul>{others}</ul></div>"
    return f"<title>Story {number} - The Paper</title>{head}{menu}<div class=main>{main}</div><p>The Paper".encode()


def test_the_cut_of_an_article_that_says_so_is_stricter():
    kept = []
    for head in (
        "",
        "<meta property=article:published_time content=2024-05-01>",
        "<meta property=og:type content=article>",
    ):
        site, pages = Site("paper.test"), [Page.parse(article(n, head), f"http://paper.test/{n}") for n in range(1, 5)]
        for one in pages:
            site.learn(one)
        kept.append(text_of(pages[0].nodes, decided(pages[0], site).content.nonzero()[0]))
    assert ["who kept all of it" in text for text in kept] == [True, True, True]
    assert ["River words" in text for text in kept] == [True, False, False]


@pytest.mark.parametrize(("address", "is_same"), [("bugs/?{}", True), ("bugles/?{}", False)])
def test_a_page_of_a_tracker_is_no_article_though_it_tells_its_date(address, is_same):
    kept = []
    for head in ("", "<meta property=article:published_time content=2024-05-01>"):
        site = Site("paper.test")
        pages = [Page.parse(article(n, head), f"http://paper.test/{address.format(n)}") for n in range(1, 5)]
        for one in pages:
            site.learn(one)
        kept.append(decided(pages[0], site).content.tolist())
    assert (kept[0] == kept[1]) == is_same
