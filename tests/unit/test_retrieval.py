"""Formulas, ranking and feedback, compared with numbers worked out by hand, plain dictionaries and each other."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_pagelets.base.errors import QueryError
from scrapy_pagelets.index.interface import now, page_of, terms
from scrapy_pagelets.index.sqlite import SQLiteIndex
from scrapy_pagelets.retrieval.collection import Size, cut_blocks, cut_pagelets, cut_whole
from scrapy_pagelets.retrieval.feedback import Feedback, best_segments, by_model, by_segments
from scrapy_pagelets.retrieval.ranking import Bm2500, expanded, rank, relevance_weight
from scrapy_pagelets.retrieval.search import FEEDBACK, highlighted, query_of, search
from scrapy_pagelets.retrieval.stored import stored
from tests.oracles.memory_collection import MemoryCollection

STRICT, PLUS = Bm2500(), Bm2500(plus=True)

BELL = [
    *("bell bell telephone patent", "bell telephone", "bell path gorman path", "telephone wire", "menu login about us"),
    *("menu login about us now", "sea", "sea sea boat wave", "a b c d e f g h", "i j k l m"),
]

words = st.sampled_from("alpha beta gamma delta eps Straße 東京 x1".split())
texts = st.lists(words, max_size=6).map(" ".join)
collections = st.lists(st.lists(texts, max_size=3), min_size=1, max_size=5)
titles = st.lists(texts, max_size=3)
queries = st.lists(words, min_size=1, max_size=4).map(" ".join)


def given_few(*strategies):
    """Like ``given``, with few examples and no deadline: each example makes collections or a file."""

    def decorated(test):
        quiet = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        return quiet(given(*strategies)(test))

    return decorated


def memory(*pages):
    return MemoryCollection([[page] if isinstance(page, str) else page for page in pages])


def file_of(pages, path, titles=()):
    """Write the pages to an index file."""
    with SQLiteIndex(path) as index:
        titled = zip(pages, chain(titles, repeat("")), strict=False)
        lines = [line(number, page) | {"title": title} for number, (page, title) in enumerate(titled)]
        index.upsert([page_of(record, now()) for record in lines])
    return str(path)


def line(number, segments, role="content"):
    pagelets = [
        {"id": k, "role": role, "templateness": 0.1, "text": text, "words": len(text.split())}
        for k, text in enumerate(segments)
    ]
    return {"url": f"http://example.com/{number}", "pagelets": pagelets}


# The formulas


def test_weights_by_hand():
    # (3) with R = r = 0: N = 10, n = 3: (10 - 3 + 0.5) / (3 + 0.5) = 7.5 / 3.5
    assert relevance_weight(3, 10) == pytest.approx(math.log(7.5 / 3.5))
    # N = 10, n = 3, R = 4, r = 2: (2.5 / 2.5) / (1.5 / (10 - 3 - 4 + 2 + 0.5)) = 5.5 / 1.5
    assert relevance_weight(3, 10, r=2, relevant=4) == pytest.approx(math.log(5.5 / 1.5))
    assert relevance_weight(3, 10, r=2, relevant=4, plus=True) == pytest.approx(math.log(1 + 5.5 / 1.5))
    # Negative differences of counts of segments and pages count as 0: (4.5 / 0.5) / (0.5 / 0.5)
    assert relevance_weight(2, 5, r=4, relevant=4) == pytest.approx(math.log(9 / (0.5 / 3.5)))
    assert relevance_weight(5, 5, r=4, relevant=9) == pytest.approx(math.log((4.5 / 5.5) / (1.5 / 0.5)))


def test_bm2500_by_hand():
    # (4): K = 1.2 * (0.25 + 0.75 * 6 / 4) = 1.65; (2): 2.2 * 3 / (1.65 + 3) * 1001 * 2 / (1000 + 2)
    assert STRICT.score(3, 6, 4, 2) == pytest.approx(2.2 * 3 / 4.65 * 2002 / 1002)
    assert STRICT.score(0, 6, 4, 2) == 0
    assert Bm2500(k1=0).score([0, 1, 9], 6, 4).tolist() == [0, 1, 1]


def test_final_weights_by_hand():
    weights = expanded({"bell": 2, "patent": 1}, [f"t{i}" for i in range(10)])
    assert weights["bell"] == 4
    assert [round(weights[f"t{i}"], 9) for i in range(10)] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]


@given_few(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_weights_are_finite_and_fall_with_n(n, r, documents, relevant):
    r = min(r, relevant)
    weights = relevance_weight([n, n + 1], documents, r, relevant)
    assert np.isfinite(weights).all()
    assert weights[1] <= weights[0] + 1e-12


# Ranking


def plain(pages, query, formula, titles=(), weight=1.0):
    """BM2500 of documents, by plain loops."""
    heads = [Counter(terms(title)) for _, title in zip(pages, chain(titles, repeat("")), strict=False)]
    documents = [Counter(terms(" ".join(page))) + head for page, head in zip(pages, heads, strict=True)]
    average = sum(map(Counter.total, documents)) / len(documents)
    scores: dict[int, float] = {}
    for number, tf in enumerate(documents):
        for term, qtf in query.items():
            if tf[term]:
                n = sum(term in other for other in documents)
                rarity = math.log((len(documents) - n + 0.5) / (n + 0.5) + formula.plus)
                k = formula.k1 * (1 - formula.b + formula.b * tf.total() / average)
                often = tf[term] + (weight - 1) * heads[number][term]
                part = rarity * (formula.k1 + 1) * often / (k + often) * (formula.k3 + 1) * qtf / (formula.k3 + qtf)
                scores[number] = scores.get(number, 0.0) + part
    return scores


@given_few(
    collections, titles, queries, st.sampled_from([STRICT, PLUS, Bm2500(k1=2, k3=7, b=0.3)]), st.sampled_from([1, 4.5])
)
def test_pages_are_ranked_by_bm2500(pages, titles, query, formula, weight):
    asked, _ = query_of(query)
    ranking = rank(MemoryCollection(pages, titles), asked, formula, title=weight)
    assert dict(zip(ranking.page.tolist(), ranking.score.tolist(), strict=True)) == pytest.approx(
        plain(pages, asked, formula, titles, weight)
    )
    assert (np.diff(ranking.score) <= 0).all()


@given_few(collections, queries)
def test_pagelets_are_ranked_by_bm2500(pages, query):
    asked, _ = query_of(query)
    ranking = rank(MemoryCollection(pages), asked, PLUS, passages=np.inf)
    owner = [number for number, page in enumerate(pages) for _ in page]
    of_segments = plain([[text] for text in chain.from_iterable(pages)] or [[]], asked, PLUS) if owner else {}
    best: dict[int, float] = {}
    for segment, score in of_segments.items():
        best[owner[segment]] = max(score, best.get(owner[segment], -math.inf))
    assert dict(zip(ranking.page.tolist(), ranking.score.tolist(), strict=True)) == pytest.approx(best)
    for page, segment in zip(ranking.page, ranking.segment, strict=True):
        assert owner[segment] == page
        assert of_segments[segment] == pytest.approx(best[page])


def test_pages_and_passages_add_up():
    collection = memory(["bell", "sea " * 20], ["bell bell " + "sea " * 19])
    alone = rank(collection, {"bell": 1.0}, PLUS)
    both = rank(collection, {"bell": 1.0}, PLUS, passages=2.0)
    best = rank(collection, {"bell": 1.0}, PLUS, passages=np.inf)
    assert alone.page.tolist() == [1, 0]
    assert best.page.tolist() == both.page.tolist() == [0, 1]
    scores = [dict(zip(ranking.page.tolist(), ranking.score, strict=True)) for ranking in (alone, best, both)]
    assert scores[2] == pytest.approx({page: scores[0][page] + 2 * scores[1][page] for page in (0, 1)})


def test_equal_scores_keep_the_order_of_pages():
    assert rank(memory("bell", "sea", "bell", "bell"), {"bell": 1.0}, PLUS).page.tolist() == [0, 2, 3]


# Feedback


def test_feedback_by_hand():
    collection = memory(*BELL)
    first = rank(collection, {"bell": 1.0}, STRICT)
    assert sorted(first.page.tolist()) == [0, 1, 2]
    weights = by_segments(collection, {"bell": 1.0}, first, STRICT, Feedback(cut_whole, terms=3))
    # R = 3, N = 10. telephone: n = 3, r = 2, log((2.5 / 1.5) / (1.5 / 6.5)) * 2 / 3 = 1.318;
    # gorman, patent, path: n = r = 1, log((1.5 / 2.5) / (0.5 / 7.5)) / 3 = 0.732, in alphabetical order
    assert list(weights.items()) == [("bell", 2), ("telephone", 1), ("gorman", 1 - 1 / 3), ("patent", 1 - 2 / 3)]


def test_segments_leave_out_what_stands_beside_them():
    """The paper's query 15: a footer that pages share is not part of the best segment."""
    pages = [["bell invents the telephone", f"iath server gorman {n}"] for n in range(4)]
    pages += [[f"page {n}", f"other text {n}"] for n in range(30)]
    collection = MemoryCollection(pages)
    first = rank(collection, {"bell": 1.0}, STRICT)
    by_pages = by_segments(collection, {"bell": 1.0}, first, STRICT, Feedback(cut_whole, pages=10, selected=10))
    by_pagelets = by_segments(collection, {"bell": 1.0}, first, STRICT, Feedback(cut_pagelets))
    assert {"iath", "gorman"} <= set(by_pages)
    assert {"iath", "gorman"}.isdisjoint(by_pagelets)
    assert "telephone" in by_pagelets


