"""The console script ``pagelets``: in any folder, without a project; its help, its examples and its errors."""

import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import pytest

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler import console
from scrapy_pagelets.crawler.commands.all_commands import COMMANDS, Parser, add_commands
from scrapy_pagelets.crawler.commands.crawling import lines
from tests import crawling
from tests.corpora import warc
from tests.crawling import (
    LIMIT,
    ROOT,
    ends_quietly_when_its_pipe_closes,
    menu_site,
    page,
    pagelets,
    scrapy,
    words,
)  # fmt: skip
from tests.server import Reply, SiteServer, html

CONSOLE = [sys.executable, "-m", crawling.CONSOLE]
#: Commands whose examples take long: that they can be read is tested here, what they do in tests of their own.
SLOW = {"train", "corpus", "crawl", "template", "mcp"}
FAST = ["-s", "AUTOTHROTTLE_ENABLED=0", "-s", "RETRY_TIMES=0"]


def examples(name):
    return import_module(COMMANDS[name][1]).EXAMPLES


def arguments_of(example):
    """What a shell hands to the command, and the file that is its standard input."""
    words = shlex.split(example)
    source = words[words.index("<") + 1] if "<" in words else None
    end = min((words.index(mark) for mark in ("|", ">", "<") if mark in words), default=len(words))
    assert words[0] == "pagelets"
    return words[1:end], source


def linking(name):
    """A paragraph with a link that no other page has."""
    return f'<p>Whoever reads {words(name, 9)} should read <a href="/b">of {words("b", 2)}</a> as well</p>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder outside of any project with what the examples name, and what the crawl printed."""
    folder = tmp_path_factory.mktemp("anywhere")
    (folder / "page.html").write_text(page("alone", ["/", "/a"]), encoding="utf-8")
    (folder / "mirror").mkdir()
    for name in "abcd":
        (folder / "mirror" / f"{name}.html").write_text(page(name, ["/", "/a"]), encoding="utf-8")
    with SiteServer(routes=menu_site("home", *"abcdef", more=linking)) as server:
        settings = ["-s", "PAGELETS_EXPORT=all", "-s", "PAGELETS_CHUNKS=50", *FAST]
        done = pagelets("crawl", server.url(""), "-o", "all.jsonl", "--log", "all.log", *settings, cwd=folder)
    for name in ("pages", "last-week", "part-1", "part-2"):
        shutil.copy(folder / "all.jsonl", folder / f"{name}.jsonl")
    return folder, done, server.url("")


def test_a_crawl_outside_of_a_project_ends_with_what_came_out(site):
    folder, done, _ = site
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    assert "One page before and after:" in said
    assert "[-The slogan of the house" in said
    assert re.search(r"^7 pages in \d+ s, [\d.]+ a second$", said, re.MULTILINE)
    assert re.search(r"^\d+ words kept, \d+ \(\d+%\) stripped as template$", said, re.MULTILINE)
    assert f"feed: {folder / 'all.jsonl'}; log: all.log" in said
    assert len(said.splitlines()) < 24
    assert "scrapy.core.engine" in (folder / "all.log").read_text(encoding="utf-8")
    assert len((folder / "all.jsonl").read_text(encoding="utf-8").splitlines()) == 7


def test_the_next_commands_that_a_crawl_names_work(site, monkeypatch, capsys):
    folder, done, _ = site
    monkeypatch.chdir(folder)
    named = [line.strip() for line in done.stdout.partition("next:\n")[2].splitlines()]
    assert len(named) == 3
    for line in named:
        assert console.main(shlex.split(line.replace("WORDS", "heading"))[1:]) == 0, capsys.readouterr().err


def test_standard_output_can_be_the_feed(site):
    folder, *_ = site
    done = pagelets("clean", "mirror", "--base", "https://example.com/", cwd=folder)
    assert done.returncode == 0
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["url"] for line in found] == [f"https://example.com/{name}.html" for name in "abcd"]
    assert "4 pages in" in done.stderr


