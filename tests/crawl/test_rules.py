"""PAGELETS_RULES: what to keep, to strip, to take as headline and to ignore, by host, in crawls and for archives."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import DETECTIONS
from scrapy_pagelets.rules.host_rules import HostPattern, Rule, Rules, Selector, read
from tests.crawling import ROOT, answer, crawl, menu_site, page, pages_asked_for, run_spider, scrapy, words
from tests.server import SiteServer

NAMES = ["home", *"abcdefg"]
RULES = """\
# What the house wants.
[[rule]]
hosts = ["*.unknown.example"]
strip = "nav"

[[rule]]
hosts = ["other.example", "127.0.0.1"]
keep = [".plain-footer", "//p[@id='slogan']"]
strip = [
    "div.comments",
    ".misspelt",
]
headline = ["h1", ".product"]
ignore_links = [".tag-cloud"]
"""
MORE = """<p class="product">Kettle {name}</p><div class="comments"><p>Comments {own}</p></div>
<ul class="tag-cloud"><li><a href="/tag/one">Tagged one</a><li><a href="/b">Tagged two</a></ul>"""


def rules(tmp_path, text=RULES):
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def own_page(name, menu):
    more = MORE.format(name=name, own=words(f"comment{name}"))
    return page(name, menu, more=more).replace("<p>The slogan", "<p id=slogan>The slogan")


def site():
    paths = ["/", *(f"/{name}" for name in NAMES[1:])]
    routes = {path: answer(own_page(name, paths)) for path, name in zip(paths, NAMES, strict=True)}
    return routes | {"/tag/one": answer(own_page("tagged", paths))}


def marked(html, **selectors):
    """A page with the marks of one rule for its host."""
    found = {action: [Selector.of(one) for one in some] for action, some in selectors.items()}
    rule = Rule(1, [HostPattern.of("example.com")], found)
    return Rules("rules.toml", [rule]).mark(Page.parse(html.encode(), "http://example.com/"))


def content(marked_page, before):
    """The text of the page's content if all its text has one templateness without rules."""
    nodes = marked_page.nodes
    templateness, _ = marked_page.marks.applied(nodes, nodes.words * 0.0 + before)
    return [pagelet.text for pagelet in segment(marked_page, templateness) if pagelet.role == "content"]


def check(line, name):
    """A page of the site as the rules have it: text, pagelets and Markdown agree."""
    pagelets = "\n".join(pagelet["text"] for pagelet in line["pagelets"])
    for text in (line["text"], line["markdown"], pagelets):
        assert "The slogan of the house" in text
        assert "All rights reserved by the house" in text
        assert "Comments" not in text
        assert f"{name}word0" in text
    assert all(pagelet["role"] == "content" for pagelet in line["pagelets"])
    shown = [word for word in line["text"].split() if word != "-"]  # items of lists begin with a hyphen
    assert sum(pagelet["words"] for pagelet in line["pagelets"]) == len(shown)
    assert not any("/tag/" in link["url"] for pagelet in line["pagelets"] for link in pagelet["links"])


def test_a_crawl_obeys_rules_and_counts_what_they_do(tmp_path):
    settings = {"PAGELETS_RULES": str(rules(tmp_path)), "PAGELETS_FORMATS": "text,markdown"}
    with SiteServer(routes=site()) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        assert sorted(pages_asked_for(server.hits)) == ["/", *(f"/{name}" for name in NAMES[1:])]
    assert found.errors == []
    assert len(found.lines) == len(NAMES)
    for line in found.lines:
        check(line, line["title"].split()[-1])
    counted = {name: found.stat(f"rules/127.0.0.1/{name}") for name in (
        "keep/pages", "keep/words", "strip/pages", "headline/pages", "headline/words", "ignore_links/pages",
        "ignore_links/links",
    )}  # fmt: skip
    pages = len(NAMES)
    assert counted == {
        "keep/pages": pages,
        "keep/words": 11 * pages,
        "strip/pages": pages,
        "headline/pages": pages,
        "headline/words": 4 * pages,
        "ignore_links/pages": pages,
        "ignore_links/links": 2 * pages,
    }
    assert found.stat("rules/127.0.0.1/strip/words") >= 20 * pages  # of 60 each, those that were not template anyway
    assert found.stat("rules/no_page") == found.stat("rules/no_element") == 1
    assert found.warnings == [
        f"no page came from the hosts of these rules of {tmp_path}/rules.toml: *.unknown.example (line 2)",
        f"these selectors of {tmp_path}/rules.toml matched nothing on any page: .misspelt (line 11)",
    ]


