"""``scrapy pagelets llms``: what it writes of a feed, read as Markdown, and what it says of the rest."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.crawler.commands.llms import add_arguments, run
from tests.crawling import answer, crawl, page, scrapy
from tests.server import SiteServer

PARSER = MarkdownIt("commonmark")


@pytest.fixture
def llms(tmp_path, capsys):
    """Run the command on some lines; its exit code, output and sentences."""

    def call(*lines: dict[str, object] | str, out: Path | None = None, name: str = "feed.jsonl"):
        path = tmp_path / name
        path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
        parser = ArgumentParser()
        add_arguments(parser)
        code = run_command(run, parser.parse_args([str(path), "--out", str(out or tmp_path / "out")]))
        printed = capsys.readouterr()
        return code, printed.out, printed.err.splitlines()

    return call


def line(path: str, markdown: str | None = "Words", **more: object) -> dict[str, object]:
    return {"url": f"http://h/{path}", "title": f"Title of {path}", "markdown": markdown, **more}


def written(tmp_path: Path, folder: str = "out") -> tuple[str, str]:
    return (tmp_path / folder / "llms.txt").read_text(), (tmp_path / folder / "llms-full.txt").read_text()


HOME = line("", "# Welcome\n\nTo all of it.", title="The [house]", description="All about\nthe house.")


def test_the_list_has_a_name_a_summary_and_sections_of_links(llms, tmp_path):
    code, out, err = llms(
        HOME,
        line("docs/a", headline="Part *a*", description="What a is"),
        line(
            "docs/b_(2)",
            text="A heading\n\nIts first paragraph, which\nsays what it is about.\n\nAnother one.",
        ),
        line("lone/c", title="A name of eight words that comes again", text="A name of eight words\nthat comes again"),
    )
    assert (code, err) == (0, [])
    assert out == f"4 pages: llms.txt and llms-full.txt are in {tmp_path / 'out'}\n"
    assert written(tmp_path)[0] == (
        "# The \\[house]\n\n> All about the house.\n\n"
        "## Pages\n\n- [The \\[house\\]](http://h/): All about the house.\n"
        "- [A name of eight words that comes again](http://h/lone/c)\n\n"
        "## Docs\n\n- [Part \\*a\\*](http://h/docs/a): What a is\n"
        "- [Title of docs/b\\_(2)](http://h/docs/b_(2)): Its first paragraph, which says what it is about.\n"
    )


def test_the_list_is_read_as_the_format_wants_it(llms, tmp_path):
    llms(HOME, line("docs/a", title="]( <b>`"), line("docs/b", description="* # > [x](y)"))
    tokens = PARSER.parse(written(tmp_path)[0])
    kinds = [token.tag for token in tokens if token.nesting == 1]
    assert kinds[:4] == ["h1", "blockquote", "p", "h2"]
    links = [child.attrs["href"] for token in tokens for child in token.children or () if child.type == "link_open"]
    assert links == ["http://h/", "http://h/docs/a", "http://h/docs/b"]
    assert kinds.count("h1") == 1


def test_the_full_file_has_each_page_with_its_heading_and_its_address(llms, tmp_path):
    llms(HOME, line("a", "Only a paragraph.\n\n# Later"), line("b", None, text="Plain text"))
    assert written(tmp_path)[1] == (
        "# Welcome\n\nSource: <http://h/>\n\nTo all of it.\n\n"
        "# Title of a\n\nSource: <http://h/a>\n\nOnly a paragraph.\n\n# Later\n\n"
        "# Title of b\n\nSource: <http://h/b>\n\nPlain text\n\n"
    )


def test_what_all_pages_have_in_common_is_no_section(llms, tmp_path):
    llms(*(line(f"en/docs/{path}") for path in ("x", "one/a", "one/b", "two/c", "two/d")))
    assert re.findall("^## (.*)", written(tmp_path)[0], re.MULTILINE) == ["Pages", "One", "Two"]
    assert "# h\n\n> 5 pages of h\n" in written(tmp_path)[0]


def test_each_host_has_files_of_its_own(llms, tmp_path):
    odd = [line("x", url=f"http://{host}/") for host in ("..", "%2e%2e", "a\\..")]
    code, _, err = llms(HOME, line("a", url="https://b.org:8080/"), *odd)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert (code, names) == (0, ["%252e%252e", "a%5C", "b.org:8080", "h", "no-host"])
    assert err == ["5 hosts: the files of each are in a folder of its name"]
    assert "Title of a" in written(tmp_path, "out/b.org:8080")[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["feed.jsonl", "out"]


def test_what_is_left_out_is_said_in_a_sentence_each(llms, tmp_path):
    code, _, err = llms(
        line("a"),
        line("b", " \n"),
        line("c", None, text="Text"),
        line("d", near_duplicate_of="http://h/a"),
        line("e", near_duplicate_of="http://elsewhere/a"),
        line("a#top", "Later words"),
        {"url": "http://h/f", "title": "Nothing else"},
    )
    assert code == 0
    assert err == [
        "1 page without Markdown: the text is written; crawl with -s PAGELETS_FORMATS=text,markdown",
        "1 page without content: left out",
        "1 page with nearly the content of another page of the host: left out",
        "1 page that a later line has again: left out",
        "1 line has no markdown or text or pagelets: left out",
    ]
    full = written(tmp_path)[1]
    assert re.findall("Source: <http://h/(.*)>", full) == ["c", "e", "a#top"]
    assert "Later words" in full


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "it has no pages"),
        (["no JSON"], "line 1 is not a page, it is not JSON"),
        ([{"address": "x"}], "line 1 is not a page, it has no url, but only address"),
        ([{"url": "http://h/", "body": "x"}], "no line has markdown or text or pagelets, the first one has only url"),
        ([line("a", ""), line("b", "")], "has no page with content: nothing is written"),
    ],
)
def test_a_feed_that_cannot_be_used_is_refused_in_one_sentence(llms, tmp_path, lines, sentence):
    code, out, err = llms(*lines)
    assert (code, out, len(err), (tmp_path / "out").exists()) == (1, "", 1, False)
    assert sentence in err[0]


def test_files_that_cannot_be_written_are_named_and_earlier_ones_stay(llms, tmp_path):
    llms(line("a"))
    before = written(tmp_path)
    (tmp_path / "out" / "llms-full.txt.new").mkdir()
    code, _, err = llms(line("b"))
    assert (code, len(err), written(tmp_path)) == (1, 1, before)
    assert "llms-full.txt cannot be written: Is a directory" in err[0]


def test_odd_names_do_no_harm(llms, tmp_path):
    code, _, _ = llms({"url": "http://h/\x1b[2J", "title": " \ud800 ", "text": "\ud800 x"}, line("b", title="\x1b]0;"))
    assert code == 0
    assert "\x1b" not in "".join(written(tmp_path))


def test_a_crawl_gives_both_files(tmp_path):
    with SiteServer(routes={path: answer(page(path[1:] or "home", ["/", "/a"])) for path in ("/", "/a")}) as server:
        crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_FORMATS": "text,markdown"})
        done = scrapy("pagelets", "llms", str(tmp_path / "feed.jsonl"), "--out", str(tmp_path))
        listed, full = written(tmp_path, ".")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"[Heading a]({server.url('a')})" in listed
        assert "# Heading a\n\nSource: <" in full
    assert "slogan of the house" not in full
