"""Parse a page: from bytes, declared charset and URL to an lxml tree and a node table."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import urljoin

import numpy as np
from lxml import etree
from w3lib import encoding

from scrapy_pagelets.base import display
from scrapy_pagelets.base.arrays import Ints, align_values
from scrapy_pagelets.base.characters import lazily, readable
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.flattening import build, declarations
from scrapy_pagelets.page.limits import Limits, without_nul
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, values_at
from scrapy_pagelets.page.roles import Marks
from scrapy_pagelets.page.structured_data import Object, objects_of

#: lxml stops reading at an element below this level (``html`` is level 0), even with ``huge_tree``.
MAX_DEPTH: Final = 2047
#: Fewer non-ASCII bytes than this, in one of the multi-byte charsets below, can be valid UTF-8 by chance.
_FEW: Final = 20
_MULTIBYTE: Final = frozenset("big5hkscs cp932 cp949 cp950 euc_jp gb18030 hz iso2022_jp iso2022_kr".split())
#: Charsets of pages that declare none; charset detection picks one of these.
_DETECTED: Final = (
    "big5 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp932 cp949 euc_jp gb18030 iso8859_2 "
    "iso8859_5 iso8859_7 koi8_r koi8_u tis_620".split()
)
_WESTERN: Final = "cp1252"
_ASCII: Final = bytes(range(128))
_SAMPLE: Final = 100_000  # bytes of non-ASCII text that are enough for charset detection
_BETWEEN_TAGS: Final = re.compile(rb"[^<>]+")
_CP1252_FALLBACK: Final = "scrapy-pagelets-cp1252"
#: Tags of nodes that all parsers agree on, by which a rendered page is aligned with the page as received.
_ALIGNABLE: Final = [TAG[name] for name in "#text img input button select textarea iframe svg video hr object".split()]
#: A page with fewer words includes what is in `noscript`, if that adds as many: a request to enable scripts is shorter.
_BARE: Final = 50
_LIMITS: Final = Limits()
_NO_MARKS: Final = Marks()
#: Characters that a base may add to all addresses of a page: in each form of the content, it is in each of them. A base
#: that is not long cannot be too long, even on the largest page.
_ROOM: Final = 2 * urls.ROOM
_LONG_BASE: Final = 150
_ADDRESSED: Final = ("a", "area", "img", "source", "frame", "iframe", "video", "audio", "embed", "input")
_LONGEST_TITLE: Final = 5000  # characters of a title
#: Characters from which a title with markup in it has no end tag: it has the page in it, of which it is the beginning.
_WITHOUT_END: Final = 300
_TAG: Final = lazily(r"</?[a-z][^<>]{0,200}>", re.IGNORECASE)
#: Relations of links that no crawler follows on its own initiative.
_HARMFUL_REL: Final = frozenset(("nofollow", "external", "alternate", "logout", "delete", "sponsored", "ugc"))
_SECTION: Final = "<![CDATA["  # begins a section of XHTML in which markup is text: HTML has none
_RAW_TAG: Final = lazily(r"<(/?)(?:script|style)\b", re.IGNORECASE)
#: What libxml2 says of an end tag that it passes over, or that closes more than its own element.
_WRONG: Final = lazily(r"(?:Unexpected end tag|Opening and ending tag mismatch) : h[1-6](?: and h[1-6])?\s*")
#: A tag of a heading, and the start of what has no tags in it.
_MARK: Final = re.compile(rb"<(?:(!--)|(?=[ST])(script|style|textarea|title)\b|(/?)H([1-6])(?=[\s/>]))", re.IGNORECASE)
_END: Final = {name: re.compile(rb"</" + name, re.IGNORECASE) for name in (b"script", b"style", b"textarea", b"title")}
_END[b"!--"] = re.compile(rb"--!?>")
_LANGUAGE: Final = lazily(r"\s*([a-z]{2,3})(?:[-_]|\s*$)", re.IGNORECASE)


class Meta(NamedTuple):
    """The attributes of a ``<meta>`` element; "" where there is none."""

    property: str
    name: str
    http_equiv: str
    content: str


_META: Final = tuple(name.replace("_", "-") for name in Meta._fields)


@dataclass(frozen=True, eq=False)
class Page:
    """A parsed page.

    Attributes
    ----------
    url : URL of the response
    root : root element of the lxml tree; never changed
    nodes : the node table
    base : URL that links are relative to: ``<base href>`` or ``url``; "" if too many addresses would be too long
    layout : layout of a rendered page, with the rows of ``nodes``; None if the page was not rendered
    source : the page as it was received, if this one is the browser's tree after rendering; else None
    marks : what the rules of its host name on it (`rules.host_rules.Rules.mark`), and what it asks of robots
    link_header : value of the HTTP header ``Link``, several separated by commas
    """

    url: str
    root: etree._Element
    nodes: NodeTable
    base: str
    layout: Layout | None = None
    source: Page | None = None
    marks: Marks = _NO_MARKS
    link_header: str = ""

    @classmethod
    def parse(
        cls, body: bytes, url: str, content_type: str | None = None, limits: Limits = _LIMITS, link_header: str = ""
    ) -> Page:
        """Parse the body of a response. Any body gives a page, an empty one in the worst case.

        Parameters
        ----------
        body : as received, without content encoding
        url : absolute URL
        content_type : value of the HTTP header, for the charset
        limits : limits on the size of the page
        link_header : value of the HTTP header, for the canonical link

        Raises
        ------
        TooLarge : if the page exceeds the limits
        """
        limits.check_size(body)
        text = decode(body, content_type)
        limits.check(text)
        return cls.from_root(parse(text), url, link_header)

    @classmethod
    def from_root(cls, root: etree._Element, url: str, link_header: str = "") -> Page:
        """Make a page of a tree that lxml's HTML parser has built with ``huge_tree=True``."""
        declared = declarations(root)
        base = base_of(declared[0]["base"], url)
        if len(base) > _LONG_BASE and len(base) * sum(1 for _ in root.iter(*_ADDRESSED)) > _ROOM:
            base = ""
        nodes = build(root, base)
        # Forums and shops built by scripts offer a plain form for robots.
        if is_bare(nodes) and root.find(".//noscript") is not None:
            plain = build(root, base, noscript=True)
            if plain.words.sum() >= nodes.words.sum() + _BARE:
                nodes = plain
        page = cls(url, root, nodes, base, link_header=link_header)
        vars(page)["_declarations"] = declared
        return page

    @property
    def declared(self) -> dict[str, list[etree._Element]]:
        """By tag, the elements by which the page tells of itself, see `flattening.DECLARING`."""
        return self._declarations[0]

    @property
    def microdata(self) -> list[etree._Element]:
        """The elements with an ``itemprop`` or ``itemtype``."""
        return self._declarations[1]

    @cached_property
    def metas(self) -> list[Meta]:
        """What its ``<meta>`` elements say, in document order."""
        return list(map(Meta._make, values_at(self.declared["meta"], _META)))

    @cached_property
    def objects(self) -> list[Object]:
        """The objects of JSON-LD that describe the page, see `structured_data.objects_of`."""
        return objects_of(self.declared["script"])

    @cached_property
    def _declarations(self) -> tuple[dict[str, list[etree._Element]], list[etree._Element]]:
        return declarations(self.root)

    @cached_property
    def key(self) -> int:
        """Hash of the normalised URL, which links to this page have as their key."""
        return urls.key(self.url)

    @cached_property
    def links(self) -> list[int]:
        """Indices of the links to other pages of the same host, except those that ``rel`` excludes."""
        keys, rel = self.nodes.links.key.tolist(), self.nodes.links.rel
        return [
            i
            for i in urls.pages_of_host(self.nodes.links.target, self.url)
            if keys[i] != self.key and not (rel[i] and _HARMFUL_REL.intersection(rel[i].split()))
        ]

    @property
    def canonical_url(self) -> str:
        """Absolute URL of the page's canonical link (RFC 6596); without one that can be parsed, the page's own URL."""
        return self.declared_canonical_url or self.url

    @property
    def declared_canonical_url(self) -> str | None:
        """Absolute URL of the page's canonical link, in its head or its HTTP headers; None without one to be parsed."""
        links = (*values_at(self.declared["link"], ("rel", "href")),)
        header = (self.source or self).link_header
        for base, rel, href in (
            *((self.base, rel, href) for rel, href in links),
            *((self.url, rel, href) for rel, href in urls.links_of_header(header)),
        ):
            if "canonical" in rel.lower().split() and (href := href.strip()):
                with suppress(ValueError):  # "http://[broken"
                    return urljoin(base, href)
        return None

    @property
    def is_declared_copy(self) -> bool:
        """True if the canonical link of the page leads to another page."""
        return urls.key(self.canonical_url) != self.key

    @cached_property
    def site(self) -> str:
        """Registrable domain, or host and port if there is none."""
        return urls.site_of(self.url)

    @cached_property
    def title(self) -> str:
        """Text of ``<title>`` with its white space folded, cut off if it is very long; "" if there is none."""
        text = self._title
        if self.has_open_title:
            text = _TAG.split(text, maxsplit=1)[0][:_WITHOUT_END]
        return " ".join(readable(text.lstrip()[:_LONGEST_TITLE]).split())

    @property
    def has_open_title(self) -> bool:
        """Whether the end tag of the title is missing: the page is in it, and browsers show nothing else."""
        return len(self._title) > _WITHOUT_END and _TAG.search(self._title) is not None

    @cached_property
    def _title(self) -> str:
        # Some pages put it into the body; in `svg` it is a tooltip.
        titles = (title for title in self.declared["title"] if next(title.iterancestors("svg"), None) is None)
        heads = self.root.findall("head")
        title = min(titles, key=lambda title: title.getparent() not in heads, default=None)
        return "" if title is None else "".join(map(str, title.itertext()))

    @cached_property
    def language(self) -> str | None:
        """Primary subtag of the declared language, two or three letters in lower case; None if none is declared."""
        for element in (self.root, next(self.root.iterchildren("body"), None)):
            declared = "" if element is None else element.get("lang") or element.get("xml:lang") or ""
            if match := _LANGUAGE.match(declared):
                return match[1].lower()
        return None

    @cached_property
    def received_rows(self) -> Ints:
        """(n,) for a rendered page, the row of ``source`` with the same text, picture or control; -1 for other rows."""
        rows = np.full(len(self.nodes), -1)
        ours, keys = _alignable(self.nodes)
        theirs, their_keys = _alignable((self.source or self).nodes)
        aligned = align_values(keys, their_keys)
        rows[ours[aligned >= 0]] = theirs[aligned[aligned >= 0]]
        return rows

    @cached_property
    def received(self) -> Ints:
        """(m,) for a rendered page, the matching leaf of ``source``, ascending; -1 for leaves that scripts added."""
        rows = self.received_rows[self.nodes.leaves]
        return np.where(rows < 0, -1, np.searchsorted((self.source or self).nodes.leaves, rows))

    def _repr_html_(self) -> str:
        nodes = self.nodes
        rows: list[display.Row] = [
            ("URL", self.url),
            ("language", self.language or "not declared"),
            ("words", f"{int(nodes.words.sum()):,} in {len(nodes.leaves):,} runs of text"),
            ("links", f"{len(nodes.links.row):,}"),
            ("layout", "as received" if self.layout is None else "rendered in a browser"),
            ("text", " ".join(nodes.strings[: display.MOST])),
        ]
        return display.table(self.title or self.url, (), rows)

    @property
    def truncated(self) -> bool:
        """True if the page nests deeper than lxml can read: the deeper text and everything after it is missing."""
        depth = self.nodes.depth
        return bool(depth.max() >= MAX_DEPTH and depth[self.nodes.tag != TEXT].max() >= MAX_DEPTH)


