"""The code of the tutorial and of the guides does what they say."""

import re
from dataclasses import fields

import pytest
import tldextract

from scrapy_pagelets.session.config import Config
from tests.crawling import ROOT
from tests.documents import NOT_RUN, Block, blocks, run

DOCS = ROOT / "docs"
#: Of these, `tests/services` runs the code, as it needs a browser, a database or Spark.
SERVICES = ("playwright", "search-servers", "spark")
GUIDES = sorted((DOCS / "how-to").glob("*.md"))
#: Other pages whose blocks can be run as they stand.
OTHERS = ("llms", "links", "monitoring", "searching")
PAGES = [
    DOCS / "tutorial.md",
    *(DOCS / f"{name}.md" for name in OTHERS),
    *(page for page in GUIDES if page.stem not in SERVICES),
]


@pytest.fixture(scope="module", autouse=True)
def suffixes():
    """scrapy-poet asks the web for the public suffixes once in an environment, and then does without a word of it."""
    tldextract.extract("http://example.com/")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_the_page_runs(tmp_path, page):
    run(page, tmp_path)


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


def test_blocks_are_of_a_kind_that_is_run():
    """Otherwise a block in another language would be left out without a word."""
    assert {block.language for page in (*PAGES, *GUIDES) for block in blocks(page)} <= {
        "console", "python", "toml", "text", "json", "sql"  # the last two are for other programs
    }  # fmt: skip


def test_only_commands_that_change_the_machine_are_left_out():
    left_out = [
        command
        for page in (*PAGES, *GUIDES)
        for block in blocks(page)
        for command, _ in (block.commands() if block.language == "console" else ())
        if command.startswith(NOT_RUN)
    ]
    assert all(command.split()[0] in {"pip", "git", "python", "docker", "curl", "apt-get"} for command in left_out)
    assert len(left_out) < 20


def test_every_example_is_run_by_a_guide():
    guides = "".join(page.read_text(encoding="utf-8") for page in GUIDES)
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