def test_terms_on_most_pages_are_not_added():
    collection = MemoryCollection([["bell the telephone"], ["bell the wire"], ["the sea"], ["a boat"], ["a wave"]])
    first = rank(collection, {"bell": 1.0}, STRICT)
    assert "the" not in by_segments(collection, {"bell": 1.0}, first, STRICT, Feedback(cut_whole))
    assert "the" in by_segments(collection, {"bell": 1.0}, first, STRICT, Feedback(cut_whole, common=1.0))


def test_terms_stay_when_the_collection_is_doubled():
    pages = [[text] for text in BELL]
    expansions = []
    for times in (1, 2):
        collection = MemoryCollection(pages * times)
        first = rank(collection, {"bell": 1.0}, STRICT)
        expansions.append(
            by_segments(collection, {"bell": 1.0}, first, STRICT, Feedback(cut_whole, terms=4, selected=20 * times))
        )
    assert expansions[0] == expansions[1]


def test_short_segments_do_not_win_by_their_length_alone():
    collection = memory(["bell", "bell bell bell telephone patent wire", "sea " * 200], ["boat"], ["wave"])
    first = rank(collection, {"bell": 1.0}, PLUS)
    best, _ = best_segments(collection, {"bell": 1.0}, first, PLUS, Feedback(selected=1))
    assert best.counts.sum() == 6


