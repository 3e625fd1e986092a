"""``scrapy pagelets``: the report, and the errors of commands for bad input."""

import json
from argparse import ArgumentParser
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.base.errors import DOCS
from scrapy_pagelets.crawler.commands.all_commands import COMMANDS, run_command
from scrapy_pagelets.crawler.commands.report import feed_of
from scrapy_pagelets.feed.feed_reader import FeedError
from scrapy_pagelets.report.summary import summary_of
from tests.crawling import crawl, ends_quietly_when_its_pipe_closes, menu_site, scrapy, words
from tests.server import SiteServer

FIELD_NAMES = st.sampled_from(
    "url title text template pagelets id share role words links anchor templateness similarity xpaths".split()
)


def line(url, template="example.com#1", share=0.5, words=(10, 20)):
    pagelets = [{"role": "content", "words": n, "text": f"{n} words of {url}"} for n in words] + [
        {"role": "navigation", "words": 99, "text": ""}
    ]
    about = {"id": template, "pages": 2, "share": share} if template else None
    return {"url": url, "template": about, "pagelets": pagelets}


def write(path, *lines):
    path.write_text("".join(json.dumps(page) + "\n" for page in lines), encoding="utf-8")
    return path


def test_a_feed_is_reported_from_both_formats(tmp_path):
    settings = {"FEEDS": {str(tmp_path / "feed.jsonl"): {"format": "jsonl"}}}
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        crawl(tmp_path, "site", url=server.url(""), settings=settings, feed="feed.parquet")
    reports = [
        scrapy("pagelets", "report", str(tmp_path / f"feed.{kind}"), cwd=tmp_path) for kind in ("jsonl", "parquet")
    ]
    assert [done.returncode for done in reports] == [0, 0]
    assert reports[0].stdout == reports[1].stdout
    totals, head, site, template, advice, meaning = reports[0].stdout.splitlines()
    assert totals.startswith("5 pages of 1 site: 310 words kept, ")
    assert head.split()[:3] == ["site", "and", "template"]
    assert site.split()[:3] == [f"127.0.0.1:{server.port}", "5", "310"]
    assert template.split()[:3] == [f"127.0.0.1:{server.port}#1", "5", "310"]
    assert advice == "to see the texts that were stripped, crawl with -s PAGELETS_EXPORT=all"
    assert all(name.removesuffix(",") in meaning for name in head.split()[4:])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.jsonl", b"", "it has no pages"),
        ("text.jsonl", b"hello", "line 1 is not a page, it is not JSON"),
        ("table.jsonl", b"url,text\na,b\n", "line 1 is not a page, it is not JSON"),
        ("cut.jsonl", b'{"url": "http://a.b/", "text": "a"}\n{"url": "http', "line 2 is not a page, it is cut off"),
        ("gap.jsonl", b'{"url": "http://a.b/", "text": "a"}\n\n{"url": "http', "line 3 is not a page, it is cut off"),
        ("late.jsonl", b'{"url": "http://a.b/", "text": "a"}\n\xff\n', "line 2 is not a page, it is not UTF-8"),
        (
            "feed.json",
            b'[\n{"url": "http://a.b/", "text": "a"}\n]',
            "an object in each line, as -O feed.jsonl writes it",
        ),
        ("deep.jsonl", b"[" * 10**6, "line 1 is not a page, it is nested too deeply"),
        (
            "other.jsonl",
            b'{"url": "http://a.b/", "template": null, "pagelets": []}\n{"a": 1}\n',
            "line 2 is not a page",
        ),
        ("list.jsonl", b"[1]\n", "line 1 is not a page, it begins a list of JSON"),
        ("noise.jsonl", b"\xff\xfe\x00", "line 1 is not a page, it is not UTF-8"),
        ("noise.parquet", b"not parquet", "Parquet"),
        ("short.parquet", b"", "Parquet"),
    ],
)
def test_files_that_are_not_feeds_are_refused(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FeedError, match=sentence) as refused:
        summary_of(feed_of(str(path)))
    assert "\n" not in str(refused.value)


def test_the_command_refuses_in_one_sentence(tmp_path):
    done = scrapy("pagelets", "report", "nowhere.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nowhere.jsonl cannot be used: No such file or directory\n"
    done = scrapy("pagelets", "report", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path} cannot be used: Is a directory\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "invalid choice: 'nonsense' (choose from"),
        ([], "show how much was stripped"),
        (["report"], "feed"),
    ],
)
def test_wrong_arguments_get_help(tmp_path, arguments, said):
    done = scrapy("pagelets", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def feed_that(tmp_path, *lines):
    return str(write(tmp_path / "feed.jsonl", *lines))


PAGELET = {"id": 0, "role": "content", "templateness": 0.1, "text": "one two three", "words": 3, "links": []}
WITHOUT = f"fields need the names of {DOCS}/feed.md: crawl without PAGELETS_FIELDS, or rename them"


@pytest.mark.parametrize("command", [("report",), ("duplicates",), ("index", "INDEX"), ("rank", "--pagerank")])
@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            [{"adresse": "http://h/", "corps": "x"}],
            f"line 1 is not a page, it has no url, but only adresse, corps; {WITHOUT}",
        ),
        ([{"url": "http://h/", "corps": "x", "pagelets": None}], f"only url, corps; {WITHOUT}"),
        ([{"url": "http://h/", "pagelets": [], "text": ""}, 7], "line 2 is not a page, it has no url"),
        ([{"url": ["a", "b"], "pagelets": []}], "line 1 is not a page: url is ['a', 'b'], not a string"),
        ([{"url": [], "text": "x"}], "line 1 is not a page: url is [], not a string"),
        ([{"url": [None], "text": "x"}], "line 1 is not a page: url is [None], not a string"),
        ([{"url": "http://h/", "pagelets": "many"}], "line 1 is not a page: pagelets is 'many', not a list"),
        ([{"url": "http://h/", "pagelets": ["one"]}], "line 1 is not a page: a pagelet is 'one', not an object"),
        (
            [{"url": "http://h/", "pagelets": [PAGELET | {"text": 5}]}],
            "line 1 is not a page: pagelet.text is 5, not a string",
        ),
        (
            [{"url": "http://h/", "pagelets": [PAGELET | {"links": [{"href": "/"}]}]}],
            "line 1 is not a page: a link has no url, but only href",
        ),
    ],
)
def test_feeds_of_other_tools_and_names_are_refused_in_a_sentence(tmp_path, capsys, command, lines, sentence):
    assert run(command, feed_that(tmp_path, *lines), tmp_path) == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert sentence in error
    assert not (tmp_path / "pages.sqlite").exists() or lines[0].get("text") == ""


