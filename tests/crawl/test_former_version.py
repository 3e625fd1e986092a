"""What an earlier version has written is refused in a sentence; what documents name can be imported."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from importlib import import_module

import pytest
from scrapy.settings import BaseSettings
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.misc import load_object

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.spiders.request_journal import RequestJournal
from tests.crawling import ROOT, crawl, menu_site, pagelets, pages_asked_for, run_spider
from tests.server import SiteServer


@pytest.mark.parametrize("name", ["pagelets-journal.sqlite", "requests.seen"])
def test_a_job_of_an_earlier_version_is_refused(tmp_path, name):
    """Its requests and pages are pickles; the earliest had no journal."""
    job_of_an_earlier_version(tmp_path, name)
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings={"JOBDIR": str(tmp_path)}, code=1)
    [sentence] = found.errors
    assert sentence.startswith(f"the job in {tmp_path} cannot be continued: an earlier version began it")


def job_of_an_earlier_version(tmp_path, name="requests.seen"):
    with closing(sqlite3.connect(tmp_path / "pagelets-journal.sqlite")) as journal:
        journal.executescript("CREATE TABLE requests (number INTEGER); PRAGMA user_version = 1;")
    (tmp_path / "pagelets-journal.sqlite").rename(tmp_path / name)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-s", "JOBDIR=."], "ERROR: the job in . cannot be continued: an earlier version began it"),
        (["--pages", "3", "-s", "PAGELETS_REDIS=redis://127.0.0.1:1/"], "ERROR: -a pages cannot be combined with"),
    ],
)
def test_the_console_refuses_a_crawl_at_its_start_in_one_sentence(tmp_path, arguments, sentence):
    job_of_an_earlier_version(tmp_path)
    done = pagelets("crawl", "http://127.0.0.1:1/", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(sentence)


def test_a_job_with_a_topic_is_not_continued_without_one(tmp_path):
    job = tmp_path / "job"
    (job / "requests.queue").mkdir(parents=True)
    (job / "requests.queue" / "active.json").write_text("[0]", encoding="utf-8")
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings={"JOBDIR": str(job)}, code=1)
    [sentence] = found.errors
    assert "its queue was saved by another SCHEDULER_PRIORITY_QUEUE" in sentence
    assert "set them as in the earlier run, or crawl again with a new JOBDIR" in sentence


def test_a_journal_of_an_earlier_version_is_refused(tmp_path):
    RequestJournal(tmp_path / "journal").close()
    with closing(sqlite3.connect(tmp_path / "journal")) as journal:
        journal.execute("PRAGMA user_version = 1")
    with pytest.raises(ConfigError, match="Crawl again with a new JOBDIR"):
        RequestJournal(tmp_path / "journal")


#: Everything that README and docs of the version before name, below `scrapy_pagelets`.
COMPONENTS = {
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy_pagelets.middlewares.handover.HandoverMiddleware": 544,
        "scrapy_pagelets.middlewares.subdigraph.MenuSubdigraphMiddleware": 545,
        "scrapy_pagelets.middlewares.rendering.RenderingMiddleware": 546,
    },
    "SPIDER_MIDDLEWARES": {"scrapy_pagelets.middlewares.priority.PriorityMiddleware": 75},
    "ITEM_PIPELINES": {
        "scrapy_pagelets.pipelines.segment.SegmentPipeline": 100,
        "scrapy_pagelets.pipelines.strip.StripPipeline": 200,
        "scrapy_pagelets.pipelines.duplicates.DuplicatesPipeline": 300,
        "scrapy_pagelets.pipelines.index.IndexPipeline": 400,
    },
    "EXTENSIONS": {"scrapy_pagelets.crawler.extensions.SiteReport": 500},
    "FEED_EXPORTERS": {"parquet": "scrapy_pagelets.crawler.exporters.ParquetItemExporter"},
}
NAMES = [
    "scrapy_pagelets.Addon",
    "scrapy_pagelets.Page",
    "scrapy_pagelets.Site",
    "scrapy_pagelets.segment",
    "scrapy_pagelets.crawler.commands.PageletsCommand",
    "scrapy_pagelets.index.targets.open_index",
    "scrapy_pagelets.links.clever.clever",
    "scrapy_pagelets.links.votes.related",
    "scrapy_pagelets.links.pagerank.pagerank",
    "scrapy_pagelets.links.link_tables.Query",
    "scrapy_pagelets.retrieval.search.search",
    "scrapy_pagelets.retrieval.stored.stored",
    "scrapy_pagelets.papers.vips.vips.vips",
]


@pytest.mark.parametrize("name", NAMES)
def test_documented_names_can_be_imported(name):
    assert callable(load_object(name))


def test_documented_components_can_be_imported():
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:crawler|middlewares|pipelines)(?:\.\w+)+\.[A-Z]\w+)`", settings)
    assert len(paths) > 15
    assert all(callable(load_object(f"scrapy_pagelets.{path}")) for path in paths)


def test_documented_settings_have_the_documented_spiders():
    modules = import_module("scrapy_pagelets.crawler.settings").SPIDER_MODULES
    loader = SpiderLoader.from_settings(BaseSettings({"SPIDER_MODULES": modules, "SPIDER_LOADER_WARN_ONLY": False}))
    assert {*loader.list()} == {"archive", "site"}


SPIDER = """
    class Stranger(scrapy.Spider):
        name = "stranger"

        async def start(self):
            yield Request(self.url)

        def parse(self, response):
            yield {"title": response.css("title::text").get()}
            yield from response.follow_all(css="a")
"""


@pytest.mark.parametrize("addons", [{}, {"scrapy_pagelets.Addon": 500}])
def test_a_project_that_names_all_components_keeps_working(tmp_path, addons):
    with SiteServer(routes=menu_site("home", *"abcdef")) as server:
        found = run_spider(tmp_path, SPIDER, settings={"ADDONS": addons, **COMPONENTS}, url=server.url(""))
    assert len(found.lines) == 7
    assert all("slogan" not in line["text"] for line in found.lines)
    assert found.errors == []
    assert found.stat("sites") == 1
    hits = pages_asked_for(server.hits)
    assert len(hits) == len(set(hits)) == 7
