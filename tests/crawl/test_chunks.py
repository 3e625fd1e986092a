"""Chunks: pieces of a document that follow its headings, and hold each word once."""

import json
import re
from argparse import ArgumentParser
from functools import lru_cache
from itertools import pairwise, takewhile

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt

from scrapy_pagelets import Site
from scrapy_pagelets.base.characters import WORD
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.commands import chunks as command
from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.document.blocks import Block, text_of_runs
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunking import NamedPlaces, chunk_records, chunks_of
from scrapy_pagelets.document.units import tokens_of
from scrapy_pagelets.feed.feed_schema import CHUNK
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.session.config import Config
from tests.crawl.test_feed_schema import check
from tests.crawling import crawl, ends_quietly_when_its_pipe_closes, menu_site, scrapy
from tests.crawling import words as text_of_page
from tests.server import SiteServer
from tests.trees import every, masks, page, soups

PARSER = MarkdownIt("commonmark", {"maxNesting": 200}).enable("table")


def document(html):
    found = page(html)
    return document_of(found, every(found))


@lru_cache(1)
def huge(html):
    """A page with its document, which the tests of it share."""
    return page(html), document(html)


def own_heading(found):
    return headline_of(found, np.zeros(len(found.nodes.leaves), np.int64), 0)


def cut(html, most, overlap=0):
    return [chunk.markdown for chunk in chunks_of(document(html), most, overlap)]


def records(html, most, overlap=0):
    found = page(html)
    whole = document(html)
    return chunk_records(found, whole, chunks_of(whole, most, overlap), np.zeros(len(found.nodes.leaves)))


@pytest.mark.parametrize(
    ("html", "most", "expected"),
    [
        ("", 5, []),
        ("<hr>", 5, []),
        ("<p>a b", 5, ["a b"]),
        # sections stay together, and their headings with what follows
        (
            "<h1>T</h1><p>a b<h2>A</h2><p>c d e<h2>B</h2><p>f g h<h2>C</h2><p>i",
            6,
            ["# T\n\na b", "## A\n\nc d e", "## B\n\nf g h\n\n## C\n\ni"],
        ),
        ("<h1>T</h1><h2>A</h2><p>c d<p>e f", 4, ["# T\n\n## A\n\nc d", "e f"]),
        # lists between items
        ("<ul><li>a b<li>c d<li>e f</ul>", 4, ["- a b\n- c d", "- e f"]),
        ("<ol start=7><li>a b<li>c d<li>e f</ol>", 3, ["7. a b", "8. c d", "9. e f"]),
        ("<ul><li>a b<ul><li>c d<li>e f</ul></ul>", 4, ["- a b", "- - c d\n  - e f"]),
        # paragraphs between sentences, only if one is too long
        ("<p>a b. C d.<p>E f. G h.", 4, ["a b. C d.", "E f. G h."]),
        ("<p>a b. C d. E f.", 4, ["a b. C d.", "E f."]),
        ("<p>a b e.g. c d, i. e. f", 4, ["a b e.g. c d, i. e. f"]),
        ("<p>a <a href='/x'>b. C</a> d. E <code>f. G</code>", 2, ["a [b. C](http://example.com/x) d.", "E `f. G`"]),
        ("<p>a b<br>c d<br>e f", 4, ["a b\\\nc d", "e f"]),
        ("<p>日本。「東京。」大阪？", 3, ["日本。", "「東京。」", "大阪？"]),
        # code and tables never
        ("<p>a<pre>b c d e f</pre><p>g", 3, ["a", "```\nb c d e f\n```", "g"]),
        ("<h2>A</h2><pre>b c d e f</pre><p>g", 3, ["# A\n\n```\nb c d e f\n```", "g"]),
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table><p>e", 3, ["| a | b |\n| --- | --- |\n| c | d |", "e"]),
        # a small piece goes with what follows
        ("<p>a<ul>" + "<li>b c" * 8 + "</ul>", 9, ["a\n\n" + "\n".join(["- b c"] * 4), "\n".join(["- b c"] * 4)]),
        # rules only between blocks
        ("<p>a b<hr><p>c d", 3, ["a b", "c d"]),
        ("<p>a b<hr><p>c d", 4, ["a b\n\n***\n\nc d"]),
        ("<img src=/i alt='a b'><p>c d", 3, ["![a b](http://example.com/i)", "c d"]),
        ("<h1>a b c d</h1><p>e f", 1, ["# a b c d", "e f"]),
    ],
)
def test_documents_are_cut(html, most, expected):
    assert cut(html, most) == expected


