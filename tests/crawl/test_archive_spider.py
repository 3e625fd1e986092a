"""The spider ``archive``: pages are as clean as those of a live crawl, and nothing is fetched."""

import gzip
import json
import random
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.archives.reader import parts
from tests.crawl.test_crawl import KEYS, PAGES
from tests.crawling import LIMIT, SITE, crawl, finished, options, page, run_spider, scrapy, start, words
from tests.server import SiteServer
from tests.unit.test_archives import HTML, raw_record, response, write_warc

NAMES = [f"{kind}{letter}" for kind in ("blog", "shop") for letter in "abcdefgh"]


def pages(base, names=NAMES):
    """Pages of two classes, each with its own menu, as (URL, body)."""
    for name in names:
        menu = [f"/{other}" for other in NAMES if other[:4] == name[:4]]
        yield base + name, page(name, menu, kind=name[:4]).encode()


def warc(path, found, **options):
    from warcio.warcwriter import WARCWriter

    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for url, body in found:
            response(writer, url, body, **options)
    return path


def texts(found):
    return {line["url"]: (line["text"], len(line["pagelets"])) for line in found.lines}


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_pages_of_an_archive_are_clean_and_nothing_is_fetched(tmp_path, name):
    with SiteServer() as server:  # the site of the pages, which would record any request
        path = warc(tmp_path / name, pages(server.url("")), date="2020-02-03T04:05:06Z")
        found = crawl(tmp_path, "archive", path=path)
        assert server.hits == []
    assert len(found.urls) == len(NAMES)
    for line in found.lines:
        assert list(line) == KEYS
        name = line["url"].removeprefix(server.url(""))
        assert line["text"].startswith(f"Heading {name}")
        assert line["text"].endswith(words(name))
        assert line["fetched_at"] == "2020-02-03T04:05:06Z"
        assert line["template"]["pages"] == len(NAMES) // 2
    assert found.stats.get("downloader/request_count", 0) == 0
    assert found.errors == found.warnings == []


def test_the_order_of_the_pages_changes_no_text(tmp_path):
    listed = list(pages("http://example.com/"))
    results = []
    for seed in range(2):
        random.Random(seed).shuffle(listed)
        feed = f"{seed}.jsonl"
        results.append(texts(crawl(tmp_path, "archive", path=warc(tmp_path / f"{seed}.warc", listed), feed=feed)))
    assert results[0] == results[1]


def test_a_folder_gives_the_same_as_a_crawl_of_it(tmp_path):
    with SiteServer(SITE) as server:
        crawled = crawl(tmp_path, "site", url=server.url("index.html"), feed="crawled.jsonl")
        server.hits.clear()
        found = crawl(tmp_path, "archive", path=SITE, base=server.url(""))
        assert server.hits == []
    assert sorted(found.urls) == sorted(server.url(path) for path in PAGES)
    assert texts(found) == texts(crawled)


def test_files_without_a_site_are_named_in_the_log(tmp_path):
    (tmp_path / "page.html").write_text("<p>Some words.</p>", encoding="utf-8")
    found = crawl(tmp_path, "archive", path=tmp_path / "page.html")
    assert "files without a site: 1 page, 1 template" in found.log
    assert "files without a site: a single page does not reveal its template" in found.log


def test_a_glob_reads_many_archives_as_one_site(tmp_path):
    listed = list(pages("http://example.com/"))
    for number in range(4):
        warc(tmp_path / f"part-{number}.warc.gz", listed[number::4])
    found = crawl(tmp_path, "archive", path=tmp_path / "part-*.warc.gz")
    assert len(found.lines) == len(NAMES)
    assert all("slogan" not in line["text"] for line in found.lines)


def test_nothing_in_a_page_causes_a_request(tmp_path):
    """Meta refreshes, redirects, frames, cookies and robots.txt point to a server that would record any request."""
    with SiteServer() as server:
        refresh = f'<meta http-equiv="refresh" content="0; url={server.url("away")}">'
        frames = f'<iframe src="{server.url("frame")}"></iframe><img src="{server.url("a.png")}">'
        listed = [
            (server.url(f"p{letter}"), (refresh + page(letter, ["/x"], more=frames)).encode()) for letter in "abcd"
        ]
        headers = [
            *HTML,
            ("Set-Cookie", "a=b; Domain=example.com"),
            ("Location", server.url("moved")),
            ("Refresh", "0"),
        ]
        path = warc(tmp_path / "x.warc", listed, headers=headers)
        settings = {"ROBOTSTXT_OBEY": 1, "HTTPCACHE_ENABLED": 1, "HTTPCACHE_DIR": str(tmp_path / "cache")}
        settings |= {"AUTOTHROTTLE_ENABLED": 1, "DOWNLOAD_DELAY": 1000}
        found = crawl(tmp_path, "archive", path=path, settings=settings)
        assert server.hits == []
    assert len(found.lines) == 4
    assert found.errors == []
    assert "tldextract" not in found.log