def test_rm3_is_that_of_a_plain_dictionary():
    collection, asked = memory(*BELL), {"bell": 1.0, "telephone": 1.0}
    first = rank(collection, asked, PLUS)
    mixture = by_model(collection, asked, first, PLUS, Feedback(cut_whole, pages=2, selected=2, terms=4))
    scores = plain([[text] for text in BELL], asked, PLUS)
    top = sorted(scores, key=lambda page: -scores[page])[:2]
    # The average length is that of the two candidates, not that of all pages.
    average = sum(len(BELL[page].split()) for page in top) / 2
    weight = {}
    for page in top:
        tf = Counter(BELL[page].split())
        weight[page] = sum(
            math.log(1 + (10 - n + 0.5) / (n + 0.5))
            * 2.2
            * tf[term]
            / (tf[term] + 1.2 * (0.25 + 0.75 * tf.total() / average))
            for term in asked
            if tf[term]
            for n in [sum(term in text.split() for text in BELL)]
        )
    model: dict[str, float] = defaultdict(float)
    for page in top:
        for term in BELL[page].split():
            model[term] += weight[page] / len(BELL[page].split())
    best = dict(sorted(model.items(), key=lambda item: -item[1])[:4])
    expected = dict.fromkeys(asked, 0.5 / 2)
    for term, share in best.items():
        expected[term] = expected.get(term, 0) + 0.5 * share / sum(best.values())
    assert mixture == pytest.approx(expected)
    assert sum(mixture.values()) == pytest.approx(1)


