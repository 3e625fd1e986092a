"""Links that act: a visit logs out, deletes, buys, or switches something off.

A crawler that loads pages of its own accord must not follow them. Words cannot name them all: they are the second line
of defence, behind sending no session and preferring what is known to be a page.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml import etree


def _folded(text: str) -> str:
    """Lower case without accents."""
    if text.isascii():
        return text.lower()
    parted = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in parted if not unicodedata.combining(character))


_ENDS: Final = ("logout", "logoff", "signout", "signoff")
_FILE: Final = re.compile(r"\.(?:s|x)?html?$", re.IGNORECASE)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN: Final = re.compile(r"[^\W\d_]+")
#: A URL may be encoded more than once.
_DECODINGS: Final = 3
#: A longer text is a sentence, not the name of an action.
_LONGEST_LABEL: Final = 5
_LISTS: Final = tomllib.loads(files("scrapy_pagelets").joinpath("actions.toml").read_text(encoding="utf-8"))
_ANYWHERE: Final = frozenset(_folded(" ".join(_LISTS["anywhere"].values())).split())
_UNLESS_A_FILE: Final = frozenset(_LISTS["unless_a_file"]["words"].split())
_INSIDE: Final = re.compile("|".join(_LISTS["inside"]["words"].split()))
_METHODS: Final = ("data-method", "data-turbo-method")
_ASKING: Final = ("data-confirm", "data-turbo-confirm", "download")
_SCRIPTED: Final = re.compile(r"confirm\s*\(|submit\s*\(|delete|post", re.IGNORECASE)


@lru_cache(16384)
def acts(url: str) -> bool:
    """True for a URL that looks as if a visit logs out, deletes, votes or buys, in the words of some thirty languages.

    >>> acts("http://a/?action=delete&id=4"), acts("http://a/Special:UserLogout"), acts("http://a/%64elete/1")
    (True, True, True)
    >>> acts("http://a/additions.html"), acts("http://a/install.html"), acts("http://a/install")
    (False, False, True)
    """
    parts = urlsplit(url)
    text = f"{parts.path}?{parts.query}"
    return _names_action(text, _ANYWHERE) or (not _FILE.search(parts.path) and _names_action(text, _UNLESS_A_FILE))


@lru_cache(16384)
def labels_action(label: str) -> bool:
    """True for the text of a link that names an action.

    >>> labels_action("Se déconnecter"), labels_action("How to delete a branch and what to do before that")
    (True, False)
    """
    return len(label.split()) <= _LONGEST_LABEL and _names_action(label, _ANYWHERE)


def is_plain_link(element: etree._Element) -> bool:
    """False for a link that a script makes into another request than GET, or that asks before it acts."""
    return (
        all((element.get(name) or "get").lower() == "get" for name in _METHODS)
        and all(element.get(name) is None for name in _ASKING)
        and not _SCRIPTED.search(element.get("onclick") or "")
        and not any(name.startswith("hx-") for name in element.attrib)
    )


def _names_action(text: str, actions: frozenset[str]) -> bool:
    text = _decoded(text)
    if _INSIDE.search(text):
        return True
    tokens = _TOKEN.findall(_folded(_CAMEL.sub(" ", text)))
    runs = ("".join(tokens[i : i + n]) for n in (1, 2, 3) for i in range(len(tokens) - n + 1))
    return any(run in actions for run in runs) or any(token.endswith(_ENDS) for token in tokens)


def _decoded(text: str) -> str:
    for _ in range(_DECODINGS):
        if (decoded := unquote(text)) == text:
            break
        text = decoded
    return text
