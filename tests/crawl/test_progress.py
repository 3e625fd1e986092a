"""What is told of a crawl while it runs and when it has ended: log, live line of a terminal, report."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from argparse import ArgumentParser
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from scrapy.utils.test import get_crawler

from scrapy_pagelets.crawler.commands import view
from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.crawler.progress_log import closing_lines, duration
from scrapy_pagelets.session.crawl_session import Progress, session_of
from tests.crawling import ROOT, SITE, crawl, menu_site, options, scrapy, words
from tests.server import SiteServer

COLUMNS = 40


def told(log):
    return re.findall(r"^\S+ \S+ \[scrapy_pagelets\.crawler\.progress_log\] INFO: (.*)$", log, re.MULTILINE)


def test_a_crawl_says_what_it_holds_back_and_what_came_out(tmp_path):
    with SiteServer(SITE) as server:
        done = crawl(tmp_path, "site", url=server.url("index.html"), settings={"LOGSTATS_INTERVAL": 0.05})
    lines = told(done.log)
    held = [
        int(found[1]) for line in lines if (found := re.search(r"(\d+) pages? held back until more of their", line))
    ]
    assert held
    assert max(held) <= len(done.lines)
    feed = tmp_path / "feed.jsonl"
    words, template = done.stat("words"), done.stat("words/template")
    assert lines[-5:] == [
        f"{len(done.lines)} pages cleaned: {words - template:,} words kept, {template:,} ({template / words:.0%}) "
        "stripped as template",
        "not loaded: 2 x 404",
        f"written: {feed} ({len(done.lines)} items)",
        f"to see what was stripped: pagelets report {feed}",
        f"to see it on a page, and why: pagelets view {feed} --page URL",
    ]


def test_the_closing_hint_can_be_followed_in_a_base_install(tmp_path, monkeypatch, capsys):
    feed = tmp_path / "feed.jsonl"
    feed.write_text('{"url": "http://h/", "text": "one two", "pagelets": []}\n', encoding="utf-8")
    crawler = get_crawler()
    session = session_of(crawler)
    session.progress.feeds[str(feed)] = 1
    monkeypatch.setitem(sys.modules, "playwright", None)
    [hint] = [line for line in closing_lines(session) if "pagelets view" in line]
    asyncio.run(session.spider_closed())
    assert hint.endswith(f"pagelets view {feed} --page URL --no-picture")
    parser = ArgumentParser()
    view.add_arguments(parser)
    given = hint.partition("pagelets view ")[2].replace("URL", "http://h/").split()
    options = parser.parse_args([*given, "--out", str(tmp_path / "page.html")])
    options.settings = crawler.settings
    assert run_command(view.run, options) == 0
    assert "written: " in capsys.readouterr().out


def test_warnings_are_repeated_once(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.example").mkdir()
        (tmp_path / f"{name}.example" / "page.html").write_text(f"<p>{words(name, 40)}</p>")
    done = crawl(tmp_path, "archive", path=str(tmp_path), base="http://")
    assert len(done.warnings) == 1
    assert told(done.log)[-1] == f"warned of sites/of_one_page, 2 times: {done.warnings[0]}"


def in_terminal(*command, columns):
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "PYTHONWARNINGS": "error"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        parts = []
        while part := _read(ours):
            parts.append(part)
        os.close(ours)
    return process.returncode, b"".join(parts).decode()


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other side is closed
        return b""


def test_a_terminal_has_a_live_line_below_the_log(tmp_path):
    command = ["crawl", "archive", "-o", str(tmp_path / "feed.jsonl")]
    arguments = options({}, {"path": str(SITE), "base": "http://one.example/"})
    code, shown = in_terminal(sys.executable, "-m", "scrapy", *command, *arguments, columns=COLUMNS)
    assert code == 0, shown[-2000:]
    live = re.findall(r"\x1b\[1m(\d+ pages? cleaned \(at [^\x1b]*)\x1b\[0m", shown)
    assert live
    assert max(map(len, live)) <= COLUMNS
    # Lines of the log are not broken, and the cursor comes back.
    assert re.search(r"INFO: 35 pages in 1 source; cleaning them\r\n", shown)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert "35 pages cleaned" in shown[shown.rindex("\x1b[?25h") :]


CELL = """\
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.project import get_project_settings
from scrapy.utils.reactor import install_reactor

