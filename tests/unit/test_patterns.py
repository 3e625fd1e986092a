"""Regular expressions that are compiled when they are first used."""

import copy
import re
from importlib import import_module

import pytest

from scrapy_pagelets.base.characters import lazily
from tests.crawling import ROOT

SOURCES = sorted((ROOT / "scrapy_pagelets").rglob("*.py"))
LAZY = [path for path in SOURCES if "lazily(" in path.read_text(encoding="utf-8") and path.stem != "patterns"]


def test_it_is_compiled_once_and_only_when_it_is_used(monkeypatch):
    compiled: list[str] = []
    original = re.compile

    def noted(pattern, flags=0):
        compiled.append(pattern)
        return original(pattern, flags)

    monkeypatch.setattr(re, "compile", noted)
    words = lazily("[a-z]+", re.IGNORECASE)
    assert words.pattern == "[a-z]+"
    assert not compiled
    assert words.findall("Green tea") == ["Green", "tea"]
    assert words.sub("x", "Green tea") == "x x"
    assert words.search("2") is words.match("2") is words.fullmatch("2") is None
    assert compiled == ["[a-z]+"]
    assert copy.deepcopy(words).findall("Tea") == ["Tea"]


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.stem)
def test_all_of_the_package_can_be_compiled(path):
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    lazy = type(lazily(""))
    found = [value for value in vars(module).values() if isinstance(value, lazy)]
    found += [each for value in vars(module).values() if isinstance(value, tuple) for each in value]
    assert all(isinstance(each.split(""), list) for each in found if isinstance(each, lazy))


def test_a_wrong_one_says_so_when_it_is_used():
    with pytest.raises(re.error, match="unterminated"):
        lazily("[a-z").search("x")
