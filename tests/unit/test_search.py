"""The command ``search`` on real files: its output, and its errors for bad input."""

from __future__ import annotations

import json
import sqlite3
from argparse import ArgumentParser

import pytest

from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.crawler.commands.search import add_arguments, run
from scrapy_pagelets.index.interface import now, page_of
from scrapy_pagelets.index.sqlite import SQLiteIndex
from scrapy_pagelets.retrieval.ranking import Bm2500, rank
from tests.oracles.memory_collection import MemoryCollection

PAGES = {
    "bell": ("Bell", ["Alexander Graham Bell made the telephone", "The patent of the telephone of Bell"]),
    "copy": ("Bell", ["Alexander Graham Bell made the telephone", "The patent of the telephone of Bell, a copy"]),
    "sea": ("Sea", ["The sea, the sea"]),
    "wire": ("Wire", ["The telephone wire, the patent"]),
    **{f"boat{n}": ("Boat", [f"{'A' if n else 'The'} boat, number {n}"]) for n in range(4)},
}


@pytest.fixture
def index(tmp_path):
    with SQLiteIndex(tmp_path / "pages.sqlite") as made:
        made.upsert([page(name, title, texts) for name, (title, texts) in PAGES.items()])
    return str(tmp_path / "pages.sqlite")


def page(name, title, texts):
    pagelets = [
        {"id": k, "role": "content", "templateness": 0.1, "text": text, "words": len(text.split())}
        for k, text in enumerate(texts)
    ]
    copied = "http://example.com/bell" if name == "copy" else None
    line = {"url": f"http://example.com/{name}", "title": title, "pagelets": pagelets, "near_duplicate_of": copied}
    return page_of(line, now())


def search(*arguments):
    parser = ArgumentParser()
    add_arguments(parser)
    return run_command(run, parser.parse_args([str(argument) for argument in arguments]))


def refused(capsys, *arguments):
    """The single line of the error."""
    assert search(*arguments) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    return error


def test_pages_are_shown_with_their_best_pagelet(index, capsys):
    assert search(index, "Who had the patent?") == 0
    out, error = capsys.readouterr()
    assert error == ""
    assert out.splitlines()[0] == "5 of 8 pages"
    assert "http://example.com/wire  Wire\n     pagelet 0: **The** telephone wire, **the** **patent**" in out


def test_a_title_may_match(index, capsys):
    assert search(index, "sea") == 0
    assert capsys.readouterr().out.splitlines()[0] == "1 of 8 pages"


def test_one_of_several_near_duplicates_is_shown(index, capsys):
    assert search(index, "bell") == 0
    out = capsys.readouterr().out
    assert out.count("http://example.com/") == 1


def test_top_pages_are_shown(index, capsys):
    assert search(index, "the", "--top", "1") == 0
    assert capsys.readouterr().out.count("http://example.com/") == 1


@pytest.mark.parametrize("way", ["segments", "blocks", "windows", "pages", "rm3"])
def test_terms_that_were_added_are_shown(index, capsys, way):
    assert search(index, "wire", "--feedback", way) == 0
    out = capsys.readouterr().out
    added = out.splitlines()[1]
    assert added.startswith("added: ")
    assert "patent" in added
    assert "the " not in added
    assert "http://example.com/bell" in out


@pytest.mark.parametrize(
    "query",
    [
        "\0wire",
        "wire\udcff",
        "\ud800 wire\x1b",
        "\x9bwire\u2028",
        '"wire"',
        "wire*",
        "wire NEAR(",
        "text:wire",
        "-wire ^",
        "wire' OR 1=1 --",
        "(wire",
    ],
)
def test_quotes_and_operators_have_no_meaning(index, capsys, query):
    assert search(index, query) == 0
    assert "http://example.com/wire" in capsys.readouterr().out


def test_words_on_most_pages_get_a_warning(index, capsys):
    assert search(index, "the") == 0
    out, error = capsys.readouterr()
    assert "http://example.com/sea" in out
    assert error == "the words of the query are on most pages, so the ranking says little: give rarer words\n"


def test_a_query_of_ten_thousand_words_is_shortened_with_a_warning(index, capsys):
    query = "telephone wire " + " ".join(f"word{n}" for n in range(9_998))
    assert search(index, query, "--feedback", "segments") == 0
    out, error = capsys.readouterr()
    assert "http://example.com/wire" in out
    assert error == "the query has 10000 different words: the last 8976 are left out\n"