def test_a_spider_stops_when_nobody_reads_its_output_any_more(site):
    names = ["home", *(f"p{number}" for number in range(100))]
    with SiteServer(routes=menu_site(*names)) as server:
        ends_quietly_when_its_pipe_closes(
            "pagelets", "crawl", server.url(""), "-o", "-", "-s", "PAGELETS_FIRST_PAGES=2", *FAST
        )
        assert len(server.hits) < len(names)
    ends_quietly_when_its_pipe_closes("pagelets", "clean", str(site[0] / "mirror"), "-o", "-")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("clean page.html >/dev/full", "standard output cannot be written: No space left on device"),
        ("report all.jsonl >/dev/full", "standard output cannot be written: No space left on device"),
        ("clean mirror >&-", "standard output is closed: name a file with -o"),
    ],
)
def test_an_output_that_takes_nothing_is_one_sentence(site, command, sentence):
    line, environment = f"{shlex.join(CONSOLE)} {command}", {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, shell=True, cwd=site[0], env=environment, stderr=-1, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (1, f"{sentence}\n")


def test_files_that_are_no_pages_are_counted(tmp_path):
    for name in ("a.html", "b.html"):
        (tmp_path / name).write_text(page(name), encoding="utf-8")
    (tmp_path / "binary.html").write_bytes(bytes(range(32)))
    (tmp_path / "empty.html").touch()
    done = pagelets("clean", ".", cwd=tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert "\nleft out of the archive: 1 x empty, 1 x not_html\n" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples_that_can_be_read(name, capsys):
    with pytest.raises(SystemExit) as ended:
        console.main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert len(examples(name)) >= 2
    for example in examples(name):
        assert f"  {example}\n" in shown
        arguments, _ = arguments_of(example)
        parser = Parser("pagelets")
        add_commands(parser, "pagelets", arguments[0])
        options = parser.parse_args(arguments, console.Options())
        assert options.command == arguments[0]


@pytest.mark.parametrize(
    "example", [line for name in COMMANDS for line in examples(name) if arguments_of(line)[0][0] not in SLOW]
)
def test_the_examples_work(site, monkeypatch, capsys, example):
    folder, _, url = site
    example = example.replace("https://example.com/page", f"{url}a").replace("https://example.com/ ", f"{url} ")
    arguments, source = arguments_of(example)
    monkeypatch.chdir(folder)
    if "mirror/" in arguments:  # a reactor runs once in a process
        assert pagelets(*arguments, cwd=folder).returncode == 0
        return
    if source is not None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / source).read_bytes())))
    if arguments[0] == "search":
        console.main(["index", "pages.jsonl", "pages.sqlite"])
    given = ["bword1" if word == "install" else word for word in arguments]
    if "part-*.jsonl" in given:
        given[1:2] = ["part-1.jsonl", "part-2.jsonl"]
    code = console.main(given)
    assert code == (1 if arguments[0] == "diff" and code == 1 else 0), capsys.readouterr().err


