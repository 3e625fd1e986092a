r"""Run the code of a page of the documents, block by block, in an empty folder beside a server of the bundled site.

- A block ``console`` has commands behind ``$``, and what they print (`agrees`); ``...`` stands for whatever. A command
  ends with the exit code 0, or with the one that a comment behind it names: ``# exit code 1``.
- A block whose first line is a comment with the name of a file is written to that file.
- Any other block ``python`` is run, all of a page in one namespace; the block ``text`` behind it is what it prints.

>>> Block("console", "$ echo a\nb", 3).commands()
[('echo a', 'b')]
>>> Block("toml", "# rules.toml\n[[rule]]", 9).file
'rules.toml'
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.crawling import CONSOLE, ROOT, SITE
from tests.prefork import popen
from tests.server import SiteServer

#: Where a page says that the site is.
PLACES = ("http://localhost:8000/", "https://example.com/")
#: What would change the machine, needs the network, or does not end.
NOT_RUN = ("pip install ", "git clone ", "python -m venv ", "python -m http.server ", "docker ", "curl ", "apt-get ")
LIMIT = 600
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
        return found[1] if found and self.language != "console" else None

    def commands(self) -> list[tuple[str, str]]:
        """Each command with what it prints; a line that ends with a backslash goes on in the next one."""
        joined = self.text.replace("\\\n", "")
        return [tuple(part.strip("\n").partition("\n")[::2]) for part in re.split(r"^\$ ", joined, flags=re.M)[1:]]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in _BLOCK.finditer(text)]


def agrees(expected: str, printed: str) -> bool:
    """Whether what was printed is what was expected, but for white space, and for numbers that differ by 2 %.

    The order in which pages arrive makes small differences.

    >>> agrees("35 pages ... 5,896 words", "35 pages of 1 site: 5,897 words")
    True
    >>> agrees("35 pages", "34 pages")
    False
    """
    pattern = ""
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

    """

    def __init__(self, folder: Path, server: SiteServer, places: Mapping[str, str]) -> None:
        self.folder = folder
        self.server = server
        self.places = dict.fromkeys(PLACES, server.url("")) | dict(places)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        for name in ("docs", "tests", "scrapy.cfg"):
            (folder / name).symlink_to(ROOT / name)

    def page(self, page: Path) -> None:
        """Run all blocks; what is printed otherwise than the page says is an error."""
        own = [place for place in PLACES if place in page.read_text(encoding="utf-8")]
        for block, following in pairwise([*blocks(page), Block("", "", 0)]):
            where = f"{page.name}, line {block.line}"
            if block.file is not None:
                path = self.folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._here(block.text), encoding="utf-8")
            elif block.language == "console":
                for command, expected in block.commands():
                    self._compare(expected, self._command(command, where), own, where)
            elif block.language == "python":
                printed = self._python(block.text)
                expected = following.text if following.language == "text" else ""
                self._compare(expected, printed, own, where)

    def _here(self, text: str) -> str:
        for place, address in self.places.items():
            text = text.replace(place, address)
        for place in PLACES:
            text = text.replace(_host(place), f"{self.server.host}:{self.server.port}")
        return text

    def _compare(self, expected: str, printed: str, own: list[str], where: str) -> None:
        for place in own[:1]:
            printed = printed.replace(self.server.url(""), place)
            printed = printed.replace(f"{self.server.host}:{self.server.port}", _host(place))
        assert not expected.strip() or agrees(expected, printed), (
            f"{where}: expected\n{expected}\nbut it printed\n{printed[-5000:]}"
        )

    def _command(self, command: str, where: str) -> str:
        if command.startswith(NOT_RUN):
            return ""
        if command.startswith("cd "):
            self.folder = (self.folder / command.removeprefix("cd ")).resolve(strict=True)
            return ""
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        more = {"PATH": programs, "NO_COLOR": "1", "COLUMNS": "120"}
        streams: Any = {"cwd": self.folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        line = self._here(command)
        program, *arguments = shlex.split(line, comments=True)
        module = {"scrapy": "scrapy", "pagelets": CONSOLE}.get(program)
        if module and not set("|&;<>$") & set(line):  # a fork starts faster than a shell
            process = popen([sys.executable, "-m", module, *arguments], more=more, **streams)
        else:
            shell = ["bash", "-o", "pipefail", "-c", line]
            process = subprocess.Popen(shell, env={**os.environ, **more, "PYTHONPATH": str(ROOT)}, text=True, **streams)
        with process:
            try:
                printed = process.communicate(timeout=LIMIT)[0]
            finally:
                process.kill()
        code = re.search(r"# exit code (\d+)", command)
        assert process.returncode == int(code[1] if code else 0), f"{where}: {command}\n{printed[-5000:]}"
        assert "Traceback" not in printed, f"{where}: {command}\n{printed[-5000:]}"
        return printed

    def _python(self, text: str) -> str:
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves temporary files open
            exec(compile(self._here(text), "<a block>", "exec"), self.names)
            gc.collect()
        return printed.getvalue()


def run(page: Path, folder: Path, places: Mapping[str, str] | None = None) -> None:
    """Run the code of a page in a folder."""
    with SiteServer(SITE) as server:
        Run(folder, server, places or {}).page(page)
