"""Which links of a page may be loaded to find its menu, the most likely menu links first.

Source: Alarte, Insa, Silva, Tamarit 2014, *Web Template Extraction Based on Hyperlink Analysis*, Section 4.1, whose
``getLinks`` is ``link_targets``. The order of the links is ours: ``docs/algorithms/menu-templates-2014.md``.

Links with side effects are left out: a visit to them logs the user out, deletes, buys, or switches something off. No
list of words is complete, so the lists are the second line of defence. The first is to send no session cookies, and to
prefer URLs that are known to be pages.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Final
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.caches import cached, once
from scrapy_pagelets.base.characters import lazily, normalised
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

_DENSE: Final = 0.5  # the links of a region are a menu if more than this share of its words is link text
_SUFFIX: Final = lazily(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
#: Shapes of static files and of folders, which are assumed to be pages.
_STATIC: Final = frozenset(("/", ".html", ".htm", ".xhtml", ".shtml"))
_WORD: Final = lazily(r"[^\W\d_]+")  # a run of letters: a word of a URL, whose last part may be a verb
#: A string that a script passes to a function or assigns: ``fetch("/x")``, ``open("POST", "/x")``, ``location = "/x"``.
_PASSED: Final = lazily(r"""(?:[(=]|open\s*\([^,()]*,)\s*["'`]([^"'`\s\\]+)["'`]""")
#: The URLs of forms and of elements on which scripts act, and the code of scripts.
_ACTING: Final = etree.XPath(
    "//@action | //@formaction | //*[not(self::a)]/@*[starts-with(name(), 'data-') or starts-with(name(), 'hx-')]",
    smart_strings=False,
)
_CODE: Final = etree.XPath("//@*[starts-with(name(), 'on')] | //script/text()", smart_strings=False)
_SUFFIXES: Final = ("logout", "logoff", "signout", "signoff")
_FILE: Final = lazily(r"\.(?:s|x)?html?$", re.IGNORECASE)
_CAMEL: Final = lazily(r"(?<=[a-z0-9])(?=[A-Z])")
_DECODINGS: Final = 3  # how often a URL is percent-decoded at most: some are encoded more than once
_LABEL_WORDS: Final = 5  # words of a label: a longer text is a sentence, not the name of an action
_LABEL_CHARACTERS: Final = 200  # characters of a label
_METHODS: Final = ("data-method", "data-turbo-method")
_CONFIRMING: Final = ("data-confirm", "data-turbo-confirm", "download")
_SCRIPTED: Final = lazily(r"confirm\s*\(|submit\s*\(|delete|post", re.IGNORECASE)


@once
def link_targets(page: Page) -> frozenset[int]:
    """Keys of the pages that a page links to (``getLinks``)."""
    keys = page.nodes.links.key.tolist()
    return frozenset([keys[i] for i in page.links])


def candidates(page: Page, shapes: Collection[str] = (), listed: Collection[int] = ()) -> list[int]:
    """Indices of the links that may be loaded, one for each target, most likely menu links first.

    Links with side effects are left out, recognised by URL, text or attributes. So are links with a query, unless pages
    of that shape were seen, and links to a single word to which a form or a script of the page leads as well.

    First come links whose target is known to be a page: listed in a sitemap, or of the shape of a static file, of a
    folder or of a page seen before. Then those in a link-dense region, then in document order. Section 4.1 of the paper
    specifies no order; Section 6 names link density as future work.

    ``shapes``: shapes of the pages of the site that were seen, see `shape`. ``listed``: keys of the pages that the
    site's sitemaps list.
    """
    links = page.nodes.links
    own = [i for i in page.links if is_harmless(links.target[i], shapes) and not _has_side_effects(page.nodes, i)]
    if words := {unquote(links.target[i]).rpartition("/")[2] for i in own if _is_word(links.target[i])}:
        acting = _acting(page, words)
        own = [i for i in own if int(links.key[i]) not in acting]
    known, loose = _STATIC.union(shapes), ~_in_dense_region(page.nodes)[links.row]

    def doubts(i: int) -> tuple[bool, bool]:
        return int(links.key[i]) not in listed and shape(links.target[i]) not in known, bool(loose[i])

    best: dict[int, int] = {}
    for i in sorted(own, key=doubts):
        best.setdefault(int(links.key[i]), i)
    return list(best.values())


def shape(url: str) -> str:
    """Return what the URLs of one class of pages share: the ending of the path and the names of the parameters."""
    parts = urlsplit(url)
    end = parts.path.rpartition("/")[2]
    suffix = _SUFFIX.search(end)
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return (suffix[0].lower() if suffix else "" if end else "/") + (f"?{'&'.join(names)}" if parts.query else "")


def is_harmless(url: str, shapes: Collection[str] = ()) -> bool:
    """Return False if a visit to a URL may have side effects: by its words, or by a query of an unknown shape."""
    return not acts(url) and ("?" not in url or shape(url) in shapes)


def lonely_words(targets: Mapping[int, str], url: str) -> set[int]:
    """Find possible commands: keys of targets that end in a single word, as no other target in the folder does.

    ``targets``: URLs of the links of a page by key. ``url``: the URL of the page, which counts as well.
    """
    folders = {key: target.rpartition("/")[0] for key, target in targets.items() if _is_word(target)}
    counts = Counter([*folders.values(), url.rpartition("/")[0] if _is_word(url) else ""])
    return {key for key, folder in folders.items() if counts[folder] == 1}


def _is_word(url: str) -> bool:
    return bool(_WORD.fullmatch(unquote(urlsplit(url).path.rpartition("/")[2]))) and "?" not in url


def _acting(page: Page, words: Collection[str]) -> set[int]:
    """Find what acts: keys of URLs in forms, in scripts and in elements for scripts that end in one of some words."""
    passed = chain.from_iterable(map(_PASSED.findall, _CODE(page.root)))
    found = set()
    for written in chain(_ACTING(page.root), passed):
        if unquote(written.strip()).rpartition("/")[2] in words:
            with suppress(ValueError):  # "http://[broken"
                found.add(urls.key(urljoin(page.base, written.strip())))
    return found


def _has_side_effects(nodes: NodeTable, link: int) -> bool:
    row = int(nodes.links.row[link])
    element = nodes.elements[row]
    text = " ".join(nodes.strings[nodes.leaves_of(row)])
    labels = (element.get("title") or "", element.get("aria-label") or "", text)
    return not is_plain_link(element) or any(map(labels_action, labels))


def _in_dense_region(nodes: NodeTable) -> Bools:
    """(n,) True inside a node with three links or more, most of whose words are link text."""
    words: Ints = nodes.sum_below(nodes.words)
    linked = nodes.sum_below(nodes.words * nodes.anchor[nodes.leaves])
    count = np.zeros(len(nodes), np.int64)
    count[nodes.links.row] = 1
    return nodes.inherit((nodes.total(count) >= 3) & (linked > _DENSE * words), np.bitwise_or)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = normalised("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@cache
def _actions(where: str) -> frozenset[str]:
    """Words of actions by where they count: ``anywhere``, ``unless_a_file`` or ``inside`` of words."""
    lists = tomllib.loads(files("scrapy_pagelets.evidence").joinpath("actions.toml").read_text(encoding="utf-8"))
    words = " ".join(lists[where].values())
    return frozenset((_folded(words) if where == "anywhere" else words).split())


@cached
def acts(url: str) -> bool:
    """Return True if the words of a URL, in some thirty languages, suggest that a visit logs out, deletes or buys."""
    parts = urlsplit(url)
    text = f"{parts.path}?{parts.query}"
    names_one = _names_action(text, _actions("anywhere"))
    return names_one or (not _FILE.search(parts.path) and _names_action(text, _actions("unless_a_file")))


@cached
def labels_action(label: str) -> bool:
    """Return True if the text of a link names an action."""
    is_short = len(label) <= _LABEL_CHARACTERS and len(label.split()) <= _LABEL_WORDS
    return is_short and _names_action(label, _actions("anywhere"))


def is_plain_link(element: etree._Element) -> bool:
    """Return False for a link that a script turns into a request other than GET, or that asks for confirmation."""
    return (
        all((element.get(name) or "get").lower() == "get" for name in _METHODS)
        and all(element.get(name) is None for name in _CONFIRMING)
        and not _SCRIPTED.search(element.get("onclick") or "")
        and not any(name.startswith("hx-") for name in element.attrib)
    )


def _names_action(text: str, actions: frozenset[str]) -> bool:
    for _ in range(_DECODINGS):
        text = unquote(text)
    if any(word in text for word in _actions("inside")):
        return True
    tokens = _WORD.findall(_folded(_CAMEL.sub(" ", text)))
    runs = ("".join(tokens[i : i + n]) for n in (1, 2, 3) for i in range(len(tokens) - n + 1))
    return any(run in actions for run in runs) or any(token.endswith(_SUFFIXES) for token in tokens)
