"""Pages designed to exhaust memory and time are not cleaned, and do not affect other pages."""

from __future__ import annotations

import gzip
import re
import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets import Page
from scrapy_pagelets.base.caches import MOST_BYTES, cached
from scrapy_pagelets.decision.model import heading_tokens, look_tokens
from scrapy_pagelets.evidence.menu_links import labels_action
from scrapy_pagelets.page.flattening import ROOM_OF_LOOKS, flatten
from scrapy_pagelets.page.limits import MAX_ATTRIBUTES, Limits, TooLarge, may_have_long_tag
from scrapy_pagelets.page.looks import signature
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import parse
from scrapy_pagelets.page.text import paths_of
from tests.crawling import ROOT, SITE, crawl, menu_site, page, words
from tests.oracles import flattening, page_text
from tests.server import Reply, SiteServer


def names(number, form="a{}"):
    return " ".join(form.format(i) for i in range(number))


MANY = 2 * MAX_ATTRIBUTES
BOMBS = {
    "elements": "<p>" * 300_000,
    "elements with text": "<p>x" * 300_000,
    "comments": "<!---->" * 500_000,
    "processing instructions": "<?x>" * 200_000,
    "links": "".join(f"<a href=/{i}>{i}</a>" for i in range(200_000)),
    "base": "<base href=/>" * 200_000,
    "attributes": f"<div {names(MANY)}>",
    "attributes with values": f"<div {names(MANY, 'a{}=1')}>",
    "attributes that look like tags": f"""<div {names(MANY, 'a{}="<p>"')}>""",
    "attributes with a tag now and then": "<div " + "".join(f"a{i} " + "b='<p>'" * (not i % 500) for i in range(MANY)),
    "attributes after a comment that opens quotes": f"<!--<p a='--><div {names(MANY)}>",
    "attributes after a script that opens quotes": f'<script>x="<p y=\'";</script><div {names(MANY)}>',
    "attributes after a quote in a name": f'<p x"><div {names(MANY)}>',
    "attributes with a tag behind a null": "<div "
    + "".join(f"a{i} " + "b=\0'<p>'" * (not i % 500) for i in range(MANY)),
    "attributes parted by slashes": f"<div/{names(MANY).replace(' ', '/')}>",
    "attributes of ten elements": f"<div {names(9_900)}>" * 10,
    "attributes of many elements": "<p a b c d e f g h i j k l m n o p q r s t u v w x y z>" * 90_000,
}


@pytest.mark.parametrize("bomb", [pytest.param(bomb + ">", id=name) for name, bomb in BOMBS.items()])
def test_a_bomb_is_refused_before_it_is_parsed(bomb):
    with pytest.raises(TooLarge, match="more than"):
        Page.parse(bomb.encode(), "http://example.com/")


HARMLESS = {
    "text": "word " * 1_000_000,
    "text of short lines": "word\n\n" * 1_000_000,
    "entities": "<p>" + "&amp;" * 1_000_000,
    "a deep page": "<div>" * 90_000,
    "a class of megabytes": f"<p class='{names(300_000)}'>text",
    "data in an attribute": """<p data-x='{"a": "<b>word</b> and words"}'>text""" + "<p data-x='" + "word < " * 50_000,
    "a script of one line": "<script>" + "if (a<b && c) d; " * 50_000 + "</script><p>text",
    "brackets": "<p " + ">" * 1_000_000,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in HARMLESS.items()])
def test_large_pages_are_parsed(body):
    page = Page.parse(body.encode(), "http://example.com/")
    assert len(page.nodes) < 100_000


TEXTS = {
    "headings": lambda text: heading_tokens(text),
    "classes": lambda text: (look_tokens(("div", "", text, "")), signature(("div", "", text, ""))),
    "labels": lambda text: labels_action(text),
}


@pytest.mark.parametrize("compute", [pytest.param(compute, id=name) for name, compute in TEXTS.items()])
def test_no_cache_keeps_texts_of_megabytes(compute):
    tracemalloc.start()
    for letter in "abcdefghij":
        compute(letter * 1_000_000)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1_000_000


def test_a_cache_is_bounded_by_bytes():
    calls = []

    @cached
    def letters(text):
        calls.append(text[:8])
        return tuple(text[:100])

    tracemalloc.start()
    for i in range(10_000):
        letters(f"{i:08}" + "x" * 10_000)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1.5 * MOST_BYTES
    letters("00009999" + "x" * 10_000)
    assert len(calls) == 10_000


