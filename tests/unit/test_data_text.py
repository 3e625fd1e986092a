"""Pages whose text is only in their data, and shells that need a browser."""

import json
from html import escape

import pytest

from scrapy_pagelets.page.data_text import is_shell, with_data
from scrapy_pagelets.page.page import Page

STORY = "The boat left at six, and nobody on the pier had slept. It came back with two baskets of herring, and a seal."
SECOND = "On the third day the wind turned, so that the crew stayed at home and mended what the rocks had torn."
ROOT = '<div id="__next"><p>Loading...</p></div>'


def script(data, **attributes):
    named = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<script{named}>{data if isinstance(data, str) else json.dumps(data)}</script>"


def page(*parts):
    return Page.parse(
        f"<html><head><title>Boats</title></head><body>{''.join(parts)}</body></html>".encode(), "http://a/"
    )


def added(*parts):
    """The runs of text that the data of a page add."""
    received = page(*parts)
    found = with_data(received)
    return found.nodes.strings[len(received.nodes.strings) :]


NEXT = {"id": "__NEXT_DATA__", "type": "application/json"}
POST = {"title": "Herring", "slug": "herring", "body": STORY}


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        ({"props": {"pageProps": {"post": POST}}}, ["Herring", STORY]),
        ({"props": {"post": POST | {"body": f"<h2>Out</h2><p>{STORY}</p>"}}}, ["Herring", "Out", STORY]),
        ({"post": {"blocks": [{"t": "p", "text": STORY}, {"t": "h", "text": "Wind"}, {"t": "p", "text": SECOND}]}},
         [STORY, "Wind", SECOND]),
        ({"post": POST | {"body": f"{STORY}\n\nFish &amp; chips"}}, ["Herring", STORY, "Fish & chips"]),
        ({"teaser": f"{STORY} {SECOND} {STORY}", "post": POST}, ["Herring", STORY]),
        ({"i18n": {"body": SECOND * 3}, "css": {"text": f"a {{ {STORY} }}"}, "post": POST}, ["Herring", STORY]),
        (["Reactive", 1, {"body": 3}, STORY, "about-us", SECOND], [STORY, SECOND]),
        ({"post": POST | {"body": f"\ud800\x00{STORY}"}}, ["Herring", f"\ufffd{STORY}"]),
        ({"user": None, "labels": ["Home", "Help"]}, []),
    ],
)  # fmt: skip
def test_the_data_of_a_shell_have_its_text(data, texts):
    assert added(ROOT, script(data, **NEXT)) == texts


def test_scripts_parse_data_or_add_to_it():
    parsed = f"window.__APOLLO_STATE__ = JSON.parse({json.dumps(json.dumps({'post': POST}))});"
    assert added(ROOT, script(parsed)) == ["Herring", STORY]
    shown = '5:["$","article",null,{"children":[["$","p",null,{"children":"%s"}],["$","p",null,{"children":"%s"}]]}]\n'
    lines = f'1:"$Sreact.fragment"\n{shown % (STORY, SECOND)}'
    parts = [f"self.__next_f.push([1,{json.dumps(part)}])" for part in (lines[:40], lines[40:])]
    assert added(ROOT, script("(self.__next_f=self.__next_f||[]).push([0])"), *map(script, parts)) == [STORY, SECOND]


@pytest.mark.parametrize("name", ["window.__INITIAL_STATE__", "self.__NUXT__", "window.APP.state"])
def test_scripts_set_variables_to_data(name):
    assert added(ROOT, script(f"{name} = {json.dumps({'post': POST})};run()")) == ["Herring", STORY]
    assert added(ROOT, script(f"{name} = (function(a){{return {{body: a}}}}('{STORY}'))")) == []


def test_attributes_have_data_and_data_have_strings_with_data():
    posts = [{"username": "ana", "cooked": f"<p>{text}</p>"} for text in (STORY, SECOND)]
    categories = {"categories": [{"description_text": SECOND[::-1] + " All about boats and their crews, at any time."}]}
    preloaded = {"site": json.dumps(categories), "topic_7": json.dumps({"post_stream": {"posts": posts}})}
    data = escape(json.dumps(preloaded))
    discourse = f'<div class="hidden" id="data-preloaded" data-preloaded="{data}"></div><section id="main"></section>'
    assert added(discourse, "<script src=/start.js></script>") == [STORY, SECOND]
    inertia = escape(json.dumps({"component": "Post", "props": {"post": POST}, "version": "7" * 300}))
    assert added(f'<div id="app" data-page="{inertia}"></div><script src=/app.js></script>') == ["Herring", STORY]


def test_json_ld_has_the_text_of_a_bare_page():
    article = {"@type": "NewsArticle", "headline": "Herring", "articleBody": f"{STORY}\n{SECOND}"}
    assert added("<img src=a.png>", script(article, type="application/ld+json")) == ["Herring", STORY, SECOND]
    other = article | {"@type": "Organization"}
    assert added("<img src=a.png>", script(other, type="application/ld+json")) == []


def test_a_page_with_its_text_stays_as_it_is():
    article = {"@type": "NewsArticle", "articleBody": STORY}
    whole = page(f"<p>{STORY}</p><p>{SECOND}</p><p>{STORY}</p>", script(article, type="application/ld+json"))
    assert with_data(whole) is whole
    short = page(f"<p>{STORY}</p>", script(article, type="application/ld+json"))
    assert with_data(short) is short


def test_the_text_of_data_has_no_place_in_the_page_as_received():
    received = page(ROOT, script({"post": POST}, **NEXT))
    found = with_data(received)
    assert [len(each.root.findall(".//article")) for each in (received, found)] == [0, 1]
    assert found.received.tolist() == [0, -1, -1]
    assert found.source is received


@pytest.mark.parametrize(
    "data",
    [
        "[" * 50_000,
        '{"body":' * 50_000,
        json.dumps({"body": ["word " * 30] * 50_000}),
        json.dumps({f"body{number}": "word " * 30 for number in range(20_000)}),
        json.dumps({"body": "<p>" + "<b>" * 150_000 + STORY}),
        json.dumps({"body": "<div>" * 5_000 + STORY}),
    ],
)
def test_hostile_data_are_read_within_bounds(data):
    found = with_data(page(ROOT, script(data, **NEXT)))
    assert sum(map(len, found.nodes.strings)) < 600_000


@pytest.mark.parametrize(
    "parts",
    [
        ('<div id="root"></div>', script("", src="/app.js")),
        ("<app-shell></app-shell>", script("", src="/app.js", type="module")),
        ('<div class="mount"></div>', script("", src="/app.js")),
        ("<p>Shop</p><noscript>Bitte JavaScript einschalten</noscript>", script("start()")),
        (ROOT, script({"page": "/"}, **NEXT)),
    ],
)
def test_shells(parts):
    assert is_shell(page(*parts))


@pytest.mark.parametrize(
    "parts",
    [
        ('<div id="root"></div>',),
        ('<div id="root"></div>', script({"@type": "WebSite"}, type="application/ld+json")),
        (f'<div id="root"><p>{STORY} {SECOND} {STORY}</p></div>', script("", src="/app.js")),
        (f'<p>{STORY}</p><div id="fb-root"></div>', script("", src="/sdk.js")),
        ("<h1>Closed until May</h1><noscript><img src=/pixel.gif></noscript>", script("count()")),
        ('<div id="app"><a href="/a"><img src="a.jpg"></a></div>', script("", src="/app.js")),
    ],
)
def test_pages_that_are_no_shells(parts):
    assert not is_shell(page(*parts))
