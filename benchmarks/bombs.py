"""Pages that are built to take time and memory, within the limits: seconds, megabytes and feed line of each.

Each page is made up, stands alone in an archive, and goes through the spider ``archive`` in a process of its own. What
the spider takes for a page of one word is subtracted from time and memory. The promise is ten seconds and 300 MB (of
CPU time on a machine that does nothing else), and a feed line that is not much longer than the page; what breaks it
has a mark behind it.

    python -m benchmarks bombs
    python -m benchmarks bombs --only "links with long queries,a long base" --formats text,markdown,html
    python -m benchmarks bombs --pages 300      # memory that each page leaves behind, if all of it is new
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.memory import resident
from benchmarks.tools import option_parser
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore

SECONDS, MEGABYTES = 10, 300
#: Bytes of a feed line: the addresses of the links of a page, and what else it has.
LINE = 7_000_000


def each(number: int, form: str) -> str:
    return "".join(form.format(i) for i in range(number))


#: The pages, each as a function, because together they take half a gigabyte.
BOMBS: dict[str, Callable[[], str]] = {
    "IDN links": lambda: each(20_000, "<a href='http://" + "ü.ä-{0}." * 85 + "{0}/'>{0}</a>"),
    "IDN links of short labels": lambda: each(
        40_000, "<a href='http://ж{0}" + "ü" * 40 + "." + "ä" * 55 + "/'>{0}</a>"
    ),
    "links with long queries": lambda: each(49_000, "<a href='?q={0}" + "&a b=c%20" * 65 + "'>{0}</a>"),
    "links with long plain queries": lambda: each(49_000, "<a href='?q={0}" + "&ab=c" * 120 + "'>{0}</a>"),
    "links with long paths": lambda: each(49_000, "<a href='{0}" + "/a b" * 150 + "'>{0}</a>"),
    "a long base": lambda: f"<base href='/{'b/' * 1000}'>" + each(49_000, "<li><a href={0}>{0}</a>"),
    "a long base with odd links": lambda: f"<base href='/{'b c/' * 500}'>"
    + each(49_000, "<li><a href='{0} é'>{0}</a>"),
    "a long base with queries": lambda: f"<base href='/{'b/' * 1000}'>"
    + each(49_000, "<li><a href='?a={0} é'>{0}</a>"),
    "links in a paragraph": lambda: "<p>" + each(99_000, "<a href={0}>{0}</a> and "),
    "nested links": lambda: each(900, "<a href={0}><object>") + each(20_000, "<p>word {0}"),
    "areas": lambda: "<map>" + each(99_000, "<area href='/{0} é'>") + "</map>",
    "frames": lambda: each(49_000, "<iframe src='{0} é'></iframe>x"),
    "long fragments": lambda: each(90_000, "<a href='#{0}" + "é" * 150 + "'>{0}</a>"),
    "data links": lambda: each(30, "<a href='data:text/html,{0}" + "a" * 1_000_000 + "'>{0}</a>"),
    "classes": lambda: each(90_000, "<p class='{0}" + " a-{0}-b" * 25 + "'>{0}"),
    "one class of many names": lambda: f"<p class='{each(4_000_000, 'a{0} ')[:30_000_000]}'>word",
    "ids": lambda: each(90_000, "<p id='" + "i" * 300 + "{0}'>{0}"),
    "large ids": lambda: each(3_000, "<p id='" + "i" * 10_000 + "{0}'>{0}"),
    "labels": lambda: each(90_000, "<p aria-label='" + "label " * 50 + "{0}'>{0}"),
    "relations": lambda: each(90_000, "<a href={0} rel='" + "me " * 90 + "'>{0}</a>"),
    "attributes": lambda: each(1000, "<p " + each(999, "data-a{0} ").replace("{", "{{") + ">{0}"),
    "an attribute": lambda: f"<p data-x='{'x' * 30_000_000}' title='{'t' * 1_000_000}'>word",
    "styles": lambda: each(2_000, "<div style='" + "color:red;" * 1_500 + "'>") + each(90_000, "<p>word {0}"),
    "a deep page": lambda: each(1_900, "<div>") + each(30_000, "<p>word {0}<hr><a href={0}>link</a>"),
    "a deep page of menus": lambda: each(1_900, "<div>")
    + each(9_000, "<ul>" + "<li><a href={0}>{0}</a>" * 5 + "</ul>"),
    "long names of tags": lambda: f"<{'x' * 1_000_000}>" + each(30_000, "<p>word {0}<a href={0}>link {0}</a>"),
    "many long names of tags": lambda: each(1_500, "<" + "y" * 10_000 + ">")
    + each(30_000, "<p>word {0}<a href={0}>a</a>"),
    "pictures": lambda: each(30_000, "<p>{0}<img alt='" + "alt " * 100 + "' srcset='" + "a.png 1x, " * 50 + "'>"),
    "a source set": lambda: f"<img alt=x srcset='{'a.png 1x, ' * 3_000_000}'>word",
    "JSON-LD": lambda: '<script type="application/ld+json">[' + ",".join(
        f'{{"@type": "Article", "@id": "{i}", "headline": "h{i}", "author": {{"@id": "{i}"}}}}' for i in range(300_000)
    ) + "]</script>word",
    "many scripts of JSON-LD": lambda: each(
        90_000, '<script type="application/ld+json">{{"@type": "Article", "headline": "h{0}"}}</script>'
    ) + "word",
    "breadcrumbs": lambda: '<script type="application/ld+json">{"@type": "BreadcrumbList", "itemListElement": ['
    + ",".join(f'{{"@type": "ListItem", "position": {i}, "name": "n{i}"}}' for i in range(200_000)) + "]}</script>"
    + "<ol class=breadcrumb>" + each(40_000, "<li><a href={0}>n{0}</a>") + "</ol>word",
    "microdata": lambda: each(90_000, "<span itemprop=author itemscope itemtype=http://schema.org/Person>{0}</span>"),
    "metas": lambda: each(90_000, "<meta name=author{0} content='" + "a" * 200 + "'>") + "<p>word",
    "cells with spans": lambda: "<table>" + each(500, "<tr>" + "<td colspan=1000 rowspan=1000>c" * 100) + "</table>",
    "rows with a head": lambda: f"<table><tr><th>{'head ' * 100_000}<th>b"
    + each(20_000, "<tr><td>{0}<td>x") + "</table>",
    "nested tables": lambda: each(500, "<table><tr><td>{0}<td>") + each(60_000, "<p>word {0}"),
    "headings": lambda: each(49_000, "<h2>Heading {0}</h2><p>word"),
    "nested headings": lambda: each(15_000, "<h1>{0}</h1><h2>{0}</h2><h3>" + "h " * 100 + "</h3><p>w"),
    "a long heading": lambda: f"<h1>{'word ' * 1_000_000}</h1>" + each(30_000, "<p>word {0}"),
    "items": lambda: "<ul>" + each(99_000, "<li>{0}") + "</ul>",
    "nested items": lambda: each(900, "<ul><li>{0}") + each(90_000, "<li>{0}"),
    "definitions": lambda: "<dl>" + each(49_000, "<dt>{0}<dd>{0}") + "</dl>",
    "inline elements": lambda: "<p>" + each(900, "<b>") + each(90_000, "<i>{0}</i> "),
    "white space": lambda: "<p>a" + " \n" * 15_000_000 + "b",
    "code": lambda: each(49_000, "<pre><code class='" + "x" * 500 + "'>{0}\n</code></pre>"),
    "code with gutters": lambda: "<pre>" + each(90_000, "<span class='" + "x" * 200 + "{0}'>{0}</span>\n") + "</pre>",
    "footnotes": lambda: each(30_000, "<sup><a href=#n{0}>{0}</a></sup> word <p id=n{0}>note {0}"),
    "formulas": lambda: each(20_000, "<math><mi>x</mi><mo>+</mo><mi>{0}</mi></math>"),
    "options": lambda: "<select>" + each(99_000, "<option>{0}") + "</select>",
    "forms": lambda: each(33_000, "<form><label>{0}</label><input></form>"),
    "comments of readers": lambda: "<div id=comments>" + each(33_000, "<div class=comment id=c{0}><p>says {0}</div>"),
    "an open title": lambda: "<title>" + "title " * 5_000_000,
    "a title in the page": lambda: f"<title>{'word ' * 1_000_000}</title><h1>{'word ' * 1_000_000}</h1><p>x",
    "letters with marks": lambda: "<p>a" + "\u0301\u0316" * 5_000_000,
    "letters of many bytes": lambda: each(30_000, "<p>" + "\U0001f600" * 250),
    "unspaced text": lambda: "<p>" + "漢字" * 5_000_000,
    "control characters": lambda: each(90_000, "<p>a\x1b{0}\x80b"),
    "digits": lambda: "<p>" + "1" * 30_000_000,
}  # fmt: skip


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--only", default="", help="comma-separated names of pages; default: all")
    parser.add_argument("--formats", default="text", help="PAGELETS_FORMATS")
    parser.add_argument("--pages", type=int, default=0, help="measure caches instead, with so many pages of each kind")
    args = parser.parse_args(argv)
    if args.pages:
        caches(args.pages)
        return
    chosen = [name.strip() for name in args.only.split(",") if name.strip()] or list(BOMBS)
    if unknown := [name for name in chosen if name not in BOMBS]:
        parser.error(f"there is no page {unknown[0]!r}, but only {', '.join(BOMBS)}")
    base = cost("<p>word", args.formats)
    print(f"{'page':32}  {'MB':>5}  {'seconds':>8}  {'MB of memory':>12}  {'MB of the line':>14}")
    for name in chosen:
        body = BOMBS[name]()
        seconds, memory, line = cost(body, args.formats)
        size = len(body.encode())
        row = size / 1e6, seconds - base[0], memory - base[1], line / 1e6
        is_broken = row[1] > SECONDS or row[2] > MEGABYTES or line > LINE + 2 * size
        print(f"{name:32}  {row[0]:5.1f}  {row[1]:8.1f}  {row[2]:12.0f}  {row[3]:14.2f}{' !' * is_broken}", flush=True)


def cost(body: str, formats: str) -> tuple[float, float, int]:
    """CPU seconds, megabytes at most, and bytes of the feed of the spider ``archive`` for a page."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pages").mkdir()
        (folder / "pages" / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{body}", encoding="utf-8")
        command = [sys.executable, "-m", "scrapy", "crawl", "archive", "-a", f"path={folder}/pages"]
        command += ["-a", "base=http://bomb.example/", "-O", f"{folder}/feed.jsonl", "-s", "LOG_LEVEL=WARNING"]
        with subprocess.Popen([*command, "-s", f"PAGELETS_FORMATS={formats}"]) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"the crawl failed with {process.returncode}")
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, (folder / "feed.jsonl").stat().st_size


