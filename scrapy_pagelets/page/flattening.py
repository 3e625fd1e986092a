"""Flatten a tree of lxml into a node table: with readings of ruby in brackets, and encoded addresses decoded."""

import re
from base64 import b64decode
from codecs import decode
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from typing import Any, Final, cast

import numpy as np
from lxml import etree

from scrapy_pagelets.base.caches import MOST_BYTES
from scrapy_pagelets.base.characters import BY_CHARACTER, lazily, readable
from scrapy_pagelets.core import give
from scrapy_pagelets.core.table import declarations as declarations
from scrapy_pagelets.core.table import flatten as flatten
from scrapy_pagelets.core.table import text_key as text_key
from scrapy_pagelets.page.adjoining import part_words
from scrapy_pagelets.page.gaps import gaps_of
from scrapy_pagelets.page.looks import ENCODED, READING, Look, class_signature, signature, signs
from scrapy_pagelets.page.nodes import GAPS, GLUED, TAG, Links, NodeTable
from scrapy_pagelets.page.urls import targets_of

#: The path of links by which Cloudflare replaces those to e-mail addresses.
_CLOUDFLARE: Final = "/cdn-cgi/l/email-protection"
#: A script of Joomla sets an address together: ``addy1 = 'in' + 'fo';``, and ``addy_text1`` if another text is shown.
_PARTS: Final = lazily(r"\baddy(_text)?[0-9a-f]*\s*=((?:[\s+]*(?:addy\w*|'[^'\\]*'))+)")
_PART: Final = lazily(r"'([^'\\]*)'")
_LONGEST: Final = 10_000
_ADDRESS: Final = lazily(r"[^\s@<>]{1,64}@[^\s@<>]{1,255}")
_TAGS: Final = ("a", "span", "div", "joomla-hidden-mail")
#: Attributes with the number to which a script counts from 0 or 1, in elements with such a class.
_COUNTED: Final = "data-to-value data-to data-count data-count-to data-target data-purecounter-end data-value".split()
_COUNTER, _NUMBER = lazily(r"count|odometer", re.IGNORECASE), lazily(r"\d[\d.,]{0,15}")


def decode_addresses(root: etree._Element) -> None:
    """Decode what Cloudflare, Joomla, SpamSpan and plug-ins of WordPress have encoded, as their scripts do.

    Only texts and attributes are changed, so that the paths of all nodes stay. What cannot be decoded stays as well.
    """
    for element in root.iter(*_TAGS):
        with suppress(ValueError):
            _decode_address(element)


def _decode_address(element: etree._Element) -> None:
    href = element.get("href", "")
    if text := readable(_decoded(element)):
        element.text = text
        if _CLOUDFLARE in href:  # the script leaves no link
            del element.attrib["href"]
    elif hidden := href.partition(f"{_CLOUDFLARE}#")[2]:
        element.set("href", f"mailto:{readable(_xored(hidden))}")
    elif "spamspan" in element.get("class", "").split():
        parts = {part.get("class"): part for part in element.iterchildren("span")}
        if "u" in parts and "d" in parts:  # as in "user [at] example [dot] com"
            parts["u"].tail = "@"
            for name in ("u", "d"):
                parts[name].text = re.sub(r"\s*\[dot\]\s*", ".", (parts[name].text or "")[:_LONGEST]).strip()


def _decoded(element: etree._Element) -> str:
    """The text of an element that has an encoded one; "" if it has none."""
    if len(element):
        return ""
    if hidden := element.get("data-cfemail"):
        return _xored(hidden)
    if (element.text or "").strip() in ("", "0", "1") and _COUNTER.search(element.get("class", "")):
        return next(filter(_NUMBER.fullmatch, (element.get(name, "") for name in _COUNTED)), "")
    if hidden := element.get("data-enc-email"):
        address = decode(hidden.replace("[at]", "@"), "rot13")
        return address if _ADDRESS.fullmatch(address) and "@" not in (element.text or "") else ""
    if element.tag == "joomla-hidden-mail":
        return b64decode(element.get("text", ""), validate=True).decode()
    return _from_script(element) if element.get("id", "").startswith("cloak") else ""


def _xored(hidden: str) -> str:
    """What Cloudflare has encoded: bytes, each with all bits changed that are set in the first one."""
    key, *rest = bytes.fromhex(hidden)
    return bytes(byte ^ key for byte in rest).decode()


def _from_script(element: etree._Element) -> str:
    script = element.getnext()
    if script is None or script.tag != "script":
        return ""
    found = {"": "", "_text": ""}
    for match in _PARTS.finditer((script.text or "")[:_LONGEST]):
        found[match[1] or ""] += "".join(_PART.findall(match[2]))
    address, text = unescape(found[""]), unescape(found["_text"])
    return (text if text and "<" not in text else address) if _ADDRESS.fullmatch(address) else ""


_BRACKETS: Final = "([（［【〔〈《「"
#: Characters that are as wide as they are high: brackets around them are as wide.
_WIDE: Final = lazily(r"[\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")
_TEXTS: Final = etree.XPath("descendant::text()[normalize-space()]")