@pytest.mark.parametrize("slot", [1, 5_000_000])
def test_many_pages_are_read_whatever_the_slot_holds(tmp_path, slot):
    names = [f"blog{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    path = warc(tmp_path / "many.warc.gz", pages("http://example.com/", names))
    settings = {
        "SCRAPER_SLOT_MAX_ACTIVE_SIZE": slot,
        "CONCURRENT_REQUESTS": 2,
        "CONCURRENT_ITEMS": 1,
        "LOG_LEVEL": "INFO",
    }
    found = crawl(tmp_path, "archive", path=path, settings=settings)
    assert len(found.lines) == len(set(found.urls)) == 100


def test_two_captures_of_a_page_are_two_lines(tmp_path):
    listed = [("http://example.com/a", page("once").encode()), ("http://example.com/a", page("again").encode())]
    found = crawl(tmp_path, "archive", path=warc(tmp_path / "x.warc", listed))
    assert sorted(line["title"] for line in found.lines) == ["Title of again", "Title of once"]


def test_a_truncated_archive_gives_the_pages_before(tmp_path):
    path = warc(tmp_path / "cut.warc.gz", pages("http://example.com/"))
    path.write_bytes(path.read_bytes()[:-100])
    found = crawl(tmp_path, "archive", path=path, code=1)
    assert len(found.lines) == len(NAMES) - 1
    assert found.stat("archive/skipped/truncated") == found.stat("lost") == 1
    log = [line for line in found.log.splitlines() if "is cut off or damaged at or after" in line and "WARNING" in line]
    assert len(log) == 1
    lost = "This run has lost something: 1 places of the archive are broken. What to do: get its files again"
    assert found.errors == [lost]


def nothing_in(tmp_path, path):
    found = crawl(tmp_path, "archive", path=path, code=1)
    assert found.lines == []
    assert found.stat("start/failed") == 1
    [sentence] = found.errors
    return sentence, found


def test_an_archive_of_images_says_so(tmp_path):
    path = write_warc(tmp_path / "images.warc.gz", [b"\x89PNG", b"\x89PNG"], [("Content-Type", "image/png")])
    sentence, found = nothing_in(tmp_path, path)
    assert sentence == f"{path} has no HTML page: 1 type, 2 not_html"
    assert found.stat("archive/skipped/not_html") == 2


def test_an_empty_archive_says_so(tmp_path):
    path = tmp_path / "empty.warc"
    path.write_bytes(b"")
    sentence, _ = nothing_in(tmp_path, path)
    assert sentence == f"{path} has no HTML page: 1 empty"


def test_an_archive_of_noise_says_so(tmp_path):
    path = tmp_path / "noise.warc.gz"
    path.write_bytes(random.Random(0).randbytes(5000))
    sentence, found = nothing_in(tmp_path, path)
    assert "has no HTML page" in sentence
    assert found.stats.get("pagelets/archive/skipped/truncated", 0) <= 1


@pytest.mark.parametrize("folder", ["empty", "files"])
def test_a_folder_without_pages_ends_the_crawl_before_it_begins(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.png").write_bytes(b"\x89PNG")
    found = crawl(tmp_path, "archive", path=tmp_path / folder, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(f"{tmp_path / folder} contains neither WARC nor HTML files: give")


def test_odd_records_do_no_harm(tmp_path):
    page_ = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text"
    urls = [b"no scheme", b"http://[broken/", b"http://", b"about:blank", b"http://example.com/\xff\xe4 x"]
    urls += [b"http://example.com/" + b"x" * 5000, b"urn:x:y", b"file:///tmp/x.html", b"https://example.com/ok"]
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(b"".join(gzip.compress(raw_record(page_, url=url)) for url in urls))
    found = crawl(tmp_path, "archive", path=path)
    assert sorted(found.urls) == [
        "file:///tmp/x.html",
        "http://example.com/" + "x" * 5000,
        "http://example.com/ÿä x",
        "https://example.com/ok",
    ]
    assert found.stat("archive/skipped/no_url") == 5
    assert found.errors == []


@pytest.mark.parametrize("items", [1, 16])
def test_items_come_in_the_order_of_the_archive(tmp_path, items):
    listed = list(pages("http://example.com/"))
    random.Random(0).shuffle(listed)
    settings = {"CONCURRENT_ITEMS": items, "CONCURRENT_REQUESTS": items}
    found = crawl(tmp_path, "archive", path=warc(tmp_path / "x.warc", listed), settings=settings)
    assert found.urls == [url for url, _ in listed]
    assert found.stats["response_received_count"] == len(listed)


@pytest.mark.parametrize("limit", ["CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_ITEMCOUNT"])
def test_a_limit_ends_the_archive(tmp_path, limit):
    names = [f"blog{a}{b}" for a in "abcdefghij" for b in "abcdefghij"]
    path = warc(tmp_path / "x.warc", pages("http://example.com/", names))
    found = crawl(tmp_path, "archive", path=path, settings={limit: 5})
    assert found.stats["finish_reason"] == limit.lower()
    assert 5 <= len(found.lines) < 50
    assert found.urls == [f"http://example.com/{name}" for name in names[: len(found.lines)]]
    assert found.errors == []


def test_a_stopped_archive_finishes_the_page_that_it_is_at(tmp_path):
    names = [f"blog{a}{b}{c}" for a in "abcdefghij" for b in "abcdefghij" for c in "abcdefghij"]
    path = warc(tmp_path / "x.warc", pages("http://example.com/", names))
    feed = tmp_path / "feed.jsonl"
    process = start("crawl", "archive", "-a", f"path={path}", "-o", str(feed), "-s", "LOG_LEVEL=DEBUG")
    assert process.stderr
    log = ""
    while "Scraped from" not in log:
        log += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    log += process.communicate(timeout=LIMIT)[1]
    assert "Traceback" not in log
    assert "'finish_reason': 'shutdown'" in log
    lines = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    assert 0 < len(lines) < len(names)
    assert [line["url"] for line in lines] == [f"http://example.com/{name}" for name in names[: len(lines)]]
    assert all(line["text"].startswith("Heading blog") for line in lines)


# Jobs


def archive_of_sites(tmp_path):
    """An archive with a site, and then two whose pages alternate; also the URLs of its pages."""
    sites = [list(pages(f"http://{name}.com/", NAMES[:8])) for name in ("apple", "pear", "plum")]
    listed = [*sites[0], *(each for two in zip(*sites[1:], strict=True) for each in two)]
    return warc(tmp_path / "x.warc", listed), [url for url, _ in listed]


def end_after(items, command, with_signal=signal.SIGKILL):
    """Start a command, and end it when so many items were scraped."""
    process = start(*command, "-s", "LOG_LEVEL=DEBUG")
    assert process.stderr
    while items >= 0 and (line := process.stderr.readline()):
        items -= "Scraped from" in line or "Spider opened" in line
    process.send_signal(with_signal)
    return process.communicate(timeout=LIMIT)[1]


def urls_in(path):
    return [json.loads(line)["url"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_page_of_a_job_has_one_line_after_ten_kills(tmp_path):
    path, urls = archive_of_sites(tmp_path)
    feed, other, job = tmp_path / "feed.jsonl", tmp_path / "other.jsonl", tmp_path / "job"
    command = ["crawl", "archive", "-o", str(feed), "-o", str(other), *options({"JOBDIR": str(job)}, {"path": path})]
    chosen = random.Random(3)
    for kill in range(10):
        end_after(chosen.randrange(3), command)  # a busy machine scrapes some more before it is killed
        if kill == 5:  # of a long line, a killed process may have written a part
            feed.write_text(feed.read_text(encoding="utf-8") + '{"url": "http://apple.com/bl', encoding="utf-8")
    assert 0 < len(urls_in(other)) < len(urls)
    found = finished(scrapy(*command), feed)
    assert found.urls == urls_in(other) == urls
    assert found.errors == found.warnings == []
    print(f"10 kills: {len(urls)} pages, {len(found.urls)} lines, {len(set(found.urls))} of them of different pages")
    whole = crawl(tmp_path, "archive", path=path, feed="whole.jsonl", settings={"JOBDIR": str(tmp_path / "new")})
    assert whole.lines == [
        line | {"fetched_at": ours["fetched_at"]} for line, ours in zip(found.lines, whole.lines, strict=True)
    ]
    assert finished(scrapy(*command), feed).urls == urls


def test_a_stopped_job_goes_on_if_the_archive_and_the_feed_are_the_same(tmp_path):
    path, urls = archive_of_sites(tmp_path)
    feed, job = tmp_path / "feed.jsonl", {"JOBDIR": str(tmp_path / "job")}
    command = ["crawl", "archive", "-O", str(feed), *options(job, {"path": path})]
    assert "'finish_reason': 'shutdown'" in end_after(3, command, signal.SIGINT)
    begun = urls_in(feed)
    assert 0 < len(begun) < len(urls)
    assert "goes on, so its feed cannot be replaced: use -o" in crawl_refused(*command)
    assert "the job writes to" in crawl_refused("crawl", "archive", *options(job, {"path": path}))
    feed.rename(tmp_path / "away")
    assert "has lost lines that the job has written" in crawl_refused(*command[:2], "-o", *command[3:])
    (tmp_path / "away").rename(feed)
    other = warc(tmp_path / "other.warc", list(pages("http://apple.com/")))
    same = ["crawl", "archive", "-o", str(feed)]
    assert "has other pages than when the job began" in crawl_refused(*same, *options(job, {"path": other}))
    assert urls_in(feed) == begun
    feed.write_text(feed.read_text(encoding="utf-8") + '{"url": "a"}\n{"url": "b"}\n', encoding="utf-8")
    path.rename(tmp_path / "moved.warc")
    found = crawl(tmp_path, "archive", path=tmp_path / "moved.warc", settings=job)
    assert found.urls == urls
    assert urls_in(tmp_path / "feed.jsonl.cut") == ["a", "b"]
    assert found.stat("feeds/moved") == len(found.warnings) == 1


def crawl_refused(*command):
    done = scrapy(*command)
    [error] = finished(done, Path("none"), 1).errors
    return error


@pytest.mark.parametrize("name", ["feed.parquet", "feed.csv"])
def test_a_job_that_could_not_go_on_after_a_kill_is_refused_at_the_start(tmp_path, name):
    path, _ = archive_of_sites(tmp_path)
    found = crawl(tmp_path, "archive", path=path, feed=name, settings={"JOBDIR": str(tmp_path / "job")}, code=1)
    assert len(found.errors) == 1
    assert "cannot be written by a job of the spider archive: choose JSON lines (.jsonl)" in found.errors[0]
    assert not (tmp_path / name).exists()


def test_an_archive_that_is_appended_to_lines_of_another_run_says_so(tmp_path):
    path = warc(tmp_path / "x.warc", pages("http://example.com/", NAMES[:3]))
    feed = tmp_path / "feed.jsonl"
    feed.write_text('{"url": "http://other.com/"}\n{"url": "http://example.com/bl', encoding="utf-8")
    found = crawl(tmp_path, "archive", path=path)
    assert len(found.urls) == 4
    assert found.stat("feeds/cut") == found.stat("feeds/appended") == 1
    assert "was cut off, as a killed process leaves it, and is removed" in found.warnings[0]
    assert "feed.jsonl already has lines, which stay" in found.warnings[1]


COUNTING = """
from scrapy_pagelets.crawler.spiders import archive
from scrapy_pagelets.session import crawl_session

parse, parsed = crawl_session.parse, []
crawl_session.parse = lambda text: parsed.append(text) or parse(text)
archive._KEPT = {kept}

class Spider(archive.ArchiveSpider):
    name = "stranger"
    def closed(self, reason):
        self.crawler.stats.set_value("parsed", len(parsed))
"""


@pytest.mark.parametrize(("kept", "times"), [(1_000_000, 1), (0, 2)])
def test_pages_of_a_small_archive_are_parsed_once(tmp_path, kept, times):
    path = warc(tmp_path / "x.warc", pages("http://example.com/"))
    found = run_spider(tmp_path, COUNTING.format(kept=kept), path=path)
    assert len(found.lines) == len(NAMES)
    assert found.stats["parsed"] == times * len(NAMES)


@pytest.mark.parametrize("detection", ["fused", "global"])
def test_sites_that_follow_each_other_are_cleaned_one_by_one(tmp_path, detection):
    """Only the pages of one site have room in memory; shingles are compared with those of all sites."""
    sites = [list(pages(f"http://{name}.com/")) for name in ("apple", "pear", "plum")]
    ordered = [each for site in sites for each in site]
    mixed = [each for several in zip(*sites, strict=True) for each in several]
    counting = COUNTING.format(kept=sum(len(body) for _, body in sites[0]))
    found = {}
    for name, listed in (("ordered", ordered), ("mixed", mixed)):
        (folder := tmp_path / name).mkdir()
        settings = {"PAGELETS_DETECTION": detection}
        found[name] = run_spider(folder, counting, path=warc(folder / "x.warc", listed), settings=settings)
        assert found[name].urls == [url for url, _ in listed]
    assert texts(found["ordered"]) == texts(found["mixed"])
    twice = 5 * len(mixed) // 3
    assert found["mixed"].stats["parsed"] == twice
    assert found["ordered"].stats["parsed"] == (len(ordered) if detection == "fused" else twice)


@given(st.lists(st.sampled_from("abcde"), max_size=12))
def test_parts_are_the_smallest_of_which_no_two_have_pages_of_one_site(sites):
    whole = len(sites)
    cuts = [at for at in range(1, whole) if not set(sites[:at]) & set(sites[at:])]
    assert parts(sites) == [end - start for start, end in zip([0, *cuts], [*cuts, whole], strict=True) if end]
