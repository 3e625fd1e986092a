r"""Run the code of a page of the documents, block by block, in an empty folder beside a server of the bundled site.

- A block ``console`` has commands behind ``$``, and what they print (`agrees`); ``...`` stands for whatever. A command
  ends with the exit code 0, or with the one that a comment behind it names: ``# exit code 1``.
- A block ``sh`` has a command in each line.
- A block whose first line is a comment with the name of a file is written to that file.
- Any other block ``python`` is run, all of a page in one namespace, or in a process of its own if it awaits something.
- The block ``text`` right behind a block ``sh`` or ``python`` is what that prints. Any other block ``text`` is no code.
- DuckDB runs a block ``sql``; a block ``json`` or ``toml`` is read.

>>> Block("console", "$ echo a\nb", 3).commands()
[('echo a', 'b')]
>>> Block("toml", "# rules.toml\n[[rule]]", 9).file
'rules.toml'
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tests.crawling import CONSOLE, ROOT, SITE
from tests.crawling import page as page_of
from tests.prefork import popen
from tests.server import Reply, Route, SiteServer

#: Where a page says that the site is.
PLACES = ("http://localhost:8000/", "https://example.com/")
#: Beginnings of the commands and blocks that are not run, and why.
NOT_RUN = {
    "pip install ": "it changes the environment; a job of CI installs the wheel",
    "pipx install ": "it changes the machine",
    "python -m venv ": "the tests have an environment",
    "git clone ": "the repository is here",
    "make ": "the tests are run by make",
    ". .venv/bin/activate": "the tests have an environment",
    "python -m http.server ": "it does not end; the tests have a server",
    "redis-server ": "it does not end; the tests have a Redis",
    "curl ": "it need not be installed, and OpenSearch is not; tests/crawl/test_console.py has the pipe",
    "python -m benchmarks ": "the data is no part of the project; tests/scale/test_benchmarks.py knows the names",
    "spark-submit --master yarn ": "there is no YARN; tests/scale/test_corpus_spark.py submits to a cluster",
    "from tokenizers import ": "it needs the file of a model; tests/crawl/test_chunks.py has a tokenizer",
}
#: Languages of blocks that `Run` runs, writes to a file, or reads.
CODE = frozenset({"console", "sh", "python", "sql", "json", "toml"})
LIMIT = 600
_BLOCK = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Runs what a cell of a notebook may await.
_AWAIT = """\
import ast, asyncio, sys
made = eval(compile(sys.argv[1], "<a block>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {"__name__": "__main__"})
asyncio.run(made)
"""
_FILE = re.compile(r"# ([\w./-]+\.\w+)\n")


class Block(NamedTuple):
    """A block of code: its language, its text and its line in the page."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that it is the text of."""
        found = _FILE.match(self.text)
        return found[1] if found and self.language not in ("console", "sh") else None

    @property
    def end(self) -> int:
        """The line in which it ends."""
        return self.line + self.text.count("\n") + 1

    def commands(self) -> list[tuple[str, str]]:
        """Each command with what it prints; a line that ends with a backslash goes on in the next one."""
        joined = self.text.replace("\\\n", "")
        if self.language == "sh":
            return [(line, "") for line in joined.splitlines() if line.strip()]
        return [tuple(part.strip("\n").partition("\n")[::2]) for part in re.split(r"^\$ ", joined, flags=re.M)[1:]]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in _BLOCK.finditer(text)]


def left_out(code: str) -> bool:
    """Whether a command or block is not run."""
    return code.startswith(tuple(NOT_RUN))


def agrees(expected: str, printed: str) -> bool:
    """Whether what was printed is what was expected, but for white space, times, and numbers that differ by 2 %.

    The order in which pages arrive makes small differences.

    >>> agrees("35 pages ... 5,896 words", "35 pages of 1 site: 5,897 words")
    True
    >>> agrees("35 pages in 3 s, 11.4 a second", "35 pages in 2 s, 17 a second")
    True
    >>> agrees("35 pages", "34 pages")
    False
    """
    pattern = ""
    expected = re.sub(r"\d[\d.]*(?= s,| a second)", "...", expected)
    for part in re.split(r"(\.\.\.|\d[\d,.]*\b|\s+)", expected.strip()):
        pattern += {"...": ".*?"}.get(part) or (
            r"(\d[\d,.]*\b)" if part[:1].isdigit() else r"\s+" if part.isspace() else re.escape(part)
        )
    found = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    return found is not None and all(map(_close, re.findall(r"\d[\d,.]*\b", expected), found.groups()))


def _host(place: str) -> str:
    return place.partition("://")[2].rstrip("/")


def _close(one: str, other: str) -> bool:
    if not all(re.fullmatch(r"[\d,]+(\.\d+)?", text) for text in (one, other)):
        return one == other
    first, second = (float(text.replace(",", "")) for text in (one, other))
    return abs(first - second) <= 0.02 * max(first, second)


class Run:
    """The run of one page.

    Parameters
    ----------
    folder : path
        The code is run in it. It looks like a checkout: it has ``scrapy.cfg``, ``docs`` and ``tests``.
    server : SiteServer
        Stands for the site that the page crawls.
    places : mapping
        What else stands for something of this run, such as the address of a database.
    names : mapping
        Variables that the page takes for granted.

    """

    def __init__(
        self, folder: Path, server: SiteServer, places: Mapping[str, str], names: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        self.server = server
        self.places = dict(places) | dict.fromkeys(PLACES, server.url(""))
        self.names: dict[str, Any] = {"__name__": "__main__", **(names or {})}
        for name in ("docs", "tests", "scrapy.cfg"):
            (folder / name).symlink_to(ROOT / name)

    def page(self, page: Path) -> None:
        """Run all blocks; what is printed otherwise than the page says is an error."""
        own = [place for place in PLACES if place in page.read_text(encoding="utf-8")]
        for block, following in pairwise([*blocks(page), Block("", "", 0)]):
            where = f"{page.name}, line {block.line}"
            printed = ""
            if block.file is not None:
                path = self.folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.here(block.text), encoding="utf-8")
            elif block.language in ("console", "sh"):
                for command, expected in block.commands():
                    said = self._command(command, where)
                    self._compare(expected, said, own, where)
                    printed += said
            elif not left_out(block.text):
                printed = self._other(block, where)
            if block.language in ("python", "sh") and following.language == "text" and following.line <= block.end + 2:
                self._compare(following.text, printed, own, where)

    def _other(self, block: Block, where: str) -> str:
        match block.language:
            case "python" if re.search(r"^await ", block.text, re.MULTILINE):
                return self._ended([sys.executable, "-c", _AWAIT, self.here(block.text)], 0, where)
            case "python":
                return self._python(block.text)
            case "sql":
                with contextlib.chdir(self.folder):
                    return str(duckdb.sql(self.here(block.text)))
            case "json":
                json.loads(block.text)
            case "toml":
                tomllib.loads(block.text)
        return ""

    def route(self, text: str) -> Route:
        """Answer with XML whose addresses are those of this run."""
        return lambda path: Reply(200, {"Content-Type": "application/xml"}, self.here(text).encode())

    def here(self, text: str) -> str:
        """Put the addresses of this run into a text."""
        for place, address in self.places.items():
            text = text.replace(place, address)
        for place in PLACES:
            text = text.replace(_host(place), f"{self.server.host}:{self.server.port}")
        return text

    def _compare(self, expected: str, printed: str, own: list[str], where: str) -> None:
        printed = printed.replace(str(self.folder), "/tmp")
        for place in own[:1]:
            printed = printed.replace(self.server.url(""), place)
            printed = printed.replace(f"{self.server.host}:{self.server.port}", _host(place))
        assert not expected.strip() or agrees(expected, printed), (
            f"{where}: expected\n{expected}\nbut it printed\n{printed[-5000:]}"
        )

    def _command(self, command: str, where: str) -> str:
        if left_out(command):
            return ""
        if command.startswith("cd "):
            self.folder = (self.folder / command.removeprefix("cd ")).resolve(strict=True)
            return ""
        line = self.here(command)
        program, *arguments = shlex.split(line, comments=True)
        module = {"scrapy": "scrapy", "pagelets": CONSOLE}.get(program)
        simple = module and not set("|&;<>$*?") & set(line)
        code = re.search(r"# exit code (\d+)", command)
        started = [sys.executable, "-m", str(module), *arguments] if simple else ["bash", "-o", "pipefail", "-c", line]
        return self._ended(started, int(code[1] if code else 0), f"{where}: {command}")

    def _ended(self, command: list[str], code: int, where: str) -> str:
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        more = {"PATH": programs, "NO_COLOR": "1", "COLUMNS": "100"}
        streams: Any = {"cwd": self.folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        if command[1] == "-m":  # a fork starts faster than a shell
            process = popen(command, more=more, **streams)
        else:
            environment = {**os.environ, **more, "PYTHONPATH": str(ROOT)}
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, text=True, **streams)
        with process:
            try:
                printed = process.communicate(timeout=LIMIT)[0]
            finally:
                process.kill()
        assert process.returncode == code, f"{where}\n{printed[-5000:]}"
        assert "Traceback" not in printed, f"{where}\n{printed[-5000:]}"
        return printed

    def _python(self, text: str) -> str:
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves temporary files open
            exec(compile(self.here(text), "<a block>", "exec"), self.names)
            gc.collect()
        return printed.getvalue()


def small_site(folder: Path) -> Path:
    """Write three pages with one menu, for what is crawled several times."""
    folder.mkdir(parents=True)
    names = ("index.html", "one.html", "two.html")
    for name in names:
        text = page_of(name.removesuffix(".html"), [f"/{one}" for one in names])
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(
    page: Path,
    folder: Path,
    places: Mapping[str, str] | None = None,
    names: Mapping[str, Any] | None = None,
    site: Path = SITE,
    files: Mapping[str, str] | None = None,
    served: Mapping[str, str] | None = None,
) -> None:
    """Run the code of a page in a folder with some files, beside a server of a site and of some XML by its path."""
    with SiteServer(site) as server:
        made = Run(folder, server, places or {}, names)
        for name, text in (files or {}).items():
            (folder / name).write_text(made.here(text), encoding="utf-8")
        for path, text in (served or {}).items():
            server.routes[path] = made.route(text)
        made.page(page)
