"""Indexes: all kinds behave alike, their scores agree where they should, and bad input is refused."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from math import log, log1p
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.index.interface import (
    IndexAway,
    IndexUnusable,
    is_plain,
    key_of,
    line_of,
    now,
    page_of,
    phrases,
    shown,
    storable,
    terms,
)
from scrapy_pagelets.index.postgres import PostgresIndex
from scrapy_pagelets.index.sqlite import _TOKENIZER, SQLiteIndex
from scrapy_pagelets.index.tantivy import TantivyIndex
from scrapy_pagelets.index.targets import kind_of, open_index
from scrapy_pagelets.page.page import Page
from tests.crawling import ROOT, SITE
from tests.indexing import at, indexed, line

KINDS = ("sqlite", "tantivy", "postgres")


@pytest.fixture(params=KINDS)
def target(request, tmp_path):
    """The name of a new index, of each kind that can be searched."""
    if request.param == "postgres":
        return request.getfixturevalue("database")
    return {"sqlite": str(tmp_path / "pages.sqlite"), "tantivy": f"tantivy:{tmp_path / 'folder'}"}[request.param]


@pytest.fixture
def index(target):
    with open_index(target) as index:
        yield index


def found(index, query, limit=10):
    return [hit.url for hit in index.search(query, limit)]


# Terms


def tokens(texts):
    """Return the terms into which FTS5 splits each text."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f'CREATE VIRTUAL TABLE texts USING fts5(text, tokenize="{_TOKENIZER}")')
        base.execute("CREATE VIRTUAL TABLE places USING fts5vocab(texts, 'instance')")
        base.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts, 1))
        rows = base.execute("SELECT doc, term FROM places ORDER BY doc, offset").fetchall()
    made: list[list[str]] = [[] for _ in texts]
    for number, term in rows:
        made[number - 1].append(term)
    return made


def characters():
    """The characters of the first two planes: in the others no letter is folded or a term by itself."""
    return [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]


def test_sqlite_leaves_our_terms_as_they_are():
    texts = [" ".join(terms(f"a{one}b {one}")) for one in characters()]
    assert [(text, made) for text, made in zip(texts, tokens(texts), strict=True) if made != text.split()] == []


def test_plain_characters_are_tokenized_as_ours():
    plain = [one for one in characters() if is_plain(one)]
    assert len(plain) > 400
    texts = [f"a{one}b" for one in plain]
    assert tokens(texts) == [terms(text) for text in texts]


@settings(deadline=None)
@given(st.text(st.sampled_from("aZ09é Ŵßøµ°.,_-'’“—…\n\0\x7f东ก가ー\u0301\u0308½²"), max_size=80))
def test_plain_texts_are_tokenized_as_ours(text):
    text = storable(text)
    stored = text if is_plain(text) else " ".join(terms(text))
    assert tokens([stored]) == [terms(text)]


def test_long_terms_are_truncated():
    assert terms("x" * 1000 + " y") == ["x" * 64, "y"]
    assert is_plain("x" * 64)
    assert not is_plain("é" * 65)


def test_indic_words_keep_their_marks():
    assert terms("हिन्दी") == ["हिन्दी"]


def test_phrases_end_where_words_do():
    assert phrases("東京Tower大阪 大阪") == [["東", "京"], ["tower"], ["大", "阪"]]
    assert phrases('" AND (NEAR* "') == [["and"], ["near"]]
    assert phrases("東・京 ฿") == [["東"], ["京"]]
    assert phrases("…!") == []


@settings(deadline=None)
@given(st.text(max_size=40))
def test_phrases_have_the_terms(text):
    assert {term for phrase in phrases(text) for term in phrase} == set(terms(text))


# Documents


def test_a_page_survives_the_round_trip_through_a_line():
    page = indexed("http://example.com/", "Text", ("Menu", "navigation"), title="Title")
    assert page_of(json.loads(json.dumps(line_of(page)))) == page


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"url": 1},
        {"url": "http://example.com/", "pagelets": [{}]},
        {"url": "http://example.com/", "pagelets": 3},
        {"url": "http://example.com/", "pagelets": ["text"]},
        [],
    ],
)
def test_lines_that_are_not_pages_are_refused(bad):
    with pytest.raises(ValueError, match="it is not a page of the feed"):
        page_of(bad, now())


# All indexes