@given_few(collections, queries, st.sampled_from(sorted(FEEDBACK)))
def test_feedback_keeps_the_query_and_what_it_finds(pages, query, way):
    collection, (asked, _) = MemoryCollection(pages), query_of(query)
    if not asked:
        with pytest.raises(QueryError, match="no word"):
            search(collection, query, way)
        return
    answer = search(collection, query, way)
    assert bool(len(answer.ranking)) == any(set(asked) & set(terms(text)) for text in chain.from_iterable(pages))
    assert set(asked) <= set(answer.query)
    assert set(answer.added) == set(answer.query) - set(asked)
    assert len(answer.added) <= 10
    assert all(weight > 0 for weight in answer.query.values())
    assert set(search(collection, query).ranking.page) <= set(answer.ranking.page)


@given_few(collections, titles)
def test_the_pages_of_a_term_are_counted(tmp_path_factory, pages, titles):
    wanted = ["alpha", "beta", "strasse", "\u6771", "nothing"]
    joined = [
        set(terms(" ".join([title, *page]))) for page, title in zip(pages, chain(titles, repeat("")), strict=False)
    ]
    expected = [sum(term in page for page in joined) for term in wanted]
    assert MemoryCollection(pages, titles).frequencies(wanted).tolist() == expected
    with stored(file_of(pages, tmp_path_factory.mktemp("index") / "pages.sqlite", titles)) as collection:
        assert collection.frequencies(wanted).tolist() == expected
        assert collection.frequencies([]).tolist() == []


def test_pages_are_counted_however_the_segments_of_a_term_are_spread(tmp_path):
    """A term in each of ten segments of 4 of 10 pages is on 4 pages; one in 200 segments of a page of 100, on 1."""
    few = [["bell"] * 10] * 4 + [["sea"]] * 6
    one = [["wire"] * 200, *[["sea"]] * 99]
    for number, (pages, term, n, weight) in enumerate([(few, "bell", 4, 0.368), (one, "wire", 1, 4.195)]):
        with stored(file_of(pages, tmp_path / f"{number}.sqlite")) as collection:
            for each in (collection, MemoryCollection(pages)):
                [found] = each.frequencies([term]).tolist()
                assert found == n
                assert float(relevance_weight(found, len(pages))) == pytest.approx(weight, abs=5e-4)


def test_pages_are_counted_after_they_were_replaced(tmp_path):
    path = tmp_path / "pages.sqlite"
    with SQLiteIndex(file_of([["bell", "bell"], ["bell"], ["sea"]], path)) as index:
        index.upsert([page_of(line(0, ["sea", "sea"]), now()), page_of(line(2, ["bell", "wire bell"]), now())])
    with stored(str(path)) as collection:
        assert collection.frequencies(["bell", "sea", "wire"]).tolist() == [2, 1, 1]


# In memory and in a file