def test_a_page_from_a_pipe_is_printed_as_markdown(site):
    folder, *_ = site
    with (folder / "page.html").open() as html:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
        command = [*CONSOLE, "clean", "-"]
        done = subprocess.run(command, env=environment, stdin=html, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Heading alone\n\naloneword0 ")
    assert "slogan" not in done.stdout


@pytest.mark.parametrize(
    ("form", "begins"), [("text", "Heading alone\n"), ("html", "<"), ("json", '{"url": "http://h/')]
)
def test_a_page_is_printed_in_other_formats(site, monkeypatch, capsys, form, begins):
    monkeypatch.chdir(site[0])
    assert console.main(["clean", "page.html", "--format", form, "--url", "http://h/"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(begins)
    end = {"text": "txt"}.get(form, form)
    assert console.main(["clean", "page.html", "-o", f"made.{end}", "--url", "http://h/"]) == 0
    assert Path(f"made.{end}").read_text("utf-8") == out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["report", "nowhere.jsonl"], "nowhere.jsonl cannot be used: No such file or directory"),
        (["clean", "nowhere.html"], "nowhere.html does not exist"),
        (["clean", "empty.html"], "empty.html is empty: give the HTML of a page"),
        (["clean", "picture.html"], "picture.html is not HTML, it is"),
        (["clean", "binary.html"], "binary.html is not HTML, it is application/octet-stream"),
        (["clean", "all.csv"], "all.csv is not HTML, it has no tag: give the HTML of a page"),
        (["view", "empty.html", "--no-picture"], "empty.html cannot be shown: it is empty: give the HTML of a page"),
        (["merge", "empty.jsonl", "-o", "x.jsonl"], "nothing can be merged: no line of the parts has url; --field"),
        (["merge", "all.jsonl", "-o", "x.jsonl", "--field", "x"], "no line of the parts has x; --field names"),
        (["merge", "all.json", "-o", "x.jsonl"], "all.json cannot be merged: line 1 is not a page, it begins a list"),
        (["clean", "https://example.com/a"], "is an address: pagelets crawl https://example.com/a --pages 1"),
        (["clean", "page.html", "-o", "no/folder.md"], "no/folder.md cannot be written: No such file or directory"),
        (["clean", "page.html", "-s", "PAGELETS_CHUNKS=9"], "-s is for a folder or an archive"),
        (["clean", "page.html", "--base", "http://h/"], "--base is for a folder: --url gives the address of one page"),
        (["template", "http://127.0.0.1:9/", "--out", "page.html/x"], "page.html/x cannot be written: "),
        (["crawl", "http://127.0.0.1:9/", "-s", "JOBDIR=page.html"], "page.html cannot be written: "),
        (["clean", "mirror", "--format", "text"], "--format and --url are for one page"),
        (["clean", "mirror", "-o", "page.txt"], "-o is page.txt: give a name that ends in .jsonl,"),
        (["crawl", "http://h/", "-o", "no/pages.jsonl"], "no/pages.jsonl cannot be written: there is no folder"),
        (["crawl", "http://h/", "-o", "folder.jsonl"], "folder.jsonl cannot be written: it is a folder"),
        (["crawl", "http://h/", "-o", "empty.html/x.jsonl"], "x.jsonl cannot be written: there is no folder"),
        (["crawl", "http://h/", "-o", "/proc/x.jsonl"], "/proc/x.jsonl cannot be written: No such file or directory"),
        (["crawl", "http://h/", "--log", "no/x.log"], "no/x.log cannot be written: there is no folder"),
        (["crawl", "http://h h/"], "'http://h h/' is not the URL of a page: give one like https://example.com/"),
        (["crawl", "http://h/", "--pages", "-1"], "--pages and --depth take a number"),
        (["crawl", "http://h/", "--since", "monday"], "since is 'monday': give a day like 2026-11-20, or a time"),
        (["crawl", "http://h/", "-s", "PAGELETS_CHUNK=1"], "there is no setting PAGELETS_CHUNK: did you mean"),
        (["crawl", "http://h/", "-s", "PAGELETS_CHUNKS"], "has no value: write -s NAME=VALUE"),
        (["clean", "page.html", "-s", "PAGELETS_CHUNK=1"], "there is no setting PAGELETS_CHUNK: did you mean"),
        (["template", "all.jsonl", "-s", "PAGELETS_CHUNKS"], "has no value: write -s NAME=VALUE"),
        (["train", "mirror", "--out", "empty.html/x.npz"], "x.npz cannot be written: there is no folder"),
        (["view", "https://example.com/", "--no-picture"], "save it first (curl -L -o page.html https://example.com/)"),
    ],
)  # fmt: skip
def test_errors_are_one_sentence(site, monkeypatch, capsys, arguments, sentence):
    folder = site[0]
    (folder / "empty.html").write_bytes(b" \n")
    (folder / "picture.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (folder / "binary.html").write_bytes(bytes(range(32)))
    (folder / "folder.jsonl").mkdir(exist_ok=True)
    (folder / "empty.jsonl").touch()
    (folder / "all.csv").write_text("url,title\n")
    (folder / "all.json").write_text('[{"url": "http://h/"}]\n')
    monkeypatch.chdir(folder)
    assert console.main(arguments) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "train"])
def test_a_command_without_arguments_says_what_it_needs(capsys, name):
    with pytest.raises(SystemExit) as ended:
        console.main([name])
    assert ended.value.code == 2
    assert re.fullmatch(
        rf"pagelets {name}: the following arguments are required: .*; pagelets {name} --help has examples\n",
        capsys.readouterr().err,
    )


@pytest.mark.parametrize(("given", "name"), [(["report", "x", "-s", "A=1"], "pagelets report"), (["--x"], "pagelets")])
def test_an_option_that_a_command_does_not_have_is_one_sentence_of_the_command(capsys, given, name):
    with pytest.raises(SystemExit):
        console.main(given)
    said = f"{name}: unrecognized arguments: {' '.join(given[-2:]) if len(given) > 2 else '--x'}"
    assert capsys.readouterr().err == f"{said}; {name} --help has examples\n"


