"""Headings that are closed by the end tag of another level: a browser ends them there, libxml2 does not."""

import re
from typing import Final

from lxml import etree

from scrapy_pagelets.base.characters import lazily

#: What libxml2 says of an end tag that it passes over, or that closes more than its own element.
_WRONG: Final = lazily(r"(?:Unexpected end tag|Opening and ending tag mismatch) : h[1-6](?: and h[1-6])?\s*")
#: A tag of a heading, and the start of what has no tags in it.
_TAG: Final = re.compile(rb"<(?:(!--)|(?=[ST])(script|style|textarea|title)\b|(/?)H([1-6])(?=[\s/>]))", re.IGNORECASE)
_END: Final = {name: re.compile(rb"</" + name, re.IGNORECASE) for name in (b"script", b"style", b"textarea", b"title")}
_END[b"!--"] = re.compile(rb"--!?>")


def closes_heading_wrongly(parser: etree.HTMLParser) -> bool:
    """Whether the parser has met an end tag of a heading that fits no open element."""
    return any(
        error.type == etree.ErrorTypes.ERR_TAG_NAME_MISMATCH and _WRONG.fullmatch(error.message)
        for error in parser.error_log
    )


def with_closed_headings(body: bytes) -> bytes:
    """Give each end tag of a heading the level of the heading that is open there."""
    mended, level, tag = bytearray(body), b"", _TAG.search(body)
    while tag is not None:
        end: re.Match[bytes] | None = tag
        if not tag[4]:
            end = _END[(tag[1] or tag[2]).lower()].search(body, tag.end())
        elif tag[3]:
            mended[tag.start(4) : tag.end(4)] = level or tag[4]
            level = b""
        else:
            level = tag[4]
        tag = _TAG.search(body, end.end()) if end is not None else None
    return bytes(mended)
