"""Recrawls: what is new, the same or changed against an earlier feed and the store; ``scrapy pagelets diff``."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.crawler.commands import diff as diff_command
from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.feed import content_words
from scrapy_pagelets.feed.content_words import (
    WordCounts,
    changed_share,
    content_hash,
    content_of,
    contents_with_doubtful,
)
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import plain
from scrapy_pagelets.page.urls import key
from scrapy_pagelets.recrawl import version_store
from scrapy_pagelets.recrawl.version_store import (
    COLUMNS,
    FILE,
    NEEDED,
    Change,
    PageVersion,
    VersionStore,
    change,
    changes,
)
from tests.crawling import (
    SITE,
    answer,
    crawl,
    ends_quietly_when_its_pipe_closes,
    letters,
    menu_site,
    page,
    run_spider,
    scrapy,
    words,
)
from tests.server import SiteServer

WORDS = st.lists(st.sampled_from(["one", "two", "Three", "東京", "é", "4"]), max_size=12)
SPACES = st.sampled_from([" ", "\n\n", "\t", " \x1b", "\x00 ", "\u200b ", "\xa0"])

# The hash of a content and the share of its words


@given(WORDS, st.data())
def test_the_hash_depends_on_no_white_space_and_no_control_character(listed, data):
    spaced = "".join(word + data.draw(SPACES) for word in listed)
    assert content_hash(spaced) == content_hash(" ".join(listed))


@given(WORDS, WORDS)
def test_the_hash_depends_on_the_words_and_their_order(one, other):
    assert (content_hash(" ".join(one)) == content_hash(" ".join(other))) == ("".join(one) == "".join(other))


def test_the_hash_of_nothing_is_null_and_another_one_has_32_digits():
    assert content_hash("") is content_hash(" \n\u200b") is None
    assert len(str(content_hash("words"))) == 32


def test_marks_of_layout_do_not_count_but_marks_in_words_do():
    assert content_hash("¶\nOne | two\n- three 1.5 a-b") == content_hash("One two three 1.5 a-b")
    hashes = {content_hash(text) for text in ("1.5", "15", "$ 15", "€ 15", "a-b", "a+b", "-5", "Five", "five")}
    assert len(hashes) == 9


def test_composed_and_decomposed_letters_are_the_same():
    assert content_hash("caf\u00e9") == content_hash("cafe\u0301")


HTML = b"<p>Wo<b>rds</b> of <pre> a\n  b</pre><ul><li>one<li>tw<i>o</i></ul><table><td>1<td>2</table>"


def test_the_content_of_a_page_has_the_words_of_its_text():
    nodes = Page.parse(HTML, "http://h/").nodes
    every: Bools = np.ones(len(nodes.leaves), np.bool_)
    assert content_of(nodes, every) == "Words of a b one two 1 2"
    assert content_hash(content_of(nodes, every)) == content_hash(plain(nodes, every))
    assert content_of(nodes, ~every) == ""


def test_contents_with_what_is_in_doubt_grow_step_by_step():
    nodes = Page.parse(b"<p>a<p>b<p>c<p>d<p>e", "http://h/").nodes
    assert list(contents_with_doubtful(nodes, np.array([0.1, 0.8, 0.6, 0.6, 1.0]))) == ["a c d", "a b c d"]
    assert not list(contents_with_doubtful(nodes, np.array([0.1, 0.95, 0.2, 1.0, 1.0])))


def share(one: str, other: str) -> float:
    return changed_share(WordCounts.of(one), WordCounts.of(other))


@settings(deadline=None)  # the first call builds a table of all characters
@given(WORDS, WORDS)
def test_the_share_is_that_of_the_words_without_a_counterpart(one, other):
    counts = [Counter(word.casefold() for each in words for word in each.replace("東京", "東 京").split())
              for words in (one, other)]  # fmt: skip
    unmatched = sum((counts[0] - counts[1]).values()) + sum((counts[1] - counts[0]).values())
    total = sum(map(Counter.total, counts))
    assert share(" ".join(one), " ".join(other)) == pytest.approx(unmatched / total if total else 0)


def test_the_share_of_a_long_content_is_estimated():
    listed = [letters(f"w{number}") for number in range(30_000)]
    one, other = (WordCounts.of(" ".join(some)) for some in (listed, listed[:27_000]))
    assert len(one.hashes) <= content_words.MOST_WORDS
    assert one.level > 0
    assert changed_share(one, other) == pytest.approx(3 / 57, abs=0.01)
    assert changed_share(one, WordCounts.of("w")) > 0.99


def test_counts_survive_as_bytes():
    counts = WordCounts.of("a b a c")
    back = WordCounts.from_bytes(counts.to_bytes())
    assert back.counts.tolist() == counts.counts.tolist()
    assert sorted(back.counts.tolist()) == [1, 1, 2]
    assert back.hashes.tolist() == counts.hashes.tolist()


# The store


def test_a_crawl_compares_with_the_crawl_before_however_often_it_sees_a_page(tmp_path):
    versions = [PageVersion.of(text) for text in ("one", "two", "three")]
    for earlier, now in zip([None, *versions], versions, strict=False):
        store = VersionStore(tmp_path)
        for _ in range(2):
            found = store.find(1)
            assert (found.hash if found else None) == (earlier.hash if earlier else None)
            store.put(1, now)
        store.close(finished=True)


@pytest.mark.parametrize(("finished", "kind"), [(False, "new"), (True, "same")])
def test_the_runs_of_a_job_are_one_crawl_until_it_has_finished(tmp_path, finished, kind):
    for expected in ("new", kind):
        store = VersionStore(tmp_path, "job")
        assert change(store.find(1), PageVersion.of("one")).kind == expected
        store.put(1, PageVersion.of("one"))
        store.close(finished=finished)


def test_crawls_that_share_a_store_do_not_disturb_each_other(tmp_path):
    first = VersionStore(tmp_path)
    first.put(1, PageVersion.of("one"))
    first.close(finished=True)
    one, other = VersionStore(tmp_path), VersionStore(tmp_path)
    for store in (one, other):
        assert change(store.find(1), PageVersion.of("two words")).kind == ("changed" if store is one else "same")
        store.put(1, PageVersion.of("two words"))
    one.close()
    other.close()


def test_pages_that_were_not_crawled_for_long_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(version_store, "MOST_PAGES", 2)
    store = VersionStore(tmp_path)
    for number in (1, 2, 3, 1):
        store.put(number, PageVersion.of("one"))
    store.close(finished=True)
    again = VersionStore(tmp_path)
    assert [again.find(number) is not None for number in (1, 2, 3)] == [True, False, True]
    again.close()


def test_a_damaged_row_still_has_its_hash(tmp_path):
    store = VersionStore(tmp_path)
    store.put(1, PageVersion.of("one two"))
    store.close()
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("UPDATE pages SET words = x'00010203'")
    base.close()
    store = VersionStore(tmp_path)
    assert change(store.find(1), PageVersion.of("one three")) == Change("changed", None)
    assert change(store.find(1), PageVersion.of("one two")).kind == "same"
    store.close()


def feed_of(tmp_path: Path, *lines: Mapping[str, object], name: str = "old.jsonl") -> str:
    path = tmp_path / name
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(list(lines)), path)
    else:
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


@pytest.mark.parametrize("name", ["old.jsonl", "old.jsonl.gz", "old.parquet"])
def test_versions_are_read_from_feeds_and_the_last_line_of_a_page_counts(tmp_path, name):
    lines = [{"url": f"http://h/{path}", "text": text} for path, text in (("a", "x"), ("b", "y"), ("a#top", "z"))]
    store = VersionStore(None)
    assert store.put_feed(Feed(feed_of(tmp_path, *lines, name=name), COLUMNS, (), NEEDED)) == 3
    kinds = {path: change(store.find(key(f"https://h/{path}")), PageVersion.of("z")).kind for path in "abc"}
    assert kinds == {"a": "same", "b": "changed", "c": "new"}
    store.close()


def test_a_feed_with_hashes_only_tells_what_has_changed_but_not_how_much(tmp_path):
    lines = [{"url": "http://h/a", "text": None, "content_hash": content_hash("one two")}]
    store = VersionStore(None)
    store.put_feed(Feed(feed_of(tmp_path, *lines), COLUMNS, (), NEEDED))
    earlier = store.find(key("http://h/a"))
    assert change(earlier, PageVersion.of("one two")) == Change("same", 0.0)
    assert change(earlier, PageVersion.of("one three")) == Change("changed", None)
    store.close()


# Crawls


def edited(folder: Path) -> None:
    """Write another year into the footers of a copy of the bundled site, and change one paragraph."""
    for file in folder.rglob("*.html"):
        html = file.read_text(encoding="utf-8")
        assert html.count("1999-2026") == 1
        file.write_text(html.replace("1999-2026", "1999-2027"), encoding="utf-8")
    changed = folder / "common_howto" / "timeouts.html"
    html = changed.read_text(encoding="utf-8")
    changed.write_text(html.replace("<p>", "<p>A sentence that nobody has seen before. ", 1), encoding="utf-8")


@pytest.fixture(scope="module")
def recrawled(tmp_path_factory):
    """Two crawls with a store, and one with the feed of the first; the site has changed after the first."""
    folder = tmp_path_factory.mktemp("recrawled")
    site = folder / "site"
    shutil.copytree(SITE, site)
    for file in site.rglob("*.html"):
        file.write_text(file.read_text(encoding="utf-8").replace("1999-yyyy", "1999-2026"), encoding="utf-8")
    store = {"PAGELETS_STORE": str(folder / "store")}
    with SiteServer(site) as server:
        first = crawl(folder, "site", url=server.url("index.html"), settings=store, feed="old.jsonl")
        edited(site)
        stored = crawl(folder, "site", url=server.url("index.html"), settings=store, feed="new.jsonl")
        earlier = {"PAGELETS_EARLIER_FEED": str(folder / "old.jsonl")}
        against_feed = crawl(folder, "site", url=server.url("index.html"), settings=earlier, feed="against.jsonl")
    return folder, first, {"store": stored, "feed": against_feed}


def test_the_first_crawl_with_a_store_has_new_pages(recrawled):
    _, first, _ = recrawled
    assert {(line["changed"], line["changed_share"]) for line in first.lines} == {("new", None)}
    assert first.stat("recrawl/new") == len(first.lines)
    assert [line["content_hash"] for line in first.lines] == [content_hash(line["text"]) for line in first.lines]


@pytest.mark.parametrize("against", ["store", "feed"])
def test_another_year_in_the_footers_changes_nothing_and_one_paragraph_one_page(recrawled, against):
    _, first, crawls = recrawled
    lines = crawls[against].lines
    assert len(lines) == len(first.lines)
    changed = [line for line in lines if line["changed"] == "changed"]
    assert [line["url"].rpartition("/")[2] for line in changed] == ["timeouts.html"]
    assert 0 < changed[0]["changed_share"] < 0.05
    others = {(line["changed"], line["changed_share"]) for line in lines if line not in changed}
    assert others == {("same", 0.0)}
    assert (crawls[against].stat("recrawl/same"), crawls[against].stat("recrawl/changed")) == (len(lines) - 1, 1)
    assert crawls[against].errors == crawls[against].warnings == []


def test_the_command_shows_the_changed_paragraph(recrawled):
    folder, first, _ = recrawled
    done = scrapy("pagelets", "diff", str(folder / "old.jsonl"), str(folder / "new.jsonl"))
    pages = len(first.lines)
    head, _, title, page_line, change_line = done.stdout.splitlines()
    assert head == f"{pages} and {pages} pages: 0 new, 0 gone, 1 changed, {pages - 1} the same"
    assert title == "changed"
    assert page_line.endswith("/common_howto/timeouts.html")
    assert "{+A sentence that nobody has seen before. +}" in change_line
    assert (done.returncode, done.stderr) == (1, "")


def without_hash(lines):
    return [{name: value for name, value in line.items() if name in ("url", "text", "pagelets")} for line in lines]


def test_a_feed_of_an_older_version_has_no_hashes(tmp_path):
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        first = crawl(tmp_path, "site", url=server.url(""), feed="old.jsonl")
        old = feed_of(tmp_path, *without_hash(first.lines), name="older.jsonl.gz")
        server.routes["/b"] = answer(page("b", sorted(server.routes), more="<p>Three more words</p>"))
        server.routes["/c"] = answer(page("c", sorted(server.routes)).replace("Heading", "Heading of"))
        del server.routes["/d"]
        second = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_EARLIER_FEED": old}, feed="2.jsonl")
    assert {(line["changed"], line["changed_share"]) for line in first.lines} == {(None, None)}
    kinds = {line["url"].rpartition("/")[2]: line["changed"] for line in second.lines}
    assert kinds == {"": "same", "a": "same", "b": "changed", "c": "changed"}


def test_the_feed_goes_before_the_store_which_is_kept_all_the_same(tmp_path):
    store = {"PAGELETS_STORE": str(tmp_path / "store")}
    with SiteServer(routes=menu_site("home", "a")) as server:
        old = feed_of(tmp_path, {"url": server.url("a"), "text": "Something else"})
        both = crawl(
            tmp_path, "site", url=server.url(""), settings=store | {"PAGELETS_EARLIER_FEED": old}, feed="1.jsonl"
        )
        stored = crawl(tmp_path, "site", url=server.url(""), settings=store, feed="2.jsonl")
    assert {line["url"].rpartition("/")[2]: line["changed"] for line in both.lines} == {"": "new", "a": "changed"}
    assert {line["changed"] for line in stored.lines} == {"same"}


DOUBTFUL = "<ul class=tags><li><a href=/tags/{0}>On {0}s and cups</a><li>Share {0} now</ul>"


def test_a_content_that_has_only_become_doubtful_is_the_same(tmp_path):
    paths = ["/", *(f"/{name}" for name in "abcde")]
    routes = {path: answer(page(path[1:], paths, more=DOUBTFUL.format(path[1:] or "home"))) for path in paths}
    crawls, rule = [], tmp_path / "rules.toml"
    with SiteServer(routes=routes) as server:
        for number, kept in enumerate((True, False, True, False)):
            rule.write_text(f"[[rule]]\nhosts = ['*']\nkeep = ['{'.tags' if kept else 'h1'}']\n")
            store = {"PAGELETS_STORE": str(tmp_path / "store"), "PAGELETS_RULES": str(rule)}
            if number == 3:
                server.routes["/b"] = answer(page("b", paths, more=f"<p>Three more words{DOUBTFUL.format('b')}"))
            crawls.append(crawl(tmp_path, "site", url=server.url(""), settings=store, feed=f"{number}.jsonl"))
    texts = [{line["url"]: line["text"] for line in found.lines} for found in crawls]
    assert texts[0] == texts[2]
    assert all("cups" in texts[0][url] and "cups" not in texts[1][url] for url in texts[0])
    assert {line["changed"] for found in crawls[1:3] for line in found.lines} == {"same"}
    assert [line["url"][-2:] for line in crawls[3].lines if line["changed"] == "changed"] == ["/b"]


def test_a_store_that_cannot_be_read_is_set_aside(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / FILE).write_bytes(b"no database at all" * 1000)
    with SiteServer(routes=menu_site("home", "a")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_STORE": str(folder)})
    assert {line["changed"] for line in found.lines} == {"new"}
    assert len(found.warnings) == 1
    assert "is set aside, pages are not compared with those of earlier crawls" in found.warnings[0]
    assert (folder / f"{FILE}.broken").exists()


def test_a_store_that_cannot_be_written_is_left_alone(tmp_path):
    (tmp_path / "store" / FILE).mkdir(parents=True)
    settings = {"PAGELETS_STORE": str(tmp_path / "store")}
    with SiteServer(routes=menu_site("home", "a")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert {line["changed"] for line in found.lines} == {None}
    assert {type(line["content_hash"]) for line in found.lines} == {str}
    assert found.stat("store/failed") == 1
    assert found.errors == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "it has no pages"),
        ([{"url": "http://h/", "markdown": "words"}], "no line has content_hash or text, the first one has only url"),
        ([{"adresse": "x"}], "line 1 is not a page, it has no url, but only adresse"),
    ],
)
def test_a_feed_that_cannot_be_used_ends_the_crawl_before_it_begins(tmp_path, lines, sentence):
    old = feed_of(tmp_path, *lines)
    settings = {"PAGELETS_EARLIER_FEED": old}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(f"PAGELETS_EARLIER_FEED cannot be used: {old} cannot be used: {sentence}")


def test_a_missing_or_cut_file_ends_the_crawl_before_it_begins(tmp_path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(os.urandom(1000))[:-100])
    for path, problem in ((tmp_path / "nowhere.jsonl", "No such file"), (cut, "damaged or incomplete")):
        settings = {"PAGELETS_EARLIER_FEED": str(path)}
        found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
        assert len(found.errors) == 1
        assert problem in found.errors[0] or "is not a page" in found.errors[0]


STRANGER = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base + "/a")
        yield Request(self.base + "/empty")
    def parse(self, response):
        yield {"kind": "first"}
        yield {"kind": "second"}
"""