def bracket_readings(root: etree._Element) -> None:
    """Put brackets around the readings of a page that has none for browsers without ruby (``rp``).

    Only texts are changed, so that the paths of all nodes stay. The readings of the parts of a word share brackets.
    """
    for readings in _readings(root):
        texts: list[Any] = [text for reading in readings for text in cast(list[Any], _TEXTS(reading))]
        if not texts or texts[0].lstrip()[0] in _BRACKETS:
            continue
        before, behind = ("（", "）") if _WIDE.search(texts[0]) else (" (", ")")
        values = [before + texts[0].lstrip(), *texts[1:]]
        values[-1] = values[-1].rstrip() + behind
        for text, value in zip(texts, values, strict=True):
            setattr(text.getparent(), "text" if text.is_text else "tail", value)


def _readings(root: etree._Element) -> Iterator[list[etree._Element]]:
    """Yield the readings that have no brackets, those that follow each other at once."""
    found: list[etree._Element] = []
    context = etree.iterwalk(root, events=("start",), tag=("rt", "rtc"))
    for _, reading in context:
        if reading.tag == "rtc" and reading.find("rt") is not None:
            continue
        context.skip_subtree()  # a reading in it is part of it
        # Where the end tag of `rp` is missing, the reading is inside.
        around = (reading.getprevious(), reading.getnext(), reading.getparent())
        if any(one is not None and one.tag == "rp" and (one.text or "").strip() for one in around):
            continue
        if found and (reading.getprevious() is not found[-1] or (found[-1].tail or "").strip()):
            yield found
            found = []
        found.append(reading)
    yield found


# Tags whose text a reader never sees. Frames, players and canvases show something other than their fallback content.
# `title` occurs in `head` and, as a tooltip, in `svg`.
_UNSEEN_TAGS: Final = frozenset(
    "head script style template noscript noframes noembed iframe audio video canvas datalist title desc "
    "metadata".split()
)
# Tags that are allowed in `head`. If a page omits `</head><body>`, lxml opens no body for `main` and other tags newer
# than its parser, and the whole page ends up in the head.
_METADATA: Final = frozenset("title meta link base basefont bgsound script style template noscript".split())
_LINK_TAGS: Final = frozenset(("a", "area", "frame", "iframe"))
_VERBATIM_TAGS: Final = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))
_HIDING_STYLE: Final = lazily(r"(?<![\w-])(?:display\s*:\s*none|(?:content-)?visibility\s*:\s*hidden)", re.IGNORECASE)
#: What an inline style has in it that says how an element is laid out.
LAYING_OUT: Final = ("display", "white-space", "font-family")
DECLARING: Final = ("base", "link", "meta", "script", "title")  # elements by which a page tells of itself
_SPACES: Final = lazily(r"\s{2,}|[^\S ]")  # white space other than one space
#: Characters of an id, a class or a role that count. The rest is cut off, because all looks are compared and kept.
_LONGEST_VALUE: Final = 10_000
#: Characters of the distinct looks of a page, each of which is searched. Later elements count by their tags alone.
ROOM_OF_LOOKS: Final = 2_000_000
_HUGE: Final = 100_000  # characters from which a run of text is folded and counted without a list of its words
_Kind = tuple[int, int, int, int]  # number and signature of a look, and gap and traits of its tag
_UNSEEN, _VERBATIM, _LINKS = 1, 2, 4


def build(root: etree._Element, base: str, *, noscript: bool = False) -> NodeTable:
    """Make the node table of a tree.

    ``root``: root element. Comments and processing instructions are skipped, the text after them is not. ``base``: URL
    against which links are resolved. ``noscript``: include the content of ``noscript``.
    """
    columns, (row, href, rel) = flatten(root, noscript)
    signed = int(np.bitwise_or.reduce(columns["signs"]))
    is_read, is_encoded = bool(signed & READING), bool(signed & ENCODED) or _CLOUDFLARE in "\n".join(href)
    if is_read:
        bracket_readings(root)
    if is_encoded:
        decode_addresses(root)
    if is_read or is_encoded:
        columns, (row, href, rel) = flatten(root, noscript)
    columns["gap"] = gaps_of(columns)
    target, key, beyond = targets_of(base, href)
    links = Links(row=row, href=href, target=target, key=key, rel=rel, beyond=beyond)
    nodes = NodeTable(root=root, links=links, **columns)
    part_words(nodes)
    return nodes


def fold(text: str) -> str:
    """Fold the white space of a text."""
    return " ".join(text.split()) if len(text) < _HUGE else _SPACES.sub(" ", text.strip())


def _bounded(look: Look) -> Look:
    """Cut off what is too long to be compared and kept."""
    tag, name, classes, role = look
    return tag, name[:_LONGEST_VALUE], classes[:_LONGEST_VALUE], role[:_LONGEST_VALUE]


def _kind(look: Look, number: int) -> _Kind:
    tag = look[0]
    traits = (tag in _UNSEEN_TAGS) * _UNSEEN | (tag in _VERBATIM_TAGS) * _VERBATIM | (tag in _LINK_TAGS) * _LINKS
    return number, signature(look), GAPS.get(tag, GLUED), traits


give(
    "table", BY_CHARACTER=BY_CHARACTER, DECLARING=DECLARING, HIDING_STYLE=_HIDING_STYLE, LAYING_OUT=LAYING_OUT,
    METADATA=_METADATA, TAG=TAG,
    MOST_BYTES=MOST_BYTES, ROOM_OF_LOOKS=ROOM_OF_LOOKS, bounded=_bounded, class_signature=class_signature, fold=fold,
    kind=_kind, readable=readable, signs=signs,
)  # fmt: skip
