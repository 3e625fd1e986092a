"""Detect links with side effects: a visit logs the user out, deletes, buys, or switches something off.

A crawler that loads pages on its own initiative must not follow such links. No word list is complete: these lists are
the second line of defence. The first is to send no session cookies and to prefer URLs that are known to be pages.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from importlib.resources import files
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml import etree

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import normalised


def _folded(text: str) -> str:
    """Fold a text to lower case without accents."""
    if text.isascii():
        return text.lower()
    decomposed = normalised("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


_SUFFIXES: Final = ("logout", "logoff", "signout", "signoff")
_FILE: Final = re.compile(r"\.(?:s|x)?html?$", re.IGNORECASE)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN: Final = re.compile(r"[^\W\d_]+")
#: How often a URL is percent-decoded at most: some are encoded more than once.
_DECODINGS: Final = 3
#: Words and characters of a label. A longer text is a sentence, not the name of an action.
_LABEL_WORDS: Final = 5
_LABEL_CHARACTERS: Final = 200
_LISTS: Final = tomllib.loads(files("scrapy_pagelets.evidence").joinpath("actions.toml").read_text(encoding="utf-8"))
_ANYWHERE: Final = frozenset(_folded(" ".join(_LISTS["anywhere"].values())).split())
_UNLESS_A_FILE: Final = frozenset(_LISTS["unless_a_file"]["words"].split())
_INSIDE: Final = re.compile("|".join(_LISTS["inside"]["words"].split()))
_METHODS: Final = ("data-method", "data-turbo-method")
_CONFIRMING: Final = ("data-confirm", "data-turbo-confirm", "download")
_SCRIPTED: Final = re.compile(r"confirm\s*\(|submit\s*\(|delete|post", re.IGNORECASE)


@cached
def acts(url: str) -> bool:
    """Return True if the words of a URL, in some thirty languages, suggest that a visit logs out, deletes or buys.

    >>> acts("http://a/?action=delete&id=4"), acts("http://a/Special:UserLogout"), acts("http://a/%64elete/1")
    (True, True, True)
    >>> acts("http://a/additions.html"), acts("http://a/install.html"), acts("http://a/install")
    (False, False, True)
    """
    parts = urlsplit(url)
    text = f"{parts.path}?{parts.query}"
    return _names_action(text, _ANYWHERE) or (not _FILE.search(parts.path) and _names_action(text, _UNLESS_A_FILE))


def labels_action(label: str) -> bool:
    """Return True if the text of a link names an action.

    >>> labels_action("Se déconnecter"), labels_action("How to delete a branch and what to do before that")
    (True, False)
    """
    return len(label) <= _LABEL_CHARACTERS and _labels_action(label)


@cached
def _labels_action(label: str) -> bool:
    return len(label.split()) <= _LABEL_WORDS and _names_action(label, _ANYWHERE)


def is_plain_link(element: etree._Element) -> bool:
    """Return False for a link that a script turns into a request other than GET, or that asks for confirmation."""
    return (
        all((element.get(name) or "get").lower() == "get" for name in _METHODS)
        and all(element.get(name) is None for name in _CONFIRMING)
        and not _SCRIPTED.search(element.get("onclick") or "")
        and not any(name.startswith("hx-") for name in element.attrib)
    )


def _names_action(text: str, actions: frozenset[str]) -> bool:
    text = _decoded(text)
    if _INSIDE.search(text):
        return True
    tokens = _TOKEN.findall(_folded(_CAMEL.sub(" ", text)))
    runs = ("".join(tokens[i : i + n]) for n in (1, 2, 3) for i in range(len(tokens) - n + 1))
    return any(run in actions for run in runs) or any(token.endswith(_SUFFIXES) for token in tokens)


def _decoded(text: str) -> str:
    for _ in range(_DECODINGS):
        if (decoded := unquote(text)) == text:
            break
        text = decoded
    return text
