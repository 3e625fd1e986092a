"""The compiled core as a whole: it is built, it can be switched off, and no feed tells whether it is there."""

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
