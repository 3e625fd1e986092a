"""Settings: each is read and checked, and unknown ones are reported."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.session.config import Config, focused, setting_of, unknown
from tests.crawling import ROOT, crawl, menu_site
from tests.server import SiteServer

NAMES = [setting_of(field.name) for field in fields(Config)]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary())
VALUES = st.one_of(
    SCALARS,
    st.recursive(SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(), some, max_size=3)),
    st.sampled_from(
        [10**5000, "1" * 5000, float("inf"), "nan", "\0", "\ud800", "x" * 1000, {"text": 5}, '{"text": []}']
    ),
)


def refusal(settings):
    """Return the error with which settings are refused, "" if they are accepted."""
    try:
        Config.from_settings(settings)
    except ConfigError as error:
        return str(error)
    return ""


@given(st.sampled_from(NAMES), VALUES)
def test_any_value_is_accepted_or_refused_in_a_sentence_that_names_the_setting(name, value):
    settings = Settings({name: value})
    told = refusal(settings)
    assert told == "" or told.startswith(f"{name} ")
    assert "\n" not in told
    assert len(told) < 2000
    assert focused(settings) in (True, False)


@given(st.sampled_from(NAMES), VALUES)
def test_reading_a_value_twice_changes_nothing(name, value):
    try:
        config = Config.from_settings({name: value})
    except ConfigError:
        return
    assert Config(**{field.name: getattr(config, field.name) for field in fields(Config)}) == config


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("PROBE", "x", "is 'x': give 0 to load no pages, or how many must link each other, from 2"),
        ("PROBE", 2.5, "is 2.5: give 0 to load no pages"),
        ("FIRST_PAGES", [], "is []: give a number of pages, from 1"),
        ("RENDER", "yes", "is 'yes': give True or False, 1 or 0"),
        ("RENDER_TIMEOUT", "soon", "is 'soon': give seconds, from 1 to 3600"),
        ("EXPORT", 3, "has 3: choose from content, all"),
        ("FORMATS", "text,word", "has 'word': choose from text, markdown, html"),
        ("FORMATS", 3, "is 3: give a list of names, or names separated by commas"),
        ("STORE", "a\0b", r"is 'a\x00b': give the path of a file or folder, in one string"),
        ("TOPIC_PAGES", ["a", 3], "is 3: give the path of a file or folder"),
        ("INDEX", 3, "is 3: give the path"),
        ("INDEX", "pages.txt", "cannot be used: 'pages.txt' is not the name of an index"),
        ("FIELDS", "text=body", "is 'text=body': map names of the feed to new names"),
        ("FIELDS", {"text": 5}, "has 5 for text: map names of the feed to new names"),
        ("FIELDS", {"text": "title"}, "gives two fields the name title: give each a different name"),
    ],
)
def test_values_that_are_refused(name, value, sentence):
    with pytest.raises(ConfigError) as refused:
        Config.from_settings(Settings({f"PAGELETS_{name}": value}))
    assert str(refused.value).startswith(f"PAGELETS_{name} {sentence}")


@pytest.mark.parametrize("name", ["postgresql://me:secret@host/\0", "postgre://me:secret@host/search"])
def test_a_password_is_not_shown(name):
    with pytest.raises(ConfigError) as refused:
        Config(index=name)
    assert "secret" not in str(refused.value)


def test_settings_from_the_command_line_equal_those_from_a_file():
    told = {
        "PROBE": "0",
        "RENDER_SCRIPTS": "false",
        "DUPLICATES_THRESHOLD": "0.5",
        "FORMATS": "text, html",
        "FIELDS": '{"text": "body", "sketch": null}',
        "STORE": "here",
    }
    meant = {
        "PROBE": 0,
        "RENDER_SCRIPTS": False,
        "DUPLICATES_THRESHOLD": 0.5,
        "FORMATS": ["text", "html"],
        "FIELDS": {"text": "body", "sketch": None},
        "STORE": Path("here"),
    }
    read = [Config.from_settings(Settings({f"PAGELETS_{k}": v for k, v in some.items()})) for some in (told, meant)]
    assert read[0] == read[1]
    assert read[0].formats == ("text", "html")
    assert read[0].fields == MappingProxyType({"text": "body", "sketch": None})


def test_names_may_be_swapped_and_names_of_fields_that_are_not_exported_reused():
    assert Config(fields={"text": "title", "title": "text"}).field_name("text") == "title"
    assert Config(fields={"text": "html"}).field_name("text") == "html"
    with pytest.raises(ConfigError, match="gives two fields the name html"):
        Config(fields={"text": "html"}, formats=("text", "html"))


def test_all_settings_are_documented():
    explained = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"\n### {name}\n" not in explained] == []


def test_unknown_settings_that_look_like_ours():
    names = ["PAGELETS_FILEDS", "PAGELET_PROBE", "pagelets_store", "PAGELETS_PROBE", "PAGES", "PAGELETS_"]
    found = list(unknown(names))
    assert [sentence.split()[4:9] for sentence in found[:3]] == [
        ["PAGELETS_FILEDS:", "did", "you", "mean", "PAGELETS_FIELDS?"],
        ["PAGELET_PROBE:", "did", "you", "mean", "PAGELETS_PROBE?"],
        ["pagelets_store:", "did", "you", "mean", "PAGELETS_STORE?"],
    ]
    assert len(found) == 4


def test_settings_of_earlier_versions():
    names = ["PAGELETS_SETTLE", "PAGELETS_VIPS_TREE", "PAGELETS_DUPLICATES_SHINGLE"]
    assert [sentence.partition(": ")[2] for sentence in unknown(names)] == [
        "set PAGELETS_FIRST_PAGES, which the spider site follows too",
        "scrapy_pagelets.papers.vips.vips.vips(page) returns the blocks of a page",
        "shingles have five words",
    ]


def test_unknown_settings_are_reported_once_each_and_the_crawl_goes_on(tmp_path):
    with SiteServer(routes=menu_site("home", "a")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_FILEDS": 1, "PAGELETS_PROBES": 0})
    assert len(found.lines) == 2
    assert sorted(line for line in found.warnings if "setting" in line) == [
        "there is no setting PAGELETS_FILEDS: did you mean PAGELETS_FIELDS?",
        "there is no setting PAGELETS_PROBES: did you mean PAGELETS_PROBE?",
    ]
    assert found.stat("settings/unknown") == 2


def test_a_bad_topic_ends_the_crawl_but_not_the_add_on(tmp_path):
    found = crawl(tmp_path, "site", url="http://a.invalid/", settings={"PAGELETS_PROBE": "x"}, code=1)
    assert found.errors == ["PAGELETS_PROBE is 'x': give 0 to load no pages, or how many must link each other, from 2"]
