"""Shells: pages as they are received, to which scripts add their text, and the text in the data of such pages."""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import chain, islice
from typing import Any, Final

from lxml import etree

from scrapy_pagelets.base.characters import lazily, readable
from scrapy_pagelets.page.flattening import build, fold, text_key
from scrapy_pagelets.page.limits import Limits, TooLarge
from scrapy_pagelets.page.page import Page, is_bare, parse
from scrapy_pagelets.page.structured_data import is_work, json_at, types_of, values_of

#: The elements that frameworks fill: by their ids, or with a name of their own.
_ROOTS: Final = etree.XPath(
    "descendant::*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='___gatsby' or @id='react-root' or "
    "@id='app-root' or @id='svelte' or @id='q-app' or @ng-app or @data-reactroot] | body/*[contains(name(), '-')]"
)
_EMPTY: Final = etree.XPath("boolean(body/*[self::div or self::main or self::section][not(node())])")
_NOSCRIPT: Final = etree.XPath("descendant::noscript")
_LINKS: Final = etree.XPath("boolean(descendant::a[@href])")
_LOADING: Final = 10  # fewer words than this may tell that a page is being loaded
_MOST_ELEMENTS: Final = 100  # elements with such a name, and runs of text in one of them, that are looked at


def is_shell(page: Page) -> bool:
    """Return True for a page with scripts and hardly any text, and a place for their text or a request for scripts."""
    page = page.source or page
    # What is said to search engines is no code, nor data of code.
    scripts = (script for script in page.declared["script"] if "ld+json" not in (script.get("type") or ""))
    if not is_bare(page.nodes) or not any(script.get("src") or (script.text or "").strip() for script in scripts):
        return False
    roots = _ROOTS(page.root)[:_MOST_ELEMENTS]
    return (
        any(len(_text(root).split()) < _LOADING and not _LINKS(root) for root in roots)
        or (page.nodes.words.sum() < _LOADING and _EMPTY(page.root))
        or any("javascript" in _text(element).lower() for element in _NOSCRIPT(page.root)[:_MOST_ELEMENTS])
    )


def _text(element: etree._Element) -> str:
    return " ".join(map(str, islice(element.itertext("*"), _MOST_ELEMENTS)))


_LONGEST: Final = 4_000_000  # characters of data that are read
_MOST_TEXT: Final = 500_000  # characters of text that are taken from it
_MOST: Final = 200_000  # values that are looked at
_PROSE: Final = 20  # words of a text; words that data must have beyond those of the page
#: Characters of attributes, and of strings in data, that may be data themselves, as in Discourse and Inertia.
_LONG: Final = 300
_LIMITS: Final = Limits()
_MARKUP: Final = lazily(r"</?(?:p|div|h[1-6]|ul|ol|li|br|blockquote|table|section|article)\b[^<>]*>", re.IGNORECASE)
_LINES: Final = lazily(r"\s*\n\s*")
#: A variable that a script sets to an object.
_ASSIGNED: Final = lazily(r"\s*[A-Za-z_$][\w$.]{1,100}\s*=\s*(?:JSON\.parse\()?(?=[{\"])")
#: What a script of Next.js adds to the data of a page: a number, and what React is to show.
_ADDED: Final = lazily(r"\s*self\.__next_f\.push\(\s*\[1,\s*(?=\")")
_LONGEST_TITLE: Final = 300
#: Names of texts, and of what no reader sees at once.
_TEXTS: Final = lazily(r"body|content|text|html|markdown|rendered|cooked|paragraph|article", re.IGNORECASE)
_NO_TEXTS: Final = lazily(r"i18n|locale|translation|message|consent|cookie|privacy|config", re.IGNORECASE)


def with_data(page: Page) -> Page:
    """Return the page with the text that only its data have, below what it shows; the page itself if there is none.

    The text is the ``articleBody`` of JSON-LD; or, if the page is a shell, what most words of its JSON have as their
    place, in scripts (``__NEXT_DATA__``, ``window.__STATE__ = {...}``) or attributes (``data-page``).
    """
    if not page.declared["script"] or not is_bare(page.nodes):
        return page
    title, texts = _declared(page) or (_best(page) if is_shell(page) else None) or ("", [])
    if sum(map(_words, texts)) < page.nodes.words.sum() + _PROSE:
        return page
    root = deepcopy(page.root)
    body = root.find("body")
    article = etree.SubElement(root if body is None else body, "article")
    article.extend([_text_element("h1", title)] if title else [])
    article.extend(_elements(texts))
    return replace(page, root=root, nodes=build(root, page.base), source=page)