def test_ignored_links_are_not_loaded_for_a_template(tmp_path):
    path = rules(tmp_path, "[[rule]]\nhosts = ['*']\nignore_links = ['.plain-menu']\n")
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_RULES": str(path)})
        assert pages_asked_for(server.hits) == ["/"]
    assert found.stat("rules/*/ignore_links/links") == len(NAMES)
    assert found.errors == []


@pytest.mark.parametrize("detection", DETECTIONS)
def test_each_method_obeys_rules_in_an_archive(tmp_path, detection):
    folder = tmp_path / "pages"
    folder.mkdir()
    menu = [f"/{name}.html" for name in NAMES]
    for name in NAMES:
        (folder / f"{name}.html").write_text(own_page(name, menu), encoding="utf-8")
    # The methods that compare pagelets take the whole content of these pages for template.
    text = RULES.replace("127.0.0.1", "*.house.example").replace("keep = [", "keep = ['h1 + p', ")
    path = rules(tmp_path, text)
    settings = {"PAGELETS_RULES": str(path), "PAGELETS_FORMATS": "text,markdown", "PAGELETS_DETECTION": detection}
    found = crawl(tmp_path, "archive", path=folder, base="http://www.house.example/", settings=settings)
    assert len(found.lines) == len(NAMES)
    for line in found.lines:
        check(line, line["title"].split()[-1])
    assert found.stat("rules/*.house.example/strip/pages") == len(NAMES)


def test_near_duplicates_are_compared_without_what_is_stripped(tmp_path):
    text = "[[rule]]\nhosts = ['*']\nstrip = ['.comments']\n"
    same = page("same", ["/", "/a"], more=f"<p>{words('more', 240)}")
    routes = {
        f"/{name}": answer(same.replace("</h1>", f"</h1><div class=comments>{words(f'own{name}', 200)}</div>"))
        for name in ("", "a")
    }
    with SiteServer(routes=routes) as server:
        url, settings = server.url(""), {"PAGELETS_RULES": str(rules(tmp_path, text))}
        without = crawl(tmp_path, "site", feed="without.jsonl", url=url)
        found = crawl(tmp_path, "site", settings=settings, url=url)
    assert [line["near_duplicate_of"] for line in without.lines] == [None, None]
    assert sorted(line["near_duplicate_of"] or "" for line in found.lines) == ["", server.url("")]


def test_rendered_pages_are_matched_as_scripts_have_left_them(tmp_path):
    script = "<script>document.querySelector('.comments').className = 'made-by-script'</script>"
    path = rules(tmp_path, "[[rule]]\nhosts = ['*']\nstrip = ['.made-by-script']\n")
    routes = {"/": answer(page("home", more=MORE.format(name="home", own="of the readers") + script))}
    with SiteServer(routes=routes) as server:
        settings = {"PAGELETS_RULES": str(path), "PAGELETS_RENDER": 1}
        found = crawl(tmp_path, "site", url=server.url(""), pages=1, settings=settings)
    [line] = found.lines
    assert "homeword0" in line["text"]
    assert "of the readers" not in line["text"]
    assert found.stat("render/pages") == 1


