"""The code of all documents does what they say: each block of each page is run, or left out for a reason."""

import json
import re
import shutil
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name

import pytest
import tldextract

from scrapy_pagelets.session.config import Config
from tests.crawling import ROOT, SITE, pagelets
from tests.crawling import page as page_of
from tests.documents import CODE, NOT_RUN, Block, agrees, blocks, left_out, run, small_site
from tests.unit.test_project_structure import ROOMS

DOCS = ROOT / "docs"
ALL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
#: Pages whose code needs a browser, a database, Redis, archives or Spark, and the module that runs it.
ELSEWHERE = {
    "how-to/playwright.md": "services/test_guides.py",
    "how-to/search-servers.md": "services/test_guides.py",
    "how-to/spark.md": "scale/test_corpus_spark.py",
    "inspector.md": "services/test_guides.py",
    "corpus.md": "services/test_guides.py",
    "shared-crawl.md": "services/test_guides.py",
}


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT))


def has_code(page: Path) -> bool:
    return any(block.language in CODE for block in blocks(page))


PAGES = [page for page in ALL if has_code(page) and name_of(page) not in ELSEWHERE]
#: What prose names by an object that is called as a room.
OBJECTS = {"page.fields", "session.config.x"}
#: Files that a page takes for granted.
FILES = {
    "focused.md": {"sites.txt": "https://example.com/", "good1.html": page_of("one"), "good2.html": page_of("two")},
}


@pytest.fixture(scope="module", autouse=True)
def suffixes():
    """scrapy-poet asks the web for the public suffixes once in an environment, and then does without a word of it."""
    tldextract.extract("http://example.com/")


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory):
    """The feed of the bundled site, and an index of it."""
    folder = tmp_path_factory.mktemp("cleaned")
    for command in (
        ["clean", str(SITE), "--base", "https://example.com/", "-o", "feed.jsonl"],
        ["index", "feed.jsonl", "pages.sqlite"],
    ):
        assert pagelets(*command, cwd=folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def names(cleaned):
    """What the pages take for granted, by its name."""
    files = sorted(SITE.rglob("*.html"))
    made = [(file.read_bytes(), f"https://example.com/{file.relative_to(SITE)}") for file in files]
    lines = [json.loads(line) for line in (cleaned / "feed.jsonl").read_text(encoding="utf-8").splitlines()]
    (html, url), *more = made
    [line] = [line for line in lines if line["url"] == url]
    given = {"html": html, "url": url, "pages": made, "more_pages": more, "body": html, "encoding": "utf-8"}
    return given | {"pd": pytest.importorskip("pandas"), "lines": lines, "pagelet": line["pagelets"][0]}


SITEMAP = "<urlset><url><loc>https://example.com/news/20041100.html</loc></url></urlset>"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_code_of_the_page_runs(tmp_path, tmp_path_factory, page, cleaned, names):
    name = name_of(page)
    if name in ("feed.md", "algorithms/vips-feedback-2003.md"):
        for file in cleaned.iterdir():
            shutil.copy(file, tmp_path)
    site = small_site(tmp_path_factory.mktemp("small") / "site") if name == "focused.md" else SITE
    served = {"/sitemap.xml": SITEMAP, "/news.xml": SITEMAP}
    run(page, tmp_path, names=names, files=FILES.get(name), site=site, served=served)
    if name == "README.md":
        the_line_of_the_feed_is_as_shown(page, tmp_path / "pages.jsonl")


def the_line_of_the_feed_is_as_shown(page, feed):
    """But for its time and the fields that are null or empty; "..." stands for whatever."""
    [shown] = [block.text for block in blocks(page) if block.text.startswith('{"url"')]
    address = json.loads(shown.partition(",")[0] + "}")["url"]
    path = address.removeprefix("https://example.com/")
    with feed.open(encoding="utf-8") as file:
        [line] = [line for line in map(json.loads, file) if line["url"].endswith(path)]
    line["fetched_at"] = re.findall(r'"fetched_at": "(.*?)"', shown)[0]
    written = json.dumps({name: value for name, value in line.items() if value not in (None, [])})
    written = written.replace(line["url"].removesuffix(path), "https://example.com/")
    written = written.replace(f'"{line["template"]["id"]}"', '"example.com#1"')
    assert agrees(shown, written), written


def test_an_output_that_differs_and_a_command_that_fails_are_found(tmp_path):
    page = tmp_path / "page.md"
    for number, (text, sentence) in enumerate(
        [
            ("```console\n$ echo a\nb\n```\n", "expected"),
            ("```console\n$ false\n```\n", "false"),
            ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "it printed"),
        ]
    ):
        page.write_text(text, encoding="utf-8")
        (tmp_path / str(number)).mkdir()
        with pytest.raises(AssertionError, match=sentence):
            run(page, tmp_path / str(number))