#: Pages whose names, labels and links are all new, by what is new.
NEW: dict[str, Callable[[int], str]] = {
    "classes": lambda page: each(300, f"<p class='c{page}-{{0}}{' name-a' * 130}'>{{0}}"),
    "labels": lambda page: each(300, f"<a href=/ aria-label='label {page} {{0}}{' word' * 30}'>{{0}}</a>"),
    "addresses": lambda page: each(300, f"<a href='{page}-{{0}}{'/a b' * 480}'>{{0}}</a>"),
    "texts": lambda page: each(300, f"<p>é {page} {{0}} {'wörd' * 45}"),
    "headings": lambda page: each(300, f"<h2>é {page} {{0}} {'a b ' * 20}</h2><p>word"),
    "names of tags": lambda page: each(300, f"<x{page}-{{0}}{'-y' * 400}>{{0}}"),
}


def caches(pages: int) -> None:
    """Print the memory that each page leaves behind, once the first tenth of all have been cleaned."""
    for name, body in NEW.items():
        pid = os.fork()  # so that no kind finds the caches of another one full
        if not pid:
            sites = SiteCache(SiteStore(None, load(LABELLED)))
            for number in range(pages):
                page = Page.parse(body(number).encode(), f"http://bomb.example/{number}")
                sites.learn(page)
                decision = decided(page, sites[page.site])
                labels = labels_of(page, "pagelets", decision.templateness)
                for pagelet in pagelets_of(page, labels, decision.templateness):
                    pagelet.record()
                if number == pages // 10:
                    start = resident()
            print(f"{name:20} {1000 * (resident() - start) / (pages - number // 10):8.0f} kB a page", flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