def test_ignored_links_get_no_priority(tmp_path):
    spider = """
        class Stranger(scrapy.Spider):
            name = "stranger"

            async def start(self):
                yield Request(self.url)

            def parse(self, response):
                for path in ("/a", "/tag/one"):
                    yield response.follow(path, self.told)

            def told(self, response):
                yield {"path": response.url, "priority": response.request.priority}
    """
    more = '<p>Kettles: <a href="/a">kettles</a> <span class="tag-cloud"><a href="/tag/one">kettles</a></span></p>'
    routes = {"/": answer(page("home", more=more)), "/a": answer(page("a")), "/tag/one": answer(page("one"))}
    settings = {"PAGELETS_TOPIC": "kettles", "PAGELETS_PROBE": 0}
    with SiteServer(routes=routes) as server:
        for given, priorities in ({}, [True, True]), ({"PAGELETS_RULES": str(rules(tmp_path))}, [True, False]):
            (tmp_path / "feed.jsonl").unlink(missing_ok=True)
            found = run_spider(tmp_path, spider, url=server.url(""), settings=settings | given)
            told = sorted((line["path"], line["priority"] > 0) for line in found.lines)
            assert [high for _, high in told] == priorities
    assert found.stat("priority/ignored") == 1


def test_view_obeys_rules(tmp_path):
    path = rules(tmp_path, "[[rule]]\nhosts = ['*']\nkeep = 'h1'\nstrip = ['p']\n")
    with SiteServer(routes={"/": answer("<h1>Kettles</h1><p>All there is to say of kettles.</p>")}) as server:
        command = ["view", server.url(""), "--out", str(tmp_path / "x.html")]
        done = scrapy("pagelets", "-s", f"PAGELETS_RULES={path}", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[1:3]] == ["content", "template"]
    path.unlink()
    done = scrapy("pagelets", "-s", f"PAGELETS_RULES={path}", *command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{path} cannot be read: No such file or directory\n")


def test_a_selector_that_finds_no_elements_is_told_once(tmp_path):
    path = rules(tmp_path, "[[rule]]\nhosts = ['*']\nstrip = ['//a/@href | //none', '.comments']\n")
    with SiteServer(routes=site()) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_RULES": str(path)})
    assert "'//a/@href | //none' selects something other than elements on http://" in found.warnings[0]
    assert found.warnings[0].startswith(f"{path}, line 3: ")
    assert len([line for line in found.warnings if "other than elements" in line]) == 1
    assert found.stat("rules/failed") == len(found.lines)
    assert all("Comments" not in line["text"] for line in found.lines)


def test_bad_rules_end_a_crawl_before_it_begins(tmp_path):
    path = rules(tmp_path, RULES.replace("div.comments", "div..comments"))
    with SiteServer(routes=site()) as server:
        settings = {"PAGELETS_RULES": str(path)}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
        assert server.hits == []
    sentence = f"{path}, line 10: 'div..comments' is not a CSS selector: Expected ident, got <DELIM '.' at 4>"
    assert found.errors == [f"PAGELETS_RULES cannot be used: {sentence}"]


def test_the_example_of_the_documents_is_read(tmp_path):
    [example] = re.findall(r"^```toml\n(\[\[rule.*?)^```$", (ROOT / "docs" / "settings.md").read_text(), re.M | re.S)
    assert read(str(rules(tmp_path, example))).without_page() == [
        "*.example.com (line 1)",
        "intranet.example.org:8000, 127.0.0.1 (line 8)",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ", line 1: there is no rule: write [[rule]]"),
        ("[[rule]\n", ", line 1: this is not TOML: Expected ']]'"),
        ("\n\nrule = \n", ", line 3: this is not TOML: Invalid value"),
        ('[[rule]]\nhosts = ["a', ", line 2: this is not TOML: Unterminated string"),
        ("[[rule]]\nhosts = ['a'", ", line 2: this is not TOML: Unclosed array"),
        ("\n[rule]\nhosts = 'a'\n", ", line 2: write [[rule]], with two brackets, for each rule"),
        ("rule = 3", ", line 1: write [[rule]], with two brackets"),
        ("[[rules]]\nhosts = 'a'\n", ", line 1: there is no table 'rules': write [[rule]]"),
        ("[[rule]]\nkeep = 'p'", ", line 1: the rule has no hosts: give them, as in hosts = ["),
        ("# first\n\n[[rule]]\nhosts = []\nkeep = 'p'", ", line 3: the rule has no hosts"),
        ("rule = [{hosts = 'a', keep = 'p'},\n{keep = 'p'}]", ", line 2: the rule has no hosts"),
        ("\n[[rule]]", ", line 2: the rule has no hosts"),
        ("[[rule]]\nhosts = 'a'", ", line 1: the rule does nothing: give keep, strip, headline or ignore_links"),
        ("[[rule]]\nhosts = 'a'\nkeep = []", ", line 1: the rule does nothing"),
        (
            "[[rule]]\nhosts = 'a'\n'ignore links' = 'p'",
            ", line 3: there is no key 'ignore links': did you mean",
        ),
        ("[[rule]]\nhosts = 'a'\nstripp = 'p'", ", line 3: there is no key 'stripp': did you mean strip?"),
        ("[[rule]]\nhosts = 'a'\nkeep = 5", ", line 3: keep is 5: give a list of CSS selectors or XPaths"),
        ("[[rule]]\nhosts = 'a'\nkeep = ['p', ['b']]", ", line 3: keep is ['p', ['b']]: give a list of CSS"),
        ("[[rule]]\nhosts = {a = 'b'}", ", line 2: hosts is {'a': 'b'}: give a list of host patterns"),
        (
            "[[rule]]\nhosts = [\n'a',\n'http://b/']\n",
            ", line 4: 'http://b/' is not a host pattern: give ex",
        ),
        ("[[rule]]\nhosts = 'a'\nkeep = 'a'\nstrip = ['p', 'a', '']", ", line 4: '' is not a CSS selector"),
        ("[[rule]]\nhosts = 'p >'\n", ", line 2: 'p >' is not a host pattern"),
        ('[[rule]]\nhosts = "a"\nkeep = """\np\n>"""', ", line 3: 'p\\n>' is not a CSS selector"),
        ('[[rule]]\r\nhosts = "a"\r\nkeep = "\\u007b"', ", line 3: '{' is not a CSS selector"),
        ("[[rule]]\nhosts = 'a'\nkeep = 'a'  # p >\nstrip = ['p >']", ", line 4: 'p >' is not a CSS selector"),
        ("a = " + "[" * 100_000, ""),
        (f"[[rule]]\nhosts = 'a'\nkeep = '{'x' * 5000}>'", ", line 3: 'xxx"),
    ],
)
def test_a_file_that_is_not_of_rules_is_refused_with_its_line(tmp_path, text, sentence):
    path = tmp_path / "rules.toml"
    path.write_bytes(text.encode())
    with pytest.raises(ConfigError) as refused:
        read(str(path))
    told = str(refused.value)
    assert told.startswith(f"{path}{sentence}")
    assert "\n" not in told
    assert len(told) < 500


