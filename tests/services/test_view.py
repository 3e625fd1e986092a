"""``scrapy pagelets view``: a picture of a page with its pagelets, or an error."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from typing import Any

import pytest
from playwright.async_api import Page as Tab

from tests.browsing import in_tab
from tests.crawling import SITE, answer, crawl, ends_quietly_when_its_pipe_closes, scrapy
from tests.server import SiteServer

PAGE = """<html><head><title>A &amp; B</title><style>body{margin:0}</style></head><body>
<ul>%s</ul><p style="height:100px">All there is to say.</p><p style="display:none">unseen</p></body></html>"""
#: A page that a crawl decides by more than its words: a trail, an own heading that its menu repeats, an author, a rule.
TOLD = """<title>Green tea - Shop</title><script type="application/ld+json">
{"@type": "Product", "name": "Green tea", "offers": {"price": "4.50"}}</script>
<script type="application/ld+json">{"@type": "BreadcrumbList", "itemListElement": [
{"@type": "ListItem", "position": 1, "name": "Shop"},
{"@type": "ListItem", "position": 2, "name": "Green tea"}]}</script>
<ul><li><a href=/a>Green tea</a><li><a href=/b>Cups</a></ul>
<div class=breadcrumbs><a href=/>Shop</a> &gt; Green tea</div>
<h1>Green tea</h1><p>$ 4.50<p>All that there is to say of green tea, its leaves, its water and its cups.
<p class=ad>Buy it
<h2>See also<a href=#also>#</a></h2><p>The tea that is black.<footer>Imprint</footer>"""
MENU = "".join(f"<li><a href=/{name}>Entry {name}</a></li>" for name in "abcdefgh")


def test_pagelets_are_drawn_in_place(tmp_path):
    with SiteServer(routes={"/": answer(PAGE % MENU)}) as server:
        done = scrapy("pagelets", "view", server.url(""), "--out", str(tmp_path / "x.html"), cwd=tmp_path)
        assert server.hits[0] == "/"
    assert done.returncode == 0, done.stderr
    assert "Entry a" in done.stdout
    assert "All there is to say." in done.stdout
    drawn = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert '"title":"A \\u0026 B"' in drawn
    assert "data:image/jpeg;base64,/9j/" in drawn
    assert not re.search(r"(?:src|href)=.?http", drawn)
    data = drawn.partition('id="data">')[2].partition("</script>")[0]
    pagelets = json.loads(data)["pagelets"]
    assert (0, 1366, 100) in {(left, width, height) for p in pagelets for left, _, width, height in p["boxes"]}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"PAGELETS_STRICT": 1, "PAGELETS_MODEL": "automatic", "PAGELETS_SEGMENTER": "pagelets-strict"},
        {"PAGELETS_DETECTION": "classifier", "PAGELETS_SEGMENTER": "vips"},
    ],
)
def test_the_decision_is_that_of_a_crawl_of_the_page_alone(tmp_path, settings):
    (tmp_path / "rules.toml").write_text("[[rule]]\nhosts = ['*']\nstrip = ['.ad']\n")
    settings = {"PAGELETS_RULES": str(tmp_path / "rules.toml"), **settings}
    whole = ["--whole"] * (settings.get("PAGELETS_SEGMENTER") == "vips")  # as in an export of all pagelets
    given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with SiteServer(routes={"/": answer(TOLD)}) as server:
        done = scrapy("pagelets", *given, "view", server.url(""), "--out", str(tmp_path / "x.html"), *whole)
        assert done.returncode == 0, done.stderr
        alone = {"PAGELETS_RENDER": 1, "PAGELETS_EXPORT": "all", "PAGELETS_PROBE": 0, "PAGELETS_FIRST_PAGES": 1}
        found = crawl(tmp_path, "site", url=server.url(""), pages=1, settings={**alone, **settings})
    expected = [
        f"{p['id']:4} {p['role']:10} {p['templateness']:.2f} {p['words']:6,} {' '.join(p['text'][:80].split())}"
        for p in found.lines[0]["pagelets"]
    ]
    assert len({line.split()[1] for line in expected}) > 1
    assert done.stdout.splitlines()[1:-1] == expected


def test_a_file_is_drawn_as_a_picture_with_its_style_sheet(tmp_path):
    (tmp_path / "style.css").write_text("p{margin-top:2000px}")
    (tmp_path / "page.html").write_text("<link rel=stylesheet href=style.css><p>Far below.")
    done = scrapy("pagelets", "view", "page.html", "--out", "x.png", "--method", "pagelets-strict", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head = (tmp_path / "x.png").read_bytes()[:24]
    width, height = struct.unpack(">II", head[16:])
    assert (head[:4], width) == (b"\x89PNG", 1366)
    assert height > 2000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.html"], "none.html cannot be shown: there is no such file; an address begins with http"),
        (["http://127.0.0.1:9/"], "http://127.0.0.1:9/ cannot be shown: connect ECONNREFUSED 127.0.0.1:9; check"),
        ([str(SITE / "index.html"), "--method", "scissors"], "scissors"),
        ([str(SITE / "index.html"), "--out", "none/x.html"], "none/x.html cannot be written: there is no folder /"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tmp_path, arguments, sentence):
    done = scrapy("pagelets", "view", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr


def test_a_missing_browser_is_reported_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    done = scrapy("pagelets", "view", str(SITE / "index.html"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("or `playwright install chromium`; or use --no-picture\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_long_page_can_be_scrolled(tmp_path):
    (tmp_path / "page.html").write_text("<p style='margin-top:9000px'>Far below.")
    done = scrapy("pagelets", "view", "page.html", "--out", "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    async def look(tab: Tab) -> Any:
        await tab.goto((tmp_path / "x.html").as_uri())
        await tab.mouse.move(100, 400)
        await tab.mouse.wheel(0, 20_000)
        await tab.wait_for_function("document.getElementById('shown').scrollTop > 0", timeout=60_000)
        return await tab.evaluate("document.querySelector('.picture').offsetHeight")

    assert 4000 < in_tab(look) < 10_000


@pytest.mark.parametrize("name", ["x.svg", "x", "x.pdf", "x.png.txt"])
def test_other_file_types_are_refused_before_a_browser_starts(tmp_path, monkeypatch, name):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    done = scrapy("pagelets", "view", str(SITE / "index.html"), "--out", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"--out is {name}: give a file that ends in .html, .png or .jpg\n"
    assert not (tmp_path / name).exists()


def test_lines_fit_into_a_narrow_terminal(tmp_path):
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 40, 0, 0))
    arguments = ["pagelets", "view", str(SITE / "index.html"), "--no-picture"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "scrapy", *arguments]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=writer) as process:
        os.close(writer)
        written = b""
        while True:
            try:  # Linux reports the end of a terminal as an error
                read = os.read(reader, 1 << 16)
            except OSError:
                break
            written += read
            if not read:
                break
    os.close(reader)
    lines = written.decode().splitlines()
    assert process.returncode == 0
    assert lines[-1] == "written: pagelets.html"
    assert max(map(len, lines)) == 40


def test_a_closed_pipe_ends_the_command_quietly(tmp_path):
    (tmp_path / "page.html").write_text("".join(f"<ul>{MENU}</ul><p>{'Word ' * 200}" for _ in range(300)))
    strict = ("--no-picture", "--method", "pagelets-strict")
    ends_quietly_when_its_pipe_closes(
        "pagelets", "view", str(tmp_path / "page.html"), *strict, "--out", str(tmp_path / "x.html")
    )
