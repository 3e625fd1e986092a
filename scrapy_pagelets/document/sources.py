"""Addresses of pictures: of those that a script loads late, the one that it loads."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from lxml import etree

from scrapy_pagelets.base.characters import lazily

#: Tags of pictures.
PICTURES: Final = frozenset(("img", "amp-img", "amp-anim"))
#: Attributes where scripts that load pictures late find their address, to replace another one.
_LATE: Final = (
    "data-src data-lazy-src data-original data-lazy data-lazyload data-actualsrc data-native-src data-hi-res-src "
    "nitro-lazy-src data-pagespeed-lazy-src data-cfsrc data-ezsrc data-lzy_src data-echo data-delayed-url"
).split()
#: Names of other attributes with the address of a picture that has no other.
_NAMED_SO: Final = lazily(r"src|lazy|load|orig|image|img|url|file|srv|retina|hi-?res|full|large")
_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset", "nitro-lazy-srcset", "data-ezsrcset", "data-cfsrcset")
_CANDIDATE: Final = lazily(r"\s*(\S*[^\s,])(?:\s+([\d.]+)([wx]))?\s*(?:,|$)")
_PLACEHOLDER: Final = lazily(
    r"(?:^|/)(?:(?:blank|spacer|placeholder|transparent|loading|lazy|1x1|pixel)[\w-]*\.(?:gif|png|svg)|"
    r"(?:clear|trans|empty|dot|shim|gr[ae]y|nothing|1)\d*\.gif)(?:$|[?#])",
    re.IGNORECASE,
)
#: Characters that no address has: others are lists, objects and templates.
_NO_ADDRESS: Final = re.compile(r"[{}<>\"'|\[\]]")
_OF_PICTURE: Final = lazily(r"\S+\.(?:jpe?g|png|gif|webp|avif|svg|bmp)(?:$|[?#])", re.IGNORECASE)
_LONGEST: Final = 20_000
#: A width that a script sets for the window, and the widths that it chooses from.
_WIDTH: Final = "{width}"
_WIDTHS: Final = re.compile(r"\d{2,4}")
_USUAL_WIDTH: Final = "1080"
#: Elements ``source`` of one picture, and those around a picture: the parser nests them.
_MANY: Final = 20


def source_of(image: etree._Element) -> str:
    """The address of a picture as written; "" if it has none, or only inline data."""
    own = (image.get("src") or "").strip()
    if (late := late_of(image)) or _shows(own):
        return late or own
    sets = (_largest(node.get(name) or "") for node in (image, *_sources(image)) for name in _SETS)
    if found := next(filter(None, sets), "") or _other(image):
        return found
    copy = copy_of(image)
    return (copy.get("src") or "").strip() if copy is not None and _shows(copy.get("src") or "") else ""


def late_of(element: etree._Element) -> str:
    """The address by which a script replaces that of a picture or a frame; "" if there is none."""
    return next((value for name in _LATE if name in element.attrib and (value := _late(element, name))), "")


def copy_of(image: etree._Element) -> etree._Element | None:
    """The copy of a picture for browsers without scripts, which stands in or behind it; None if there is none."""
    for near in (image.getnext(), *image.iterchildren("noscript")):
        if near is not None and near.tag == "noscript":
            return near.find(".//img")
    return None


def text_of(image: etree._Element) -> str:
    """The alternative text of a picture, or that of its copy."""
    alt = image.get("alt") or ""
    return alt if alt or (copy := copy_of(image)) is None else copy.get("alt") or ""


def _shows(url: str) -> bool:
    """Whether an address leads to more than inline data and a picture that keeps the place of another."""
    return not _is_inline(url) and not _PLACEHOLDER.search(url)


def _is_inline(url: str) -> bool:
    return url[:5].lower() in ("data:", "blob:") or not url


def _late(image: etree._Element, name: str) -> str:
    """The address in an attribute; "" if it has something else."""
    value = (image.get(name) or "")[:_LONGEST].strip()
    if _WIDTH in value:
        widths = _WIDTHS.findall((image.get("data-widths") or "")[:_LONGEST])
        value = value.replace(_WIDTH, max(widths, key=int, default=_USUAL_WIDTH))
    is_address = ("/" in value or "." in value) and not _NO_ADDRESS.search(value)
    return value if is_address and _shows(value) else ""


def _other(image: etree._Element) -> str:
    """The address of a picture in an attribute that no list has."""
    names = (name for name in map(str, image.attrib) if name not in ("src", "alt", "title") and _NAMED_SO.search(name))
    return next((value for name in names if (value := _late(image, name)) and _OF_PICTURE.match(value)), "")


def _sources(image: etree._Element) -> list[etree._Element]:
    """The elements ``source`` of a picture, in document order."""
    found: list[etree._Element] = []
    for above in islice(image.iterancestors(), _MANY):
        if above.tag == "picture":
            return [*islice(above.iterchildren("source"), _MANY), *reversed(found)]
        if above.tag != "source":
            break
        found.append(above)
    return []


def _largest(candidates: str) -> str:
    """The address of the largest picture of a ``srcset``."""
    if len(candidates) > _LONGEST:  # inline data
        return ""
    found = [(float(m[2] or 1), m[1]) for m in _CANDIDATE.finditer(candidates) if not _is_inline(m[1])]
    return max(found, default=(0.0, ""), key=lambda one: one[0])[1]
