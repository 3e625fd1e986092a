"""A project made by ``scrapy startproject``: one line enables everything, and its own settings take precedence."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.crawling import ROOT, Crawl, finished, menu_site, options, pages_asked_for, run_spider, scrapy
from tests.server import SiteServer

ADDON = 'ADDONS = {"scrapy_pagelets.Addon": 500}\n'
PIPELINES = """
ITEM_PIPELINES = {
    "scrapy_pagelets.pipelines.segment.SegmentPipeline": 100,
    "scrapy_pagelets.pipelines.strip.StripPipeline": 200,
}
"""
SPIDER = """
import scrapy

class Quotes(scrapy.Spider):
    name = "quotes"
    async def start(self):
        yield scrapy.Request(self.base)
    def parse(self, response):
        yield {"url": response.url, "heading": response.css("h1::text").get()}
        yield from response.follow_all(css="a", callback=self.parse)
"""
NAMES = ["home", *"abcdef"]


@pytest.fixture
def project(tmp_path):
    """A new project with a spider."""
    made = scrapy("startproject", "stranger", str(tmp_path / "stranger"), cwd=tmp_path)
    assert made.returncode == 0
    folder = tmp_path / "stranger"
    (folder / "stranger" / "spiders" / "quotes.py").write_text(SPIDER, encoding="utf-8")
    return folder


def crawl_in(project: Path, lines: str, start: str, feed: str = "feed.jsonl", *more: str) -> Crawl:
    """Crawl with lines added to the settings of the project, and no relevant command line options."""
    settings = project / "stranger" / "settings.py"
    quick = "DOWNLOAD_DELAY = 0\nCONCURRENT_REQUESTS_PER_DOMAIN = 8\n"
    settings.write_text(settings.read_text(encoding="utf-8") + quick + lines, encoding="utf-8")
    command = ["crawl", "quotes", "-O", feed, "-a", f"base={start}", *more]
    return finished(scrapy(*command, cwd=project), project / feed)


def enable(project: Path) -> None:
    """Do what the README says: replace the empty add-ons of Scrapy's template."""
    assert "`ADDONS = {}`" in (ROOT / "README.md").read_text(encoding="utf-8")
    settings = project / "stranger" / "settings.py"
    before, empty, after = settings.read_text(encoding="utf-8").partition("\nADDONS = {}\n")
    assert empty
    settings.write_text(f"{before}\n{ADDON}{after}", encoding="utf-8")


def assert_clean(found: Crawl) -> None:
    assert len(found.lines) == len(NAMES)
    for line in found.lines:
        name = line["heading"].split()[-1]
        assert line["text"].startswith(f"Heading {name}")
        assert line["text"].endswith(f"{name}word59")


def test_one_line_enables_everything(project):
    enable(project)
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl_in(project, "", server.url(""))
        _ = crawl_in(project, "", server.url(""), "feed.parquet")
    assert_clean(found)
    assert pq.read_table(project / "feed.parquet").num_rows == len(NAMES)
    assert len(pages_asked_for(server.hits)) == 2 * len(NAMES)
    assert found.stat("probe/loaded") == found.stat("probe/handed_over") == 3
    assert found.errors == found.warnings == []
    # The default level DEBUG tells of each item, but not all that it has.
    assert found.log.count("Scraped from") == len(NAMES)
    assert "'heading': 'Heading a'" in found.log
    assert "... 1 in all" in found.log
    assert "aword20" not in found.log
    assert "'LOG_FORMATTER'" in found.log


def test_the_lines_of_the_pipelines_alone_do_too(project):
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl_in(project, PIPELINES, server.url(""))
    assert len(found.lines) == len(NAMES)
    assert found.stat("probe/loaded") == 0
    assert all(line["pagelets"] for line in found.lines)
    last = found.lines[-1]  # its template is known by then
    assert "slogan" not in last["text"]
    assert last["text"].endswith("word59")
    assert found.errors == []