def run(command, feed, tmp_path):
    """Run a command on a feed in this process; return its exit code."""
    name, *options = command
    parser = ArgumentParser()
    module = import_module(COMMANDS[name][1])
    module.add_arguments(parser)
    index = str(tmp_path / "pages.sqlite")
    given = [feed, *(index if option == "INDEX" else option for option in options)]
    return run_command(module.run, parser.parse_args(given))


@pytest.mark.parametrize(
    ("command", "left_out", "printed"),
    [
        (("report",), ("pagelets", "template"), ["one.org", "no", "template", "5"]),
        (("report",), ("text", "title"), ["one.org", "no", "template", "5"]),
        (("duplicates",), ("pagelets",), ["2 pages, 1 of them near-duplicates"]),
        (("duplicates",), ("text",), ["2 pages, 1 of them near-duplicates"]),
        (("duplicates", "--pagelets"), ("text",), ["2 pagelets, 1 blocks on several hosts"]),
        (("index", "INDEX"), ("pagelets", "title"), ["2 pages with 2 pagelets are in"]),
        (("index", "INDEX"), ("text", "language", "fetched_at"), ["2 pages with 4 pagelets are in"]),
        (("rank", "--pagerank", "--within"), ("text", "title"), ["2 pages, 2 links"]),
    ],
)
def test_commands_work_with_the_fields_that_are_there(tmp_path, capsys, command, left_out, printed):
    """Fields may be left out or renamed by PAGELETS_FIELDS."""
    text, lines = "one two three four five", []
    for site, other in (("one", "two"), ("two", "one")):
        link = {"url": f"http://{other}.org/", "anchor": "one"}
        pagelet = PAGELET | {"text": text, "words": 5, "links": [link]}
        page = {"url": f"http://{site}.org/", "title": "T", "language": "en", "text": text, "pagelets": [pagelet]}
        lines.append({f"{name}2" if name in left_out else name: value for name, value in page.items()})
    assert run(command, feed_that(tmp_path, *lines), tmp_path) == 0
    out, error = capsys.readouterr()
    assert error == "" or "the query" in error
    assert all(part in out for part in printed)
    in_lists = [{name: value if name == "pagelets" else [value] for name, value in line.items()} for line in lines]
    assert run(command, feed_that(tmp_path, *in_lists), tmp_path) == 0  # as an ItemLoader leaves them
    assert capsys.readouterr().out.splitlines()[0] == out.splitlines()[0]


def test_lines_without_needed_fields_are_left_out_with_a_warning(tmp_path, capsys):
    lines = [{"url": "http://h/a", "pagelets": [PAGELET]}, {"url": "http://h/b.pdf"}, {"url": "http://h/c.pdf"}]
    assert run(("index", "INDEX"), feed_that(tmp_path, *lines), tmp_path) == 0
    out, error = capsys.readouterr()
    assert out.startswith("1 page with 1 pagelet is in")
    assert error == "2 lines have no pagelets or text: left out\n"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("http://h/")
JSON = st.recursive(
    SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(FIELD_NAMES, some, max_size=6), max_leaves=30
)


@settings(max_examples=40)
@given(JSON, st.sampled_from(["report", "duplicates", "rank", "index", "template"]))
def test_any_line_of_json_is_a_page_or_is_refused(tmp_path_factory, line, name):
    folder = tmp_path_factory.mktemp("feed")
    feed = feed_that(folder, {"url": "http://h/", "pagelets": [], "text": ""}, line)
    options = {"rank": ("--pagerank",), "index": ("INDEX",)}.get(name, ())
    assert run((name, *options), feed, folder) in (0, 1)


@pytest.mark.parametrize("command", [("report",), ("duplicates",), ("rank", "--pagerank", "--top", "100000")])
def test_a_pipe_that_closes_ends_a_command_quietly(tmp_path, command):
    link = {"url": "http://site0.org/", "anchor": ""}
    same = PAGELET | {"text": words("same"), "links": [link]}
    lines = [{"url": f"http://site{n}.org/{'x' * 50}", "text": words("same"), "pagelets": [same]} for n in range(2000)]
    name, *options = command
    ends_quietly_when_its_pipe_closes("pagelets", name, feed_that(tmp_path, *lines), *options)
