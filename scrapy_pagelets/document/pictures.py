"""Pictures of a page: which address shows them, and which are only counters."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.decision.asides import hints_of
from scrapy_pagelets.decision.content import permalinks
from scrapy_pagelets.page.looks import LANDMARKS
from scrapy_pagelets.page.nodes import TAG, NodeTable, rows_tagged, rows_with
from scrapy_pagelets.page.page import Page

#: Attributes where scripts that load pictures late find their address.
_LATE: Final = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-url")
_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset")
_CANDIDATE: Final = re.compile(r"\s*(\S*[^\s,])(?:\s+([\d.]+)([wx]))?\s*(?:,|$)")
_PLACEHOLDER: Final = re.compile(
    r"(?:^|/)(?:blank|spacer|placeholder|transparent|loading|lazy|1x1|pixel)[\w-]*\.(?:gif|png|svg)$", re.IGNORECASE
)
#: File names of pictures on buttons.
_BUTTON: Final = re.compile(
    r"(?:prev|previous|next|up|home|index|contents|toc|back|forward|top|print|e?mail|search|menu|sitemap|rss|feed|spinner|loading)"
    r"[-_]?\d*\.(?:png|gif|svg|jpe?g|webp)",
    re.IGNORECASE,
)
#: Classes of pictures that stand for a character, and the most characters of their alternative text.
_EMOJI: Final = re.compile(r"(?:^|[\s_-])(?:emoji|smil(?:ey|ie)s?|emoticon)(?:$|[\s_-])", re.IGNORECASE)
_LONGEST_EMOJI: Final = 30
#: The size that WordPress adds to the name of a file, and names of pictures of a site rather than of a page.
_SIZE: Final = re.compile(r"-\d+x\d+(?=\.\w+$)")
_OF_SITE: Final = re.compile(r"logo|icon|default|placeholder", re.IGNORECASE)
_AROUND: Final = LANDMARKS["header"] | LANDMARKS["nav"] | LANDMARKS["footer"] | LANDMARKS["aside"]
#: Pictures of at most so many pixels count visits or fill space.
_TINY: Final = 2


def source_of(image: etree._Element) -> str:
    """The address of a picture as written; "" if it has none, or only inline data."""
    late = next((value.strip() for name in _LATE if (value := image.get(name))), "")
    for source in ((image.get("src") or "").strip(), late):
        if not _is_inline(source) and not _PLACEHOLDER.search(source):
            return source
    nodes = [image, *(node for above in image.iterancestors("picture") for node in above.iter("source"))]
    return next((best for node in nodes for name in _SETS if (best := _largest(node.get(name) or ""))), "")


def is_tiny(image: etree._Element) -> bool:
    """Whether the attributes of a picture say that nobody can see it."""
    sides = ((image.get(side) or "").strip().removesuffix("px") for side in ("width", "height"))
    return any(side.isascii() and side.isdecimal() and int(side[:9]) <= _TINY for side in sides)


def is_emoji(image: etree._Element) -> bool:
    """Whether a picture stands for a character: an emoji or a smiley, which its alternative text names."""
    return bool(_EMOJI.search(image.get("class", "")) and 0 < len(image.get("alt", "")) <= _LONGEST_EMOJI)


def _is_inline(url: str) -> bool:
    return url[:5].lower() in ("data:", "blob:") or not url


def _largest(candidates: str) -> str:
    """The address of the largest picture of a ``srcset``."""
    if len(candidates) > 20_000:  # inline data
        return ""
    found = [(float(m[2] or 1), m[1]) for m in _CANDIDATE.finditer(candidates) if not _is_inline(m[1])]
    return max(found, default=(0.0, ""), key=lambda one: one[0])[1]


def shown_with(nodes: NodeTable, keep: Bools) -> Bools:
    """(n,) the pictures that stand in the content: beside the run of text that they share the smallest element with.

    Permalinks of headings and hints for screen readers, such as "Next slide", do not count: they are template in the
    midst of the content. A picture whose caption is template is judged by the text around its figure.

    Parameters
    ----------
    keep : (m,) a mask of the leaves that are content
    """
    found = np.zeros(len(nodes), np.bool_)
    rows = np.flatnonzero(nodes.tag == TAG["img"])
    if not len(rows) or not keep.any():
        return found
    texts = np.flatnonzero(keep | ~(permalinks(nodes) | hints_of(nodes)))
    start, end = _without_captions(nodes, rows, keep)
    before = texts[np.maximum(np.searchsorted(texts, start) - 1, 0)]
    after = texts[np.minimum(np.searchsorted(texts, end), len(texts) - 1)]
    for row, left, right in zip(rows.tolist(), before.tolist(), after.tolist(), strict=True):
        image = nodes.elements[row]
        if is_tiny(image) or _BUTTON.fullmatch(source_of(image).rpartition("/")[2]):
            continue
        found[row] = keep[left] if keep[left] == keep[right] else _is_nearer(nodes, row, left, right, keep)
    return found


def declared_by(page: Page, shown: Bools) -> int | None:
    """The row of the picture that a page declares as its own (Open Graph); None if it is shown, or not to be found.

    Such a picture is content wherever it stands, but for headers, menus and footers: it often is between these and the
    own heading, and its caption may be template.

    Parameters
    ----------
    shown : (n,) the pictures that stand in the content
    """
    nodes = page.nodes
    name = next((_name(meta.content) for meta in page.metas if meta.property == "og:image"), "")
    rows = rows_tagged(nodes, TAG["img"]) if name and not _OF_SITE.search(name) else []
    same = [row for row in rows if _name(source_of(nodes.elements[row])) == name]
    if not same or shown[same].any():
        return None
    around = [(row, nodes.end.item(row)) for row in rows_with(nodes, _AROUND)]
    return next((row for row in same if not any(start < row < end for start, end in around)), None)


def _name(url: str) -> str:
    """The name of the file of a picture, without its size: ``uji.jpg`` of ``/2018/05/Uji-300x200.jpg?v=1``."""
    return _SIZE.sub("", url.partition("?")[0].partition("#")[0].rpartition("/")[2].lower())


def _without_captions(nodes: NodeTable, rows: Ints, keep: Bools) -> tuple[Ints, Ints]:
    """The leaves before and after which the text around each picture stands: its own place, or that of its figure."""
    start, end = nodes.first_leaf[rows], nodes.last_leaf[rows]
    for figure in rows_with(nodes, LANDMARKS["figure"]):
        first, last = nodes.first_leaf[figure], nodes.last_leaf[figure]
        if first < last and not keep[first:last].any():
            inside = (rows > figure) & (rows < nodes.end[figure])
            start, end = np.where(inside, first, start), np.where(inside, last, end)
    return start, end


def _is_nearer(nodes: NodeTable, row: int, left: int, right: int, keep: Bools) -> bool:
    """Whether the smallest element with the picture and a run of text beside it has more content than template."""
    above = int(nodes.parent[row])
    while above > 0:
        first, last = int(nodes.first_leaf[above]), int(nodes.last_leaf[above])
        if first <= left or last > right:
            inside = keep[first:last]
            return bool(2 * nodes.words[first:last][inside].sum() >= nodes.words[first:last].sum())
        above = int(nodes.parent[above])
    return False
