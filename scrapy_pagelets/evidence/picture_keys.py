"""Pictures as fragments: those that stand at one place on most pages of a site belong to its template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Ints, mix
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.page.nodes import TAG, attributes_at, rows_tagged
from scrapy_pagelets.page.page import Page

#: Pictures of a page that count, and characters of an address: others are inline data.
_MOST: Final = 1000
_LONGEST: Final = 2000
#: Distinguishes addresses of pictures from those of links.
_SALT: Final = 0x50696374757265


@dataclass(slots=True, frozen=True, eq=False)
class Pictures:
    """The pictures of a page: (k,) their rows, and hashes of their addresses and places without ranks."""

    rows: Ints
    keys: Ints


@once
def pictures_of(page: Page) -> Pictures:
    """Hash the pictures of a page that have an address."""
    nodes = page.nodes
    rows = rows_tagged(nodes, TAG["img"])[:_MOST]
    sources = attributes_at(nodes, rows, "src") if rows else []
    known = [(row, src) for row, src in zip(rows, sources, strict=True) if src and len(src) < _LONGEST]
    at = np.array([row for row, _ in known], np.int64)
    hashes = np.array([xxh3_64_intdigest(src.encode("utf-8", "replace"), _SALT) >> 1 for _, src in known], np.int64)
    return Pictures(at, mix(nodes.shape[at] * 31 + hashes))