def is_bare(nodes: NodeTable) -> bool:
    """Return whether a page has few words; the first runs of text of most pages have enough."""
    return sum(nodes.words[:_BARE].tolist()) < _BARE and bool(nodes.words.sum() < _BARE)


def _alignable(nodes: NodeTable) -> tuple[Ints, Ints]:
    """Rows of nodes that all parsers agree on, and hashes of their content."""
    rows = np.flatnonzero(np.isin(nodes.tag, _ALIGNABLE))
    return rows, np.where(nodes.tag == TEXT, nodes.spread(nodes.text), nodes.signature)[rows]


def decode(body: bytes, content_type: str | None = None) -> str:
    """Decode a body; invalid bytes become U+FFFD.

    A byte order mark decides. Without one, the HTTP header takes precedence over ``<meta>`` and the XML declaration,
    but the bytes must confirm it: valid UTF-8 is read as UTF-8 whatever single-byte charset is declared, and invalid
    UTF-8 is not. If nothing is declared, UTF-8 is tried first, then charset detection.

    ``body``: as received, without content encoding. ``content_type``: value of the HTTP header.
    """
    name, mark = encoding.read_bom(body)
    if name and mark:
        return encoding.to_unicode(body[len(mark) :], name)
    if name := _wide(body):
        return encoding.to_unicode(body, name)
    names = _declared(body, content_type)
    first = names[0] if names else "utf-8"
    for name in (first, "utf-8") if first in _MULTIBYTE and _beyond_ascii(body) < _FEW else ("utf-8",):
        if (text := _strictly(body, name)) is not None:
            return text
    if first == "utf-8":
        if body.decode("utf-8", "replace").count("\ufffd") * 4 <= _beyond_ascii(body):
            # Some text was pasted in from elsewhere. A replacement character would lose a letter, or break a link.
            return body.decode("utf-8", _CP1252_FALLBACK)
        first = next((name for name in names if name != "utf-8"), None) or _detect(body)
    return encoding.to_unicode(body, first)