def test_a_query_finds_pagelets_by_pages(index):
    index.upsert([indexed("http://example.com/1", "red green", "green blue", title="First")])
    index.upsert([indexed("http://example.com/2", "blue blue yellow red")])
    (hit, *others) = index.search("green")
    assert (hit.url, hit.title, others) == ("http://example.com/1", "First", [])
    assert sorted((match.number, match.role, match.text) for match in hit.pagelets) == [
        (0, "content", "red green"),
        (2, "content", "green blue"),
    ]
    assert hit.score == hit.pagelets[0].score > 0
    assert sorted(found(index, "red")) == ["http://example.com/1", "http://example.com/2"]
    assert len(found(index, "red", 1)) == 1


def test_titles_are_found(index):
    index.upsert([indexed("http://example.com/1", title="A rare title"), indexed("http://example.com/2", "text")])
    (hit,) = index.search("rare")
    assert [(match.number, match.role) for match in hit.pagelets] == [(-1, "title")]


def test_a_page_that_is_crawled_again_replaces_all_of_its_pagelets(index):
    index.upsert([indexed("http://example.com/1", "one common", "two common", "three common", title="Old")])
    index.upsert([indexed("http://example.com/1", "four common", minute=1)])
    assert [found(index, word) for word in ("one", "two", "three", "old")] == [[], [], [], []]
    (hit,) = index.search("common")
    assert [match.text for match in hit.pagelets] == ["four common"]


def test_an_older_page_replaces_nothing(index):
    index.upsert([indexed("http://example.com/1", "new", minute=2)])
    index.upsert([indexed("http://example.com/1", "old", minute=1), indexed("http://example.com/2", "other")])
    assert [found(index, word) for word in ("new", "old", "other")] == [
        ["http://example.com/1"],
        [],
        ["http://example.com/2"],
    ]


def test_a_batch_keeps_the_latest_version_of_a_page(index):
    index.upsert(
        [indexed("http://example.com/1", word, minute=minute) for word, minute in (("b", 1), ("c", 2), ("a", 0))]
    )
    assert [len(found(index, word)) for word in "abc"] == [0, 0, 1]


def test_pages_that_were_not_seen_are_purged_by_site(index):
    index.upsert([indexed(f"http://{site}/{n}", "common", minute=n) for site in ("a.com", "b.com") for n in range(3)])
    assert index.purge(at(2), {"a.com", "c.com"}) == 2
    assert sorted(found(index, "common")) == ["http://a.com/2", "http://b.com/0", "http://b.com/1", "http://b.com/2"]
    assert index.purge(at(2), set()) == 0
    assert index.purge(at(9), ["b.com"]) == 3
    assert found(index, "common") == ["http://a.com/2"]


def test_of_near_duplicates_one_page_is_shown(index):
    index.upsert([indexed("http://example.com/1", "common word")])
    index.upsert([indexed("http://example.com/2", "common", near_duplicate_of="http://example.com/1")])
    index.upsert([indexed("http://example.com/3", "common", near_duplicate_of="http://example.com/gone")])
    assert sorted(found(index, "common")) == ["http://example.com/2", "http://example.com/3"]
    assert len(found(index, "common", 2)) == 2


def test_templates_are_stored_but_not_searched(index):
    index.upsert([indexed("http://example.com/1", "text", ("menu", "navigation"), ("footer", "template"))])
    assert [len(found(index, word)) for word in ("text", "menu", "footer")] == [1, 0, 0]
    index.upsert([indexed("http://example.com/1", ("menu", "navigation"), minute=1)])
    assert [len(found(index, word)) for word in ("text", "menu", "footer")] == [0, 0, 0]
    assert index.purge(at(2), ["example.com"]) == 1


def test_pages_without_pagelets_are_stored(index):
    index.upsert([indexed("http://example.com/1"), indexed("http://example.com/2")])
    assert found(index, "anything") == []
    assert index.purge(at(1), ["example.com"]) == 2


def test_an_index_can_be_opened_again(target):
    with open_index(target) as index:
        index.upsert([indexed("http://example.com/1", "text")])
    with open_index(target) as index:
        assert found(index, "text") == ["http://example.com/1"]


@pytest.mark.parametrize(
    "query", ["", "  ", '"', "' OR 1=1 --", "a:b* NOT (c", "the of and", "\0\ud800", "x" * 100_000]
)
def test_odd_queries_find_nothing(index, query):
    index.upsert([indexed("http://example.com/1", "text")])
    assert found(index, query) == []


