"""Near-duplicates in real crawls: flagged, dropped or ignored; the same groups after an interruption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from datasketch import LeanMinHash

from scrapy_pagelets.duplicates.shingles import jaccard, shingles, word_hashes
from scrapy_pagelets.duplicates.sketch import encode, lean_minhash, minhash
from tests.crawl.test_archive_spider import warc
from tests.crawling import answer, crawl, menu_site, page, run_spider, scrapy, words
from tests.server import SiteServer

NAMES = ["home", *"abcdefgh"]
PATHS = ["/", *(f"/{name}" for name in NAMES[1:])]
COPIES = ["/copy", "/near"]


def content(name: str, *, edited: bool = False) -> str:
    """A page of the menu site under another URL; ``edited`` replaces a word of its content."""
    made = page(name, PATHS)
    return made.replace(words(name).split()[30], "altogether", 1) if edited else made


def routes():
    """Pages of a menu, and two more that the home page links to: a copy of /a, and a near-copy of /b."""
    links = "".join(f'<p><a href="{path}">More</a>' for path in COPIES)
    return menu_site(*NAMES) | {
        "/": answer(page("home", PATHS, more=links)),
        "/copy": answer(content("a")),
        "/near": answer(content("b", edited=True)),
    }


def by_path(found):
    return {"/" + line["url"].split("/", 3)[3]: line for line in found.lines}


def groups(found):
    """Return the sets of paths that near_duplicate_of connects, whichever of them came first."""
    lines = by_path(found)
    sets = {path: {path} for path in lines}
    for path, line in lines.items():
        if line["near_duplicate_of"]:
            other = "/" + line["near_duplicate_of"].split("/", 3)[3]
            joined = sets[path] | sets[other]
            for member in joined:
                sets[member] = joined
    return sorted(sorted(group) for group in {frozenset(group) for group in sets.values()} if len(group) > 1)


EXPECTED = [["/a", "/copy"], ["/b", "/near"]]


@pytest.fixture(scope="module")
def flagged(tmp_path_factory):
    with SiteServer(routes=routes()) as server:
        return crawl(tmp_path_factory.mktemp("flagged"), "site", url=server.url(""))


def test_near_duplicates_are_flagged(flagged):
    assert groups(flagged) == EXPECTED
    assert flagged.stat("duplicates") == 2
    assert len(flagged.lines) == len(NAMES) + 2
    assert flagged.errors == flagged.warnings == []


def test_similarity_is_that_of_the_texts(flagged):
    texts = {line["url"]: line["text"] for line in flagged.lines}
    similarities = []
    for line in flagged.lines:
        if line["near_duplicate_of"]:
            one, other = (shingles(word_hashes(texts[url])) for url in (line["url"], line["near_duplicate_of"]))
            assert line["similarity"] == round(jaccard(one, other), 4)
            similarities.append(line["similarity"])
        else:
            assert line["similarity"] is None
    assert sorted(similarities)[1] == 1
    assert 0.8 <= sorted(similarities)[0] < 1


def test_sketches_are_read_by_datasketch(flagged):
    lines = by_path(flagged)
    sketch = {path: lean_minhash(line["sketch"]) for path, line in lines.items()}
    assert all(isinstance(found, LeanMinHash) for found in sketch.values())
    assert sketch["/a"] == sketch["/copy"]
    assert 0.6 < sketch["/b"].jaccard(sketch["/near"]) < 1
    assert sketch["/c"].jaccard(sketch["/d"]) < 0.2


def test_near_duplicates_are_dropped_on_demand(tmp_path):
    with SiteServer(routes=routes()) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_DUPLICATES": "drop"})
    assert found.stat("duplicates") == found.stat("duplicates/dropped") == 2
    assert len(found.lines) == len(NAMES)
    assert len({"/a", "/copy"} & by_path(found).keys()) == len({"/b", "/near"} & by_path(found).keys()) == 1
    assert all(line["near_duplicate_of"] is None for line in found.lines)
    assert found.errors == found.warnings == []
    assert "Dropped" not in found.log


def declared(body, canonical):
    """A page with a canonical link."""
    return body.replace("<title>", f'<link rel="canonical" href="{canonical}"><title>')


@pytest.mark.parametrize("drop", [True, False])
def test_the_page_that_canonical_links_name_is_kept_though_its_copies_come_first(tmp_path, drop):
    links = "".join(f'<p><a href="{path}">More</a>' for path in ("/a-print", "/a-session", "/gone-print"))
    routes = menu_site(*NAMES) | {
        "/": answer(page("home", ["/b"], more=links)),
        **{path: answer(declared(content("a"), "/a")) for path in ("/a", "/a-print", "/a-session")},
        "/gone-print": answer(declared(content("zed"), "/gone")),
    }
    settings = {"PAGELETS_DUPLICATES": "drop" if drop else "flag", "PAGELETS_FIRST_PAGES": 1, "PAGELETS_PROBE": 0}
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings | {"CONCURRENT_REQUESTS": 1})
    copies = {} if drop else dict.fromkeys(["/a-print", "/a-session"], server.url("a"))
    lines = {path: line["near_duplicate_of"] for path, line in by_path(found).items()}
    assert lines == dict.fromkeys([*PATHS, "/gone-print"]) | copies
    assert server.hits.index("/a-session") < server.hits.index("/a")
    assert found.errors == []


@pytest.mark.parametrize("drop", [True, False])
def test_a_copy_comes_after_its_canonical_page_in_an_archive(tmp_path, drop):
    base, thief = "http://x.com/", "http://thief.com/a"
    listed = [(thief, content("a")), (f"{base}gone-print", declared(content("zed"), "/gone"))]
    listed += [(f"{base}a-{kind}", declared(content("a"), "/a")) for kind in ("print", "session")]
    listed += [(base + name, content(name)) for name in NAMES[1:]]
    path = warc(tmp_path / "x.warc", [(url, body.encode()) for url, body in listed])
    setting = f"PAGELETS_DUPLICATES={'drop' if drop else 'flag'}"
    found = crawl(tmp_path, "archive", path=path, settings=dict([setting.split("=")]))
    lines = {line["url"]: line["near_duplicate_of"] for line in found.lines}
    copies = dict.fromkeys([f"{base}a-print", f"{base}a-session"], thief)
    # The thief's copy comes first: the page is flagged, but never dropped for a page of another site.
    flags = {} if drop else copies | {f"{base}a": thief}
    assert lines == {url: None for url, _ in listed if url not in copies} | flags
    out = tmp_path / "out"
    done = scrapy("pagelets", "corpus", str(path), str(out), "--workers", "1", "-s", setting)
    assert done.returncode == 0, done.stderr
    rows = ds.dataset(out / "pages").to_table().to_pylist()
    assert {row["url"]: row["near_duplicate_of"] for row in rows} == lines


def test_nothing_is_compared_if_duplicates_are_off(tmp_path):
    settings = {"PAGELETS_DUPLICATES": "off", "JOBDIR": str(tmp_path / "job")}
    with SiteServer(routes=routes()) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert {(line["near_duplicate_of"], line["similarity"], line["sketch"]) for line in found.lines} == {(None,) * 3}
    assert not list((tmp_path / "job").glob("*duplicates*"))
    assert "DuplicatesPipeline" not in found.log


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("PAGELETS_DUPLICATES", "yes", "PAGELETS_DUPLICATES has 'yes': choose from flag, drop, off"),
        ("PAGELETS_DUPLICATES_SCOPE", "page", "PAGELETS_DUPLICATES_SCOPE has 'page': choose from auto, all, site"),
        (
            "PAGELETS_DUPLICATES_THRESHOLD",
            "0",
            "PAGELETS_DUPLICATES_THRESHOLD is 0.0: give a resemblance from 0.1 to 1",
        ),
        ("PAGELETS_DUPLICATES_THRESHOLD", "nan", "PAGELETS_DUPLICATES_THRESHOLD is nan: give a resemblance"),
        ("PAGELETS_DUPLICATES_THRESHOLD_ACROSS", "1.5", "PAGELETS_DUPLICATES_THRESHOLD_ACROSS is 1.5: give a"),
    ],
)
def test_settings_out_of_range_end_the_crawl_before_it_begins(tmp_path, name, value, sentence):
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings={name: value}, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(sentence)


@pytest.mark.parametrize("settle", [3, 100])
def test_an_interrupted_job_finds_the_same_groups(tmp_path, settle):
    job = {"JOBDIR": str(tmp_path / "job"), "PAGELETS_FIRST_PAGES": settle, "CONCURRENT_REQUESTS": 2}
    with SiteServer(routes=routes()) as server:
        first = crawl(tmp_path, "site", url=server.url(""), settings=job | {"CLOSESPIDER_PAGECOUNT": 6})
        assert len(first.lines) < len(server.routes)
        both = crawl(tmp_path, "site", url=server.url(""), settings=job)
    assert both.stats["finish_reason"] == "finished"
    assert len(both.lines) == len(NAMES) + 2
    assert groups(both) == EXPECTED
    assert first.errors == both.errors == first.warnings == both.warnings == []


def test_a_store_with_other_settings_is_set_aside(tmp_path):
    job = {"JOBDIR": str(tmp_path / "job")}
    with SiteServer(routes=routes()) as server:
        crawl(tmp_path, "site", url=server.url(""), settings=job | {"CLOSESPIDER_PAGECOUNT": 4})
        found = crawl(tmp_path, "site", url=server.url(""), settings=job | {"PAGELETS_DUPLICATES_SCOPE": "site"})
    assert found.stat("duplicates/set_aside") == 1
    assert len(found.warnings) == 1
    assert "is set aside, pages are not compared with those of earlier crawls: it cannot be used" in found.warnings[0]
    assert "its scheme is" in found.warnings[0]
    assert sorted(path.name for path in (tmp_path / "job").glob("*duplicates*")) == [
        "pagelets-duplicates.sqlite",
        "pagelets-duplicates.sqlite.broken",
    ]


STRANGER = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        for path in ("/a", "/copy"):
            yield Request(self.base + path)
    def parse(self, response):
        yield {"kind": "first"}
        yield {"kind": "second"}
"""


