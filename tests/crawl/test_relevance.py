"""Relevance: worked examples, invariants, and files that are no examples."""

import json
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.links.relevance import Link, Topic, examples, score
from scrapy_pagelets.page.urls import key
from tests.crawling import SITE, page

TEXTS = st.text(string.ascii_lowercase[:4] + " ", max_size=40)


def cosine(query: str, text: str) -> float:
    """Computed by hand, for words that are on no page yet, so that all are equally rare."""
    counts = [{word: 1 + np.log(t.split().count(word)) for word in set(t.split())} for t in (query, text)]
    dot = sum(counts[0][word] * counts[1].get(word, 0.0) for word in counts[0])
    return float(dot / np.prod([np.linalg.norm(list(count.values())) for count in counts]))


def relevance(topic: Topic, *texts: str) -> list[float]:
    return list(map(float, topic.relevance(topic.vectors(texts))))


def links(body: str, topic: Topic | None = None, inherited: float = 0.0) -> dict[int, Link]:
    parsed = Page.parse(body.encode(), "http://h/")
    return score(segment(parsed), topic, inherited).links


def test_relevance_is_the_cosine_of_the_words():
    topic = Topic(["volcano island"])
    texts = ["volcano ash volcano", "island", "cod trawler", ""]
    expected = [*(cosine("volcano island", text) for text in texts[:3]), 0.0]
    assert relevance(topic, *texts) == pytest.approx(expected)


def test_words_that_stand_on_most_pages_weigh_less():
    topic = Topic(["island volcano"])
    before = relevance(topic, "island boat", "volcano boat")
    assert before[0] == pytest.approx(before[1])
    for number in range(20):
        topic.learn(topic.vectors([f"island {number}"]))
    often, rare = relevance(topic, "island boat", "volcano boat")
    assert often < before[0] < rare


def test_a_topic_of_pages_is_their_mean_whatever_their_length():
    topic = Topic(["volcano " * 100, "glacier"])
    long, short, none = relevance(topic, "volcano", "glacier", "cod")
    assert long == pytest.approx(short)
    assert none == 0.0


@pytest.mark.parametrize("text", ["", "the and of", " ?! -- "])
def test_a_topic_needs_a_word_that_tells_something(text):
    with pytest.raises(ValueError, match="no word tells what it is about"):
        Topic([text])


def test_a_topic_of_ten_thousand_words():
    topic = Topic([" ".join(f"word{i}" for i in range(10_000))])
    near, far = relevance(topic, "word1 word2 word9999", "other")
    assert 0 < near < 1
    assert far == 0