def test_a_query_of_many_words_finds_its_page(index):
    index.upsert([indexed("http://example.com/1", "word77"), indexed("http://example.com/2", "another")])
    assert found(index, " ".join(f"word{number}" for number in range(10_000))) == ["http://example.com/1"]


@pytest.mark.parametrize(
    ("text", "query", "other"),
    [
        ("私は東京に住んでいます", "東京", "京東"),
        ("ผมรักภาษาไทย", "ภาษา", "ษาภา"),
        ("한국어를 공부합니다", "한국", "국한"),
        ("Ｃａｆé", "cafe", "caf"),
        ("Ελλάδα", "ΕΛΛΑΔΑ", "ΕΛΛΑ"),
        ("Straße", "STRASSE", "stra"),
        ("हिन्दी भाषा", "हिन्दी", "हिन"),
    ],
)
def test_words_of_all_scripts_are_found(index, text, query, other):
    index.upsert([indexed("http://example.com/1", text)])
    assert (found(index, query), found(index, other)) == (["http://example.com/1"], [])


def test_characters_that_databases_refuse_are_replaced(index):
    index.upsert(
        [indexed("http://example.com/\ud800", "one\0two \udc00three", title="A\0B", language="\0", fetched_at="\ud9ff")]
    )
    (hit,) = index.search("two")
    assert (hit.url, hit.title, hit.pagelets[0].text) == ("http://example.com/�", "A�B", "one�two �three")


def test_a_page_of_a_million_words_is_found_by_its_last(index):
    text = " ".join(f"{number % 1000:x}" for number in range(1_000_000)) + " last"
    index.upsert([indexed("http://example.com/1", text, "second")])
    assert found(index, "last") == found(index, "second") == found(index, "3e7") == ["http://example.com/1"]


def test_a_pagelet_of_many_different_long_words_is_found_by_each(index):
    words = [f"{number:05d}" + "\u0905" * 59 for number in range(9_000)]
    index.upsert([indexed("http://example.com/1", " ".join(words))])
    assert found(index, words[0]) == found(index, words[-1]) == ["http://example.com/1"]


def test_urls_of_8_kb_are_distinguished(index):
    urls = [f"http://{'x' * 8000}.com/{'y' * 8000}{end}" for end in "ab"]
    index.upsert([indexed(url, "text", title="Title") for url in urls])
    index.upsert([indexed(urls[0], "other", minute=1)])
    assert (found(index, "text"), found(index, "other")) == ([urls[1]], [urls[0]])


# Other versions, and files that are not an index


def spoil(target, version):
    """Change the version of an index."""
    with open_index(target) as index:
        if isinstance(index, SQLiteIndex):
            index.base.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
        elif isinstance(index, TantivyIndex):
            Path(target.removeprefix("tantivy:"), "pagelets.json").write_text(json.dumps({"version": version}))
        else:
            assert isinstance(index, PostgresIndex)
            index._base.execute("UPDATE pagelets.meta SET value = %s WHERE key = 'version'", (version,))
            index._base.commit()


def test_an_index_of_another_version_is_refused(target):
    spoil(target, "7")
    with pytest.raises(
        IndexUnusable, match=r"^\S+ is an index of version 7, not 1: create a new one, under another name\.$"
    ):
        open_index(target)


def test_a_database_that_is_not_an_index_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE accounts (name)")
    with pytest.raises(IndexUnusable, match="is a database but not an index: name another file"):
        open_index(str(path))


def test_a_file_that_is_not_a_database_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    path.write_text("text " * 1000)
    with pytest.raises(IndexUnusable, match=r"cannot be used .*name another file"):
        open_index(str(path))
    assert path.read_text() == "text " * 1000


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(IndexUnusable, match="unable to open database file"):
        open_index(str(tmp_path / "no" / "pages.sqlite"))


def test_a_folder_that_is_not_an_index_is_refused(tmp_path):
    (tmp_path / "meta.json").write_text("{}")
    with pytest.raises(IndexUnusable, match="is an index of version None"):
        open_index(f"tantivy:{tmp_path}")


def test_a_refused_connection_is_explained(postgres, database):
    for wrong in (database + "_not", database.replace("pagelets@", "nobody:secret@"), database + "?bogus=1"):
        with pytest.raises(IndexUnusable) as caught:
            open_index(wrong)
        assert "secret" not in str(caught.value)
        assert "check its address and permissions" in str(caught.value)


