"""The corpus job on one machine: the same feed as the spider ``archive``, tables, restarts, and bad input."""

import json
import os
import random
import signal
import zipfile
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer
from pyarrow import parquet
from pyarrow.parquet import ParquetFile, write_table
from s3fs import S3FileSystem

from scrapy_pagelets.corpus import site_cleaning as page_cleaning
from scrapy_pagelets.corpus import statements
from scrapy_pagelets.corpus.embedded import EmbeddedEngine
from scrapy_pagelets.corpus.engines import Work, groups, store, whole_groups
from scrapy_pagelets.corpus.inputs import CorpusError, CorpusOptions, sources_of
from scrapy_pagelets.corpus.site_cleaning import learn, record_of
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.content_store import ContentStore, PageText
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.shared_pagelets import relational
from tests import corpora
from tests.corpora import (
    DATE,
    TABLES,
    RangeServer,
    cdxj,
    feed,
    near,
    offsets,
    run,
    site,
    table,
    two_sites,
    wacz,
    warc,
)
from tests.crawling import LIMIT, SITE, crawl, everything_is_template, scrapy, start
from tests.oracles.shared_templates import global_templates, local_templates
from tests.row_functions import EndsOn


def archived(tmp_path, path, **settings):
    """The feed of the spider ``archive``, which compares pages in the order in which Scrapy processes them: here one
    by one, in the order of the archive."""
    settings |= {"CONCURRENT_ITEMS": 1, "CONCURRENT_REQUESTS": 1}
    settings |= {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
    crawl(tmp_path, "archive", path=path, feed="archive.parquet", settings=settings)
    rows = ds.dataset(tmp_path / "archive.parquet").to_table().to_pylist()
    return {row["url"]: {name: value for name, value in row.items() if name != "extra"} for row in rows}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two sites in three files, cleaned."""
    folder = tmp_path_factory.mktemp("corpus")
    pages = two_sites()
    for number in range(3):
        warc(folder / f"part-{number}.warc.gz", pages[number::3])
    return folder, run(folder, folder / "out", workers=2)


def test_the_feed_is_that_of_the_archive_spider(corpus, tmp_path):
    folder, report = corpus
    ours, theirs = feed(folder / "out"), archived(tmp_path, folder / "part-*.warc.gz")
    assert report.pages == len(two_sites()) == len(ours)
    assert ours == theirs
    assert any(line["near_duplicate_of"] for line in ours.values())
    assert ours["http://one.example/onea"]["template"]["pages"] == 12


@pytest.mark.parametrize(
    "settings",
    [
        {"PAGELETS_EXPORT": "all", "PAGELETS_FORMATS": "markdown,html,text", "PAGELETS_CHUNKS": 50},
        {"PAGELETS_DETECTION": "classifier", "PAGELETS_DUPLICATES_SCOPE": "site", "PAGELETS_SEGMENTER": "vips"},
        {"PAGELETS_DETECTION": "classifier", "PAGELETS_CLASSIFIER": "own.npz"},
        {"PAGELETS_DUPLICATES": "drop", "PAGELETS_STRICT": 0.5, "PAGELETS_FORMATS": "markdown"},
    ],
)
def test_settings_do_what_they_do_in_a_crawl(tmp_path, settings):
    path = warc(tmp_path / "crawl.warc", two_sites())
    own = everything_is_template(tmp_path / "own.npz")
    settings = {name: str(own) if name == "PAGELETS_CLASSIFIER" else value for name, value in settings.items()}
    command = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    done = scrapy("pagelets", "corpus", str(path), str(tmp_path / "out"), "--workers", "1", *command)
    assert done.returncode == 0, done.stderr
    found = feed(tmp_path / "out")
    assert found == archived(tmp_path, path, **settings)
    assert ("PAGELETS_CLASSIFIER" in settings) == all(line.get("text") == "" for line in found.values())


def test_a_real_site_gives_the_feed_of_the_archive_spider(tmp_path):
    files = sorted(SITE.rglob("*.html"))
    path = warc(
        tmp_path / "site.warc.gz", [(f"http://site.example/{f.relative_to(SITE)}", f.read_bytes()) for f in files]
    )
    run(path, tmp_path / "out")
    assert feed(tmp_path / "out") == archived(tmp_path, path)


def test_links_lead_to_the_pages_of_the_corpus(corpus):
    folder, _ = corpus
    number = {row["url"]: row["page"] for row in table(folder / "out", "pages")}
    links = table(folder / "out", "links")
    across = [
        link for link in links if link["target_url"] == "http://one.example/onea" and link["page"] in number.values()
    ]
    assert across
    assert {link["target"] for link in across} == {number["http://one.example/onea"]}
    assert all(number[link["url"]] == link["page"] for link in links)


def test_pagelets_have_all_words_of_the_pages(corpus):
    folder, _ = corpus
    words: Counter[str] = Counter()
    for row in table(folder / "out", "pagelets"):
        words[row["url"]] += row["words"]
    assert words == {url: int(Page.parse(body, url).nodes.words.sum()) for url, body in two_sites()}


def test_templates_are_those_of_the_paper(corpus):
    """The statements on columns of all pages give what the definitions say of each site, and of all."""
    from scrapy_pagelets.evidence.partition import STRICT_K, partition
    from scrapy_pagelets.papers.shared_pagelets.incremental import PageletShingles

    folder, _ = corpus
    pages = [Page.parse(body, url) for url, body in two_sites()]
    made = {page.url: PageletShingles.of(page, partition(page.nodes, STRICT_K, strict=True)) for page in pages}
    rows = [(url, n, s) for url, one in made.items() for n, s in enumerate(one.rows[:, 0].tolist())]
    by_key = {page.key: page.url for page in pages}
    links = [(url, by_key[key]) for url, one in made.items() for key in one.links.tolist() if key in by_key]
    bodies: dict[int | str, int] = {url: one.body for url, one in made.items()}
    sites: dict[int | str, Hashable] = {url: one.site for url, one in made.items()}
    wanted = sorted(
        (template.shingle, len(template.pages))
        for template in global_templates(rows, links, sites=sites, sketches=bodies)
    )
    found = [row for row in table(folder / "out", "templates") if row["detection"] == "global"]
    assert sorted((row["shingle"], row["pages"]) for row in found) == wanted
    assert max(row["sites"] for row in found) == 2
    local = [
        (template.shingle, len(template.pages))
        for host in ("one.example", "two.example", "three.example")
        for template in local_templates(
            [row for row in rows if made[row[0]].site == host],
            sketches={u: b for u, b in bodies.items() if host in str(u)},
        )
    ]
    found = [row for row in table(folder / "out", "templates") if row["detection"] == "local"]
    assert sorted((row["shingle"], row["pages"]) for row in found) == sorted(local)


def test_groups_of_duplicates_are_named_after_their_first_page(corpus):
    folder, report = corpus
    rows = table(folder / "out", "duplicates")
    assert {row["head_url"] for row in rows} == {"http://one.example/one0"}
    assert sorted(row["url"] for row in rows) == sorted(
        ["http://three.example/copy", *(f"http://{h}.example/{h}{n}" for h in ("one", "two") for n in (0, 2, 4))]
    )
    assert report.duplicates == len(rows) - 1


def test_near_duplicates_are_those_of_a_crawl(tmp_path):
    """Versions of texts in random order: chains whose ends do not resemble each other, copies, canonical links."""
    pages = [(f"http://h{n % 5}.example/p{n}", near(f"story{n % 7}", n // 7 * 3)) for n in range(70)]
    links = [f'<link rel=canonical href="http://h0.example/p{7 * n}"><html>'.encode() for n in range(4)]
    pages += [(f"http://h{n % 2}.example/c{n}", near("story0", 18).replace(b"<html>", links[n])) for n in range(4)]
    random.Random(3).shuffle(pages)
    run(warc(tmp_path / "near.warc", pages), tmp_path / "out")
    ours = {url: (line["near_duplicate_of"], line["similarity"]) for url, line in feed(tmp_path / "out").items()}
    assert sum(of is not None for of, _ in ours.values()) > 40
    assert ours == verdicts(pages)


def verdicts(pages):
    """What the store of a crawl says of pages that come one by one."""
    parsed = [Page.parse(body, url, "text/html; charset=utf-8") for url, body in pages]
    sites = {page.site: Site(page.site) for page in parsed}
    for page in parsed:
        learn(sites[page.site], [page])
    found, store = {}, ContentStore(None)
    for page in sorted(parsed, key=lambda page: page.is_declared_copy):
        record = record_of(page, sites[page.site], DATE, CorpusOptions(started=DATE))
        weights = word_weights(page.nodes, record.decision.content, record.decision.templateness)
        verdict, _ = store.add(PageText(page.url, record.text, urls.key(page.canonical_url), page.site, weights))
        found[page.url] = (verdict.url, round(verdict.similarity, 4)) if verdict else (None, None)
    store.close()
    return found


# A job that is stopped


class StoppedError(Exception):
    pass


def tables(out):
    return {name: table(out, name) for name in TABLES}


@pytest.mark.parametrize("sentence", ["sources are read", "pages are cleaned", "near-duplicates", "templates"])
def test_a_stopped_job_continues(corpus, tmp_path, sentence):
    folder, _ = corpus
    said: list[str] = []

    def stop(progress):
        said.append(progress)
        if sentence in progress:
            raise StoppedError

    out = tmp_path / "out"
    with pytest.raises(StoppedError):
        run(folder / "part-*.warc.gz", out, round_pages=6, progress=stop)
    written = {path: path.stat().st_mtime_ns for path in (out / "_work").rglob("*.parquet")}
    assert written
    kept = []

    def look(progress):
        kept.append({path: path.stat().st_mtime_ns for path in written if path.exists()})

    run(folder / "part-*.warc.gz", out, round_pages=6, progress=look)
    assert kept[-1] == written  # nothing was done twice
    assert tables(out) == tables(folder / "out")
    assert sorted(path.name for path in out.iterdir()) == sorted(TABLES)


def test_a_killed_job_continues(corpus, tmp_path):
    folder, _ = corpus
    command = ["pagelets", "corpus", str(folder / "part-*.warc.gz"), str(tmp_path / "out"), "--workers", "1"]
    process = start(*command)
    assert process.stderr
    assert process.stdout
    for line in process.stderr:
        if "pages of" in line:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT)  # its worker process, which has the same streams, ends as well
    assert scrapy(*command).returncode == 0
    assert tables(tmp_path / "out") == tables(folder / "out")


def test_an_unfinished_job_is_not_mixed_with_another_one(corpus, tmp_path):
    folder, _ = corpus

    def stop(_):
        raise StoppedError

    with pytest.raises(StoppedError):
        run(folder / "part-*.warc.gz", tmp_path / "out", progress=stop)
    with pytest.raises(CorpusError, match="unfinished job with other input, settings or engine"):
        run(folder / "part-*.warc.gz", tmp_path / "out", strict=0.5)
    with pytest.raises(CorpusError, match="unfinished job"):
        run(folder / "part-1.warc.gz", tmp_path / "out")


# Large sites


def test_a_large_site_is_divided_and_learnt_from_a_sample(tmp_path):
    names = [f"page{n}" for n in range(40)]
    small = site("small.example", (f"small{letter}" for letter in "abcdefgh"))
    path = warc(tmp_path / "crawl.warc", site("large.example", names) + small)
    whole, divided = tmp_path / "whole", tmp_path / "divided"
    run(path, whole)
    run(path, divided, workers=2, part=8, sample=24, round_pages=10)
    one, other = feed(whole), feed(divided)
    assert len(one) == len(other) == 48
    assert {url: line["text"] for url, line in one.items()} == {url: line["text"] for url, line in other.items()}
    pages = {line["template"]["id"]: line["template"]["pages"] for line in other.values()}
    assert pages == {"large.example#1": 24, "small.example#1": 8}
    assert all(one[url] == other[url] for url in one if "small.example" in url)


def test_pages_that_are_parsed_twice_give_the_same_rows(monkeypatch):
    """Those of a site that fit stay in memory between learning and cleaning."""
    rows: list[dict[str, Any]] = [
        {"site": "h.example", "chunk": 0, "page": number, "url": url, "fetched_at": DATE, "content_type": "text/html",
         "link": "", "robots": "", "body": body, "counts": None}
        for number, (url, body) in enumerate(site("h.example", (f"name{letter}" for letter in "abcdefgh")))
    ]  # fmt: skip
    parsed: list[str] = []
    parse = page_cleaning.parse

    def counted(row, options):
        parsed.append(row["url"])
        return parse(row, options)

    monkeypatch.setattr(page_cleaning, "parse", counted)
    found, numbers = [], []
    for room in (0, sum(len(row["body"]) for row in rows[:3]), 1 << 20):
        monkeypatch.setattr(page_cleaning, "_KEPT", room)
        tables = page_cleaning.clean_sites(pa.Table.from_pylist(rows), CorpusOptions(started=DATE))
        found.append(pa.concat_tables(tables).to_pylist())
        numbers.append(len(parsed))
        parsed.clear()
    assert numbers == [16, 13, 8]
    assert found[0] == found[1] == found[2]
    assert Counter(row["kind"] for row in found[0])["page"] == 8


def learnt(pages):
    result = Site("h.example")
    for page in pages:
        result.count(page, result.model.page_evidence(page).odds)
    return result


def merged(*parts):
    """The counts of a site that was learnt in parts."""
    whole, *others = (learnt(pages).learnt for pages in parts)
    for part in others:
        whole.merge(part)
    return whole


def test_counts_of_parts_add_up():
    pages = [Page.parse(body, url) for url, body in site("h.example", (f"name{letter}" for letter in "abcdefghijkl"))]
    other = [Page.parse(near(f"n{n}", 0), f"http://h.example/n{n}") for n in range(6)]
    whole = learnt([*pages, *other])
    found = Site("h.example")
    found.learnt = merged([*pages[:6], *other[:3]], [*other[3:], *pages[6:]])
    assert found.pages == whole.pages == 18
    assert [one.pages for one in found.classes] == [one.pages for one in whole.classes]
    assert sorted(found.learnt.seen.items()[0]) == sorted(whole.learnt.seen.items()[0])
    for page in [*pages, *other]:
        one, other = found.page_class(page), whole.page_class(page)
        assert one
        assert other
        assert one.id == other.id
        assert found.pages_alike(page).tolist() == whole.pages_alike(page).tolist()
        assert (found.templateness(page) >= 0.5).tolist() == (whole.templateness(page) >= 0.5).tolist()


def test_merged_counts_are_sums():
    pages = [Page.parse(body, url) for url, body in site("h.example", (f"name{letter}" for letter in "abcdefgh"))]
    whole = learnt(pages).learnt.arrays()
    parts = merged(pages[:3], pages[3:5], pages[5:]).arrays()
    new_texts = {"path": [1, 3]}  # "new" for each part
    for name in ("text", "path", "placed", "exact", "links", "target", "shape"):
        sums = []
        for arrays in (whole, parts):
            order = arrays[f"{name}_keys"].argsort()
            kept = [c for c in range(arrays[f"{name}_sums"].shape[1]) if c not in new_texts.get(name, ())]
            sums.append((arrays[f"{name}_keys"][order].tolist(), arrays[f"{name}_sums"][order][:, kept]))
        assert sums[0][0] == sums[1][0]
        assert sums[0][1] == pytest.approx(sums[1][1], rel=1e-4, abs=1e-4)


# Sources


def test_every_form_of_input_gives_the_same_pages(corpus, tmp_path):
    folder, _ = corpus
    pages = two_sites()
    plain = warc(tmp_path / "all.warc.gz", pages)
    records = list(offsets(plain))
    rows = [{"url": url, "html": body, "fetched_at": DATE} for url, body in pages]
    write_table(pa.Table.from_pylist(rows), tmp_path / "raw.parquet")
    index = [
        {"warc_filename": r["filename"], "warc_record_offset": int(r["offset"]), "warc_record_length": int(r["length"])}
        for r in records
    ]
    write_table(pa.Table.from_pylist(index), tmp_path / "index.parquet")
    (tmp_path / "warc.paths").write_text("all.warc.gz\n")
    inputs = [
        tmp_path / "raw.parquet",
        tmp_path / "index.parquet",
        tmp_path / "warc.paths",
        cdxj(tmp_path / "all.cdxj", records),
        wacz(tmp_path / "all.wacz", plain),
        wacz(tmp_path / "packed.wacz", plain, compression=zipfile.ZIP_DEFLATED),
    ]
    wanted = {url: line["text"] for url, line in feed(folder / "out").items()}
    for number, path in enumerate(inputs):
        run(path, tmp_path / f"out{number}", workers=1, duplicates="off")
        found = feed(tmp_path / f"out{number}")
        assert {url: line["text"] for url, line in found.items()} == wanted, path
        assert {line["fetched_at"] for line in found.values()} == {DATE}


def test_an_index_selects_records(tmp_path):
    plain = warc(tmp_path / "all.warc.gz", two_sites())
    records = list(offsets(plain))
    chosen = [record for record in records if "one.example" in record["url"]]
    moved = [{**record, "status": "301"} for record in records if "two.example" in record["url"]]
    run(cdxj(tmp_path / "some.cdx", [*moved, *chosen]), tmp_path / "out", workers=1)
    assert sorted(feed(tmp_path / "out")) == sorted(record["url"] for record in chosen)


def test_archives_are_read_over_http(corpus, tmp_path):
    folder, _ = corpus
    served = tmp_path / "served"
    served.mkdir()
    plain = warc(served / "all.warc.gz", two_sites())
    cdxj(served / "all.cdxj", list(offsets(plain))[:5])
    wacz(served / "all.wacz", plain)
    (served / "warc.paths").write_text("all.warc.gz\n")
    wanted = {url: line["text"] for url, line in feed(folder / "out").items()}
    with RangeServer(served) as server:
        for name in ("all.warc.gz", "all.wacz", "warc.paths"):
            run(server.url(name), tmp_path / f"out-{name}", workers=1, duplicates="off")
            assert {url: line["text"] for url, line in feed(tmp_path / f"out-{name}").items()} == wanted
        server.ranges.clear()
        report = run(server.url("all.cdxj"), tmp_path / "out-cdxj", workers=1)
        assert report.pages == 5
        wanted_ranges = [wanted for name, wanted in server.ranges if name == "all.warc.gz"]
        assert len(wanted_ranges) == 5
        assert all(wanted.startswith("bytes=") for wanted in wanted_ranges)


def test_archives_are_read_from_s3(corpus, tmp_path, monkeypatch):
    folder, _ = corpus
    plain = warc(tmp_path / "all.warc.gz", two_sites())
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    monkeypatch.setattr(corpora, "_pools", {})  # of processes with another environment
    try:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "anybody")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = S3FileSystem(skip_instance_cache=True)
        system.mkdir("corpus")
        for number in range(3):
            system.put(str(folder / f"part-{number}.warc.gz"), f"corpus/crawl/part-{number}.warc.gz")
        system.put(str(plain), "corpus/all.warc.gz")
        index = cdxj(tmp_path / "some.cdxj", list(offsets(plain))[3:9])
        assert run("s3://corpus/crawl", tmp_path / "folder").pages == len(two_sites())
        assert run("s3://corpus/crawl/part-[02].warc.gz", tmp_path / "glob", workers=1).pages == 21
        assert run(index, tmp_path / "index", base="s3://corpus", workers=1).pages == 6
    finally:
        server.stop()
    assert feed(tmp_path / "folder") == feed(folder / "out")
    assert sorted(feed(tmp_path / "index")) == sorted(url for url, _ in two_sites()[3:9])


# Bad input


def test_a_broken_archive_among_many_is_skipped_and_named(tmp_path):
    pages = two_sites()
    for number in range(4):
        warc(tmp_path / f"part-{number}.warc.gz", pages[number::4])
    whole = (tmp_path / "part-2.warc.gz").read_bytes()
    (tmp_path / "part-2.warc.gz").write_bytes(whole[: len(whole) // 2] + b"\0" * 50)
    (tmp_path / "part-9.warc.gz").write_bytes(b"this is no archive")
    done = scrapy("pagelets", "corpus", f"{tmp_path}/part-*.warc.gz", str(tmp_path / "out"), "--workers", "1")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    problems = [line for line in done.stderr.splitlines() if "part-" in line]
    assert len(problems) == 2
    assert "part-2.warc.gz is cut off or damaged" in problems[0]
    assert "part-9.warc.gz" in problems[1]
    assert "2 sources or pages are not there, or not whole" in done.stderr
    found = feed(tmp_path / "out")
    assert {url for number in (0, 1, 3) for url, _ in pages[number::4]} <= found.keys()
    assert len(found) < len(pages)


def test_a_source_that_is_gone_is_named(tmp_path):
    warc(tmp_path / "here.warc.gz", two_sites())
    (tmp_path / "all.paths").write_text("here.warc.gz\ngone.warc.gz\nbroken.parquet\nbroken.wacz\n")
    (tmp_path / "broken.parquet").write_bytes(b"no Parquet")
    (tmp_path / "broken.wacz").write_bytes(b"no ZIP")
    report = run(tmp_path / "all.paths", tmp_path / "out", workers=1)
    assert report.pages == len(two_sites())
    names = ["gone", "broken.parquet", "broken.wacz"]
    assert len(report.broken) == len(names)
    assert all(name in sentence for name, sentence in zip(names, report.broken, strict=True))


def test_records_that_are_no_pages_are_counted(tmp_path):
    with (tmp_path / "all.warc").open("wb") as file:
        from warcio.warcwriter import WARCWriter

        from tests.unit.test_archives import response

        writer = WARCWriter(file, gzip=False)
        response(writer, "http://h.example/a", near("a", 0), date=DATE)
        response(writer, "http://h.example/b", b"gone", status="404 Not Found")
        response(writer, "http://h.example/c", b"\x89PNG", headers=[("Content-Type", "image/png")])
    report = run(tmp_path / "all.warc", tmp_path / "out", workers=1)
    assert (report.pages, report.skipped, report.broken) == (1, {"status": 1, "not_html": 1}, [])


def test_a_page_that_cannot_be_cleaned_is_named(tmp_path):
    pages = [*site("h.example", ("namea", "nameb")), ("http://h.example/huge", b"<p>x" * 500)]
    path = warc(tmp_path / "crawl.warc", pages)
    command = ["pagelets", "corpus", str(path), str(tmp_path / "out"), "--workers", "1", "-s", "PAGELETS_MAX_NODES=100"]
    done = scrapy(*command)
    assert done.returncode == 0
    assert "1 page could not be cleaned, the first is http://h.example/huge: it is too large" in done.stderr
    assert sorted(feed(tmp_path / "out")) == ["http://h.example/namea", "http://h.example/nameb"]


def test_an_output_folder_with_files_is_refused(tmp_path):
    path = warc(tmp_path / "crawl.warc", two_sites())
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    done = scrapy("pagelets", "corpus", str(path), str(out))
    assert (done.returncode, done.stderr.strip()) == (1, f"{out} is not empty: give another folder, or delete it")
    assert (out / "thesis.txt").read_text() == "mine"
    done = scrapy("pagelets", "corpus", str(path), str(path))
    assert (done.returncode, done.stderr.strip()) == (1, f"{path} cannot be used: Not a directory")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.warc.gz"], "nowhere.warc.gz does not exist: give WARC"),
        (["{path}", "-s", "PAGELETS_DETECTION=etdm"], "a corpus job decides by fused or classifier"),
        (["{path}", "-s", "PAGELETS_RENDER=1"], "a corpus job renders no pages"),
        (["{path}", "-s", "PAGELETS_MODEL=nothing"], "there is no model nothing"),
        (
            ["{path}", "-s", "PAGELETS_DETECTION=classifier", "-s", "PAGELETS_CLASSIFIER={path}"],
            "is not a page-level model of this version",
        ),
        (["{path}", "--workers", "-1"], "--workers is -1"),
        (["{path}", "--memory", "much"], "--memory much cannot be used"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(tmp_path, arguments, sentence):
    path = warc(tmp_path / "crawl.warc", two_sites())
    first, *rest = [argument.format(path=path) for argument in arguments]
    done = scrapy("pagelets", "corpus", first, str(tmp_path / "out"), *rest)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_archive_without_pages_is_an_error(tmp_path):
    path = warc(tmp_path / "crawl.warc", [("http://h.example/", b"gone")], status="404 Not Found")
    with pytest.raises(CorpusError, match="no HTML page: 1 status"):
        run(path, tmp_path / "out")
    with pytest.raises(CorpusError, match="line 1, is not of a CDXJ index"):
        sources_of(str(cdxj(tmp_path / "bad.cdxj", [{"filename": "a"}])))
    folder = tmp_path / "empty"
    folder.mkdir()
    with pytest.raises(CorpusError, match="names no archive"):
        sources_of(str(folder))


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name in ("b/2.warc.gz", "a/1.warc", "c.wacz", "d.parquet", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = [Path(source.path).relative_to(tmp_path).as_posix() for source in sources_of(str(tmp_path))]
    assert found == ["c.wacz", "d.parquet", "a/1.warc", "b/2.warc.gz"]


# Parts


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(1, 9), st.integers(1, 12))
def test_groups_stay_whole_however_they_come(values, size, batch):
    values.sort()
    rows = pa.table({"key": pa.array(values, pa.int64()), "row": pa.array(range(len(values)), pa.int64())})
    found = list(whole_groups(rows.to_batches(batch), ["key"], size))
    again = list(whole_groups(rows.to_batches(), ["key"], size))
    assert [part.to_pylist() for part in found] == [part.to_pylist() for part in again]
    assert [row for part in found for row in part.to_pylist()] == rows.to_pylist()
    keys = [set(part["key"].to_pylist()) for part in found]
    assert sum(map(len, keys)) == len(set(values))  # no key is in two parts
    assert all(len(part) >= size for part in found[:-1])
    divided = [set(group["key"].to_pylist()) for part in found for group in groups(part, ["key"])]
    assert divided == [{value} for value in sorted(set(values))]


@settings(max_examples=30, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40))
def test_stars_are_connected_components(edges):
    pairs = [(max(pair), min(pair)) for pair in edges if pair[0] != pair[1]]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE stars (shingle BIGINT, p BIGINT, q BIGINT)")
        for pair in pairs:
            connection.execute("INSERT INTO stars VALUES (0, ?, ?)", pair)
        changed = 1
        while changed:
            connection.execute(f"CREATE OR REPLACE TABLE next_stars AS {statements.ROUND}")
            [(changed,)] = connection.execute(relational.CHANGED).fetchall()
            connection.execute("CREATE OR REPLACE TABLE stars AS SELECT * FROM next_stars")
        found = sorted(connection.execute("SELECT p, q FROM stars").fetchall())
    components = nx.connected_components(nx.Graph(pairs))
    assert found == sorted((page, min(group)) for group in components for page in group if page != min(group))


def test_duckdb_spills_to_the_work_folder(tmp_path):
    engine = EmbeddedEngine(tmp_path / "spill", workers=1, memory="64MB")
    try:
        engine.view("numbers", "SELECT range AS n, md5(range::VARCHAR) AS text FROM range(1500000)")
        engine.write(tmp_path / "sorted", "SELECT * FROM numbers ORDER BY text")
        files = sorted((tmp_path / "sorted").glob("*.parquet"))
        assert sum(ParquetFile(path).metadata.num_rows for path in files) == 1_500_000
    finally:
        engine.close()


def test_the_plan_of_a_job_is_one_line_of_json(corpus, tmp_path):
    folder, _ = corpus

    def stop(_):
        raise StoppedError

    with pytest.raises(StoppedError):
        run(folder / "part-0.warc.gz", tmp_path / "out", progress=stop)
    plan = json.loads((tmp_path / "out" / "_work" / "job.json").read_text())
    assert plan["options"]["sample"] == 4000
    assert plan["started"] == DATE


def test_a_full_disk_is_a_sentence_and_the_job_continues(tmp_path):
    engine = EmbeddedEngine(tmp_path / "spill", workers=1)
    try:
        with pytest.raises(CorpusError, match=r"the job cannot go on: .*it continues where it stopped"):
            engine.write(Path("/dev/full/table"), "SELECT 1 AS n")
        engine.write(tmp_path / "table", "SELECT 1 AS n")
        engine.open("numbers", tmp_path / "table")
        assert engine.rows("SELECT n FROM numbers") == [(1,)]
    finally:
        engine.close()


@pytest.mark.parametrize("ends", [(), ("b0",)])
def test_a_row_that_ends_its_process_is_left_out(tmp_path, ends):
    """All other rows of its group are there, in their order, as are other groups."""
    rows = [{"site": site, "url": f"{site}{number}"} for site in "ab" for number in range(2)]
    schema = pa.schema({"site": pa.string(), "url": pa.string()})
    engine = EmbeddedEngine(tmp_path / "spill", workers=2)
    try:
        store(tmp_path / "rows", pa.Table.from_pylist(rows, schema))
        engine.open("rows", tmp_path / "rows")
        engine.map(tmp_path / "out", Work("SELECT * FROM rows", EndsOn(*ends), schema, ("site",), ("url",)))
        found = parquet.read_table(tmp_path / "out" / "part-000000.parquet")["url"].to_pylist()
        assert found == [row["url"] for row in rows if row["url"] not in ends]
        assert engine.left_out() == list(ends)
    finally:
        engine.close()


def test_an_output_that_is_no_folder_is_refused(tmp_path):
    source = warc(tmp_path / "crawl.warc", site("one.example", "abc"))
    done = scrapy("pagelets", "corpus", str(source), "s3://bucket/out")
    assert done.returncode == 1
    assert done.stderr.startswith("s3://bucket/out is no folder: the tables are written to a folder")
    assert len(done.stderr.splitlines()) == 1
