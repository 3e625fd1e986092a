"""E-mail addresses and other texts that a page encodes against robots, and that a script of it decodes."""

from __future__ import annotations

import re
from base64 import b64decode
from codecs import decode
from collections.abc import Iterable
from html import unescape
from typing import Final

from lxml import etree

from scrapy_pagelets.base.characters import readable

#: The path of links by which Cloudflare replaces those to e-mail addresses.
_CLOUDFLARE: Final = "/cdn-cgi/l/email-protection"
#: A script of Joomla sets an address together: ``addy1 = 'in' + 'fo';``, and ``addy_text1`` if another text is shown.
_PARTS: Final = re.compile(r"\baddy(_text)?[0-9a-f]*\s*=((?:[\s+]*(?:addy\w*|'[^'\\]*'))+)")
_PART: Final = re.compile(r"'([^'\\]*)'")
_LONGEST: Final = 10_000
_ADDRESS: Final = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{1,255}")
_TAGS: Final = ("a", "span", "joomla-hidden-mail")


def hides_address(hrefs: Iterable[str]) -> bool:
    """Whether one of the links of a page leads to an encoded address."""
    return _CLOUDFLARE in "\n".join(hrefs)


def decode_addresses(root: etree._Element) -> None:
    """Decode what Cloudflare, Joomla, SpamSpan and plug-ins of WordPress have encoded, as their scripts do.

    Only texts and attributes are changed, so that the paths of all nodes stay. What cannot be decoded stays as well.
    """
    for element in root.iter(*_TAGS):
        if text := readable(_decoded(element)):
            element.text = text
            if _CLOUDFLARE in element.get("href", ""):  # the script leaves no link
                del element.attrib["href"]
        elif (hidden := element.get("href", "").partition(f"{_CLOUDFLARE}#")[2]) and (
            address := readable(_xored(hidden))
        ):
            element.set("href", f"mailto:{address}")
        elif "spamspan" in element.get("class", "").split():
            _join_parts(element)


def _decoded(element: etree._Element) -> str:
    """The text of an element that has an encoded one; "" if it has none."""
    if len(element):
        return ""
    if hidden := element.get("data-cfemail"):
        return _xored(hidden)
    if hidden := element.get("data-enc-email"):
        address = decode(hidden.replace("[at]", "@"), "rot13")
        return address if _ADDRESS.fullmatch(address) and "@" not in (element.text or "") else ""
    if element.tag == "joomla-hidden-mail":
        return _plain(element.get("text") or "")
    return _from_script(element) if element.get("id", "").startswith("cloak") else ""


def _xored(hidden: str) -> str:
    """What Cloudflare has encoded: bytes, each with all bits changed that are set in the first one.

    >>> _xored("422302206c21")
    'a@b.c'
    """
    try:
        key, *rest = bytes.fromhex(hidden)
        return bytes(byte ^ key for byte in rest).decode()
    except ValueError:
        return ""


def _plain(encoded: str) -> str:
    try:
        return b64decode(encoded, validate=True).decode()
    except ValueError:
        return ""


def _from_script(element: etree._Element) -> str:
    """The text that the script behind an element writes into it."""
    script = element.getnext()
    if script is None or script.tag != "script":
        return ""
    found = {"": "", "_text": ""}
    for match in _PARTS.finditer((script.text or "")[:_LONGEST]):
        found[match[1] or ""] += "".join(_PART.findall(match[2]))
    address, text = unescape(found[""]), unescape(found["_text"])
    return (text if text and "<" not in text else address) if _ADDRESS.fullmatch(address) else ""


def _join_parts(element: etree._Element) -> None:
    """Write an address in the form "user [at] example [dot] com" as it is meant."""
    parts = {part.get("class"): part for part in element.iterchildren("span")}
    if (user := parts.get("u")) is not None and (domain := parts.get("d")) is not None:
        user.tail = "@"
        for part in (user, domain):
            part.text = re.sub(r"\s*\[dot\]\s*", ".", (part.text or "")[:_LONGEST]).strip()
