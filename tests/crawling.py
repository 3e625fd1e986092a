"""Real crawls, each in a process of its own, and pages to crawl."""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from scrapy_pagelets.papers import page_level
from tests.prefork import popen
from tests.server import Reply, Route, html

ROOT = Path(__file__).parent.parent
SITE = ROOT / "tests" / "site"
#: The site is on loopback: nothing is gained by being gentle. And a crawl that waits for something waits in vain.
SETTINGS: Mapping[str, Any] = {
    "AUTOTHROTTLE_ENABLED": 0,
    "DOWNLOAD_TIMEOUT": 60,
    "RETRY_TIMES": 1,
    "LOG_LEVEL": "INFO",
}
LIMIT = 120
#: The module of the console script.
CONSOLE = "scrapy_pagelets.crawler.console"


class Crawl(NamedTuple):
    """What a crawl left behind."""

    lines: list[dict[str, Any]]
    log: str
    stats: dict[str, Any]
    code: int

    @property
    def urls(self) -> list[str]:
        return [line["url"] for line in self.lines]

    @property
    def errors(self) -> list[str]:
        """Messages of the level ERROR or worse."""
        return re.findall(r"^\d{4}-\S+ \S+ \[\S+\] (?:ERROR|CRITICAL): (.*)$", self.log, re.MULTILINE)

    @property
    def warnings(self) -> list[str]:
        return re.findall(r"^\d{4}-\S+ \S+ \[scrapy_pagelets\S*\] WARNING: (.*)$", self.log, re.MULTILINE)

    def stat(self, name: str) -> Any:
        return self.stats.get(f"pagelets/{name}", 0)