@pytest.mark.parametrize(("name", "body"), [("none.toml", None), ("bytes.toml", b"\xff\xfe\0"), ("", None)])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, body):
    path = tmp_path / name
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(ConfigError, match=r"^\S+ (cannot be read: [A-Z].*|is not TOML: it is not UTF-8)$"):
        read(str(path))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("p::before", "is not a CSS selector"),
        ("p::text", "is not a CSS selector"),
        ("p:unknown", "is not a CSS selector: The pseudo-class :unknown is unknown"),
        (":not(" * 5000, "is not a CSS selector"),
        ("//p[", "is not an XPath: Invalid expression"),
        ("//p[foo(.)]", "is not an XPath: there is no function foo"),
        ("//p[re:test(., 'x')]", "is not an XPath"),
        ("//x:p", "is not an XPath for HTML: it has the prefix x"),
        ("//p[$x]", "is not an XPath for HTML: it has a variable"),
        ("/\0", "is not an XPath"),
        ("count(//p)", "selects a number: give an XPath of elements"),
        ("string(//p)", "selects a string: give an XPath of elements"),
        ("(//p) and (//b)", "selects a truth value: give an XPath of elements"),
        ("//p/text()", "selects attributes, text or comments"),
        ("/html/body/div[2]/text()[1]", "selects attributes, text or comments"),
        ("//a/@href", "selects attributes, text or comments"),
    ],
)
def test_a_selector_of_no_elements_is_refused(written, problem):
    with pytest.raises(ValueError, match=r"^(is not|selects)") as refused:
        Selector.of(written)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    "written",
    ["p", "div.a > p:nth-child(2)", "  .b", "#x, [title='(']", "//p", "(//p)[1]", ".//p", "//p[contains(., '$x y:z(')]",
     "//p[not(@id) and (@class or position() = 1)]/..", "//a/@href/..", "//div/descendant::p", "id('x')",
     "//*[@xml:lang]", "/html/body/div[2]"],
)  # fmt: skip
def test_selectors_of_elements(written):
    assert Selector.of(written).elements(Page.parse(b"<div>a</div>", "http://h/").root) is not None