settings = get_project_settings()
settings["FEEDS"] = {{{feed!r}: {{"format": "jsonlines"}}}}
install_reactor(settings["TWISTED_REACTOR"])
runner = AsyncCrawlerRunner(settings)
await runner.crawl("archive", path={path!r}, base="http://one.example/")
"""


def outputs(cell):
    """The outputs of a cell in a notebook, and how they change: kind and content of each message."""
    kernel = KernelManager(kernel_name="python3", transport="ipc")
    kernel.start_kernel(cwd=ROOT)
    client = kernel.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        messages: list[Any] = []
        client.execute_interactive(cell, output_hook=messages.append, timeout=120)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    others = ("status", "execute_input")
    return [(message["msg_type"], message["content"]) for message in messages if message["msg_type"] not in others]


def test_a_notebook_has_an_output_that_changes(tmp_path):
    feed = str(tmp_path / "feed.jsonl")
    shown = outputs(CELL.format(feed=feed, path=str(SITE)))
    first_kind, *kinds = (kind for kind, _ in shown)
    assert (first_kind, set(kinds)) == ("display_data", {"update_display_data"}), shown
    first, *_, last = (content["data"]["text/plain"] for _, content in shown)
    assert first.startswith("0 pages cleaned (at 0 a minute); ")
    assert last.startswith("35 pages cleaned: ")
    assert f"written: {feed} (35 items)" in last


def test_output_that_is_no_terminal_has_no_live_line(tmp_path):
    done = crawl(tmp_path, "archive", path=str(SITE), base="http://one.example/")
    assert "\x1b" not in done.log


def test_a_report_is_written_when_the_crawl_ends(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nhosts = ['*']\nstrip = ['.gone', 'h1']\n")
    report = tmp_path / "report.html"
    with SiteServer(routes=menu_site("home", *"abcdefg")) as server:
        settings = options({"PAGELETS_REPORT": str(report), "PAGELETS_RULES": str(rules)}, {"url": server.url()})
        scrapy("crawl", "site", "-o", str(tmp_path / "feed.jsonl"), *settings)
    html = report.read_text()
    crawled = html[html.index("<h2>The crawl</h2>") :]
    assert re.search(r"\d+ responses, [\d.]+ a second; pages loaded for templates: \d+\.", crawled)
    assert len(re.findall(r"<li>http://127.0.0.1:\d+/\w+</li>", crawled)) >= 2
    assert re.search(r"<li>127\.0\.0\.1:\d+: \d+</li>", crawled)
    assert re.search(r"<code>\*</code> strip: \d+ pages", crawled)
    assert re.search(r"without effect: <code>\.gone", crawled)


@pytest.mark.parametrize(
    ("feed", "report", "sentence"),
    [
        ("feed.csv", "report.html", "it is made from a feed in one local file, JSON lines or Parquet"),
        ("feed.jsonl", "nowhere/report.html", "report.html cannot be written: there is no folder"),
        ("feed.jsonl", "/proc/report.html", "report.html cannot be written: No such file or directory"),
    ],
)
def test_a_report_that_cannot_be_made_is_refused_at_the_start(tmp_path, feed, report, sentence):
    settings = {"PAGELETS_REPORT": str(tmp_path / report)}
    arguments = options(settings, {"path": str(SITE), "base": "http://one.example/"})
    done = scrapy("crawl", "archive", "-o", str(tmp_path / feed), *arguments)
    assert done.returncode == 1
    assert re.search(rf"ERROR: PAGELETS_REPORT cannot be used: .*{sentence}", done.stderr)
    assert "Spider opened" not in done.stderr
    assert not (tmp_path / report).exists()


def test_rate_and_time_left():
    now = [0.0]
    progress = Progress(clock=lambda: now[0])
    assert progress.rate(0) == 0
    assert progress.seconds_left() is None
    progress.advance("learning", 0, 0.0)
    now[0] = 30.0
    progress.advance("learning", 60, 0.25)
    assert progress.rate(60) == 2
    assert progress.seconds_left() == 90
    now[0] = 100.0
    assert progress.rate(60) == 0  # nothing came in the last minute
    progress.advance("cleaning", 10, None)
    assert progress.seconds_left() is None


def test_durations():
    assert [duration(s) for s in (0, 59, 61, 3600, 86400)] == ["10 s", "60 s", "1 min", "1 h 0 min", "24 h 0 min"]