def start(
    *command: str, cwd: Path = ROOT, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """A ``scrapy`` command in which warnings are errors."""
    return popen([sys.executable, "-m", "scrapy", *command], cwd=cwd, stdout=stdout, stderr=stderr)


def scrapy(*command: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return _ended("scrapy", command, cwd, environment)


def pagelets(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The console script, as of somebody who has no Scrapy project."""
    return _ended(CONSOLE, command, cwd, {})


def _ended(
    module: str, command: tuple[str, ...], cwd: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    process = popen([sys.executable, "-m", module, *command], cwd=cwd, more=environment)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"{command} does not end:\n{err[-3000:]}") from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def options(settings: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    found = []
    for name, value in {**SETTINGS, **settings}.items():
        found += ["-s", f"{name}={value if isinstance(value, str | int | float) else json.dumps(value)}"]
    for name, value in arguments.items():
        found += ["-a", f"{name}={value}"]
    return found


def ends_quietly_when_its_pipe_closes(*command: str) -> None:
    """Check a ``scrapy`` command whose output nobody reads any more, as after ``| head -1``.

    The reader is gone before the command starts: if it read a line first, a quick command could have written all.
    """
    reader, writer = os.pipe()
    os.close(reader)
    with start(*command, stdout=writer) as process:
        os.close(writer)
        _, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (141, "")


def crawl(
    tmp_path: Path,
    spider: str,
    *,
    settings: Mapping[str, Any] | None = None,
    code: int = 0,
    feed: str = "",
    **arguments: Any,
) -> Crawl:
    """``scrapy crawl`` in our own project; a traceback in the log is a failure."""
    path = tmp_path / (feed or "feed.jsonl")
    command = ["crawl", spider, "-o", str(path), *options(settings or {}, arguments)]
    return finished(scrapy(*command), path, code)


def run_spider(
    tmp_path: Path,
    source: str,
    *,
    settings: Mapping[str, Any] | None = None,
    code: int = 0,
    traceback: bool = False,
    **arguments: Any,
) -> Crawl:
    """``scrapy runspider`` on a stranger's spider, outside of any project, with the add-on."""
    path, feed = tmp_path / "stranger.py", tmp_path / "feed.jsonl"
    path.write_text(PREFACE + dedent(source), encoding="utf-8")
    given = {"ADDONS": {"scrapy_pagelets.Addon": 500}, **(settings or {})}
    command = ["runspider", str(path), "-o", str(feed), *options(given, arguments)]
    return finished(scrapy(*command, cwd=tmp_path), feed, code, traceback)


#: Beginning of a stranger's file.
PREFACE = """\
import scrapy
from scrapy import Request, signals

"""


#: What Scrapy itself logs. Its cookies ask the world for its public suffixes, and complain at length if there is no
#: world. At its end, a timer for connections that do not close may go off after they have closed, on a busy machine.
_OF_SCRAPY = re.compile(
    r"^\S+ \S+ \[tldextract\] WARNING.*?^(?=\d{4}-)"
    r"|^(?:\S+ \S+ \[twisted\] CRITICAL: )?while handling timed call\n"
    r"Traceback [^\n]*\n(?: [^\n]*\n)*\S*AlreadyCalledError",
    re.DOTALL | re.MULTILINE,
)


def finished(process: subprocess.CompletedProcess[str], feed: Path, code: int = 0, traceback: bool = False) -> Crawl:
    log = process.stderr
    assert process.returncode == code, log[-5000:]
    ours = _OF_SCRAPY.sub("", log)
    assert traceback or "Traceback" not in ours, ours[ours.index("Traceback") - 500 :][:5000]
    text = feed.read_text(encoding="utf-8") if feed.suffix == ".jsonl" and feed.exists() else ""
    dumped = re.search(r"Dumping Scrapy stats:\n(\{.*?\})$", log, re.DOTALL | re.MULTILINE)
    stats = eval(dumped[1], {"datetime": datetime}) if dumped else {}
    return Crawl([json.loads(line) for line in text.splitlines()], log, stats, process.returncode)


def letters(name: str) -> str:
    """A name without digits: texts that differ in digits alone repeat each other."""
    return name.translate(str.maketrans("0123456789", "abcdefghij"))


def words(name: str, number: int = 60) -> str:
    """Text that no other page has."""
    return " ".join(f"{letters(name)}word{i}" for i in range(number))


def page(name: str, menu: Iterable[str] = (), *, more: str = "", kind: str = "plain") -> str:
    """A page of a site: the same header, menu and footer for all, and a content of its own."""
    entries = "".join(f'<li><a href="{url}">Menu entry {url.strip("/") or "home"}</a></li>' for url in menu)
    return f"""<!DOCTYPE html><html lang="en"><head><title>Title of {name}</title></head><body class="{kind}">
<div class="{kind}-header"><p>The slogan of the house</p><ul class="{kind}-menu">{entries}</ul></div>
<div class="{kind}-main"><h1>Heading {letters(name)}</h1><p>{words(name)}</p>{more}</div>
<div class="{kind}-footer"><p>All rights reserved by the house</p></div></body></html>"""


def answer(body: str | bytes, **headers: str) -> Route:
    """A route that always gives the same page, of the type ``Content_Type`` if it is named."""
    reply = html(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda path: reply._replace(headers={**reply.headers, **named})


def menu_site(*names: str, more: Callable[[str], str] = lambda name: "", **options: Any) -> dict[str, Route]:
    """Pages ``/name`` of one class that link each other by a menu; the first is ``/``; ``more(name)`` is HTML."""
    paths = ["/", *(f"/{name}" for name in names[1:])]
    made = zip(paths, names, strict=True)
    return {path: answer(page(name, paths, more=more(name), **options)) for path, name in made}


def everything_is_template(path: Path) -> Path:
    """Write a page-level file that calls all text template."""
    shipped = page_level.load()
    plain = replace(shipped.plain, weight=0 * shipped.plain.weight, bias=0 * shipped.plain.bias + 9)
    replace(shipped, plain=plain).save(path)
    return path


def not_found(path: str) -> Reply:
    return html("<html><body><p>Not here</body></html>", status=404)


def pages_asked_for(hits: Iterable[str]) -> list[str]:
    """The paths of a server's log, without robots.txt."""
    return [path for path in hits if path != "/robots.txt"]