@pytest.mark.parametrize(
    ("pattern", "hosts", "others"),
    [
        ("example.com", ["http://example.com/", "https://Example.com:8000/a"], ["http://www.example.com/"]),
        ("*.example.com", ["http://example.com/", "http://a.b.example.com/"], ["http://anexample.com/", "file:///a"]),
        ("example.com:8000", ["http://example.com:8000/"], ["http://example.com/", "http://example.com:80000/"]),
        ("[::1]", ["http://[::1]:8000/"], ["http://[::2]/"]),
        ("*", ["http://example.com/", "file:///a/b.html", "http://[broken"], []),
        ("Bücher.example", ["http://xn--bcher-kva.example/", "http://bücher.example/"], ["http://bucher.example/"]),
    ],
)
def test_hosts_of_a_pattern(pattern, hosts, others):
    rule = Rule(1, [HostPattern.of(pattern)], {"headline": [Selector.of("p")]})
    some = Rules("rules.toml", [rule])
    pages = {url: Page.parse(b"<p>Words", url) for url in hosts + others}
    assert [url for url in pages if some.mark(pages[url]).marks.headline] == hosts
    assert all(some.mark(pages[url]) is pages[url] for url in others)


@pytest.mark.parametrize(
    "pattern", ["", "**", "*example.com", "a.*", "http://a", "a/b", "a b", "a:b", "user@a", "*.", ":80"]
)
def test_what_is_not_a_host_pattern(pattern):
    with pytest.raises(ValueError, match=r"^is not a host pattern: give example\.com"):
        HostPattern.of(pattern)


@pytest.mark.parametrize(
    ("selectors", "before", "left"),
    [
        ({"strip": ["ul"]}, 0.0, ["A B", "D"]),
        ({"keep": ["ul"]}, 1.0, ["C"]),
        ({"strip": ["div"], "keep": ["li"]}, 0.0, ["C", "D"]),
        ({"keep": ["div"], "strip": ["li"]}, 1.0, ["A B"]),
        ({"keep": ["li"], "strip": ["li", "b"]}, 0.0, ["A", "C", "D"]),
        ({"keep": ["//none"], "strip": ["script", "head"]}, 0.0, ["A B\n\nC\n\nD"]),
    ],
)
def test_the_innermost_element_decides_then_keep(selectors, before, left):
    found = marked("<script>x</script><div>A <b>B</b><ul><li>C</ul></div>D", **selectors)
    assert " ".join("\n\n".join(content(found, before)).split()) == " ".join(" ".join(left).split())


def test_headlines_are_rows_in_document_order():
    found = marked("<p>P</p><h1>A</h1><h2>B</h2>", headline=["h2", "h1, h2", "//h1"])
    assert [found.nodes.elements[row].tag for row in found.marks.headline] == ["h1", "h2"]
    assert Page.parse(b"<h1>A", "http://example.com/").marks.headline == []


