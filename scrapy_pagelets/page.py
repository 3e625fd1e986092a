"""A page: bytes, declared charset and URL in; lxml tree and node table out."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urljoin

import charset_normalizer
from lxml import etree
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
    to_unicode,
)

from scrapy_pagelets import urls
from scrapy_pagelets.nodes import NodeTable, build

#: lxml keeps no more levels than this, even with ``huge_tree``; what is nested deeper is lost.
MAX_DEPTH: Final = 2046
_MENDED: Final = "scrapy-pagelets-cp1252"


@dataclass(frozen=True)
class Page:
    """A parsed page.

    Attributes
    ----------
    url : of the response
    root : root element of the lxml tree; never changed
    nodes : one row a node in preorder
    base : what links are relative to: ``<base href>`` or the URL
    """

    url: str
    root: etree._Element
    nodes: NodeTable
    base: str

    @classmethod
    def parse(cls, body: bytes, url: str, content_type: str | None = None) -> Page:
        """Parse a body; whatever it holds, a page results, an empty one in the worst case.

        Parameters
        ----------
        body : as received, without content encoding
        url : absolute
        content_type : of the HTTP header, for the charset
        """
        return cls.from_root(parse(decode(body, content_type)), url)

    @classmethod
    def from_root(cls, root: etree._Element, url: str) -> Page:
        """Page of a tree that is parsed already."""
        base = _base(root, url)
        return cls(url, root, build(root, base), base)

    @cached_property
    def key(self) -> int:
        """Hash of the normalised URL: what links to this page carry as key."""
        return urls.key(self.url)

    @cached_property
    def site(self) -> str:
        """Registrable domain, or host and port."""
        return urls.site_of(self.url)

    @cached_property
    def title(self) -> str:
        """Text of ``<title>``, white space folded; "" where there is none."""
        found = self.root.find("head/title")
        found = self.root.find(".//title") if found is None else found
        return "" if found is None else " ".join("".join(map(str, found.itertext())).split())

    @cached_property
    def language(self) -> str | None:
        """Primary subtag of the declared language, lower case."""
        body = self.root.find("body")
        for element in (self.root, body):
            declared = "" if element is None else element.get("lang") or element.get("xml:lang") or ""
            primary = declared.replace("_", "-").split("-")[0].strip().lower()
            if primary.isalpha():
                return primary
        return None

    @property
    def truncated(self) -> bool:
        """True if the nesting reached what lxml keeps: deeper text may be missing."""
        return bool(self.nodes.depth.max() >= MAX_DEPTH)


def decode(body: bytes, content_type: str | None = None) -> str:
    """Text of a body by BOM, HTTP header, ``<meta>`` or XML declaration, UTF-8, and detection, in this order."""
    declared, mark = read_bom(body)
    rest = body if mark is None else body[len(mark) :]
    declared = declared or http_content_type_encoding(content_type) or html_body_declared_encoding(body)
    if declared and (name := resolve_encoding(declared)):
        # Pages pasted together from two charsets are common; a replacement character would lose a letter, or a link.
        return rest.decode(name, _MENDED) if name == "utf-8" else to_unicode(rest, name)
    try:
        return rest.decode()
    except UnicodeDecodeError:
        return to_unicode(rest, _detect(rest))


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_MENDED, _as_cp1252)


def _detect(body: bytes) -> str:
    # A megabyte tells as much as 30 of them; a page cut in the middle of a character is still UTF-8.
    sample = body[:1_000_000]
    if (found := charset_normalizer.detect(sample)["encoding"]) is not None:
        return resolve_encoding(str(found)) or "cp1252"
    return "cp1252"


def parse(text: str) -> etree._Element:
    """Tree of HTML text; ``<html/>`` for an empty one."""
    body = text.strip().replace("\x00", "").encode("utf-8", "replace") or b"<html/>"
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, recover=True)
    root = etree.fromstring(body, parser)
    return etree.fromstring(b"<html/>", parser) if root is None else root


def _base(root: etree._Element, url: str) -> str:
    element = root.find(".//base[@href]")
    if element is None:
        return url
    try:
        return urljoin(url, (element.get("href") or "").strip())
    except ValueError:
        return url
