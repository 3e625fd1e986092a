"""``scrapy pagelets rank``: its tables, and its errors for bad input."""

from __future__ import annotations

import argparse
import json

import pytest

from scrapy_pagelets.crawler.commands import rank
from scrapy_pagelets.crawler.commands.all_commands import run_command
from tests.crawling import SITE, answer, crawl, menu_site, page, scrapy
from tests.server import SiteServer
from tests.unit.test_links import guitars, line, pagelet


def write(path, *lines):
    path.write_text("".join(json.dumps(page) + "\n" for page in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def run_rank(tmp_path, capsys):
    """A function that runs the command on a feed and returns the exit code, its lines, and the lines of its errors."""

    def run(lines, *options):
        parser = argparse.ArgumentParser()
        rank.add_arguments(parser)
        path = lines if isinstance(lines, str) else write(tmp_path / "feed.jsonl", *lines)
        code = run_command(rank.run, parser.parse_args([path, *options]))
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return run


def test_authorities_and_hubs_are_printed(run_rank):
    code, lines, errors = run_rank(guitars(), "--query", "guitar")
    assert (code, errors) == (0, [])
    assert lines == [
        "8 pages, 8 links, 2 of them in templates; the query finds 3 pages, 7 with neighbours; pagelet-ft-fnm, "
        "links between sites count",
        "",
        " authority  page",
        "     0.707  http://fender.com/  Title of http://fender.com/",
        "     0.707  http://gibson.com/  Title of http://gibson.com/",
        "",
        "       hub  pagelet",
        "     0.816  http://list.org/  0: guitar: fender or gibson",
        "     0.408  http://shop.org/  0: guitar: fender",
        "     0.408  http://home.org/  1: my guitar is by gibson",
    ]


def test_hubs_of_the_page_versions_are_pages(run_rank):
    code, lines, _ = run_rank(guitars(), "--query", "guitar", "--version", "page", "--top", "2")
    hubs = lines[lines.index("       hub  page") + 1 :]
    assert code == 0
    assert [hub.split()[1] for hub in hubs] == ["http://list.org/", "http://shop.org/"]


def test_pagerank_is_printed_in_multiples_of_the_mean(run_rank):
    lines = [line("http://h/a", pagelet("guitar", "http://h/b")), line("http://h/b", pagelet("more"))]
    assert run_rank(lines, "--pagerank")[1] == [
        "2 pages, 1 link, 0 of them in templates",
        "",
        "times mean  page",
        "     1.298  http://h/b  Title of http://h/b",
        "     0.702  http://h/a  Title of http://h/a",
    ]
    assert run_rank(lines, "--pagerank", "--query", "guitar")[1][-1].split()[1] == "http://h/a"


def test_related_pages_are_printed(run_rank):
    code, lines, errors = run_rank(guitars(), "--related", "https://fender.com/#top")
    assert (code, errors) == (0, [])
    assert lines[-2].split() == ["votes", "citing", "page"]
    assert lines[-1].split() == ["1.000", "1", "http://gibson.com/", "Title", "of", "http://gibson.com/"]


def test_a_crawl_is_ranked_from_both_formats(tmp_path):
    """A site whose pages link to each other by a menu; one of them cites another in its content."""
    routes = menu_site("home", *"abcde")
    more = '<p>Who likes this one should read the <a href="/c">longer story of plums</a> too.</p>'
    routes["/b"] = answer(page("b", routes, more=more))
    settings = {"FEEDS": {str(tmp_path / "feed.jsonl"): {"format": "jsonl"}}, "PAGELETS_EXPORT": "all"}
    with SiteServer(routes=routes) as server:
        crawl(tmp_path, "site", url=server.url(""), settings=settings, feed="feed.parquet")
    feeds = [str(tmp_path / f"feed.{kind}") for kind in ("jsonl", "parquet")]
    done = [scrapy("pagelets", "rank", feed, "--query", '"plums"', cwd=tmp_path) for feed in feeds]
    assert [process.returncode for process in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
    table = done[0].stdout.split("\n\n")[1].splitlines()
    assert len(table) == 2
    assert table[1].split()[:2] == ["1.000", server.url("/c")]


def test_the_template_of_a_real_site_is_separated_from_its_content(tmp_path):
    crawled = crawl(tmp_path, "archive", path=SITE, base="http://tomcat.example/", settings={"PAGELETS_EXPORT": "all"})
    feed = str(tmp_path / "feed.jsonl")
    assert crawled.code == 0
    scores = {}
    for version in ("page", "pagelet-ft-fnm"):
        done = scrapy("pagelets", "rank", feed, "--query", "balancer", "--version", version, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        table = done.stdout.split("\n\n")[1].splitlines()[1:]
        scores[version] = [(float(row.split()[0]), row.split()[1]) for row in table]
    # With the links of the menu, all pages have similar scores; without them, the cited page stands out.
    assert scores["page"][11][0] > 0.8 * scores["page"][0][0]
    best = scores["pagelet-ft-fnm"]
    assert best[0][1] == "http://tomcat.example/reference/workers.html"
    assert best[0][0] > 2 * best[1][0]


def test_a_feed_of_content_alone_gets_a_warning(run_rank):
    lines = [line("http://h/a", pagelet("guitar", "http://h/b")), line("http://h/b")]
    code, out, errors = run_rank(lines, "--query", "guitar", "--version", "page")
    assert (code, errors) == (
        0,
        [
            "the feed has content pagelets only, so page cannot use the links of templates: crawl with -s "
            "PAGELETS_EXPORT=all"
        ],
    )
    assert out[-1].endswith("http://h/a  Title of http://h/a")
    assert run_rank(lines, "--query", "guitar")[2] == []


def test_words_on_most_pages_get_a_warning(run_rank):
    lines = [line(f"http://h/{n}", pagelet("the guitar" if n else "the", f"http://h/{n + 1}")) for n in range(5)]
    assert run_rank(lines, "--query", "the guitar")[2] == [
        "the query fits 80% of the pages, so the ranking says little about it: give rarer words"
    ]
    code, out, errors = run_rank(lines, "--query", "the")
    assert (code, errors[0][:24]) == (0, "the query fits 100% of t")
    assert out[-1].startswith("     0.5")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "nothing to rank by: give --query WORDS, --pagerank or --related URL"),
        (["--query", '" + - ( "'], "the query has no words: give some letters or digits"),
        (["--query", ""], "the query has no words: give some letters or digits"),
        (
            ["--query", "zither"],
            "8 pages, 8 links, 2 of them in templates; no page has a word of the query in its content",
        ),
        (
            ["--query", "host"],
            "no link that pagelet-ft-fnm counts leads to these pages: try pagelet-ft or page as --version",
        ),
        (
            ["--query", "a", "--version", "ft"],
            "there is no version 'ft': choose from page, page-fnm, pagelet, pagelet-fnm, pag",
        ),
        (
            ["--pagerank", "--version", "page"],
            "--version is for hubs and authorities: leave it out, or --pagerank and --rel",
        ),
        (
            ["--query", "a", "--related", "http://h/"],
            "related pages are the same for every query: leave out --query or --rel",
        ),
        (["--pagerank", "--top", "0"], "--top is 0: give the number of lines, from 1"),
        (["--related", "http://nowhere.com/"], "the feed has neither the page http://nowhere.com/ nor a link to it"),
        (["--related", "http://[broken"], "the feed has neither the page http://[broken nor a link to it"),
        (
            ["--related", "http://nokia.com/"],
            "no content pagelet of up to 50 links cites http://nokia.com/ with another page;",
        ),
    ],
)
def test_queries_without_an_answer_get_a_sentence(run_rank, options, sentence):
    code, _, errors = run_rank(guitars(), *options)
    assert code == 1
    assert len(errors) == 1
    assert errors[0].startswith(sentence)


@pytest.mark.parametrize("version", ["page", "pagelet-ft", "pagelet-ft-fnm"])
def test_a_base_set_of_one_page_has_no_ranking(run_rank, version):
    lines = [line("http://h/a", pagelet("guitar", "http://h/gone")), line("http://h/b", pagelet("drum"))]
    code, _, errors = run_rank(lines, "--query", "guitar", "--version", version)
    sentence = "no link joins the one page that the query finds to another page, so that there is nothing to rank"
    assert (code, errors[-1]) == (1, sentence)


def test_no_version_is_advised_in_place_of_itself(run_rank):
    """Two pages have the word, and the only link leads to a page that the feed does not have."""
    lines = [line(f"http://{host}.com/", pagelet("guitar", "http://gone.com/")) for host in "ab"]
    for version, others in (("page", "pagelet-ft"), ("pagelet-ft", "page"), ("pagelet", "pagelet-ft or page")):
        _, _, errors = run_rank(lines, "--query", "guitar", "--version", version, "--within")
        assert errors[-1] == f"no link that {version} counts leads to these pages: try {others} as --version"


def test_sites_without_links_between_them_get_a_hint_at_within(run_rank):
    lines = [line("http://a.com/", pagelet("guitar", "http://a.com/b")), line("http://a.com/b"), line("http://c.com/")]
    code, _, errors = run_rank(lines, "--query", "guitar")
    assert (code, errors) == (
        1,
        ["no link leads from one site of the feed to another: --within counts links within a site as well"],
    )
    assert run_rank(lines, "--query", "guitar", "--within")[0] == 0


@pytest.mark.parametrize("query", [" ".join(f"word{n}" for n in range(10_000)) + " guitar", "guitar " * 10_000])
def test_long_queries_are_answered(run_rank, query):
    code, out, errors = run_rank(guitars(), "--query", query)
    assert (code, errors) == (0, [])
    assert "http://fender.com/" in out[3]


def test_text_that_no_terminal_can_show_is_shown_all_the_same(run_rank):
    lines = [line("http://h/\ud800", pagelet("guitar \udfff", "http://h/b")), line("http://h/b")]
    assert run_rank(lines, "--query", "guitar")[1][-1] == r"     1.000  http://h/\ud800  0: guitar \udfff"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.jsonl", b"", "it has no pages"),
        ("blank.jsonl", b"\n\n", "it has no pages"),
        ("text.jsonl", b"hello", "line 1 is not a page, it is not JSON"),
        ("list.jsonl", b"[1]\n", "line 1 is not a page, it begins a list of JSON"),
        ("number.jsonl", b"1\n", "line 1 is not a page, it has no url"),
        (
            "other.jsonl",
            b'{"url": "http://a.b/", "pagelets": []}\n{"a": 1}\n',
            "line 2 is not a page, it has no url",
        ),
        ("noise.jsonl", b"\xff\xfe\x00", "line 1 is not a page, it is not UTF-8"),
        ("noise.parquet", b"not parquet", "Parquet"),
        ("linkless.jsonl", b'{"url": "http://a.b/", "pagelets": []}\n', "its pagelets have no links"),
        ("pageletless.jsonl", b'{"url": "http://a.b/", "text": "A", "pagelets": null}\n', "no line has pagelets, the "),
    ],
)
def test_files_that_are_not_feeds_are_refused(tmp_path, run_rank, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    code, out, errors = run_rank(str(path), "--query", "guitar")
    assert (code, out, len(errors)) == (1, [], 1)
    assert errors[0].startswith(f"{path} cannot be used: ")
    assert sentence in errors[0]


def test_the_command_refuses_in_one_sentence(tmp_path):
    done = scrapy("pagelets", "rank", "nowhere.jsonl", "--query", "guitar", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nowhere.jsonl cannot be used: No such file or directory\n"


@pytest.mark.parametrize("query", ["guitar\udcff", "\0guitar", "\ud800 guitar\x1b"])
def test_control_characters_separate_the_words_of_a_query(run_rank, query):
    assert run_rank(guitars(), "--query", query) == run_rank(guitars(), "--query", "guitar")


@pytest.mark.parametrize("query", ["\udcff", "\0", "\ud800\x1b"])
def test_a_query_of_control_characters_has_no_words(run_rank, query):
    assert run_rank(guitars(), "--query", query) == (1, [], ["the query has no words: give some letters or digits"])