def test_a_link_is_ignored_only_inside_the_elements():
    html = "<p class=t><a href=/a>A</a></p><p><a href=/a>A</a> <a class=t href=/b>B</a> <a href=/c>C</a></p>"
    found = marked(html, ignore_links=[".t"])
    [pagelet] = segment(found)
    assert [link["url"][-1] for link in pagelet.links] == ["a", "c"]


TREES: st.SearchStrategy[Any] = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=20)


def _html(tree, marks):
    """A tree of ``div``, each with a word of its own, and with the classes ``k`` and ``s`` as they are drawn."""
    classes = next(marks)
    return f'<div class="{classes}">w{"".join(_html(inner, marks) for inner in tree)}v</div>'


@given(TREES, st.lists(st.sampled_from(["", "k", "s", "k s"]), min_size=64, max_size=64), st.floats(0, 1))
def test_rules_decide_each_leaf_by_its_nearest_ancestor(tree, classes, before):
    found = marked(f"<p>w</p>{_html(tree, iter(classes * 8))}", keep=[".k"], strip=[".s"])
    nodes = found.nodes
    unruled = nodes.words * 0.0 + before
    ruled, effect = found.marks.applied(nodes, unruled)
    for value, row in zip(ruled, nodes.leaves, strict=True):
        above = [nodes.elements[row], *nodes.elements[row].iterancestors()]
        nearest = next((e.get("class") for e in above if e.get("class")), "")
        assert value == (0.0 if "k" in nearest else 1.0 if "s" in nearest else before)
    changed = int(nodes.words[(ruled >= 0.5) != (unruled >= 0.5)].sum())
    assert effect["example.com/keep/words"] + effect["example.com/strip/words"] == changed


@given(st.dictionaries(st.sampled_from(["keep", "strip", "headline", "ignore_links"]),
                       st.lists(st.sampled_from(["p", ".a", "//div", "table > td"]), min_size=1), min_size=1),
       st.lists(st.sampled_from(["*", "example.com", "*.example.com:80"]), min_size=1))  # fmt: skip
def test_what_is_written_is_read(tmp_path_factory, selectors, hosts):
    lines = [f"{key} = {json.dumps(value)}" for key, value in (selectors | {"hosts": hosts}).items()]
    path = tmp_path_factory.getbasetemp() / "written.toml"
    path.write_text("\n".join(["[[rule]]", *lines]), encoding="utf-8")
    found = read(str(path))
    body = b"<div class=a><p>A<table><td>B</table></div>"
    assert found.without_page() == [f"{', '.join(hosts)} (line 1)"]
    assert isinstance(found.mark(Page.parse(body, "http://example.com/")).root, etree._Element)
    assert found.without_page() == []


BITS = st.sampled_from(
    [*"pa*.#[]()/@:|='\"> ,~+$\\{}0", "::", "//", "..", "not(", "text()", "div", "\0", "\ud800", "é", "\n"]
)
PARTS = st.sampled_from(
    [*".,[]{}#5é\n", "[[rule]]\n", "hosts", "keep", " = ", '"a"', "'''", "'p >'", '"\\u0070"', "\r\n"]
)  # fmt: skip


def refusal(function, *arguments):
    """The message of the error with which a function refuses something, "" if it does not."""
    try:
        function(*arguments)
    except ValueError as error:
        return str(error)
    return ""


@given(st.one_of(st.lists(BITS, max_size=12).map("".join), st.text(max_size=20)))
def test_any_text_is_a_selector_of_elements_or_is_refused(written):
    root = Page.parse(b"<div id=a class=p><p>A<!-- b --><a href=/c>C</a></div>", "http://example.com/").root
    told = refusal(lambda: [element.tag for element in Selector.of(written).elements(root)])
    assert told == "" or told.startswith(("is not", "selects", "fails"))


@given(st.lists(PARTS, max_size=15))
def test_any_file_is_read_or_refused_in_one_line_that_names_it(tmp_path_factory, parts):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text("".join(parts), encoding="utf-8", newline="")
    told = refusal(read, str(path))
    assert told == "" or re.fullmatch(rf"{re.escape(str(path))}(, line \d+:| is not TOML:) .+", told)