def test_queries_without_an_answer(index, capsys):
    assert refused(capsys, index, "zeppelin") == "no page has a word of the query: try other words\n"
    for query in ("", '"" -- ()', "\0", "\udcff", "\ud800\x1b"):
        assert refused(capsys, index, query) == "the query has no word: give letters or digits\n"
    assert refused(capsys, index, "sea", "--top", "0") == "--top is 0: give the number of pages, from 1\n"


def test_the_parameters_of_feedback(index, capsys):
    def added(*arguments):
        assert search(index, "wire", "--feedback", "pages", *arguments) == 0
        return capsys.readouterr().out.splitlines()[1]

    assert added("--terms", "2") == "added: patent 0.10, telephone 0.05"
    assert added("--terms", "2", "--share", "0.5") == "added: patent 0.50, telephone 0.25"
    assert added("--terms", "1", "--pages", "1", "--segments", "1", "--as-printed") == "added: patent 1.00"


def test_as_printed_titles_count_once_and_stop_words_are_left_out(index, capsys):
    assert search(index, "the sea", "--as-printed") == 0
    out, error = capsys.readouterr()
    assert (out.splitlines()[0], error) == ("1 of 8 pages", "")
    collection = MemoryCollection([texts for _, texts in PAGES.values()], [title for title, _ in PAGES.values()])
    [score] = rank(collection, {"sea": 1.0}, Bm2500()).score
    assert f"{score:.3f}  http://example.com/sea" in out


def test_as_printed_words_on_most_pages_lower_the_score(index, capsys):
    """The number of the boat is on half of the pages, so its weight is 0; with the boat's title, none is above 0."""
    assert search(index, "boat number", "--as-printed") == 0
    out, error = capsys.readouterr()
    assert "  1  0.000  http://example.com/boat" in out
    assert error == ""


def test_bad_parameters_of_feedback(index, capsys):
    feedback = ("--feedback", "segments")
    assert refused(capsys, index, "sea", *feedback, "--pages", "0") == "--pages is 0: give a number from 1\n"
    assert refused(capsys, index, "sea", *feedback, "--segments", "-1") == "--segments is -1: give a number from 1\n"
    assert refused(capsys, index, "sea", *feedback, "--share", "nan") == "--share is nan: give a number above 0\n"
    alone = "--pages, --segments, --terms and --share are for feedback: choose one with --feedback\n"
    assert refused(capsys, index, "sea", "--terms", "3") == alone
    stop_words = "all words of the query are stop words: give words that say what it is about\n"
    assert refused(capsys, index, "the and of", "--as-printed") == stop_words
    rm3 = "rm3 is not in the paper: choose segments, blocks, windows or pages\n"
    assert refused(capsys, index, "sea", "--feedback", "rm3", "--as-printed") == rm3


def test_files_that_are_not_an_index(index, tmp_path, capsys):
    assert "does not exist" in refused(capsys, tmp_path / "none.sqlite", "sea")
    (tmp_path / "none.sqlite").exists() and pytest.fail("a file was made")
    (tmp_path / "text.sqlite").write_text("no database, but longer than the head of one. " * 30)
    assert "cannot be used" in refused(capsys, tmp_path / "text.sqlite", "sea")
    with sqlite3.connect(tmp_path / "other.sqlite") as base:
        base.execute("CREATE TABLE sea (text)")
    base.close()
    assert "not an index" in refused(capsys, tmp_path / "other.sqlite", "sea")
    assert "is not an SQLite index" in refused(capsys, "pages.ndjson", "sea")
    assert "is not the name of an index" in refused(capsys, "pages.json", "sea")


def test_an_index_of_another_version(index, capsys):
    with sqlite3.connect(index) as base:
        base.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    base.close()
    assert "version 0" in refused(capsys, index, "sea")


def test_an_empty_index(tmp_path, capsys):
    SQLiteIndex(tmp_path / "pages.sqlite").close()
    assert "has no pages" in refused(capsys, tmp_path / "pages.sqlite", "sea")


def test_a_damaged_index(index, capsys):
    with sqlite3.connect(index) as base:
        base.execute("UPDATE search_data SET block = x'00' WHERE id > 10")
    base.close()
    assert "build the index again" in refused(capsys, index, "sea")


def test_the_command_is_registered():
    from scrapy_pagelets.crawler.commands.all_commands import COMMANDS

    assert COMMANDS["search"][1] == "scrapy_pagelets.crawler.commands.search"
    assert json.dumps(COMMANDS["search"][0])