def test_all_items_of_a_page_have_the_same_verdict(tmp_path):
    routes = menu_site("home", "a") | {"/empty": answer("<html><body><img src=x></body></html>")}
    settings = {"PAGELETS_PROBE": 0, "PAGELETS_STORE": str(tmp_path / "store")}
    with SiteServer(routes=routes) as server:
        crawls = [run_spider(tmp_path, STRANGER, base=server.url("")[:-1], settings=settings) for _ in range(2)]
    lines = crawls[1].lines  # of both crawls
    assert [line["changed"] for line in lines] == ["new"] * 4 + ["same"] * 4
    assert {line["content_hash"] is None for line in lines if line["url"].endswith("/empty")} == {True}
    assert {line["content_hash"] is None for line in lines if line["url"].endswith("/a")} == {False}


# The differences of texts, and the command


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("a b c", "a  b\tc", []),
        ("", "one\n\ntwo", ["+ one", "+ two"]),
        ("one\ntwo\nthree", "one\nthree", ["- two"]),
        ("We open at nine.", "We open at ten!", ["~ We open at [-nine.-]{+ten!+}"]),
        ("quite another line", "東京タワー", ["- quite another line", "+ 東京タワー"]),
        ("東京タワー", "東京塔", ["~ 東京[-タワー-]{+塔+}"]),
    ],
)
def test_changes_of_texts(old, new, lines):
    assert list(changes(old, new)) == lines


