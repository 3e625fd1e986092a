"""``scrapy pagelets template``: the template of a site as HTML, from a store, a crawl and a feed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from argparse import ArgumentParser

import pytest
from lxml import html

from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.crawler.commands.template import add_arguments, run
from scrapy_pagelets.evidence.class_template import ClassTemplate
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.evidence.template_html import template_html
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.sites.site_store import FILES, pack
from tests.crawling import SITE, answer, crawl, menu_site, page, scrapy, words
from tests.server import SiteServer


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """A folder with the store and the feed of a crawl of the bundled site, and its URL."""
    folder = tmp_path_factory.mktemp("bundled")
    with SiteServer(SITE) as server:
        options = {"PAGELETS_STORE": str(folder / "store"), "PAGELETS_EXPORT": "all"}
        found = crawl(folder, "site", url=server.url(), settings=options)
        assert found.errors == []
        return folder, server.url()


def template_of(capsys, *arguments):
    """Run the command in this process; return its exit code and what it printed."""
    parser = ArgumentParser()
    add_arguments(parser)
    code = run_command(run, parser.parse_args([str(argument) for argument in arguments]))
    out, error = capsys.readouterr()
    return code, out, error


def texts(markup):
    return [" ".join(text.split()) for text in html.fromstring(markup).itertext() if text.strip()]


def test_the_template_of_a_store_is_that_of_the_site(bundled, capsys):
    folder, url = bundled
    code, out, error = template_of(capsys, folder / "store")
    assert (code, error) == (0, "")
    assert out.startswith("<!DOCTYPE html>\n<!-- Template of 127.0.0.1:")
    assert f"what 4 pages that link each other have in common. Key page: {url} -->" in out
    root = html.fromstring(out)
    assert {"All About Workers", "Changelog", "Comments", "Web Server HowTo"} <= set(texts(out))
    assert "Documentation Overview" not in out
    assert [a.get("href") for a in root.xpath("//a[.='Changelog']")] == [f"{url}miscellaneous/changelog.html"]
    assert [[*list(slot), slot.text] for slot in root.xpath("//h1/slot|//h2/slot")] == [[None], [None]]
    assert root.xpath("//div[@id='mainRight']//slot")
    assert not root.xpath("//slot/following-sibling::node()[normalize-space()][1][self::slot]")
    assert not root.xpath("//script|//style|//@onclick|//comment()[contains(., 'if')]")
    assert root.xpath("//link/@href") == [f"{url}images/docs-stylesheet.css"]


def test_a_file_of_each_class_is_written(bundled, capsys, tmp_path):
    folder, _ = bundled
    [store] = (folder / "store").glob(FILES)
    _, printed, _ = template_of(capsys, store)
    code, out, error = template_of(capsys, store, "--out", tmp_path / "new" / "templates")
    [path] = (tmp_path / "new" / "templates").iterdir()
    assert (code, error) == (0, "")
    assert re.fullmatch(r"127\.0\.0\.1_\d+#1\.html", path.name)
    assert out == f"{path}: {path.stem.replace('_', ':')}, 35 pages\n"
    assert path.read_text(encoding="utf-8") == printed


def test_the_template_of_a_feed_has_the_pagelets_that_pages_share(bundled, capsys):
    folder, url = bundled
    code, out, error = template_of(capsys, folder / "feed.jsonl")
    assert (code, error) == (0, "")
    root = html.fromstring(out)
    assert "pagelets that most of 35 pages share, from a feed" in out
    assert root.xpath("//nav//a[.='Changelog']/@href") == [f"{url}miscellaneous/changelog.html"]
    assert "Comments" in texts(out)
    assert root.xpath("//slot")
    assert "Documentation Overview" not in out


def test_a_url_is_crawled_as_the_project_crawls(tmp_path):
    """Outside of a project the settings of this one hold: robots.txt is read, and nothing is left on disk."""
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        done = scrapy("pagelets", "template", server.url(), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pages that link each other have in common" in done.stdout
    assert {"The slogan of the house", "Menu entry a", "All rights reserved by the house"} <= set(texts(done.stdout))
    assert "aword" not in done.stdout
    assert server.hits[0] == "/robots.txt"
    assert len(server.hits) < 8
    assert list(tmp_path.iterdir()) == []


def test_a_project_with_the_add_on_keeps_its_settings_and_its_pipelines_get_nothing(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = own_settings\n")
    (tmp_path / "own_settings.py").write_text(
        'ADDONS = {"scrapy_pagelets.Addon": 500}\nUSER_AGENT = "somebody"\n'
        'FEEDS = {"items.jsonl": {"format": "jsonl"}}\n'
        'ITEM_PIPELINES = {"own_settings.Writer": 1}\n'
        "class Writer:\n    def process_item(self, item):\n        open('written', 'w').close()\n        return item\n"
    )
    (tmp_path / "below").mkdir()
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        done = scrapy("pagelets", "template", server.url(), cwd=tmp_path / "below")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Menu entry a" in done.stdout
    assert {headers["User-Agent"] for _, headers in server.requests} == {"somebody"}
    assert not (tmp_path / "items.jsonl").exists()
    assert not (tmp_path / "written").exists()


def test_a_url_without_pages_that_link_each_other_has_no_template(tmp_path):
    with SiteServer(routes={"/": answer(page("home", ["/a"])), "/a": answer(page("a"))}) as server:
        done = scrapy("pagelets", "template", server.url(), cwd=tmp_path)
        missing = scrapy("pagelets", "template", server.url("nowhere"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{server.url()} has no template: no two pages that link each other were found\n"
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    assert missing.stderr.startswith(f"{server.url('nowhere')} cannot be used: ")
    assert "404" in missing.stderr


def pagelet(role, text, *xpaths, links=()):
    return {"role": role, "text": text, "xpaths": list(xpaths), "links": list(links)}


def feed_of(path, *pages, template="h#2"):
    lines = [
        {"url": f"http://h/{number}", "template": template and {"id": template}, "pagelets": pagelets}
        for number, pagelets in enumerate(pages)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_feed_gives_a_skeleton_by_paths(tmp_path, capsys):
    """60 % of the pages must have a pagelet with the same text, wherever it stands on them."""
    home = {"url": "http://h/?a&b", "anchor": "Home"}
    menu = pagelet("navigation", "Home\nAbout", "/html/body/div[1]/ul", links=[home, home | {"url": "javascript:x"}])
    rare = pagelet("template", "rare", "/html/body/p[9]")
    pages = [
        [
            pagelet("template", "Slogan <b>", "/html/body/text()[1]", "/html/body/o"),
            menu,
            pagelet("content", f"text {number}", "/html/body/div[2]/p[1]", "/html/body/div[2]/p[2]"),
            *([rare] if number < 2 else []),
            pagelet("template", "End\u202e\x1b", "/html/body/script"),
        ]
        for number in range(4)
    ]
    code, out, error = template_of(capsys, feed_of(tmp_path / "feed.jsonl", *pages))
    assert (code, error) == (0, "")
    assert "Template of h#2: pagelets that most of 4 pages share, from a feed. Key page: http://h/0 -->" in out
    body = "".join(out.partition("<body>")[2].split("\n"))
    assert body == (
        'Slogan &lt;b&gt;<div><ul><a href="http://h/?a&amp;b">Home</a><br>About</ul></div>'
        "<div><slot></slot></div><slot></slot><div>End&#8238;</div></body></html>"
    )


@pytest.mark.parametrize(
    ("pages", "template", "sentence"),
    [
        ([[pagelet("content", "x", "/html/p")]], "h#1", "it has the content only, crawl with PAGELETS_EXPORT=all"),
        ([[pagelet("template", "x", "/html/p")]], None, "no page of it has a template with an id"),
        ([[pagelet("template", "x", "//p")]], "h#1", "http://h/0 has a pagelet whose xpaths are none"),
        ([[pagelet("template", "x", 3)]], "h#1", "http://h/0 has a pagelet whose xpaths are none"),
        ([[{"role": "template", "text": "x"}]], "h#1", "line 1 is not a page: a pagelet has no xpaths, but only role"),
        ([[pagelet("template", "x", "/html/p")]], "h#1", "no class of pages has enough in common"),
        ([[pagelet("template", "x", "/html/p")]] * 2, "nameless", ""),
    ],
)
def test_feeds_without_the_pagelets_are_refused_in_a_sentence(tmp_path, capsys, pages, template, sentence):
    code, out, error = template_of(capsys, feed_of(tmp_path / "feed.jsonl", *pages, template=template))
    assert (code, bool(out)) == ((1, False) if sentence else (0, True))
    assert sentence in error
    assert error.count("\n") == bool(sentence)


def test_sites_and_classes_are_chosen_by_name_and_number(tmp_path, capsys):
    feed = tmp_path / "feed.jsonl"
    lines = ""
    for name, number in (("one.org#1", 2), ("one.org#2", 3), ("two.org#1", 4), ("../x#1", 1)):
        feed_of(feed, *[[pagelet("template", f"The {name}", "/html/body/p")]] * number, template=name)
        lines += feed.read_text(encoding="utf-8")
    feed.write_text(lines, encoding="utf-8")
    for options, chosen in (
        ((), "two.org#1"),
        (("--site", "one.org"), "one.org#2"),
        (("--site", "one.org", "--class", 1), "one.org#1"),
    ):
        code, out, error = template_of(capsys, feed, *options)
        assert (code, texts(out)[-1]) == (0, f"The {chosen}")
        assert ("--site one.org --class 1 has 2 pages\n" in error) == (options != ("--site", "one.org", "--class", 1))
    assert template_of(capsys, feed, "--site", "three.org")[2] == (
        f"{feed} has no site three.org, but one.org, two.org, ../x\n"
    )
    assert template_of(capsys, feed, "--class", 3)[2] == f"{feed} has no class of pages with the number 3\n"
    code, _, error = template_of(capsys, feed, "--out", tmp_path / "out")
    assert (code, error) == (0, "../x#1 has no template: only one page of it is known\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "one.org#1.html",
        "one.org#2.html",
        "two.org#1.html",
    ]


def test_a_larger_class_without_a_template_is_named(tmp_path, capsys):
    feed = feed_of(tmp_path / "feed.jsonl", *([pagelet("template", f"x{n}", "/html/p")] for n in range(3)))
    larger = feed.read_text(encoding="utf-8")
    feed_of(feed, *[[pagelet("template", "same", "/html/p")]] * 2, template="h#1")
    feed.write_text(larger + feed.read_text(encoding="utf-8"), encoding="utf-8")
    code, out, error = template_of(capsys, feed)
    assert (code, texts(out)) == (0, ["same"])
    assert error == "h#2 has no template: its 3 pages have too little in common\n"


def test_bad_stores_are_refused_in_a_sentence(bundled, capsys, tmp_path):
    [store] = (bundled[0] / "store").glob(FILES)
    former, broken, other = (tmp_path / name for name in ("former.sqlite", "broken.sqlite", "other.sqlite"))
    shutil.copy(store, former)
    with sqlite3.connect(former) as db:
        db.execute("UPDATE sites SET learnt = ?", (pack({}),))
    db.close()
    broken.write_bytes(store.read_bytes()[:5000])
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE people (name TEXT)")
    db.close()
    damaged = "cannot be used: it is damaged or of another version, crawl the sites again"
    for path, sentence in (
        (tmp_path / "missing", "cannot be used: No such file or directory"),
        (tmp_path, f"cannot be used: it has no store of sites, {FILES}"),
        (former, damaged),
        (broken, "cannot be used as a store of sites: "),
        (other, "cannot be used as a store of sites: no such table: sites"),
    ):
        code, out, error = template_of(capsys, path)
        assert (code, out, error.count("\n")) == (1, "", 1)
        assert error.startswith(f"{path} {sentence}")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE sites (name TEXT, learnt BLOB)")
        db.execute("INSERT INTO sites VALUES ('h.org', ?)", (pack(SiteCounts("h.org").arrays()),))
    db.close()
    assert template_of(capsys, other)[2] == f"{other} cannot be used: it has no template, crawl the sites again\n"


def test_a_store_of_another_version_in_the_folder_is_named(bundled, capsys, tmp_path):
    [store] = (bundled[0] / "store").glob(FILES)
    shutil.copy(store, tmp_path)
    former = tmp_path / FILES.replace("*", "0")
    shutil.copy(store, former)
    with sqlite3.connect(former) as db:
        db.execute("UPDATE sites SET learnt = ?", (b"x",))
    db.close()
    code, out, error = template_of(capsys, tmp_path)
    assert (code, out.count("<html")) == (0, 1)
    assert error == f"{former} cannot be used: it is damaged or of another version, crawl the sites again\n"
    assert template_of(capsys, tmp_path, "--out", former)[0] == 1


def pages(*bodies, head=""):
    return [
        Page.parse(f"<html><head>{head}</head><body>{body}</body></html>".encode(), f"http://h.org/a/{number}")
        for number, body in enumerate(bodies)
    ]


def markup_of(*bodies, head=""):
    """The template of some pages of one set, without its head."""
    key_page, *others = pages(*bodies, head=head)
    found = template_html(ClassTemplate.of_set(key_page, others), "h.org#1")
    return found.partition("<body>")[2].removesuffix("</body></html>\n").replace("\n", "")


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("<p>Same", "<p>Same", "<p>Same</p>"),
        ("<p>Dear Ann<br>bye", "<p>Dear Bob<br>bye", "<p><slot></slot><br>bye</p>"),
        ("<p>Dear <b>Ann</b> bye", "<p>Dear <b>Bob</b> bye", "<p>Dear <b><slot></slot></b> bye</p>"),
        ("<ul><li>A</ul><p>x<p>y<h2>z</h2>end", "<ul><li>A</ul><div>w</div>end", "<ul><li>A</li></ul><slot></slot>end"),
        ("<i>A</i> b <i>C</i> d", "<i>A</i> e <i>C</i> d", "<i>A</i><slot></slot><i>C</i> d"),
        ("<pre>a\n\n  <b>x</b>\n</pre>", "<pre>a\n\n  <b>x</b>\n</pre>", "<pre>a  <b>x</b></pre>"),
        ("A<!-- note --> b<?x y?>", "A<!-- other --> b<?x z?>", "A b"),
        ("<p>A<script>x()</script><style>p{}</style><p>B", "<p>A<p>B", "<p>A</p><p>B</p>"),
        ("<div>A</div><script>1</script><p>x</p><script>2</script><h2>y", "<div>A", "<div>A</div><slot></slot>"),
        ("<div><h6>x</h6></div>", "<div></div>", "<div><slot></slot></div>"),
    ],
)
def test_slots_stand_where_pages_differ(one, two, expected):
    assert markup_of(one, two) == expected


def test_nothing_in_a_template_acts_and_links_are_absolute():
    body = (
        '<a href="b?x=1&amp;y" onclick="x()" @click="y" id="e" data-x="1" href2="">A</a> <a href="#top">B</a>'
        '<a href=" java&#10;script:x()">C</a><a href="JavaScript:x()">D</a><a href="&#1;javascript:x">E</a>'
        '<form action="../go"><textarea>x</textarea></form><img src="/i.png" srcset="j.png 2x" alt="I">'
        '<iframe srcdoc="&lt;script&gt;" src="f">x</iframe><object data="data:text/html,x">o</object>'
        "<noscript><p title='</noscript><img src=x onerror=x()>'>n</p></noscript><xmp>&lt;b></xmp><svg><title>t</title>"
        '<a xlink:href="javascript:x()">F</a></svg>'
    )
    links = "<link rel=stylesheet href=s.css><link rel=next href=n>"
    head = f"<base href='http://h.org/c/'>{links}<title>T</title><script>1</script>"
    key_page, other = pages(body, body, head=head)
    found = template_html(ClassTemplate.of_set(key_page, [other]), "h.org--->#1")
    assert "<!-- Template of h.org- - ->#1: what 2 pages" in found
    root = html.fromstring(found)
    hrefs = {a.text: a.get("href") for a in root.iter("a")}
    assert (hrefs.pop("C"), hrefs.pop("E")) == (
        "http://h.org/c/java%0Ascript:x()",
        "http://h.org/c/%01javascript:x",
    )
    assert hrefs == {"A": "http://h.org/c/b?x=1&y", "B": "#top", "D": None, "F": None}
    assert root.xpath("//form/@action|//img/@src|//iframe/@src|//link/@href") == [
        "http://h.org/c/s.css",
        "http://h.org/go",
        "http://h.org/i.png",
        "http://h.org/c/f",
    ]
    assert root.xpath("//a[1]/@data-x") == ["1"]
    assert root.xpath("//meta/@content") == ["script-src 'none'"]
    assert not root.xpath(
        "//script|//noscript|//title|//base|//@srcset|//@srcdoc|//@data|//@onclick|//@*[contains(., '<')]"
    )
    assert "onerror" not in found
    assert "@click" not in found
    assert "<xmp>" not in found


def test_characters_that_terminals_do_not_print_become_references():
    body = "<p title='\x9b1m'>one\u202etwo \u2028 \x1b[2J end&nbsp;\u4e16</p>"
    found = markup_of(body, body)
    assert "one&#8238;two" in found
    assert "end&#160;\u4e16" in found
    assert all(character.isprintable() for character in found)


def test_deep_and_large_pages_have_a_template():
    deep = "<div>" * 1500 + "<p>same</p>{}" + "</div>" * 1500
    found = markup_of(deep.format("<p>x"), deep.format(""))
    assert found.count("<div>") == 1500
    assert found.count("<slot>") == 1
    wide = "<p>{0}</p>{0}<br>" * 20_000
    found = markup_of("<div>same" + wide.format("a"), "<div>same" + wide.format("b"))
    assert found.startswith("<div>same<p><slot></slot></p><slot></slot><br>")
    assert found.count("<slot>") == 40_000
    alone = markup_of("<div>same" + wide.format("a"), "<div>same")
    assert alone == "<div>same<slot></slot></div>"


def test_a_page_built_by_scripts_shows_what_it_has_without_them():
    body = f"<noscript><p>{words('same')}</p><i>{{}}</i></noscript>"
    assert markup_of(body.format("a"), body.format("b")) == f"<div><p>{words('same')}</p><i><slot></slot></i></div>"


def test_one_page_alone_has_no_template():
    [key_page] = pages("<p>A")
    assert template_html(ClassTemplate.of_page(key_page), "h.org#1") == ""
