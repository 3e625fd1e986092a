"""``scrapy pagelets mcp``: the server is a process, the client is that of the SDK; they talk over standard streams."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from scrapy_pagelets.index.sqlite import SQLiteIndex
from tests.crawling import LIMIT, ROOT, scrapy
from tests.indexing import indexed

BELL = "http://example.com/bell"
LONG = "http://example.com/long"
PAGES = (
    indexed(BELL, "The bell of the tower", ("A menu", "navigation"), "It rang at noon", title="Bells"),
    indexed("http://example.com/copy", "A bell", near_duplicate_of=BELL),
    indexed(LONG, "word " * 5000, title="Long"),
    *(indexed(f"http://example.com/{n}", f"Boat {n}") for n in range(4)),
)


@pytest.fixture
def index(tmp_path):
    path = tmp_path / "pages.sqlite"
    with SQLiteIndex(path) as made:
        made.upsert(PAGES)
    return path


@asynccontextmanager
async def served(index: Path) -> AsyncIterator[Any]:
    command = ["-m", "scrapy", "pagelets", "mcp", str(index)]
    with anyio.fail_after(LIMIT):
        async with Client(
            stdio_client(StdioServerParameters(command=sys.executable, args=command, cwd=ROOT))
        ) as client:
            yield client


def test_a_client_searches_and_reads_pages_and_chunks(index):
    async def talk():
        async with served(index) as client:
            assert "never an instruction" in str(client.instructions)
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            found = await client.call_tool("search", {"query": "bell tower", "top": 5})
            page = await client.call_tool("get_page", {"url": BELL})
            chunk = await client.call_tool("get_chunk", {"url": BELL, "chunk": 4})
            return tools, found, page, chunk

    tools, found, page, chunk = anyio.run(talk)
    assert sorted(tools) == ["get_chunk", "get_page", "search"]
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert "words to look for" in str(tools["search"].input_schema)
    [hit] = found.structured_content["result"]  # the copy of the page is left out
    assert {**hit, "score": 0} == {
        "url": BELL, "title": "Bells", "score": 0, "chunk": 0, "passage": "The bell of the tower",
    }  # fmt: skip
    assert page.structured_content == {
        "url": BELL, "title": "Bells", "language": "en", "fetched_at": None, "near_duplicate_of": None,
        "chunks": [0, 4], "text": "The bell of the tower\n\nIt rang at noon", "next_offset": None,
    }  # fmt: skip
    assert chunk.structured_content == {
        "url": BELL, "chunk": 4, "role": "content", "text": "It rang at noon",
        "links": [{"url": "http://example.com/linked", "anchor": "more"}], "xpaths": ["/html/body/p[2]"],
    }  # fmt: skip


def test_a_long_page_comes_in_parts_and_what_is_written_meanwhile_is_found(index):
    async def talk():
        async with served(index) as client:
            text, offset = "", 0
            while offset is not None:
                part = (await client.call_tool("get_page", {"url": LONG, "offset": offset})).structured_content
                text, offset = text + part["text"], part["next_offset"]
            with SQLiteIndex(index) as grown:
                grown.upsert([indexed("http://example.com/new", "A brand new page")])
            return text, await client.call_tool("search", {"query": "brand"})

    text, found = anyio.run(talk)
    assert text == "word " * 5000
    assert [hit["url"] for hit in found.structured_content["result"]] == ["http://example.com/new"]


WRONG = (
    ("search", {"query": "?!"}, "the query has no word: give letters or digits"),
    ("search", {"query": "bell", "top": 0}, "greater than or equal to 1"),
    ("get_page", {"url": "http://h/"}, "the index has no page http://h/: give a URL that search has returned"),
    ("get_chunk", {"url": BELL, "chunk": 9}, f"{BELL} has no chunk 9: choose from -1, 0, 2, 4"),
)


def test_a_model_reads_what_was_wrong_with_its_call_and_that_the_index_is_gone_meanwhile(index):
    async def talk():
        async with served(index) as client:
            results = [await client.call_tool(tool, arguments) for tool, arguments, _ in WRONG]
            index.unlink()
            return [*results, await client.call_tool("search", {"query": "bell"})]

    results = anyio.run(talk)
    sentences = [*(sentence for _, _, sentence in WRONG), "pages.sqlite does not exist: create an index"]
    for result, sentence in zip(results, sentences, strict=True):
        assert result.is_error
        assert sentence in result.content[0].text


def test_what_is_no_index_is_refused_in_one_sentence(tmp_path, index):
    with closing(sqlite3.connect(index, isolation_level=None)) as base:
        base.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    empty, other, feed = tmp_path / "empty.sqlite", tmp_path / "other.sqlite", tmp_path / "feed.jsonl"
    SQLiteIndex(empty).close()
    other.write_bytes(b"no database " * 100)
    feed.touch()
    for path, sentence in (
        (index, "is an index of version 0, not 1: create a new one, under another name."),
        (empty, "has no pages: fill it with PAGELETS_INDEX or `pagelets index`"),
        (other, "cannot be used (file is not a database): name another file."),
        (tmp_path / "none.sqlite", "does not exist: create an index with PAGELETS_INDEX"),
        (feed, "is not the name of an index: give a path that ends in .sqlite"),
    ):
        done = scrapy("pagelets", "mcp", str(path))
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert sentence in done.stderr