def _wide(body: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark: markup is ASCII, so every second byte is zero."""
    head = body[:2048]
    if 0 not in head:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < max(4, len(head) // 8) or min(even, odd) * 10 > max(even, odd):
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _declared(body: bytes, content_type: str | None) -> list[str]:
    """Names of the declared codecs, header first, that can decode ASCII markup."""
    declared = (encoding.http_content_type_encoding(content_type), encoding.html_body_declared_encoding(body))
    names = [name for name in declared if name and _reads_markup(name)]
    return names or (["iso2022_jp"] if b"\x1b$" in body else [])


def _reads_markup(name: str) -> bool:
    # Python's codecs include base64, rot13 and EBCDIC. UTF-16 has been ruled out already.
    if name in ("idna", "punycode", "raw-unicode-escape", "unicode-escape"):
        return False
    try:
        return b"<p>".decode(name) == "<p>"
    except (LookupError, UnicodeError):
        return False


def _strictly(body: bytes, name: str) -> str | None:
    """Decode a body, or return None if it has an invalid byte; a UTF-8 character cut off at the end is tolerated."""
    try:
        return body.decode(name)
    except UnicodeDecodeError as error:
        cut = name == "utf-8" and error.reason == "unexpected end of data" and _beyond_ascii(body) > 1
        return encoding.to_unicode(body, name) if cut else None


def _beyond_ascii(body: bytes) -> int:
    return len(body.translate(None, _ASCII))


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode(_WESTERN, "replace"), error.end


codecs.register_error(_CP1252_FALLBACK, _as_cp1252)


def _detect(body: bytes) -> str:
    """Detect the charset from the runs of non-ASCII text; cp1252 if they are too short to tell."""
    runs = (run[0] for run in _BETWEEN_TAGS.finditer(body) if not run[0].isascii())
    sample = b" ".join(dict.fromkeys(islice(runs, _SAMPLE)))[:_SAMPLE]  # a bomb has millions of them
    foreign = sample.translate(None, _ASCII)
    if len(foreign) < 12 or len(set(foreign)) < 5:  # quotes, dashes, a copyright sign, a name
        return _WESTERN
    from charset_normalizer import from_bytes  # most pages declare their charset

    matches = from_bytes(sample, cp_isolation=_DETECTED)
    best = matches.best()
    if best is None:
        return _WESTERN
    tied = (m for m in matches if m.chaos <= best.chaos and m.coherence >= best.coherence)
    name = _WESTERN if any(_WESTERN in m.could_be_from_charset for m in tied) else best.encoding
    return encoding.resolve_encoding(name) or _WESTERN


def parse(text: str) -> etree._Element:
    """Parse HTML text; an empty text gives ``<html/>``."""
    text = without_nul(text).strip()
    if _SECTION in text and "http://www.w3.org/1999/xhtml" in text[:2000]:
        text = sections_as_text(text)
    body = text.encode("utf-8", "replace") or b"<html/>"
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, recover=True)
    root = etree.fromstring(body, parser)
    mismatches = (error.message for error in parser.error_log if error.type == etree.ErrorTypes.ERR_TAG_NAME_MISMATCH)
    if any(map(_WRONG.fullmatch, mismatches)):
        root = etree.fromstring(with_closed_headings(body), parser)
    return etree.fromstring(b"<html/>", parser) if root is None else root


def with_closed_headings(body: bytes) -> bytes:
    """Give each end tag of a heading the level of the heading that is open there."""
    mended, level, tag = bytearray(body), b"", _MARK.search(body)
    while tag is not None:
        end: re.Match[bytes] | None = tag
        if not tag[4]:
            end = _END[(tag[1] or tag[2]).lower()].search(body, tag.end())
        elif tag[3]:
            mended[tag.start(4) : tag.end(4)] = level or tag[4]
            level = b""
        else:
            level = tag[4]
        tag = _MARK.search(body, end.end()) if end is not None else None
    return bytes(mended)


def sections_as_text(text: str) -> str:
    """Write the CDATA sections of XHTML as HTML; those in scripts and styles, where only comments need them, stay."""
    before, *sections = text.split(_SECTION)
    pieces, is_raw = [before], _ends_raw(before, is_raw=False)
    for section in sections:
        quoted, ended, behind = section.partition("]]>")
        pieces += (_SECTION, section) if is_raw or not ended else (escape(quoted, quote=False), behind)
        is_raw = _ends_raw(behind if not is_raw else section, is_raw=is_raw)
    return "".join(pieces)


def _ends_raw(text: str, *, is_raw: bool) -> bool:
    """Whether a script or style is open at the end of a text."""
    last = next(reversed(list(_RAW_TAG.finditer(text))), None)
    return is_raw if last is None else not last[1]


def base_of(bases: Iterable[etree._Element], url: str) -> str:
    """Return the URL that links are relative to: ``<base href>``, or the page's URL if the base cannot be trusted."""
    element = next((each for each in bases if "href" in each.attrib), None)
    if element is None:
        return url
    href = (element.get("href") or "").strip()
    if len(href) > urls.LONGEST:  # every link would become as long
        return url
    try:
        base = urljoin(url, href)
    except ValueError:  # "http://[broken"
        return url
    usable = base.lower().startswith(urls.schemes_from(url)) and not (
        urls.is_ambiguous(href) or urls.is_ambiguous(base)
    )
    return base if usable else url