def test_items_of_a_page_are_not_duplicates_of_each_other(tmp_path):
    settings = {"CONCURRENT_REQUESTS": 1, "PAGELETS_PROBE": 0, "PAGELETS_FIELDS": {"text": None, "sketch": "mark"}}
    with SiteServer(routes=routes()) as server:
        found = run_spider(tmp_path, STRANGER, base=server.url("")[:-1], settings=settings)
    verdicts = {(line["url"], line["near_duplicate_of"]) for line in found.lines}
    one, other = (server.url(path) for path in ("/a", "/copy"))
    assert verdicts in ({(one, None), (other, one)}, {(other, None), (one, other)})
    assert len(found.lines) == 4
    assert len({line["mark"] for line in found.lines}) == 1
    assert all("text" not in line and "sketch" not in line for line in found.lines)


def test_pages_of_few_words_are_not_judged(tmp_path):
    short = "<html><body><p>Not much here</body></html>"
    with SiteServer(routes={"/a": answer(short), "/copy": answer(short)}) as server:
        found = run_spider(tmp_path, STRANGER, base=server.url("")[:-1], settings={"PAGELETS_PROBE": 0})
    assert {(line["near_duplicate_of"], line["sketch"]) for line in found.lines} == {(None, None)}
    assert found.stat("duplicates/too_short") == 4