def test_all_caches_of_texts_are_bounded_by_bytes():
    """Pages choose the texts, so that a number of entries bounds nothing."""
    sizes = {
        int(number.replace("_", "")): path
        for path in (ROOT / "scrapy_pagelets").rglob("*.py")
        for number in re.findall(r"lru_cache\((?:maxsize=)?([\d_]+)", path.read_text(encoding="utf-8"))
    }
    assert {size: path for size, path in sizes.items() if size > 8} == {}


@pytest.mark.parametrize("form", ["class='{0} {1}'", "id='{1}{0}'", "role='{1}{0}'"])
def test_the_looks_of_a_page_have_a_bound(form):
    body = "".join(f"<p {form.format(i, 'name-' * 100)}>{i}</p>" for i in range(10_000))
    root = parse(body)
    columns, _ = flatten(root, noscript=False)
    assert sum(len(part) for look in columns["looks"] for part in look) < 1.1 * ROOM_OF_LOOKS
    assert len(columns["strings"]) == 10_000
    expected, _ = flattening.flatten(root, noscript=False)
    assert columns["looks"] == expected["looks"]
    assert columns["look"].tolist() == expected["look"].tolist()
    assert columns["path"].tolist() == expected["path"].tolist()


DEEP = {
    "levels": "<div>" * 1900 + "<p>a</p><p>b <b>c</b> d",
    "names": f"<{'y' * 5000}><p>x</p><{'z' * 990}><p>y<i>z",
    "what is between": "<!--c--><div><!-- x --><?pi?>" + "<section><script>x</script>" * 200 + "t<p>u",
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in DEEP.items()])
def test_paths_have_a_bound_and_find_what_they_name(body):
    nodes = Page.parse(body.encode(), "http://example.com/").nodes
    tree = nodes.root.getroottree()
    for row in range(len(nodes)):
        path = nodes.xpath(row)
        assert len(path) < 1100
        [found] = tree.xpath(path)
        if nodes.tag[row] == TEXT:
            assert found.strip() == nodes.strings[nodes.first_leaf[row]]
        else:
            assert found is nodes.elements[row]
    leaves = np.arange(0, len(nodes.leaves), 2)
    assert paths_of(nodes, leaves) == page_text.paths_of(nodes, leaves)


def test_a_title_without_an_end_is_cut_off():
    page = Page.parse(b"<title>\n" + b"word " * 100_000, "http://example.com/")
    assert page.title == ("word " * 1000).strip()


def test_thirty_megabytes_of_text_are_a_page():
    text = "Thirty megabytes of text. " * (30_000_000 // 26)
    page = Page.parse(f"<p>{text}</p>".encode(), "http://example.com/")
    assert page.nodes.strings == [text.strip()]
    assert page.nodes.words.sum() == 4 * (30_000_000 // 26)


def test_the_size_is_limited():
    body = b"<p>" + b"x" * 100
    Page.parse(body, "http://example.com/", limits=Limits(size=103))
    with pytest.raises(TooLarge, match="103 bytes, more than the 102 of PAGELETS_MAX_SIZE"):
        Page.parse(body, "http://example.com/", limits=Limits(size=102))


PIECES = st.sampled_from(
    ["<p", "<!--", "-->", "<script>", "</script>", "<b/", ">", '"', "'", "=", " ", "a", "\0", "x='", 'y="', "</p>", "<"]
)


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(1, 12))
def test_the_bounds_hold_for_any_markup(text, length):
    root = parse(text)
    elements = list(root.iter(etree.Element))
    # `html`, `head` and `body` need no tags.
    assert sum(1 for _ in root.iter()) <= text.count("<") + 4
    if not may_have_long_tag(text.replace("\0", ""), length):
        assert max(len(element.attrib) for element in elements) <= length


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(1, 10))
def test_a_page_is_refused_if_it_has_more_nodes(text, most):
    nodes = sum(1 for _ in parse(text).iter())
    try:
        Limits(nodes=most).check(text)
    except TooLarge:
        assert nodes > most or text.count("<") > most
    else:
        assert nodes <= most + 4


