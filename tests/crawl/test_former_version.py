"""What the version before has written, or what a project took from its documents: read, or refused in a sentence."""

from __future__ import annotations

import shutil
import sqlite3
import tarfile
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
from scrapy.settings import BaseSettings
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.misc import load_object

from scrapy_pagelets import Addon
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.extensions import SiteReport
from scrapy_pagelets.crawler.spiders.request_journal import RequestJournal
from scrapy_pagelets.decision.model import ModelError, load
from scrapy_pagelets.index.pending_pages import PendingPages
from scrapy_pagelets.index.targets import open_index
from scrapy_pagelets.links.relevance import Topic
from scrapy_pagelets.papers.graph_cuts.segment_weights import WeightsError
from scrapy_pagelets.papers.graph_cuts.segment_weights import load as load_weights
from scrapy_pagelets.session.response_store import ResponseStore
from tests.crawling import SITE, Crawl, crawl, menu_site, not_found, pages_asked_for, run_spider, scrapy
from tests.server import Reply, SiteServer, html

ARCHIVE = Path(__file__).parents[1] / "former" / "version-before.tar.xz"
START = "http://former.example/index.html"
#: Pages of the bundled site that its start page leads to.
PAGES = 35


@pytest.fixture
def former(tmp_path):
    """The folder of the unpacked archive."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path / "former", filter="data")
    return tmp_path / "former"


def _answer(url: str) -> Reply:
    """Answer a proxied request with a page of the bundled site."""
    file = SITE / url.partition("://")[2].partition("/")[2]
    return html(file.read_bytes()) if file.is_file() else not_found(url)


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that serves the bundled site under any host name."""
    with SiteServer(routes={"*": _answer}) as server:
        for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", server.url(""))
        yield server


def asked_for(proxy):
    return [url for url in proxy.hits if not url.endswith("/robots.txt")]


def learnt_again(found: Crawl, folder: Path) -> bool:
    """Whether a crawl has warned of the store of another model in a folder, and of nothing else but a single page."""
    [sentence] = [one for one in found.warnings if "a single page does not reveal its template" not in one]
    why = "is of another version or model: it is left unchanged, and the sites are learnt again"
    return bool(sentence.startswith(str(folder)) and sentence.endswith(why))


@pytest.mark.parametrize("name", ["job", "held"])
def test_a_job_of_an_earlier_version_is_refused(tmp_path, former, proxy, name):
    """Its requests and pages are pickles."""
    found = crawl(tmp_path, "site", url=START, settings={"JOBDIR": str(former / name)}, code=1)
    [sentence] = found.errors
    assert sentence.startswith(f"the job in {former / name} cannot be continued: an earlier version began it")
    assert asked_for(proxy) == []


def test_a_journal_of_an_earlier_version_is_refused(tmp_path):
    RequestJournal(tmp_path / "journal").close()
    with closing(sqlite3.connect(tmp_path / "journal")) as journal:
        journal.execute("PRAGMA user_version = 1")
    with pytest.raises(ConfigError, match="Crawl again with a new JOBDIR"):
        RequestJournal(tmp_path / "journal")


def test_a_job_with_a_topic_is_not_continued_without_one(tmp_path, former, proxy):
    (former / "held" / "requests.seen").unlink()  # this version does not continue the job itself
    found = crawl(tmp_path, "site", url=START, settings={"JOBDIR": str(former / "held")}, code=1)
    [sentence] = found.errors
    assert "its queue was saved by another SCHEDULER_PRIORITY_QUEUE" in sentence
    assert "set them as in the earlier run, or crawl again with a new JOBDIR" in sentence
    assert asked_for(proxy) == []


def test_a_store_of_another_model_is_left_unchanged(tmp_path, former, proxy):
    """The counts hold scores of the model, so that those of another one tell nothing."""
    settings = {"PAGELETS_STORE": str(former / "store"), "PAGELETS_PROBE": 0}
    [store] = (former / "store").glob("*.sqlite")
    before = store.read_bytes()
    found = crawl(tmp_path, "site", url="http://a.former.example/index.html", pages=1, settings=settings)
    assert found.errors == []
    assert learnt_again(found, former / "store")
    assert "a.former.example: 1 page" in found.log
    assert store.read_bytes() == before


def test_a_response_of_an_earlier_version_is_not_read(former):
    said: list[str] = []
    folder = former / "responses"
    folder.mkdir()
    shutil.copy(former / "rendered-page", folder / "page")
    assert ResponseStore(folder, said.append).take("page") is None
    assert "it is a pickle of an earlier version, which is not read because it could run code" in said[0]


def test_topics_are_read_and_models_and_weights_refused(former):
    with pytest.raises(ModelError, match=r"of this version: train it again with `scrapy pagelets train`$"):
        load(str(former / "model.npz"))
    with pytest.raises(WeightsError, match="is not a weights file of this version: write it again"):
        load_weights(str(former / "weights.npz"))
    topic = Topic(["load balancer"])
    topic.load(former / "held" / "pagelets-topic.npz")
    assert topic.pages > 0


def test_an_index_and_pending_pages_are_read(former):
    answer = scrapy("pagelets", "search", str(former / "pages.sqlite"), "load balancer")
    assert answer.returncode == 0, answer.stderr
    assert "6 of 6 pages" in answer.stdout
    open_index(str(former / "pages.sqlite")).close()
    pending = PendingPages(former / "job", "postgresql://127.0.0.1:9/nowhere")
    assert len(pending.take()) == 13
    pending.close()


@pytest.mark.parametrize("command", [["report"], ["duplicates"], ["rank", "--pagerank"]])
def test_a_feed_is_read(former, command):
    answer = scrapy("pagelets", command[0], str(former / "job.jsonl"), *command[1:])
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "13" in answer.stdout


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
    "EXTENSIONS": {"scrapy_pagelets.crawler.report.SiteReport": 500},
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
    "scrapy_pagelets.links.votes.pagerank",
    "scrapy_pagelets.links.link_tables.Query",
    "scrapy_pagelets.retrieval.collection.MemoryCollection",
    "scrapy_pagelets.retrieval.answers.search",
    "scrapy_pagelets.retrieval.stored.stored",
    "scrapy_pagelets.papers.vips.vips.vips",
]


@pytest.mark.parametrize("name", NAMES)
def test_documented_names_can_be_imported(name):
    assert callable(load_object(name))


def test_documented_settings_have_the_documented_spiders():
    modules = import_module("scrapy_pagelets.crawler.settings").SPIDER_MODULES
    loader = SpiderLoader.from_settings(BaseSettings({"SPIDER_MODULES": modules, "SPIDER_LOADER_WARN_ONLY": False}))
    assert {*loader.list()} == {"archive", "site"}


def test_a_former_path_switches_a_component_off():
    settings = BaseSettings({"EXTENSIONS": {"scrapy_pagelets.crawler.report.SiteReport": None}, "EXTENSIONS_BASE": {}})
    Addon().update_settings(settings)
    found = settings.getdict("EXTENSIONS").items()
    assert [priority for path, priority in found if load_object(path) is SiteReport] == [None]


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