TWO_SITES = """
class Edited:
    def process_item(self, item):
        item["text"] = item["text"] + " as the user wants it"
        return item

class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base + "/a")
        yield Request(self.base.replace("127.0.0.1", "localhost") + "/near")
    def parse(self, response):
        yield {}
"""


@pytest.mark.parametrize("changed", [False, True])
def test_shingles_are_weighed_across_sites_unless_the_user_has_set_the_text(tmp_path, changed):
    prose = [words(name, 20) for name in ("one", "two", "three")]
    body = f"<h1>{words('title', 5)}</h1><p>{{}}<ul><li>{words('item', 9)}</ul><table><td>{prose[1]}</table>{prose[2]}"
    body += f"<p>{words('s', 6)}"  # so short that it is not surely content: it weighs less than the rest
    edited = prose[0].replace(prose[0].split()[10], "altogether", 1)
    texts = {"/a": answer(body.format(prose[0])), "/near": answer(body.format(edited))}
    edited_text = {"ITEM_PIPELINES": {"stranger.Edited": 250}} if changed else {}
    settings = {"CONCURRENT_REQUESTS": 1, "PAGELETS_PROBE": 0, **edited_text}
    with SiteServer(routes=texts) as server:
        found = run_spider(tmp_path, TWO_SITES, base=server.url("")[:-1], settings=settings)
    one, other = (shingles(word_hashes(line["text"])) for line in found.lines)
    [similarity] = (line["similarity"] for line in found.lines if line["near_duplicate_of"])
    assert (similarity == round(jaccard(one, other), 4)) == changed