def test_a_missing_server_is_unavailable():
    with pytest.raises(IndexAway, match="Connection refused"):
        open_index("postgresql://pagelets@127.0.0.1:1/postgres")


@pytest.mark.parametrize("name", ["pages.txt", "http://127.0.0.1:9200/", "", 3])
def test_a_name_that_is_not_that_of_an_index_is_refused(name):
    with pytest.raises(IndexUnusable, match="give a"):
        kind_of(name)


def test_passwords_are_not_shown():
    assert shown("postgresql://me:p@ss@host:5/base?password=secret") == "postgresql://host:5/base"


# Several writers


FILL = """
import sys
from scrapy_pagelets.index.targets import open_index
from tests.indexing import indexed
target, who = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for batch in range(8):
    with open_index(target) as index:
        index.upsert([indexed(f"http://{who}.com/{batch}/{n}", f"common own{who}") for n in range(20)])
        index.upsert([indexed(f"http://both.com/{n}", f"shared from{who}", minute=batch) for n in range(20)])
"""


def test_two_processes_write_to_one_index(target):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", FILL, target, who],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in "ab"
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=300)
        assert writer.returncode == 0
    with open_index(target) as index:
        assert len(found(index, "common", 1000)) == 320
        assert len(found(index, "shared", 1000)) == 20
        assert len(found(index, "froma", 1000)) + len(found(index, "fromb", 1000)) == 20


# SQLite


def rows(index, query):
    return index.base.execute(query).fetchall()


def test_the_tables_of_sqlite_hold_pages_and_postings(tmp_path):
    with SQLiteIndex(tmp_path / "pages.sqlite") as index:
        index.upsert([indexed("http://example.com/1", "red red green", "東京 red", title="Red", fetched_at="2026")])
        assert rows(index, "SELECT url, site, title, language, fetched_at, crawled, words FROM pages") == [
            ("http://example.com/1", "example.com", "Red", "en", "2026", at(0), 5)
        ]
        assert rows(index, "SELECT number, role, words, length, terms FROM pagelets ORDER BY number") == [
            (-1, "title", 1, 1, None),
            (0, "content", 3, 3, None),
            (2, "content", 2, 3, "東 京 red"),
        ]
        assert rows(index, "SELECT term, doc, cnt FROM vocabulary WHERE term = 'red'") == [("red", 3, 4)]
        query = "SELECT number, count(*) FROM postings JOIN pagelets ON id = doc WHERE term = 'red' GROUP BY doc"
        assert sorted(rows(index, query)) == [(-1, 1), (0, 2), (2, 1)]
        assert rows(index, "SELECT xpaths, links FROM pagelets WHERE number = 0") == [
            ('["/html/body/p[0]"]', '[{"url":"http://example.com/linked","anchor":"more"}]')
        ]


def test_fts5_agrees_with_its_content(tmp_path):
    with SQLiteIndex(tmp_path / "pages.sqlite") as index:
        texts = ["Straße 東京", "plain", ("menu", "navigation"), "½ हिन्दी\0", "x" * 100]
        for minute in range(3):
            pages = [indexed(f"http://example.com/{n}", *texts[n % 4 :], minute=minute) for n in range(minute, 6)]
            index.upsert(pages)
        index.base.execute("DELETE FROM pages WHERE url LIKE '%/5'")
        index.base.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
        before = rows(index, "SELECT * FROM postings")
        index.base.execute("INSERT INTO search (search) VALUES ('rebuild')")
        assert rows(index, "SELECT * FROM postings") == before != []


def test_an_index_to_read_must_exist(tmp_path):
    with pytest.raises(IndexUnusable, match="does not exist: create an index with PAGELETS_INDEX"):
        SQLiteIndex(tmp_path / "pages.sqlite", create=False)
    assert not (tmp_path / "pages.sqlite").exists()


def test_a_batch_is_written_completely_or_not_at_all(tmp_path):
    with SQLiteIndex(tmp_path / "pages.sqlite") as index:
        index.upsert([indexed("http://example.com/1", "text")])
        (size,) = rows(index, "PRAGMA page_count")[0]
        index.base.execute(f"PRAGMA max_page_count = {size + 3}")
        with pytest.raises(IndexAway, match="full"):
            index.upsert([indexed(f"http://example.com/{n}", f"text{n} " * 1000) for n in range(50)])
        assert rows(index, "SELECT count(*) FROM pages") == [(1,)]
        index.base.execute("PRAGMA max_page_count = 1000000")
        index.upsert([indexed("http://example.com/2", "text")])
        assert len(found(index, "text")) == 2