def test_the_settings_of_the_project_take_precedence(project):
    own = """
ITEM_PIPELINES = {"scrapy_pagelets.pipelines.strip.StripPipeline": 50}
FEED_EXPORTERS = {"parquet": "scrapy.exporters.JsonLinesItemExporter"}
FEEDS = {"other.jsonl": {"format": "parquet"}}
"""
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl_in(project, ADDON + own, server.url(""))
    enabled = found.log[found.log.index("Enabled item pipelines") :]
    assert enabled.index("StripPipeline") < enabled.index("SegmentPipeline")
    other = [json.loads(line) for line in (project / "other.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(map(str, other)) == sorted(map(str, found.lines))


PARTS = {
    "ITEM_PIPELINES": [
        "scrapy_pagelets.pipelines.segment.SegmentPipeline",
        "scrapy_pagelets.pipelines.strip.StripPipeline",
    ],
    "DOWNLOADER_MIDDLEWARES": ["scrapy_pagelets.middlewares.subdigraph.MenuSubdigraphMiddleware"],
    "EXTENSIONS": ["scrapy_pagelets.crawler.extensions.SiteReport"],
}
ONE_PAGE = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base)
    def parse(self, response):
        yield {"url": response.url}
"""


@pytest.mark.parametrize(("setting", "part"), [(setting, part) for setting in PARTS for part in PARTS[setting]])
def test_each_part_can_be_switched_off(tmp_path, setting, part):
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = run_spider(tmp_path, ONE_PAGE, base=server.url(""), settings={setting: {part: None}})
    [line] = found.lines
    off = part.rsplit(".", 1)[1]
    assert off not in found.log[: found.log.index("Spider opened")].split("Overridden settings")[0]
    assert ("pagelets" in line) == (off != "SegmentPipeline")
    assert ("text" in line) == (off != "StripPipeline")
    assert (found.stat("probe/loaded") == 3) == (off != "MenuSubdigraphMiddleware")
    assert (found.stat("sites") == 1) == (off != "SiteReport")
    assert found.errors == []


def test_other_commands_of_scrapy_work_as_before(project):
    settings = project / "stranger" / "settings.py"
    settings.write_text(settings.read_text(encoding="utf-8") + ADDON, encoding="utf-8")
    with SiteServer(routes=menu_site(*NAMES)) as server:
        fetched = scrapy("fetch", "--nolog", server.url("a"), cwd=project)
        assert pages_asked_for(server.hits) == ["/a"]
        parsed = scrapy(
            "parse", "--nolog", "--spider", "quotes", "-a", f"base={server.url('')}", server.url("b"), cwd=project
        )
        command = ["parse", "--spider", "quotes", "-a", f"base={server.url('')}", server.url("c")]
        written = scrapy(*command, "--pipelines", "-o", "parsed.jsonl", cwd=project, PYTHONWARNINGS="default")
        listed = scrapy("list", cwd=project)
    assert written.stderr.count("`scrapy parse -o FILE.jsonl` writes them with all fields") == 1
    [line] = map(json.loads, (project / "parsed.jsonl").read_text(encoding="utf-8").splitlines())
    assert line["text"].endswith("cword59")
    assert "Heading a" in fetched.stdout
    assert "Heading b" in parsed.stdout
    assert listed.stdout.split() == ["quotes"]
    assert [fetched.returncode, parsed.returncode, listed.returncode] == [0, 0, 0]


def test_the_older_crawler_process_does_as_well(tmp_path):
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = run_spider(tmp_path, ONE_PAGE, base=server.url(""), settings={"FORCE_CRAWLER_PROCESS": 1})
    assert found.lines[0]["text"].endswith("homeword59")
    assert found.stat("probe/loaded") == 3


def test_two_crawls_in_one_process_are_independent(tmp_path):
    script = """
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

class Stranger(Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base)
    def parse(self, response):
        yield {"url": response.url}

if __name__ == "__main__":
    import sys
    settings = {"ADDONS": {"scrapy_pagelets.Addon": 500}, "FEEDS": {"%(name)s.jsonl": {"format": "jsonl"}}}
    settings["TELNETCONSOLE_ENABLED"] = False  # for the port of two, Scrapy 2.14 leaves a socket open
    process = AsyncCrawlerProcess(settings)
    for number, base in enumerate(sys.argv[1:]):
        process.crawl(type(f"S{number}", (Stranger,), {"name": f"s{number}"}), base=base)
    process.start()
"""
    (tmp_path / "two.py").write_text(script, encoding="utf-8")
    with SiteServer(routes=menu_site(*NAMES)) as one, SiteServer(routes=menu_site("other", *"xyz")) as two:
        command = [sys.executable, "-W", "error", "two.py", one.url(""), two.url("")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    texts = [json.loads((tmp_path / f"s{n}.jsonl").read_text(encoding="utf-8"))["text"] for n in range(2)]
    assert [text.split()[1] for text in texts] == ["home", "other"]
    assert "'pagelets/sites': 2" not in done.stderr
    assert (done.stderr.count("'pagelets/sites': 1"), "Traceback" in done.stderr) == (2, False)


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("PAGELETS_PROBE", "1", "PAGELETS_PROBE is 1: give 0"),
        ("PAGELETS_FIELDS", '{"texts": "x"}', "PAGELETS_FIELDS has 'texts': choose from url, title"),
    ],
)
def test_an_unusable_setting_ends_the_crawl_before_it_begins(tmp_path, setting, value, sentence):
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = run_spider(tmp_path, ONE_PAGE, base=server.url(""), settings={setting: value}, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(sentence)
    assert server.hits == []
    assert not (tmp_path / "feed.jsonl").exists()


def test_that_also_holds_with_the_pipelines_alone(project):
    with SiteServer(routes=menu_site(*NAMES)) as server:
        settings = project / "stranger" / "settings.py"
        bad = PIPELINES + "PAGELETS_FIRST_PAGES = 0\n"
        settings.write_text(settings.read_text(encoding="utf-8") + bad, encoding="utf-8")
        command = ["crawl", "quotes", *options({}, {"base": server.url("")})]
        found = finished(scrapy(*command, cwd=project), project / "none.jsonl", code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith("PAGELETS_FIRST_PAGES is 0")
    assert server.hits == []
