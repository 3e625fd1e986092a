"""What the pages of a site tell alike: the order of day and month in dates, and pictures that stand for them all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import once
from scrapy_pagelets.metadata import dates
from scrapy_pagelets.page.page import Page

#: Names of ``<meta>`` elements with a picture in the order of precedence, in lower case.
PICTURES: Final = "og:image og:image:url og:image:secure_url twitter:image twitter:image:src thumbnail image".split()
#: ``<meta>`` elements and pictures that are looked at.
_MOST: Final = 1000
_MOST_PICTURES: Final = 20
#: Pages that may have one picture, as parts of one article, and the share of the pages of a site.
_FEW: Final = 5
_SHARE: Final = 0.05
#: How many times more pages must prove one order of day and month than the other.
_SURE: Final = 10
#: Countries whose English has the day first. Many pages elsewhere declare ``en-US``, so that this one proves nothing.
_DAY_FIRST: Final = re.compile(r"\s*en[-_](?:GB|UK|IE|AU|NZ|IN|ZA)\b", re.IGNORECASE)


def _key(name: str) -> int:
    return xxh3_64_intdigest(name.encode("utf-8", "replace")) >> 1


_ORDERS: Final = {True: _key("day/month"), False: _key("month/day")}


@dataclass(frozen=True)
class Habits:
    """What the pages of a site tell alike; without arguments, nothing is known.

    Attributes
    ----------
    pages : number of pages known
    told : on how many of them something is told, by its key, see `keys_told`
    """

    pages: int = 0
    told: Mapping[int, int] = field(default_factory=dict)

    def is_default(self, picture: str) -> bool:
        """Return True for a picture, an address as the page has it, that stands for many pages."""
        return self.told.get(_key(picture.strip()), 0) > max(_FEW, _SHARE * self.pages)

    def day_first(self, page: Page) -> bool | None:
        """Whether dates in figures have the day before the month; None if nobody knows.

        Other dates of the page prove it, or those of the other pages, or else the language tells.
        """
        proven = _proven(page)
        if proven:
            return next(iter(proven)) if len(proven) == 1 else None
        day, month = (self.told.get(_ORDERS[order], 0) for order in (True, False))
        if max(day, month) > _SURE * min(day, month):
            return day > month
        is_sure = page.language not in (None, "en") or _DAY_FIRST.match(page.root.get("lang") or "")
        return True if is_sure else None


NOTHING_KNOWN: Final = Habits()


def keys_told(page: Page) -> list[int]:
    """Return keys of what a page tells that other pages may tell alike: orders of its dates, and pictures."""
    metas = (meta for meta in islice(page.metas, _MOST) if (meta.property or meta.name).strip().lower() in PICTURES)
    return list(
        {
            *(_ORDERS[order] for order in _proven(page)),
            *(_key(m.content.strip()) for m in islice(metas, _MOST_PICTURES)),
        }
    )


def keys_asked(page: Page) -> list[int]:
    """Return the keys by which `Habits` of a page are asked."""
    return list({*_ORDERS.values(), *keys_told(page)})


@once
def _proven(page: Page) -> set[bool]:
    return dates.proven_orders("\n".join(page.nodes.strings))