def test_long_passages_are_shortened():
    [line] = changes(words("x", 200), words("x", 200).replace("xword100", "other"))
    assert "xword99 [-xword100-]{+other+} xword101" in line
    assert line.startswith("~ ...")
    assert line.endswith("...")
    assert len(line) < 120


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(one, other):
    assert list(changes(one, one)) == []
    lines = list(changes(one, other))
    assert all(line[:2] in ("- ", "+ ", "~ ") for line in lines)
    split = [[line.split() for line in text.split("\n") if line.strip()] for text in (one, other)]
    assert bool(lines) == (split[0] != split[1])


@pytest.fixture
def diff(capsys):
    """The command in this process: its exit code, its lines, and what it says of errors."""

    def run(*arguments):
        parser = ArgumentParser()
        diff_command.add_arguments(parser)
        code = run_command(diff_command.run, parser.parse_args(arguments))
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


def test_new_and_gone_pages_are_listed(tmp_path, diff):
    old = feed_of(tmp_path, *({"url": f"http://h/{path}", "text": "same words"} for path in "abc"))
    lines = [{"url": f"https://h/{path}", "text": "same  words"} for path in "bcd"]
    new = feed_of(tmp_path, *lines, {"url": "http://h/e\x1b", "text": ""}, name="new.jsonl.gz")
    code, out, _ = diff(old, new)
    assert code == 1
    assert out == ["3 and 4 pages: 2 new, 1 gone, 0 changed, 2 the same", "",
                   "new", "  http://h/e\\x1b", "  https://h/d", "", "gone", "  http://h/a"]  # fmt: skip
    assert diff(old, old)[:2] == (0, ["3 and 3 pages: 0 new, 0 gone, 0 changed, 3 the same"])