# Scores


@pytest.fixture(scope="module")
def corpus():
    """The pages of a real site, with the pagelets of each page alone."""
    pages = []
    for file in sorted(SITE.rglob("*.html")):
        page = Page.parse(file.read_bytes(), f"http://example.com/{file.relative_to(SITE)}")
        record = {"url": page.url, "title": page.title, "pagelets": [pagelet.record() for pagelet in segment(page)]}
        pages.append(page_of(record, at(0)))
    assert len(pages) > 20
    return pages


@pytest.fixture
def filled(corpus, tmp_path, database):
    """An index of the corpus, of each kind."""
    names = str(tmp_path / "pages.sqlite"), f"tantivy:{tmp_path / 'folder'}", database
    indexes = {kind: open_index(name) for kind, name in zip(KINDS, names, strict=True)}
    for index in indexes.values():
        index.upsert(corpus)
    yield indexes
    for index in indexes.values():
        index.close()


def test_scores_of_one_word_differ_by_its_weight_alone(tmp_path):
    """BM25 of FTS5 and tantivy differs only in the 1 in the logarithm, for pagelets of at most 40 words."""
    generator = random.Random(7)
    words = [f"w{number}" for number in range(30)]
    pages = [
        indexed(f"http://example.com/{n}", " ".join(generator.choices(words, range(1, 31), k=generator.randint(1, 40))))
        for n in range(60)
    ]
    with open_index(str(tmp_path / "pages.sqlite")) as one, open_index(f"tantivy:{tmp_path / 'folder'}") as other:
        one.upsert(pages)
        other.upsert(pages)
        checked = 0
        for word in words[:20]:
            scores = [{hit.url: hit.score for hit in index.search(word, 60)} for index in (one, other)]
            n, total = len(scores[0]), len(pages)
            if 0 < n < total / 2:
                odds = (total - n + 0.5) / (n + 0.5)
                expected = {url: score / log(odds) * log1p(odds) for url, score in scores[0].items()}
                assert scores[1] == pytest.approx(expected, rel=1e-5)
                checked += 1
        assert checked > 10


def test_all_indexes_find_the_same_pages(filled, corpus):
    for query in ("apache", "workers properties", "Tomcat connector quick start", "jk_mod ½", "nowhere"):
        results = [set(found(index, query, len(corpus))) for index in filled.values()]
        assert results[0] == results[1] == results[2]
        terms_of = {
            page.url: {t for p in page.pagelets if p.role not in ("navigation", "template") for t in terms(p.text)}
            for page in corpus
        }
        assert results[0] == {url for url, known in terms_of.items() if known & set(terms(query))}