def bomb_site(body):
    """A site with a bomb in its menu, compressed as in an attack."""
    menu = ["/", "/a", "/b", "/bomb", "/c", "/d"]
    routes = {**menu_site("home", "a", "b", "bomb", "c", "d"), "/after": lambda _: (404, {}, b"")}
    routes["/bomb"] = lambda _: Reply(200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, body)
    return menu, routes


@pytest.mark.parametrize("bomb", ["elements with text", "comments", "attributes"])
@pytest.mark.parametrize("settle", [1, 100])
def test_a_bomb_in_a_site(tmp_path, bomb, settle):
    body = gzip.compress(f"<title>B</title><a href=/after>x</a>{BOMBS[bomb]}>".encode())
    menu, routes = bomb_site(body)
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_FIRST_PAGES": settle})
        bombed = server.url("/bomb")
    lines = {line["url"]: line for line in found.lines}
    assert len(lines) == len(found.lines) == len(menu)
    assert lines[bombed]["text"] is None
    assert lines[bombed]["pagelets"] == []
    others = [line for url, line in lines.items() if url != bombed]
    assert all("word" in line["text"] and "Menu" not in line["text"] for line in others)
    assert found.errors == []
    assert len([w for w in found.warnings if "too large" in w and bombed in w and "is not cleaned" in w]) == 1
    assert found.stat("pages/too_large") == 1
    assert found.stat("pages/cleaned") == 5
    assert found.stat("pages/failed") == 0
    assert "/after" not in server.hits


def test_a_bomb_as_key_page_and_with_priorities(tmp_path):
    _, routes = bomb_site(gzip.compress(BOMBS["elements"].encode()))
    routes["/"] = routes["/bomb"]
    with SiteServer(routes=routes) as server:
        (tmp_path / "urls").write_text(f"{server.url('')}\n{server.url('a')}\n")
        found = crawl(
            tmp_path,
            "site",
            urls=tmp_path / "urls",
            settings={"PAGELETS_TOPIC": "word", "PAGELETS_INDEX": str(tmp_path / "index.sqlite")},
        )
    assert len(found.lines) == 6
    assert found.stat("pages/too_large") == 2
    assert found.stat("index/pages") == 4
    assert found.errors == []


def test_a_bomb_in_an_archive(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    for name in "abcde":
        (folder / f"{name}.html").write_text(page(name, ["/a.html", "/b.html"]))
    (folder / "bomb.html").write_text(BOMBS["elements"])
    found = crawl(tmp_path, "archive", path=folder, base="http://example.com/")
    texts = {line["url"].rpartition("/")[2]: line["text"] for line in found.lines}
    assert texts.pop("bomb.html") is None
    assert all(words(name[0]) in text for name, text in texts.items())
    assert len(texts) == 5
    assert found.stat("pages/too_large") == 1
    assert found.errors == []


def test_the_limits_are_settings(tmp_path):
    with SiteServer(SITE) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_MAX_NODES": 500})
        assert found.stat("pages/too_large") > 0
        assert any("more than the 500 nodes of PAGELETS_MAX_NODES" in warning for warning in found.warnings)
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_MAX_SIZE": 10}, feed="small.jsonl")
    assert found.stat("pages/too_large") == len(found.lines) == 1
    for setting in ("PAGELETS_MAX_NODES", "PAGELETS_MAX_SIZE"):
        found = crawl(tmp_path, "site", url="http://127.0.0.1/", settings={setting: 0}, code=1)
        assert [error for error in found.errors if error.startswith(f"{setting} is 0: give a number")]


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of the address space")
@pytest.mark.parametrize("megabytes", [500, 600, 700])
def test_a_crawl_with_too_little_memory_ends_before_it_begins(tmp_path, megabytes):
    """Without the check, OpenBLAS would wait for memory forever in a thread, and block the crawl."""
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20,) * 2)\n"
        "import sys; from scrapy.cmdline import execute; execute()"
    )
    with SiteServer(routes=menu_site("home", "a", "b", "c", "d", "e")) as server:
        command = ["crawl", "site", "-a", f"url={server.url('')}", "-o", str(tmp_path / "feed.jsonl")]
        done = subprocess.run(
            [sys.executable, "-c", program, *command], cwd=ROOT, capture_output=True, text=True, timeout=100
        )
    assert done.returncode == 1
    assert f"the process is limited to {megabytes} MB of memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert server.hits == []
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