# The command


def write(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def line(url, text, pagelets=()):
    return {"url": url, "text": text, "pagelets": [{"text": found} for found in pagelets], "near_duplicate_of": None}


def command(*arguments):
    done = scrapy("pagelets", "duplicates", *arguments)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_the_command_shows_groups_and_copied_sites(tmp_path):
    texts = [words(name, 40) for name in "abcd"]
    lines = [line(f"http://{host}/{i}", text) for host in ("first", "mirror") for i, text in enumerate(texts)]
    feed = write(tmp_path / "feed.jsonl", *lines, line("http://first/5", words("e")))
    code, out, _ = command(feed)
    assert code == 0
    assert out[0] == "9 pages, 4 of them near-duplicates of another one"
    assert out[3].split() == ["1", "1.000", "http://first/0"]
    assert out[4].split() == ["1", "1.000", "http://mirror/0"]
    assert out[-1].split() == ["4", "100%", "mirror", "of", "first"]
    assert command(feed, "--bloom", "100")[1] == [f"http://mirror/{i}" for i in range(4)]


def test_the_command_joins_groups_that_the_crawl_left_apart(tmp_path, flagged):
    """A feed without texts still has the flags."""
    lines = [found | {"text": None} for found in flagged.lines]
    code, out, _ = command(write(tmp_path / "feed.jsonl", *lines))
    assert code == 0
    assert out[0] == f"{len(lines)} pages, 2 of them near-duplicates of another one"


def test_the_command_shows_blocks_on_several_sites(tmp_path):
    shared, own = words("shared", 30), [words(name, 30) for name in "abc"]
    lines = [line(f"http://h{i}/", text, [shared, text]) for i, text in enumerate(own)]
    code, out, _ = command(write(tmp_path / "feed.jsonl", *lines), "--pagelets")
    assert code == 0
    assert out[0] == "6 pagelets, 1 blocks on several hosts"
    assert out[-1].split()[:3] == ["3", "3", shared.split()[0]]


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("", [], "cannot be used: it has no pages"),
        ("hello", [], "cannot be used: line 1 is not a page"),
        ('{"text": "no page"}', [], "cannot be used: line 1 is not a page, it has no url"),
        ('{"url": "http://h/"}', ["--threshold", "0"], "PAGELETS_DUPLICATES_THRESHOLD is 0.0"),
        ('{"url": "http://h/"}', ["--bloom", "9", "--pagelets"], "--bloom compares pages: leave out --pagelets"),
        ('{"url": "http://h/"}', ["--bloom", "0"], "--bloom is 0: give the number of pages, from 1"),
    ],
)
def test_the_command_explains_unusable_input(tmp_path, content, arguments, sentence):
    path = tmp_path / "feed.jsonl"
    path.write_text(content, encoding="utf-8")
    code, _, err = command(str(path), *arguments)
    assert code == 1
    assert sentence in err
    assert "Traceback" not in err


# Excerpts and similar pages


def sketched(url, text):
    return {"url": url, "text": text, "sketch": encode(minhash(shingles(word_hashes(text))))}


SKETCH = sketched("", words("a", 40))["sketch"]
#: As versions before 0.3 wrote sketches.
OLD = (1).to_bytes(8, "little").hex() + SKETCH[16:]
TEXT = {"text": words("a", 40)}


