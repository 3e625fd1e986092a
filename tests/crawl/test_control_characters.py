"""A page with terminal control characters: which of them reach feeds, commands and logs."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.base.characters import quoted, readable, visible, without_controls
from scrapy_pagelets.crawler.commands.crawling import lines
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import cleaned
from tests.crawling import answer, crawl, page, scrapy
from tests.server import SiteServer
from tests.trees import every

#: Clears the screen, names the window, starts a sequence in one character, turns the writing, ends a line for some.
RAW = "\x1b[2J\x1b]0;owned\x07 \x9b31m \x7f\x08\u202e \u2028\u2029\x0b\x0c\x85 \ufffe\uffff"
REFERENCES = "&#27;[2J&#x1b;]0;&#7; &#x202e; &#8232;&#x2029; &#11;&#12; &#xfffe;&#65535; &#xd800;"
#: What no line of a feed may have: it would break XML, steer a terminal, or end the line for some reader.
FORBIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
ADDRESS = "a\x1b[2Jb\x9b\u202e"
characters = st.text(st.one_of(st.characters(), st.sampled_from(RAW + "\0\ud800 ab\n\r\t")))


@given(characters)
def test_readable_text_has_no_control_characters_and_keeps_the_rest(text):
    found = readable(text)
    assert not FORBIDDEN.search(found)
    assert readable(found) == found
    kept = FORBIDDEN.sub("", text).split()
    assert "".join(found.replace("\ufffd", "").split()) == "".join(kept).replace("\ufffd", "")


@given(characters)
def test_visible_text_is_one_line_that_steers_nothing(text):
    found = visible(text)
    assert all(c.isprintable() or c in "\xad\u200c\u200d" for c in found)
    assert visible(found) == found
    assert text != text.encode("ascii", "ignore").decode() or not text.isprintable() or found == text


@given(characters)
def test_queries_and_addresses_lose_them_as_well(text):
    assert not FORBIDDEN.search(without_controls(text))
    assert not FORBIDDEN.search(quoted(text))


@given(characters)
def test_any_text_in_a_page_gives_html_that_xml_can_hold(text):
    found = Page.parse(
        f"<title>{text}</title><pre>{text}</pre><a href='/{text}' title='{text}'>{text}</a>".encode("utf-8", "replace"),
        "http://h/",
    )
    html = cleaned(found, every(found))
    assert not FORBIDDEN.search(html + found.title + "".join(found.nodes.strings))


def test_white_space_in_pre_is_that_of_a_reader():
    found = Page.parse("<pre>one\x0ctwo&#13;three\x85four\x1ffive\x08six</pre>".encode(), "http://h/")
    assert found.nodes.strings == ["one\ntwo\nthree\nfour five six"]


def test_a_run_of_nothing_else_is_no_word_and_leaves_paths_as_they_are():
    found = Page.parse(b"<p>un\x08<b>x</b>\x1b<i>y</i>\x01 do</p>", "http://h/")
    assert found.nodes.strings == ["un", "x", "y", "do"]
    assert found.nodes.words.sum() == 4
    paths = [found.nodes.xpath(row) for row in found.nodes.leaves.tolist()]
    assert [str(found.root.xpath(path)[0]) for path in paths] == ["un\x08", "x", "y", "\x01 do"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The feed of a site that writes to terminals, in JSON lines and in XML, and the log of its crawl."""
    folder = tmp_path_factory.mktemp("hostile")
    routes = {}
    for name, bad in (("", RAW), ("a", REFERENCES), ("b", RAW + REFERENCES)):
        body = page(f"home {bad}", ["/", "/a", "/b"], more=f"<p>bell {bad} end</p><pre>bell {bad} end</pre>")
        body = body.replace("</body>", f"<p><a href='/x{bad}'>A link {bad} of this</a></p></body>")
        routes[f"/{name}"] = answer(body.encode())
    settings = {
        "PAGELETS_EXPORT": "all",
        "PAGELETS_FORMATS": "text,markdown,html",
        "FEEDS": {str(folder / "feed.xml"): {"format": "xml"}, str(folder / "feed.jsonl"): {"format": "jsonlines"}},
    }
    with SiteServer(routes=routes) as server:
        found = crawl(folder, "site", url=server.url(""), settings=settings, feed="other.jsonl")
    return folder, found


def test_feeds_of_such_pages_are_read_by_everybody(hostile):
    folder, found = hostile
    assert len(found.lines) == 3
    text = (folder / "feed.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 3
    assert not FORBIDDEN.search("".join(strings(found.lines)))
    assert all("bell" in line[form] for line in found.lines for form in ("text", "markdown", "html"))
    assert len(etree.parse(folder / "feed.xml").findall("item")) == 3
    assert not FORBIDDEN.search(found.log)


def strings(value):
    """All strings in a value, except keys."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(part)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "FEED"),
        ("duplicates", "FEED"),
        ("duplicates", "FEED", "--pagelets", "--across", "0.1"),
        ("rank", "FEED", "--query", "bell", "--within"),
        ("rank", "FEED", "--pagerank", "--within"),
        ("rank", "FEED", "--related", f"http://one.example/{ADDRESS}", "--within"),
        ("index", "FEED", "INDEX"),
        ("search", "INDEX", "bell"),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_commands_make_them_visible(tmp_path, arguments):
    """Feeds of other tools may have any control characters."""
    feed, index = tmp_path / "feed.jsonl", tmp_path / "pages.sqlite"
    bad = RAW + "\ud800\r\n"
    feed.write_text("".join(json.dumps(line) + "\n" for line in foreign(bad)), encoding="utf-8")
    if "search" in arguments:
        assert scrapy("pagelets", "index", str(feed), str(index)).returncode == 0
    names = {"FEED": str(feed), "INDEX": str(index)}
    done = scrapy("pagelets", *(names.get(name, name) for name in arguments))
    assert "Traceback" not in done.stderr
    assert done.stdout + done.stderr
    printed = done.stdout + done.stderr
    assert [c for c in printed if not c.isprintable() and c != "\n"] == []
    assert done.returncode == ("--related" in arguments), done.stderr  # two pages cannot be cited together
    assert r"\x1b" in printed or arguments[0] == "index"


def foreign(bad):
    for number, host in enumerate(("one", "two")):
        other = f"http://{'two' if host == 'one' else 'one'}.example/{ADDRESS}"
        link = {"url": other, "anchor": f"bell {bad}"}
        text = f"bell {bad} rings for all who hear of it"
        links = [link, {"url": "http://three.example/", "anchor": "three"}]  # the first one is not a URL
        pagelet = {"id": 0, "role": "content", "templateness": 0.1, "text": text, "words": 8, "links": links}
        template = {"id": f"{host}{bad}#1", "pages": 2, "share": 0.5}
        about = {"url": f"http://{host}.example/{ADDRESS}", "title": f"Bell {bad}{number}", "template": template}
        yield about | {"text": text, "pagelets": [pagelet], "near_duplicate_of": other, "similarity": 0.9}
    yield about | {"url": "http://three.example/", "text": text, "pagelets": [pagelet]}


def test_a_page_before_and_after_shows_them():
    regions = [("content", "a\u2028b\x85\u202e\x9b"), ("template", "c\x1b[2J")]
    shown = "\n".join(lines("http://h/\x9b", 2, 1, regions, 80, ansi=False))
    assert r"a b \u202e\x9b" in shown
    assert "\x1b" not in shown
    assert r"http://h/\x9b: 2 words kept" in shown
