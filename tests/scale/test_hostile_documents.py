"""Pages whose documents are monstrous or hostile: one crawl in every format, in which no page is lost."""

from __future__ import annotations

import json
from functools import partial

import pytest
from markdown_it import MarkdownIt

from scrapy_pagelets.page.urls import ROOM
from tests.crawling import Crawl, crawl
from tests.server import SiteServer, html

NESTED = "<table><tr><td>outer<td>"
MANY = 10_000
MENU = "<ul>" + "<li><a href=/>entry of a menu</a>" * 5 + "</ul>"
#: Each main part ends with the word that must be in the text.
HOSTILE = {
    "headings": "".join(f"<h{i % 6 + 1}>Chapter {i}</h{i % 6 + 1}>" for i in range(MANY)) + "<p>last chapter",
    "pre": "<pre>" + "let it be = 1;\n" * 340_000 + "last line</pre>",
    "nested": NESTED * 10 + "innermost" + "</table>" * 10,
    "columns": "<table>" + ("<tr>" + "<td>cell" * MANY) * 2 + "<td>outermost</table>",
    "data": f"<p>before<img src='data:image/png;base64,{'A' * 10_000_000}'><a href='data:text/html,x'>afterwards</a>",
    "marks": "<h2># no **heading**</h2><p>![x](y) [a](b) &lt;script> ``` <li>- 1. item<p>~~~ &amp;lt; literally",
    "fences": "<pre>```\nfence\n~~~~\n````` end of it\n```</pre><p><code>``a` b</code> unfenced",
    "directions": "<p>abc \u202edef\u202c \u2067ghi\u2069 \u200fjkl\u200e mno\u0000 <h2>\u202eheading</h2> mirrored",
    "broken": '<script type="application/ld+json">{"headline": "x", [}</script><p>unharmed',
    "hostile": '<script type="application/ld+json">'
    + '{"@graph":' * 3000
    + '[{"@type": "Article", "headline": {"a": 1}, "author": [[[]]], "image": "javascript:x", "datePublished": 1e999}]'
    + "}" * 3000
    + "</script><p>unaffected",
    "base": f"<base href='http://other.example/{'b/' * 1000}'>"
    + "".join(f"<li><a href={i}>Entry {i}</a>" for i in range(10_000))
    + "<p>based",
    "tags": "".join(f"<{'y' * 10_000}>{MENU}" for _ in range(100)) + "<p>tagged",
    "accents": "<h1>a" + "\u0301\u0316" * 100_000 + "</h1><p>b" + "\u0301\u0316" * 300_000 + " accented",
    "formulas": "<span class=katex>" * 500 + "<math>" * 500 + "<mi>x</mi>" + "<p>" + r"\(" * 50_000 + " solved",
}
LAST = {
    "headings": "last chapter", "pre": "last line", "nested": "innermost", "columns": "outermost", "data": "afterwards",
    "marks": "literally", "fences": "unfenced", "directions": "mirrored", "broken": "unharmed",
    "hostile": "unaffected", "base": "based", "tags": "tagged", "accents": "accented", "formulas": "solved",
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Crawl:
    menu = "".join(f"<li><a href=/{name}>{name.title()}</a>" for name in HOSTILE)
    head = f"<title>Bad</title><script src=/mathjax.js></script><nav><ul>{menu}</ul></nav>"
    routes = {
        f"/{name}": partial(
            _reply, f"{head}<main><h1>On {name}</h1>{main}</main><footer>Imprint of the society</footer>"
        )
        for name, main in {"": "<p>All that is bad about documents", **HOSTILE}.items()
    }
    with SiteServer(routes=routes) as server:
        settings = {"PAGELETS_FORMATS": "text,markdown,html", "PAGELETS_CHUNKS": 50}
        return crawl(tmp_path_factory.mktemp("hostile"), "site", url=server.url(), settings=settings)


def _reply(body, path):
    return html(body.encode("utf-8", "surrogatepass"), Content_Type="text/html; charset=utf-8")


def test_no_page_is_lost(found):
    assert sorted(line["url"].rpartition("/")[2] for line in found.lines) == sorted(["", *HOSTILE])
    assert found.errors == []


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_last_words_are_there(found, name, form):
    assert LAST[name] in line_of(found, name)[form]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_last_words_are_in_the_last_chunk(found, name):
    chunks = line_of(found, name)["chunks"]
    assert LAST[name] in chunks[-1]["markdown"]
    assert all(chunk["words"] <= 50 for chunk in chunks) or name in ("pre", "columns", "nested", "formulas")


def line_of(found: Crawl, name: str):
    return next(line for line in found.lines if line["url"].endswith(f"/{name}"))


def test_markdown_of_markdown_shows_what_the_page_shows(found):
    tokens = MarkdownIt().parse(line_of(found, "marks")["markdown"])
    assert [token.content for token in tokens if token.type == "fence"] == []
    shown = "".join(child.content for token in tokens for child in token.children or ())
    assert "# no **heading**" in shown
    assert "![x](y) [a](b) <script> ```" in shown
    assert "~~~ &lt; literally" in shown


def test_fences_in_code_do_not_end_it(found):
    fences = [t.content for t in MarkdownIt().parse(line_of(found, "fences")["markdown"]) if t.type == "fence"]
    assert fences == ["```\nfence\n~~~~\n````` end of it\n```\n"]


def test_a_line_is_not_much_longer_than_its_page(found):
    for name, body in HOSTILE.items():
        assert len(json.dumps(line_of(found, name), ensure_ascii=False)) < ROOM + 10 * len(body), name
    assert found.stat("pages/many_links") == 1


def test_inline_data_is_not_copied(found):
    line = line_of(found, "data")
    assert max(len(line[form]) for form in ("text", "markdown", "html")) < 1000