def test_bm25_ranks_alike_for_rare_words(filled, corpus):
    """SQLite and tantivy rank pages in the same order, except near ties: tantivy rounds lengths."""
    pagelets = [set(terms(pagelet.text)) for page in corpus for pagelet in page.pagelets]
    frequency: dict[str, int] = {}
    for known in pagelets:
        for term in known:
            frequency[term] = frequency.get(term, 0) + 1
    rare = sorted(term for term, number in frequency.items() if 3 <= number <= len(pagelets) // 20)
    queries = [" ".join(pair) for pair in pairwise(rare[:: max(1, len(rare) // 60)])]
    assert len(queries) > 30
    for query in queries:
        ours = {hit.url: hit.score for hit in filled["sqlite"].search(query, 100)}
        theirs = found(filled["tantivy"], query, 100)
        assert set(theirs) == set(ours)
        for before, after in pairwise(theirs):
            assert ours[before] > 0.9 * ours[after]


# Bulk


def bulk(path):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_a_bulk_file_has_a_document_for_each_page(tmp_path):
    path = tmp_path / "pages.ndjson"
    with open_index(str(path)) as index:
        index.upsert([indexed("http://example.com/1", "text", ("menu", "navigation"), title="Title")])
        index.upsert([indexed("http://example.com/1", "newer", minute=1), indexed("http://example.com/2")])
    pairs = bulk(path)
    identities = [action["index"]["_id"] for action, _ in pairs]
    assert identities == [key_of(f"http://example.com/{n}") for n in (1, 1, 2)]
    assert pairs[0][0]["index"]["version"] < pairs[1][0]["index"]["version"]
    assert pairs[0][0]["index"]["version_type"] == "external_gte"
    assert pairs[0][1] == {
        "url": "http://example.com/1",
        "site": "example.com",
        "title": "Title",
        "language": "en",
        "fetched_at": None,
        "crawled": at(0),
        "near_duplicate_of": None,
        "words": 2,
        "pagelets": [{"number": 0, **{k: v for k, v in line("", "text")["pagelets"][0].items() if k != "id"}}],
    }
    mapping = json.loads((tmp_path / "pages.mapping.json").read_text())["mappings"]
    assert set(pairs[0][1]) == set(mapping["properties"])
    assert set(pairs[0][1]["pagelets"][0]) == set(mapping["properties"]["pagelets"]["properties"])


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("tantivy:file", "file cannot be used (File exists): name another file or folder."),
        ("tantivy:file/below", "file/below cannot be used (Not a directory): name another file or folder."),
        ("file/pages.ndjson", "file/pages.ndjson cannot be used (Not a directory): name another file or folder."),
        ("none/pages.ndjson", "none/pages.ndjson cannot be used (No such file or directory): name another file"),
        ("tantivy:", "'tantivy:' is not the name of an index: give a path that ends in .sqlite"),
    ],
)  # fmt: skip
def test_a_path_where_no_index_can_be_is_refused_for_good(tmp_path, monkeypatch, target, sentence):
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IndexUnusable, match=re.escape(sentence)):
        open_index(target)


def test_a_bulk_file_asks_for_pages_to_be_deleted(tmp_path):
    with open_index(str(tmp_path / "pages.ndjson")) as index:
        assert index.purge(at(1), {"b.com", "a.com"}) == 0
        with pytest.raises(IndexUnusable, match="send it to the _bulk interface"):
            index.search("text")
    request = json.loads((tmp_path / "pages.purge.json").read_text())
    assert request["query"]["bool"]["filter"] == [
        {"terms": {"site": ["a.com", "b.com"]}},
        {"range": {"crawled": {"lt": at(1)}}},
    ]


@pytest.mark.parametrize("cut", ["document", "action", "letters"])
def test_a_bulk_file_of_a_killed_crawl_is_repaired(tmp_path, cut):
    path = tmp_path / "pages.ndjson"
    with open_index(str(path)) as index:
        index.upsert([indexed("http://example.com/1", "text " * 30_000)])
        whole = path.read_bytes()
        index.upsert([indexed("http://example.com/2", "text")])
    action = path.read_bytes().index(b"\n", len(whole))
    path.write_bytes(path.read_bytes()[: {"document": action + 20, "action": action + 1, "letters": action - 5}[cut]])
    with open_index(str(path)) as index:
        assert path.read_bytes() == whole
        index.upsert([indexed("http://example.com/3")])
    assert [document["url"][-1] for _, document in bulk(path)] == ["1", "3"]


def test_a_bulk_file_of_another_version_is_refused(tmp_path):
    path = tmp_path / "pages.ndjson"
    path.write_text('{"index": {}}\n{}\n')
    with pytest.raises(IndexUnusable, match="is an index of version None, not 1"):
        open_index(str(path))


def test_the_analyzer_of_the_mapping_has_our_words(tmp_path):
    """Python lacks the Unicode classes of its Java regular expression; the test replaces them."""
    import re
    import unicodedata

    open_index(str(tmp_path / "pages.ndjson")).close()
    settings = json.loads((tmp_path / "pages.mapping.json").read_text())["settings"]
    pattern = settings["analysis"]["tokenizer"]["pagelets"]["pattern"]
    alone, rest = pattern.split("|")
    found = re.fullmatch(r"\[\\p\{L\}\\p\{M\}\\p\{N\}&&\[\^(.*)\]\]\+", rest)
    assert found
    inside = found[1]
    assert alone == f"[{inside}]"

    def words(text):
        marked = "".join(one if unicodedata.category(one)[0] in "LMN" else " " for one in text)
        return re.findall(f"{alone}|[^ {inside}]+", marked)

    text = "foo_bar 東京Tower ภาษาไทย 3d हिन्दी, x-y"
    assert words(text.lower()) == terms(text)
