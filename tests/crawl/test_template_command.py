"""``scrapy pagelets template``: the template of a site as HTML, from a store and a crawl."""

from __future__ import annotations

import re
import shutil
import sqlite3
from argparse import ArgumentParser

import pytest
from lxml import html

from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.crawler.commands.template import add_arguments, run
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.evidence.class_template import ClassTemplate
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.evidence.template_html import template_html
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import FILES, SiteStore, pack
from tests.crawling import SITE, answer, crawl, menu_site, page, scrapy, words
from tests.server import SiteServer


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """A folder with the store of a crawl of the bundled site, and its URL."""
    folder = tmp_path_factory.mktemp("bundled")
    with SiteServer(SITE) as server:
        found = crawl(folder, "site", url=server.url(), settings={"PAGELETS_STORE": str(folder / "store")})
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


def store_of(folder, sites):
    """A store of sites by name, each with a number of pages that are alike but for their texts."""
    store = SiteStore(folder, load(LABELLED))
    cache = SiteCache(store)
    for host, number in sites.items():
        for n in range(number):
            cache.learn(Page.parse(page(f"{host}{n}", ["/a", "/b"]).encode(), f"http://{host}/{n}"))
    cache.close()
    store.close()
    return folder


def test_sites_and_classes_are_chosen_by_name_and_number(tmp_path, capsys):
    store = store_of(tmp_path / "store", {"one.org": 3, "two.org": 4, "three.org": 1})
    for options, chosen in (((), "two.org#1"), (("--site", "one.org"), "one.org#1"), (("--class", 1), "two.org#1")):
        code, out, error = template_of(capsys, store, *options)
        assert (code, f"<!-- Template of {chosen}: " in out) == (0, True)
        assert ("--site one.org --class 1 has 3 pages\n" in error) == ("--site" not in options)
    assert template_of(capsys, store, "--site", "four.org")[2].startswith(f"{store} has no site four.org, but ")
    assert template_of(capsys, store, "--class", 3)[2] == f"{store} has no class of pages with the number 3\n"
    code, _, error = template_of(capsys, store, "--out", tmp_path / "out")
    assert (code, error) == (0, "three.org#1 has no template: only one page of it is known\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["one.org#1.html", "two.org#1.html"]


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
    none = "cannot be used as a store of sites, which PAGELETS_STORE makes: "
    damaged = "cannot be used: it is damaged or of another version, crawl the sites again"
    for path, sentence in (
        (tmp_path / "missing", f"{none}unable to open database file"),
        (tmp_path, f"cannot be used: it has no store of sites, {FILES}"),
        (former, damaged),
        (broken, none),
        (other, f"{none}no such table: sites"),
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
    return found.replace("\n", "").partition("<body>")[2].removesuffix("</body></html>")


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