@pytest.mark.parametrize(
    ("html", "most", "overlap", "expected"),
    [
        ("<p>a b. C d.<p>E f.<p>G h i.", 6, 2, ["a b. C d.", "C d.\n\nE f.", "E f.\n\nG h i."]),
        ("<p>a b. C d. E f. G h. I j. K l.", 8, 2, ["a b. C d. E f.", "E f. G h. I j. K l."]),
        ("<p>a b.<h2>A</h2><p>c d.<p>e f.", 5, 1, ["a b.", "# A\n\nc d.", "e f."]),
        ("<p>a b.<pre>c</pre><p>d e f", 4, 1, ["a b.\n\n```\nc\n```", "```\nc\n```\n\nd e f"]),
        ("<p>a b.<pre>c d e f g</pre>", 4, 2, ["a b.", "```\nc d e f g\n```"]),
    ],
)
def test_chunks_overlap(html, most, overlap, expected):
    assert cut(html, most, overlap) == expected


@pytest.mark.parametrize(("most", "overlap"), [(0, 0), (-1, 0), (4, 3), (4, -1)])
def test_sizes_that_are_refused(most, overlap):
    with pytest.raises(ValueError, match="give at most half"):
        chunks_of(Block("document"), most, overlap)


SENTENCE = st.lists(st.sampled_from(["Go", "On", "Here", "1", "日本"]), min_size=1, max_size=5).map(" ".join)
TEXT = st.lists(SENTENCE, min_size=1, max_size=5).map(". ".join)


def around(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(children.map("<li>{}</li>".format), min_size=1, max_size=4).map("".join)
    return st.one_of(
        st.builds("<blockquote>{}</blockquote>".format, children),
        st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["ul", "ol"]), items),
        st.lists(children, min_size=1, max_size=5).map("".join),
    )


PAGES = st.recursive(
    st.one_of(
        st.builds("<p>{}</p>".format, TEXT),
        st.builds("<p>{}<br>{}</p>".format, SENTENCE, SENTENCE),
        st.builds("<h{0}>{1}</h{0}>".format, st.integers(1, 6), SENTENCE),
        st.builds("<pre>{}\n  x</pre>".format, SENTENCE),
        st.builds("<table><tr><th>{}<th>b<tr><td>c<td>{}</table>".format, SENTENCE, SENTENCE),
        st.just("<hr>"),
    ),
    around,
    max_leaves=25,
)


def text_of(block):
    """The text of a block without children; of a table, that of its cells."""
    cells = " ".join(text_of_runs(cell) for row in block.rows for cell in row)
    return f"{block.text}{cells}{text_of_runs(block.runs)}"


def texts(root, *kinds):
    return [text_of(block) for block in root.walk() if not kinds or block.kind in kinds]


def shown(root):
    """The blocks without children."""
    return [block for block in root.walk() if block.kind not in ("document", "list", "item", "quote")]


def all_words(*roots):
    return [word for root in roots for text in texts(root) for word in WORD.findall(text)]


@given(PAGES, st.integers(1, 30))
def test_chunks_hold_each_word_once_in_order(html, most):
    whole = document(html)
    chunks = chunks_of(whole, most)
    assert all_words(*(chunk.document for chunk in chunks)) == all_words(whole)
    assert [chunk.words for chunk in chunks] == [len(all_words(chunk.document)) for chunk in chunks]
    leaves = [leaf for chunk in chunks for leaf in chunk.leaves]
    assert set(leaves) == {leaf for block in whole.walk() for leaf in block.leaves}