def test_the_command_shows_pages_inside_of_others(tmp_path):
    whole = " ".join(words(name, 40) for name in "abcdef")
    lines = [
        sketched("http://h/excerpt", words("c", 40) + " and so on"),
        sketched("http://h/whole", whole),
        sketched("http://h/print", whole),
        sketched("http://h/other", words("other", 40)),
        {"url": "http://h/short", "text": "too short", "sketch": None},
    ]
    feed = write(tmp_path / "feed.jsonl", *lines)
    code, out, err = command(feed, "--contained", "0.9")
    assert code == 0
    assert out[0] == "4 pages, 2 of them inside of a larger one"
    assert [row.split() for row in out[3:]] == [
        ["1.000", "http://h/print", "in", "http://h/whole"],
        ["0.923", "http://h/excerpt", "in", "http://h/whole"],
    ]
    assert err == "1 line has no sketch: left out\n"
    assert command(feed, "--contained", "1")[1][0] == "4 pages, 1 of them inside of a larger one"


def test_the_command_similar_shows_the_most_similar_pages(tmp_path, flagged):
    lines = by_path(flagged)
    feed = write(tmp_path / "feed.jsonl", *flagged.lines)
    url = lines["/near"]["url"]
    done = scrapy("pagelets", "similar", feed, f"{url}#part", "--top", "1")
    assert (done.returncode, done.stderr) == (0, "")
    estimate = lean_minhash(lines["/near"]["sketch"]).jaccard(lean_minhash(lines["/b"]["sketch"]))
    assert done.stdout.splitlines()[0] == f"{len(lines)} pages, 1 of them similar to {url}#part"
    assert done.stdout.splitlines()[3].split() == [f"{estimate:.2f}", lines["/b"]["url"]]


def test_the_command_similar_says_that_no_page_is(tmp_path):
    lines = [sketched(f"http://h/{name}", words(name, 40)) for name in "ab"]
    done = scrapy("pagelets", "similar", write(tmp_path / "feed.jsonl", *lines), "http://h/a")
    assert (done.returncode, done.stdout) == (0, "2 pages, none of them similar to http://h/a\n")


@pytest.mark.parametrize(
    ("line", "arguments", "sentence"),
    [
        (
            {"sketch": OLD},
            ["http://h/"],
            "cannot be used: its sketches are of another version of this package: crawl the pages again",
        ),
        (
            {"text": "a"},
            ["http://h/"],
            "no line has sketch, the first one has only url, text; crawl without PAGELETS_DUPLICATES=off and "
            "PAGELETS_FIELDS=lean",
        ),
        (
            {"sketch": SKETCH},
            ["http://h/b"],
            "has no sketch of http://h/b: either the page is not in the feed, or its content has fewer than five words",
        ),
        ({"sketch": SKETCH}, ["http://h/", "--top", "0"], "--top is 0: give the number of pages, from 1"),
    ],
    ids=["old", "without", "unknown", "top"],
)
def test_the_command_similar_explains_unusable_input(tmp_path, line, arguments, sentence):
    done = scrapy("pagelets", "similar", write(tmp_path / "feed.jsonl", {"url": "http://h/"} | line), *arguments)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "arguments", "sentence"),
    [
        (TEXT | {"sketch": OLD}, ["0.9"], "its sketches are of another version of this package: crawl the pages again"),
        (TEXT, ["0.9"], "no line has sketch, the first one has only url, text; crawl without PAGELETS_DUPLICATES=off"),
        ({"sketch": SKETCH}, ["0.9"], "its pages have sketches, but neither text nor pagelets"),
        (TEXT | {"sketch": SKETCH}, ["0"], "--contained is 0.0: give a share above 0 to 1, as 0.9"),
        (TEXT | {"sketch": SKETCH}, ["nan"], "--contained is nan: give a share above 0 to 1, as 0.9"),
        (TEXT | {"sketch": SKETCH}, ["1", "--pagelets"], "--contained compares pages by their sketches: leave out"),
        (TEXT | {"sketch": SKETCH}, ["1", "--bloom", "9"], "--contained compares pages by their sketches: leave out"),
    ],
    ids=["old", "without", "no text", "zero", "nan", "pagelets", "bloom"],
)
def test_the_command_explains_why_it_finds_no_excerpts(tmp_path, line, arguments, sentence):
    feed = write(tmp_path / "feed.jsonl", {"url": "http://h/"} | line)
    code, _, err = command(feed, "--contained", *arguments)
    assert code == 1
    assert sentence in err
    assert len(err.splitlines()) == 1
