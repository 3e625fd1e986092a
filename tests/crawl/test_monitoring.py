"""Monitors of Spidermon, and the stats in the text format of Prometheus."""

from __future__ import annotations

import os

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.crawling import answer, crawl, everything_is_template, finished, menu_site, options, page, scrapy
from tests.server import SiteServer

SUITE = "scrapy_pagelets.crawler.monitors.PageletsMonitorSuite"
MONITORED = {
    "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
    "SPIDERMON_ENABLED": 1,
    "SPIDERMON_SPIDER_CLOSE_MONITORS": SUITE,
}


#: Spidermon logs by a method that Scrapy deprecates.
WARNINGS = "error,ignore:Spider.log() is deprecated"


def monitored(tmp_path, url, code=0, **more):
    """A crawl with the monitors; one that fails logs a traceback."""
    feed = tmp_path / "feed.jsonl"
    feed.unlink(missing_ok=True)
    command = ["crawl", "site", "-o", str(feed), *options({**MONITORED, **more}, {"url": url})]
    return finished(scrapy(*command, PYTHONWARNINGS=WARNINGS), feed, code, traceback=True)


def failed(found):
    """The sentences of the monitors that have failed."""
    return [line.partition("AssertionError: ")[2] for line in found.log.splitlines() if "AssertionError: " in line]


def test_a_crawl_that_was_cleaned_passes(tmp_path):
    with SiteServer(routes=menu_site("home", *"abc")) as server:
        found = monitored(tmp_path, server.url(""))
    assert "4 monitors in" in found.log
    assert (failed(found), found.errors) == ([], [])


def test_a_crawl_of_which_nothing_is_left_fails_unless_that_is_allowed(tmp_path):
    file = everything_is_template(tmp_path / "file.npz")
    method = {"PAGELETS_DETECTION": "classifier", "PAGELETS_CLASSIFIER": str(file)}
    sentence = "nothing is left of 3 of 3 pages: pagelets report FEED shows which"
    with SiteServer(routes=menu_site("home", *"ab")) as server:
        for most, expected in ((0.05, [sentence]), (1, [])):
            found = monitored(tmp_path, server.url(""), SPIDERMON_PAGELETS_MOST_EMPTY=most, **method)
            assert [one for one in failed(found) if sentence in one] == expected


def test_without_pages_or_a_template_a_crawl_fails(tmp_path):
    bare = "<html><title>T</title><body><p>Words of the only page there is, and nothing else but them.</p></body>"
    with SiteServer(routes={"/": answer(bare)}) as server:
        alone = monitored(tmp_path, server.url(""))
        missing = monitored(tmp_path, server.url("gone"), code=1)
    assert any("no template was found: nothing was stripped" in one for one in failed(alone))
    assert any("no page was cleaned" in one for one in failed(missing))
    assert any("1 start pages could not be used" in one for one in failed(missing))


def test_the_stats_are_samples_that_prometheus_can_read(tmp_path):
    path = tmp_path / "pagelets.prom"
    with SiteServer(routes=menu_site("home", *"ab") | {"/c": answer(page("c"))}) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_METRICS": str(path)})
    [family] = text_string_to_metric_families(path.read_text())
    samples = {sample.labels["stat"]: sample for sample in family.samples}
    assert {sample.name for sample in family.samples} == {"scrapy_stat"}
    assert {sample.labels["spider"] for sample in family.samples} == {"site"}
    for name in ("pagelets/pages/cleaned", "pagelets/words/template", "item_scraped_count", "elapsed_time_seconds"):
        assert samples[name].value == found.stats[name]
    assert samples["finish_time"].value == found.stats["finish_time"].timestamp()
    assert "finish_reason" not in samples
    assert os.listdir(tmp_path) in (["pagelets.prom", "feed.jsonl"], ["feed.jsonl", "pagelets.prom"])


@pytest.mark.parametrize("name", ["missing/x.prom", ".", "/proc/x.prom"])
def test_a_file_that_cannot_be_written_ends_the_crawl_before_it_begins(tmp_path, name):
    settings = {"PAGELETS_METRICS": str(tmp_path / name)}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=settings, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith("PAGELETS_METRICS cannot be used: ")


def test_a_folder_that_goes_away_meanwhile_is_told(tmp_path):
    folder = tmp_path / "metrics"
    folder.mkdir()

    def route(path):
        for file in folder.iterdir():
            file.unlink()
        if folder.exists():
            folder.rmdir()
        return answer(page("home"))(path)

    with SiteServer(routes={"/": route}) as server:
        settings = {"PAGELETS_METRICS": str(folder / "x.prom")}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
    assert len(found.lines) == 1
    assert found.errors == [f"the last values of the stats are not in {folder}/x.prom: make room on its disk"]