@settings(max_examples=40, deadline=None)
@given(query=TEXTS.filter(lambda text: any(c in text for c in "bcd")), texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_relevance_is_from_0_to_1_and_of_the_query_itself_1(query, texts):
    topic = Topic([query + " z"])
    for text in texts:
        topic.learn(topic.vectors([text]))
    found = relevance(topic, *texts, query + " z")
    assert all(0 <= value <= 1 for value in found)
    assert found[-1] == pytest.approx(1)


def test_links_get_the_relevance_of_their_pagelet_and_anchor():
    def items(name: str) -> str:
        return "".join(f"<li><a href=/{name}{i}>{name} number {i}</a> with something on {name}</li>" for i in range(6))

    body = f"<div><ul>{items('volcano')}</ul></div><div><ul>{items('codfish')}</ul><a href=/x>volcano</a></div>"
    found = links(body, Topic(["volcano"]))
    near, far, anchor = (found[key(f"http://h/{name}")].relevance for name in ("volcano1", "codfish1", "x"))
    assert near > far
    assert anchor > far > 0  # the page is about the topic in part


def test_of_several_links_to_a_page_the_most_relevant_counts():
    found = links("<p>one <a href=/a>volcano</a><p>two <a href=/a#b>cod</a>", Topic(["volcano"]))
    alone = links("<p>one <a href=/a>volcano</a><p>two <a href=/b>cod</a>", Topic(["volcano"]))
    assert list(found) == [key("http://h/a")]
    assert found[key("http://h/a")].relevance == pytest.approx(max(link.relevance for link in alone.values()))


def test_relevance_is_handed_down_and_fades():
    empty = Page.parse(b"<p>Nothing: <a href=/a>next</a>", "http://h/")
    handed = [score(segment(empty), Topic(["volcano"]), before).inherited for before in (1.0, 0.5, 0.0)]
    assert 1 > handed[0] > handed[1] > handed[2] == 0
    full = Page.parse(b"<p>volcano <a href=/a>next</a>", "http://h/")
    assert score(segment(full), Topic(["volcano"]), 0.1).inherited > 0.5


def site_of_pages(count: int) -> list[Page]:
    menu = [f"/{i}" for i in range(count)]
    return [Page.parse(page(f"name{i}", menu).encode(), f"http://h/{i}") for i in range(count)]


def test_links_of_a_template_have_the_relevance_of_their_anchor_alone():
    site, pages = Site("h"), site_of_pages(8)
    for parsed in pages:
        site.learn(parsed)
    parts = segment(pages[0], site.templateness(pages[0]))
    topic = Topic(["slogan"])  # a word of the template, but not of an anchor
    assert any("slogan" in part.text for part in parts if part.role != "content")
    scores = score(parts, topic)
    assert scores.relevance == 0
    assert set(scores.links.values()) == {Link(0.0, template=True)}
    # Without a known template, the same words are treated as content.
    assert score(segment(pages[0]), topic).relevance > 0
    # They inherit nothing, even from a page about the topic, or one reached through such pages.
    scores = score(parts, Topic(["nameaword1 nameaword2"]), inherited=1.0)
    assert scores.inherited >= 0.8
    assert set(scores.links.values()) == {Link(0.0, template=True)}
    scores = score(parts, Topic(["menu entry"]))
    assert all(0 < link.relevance <= 0.2 for link in scores.links.values())


def test_without_a_topic_links_have_no_relevance():
    found = links("<p>a <a href=/a>b</a><p><a href='mailto:x'>x</a>")
    assert found == {key("http://h/a"): Link(0.0, template=False)}


@pytest.mark.parametrize("body", ["", "<p>Words, and no link", "<img src=x>", "<a href='http://[broken'>x</a>"])
def test_pages_without_links(body):
    assert links(body, Topic(["words"])) == {}


def test_what_is_known_of_words_outlives_the_process(tmp_path):
    topic = Topic(["island volcano"])
    for number in range(20):
        topic.learn(topic.vectors([f"island {number}"]))
    topic.save(tmp_path / "topic.npz")
    other = Topic(["island volcano"])
    other.load(tmp_path / "topic.npz")
    texts = ["island", "volcano boat", "volcano island"]
    assert relevance(other, *texts) == relevance(topic, *texts)
    assert [file.name for file in tmp_path.iterdir()] == ["topic.npz"]


def test_examples_are_the_contents_of_pages_and_of_feeds(tmp_path):
    [text] = examples(SITE / "common_howto" / "quick.html")
    assert "Quick Start HowTo" in text
    feed = tmp_path / "feed.jsonl"
    feed.write_text("".join(json.dumps({"url": "u", "text": t}) + "\n\n" for t in ("one", "two")), encoding="utf-8")
    assert examples(feed) == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("missing.html", None, "cannot be read"),
        ("empty.html", b"", "has no words"),
        ("blank.html", b"<html><body><img src=x></body></html>", "has no words"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not HTML"),
        ("notes.txt", b"no tag in here", "is not HTML"),
        ("empty.jsonl", b"", "it has no pages"),
        ("broken.jsonl", b'{"url": "u", "text": "one"}\n{"text": ', "line 2 is not a page, it is cut off"),
        ("list.jsonl", b"[1]\n", "line 1 is not a page"),
        ("other.jsonl", b'{"url": "u"}\n', "no line has text"),
    ],
)
def test_files_that_are_no_examples(tmp_path, name, body, sentence):
    path: Path = tmp_path / name
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(ValueError, match=sentence) as error:
        examples(path)
    assert str(path) in str(error.value)
