"""``scrapy pagelets``: the report, and what it says to what it cannot use."""

import json

import pytest

from scrapy_pagelets.crawler.feed import FeedError
from scrapy_pagelets.crawler.feed_report import count, feed_of
from tests.crawling import crawl, menu_site, scrapy
from tests.server import SiteServer


def line(url, template="example.com#1", share=0.5, words=(10, 20)):
    pagelets = [{"role": "content", "words": n, "text": f"{n} words of {url}"} for n in words] + [
        {"role": "navigation", "words": 99, "text": ""}
    ]
    about = {"id": template, "pages": 2, "share": share} if template else None
    return {"url": url, "template": about, "pagelets": pagelets}


def write(path, *lines):
    path.write_text("".join(json.dumps(found) + "\n" for found in lines), encoding="utf-8")
    return path


def test_pages_are_counted_by_site_and_template(tmp_path):
    path = write(
        tmp_path / "feed.jsonl",
        line("http://a.example.com/1"),
        line("http://b.example.com/2", share=0.25, words=(50,)),
        line("http://example.com/3", "example.com#2", words=()),
        line("http://other.org/", None),
    )
    table = count(feed_of(str(path)))
    assert table.keys() == {"example.com", "other.org"}
    row = table["example.com"]["example.com#1"]
    assert (row.pages, row.chrome, row.kept, row.empty) == (2, 0.75, 80, 0)
    assert table["example.com"]["example.com#2"].empty == 1
    assert table["other.org"]["no template"].pages == 1


def test_a_feed_is_reported_from_both_formats(tmp_path):
    settings = {"FEEDS": {str(tmp_path / "feed.jsonl"): {"format": "jsonl"}}}
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        crawl(tmp_path, "site", url=server.url(""), settings=settings, feed="feed.parquet")
    told = [scrapy("pagelets", "report", str(tmp_path / f"feed.{kind}"), cwd=tmp_path) for kind in ("jsonl", "parquet")]
    assert [done.returncode for done in told] == [0, 0]
    assert told[0].stdout == told[1].stdout
    head, site, template = told[0].stdout.splitlines()
    assert head.split() == ["site", "and", "template", "pages", "chrome", "words", "kept", "empty", "repeated"]
    assert site.split()[:2] == [f"127.0.0.1:{server.port}", "5"]
    assert template.split()[:2] == [f"127.0.0.1:{server.port}#1", "5"]
    assert site.split()[3:] == ["62", "0", "0%"]


def test_content_that_repeats_is_reported(tmp_path):
    """Three of ten pages have a notice, one of them twice; a copy of a page and short texts do not count."""

    def contents(number, *texts):
        found = line(f"http://example.com/{number}", None, words=())
        return found | {"pagelets": [{"role": "content", "words": len(t.split()), "text": t} for t in texts]}

    notice = "We use cookies 12"
    lines = [contents(n, f"{'abcdefghij'[n]} has words of its own here", "Read more") for n in range(7)]
    lines += [contents(7, "one two three four", notice, notice.upper()), contents(8, "We use cookies 77")]
    lines += [contents(9, notice, "five six")]
    lines += [contents(n, "a has words of its own here", "Read more") for n in range(10, 13)]
    row = count(feed_of(str(write(tmp_path / "feed.jsonl", *lines))))["example.com"]["no template"]
    assert row.repeated == 4 * 4


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.jsonl", b"", "it has no pages"),
        ("text.jsonl", b"hello", "line 1 is not a page"),
        (
            "other.jsonl",
            b'{"url": "http://a.b/", "template": null, "pagelets": []}\n{"a": 1}\n',
            "line 2 is not a page",
        ),
        ("list.jsonl", b"[1]\n", "line 1 is not a page"),
        ("noise.jsonl", b"\xff\xfe\x00", "line 1 is not a page"),
        ("noise.parquet", b"not parquet", "Parquet"),
        ("short.parquet", b"", "Parquet"),
    ],
)
def test_what_is_no_feed_is_refused(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FeedError, match=sentence) as refused:
        count(feed_of(str(path)))
    assert "\n" not in str(refused.value)


def test_the_command_refuses_in_one_sentence(tmp_path):
    done = scrapy("pagelets", "report", "nowhere.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nowhere.jsonl is no feed: No such file or directory\n"
    done = scrapy("pagelets", "report", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path} is no feed: Is a directory\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nonsense"], "invalid choice: 'nonsense' (choose from"), ([], "show what was stripped"), (["report"], "feed")],
)
def test_what_there_is_no_command_for_gets_help(tmp_path, arguments, said):
    done = scrapy("pagelets", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
