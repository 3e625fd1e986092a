"""Pages that ask to be treated in some way, and responses that are not what their label says, in crawls."""

import gzip
import json

import pytest
from warcio.warcwriter import WARCWriter

from tests.crawling import answer, crawl, page, run_spider
from tests.server import Reply, SiteServer, html
from tests.unit.test_archives import HTML, response, revisited_archive

NAMES = ["home", *"abcdefgh"]


def with_head(name, head="", links=""):
    return (
        page(name, [f"/{other}" for other in NAMES])
        .replace("</head>", f"{head}</head>")
        .replace("</body>", f"{links}</body>")
    )


def site():
    """A site with a page that is not to be indexed, one whose links are not to be followed, and two links likewise."""
    routes = {f"/{name}": answer(with_head(name)) for name in NAMES}
    routes["/"] = answer(with_head("home", links='<p><a rel="nofollow" href="/hidden">hidden</a></p>'))
    routes["/a"] = answer(with_head("a", '<meta name="robots" content="noindex, whatever">'))
    routes["/b"] = lambda path: html(
        with_head("b", links='<p><a href="/behind">behind</a></p>'), X_Robots_Tag="nofollow"
    )
    routes |= {f"/{name}": answer(with_head(name)) for name in ("hidden", "behind")}
    routes["/robots.txt"] = lambda path: Reply(404)
    return routes


@pytest.mark.parametrize("handling", ["tell", "obey"])
def test_the_spider_tells_what_pages_ask_or_obeys(tmp_path, handling):
    with SiteServer(routes=site()) as server:
        settings = {"PAGELETS_ROBOTS": handling, "PAGELETS_PROBE": 0}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        hits = set(server.hits)
    robots = {line["url"].rpartition("/")[2]: line["robots"] for line in found.lines}
    assert found.stat("robots/noindex") == found.stat("robots/nofollow") == 1
    assert robots["b"] == ["nofollow"]
    assert robots["c"] == []
    if handling == "tell":
        assert robots["a"] == ["noindex"]
        assert {"/hidden", "/behind"} <= hits
        assert found.stat("robots/dropped") == 0
    else:
        assert "a" not in robots
        assert hits.isdisjoint({"/hidden", "/behind"})
        assert found.stat("robots/dropped") == 1
    assert found.errors == found.warnings == []


def test_what_is_only_labelled_html_gives_no_item(tmp_path):
    routes = site() | {
        "/a": lambda path: html(b"%PDF-1.7\n" + bytes(5_000_000)),
        "/b": lambda path: html(b'{"title": "Data", "body": "of a page"}'),
        "/c": lambda path: html(b'<?xml version="1.0"?><rss><channel><title>News</title></channel></rss>'),
    }
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    assert {line["url"].rpartition("/")[2] for line in found.lines}.isdisjoint("abc")
    assert found.stat("pages/not_html") == 3
    assert len(found.warnings) == 1
    assert "is labelled HTML, but it is application/" in found.warnings[0]


def test_items_of_a_stranger_from_what_is_no_page_stay_as_they_are(tmp_path):
    spider = """
        class Spider(scrapy.Spider):
            name = "stranger"
            async def start(self):
                yield Request(self.url)
            def parse(self, response):
                yield response.json()
    """
    with SiteServer(routes={"/data": lambda path: html(b'{"title": "Data"}')}) as server:
        found = run_spider(tmp_path, spider, url=server.url("data"))
    assert found.lines == [{"title": "Data"}]
    assert found.stat("items/no_page") == 1


def warc(path, records):
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        for name, body, headers in records:
            response(writer, f"http://example.com/{name}", body, [*HTML, *headers])
    return path


def test_archived_pages_that_break_off_are_counted(tmp_path):
    packed = gzip.compress(with_head("a").encode())
    records = [
        ("cut", packed[: len(packed) * 3 // 4], [("Content-Encoding", "gzip")]),
        ("chunk", b"%x\r\n%s\r\n" % (1 << 12, with_head("b").encode()), [("Transfer-Encoding", "chunked")]),
        ("whole", packed, [("Content-Encoding", "gzip")]),
        ("told", with_head("c").encode(), [("X-Robots-Tag", "otherbot: none, ourbot: noindex")]),
    ]
    found = crawl(tmp_path, "archive", path=warc(tmp_path / "a.warc", records), settings={"USER_AGENT": "OurBot/1.0"})
    assert [line["url"].rpartition("/")[2] for line in found.lines] == ["cut", "chunk", "whole", "told"]
    assert [line["robots"] for line in found.lines] == [[], [], [], ["noindex"]]
    assert all(line["text"] for line in found.lines)
    assert found.stat("pages/truncated") == 2
    assert len(found.warnings) == 1


def test_a_shell_has_the_text_of_its_data_or_is_reported(tmp_path):
    text = "The drying room keeps its door shut for a week, so that no draught cracks the rims of the bowls. " * 2
    data = {"props": {"post": {"title": "Drying", "body": text}}}
    shell = '<title>{}</title><div id="__next">Loading</div><script src="/a.js"></script>{}'
    script = f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(data)}</script>'
    pages = {"data": shell.format("Drying", script), "empty": shell.format("Empty", "")}
    path = warc(tmp_path / "a.warc", [(name, body.encode(), ()) for name, body in pages.items()])
    found = crawl(tmp_path, "archive", path=path)
    assert found.lines[0]["text"] == f"Drying\n\n{text.strip()}"
    assert found.lines[0]["pagelets"][0]["xpaths"] == []
    assert (found.stat("pages/from_data"), found.stat("pages/shells")) == (1, 1)
    assert len(found.warnings) == 1
    assert "PAGELETS_RENDER=auto" in found.warnings[0]


def test_the_lean_feed(tmp_path):
    settings = {"PAGELETS_FIELDS": "lean", "PAGELETS_FORMATS": "markdown", "PAGELETS_CHUNKS": 50, "PAGELETS_PROBE": 0}
    with SiteServer(routes=site()) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    for line in found.lines:
        assert line.keys().isdisjoint(
            {"text", "pagelets", "template", "sketch", "similarity", "content_hash", "changed"}
        )
        assert {"url", "title", "headline", "markdown", "published", "robots"} <= line.keys()
        assert all("xpaths" not in chunk and chunk["markdown"] for chunk in line["chunks"])
    assert found.warnings == []


def test_revisits_give_the_pages_that_they_refer_to(tmp_path):
    revisited_archive(tmp_path, ["1.warc", "2.warc"])
    found = crawl(tmp_path, "archive", path=tmp_path / "*.warc", settings={"PAGELETS_DUPLICATES": "off"})
    assert [line["url"].rpartition("/")[2] for line in found.lines] == ["a", "b", "a2", "b2"]
    texts = [line["text"] for line in found.lines]
    assert texts[0] == texts[2] != texts[1] == texts[3]
    assert found.warnings == []


def test_downloaded_pages_that_break_off_are_counted(tmp_path):
    packed = {name: gzip.compress(with_head(name).encode()) for name in "ab"}
    routes = site() | {
        "/a": lambda path: html(packed["a"][: len(packed["a"]) * 3 // 4], Content_Encoding="gzip"),
        "/b": lambda path: html(packed["b"], Content_Encoding="gzip"),
    }
    with SiteServer(routes=routes) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
        assert found.warnings == [f"{server.url('a')} ends early, its body breaks off: what there is of it is cleaned"]
    assert found.stat("pages/truncated") == 1
    assert {"a", "b"} <= {line["url"].rpartition("/")[2] for line in found.lines if line["text"]}