def _declared(page: Page) -> tuple[str, list[str]] | None:
    for found in page.objects:
        texts = [text for text in values_of(found.get("articleBody")) if isinstance(text, str)]
        if texts and any(map(is_work, types_of(found))):
            return _title(found), texts
    return None


def _title(found: dict[str, Any]) -> str:
    titles = (found.get(name) for name in ("headline", "title", "name"))
    return next((title for title in titles if isinstance(title, str) and len(title) <= _LONGEST_TITLE), "")


@dataclass
class _Place:
    """The strings at one place of JSON, whatever their numbers in lists are; ``title`` is that of the first."""

    name: str
    title: str = ""
    texts: list[str] = field(default_factory=list)
    words: int = 0


def _best(page: Page) -> tuple[str, list[str]] | None:
    """The strings of the place that has most words of prose; if it is only one, with its title."""
    places = [place for data in _data(page) for place in _places(data)]
    best = max(places, key=lambda place: (bool(_TEXTS.search(place.name)), place.words), default=None)
    if best is None:
        return None
    # In a list that holds everything, such as that of Nuxt, short strings are anything.
    texts = [text for text in dict.fromkeys(best.texts) if best.name or _words(text) >= _PROSE]
    return best.title if len(texts) == 1 else "", texts


def _places(data: Any) -> list[_Place]:
    """The places with prose, in the order of the document."""
    places = [_Place("")]
    numbers: dict[tuple[int, str], int] = {}
    left, stack = _MOST_TEXT, [(0, data)]
    for _ in range(_MOST):
        if not stack:
            break
        at, value = stack.pop()
        if isinstance(value, list):
            stack.extend((at, each) for each in reversed(value[:_MOST]))
        elif isinstance(value, dict):
            named = [(name, each) for name, each in value.items() if not _NO_TEXTS.search(name)]
            for name, _each in named:
                if (at, name) not in numbers:
                    numbers[at, name] = len(places)
                    places.append(_Place(name, _title(value)))
            stack.extend((numbers[at, name], each) for name, each in reversed(named))
        elif isinstance(value, str) and len(value) >= _LONG and (inner := _object(value)) is not None:
            stack.append((at, inner))
        elif isinstance(value, str) and value.strip() and len(value) <= left:
            left -= len(value)
            places[at].texts.append(value)
            places[at].words += words if (words := _words(value)) >= _PROSE and "{" not in value else 0
    return [place for place in places if place.words]


def _data(page: Page) -> Iterator[Any]:
    """The JSON of scripts: whole ones, and objects that they set variables to; and that of long attributes."""
    left = _LONGEST
    values = (value for element in page.root.iter(etree.Element) for value in element.attrib.values())
    for text in chain(_in_scripts(page), (value for value in values if len(value) >= _LONG)):
        left -= len(text)
        if left < 0:
            return
        if (value := _object(text)) is not None:
            yield value


def _in_scripts(page: Page) -> Iterator[str]:
    added = ""
    for script in page.declared["script"]:
        text, kind = script.text or "", (script.get("type") or "").lower()
        if match := _ADDED.match(text):
            added += _unquoted(text[match.end() :])
        elif (match := _ASSIGNED.match(text)) or kind == "application/json":
            yield _unquoted(text[match.end() if match else 0 :].lstrip())
    yield from (line.partition(":")[2] for line in added.split("\n"))


def _unquoted(text: str) -> str:
    """The string of JSON that a text begins with; the text itself if it does not."""
    inner = json_at(text) if text.startswith('"') else text
    return inner if isinstance(inner, str) else ""


def _object(text: str) -> Any:
    """The object or list that a text begins with; None if it begins with none."""
    return json_at(text) if text.startswith(("{", "[")) else None


def _elements(texts: Iterable[str]) -> Iterator[etree._Element]:
    left = _MOST_TEXT
    for text in texts:
        left -= len(text)
        if left < 0:
            return
        if _MARKUP.search(text):
            yield from _parsed(text)
            continue
        for line in _LINES.split(unescape(text).strip()):
            yield _text_element("p", line)


def _text_element(tag: str, text: str) -> etree._Element:
    element = etree.Element(tag)
    element.text = readable(text)  # XML takes no control characters
    return element


def _parsed(text: str) -> list[etree._Element]:
    try:
        _LIMITS.check(text)
    except TooLarge:
        return []
    body = parse(f"<div>{text}</div>").find("body")
    return [] if body is None else list(body)


def _words(text: str) -> int:
    return text_key(fold(text))[1]