@pytest.mark.parametrize(("name", "closest"), [("claen", " (did you mean clean?)"), ("xyz", "")])
def test_a_command_that_does_not_exist_is_one_sentence(capsys, name, closest):
    with pytest.raises(SystemExit) as ended:
        console.main([name, "page.html"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"pagelets: there is no command {name}{closest}; pagelets --help has examples\n"


def test_without_a_command_there_is_help(capsys):
    assert console.main([]) == 2
    assert "pagelets crawl https://example.com/ -o pages.jsonl" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "closed").touch()  # root may write into every folder
    monkeypatch.chdir(tmp_path)
    assert console.main(["crawl", "http://h/", "-o", "closed/pages.jsonl"]) == 1
    assert capsys.readouterr().err.startswith("closed/pages.jsonl cannot be written: there is no folder ")


def test_a_job_that_goes_on_keeps_the_lines_of_its_earlier_runs(tmp_path):
    (tmp_path / "pages.jsonl").write_text('{"url": "http://of.another.crawl/"}\n', encoding="utf-8")
    with SiteServer(routes=menu_site("home", *"abcdef", more=linking)) as server:
        command = ["crawl", server.url(""), "-s", "JOBDIR=job", *FAST, "-o"]
        assert pagelets(*command, "pages.jsonl", "--pages", "3", cwd=tmp_path).returncode == 0
        begun = urls_of(tmp_path / "pages.jsonl")
        (tmp_path / "pages.csv").touch()
        refused = pagelets(*command, "pages.csv", "--pages", "5", cwd=tmp_path)
        assert pagelets(*command, "pages.jsonl", "--pages", "5", cwd=tmp_path).returncode == 0
        over = pagelets(*command, "pages.jsonl", "--pages", "5", cwd=tmp_path)
        urls = urls_of(tmp_path / "pages.jsonl")
    assert len(begun) == 3  # the line of another crawl was replaced
    assert (urls[:3], len(set(urls))) == (begun, 5)
    sentence = "pages.csv would be replaced, but the job in job goes on: give another name with -o\n"
    assert (refused.returncode, refused.stderr) == (1, sentence)
    assert (over.returncode, over.stderr) == (1, "the job in job has no page left: crawl again with a new JOBDIR\n")


def test_a_job_of_an_archive_goes_on_as_well(site, tmp_path):
    command = ["clean", str(site[0] / "mirror"), "--base", "http://h/", "-o", "pages.jsonl", "-s", "JOBDIR=job"]
    assert pagelets(*command, cwd=tmp_path).returncode == 0
    over = pagelets(*command, cwd=tmp_path)
    assert (over.returncode, over.stderr) == (1, "the job in job has no page left: crawl again with a new JOBDIR\n")
    assert urls_of(tmp_path / "pages.jsonl") == [f"http://h/{name}.html" for name in "abcd"]


def urls_of(path):
    return [json.loads(line)["url"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_crawl_ends_with_the_pages_that_it_did_not_get(tmp_path):
    routes = menu_site("home", *"abc", more=lambda name: '<p>Some <a href="/gone">link</a>, <a href="/torn">link</a>')
    routes["/torn"] = lambda path: Reply(500)
    with SiteServer(routes=routes) as server:
        done = pagelets("crawl", server.url(""), "-o", "pages.jsonl", "--log", "all.log", *FAST, cwd=tmp_path)
    assert done.returncode == 0
    assert "\nnot loaded: 1 x 404, 1 x 500\n" in done.stdout
    assert "INFO: not loaded: 1 x 404, 1 x 500\n" in (tmp_path / "all.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["crawl", "crawl.gz"])
def test_an_archive_is_known_by_what_is_in_it(tmp_path, name):
    warc(tmp_path / name, [(f"http://h/{letter}", page(letter, ["/"]).encode()) for letter in "ab"])
    done = pagelets("clean", name, "-o", "pages.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(urls_of(tmp_path / "pages.jsonl")) == 2


def test_a_site_that_does_not_answer_is_one_line(tmp_path):
    with SiteServer() as server:
        url = server.url("")
    done = pagelets("crawl", url, *FAST, cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(rf"ERROR: {url} cannot be loaded: .*; check the URL and whether the site is up\n", done.stderr)


def test_the_settings_of_a_crawl_are_ours_without_the_add_on(tmp_path):
    """``scrapy startproject`` names no add-on: its settings would give pages that nothing is stripped from."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine\n")
    (tmp_path / "mine.py").write_text("BOT_NAME = 'mine'\nADDONS = {}\nROBOTSTXT_OBEY = False\n")
    with SiteServer(routes=menu_site("home", *"ab")) as server:
        done = pagelets("crawl", server.url(""), *FAST, "-s", "PAGELETS_FORMATS=markdown", cwd=tmp_path)
        assert "/robots.txt" in server.hits
        ours = server.headers["/a"]["User-Agent"]
    assert (done.returncode, done.stderr) == (0, "")
    assert ours.startswith("scrapy-pagelets (+https://github.com/")
    line = json.loads((tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert line["markdown"].startswith("# Heading ")


def test_a_project_with_the_add_on_keeps_its_settings(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine\n")
    (tmp_path / "mine.py").write_text("USER_AGENT = 'mine'\nADDONS = {'scrapy_pagelets.Addon': 500}\n")
    with SiteServer(routes=menu_site("home", *"ab")) as server:
        done = scrapy("pagelets", "crawl", server.url(""), *FAST, cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}")
        assert server.headers["/a"]["User-Agent"] == "mine"
    assert done.returncode == 0, done.stderr
    assert "  scrapy pagelets report pages.jsonl" in done.stdout


def test_a_project_whose_settings_are_gone_is_one_sentence(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = nowhere.settings\n")
    done = pagelets("crawl", "http://127.0.0.1/", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "the settings of the Scrapy project here cannot be read: No module named 'nowhere'" in done.stderr


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("PAGELETS_SEGMENTER=none", "PAGELETS_SEGMENTER has 'none': choose from"),
        ("PAGELETS_SEGMENTER", "-s PAGELETS_SEGMENTER has no value: write -s NAME=VALUE"),
    ],
)
def test_scrapy_knows_the_settings_behind_the_name_of_a_command(setting, sentence, tmp_path):
    (tmp_path / "page.html").write_text(page("alone", ["/", "/a"]), encoding="utf-8")
    done = scrapy("pagelets", "view", str(tmp_path / "page.html"), "--no-picture", "-s", setting)
    assert done.returncode
    assert sentence in done.stderr


WITHOUT = "import sys\nsys.modules['sklearn'] = None\nfrom scrapy_pagelets.crawler.console import main\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search", "pages.sqlite", "heading", "--as-printed"], "this needs scikit-learn"),
        (["crawl", "http://127.0.0.1:9/", "-s", "PAGELETS_TOPIC=tea"], "ERROR: PAGELETS_TOPIC needs scikit-learn"),
    ],
)
def test_a_library_that_is_not_installed_is_named(site, arguments, sentence):
    folder = site[0]
    assert console.main(["index", str(folder / "all.jsonl"), str(folder / "pages.sqlite")]) == 0
    command = [sys.executable, "-c", WITHOUT + "sys.exit(main(sys.argv[1:]))", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{sentence}: pip install 'scrapy-pagelets[topic]'\n"


def test_ctrl_c_ends_a_command_with_a_word(tmp_path):
    with subprocess.Popen(
        [*CONSOLE, "clean", "-"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write("x" * (1 << 17))  # more than a pipe holds: it is being read, the command has begun
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=LIMIT)
    assert (process.returncode, out, error) == (130, "", "interrupted\n")


INTERRUPTING = """
import os, signal, sys
from scrapy_pagelets.crawler.console import main

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    "module", ["base.characters", "crawler.commands.fill_index", "feed.feed_reader", "index.sqlite"]
)
def test_ctrl_c_ends_a_command_that_still_imports_modules(site, module):
    command = [sys.executable, "-c", INTERRUPTING, f"scrapy_pagelets.{module}", "index", "all.jsonl", "new.sqlite"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=site[0], env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_one_ctrl_c_before_a_crawl_begins_is_no_second_one(site):
    command = [
        sys.executable,
        "-c",
        INTERRUPTING,
        "scrapy_pagelets.probing.prober",
        "clean",
        "mirror",
        "-o",
        "new.jsonl",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=site[0], env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 130
    assert done.stderr.endswith("\ninterrupted before a page was written\n")


def test_a_crawl_that_loads_nothing_leaves_the_feed_that_was_there(tmp_path):
    feed = tmp_path / "pages.jsonl"
    feed.write_text("yesterday\n", encoding="utf-8")
    done = pagelets("crawl", "http://127.0.0.1:9/", *FAST, cwd=tmp_path)
    assert (done.returncode, feed.read_text(encoding="utf-8")) == (1, "yesterday\n")
    assert "cannot be loaded" in done.stderr


READ_ONLY = """
import os, sys
from scrapy_pagelets.crawler.console import main
main(sys.argv[1:])  # which loads all modules
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
print("as nobody")
sys.exit(main(sys.argv[1:]))
"""


def test_an_index_in_a_folder_that_is_only_read_can_be_searched(site):
    with TemporaryDirectory() as name:  # nobody may enter those of pytest
        index = Path(name, "pages 100%.sqlite")
        assert console.main(["index", str(site[0] / "all.jsonl"), str(index)]) == 0
        index.chmod(0o444)
        Path(name).chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, "search", index.name, "bword1"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True, timeout=LIMIT)
        Path(name).chmod(0o755)
    first, _, as_nobody = done.stdout.partition("as nobody\n")
    assert done.returncode == 0, done.stderr
    assert first == as_nobody
    assert as_nobody.startswith("7 of 7 pages")


def test_the_first_ctrl_c_tells_what_it_does_and_the_second_what_is_lost(tmp_path):
    asked, released = Event(), Event()

    def never(path):
        asked.set()
        return Reply(*html(page("slow"))[:3], released)

    with SiteServer(routes=menu_site("home", "a", "slow") | {"/slow": never}) as server:
        command = [*CONSOLE, "crawl", server.url(""), *FAST]
        with subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            assert asked.wait(LIMIT)
            process.send_signal(signal.SIGINT)
            assert process.stderr.readline().startswith("stopping: the requests under way are finished, and the feed")
            process.send_signal(signal.SIGINT)
            error = process.stderr.read()
        released.set()
    assert process.returncode == 130
    assert error.endswith("interrupted twice: pages that waited for others of their site are not in the feed\n")


def test_settings_are_names_and_values():
    assert console.given_settings(["A=b=c"]) == {"A": "b=c"}
    with pytest.raises(ConfigError, match="has no value"):
        console.given_settings(["=c"])


def test_what_was_stripped_is_struck_out_on_a_terminal():
    regions = [("navigation", "Home \x1b[31mHelp"), ("content", "All about tea")]
    _, menu, content = lines("http://h/", 3, 2, regions, 80, ansi=True)
    assert menu.startswith("  navigation \x1b[2;9mHome ")
    assert menu.endswith("\x1b[0m")
    assert "\x1b[31m" not in menu
    assert content == "  content    All about tea"


def test_a_long_page_is_shortened():
    regions = [("content" if n % 2 else "navigation", "word " * 80) for n in range(40)]
    shown = list(lines("http://h/", 1, 1, regions, 80, ansi=False))
    assert len(shown) < 15
    assert "  ... 32 more regions, 16 of them stripped" in shown
    assert max(map(len, shown)) <= 80


def test_help_starts_without_scrapy_and_numpy():
    code = "import sys; sys.argv = ['pagelets', '--help']\nfrom scrapy_pagelets.crawler.console import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n"
    code += "    print('loaded:', {'scrapy', 'numpy', 'lxml', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.endswith("loaded: set()\n"), done.stderr


def test_a_page_is_cleaned_without_scrapy_and_what_is_slow_to_load(site):
    code = "import sys\nfrom scrapy_pagelets.crawler.console import main\nmain(sys.argv[1:])\n"
    code += "print({'scrapy', 'twisted', 'tldextract', 'requests', 'scipy', 'sklearn', 'rich'} & set(sys.modules))"
    arguments = ["clean", str(site[0] / "page.html"), "--url", "https://example.com/"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.stdout.endswith("\nset()\n"), done.stderr


def test_a_shell_completes_commands_and_options():
    line = "pagelets rep"
    completing = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    environment = {**os.environ, **completing, "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(CONSOLE, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.strip() == "report"


def test_a_terminal_tells_what_takes_long(tmp_path):
    """``clean -`` waits for its input here until it has said so."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with subprocess.Popen(
        [*CONSOLE, "clean", "-"], cwd=tmp_path, env=environment, stderr=theirs,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        shown = b""
        while b" s" not in shown:
            shown += os.read(ours, 1 << 12)
        out, _ = process.communicate(b"<h1>Tea</h1><p>All about tea.", timeout=LIMIT)
    for end in (ours, theirs):
        os.close(end)
    assert b"clean" in shown
    assert (process.returncode, out) == (0, b"# Tea\n\nAll about tea.\n")