def test_each_block_is_code_that_runs_or_text_or_part_of_the_site():
    """Otherwise a block in another language, or in none, would be left out without a word."""
    for page in ALL:
        for block in blocks(page):
            assert block.language in CODE | {"text"} or block.language.startswith("{"), f"{page}, line {block.line}"


def test_pages_that_are_run_elsewhere_are():
    for name, module in ELSEWHERE.items():
        assert has_code(DOCS / name)
        assert f'"{Path(name).name}"' in (ROOT / "tests" / module).read_text(encoding="utf-8"), name


def test_what_is_not_run_is_listed_with_its_reason():
    """A beginning that no page has any more is left over; a reason that names a module names one that exists."""
    code = [
        text
        for page in ALL
        for block in blocks(page)
        if block.language in CODE
        for text in ([line for line, _ in block.commands()] if block.language in ("console", "sh") else [block.text])
    ]
    for beginning, reason in NOT_RUN.items():
        assert any(text.startswith(beginning) for text in code), beginning
        assert all((ROOT / path).is_file() for path in re.findall(r"tests/\S+\.py", reason)), reason
    assert sum(map(left_out, code)) < len(code) / 2


def test_modules_that_prose_names_exist():
    """`room.module` and `room.module.Name`, with or without `scrapy_pagelets` before it, and files of a room."""
    found = set()
    for page in (*ALL, ROOT / "SECURITY.md"):
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        found |= set(re.findall(rf"`(?:scrapy_pagelets[./])?((?:{'|'.join(ROOMS)})[./][\w./]+)", prose))
    files = {name for name in found if re.search(r"/.+\.\w+$", name)}
    names = {name for name in found if "/" not in name and not name.endswith((".txt", ".html", ".toml"))}
    assert len(files) > 10
    assert len(names) > 50
    assert [name for name in files if not (ROOT / "scrapy_pagelets" / name).is_file()] == []
    assert [name for name in names - OBJECTS if not exists(name)] == []


def exists(name):
    try:
        return resolve_name(f"scrapy_pagelets.{name}") is not None
    except (ImportError, AttributeError):
        return False


def test_every_example_is_run_by_a_guide():
    guides = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("how-to/*.md"))
    shown = set(re.findall(r"examples/([\w.-]+)", guides))
    assert {path.name for path in (DOCS / "examples").iterdir() if path.name != "__pycache__"} == shown


def test_the_page_of_settings_has_their_defaults():
    """But for two that are computed: the scope of duplicates, and the name of a shared crawl."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^### PAGELETS_(\w+)\n\nDefault: (none|`[^`]*`)", text, re.MULTILINE))
    for field in fields(Config):
        if field.name not in ("duplicates_scope", "redis_key"):
            value = getattr(Config(), field.name)
            written = ",".join(value) if isinstance(value, tuple) else str(value).removesuffix(".0")
            written = written.removeprefix("mappingproxy(").removesuffix(")")
            assert said[field.name.upper()].strip("`") in ((written,) if written else ("none", '""')), field.name


def test_a_long_command_goes_on_in_the_next_line():
    assert Block("console", "$ a \\\n  b\nc\n$ d\n", 1).commands() == [("a   b", "c"), ("d", "")]