def test_few_changes_are_shown_of_each_page(tmp_path, diff):
    texts = ["\n".join(f"{kind} {letters(str(n))}" for n in range(30)) for kind in ("this", "other")]
    old, new = (
        feed_of(tmp_path, {"url": "http://h/", "text": text}, name=f"{i}.jsonl") for i, text in enumerate(texts)
    )
    out = diff(old, new)[1]
    assert out[3:] == ["  50.00%  http://h/", *out[4:14], "      and more changes"]
    assert diff(old, new, "--changes", "0")[1] == out[:4]


@pytest.mark.parametrize(
    ("lines", "arguments", "sentence"),
    [
        ([], [], "it has no pages"),
        ([{"url": "http://h/", "title": "T"}], [], "no line has content_hash or text"),
        ([{"url": "http://h/", "text": "x"}], ["--changes", "-1"], "--changes is -1: give a number of changes, from 0"),
    ],
)
def test_the_command_explains_unusable_input_and_ends_with_2(tmp_path, diff, lines, arguments, sentence):
    good = feed_of(tmp_path, {"url": "http://h/", "text": "x"}, name="good.jsonl")
    code, out, err = diff(good, feed_of(tmp_path, *lines), *arguments)
    assert (code, out, err.count("\n")) == (2, [], 1)
    assert sentence in err


def test_a_pipe_that_closes_ends_the_command_quietly(tmp_path):
    old, new = (
        feed_of(tmp_path, *({"url": f"http://h/{'x' * 50}{n}", "text": f"{kind} {n}"} for n in range(3000)), name=kind)
        for kind in ("old", "new")
    )
    ends_quietly_when_its_pipe_closes("pagelets", "diff", old, new)
