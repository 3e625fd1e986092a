"""The compiled core as a whole: it is built, it can be switched off, and no feed tells whether it is there."""

import ast
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from scrapy_pagelets import core
from tests.crawling import ROOT, SITE, crawl
from tests.server import SiteServer

FOLDER = ROOT / "scrapy_pagelets" / "core"
#: Everything that a feed can have, but the time of the crawl. Threads end in any order, so lines are sorted.
SETTINGS = {
    "PAGELETS_EXPORT": "all",
    "PAGELETS_FORMATS": "text,html,markdown",
    "PAGELETS_CHUNKS": 200,
    "PAGELETS_FIELDS": {"fetched_at": None},
    "CONCURRENT_REQUESTS": 1,  # what a site knows when a page is cleaned goes by the order of its pages
}


def test_the_core_is_built():
    assert core.MISSING == "", "install a C++ compiler, then build the core: pip install --editable ."
    assert set(core.MODULES) == {path.stem for path in FOLDER.glob("*.pyx")}


def test_the_core_imports_nothing_of_the_project_and_names_what_it_was_not_given():
    code = """
import sys
from lxml import etree
from scrapy_pagelets.core import table
print([name for name in sys.modules if name.startswith("scrapy_pagelets.") and "core" not in name])
table.flatten(etree.fromstring("<p>One</p>"), False)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[]\n"
    assert "LookupError: the compiled core was not given BY_CHARACTER: import the module" in done.stderr


def test_the_core_is_given_what_it_asks_for_each_name_once():
    given: Counter[tuple[str, str]] = Counter()
    for path in (ROOT / "scrapy_pagelets").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "give":
                given.update((ast.literal_eval(node.args[0]), str(keyword.arg)) for keyword in node.keywords)
    asked = {
        (path.stem, name)
        for path in FOLDER.glob("*.pyx")
        for name in re.findall(r'\bgiven\["(\w+)"\]', path.read_text(encoding="utf-8"))
    }
    assert set(given) == asked
    assert [name for name, count in given.items() if count > 1] == []


@pytest.mark.parametrize("spider", ["archive", "site"])
def test_a_feed_is_the_same_byte_for_byte_with_and_without_the_core(tmp_path, monkeypatch, spider):
    feeds = {}
    with SiteServer(SITE) as server:
        url = server.url("")
        where: dict[str, Any] = {"path": SITE, "base": url} if spider == "archive" else {"url": f"{url}index.html"}
        for value in ("on", "off"):
            monkeypatch.setenv("SCRAPY_PAGELETS_CORE", value)
            found = crawl(tmp_path, spider, settings=SETTINGS, feed=f"{value}.jsonl", **where)
            assert ("without the compiled core: SCRAPY_PAGELETS_CORE is off" in found.log) == (value == "off")
            feeds[value] = sorted((tmp_path / f"{value}.jsonl").read_bytes().splitlines())
    assert len(feeds["on"]) > 30
    assert feeds["on"] == feeds["off"]