@given(PAGES, st.integers(1, 30), st.integers(0, 15))
def test_only_what_cannot_be_cut_is_larger_than_a_chunk(html, most, overlap):
    whole = document(html)
    paragraphs = ("".join(run.text for run in block.runs) for block in whole.walk() if block.kind == "paragraph")
    sentences = {len(WORD.findall(part)) for text in paragraphs for part in re.split(r"\. |\n", text)}
    for chunk in chunks_of(whole, most, min(overlap, most // 2)):
        if chunk.words > most:
            *headings, last = shown(chunk.document)
            assert all(block.kind == "heading" for block in headings)
            assert sum(len(WORD.findall(text_of(block))) for block in headings) <= most / 2
            assert last.kind in ("code", "table", "heading") or len(WORD.findall(text_of(last))) in sentences


@given(PAGES, st.integers(1, 30), st.integers(0, 15))
def test_code_and_tables_are_whole(html, most, overlap):
    whole = document(html)
    chunks = chunks_of(whole, most, min(overlap, most // 2))
    kept = {text for chunk in chunks for text in texts(chunk.document, "code", "table")}
    assert kept == set(texts(whole, "code", "table"))
    fences = [t.content for chunk in chunks for t in PARSER.parse(chunk.markdown) if t.type == "fence"]
    assert {text.rstrip("\n") for text in fences} == set(texts(whole, "code"))


def above(root):
    """The headings above each block of text, as (its text, their texts), by the levels alone."""
    found = []
    open_headings: list[Block] = []
    for block in root.walk():
        if block.kind == "heading":
            open_headings = [h for h in open_headings if h.level < block.level] + [block]
        if block.kind in ("heading", "code", "table", "paragraph"):
            found.append(tuple(map(text_of, open_headings)))
    return found


@given(PAGES, st.integers(1, 30))
@example("<h1>Go Go Go Go</h1><h2>Go</h2><pre>Go</pre>", 10)
def test_heading_paths_are_those_that_a_reader_follows(html, most):
    whole = document(html)
    expected = above(whole)
    for chunk in chunks_of(whole, most):
        own = [b for b in chunk.document.walk() if b.kind in ("heading", "code", "table", "paragraph")]
        parts = [path for path in expected if path[: len(chunk.headings)] == chunk.headings]
        leading = max(0, sum(1 for _ in takewhile(lambda block: block.kind == "heading", own)) - 1)
        inside = own[leading:]  # of headings in a row, at the start, all but the last have shorter paths
        assert len(parts) >= len({id(b) for b in inside if b.kind != "paragraph"})  # it stands under these headings
        headings = [b for b in own if b.kind == "heading"]
        if len(own) > len(headings) == 1 and own[0].kind == "heading":  # a section, or its start
            assert chunk.headings[-1] == text_of(own[0])


@given(PAGES, st.integers(2, 30))
def test_no_chunk_ends_with_a_heading_that_another_block_follows(html, most):
    """Unless the headings are longer than half of a chunk."""
    short = all(len(WORD.findall(text)) * 6 <= most / 2 for text in texts(document(html), "heading"))
    chunks = [shown(chunk.document) for chunk in chunks_of(document(html), most)]
    for before, after in pairwise(chunks):
        assert not short or before[-1].kind != "heading" or after[0].kind == "heading"


def pieces_of_words(text):
    """A tokenizer whose tokens are parts of words, punctuation and line breaks."""
    return len(re.findall(r"[^\W_]{1,4}|[^\w\s]|_|\n", text))


@given(PAGES, st.integers(1, 30), st.integers(0, 15), st.sampled_from([tokens_of, pieces_of_words]))
def test_no_chunk_has_more_tokens_than_the_limit(html, most, overlap, tokenizer):
    whole = document(html)
    chunks = chunks_of(whole, most, min(overlap, most // 2), tokens=60, tokenizer=tokenizer)
    assert all(tokenizer(chunk.markdown) <= 60 for chunk in chunks)
    if not overlap:
        assert "".join(all_words(*(chunk.document for chunk in chunks))) == "".join(all_words(whole))


LINK = f"<a href='/{'long/' * 30}'>Tea</a>"
HEAD = "<tr><th>kind<th>cups"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>" + "tea " * 30, ["tea " * 14 + "tea"] * 2),
        ("<p>" + "tea" * 50, ["tea" * 25] * 2),
        ("<p>Of " + LINK, ["Of Tea"]),
        ("<p>" + "Tea. " * 20, [" ".join(["Tea."] * 14), " ".join(["Tea."] * 6)]),
        (f"<p>Of<p><img alt=tea src='/{'long/' * 30}'>", ["Of\n\ntea"]),
        (f"<p>Of<p><img src='/{'long/' * 30}'>", ["Of"]),
        ("<pre>" + "tea = 1\n" * 12 + "</pre>", ["```\n" + "tea = 1\n" * 6 + "```"] * 2),
        ("<h2>Tea</h2><pre>" + "x" * 90, ["# Tea\n\n```\n" + "x" * 45 + "\n```", "```\n" + "x" * 45 + "\n```"]),
        (
            f"<table>{HEAD}{'<tr><td>green<td>2' * 6}</table>",
            ["| kind | cups |\n| --- | --- |" + "\n| green | 2 |" * 3] * 2,
        ),
        (
            f"<table>{HEAD.replace('cups', 'tea ' * 15)}<tr><td>green<td>2</table>",
            ["kind " + "tea " * 15 + "green 2"],
        ),
        ("<h1>" + "tea " * 40 + "</h1><p>x", ["# " + "tea " * 19 + "tea", "tea " * 19 + "tea", "x"]),
    ],
)  # fmt: skip
def test_what_has_too_many_tokens_is_cut(html, expected):
    found = page(html)
    assert [chunk.markdown for chunk in chunks_of(document_of(found, every(found)), 1000, tokens=30)] == expected


@given(soups, st.data(), st.integers(1, 12), st.integers(0, 6))
def test_any_page_is_cut(html, data, most, overlap):
    found = page(html)
    keep = masks(data, found)
    whole = document_of(found, keep, own_heading(found))
    overlap = min(overlap, most // 2)
    made = chunk_records(found, whole, chunks_of(whole, most, overlap), np.linspace(0, 0.4, len(keep)))
    for number, record in enumerate(made):
        check(record, CHUNK)
        assert record["id"] == number
        assert record["words"] <= len(WORD.findall(record["markdown"]))
        for path in record["xpaths"]:
            assert len(found.root.getroottree().xpath(path)) == 1
        name = etree.XPath("//*[@id=$name] | //a[@name=$name]")
        _, _, fragment = record["url"].partition("#")
        assert not fragment or name(found.root, name=fragment)


PLACES = """<body id=all><div id=page><a name=top></a><nav><a id=menu href=/>Menu</a></nav>
<main><h1>Title</h1><p>one<sup id=ref1>1</sup> two
<h2 id="a b%">First</h2><p>three four<dl><dt id=term>Term<dd><p>five six<pre>x</pre></dl>
<section id=s><h2><span>2.</span> <a name=inner></a>Second</h2><p>seven</section>
<a name=old></a><h2>Third</h2><p id=term>eight nine<p>ten</main></div>"""


def test_urls_lead_to_the_nearest_place():
    found = page(PLACES)
    keep = every(found)
    keep[found.nodes.strings.index("Menu")] = False
    whole = document_of(found, keep)
    made = chunk_records(found, whole, chunks_of(whole, 3), np.zeros(len(keep)))
    urls = {
        record["markdown"].split("\n")[0]: record["url"].removeprefix("http://example.com/a/b.html") for record in made
    }
    assert urls == {
        "# Title": "",
        "## First": "#a%20b%25",
        "**Term**": "#term",
        "```": "#term",
        "## 2. Second": "#inner",
        "## Third": "#old",
        "ten": "#old",
    }


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<form><input id=search></form><main><h1>A</h1><p>b<p>c</main>", ["", ""]),
        ("<div id=page><div id=content><h1>A</h1><p>b<p>c</div></div>", ["", ""]),
        ("<h1>A</h1><div id=content><p>b<p>c</div>", ["", ""]),
        ("<h1>A</h1><p>b<div id=modal></div><section><p>c</section>", ["", ""]),
        ("<h1>A</h1><p>b<span id=c></span><p>c", ["", "#c"]),
        ("<h1>A</h1><p>b<a name=c></a><p>c", ["", "#c"]),
        ("<h1>A</h1><p>b<input id=c><div id=c><p>c</div>", ["", ""]),  # a browser goes to the first
    ],
)
def test_places_are_in_the_content(html, expected):
    made = records(html, 2)
    assert [record["url"].removeprefix("http://example.com/a/b.html") for record in made] == expected


def test_a_page_without_names_has_its_own_url():
    assert [record["url"] for record in records("<p>a b", 5)] == ["http://example.com/a/b.html"]
    assert [record["url"] for record in records("<body id=x><p>a b", 5)] == ["http://example.com/a/b.html"]


def test_the_own_heading_is_the_first_of_the_path():
    found = page("<title>Tea</title><p>Before<div><h2>Tea</h2></div><h3>Milk</h3><p>Add it")
    whole = document_of(found, every(found), own_heading(found))
    assert [chunk.headings for chunk in chunks_of(whole, 3)] == [("Tea",), ("Tea", "Milk")]


def test_templateness_is_the_mean_over_words():
    found = page("<p>a b c<p>d")
    whole = document("<p>a b c<p>d")
    [record] = chunk_records(found, whole, chunks_of(whole, 9), np.array([0.0, 0.4]))
    assert (record["templateness"], record["words"], record["tokens"]) == (0.1, 4, 3)
    assert record["xpaths"] == ["/html"]


def test_the_parts_of_a_paragraph_have_paths_of_their_own():
    [first, second, third] = records("<p>One <b>two</b>. Three <i>four</i>. Five six.<p>", 2)
    assert first["xpaths"] == ["/html/body/p[1]/text()[1]", "/html/body/p[1]/b", "/html/body/p[1]/text()[2]"]
    assert second["xpaths"] == ["/html/body/p[1]/text()[2]", "/html/body/p[1]/i", "/html/body/p[1]/text()[3]"]
    assert third["xpaths"] == ["/html/body/p[1]/text()[3]"]


@given(soups, st.data(), st.integers(1, 12))
def test_chunks_share_a_leaf_only_where_its_text_is_cut(html, data, most):
    found = page(html)
    whole = document_of(found, masks(data, found), own_heading(found))
    made = chunks_of(whole, most)
    leaves = [leaf for chunk in made for leaf in chunk.leaves]
    assert {leaf for block in whole.walk() if block.kind != "rule" for leaf in block.leaves} == set(leaves)
    assert len(leaves) <= len(set(leaves)) + len(made)


def test_pieces_follow_pagelets():
    whole = document("<p>a b<p>c d<p>e f<p>g h")
    pagelet = {0: 1, 1: 2, 2: 2, 3: 2}
    assert [chunk.markdown for chunk in chunks_of(whole, 6, pagelet=pagelet)] == ["a b", "c d\n\ne f\n\ng h"]


@pytest.mark.parametrize(
    ("most", "tokens"), [(1, 0), (50, 0), (10**400, 0), (50, 100)], ids="one fifty endless tokens".split()
)
@pytest.mark.parametrize(
    "html",
    [
        "".join(f"<h{i % 6 + 1} id=n{i}>deep {i}</h{i % 6 + 1}>" for i in range(3000)),
        f"<h1>{'deep ' * 100_000}</h1>" + "<p>word" * 1000,
        "<p>deep " + "One two. " * 5000,
        "<p>" + "deep" * 250_000,
        "<pre>" + "deep\n" * 200_000 + "</pre>",
        "<ul>" + "<li>deep" * 3000 + "</ul>",
        "<ul><li>" * 600 + "deep <p>a<p>b",
        "<table>" + "<tr><td>deep<td>b" * 5000 + "</table>",
        "<p id='" + "x" * 100_000 + "'>deep" + "<p>word" * 5000,
        "<p>deep" + "<b>x</b> y. Z " * 5000,
    ],
    ids="headings heading sentences word code items lists table name bold".split(),
)
def test_huge_pages(html, most, tokens):
    found, whole = huge(html)
    made = chunk_records(found, whole, chunks_of(whole, most, tokens=tokens), np.zeros(len(found.nodes.leaves)))
    assert not tokens or max(record["tokens"] for record in made) <= tokens
    assert any("deep" in record["markdown"] for record in made)
    assert sum(len(json.dumps(record)) for record in made) < 40 * len(html) + 1_000_000


# settings, crawl, command


def test_an_overlap_needs_chunks_of_twice_its_size():
    with pytest.raises(ConfigError, match="PAGELETS_CHUNKS_OVERLAP is too large: give at most half of the words"):
        Config(chunks=100, chunks_overlap=51)
    with pytest.raises(ConfigError, match="PAGELETS_CHUNKS_OVERLAP is too large"):
        Config(chunks_overlap=1)
    assert Config(chunks=100, chunks_overlap=50).chunks_overlap == 50


def test_a_limit_in_tokens_needs_chunks_and_a_tokenizer_that_counts():
    with pytest.raises(
        ConfigError, match="PAGELETS_CHUNKS_TOKENS is set, but there are no chunks: set PAGELETS_CHUNKS"
    ):
        Config(chunks_tokens=100)
    with pytest.raises(ConfigError, match="PAGELETS_CHUNKS_TOKENS is 49: give a number of tokens from 50"):
        Config(chunks=100, chunks_tokens=49)
    for name in ("no.such:module", "builtins:no", "builtins:str", "builtins", ":", "tests.trees:page"):
        with pytest.raises(ConfigError, match=r"PAGELETS_TOKENIZER has .*, which cannot be used"):
            Config(tokenizer=name)
    options = RecordOptions.of(Config(chunks=100, chunks_tokens=60, tokenizer="builtins:len"))
    found = page("<h1>Tea</h1>" + "<p>All about green tea." * 6)
    made = PageRecord(found, decided(found, Site("example.com")), options=options).chunks
    assert [record["tokens"] for record in made] == [len(record["markdown"]) for record in made]
    assert len(made) > 1
    assert max(record["tokens"] for record in made) <= 60


def another_section(name):
    code = text_of_page("code" + name, 20)
    return f"<h2 id=more>More of it</h2><p>{text_of_page('more' + name, 30)}<pre>{code}\n  more</pre>"


def test_a_crawl_and_the_command(tmp_path):
    names = ["home", *"abcdef"]
    routes = menu_site(*names, more=another_section)
    feeds = {str(tmp_path / "feed.parquet"): {"format": "parquet"}}
    settings = {"PAGELETS_CHUNKS": 65, "PAGELETS_CHUNKS_OVERLAP": 2, "FEEDS": feeds}
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        home = server.url("")
    assert found.errors == []
    assert found.stat("chunks") == sum(len(line["chunks"]) for line in found.lines) == 2 * len(names)
    line = next(line for line in found.lines if line["url"] == f"{home}a")
    one, other = line["chunks"]
    for record in line["chunks"]:
        check(record, CHUNK)
    assert one["markdown"] == f"# Heading a\n\n{text_of_page('a')}"
    assert (one["headings"], one["url"], one["words"]) == (["Heading a"], f"{home}a", 62)
    assert other["markdown"].startswith("## More of it\n\nmoreaword0")
    assert (other["headings"], other["url"]) == (["Heading a", "More of it"], f"{home}a#more")
    done = scrapy("pagelets", "chunks", str(tmp_path / "feed.jsonl"), cwd=tmp_path)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 2 * len(names))
    mine = [line for line in lines if line["page"] == f"{home}a"]
    about = {name: line[name] for name in ("title", "headline", "language", "fetched_at", "near_duplicate_of")}
    expected = [{"page": line["url"], **about, **chunk} for chunk in line["chunks"]]
    assert mine == [one | other for one, other in zip(mine, expected, strict=True)]
    assert mine[0]["headline"] == "Heading a"
    saved = scrapy("pagelets", "chunks", "feed.parquet", "-o", "chunks.jsonl", cwd=tmp_path)
    assert (saved.returncode, saved.stdout, saved.stderr) == (0, "", "")
    assert sorted((tmp_path / "chunks.jsonl").read_text().splitlines()) == sorted(done.stdout.splitlines())


def run(*arguments):
    parser = ArgumentParser()
    command.add_arguments(parser)
    return run_command(command.run, parser.parse_args(list(map(str, arguments))))


def feed(folder, *lines):
    path = folder / "feed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


PIECE = records("<h1>Tea</h1><p>日本 \x1b", 5)[0]


def test_near_duplicates_can_be_left_out(tmp_path, capsys):
    pages = [
        {"url": "http://h/a", "chunks": [PIECE, PIECE]},
        {"url": "http://h/b", "chunks": [PIECE], "near_duplicate_of": "http://h/a"},
        {"url": "http://h/c", "chunks": []},
        {"url": "http://h/d.pdf"},
    ]
    path = feed(tmp_path, *pages)
    assert run(path) == 0
    out, error = capsys.readouterr()
    assert [json.loads(line)["near_duplicate_of"] for line in out.splitlines()] == [None, None, "http://h/a"]
    assert error == "1 line has no chunks: left out\n"
    assert out.isascii()
    assert run(path, "--no-duplicates") == 0
    assert [json.loads(line)["page"] for line in capsys.readouterr().out.splitlines()] == ["http://h/a"] * 2


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            [{"url": "http://h/", "markdown": "# A"}],
            "no line has chunks, the first one has only url, markdown; "
            "crawl with -s PAGELETS_CHUNKS=200 to have chunks of 200 words\n",
        ),
        ([{"url": "http://h/", "chunks": "x"}], "chunks is 'x', not a list\n"),
        ([{"url": "http://h/", "chunks": ["x"]}], "a chunk is 'x', not an object"),
        ([{"url": "http://h/", "chunks": [PIECE | {"words": "x"}]}], "chunk.words is 'x', not a whole number\n"),
        ([], "it has no pages\n"),
    ],
)
def test_feeds_that_are_refused(tmp_path, capsys, lines, sentence):
    path = feed(tmp_path, *lines)
    assert run(path, "-o", tmp_path / "out") == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert sentence in error
    assert not (tmp_path / "out").exists()


def test_files_that_cannot_be_written(tmp_path, capsys):
    path = feed(tmp_path, {"url": "http://h/", "chunks": [PIECE]})
    before = path.read_bytes()
    assert run(path, "-o", path) == 1
    assert capsys.readouterr().err == f"{path} is the feed itself: give another file to write\n"
    assert path.read_bytes() == before
    assert run(path, "-o", tmp_path) == 1
    assert capsys.readouterr().err == f"{tmp_path} cannot be written: Is a directory\n"
    assert run(tmp_path / "none", "-o", path) == 1
    assert path.read_bytes() == before


def test_a_pipe_that_closes_ends_the_command_quietly(tmp_path):
    path = feed(tmp_path, *({"url": f"http://h/{n}", "chunks": [PIECE] * 9} for n in range(1000)))
    ends_quietly_when_its_pipe_closes("pagelets", "chunks", str(path))


def test_the_top_of_a_page_needs_no_fragment():
    for name, expected in (("top", "http://example.com/a/b.html"), ("tea", "http://example.com/a/b.html#tea")):
        read = page(f"<a id={name}></a><p>All about tea")
        assert NamedPlaces(read, document_of(read, np.array([True]))).url(0) == expected