@given_few(collections, titles, queries, st.sampled_from(["none", *sorted(FEEDBACK)]))
def test_memory_and_file_give_the_same(tmp_path_factory, pages, titles, query, way):
    collection = MemoryCollection(pages, titles)
    with stored(file_of(pages, tmp_path_factory.mktemp("index") / "pages.sqlite", titles)) as other:
        assert other.size == collection.size
        answers: list[tuple[Any, ...]] = []
        for one in (collection, other):
            try:
                answer = search(one, query, way)
            except QueryError as error:
                answers.append((str(error),))
            else:
                answers.append((dict(answer.query), answer.ranking.score, answer.ranking.page))
    here, there = answers
    assert here[0] == (pytest.approx(there[0]) if isinstance(there[0], dict) else there[0])
    if len(here) > 1:
        np.testing.assert_allclose(here[1], there[1])
        assert here[2].tolist() == [page - 1 for page in there[2]]


def test_template_is_not_searched(tmp_path):
    path = tmp_path / "pages.sqlite"
    with SQLiteIndex(path) as index:
        content, menu = line(0, ["bell and sea"]), line(0, ["menu bell"], role="navigation")["pagelets"][0] | {"id": 7}
        content["pagelets"].append(menu)
        index.upsert([page_of(content, now())])
    with stored(str(path)) as collection:
        assert collection.size == Size(1, 1, 3)
        assert collection.page_lengths(np.array([1])).tolist() == [3]
        assert len(collection.postings(["menu"]).term) == 0
        assert collection.segments(np.array([1]), cut_pagelets).counts.sum() == 3


def test_reads_are_consistent(tmp_path):
    path = file_of([["bell"]], tmp_path / "pages.sqlite")
    with stored(path) as collection, SQLiteIndex(path) as index:
        assert collection.postings(["bell"]).tf.tolist() == [1]
        index.upsert([page_of(line(5, ["bell bell"]), now())])
        assert collection.postings(["bell"]).tf.tolist() == [1]
    with stored(path) as collection:
        assert collection.postings(["bell"]).tf.tolist() == [1, 2]


def test_only_texts_of_the_best_pages_are_read(tmp_path):
    """From the table of texts, only rows that are requested by number are read."""
    pages = [["bell " * (n % 3 + 1), f"word{n}"] for n in range(200)]
    with SQLiteIndex(file_of(pages, tmp_path / "pages.sqlite"), create=False) as index:
        from scrapy_pagelets.retrieval import collection as module

        for query in (module._POSTINGS, module._FREQUENCY, module._LENGTHS, module._TEXTS, module._FOUND):
            plan = " ".join(row[3] for row in index.base.execute(f"EXPLAIN QUERY PLAN {query}", ("[]",)))
            assert "SCAN pagelets" not in plan, plan
            assert "SCAN pages" not in plan, plan


# Cuts and passages


def test_cuts():
    page = ["Title\n\nFirst paragraph\nof two lines\n \nSecond", "a\tb"]
    assert cut_blocks(page) == ["Title", "First paragraph\nof two lines", "Second", "a\tb"]
    assert cut_pagelets(page) == page
    assert len(cut_whole(page)) == 1
    assert [terms(text) for text in cut_whole(page)] == [list(chain.from_iterable(map(terms, page)))]


@given_few(st.lists(words, max_size=30), st.sets(words, max_size=3), st.integers(1, 8))
def test_passages_are_parts_of_the_text_with_the_most_terms(runs, wanted, size):
    wanted = {term for word in wanted for term in terms(word)}
    passage = highlighted(" ".join(runs), wanted, size, ("[", "]"))
    bare = passage.replace("[", "").replace("]", "").removeprefix("... ").removesuffix(" ...")
    assert bare in " ".join(runs)
    assert len(bare.split()) == min(size, len(runs))
    windows = [runs[start : start + size] for start in range(max(1, len(runs) - size + 1))]
    most = max(len(wanted & {t for word in window for t in terms(word)}) for window in windows)
    assert len(wanted & set(terms(bare))) == most


def test_terms_are_marked_in_place():
    text = "The Café-bar, 東京 and CAFÉ_x"
    assert highlighted(text, terms("cafe 京"), marks=("<", ">")) == "The <Café>-bar, 東<京> and <CAFÉ_x>"
