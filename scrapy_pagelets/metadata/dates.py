"""Dates as pages tell them, in metadata and in words, with the habits of their site, and as ISO 8601."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from importlib.resources import files
from itertools import chain, islice
from typing import Final

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import cached, once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.page.page import Page

#: Words in the languages of many pages: the names of the months and their abbreviations, all of one language in a line;
#: what stands around a date in a byline; and labels of an author, of a day, and of that of a change.
WORDS: Final[dict[str, list[str]]] = json.loads(files(__package__).joinpath("words.json").read_text(encoding="utf-8"))
_MONTHS: Final = {name: number for line in WORDS["months"] for number, name in enumerate(line.split(), 1)}
_MONTH: Final = "(?P<name>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|º)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"  # the years of dates in texts, see `has_year`
_A_YEAR: Final = lazily(r"(?:19|20)\d\d(?!\d)")
#: Dates in words or figures, anywhere in a text. None of them backtracks over more than a few characters.
_FORMS: Final = tuple(
    lazily(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}([-/.])(?P<month>\d\d?)\2(?P<day>\d\d?)(?!\d)",
        rf"(?<!\d){_YEAR}\s?[年년]\s?(?P<month>\d\d?)\s?[月월]\s?(?P<day>\d\d?)\s?[日일]",
        rf"(?<!\d){_YEAR}\.?\s{_MONTH}\s{{1,2}}{_DAY}(?![\d:])",
        rf"(?<!\w){_MONTH}\s{{,2}}{_DAY},?\s{{1,2}}(?:\d\d:\d\d(?::\d\d)?\s(?:[A-Z]{{3,4}}\s)?)?{_YEAR}(?!\d)",
        rf"(?<!\d){_DAY}\s{{,2}}(?:(?:de|of)\s)?{_MONTH},?\s{{1,2}}(?:de\s)?{_YEAR}(?!\d)",
        rf"(?<!\d)(?P<day>\d\d?)-{_MONTH}-{_YEAR}(?!\d)",
        rf"(?<!\d)(?P<first>\d\d?)(?P<mark>[./-])(?P<second>\d\d?)(?P=mark){_YEAR}(?!\d)",
    )
)
#: The last of these forms, where a dot does not mark it: with dots the day comes first everywhere.
_FIGURES: Final = lazily(rf"(?<![\d/-])(?P<first>\d\d?)(?P<mark>[/-])(?P<second>\d\d?)(?P=mark){_YEAR}(?![\d/-])")
#: Where they end: most texts have few such places, and a pattern that begins with one character finds them fast. And
#: characters ahead of it that such a date has.
_YEAR_BEHIND: Final = tuple(lazily(rf"{mark}(?:19|20)\d\d") for mark in "/-")
_AHEAD: Final = 5
#: A day with the time of it, as titles of elements tell it.
MOMENT: Final = lazily(r"(?:19|20)\d\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d(?::[0-5]\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
#: A month alone, as repositories of papers tell it.
MONTH: Final = lazily(r"((?:19|20)\d\d)[-/](0[1-9]|1[0-2])")
_UTC: Final = lazily(r"\s*(?:UTC|GMT|Z)$", re.IGNORECASE)
_LONGEST: Final = 100  # longer texts are no dates
_LONGEST_TEXT: Final = 10_000  # characters in which dates are looked for
_MOST: Final = 20  # dates of each form in them
_MOST_PROOFS: Final = 200  # dates that may prove an order
_FIRST_YEAR: Final = 1800  # earlier years are what software writes that knows no date
_EPOCH: Final = date(1970, 1, 1)  # and so is the epoch of Unix


def iso(text: str) -> str | None:
    """Return a date or time of the metadata as ISO 8601, in its own zone; None if it is not one."""
    text = text.strip()
    if not 8 <= len(text) <= _LONGEST:
        return None
    with suppress(ValueError):
        moment = datetime.fromisoformat(_UTC.sub("+00:00", text) if len(text) > 10 else text)
        if not _is_plausible(moment.date()):
            return None
        return moment.date().isoformat() if len(text) <= 10 else moment.isoformat(timespec="seconds")
    found = find(text)
    return found[0] if found else None


def has_year(text: str) -> bool:
    """Return False for a text in which `find` surely finds nothing, because no year is in it."""
    return ("20" in text or "19" in text) and _A_YEAR.search(text) is not None


def find(text: str, day_first: bool | None = None) -> tuple[str, int, int] | None:
    """Find the first date in a text, see `find_all`; None without one."""
    return next(iter(_found(text, day_first)), None) if has_year(text) else None


def find_all(text: str, day_first: bool | None = None) -> list[tuple[str, int, int]]:
    """Find the dates in a text, with a day, a month and a year of four digits: as ISO 8601, with start and end.

    ``day_first``: the order of a day and a month in figures, such as ``03/04/2024``; None if nobody knows, then they
    are no date.
    """
    return [*_found(text, day_first)] if has_year(text) else []


@cached
def _found(text: str, day_first: bool | None) -> tuple[tuple[str, int, int], ...]:
    """The dates in a text, which several readers ask for: of bylines, of posts, of labels."""
    text = text[:_LONGEST_TEXT]
    found = [match for form in _FORMS for match in islice(form.finditer(text), _MOST)]
    dates: list[tuple[str, int, int]] = []
    for match in sorted(found, key=lambda match: match.start()):
        with suppress(ValueError):
            day = _date(match, day_first)
            if _is_plausible(day) and (not dates or match.start() >= dates[-1][2]):
                dates.append((day.isoformat(), match.start(), match.end()))
    return tuple(dates)


def _date(match: re.Match[str], day_first: bool | None) -> date:
    parts = match.groupdict()
    year = int(parts["year"])
    if "first" not in parts:
        # "İ" and "ſ" match letters of names whatever the case, and are not in them.
        month = _MONTHS.get(parts["name"].casefold(), 0) if "name" in parts else int(parts["month"])
        return date(year, month, int(parts["day"]))
    first, second = int(parts["first"]), int(parts["second"])
    if second > 12 or (day_first is False and first <= 12 and parts["mark"] != "."):
        first, second = second, first
    elif first <= 12 and first != second and parts["mark"] != "." and day_first is None:
        raise ValueError("ambiguous")
    return date(year, second, first)


@once
def proven_orders(page: Page) -> set[bool]:
    """Return the orders that the dates of a page prove: True for the day before the month, False for the other one."""
    text = "\n".join(page.nodes.strings)
    years = islice(chain.from_iterable(behind.finditer(text) for behind in _YEAR_BEHIND), _MOST_PROOFS)
    found = (_FIGURES.search(text, max(0, year.start() - _AHEAD), year.end() + 1) for year in years)
    pairs = ((int(match["first"]), int(match["second"])) for match in found if match)
    return {first > 12 for first, second in pairs if max(first, second) <= 31 and (first > 12) != (second > 12)}


def _is_plausible(day: date) -> bool:
    return day.year >= _FIRST_YEAR and day != _EPOCH


#: Names of ``<meta>`` elements with a picture in the order of precedence, in lower case.
PICTURES: Final = "og:image og:image:url og:image:secure_url twitter:image twitter:image:src thumbnail image".split()
_METAS: Final = 1000  # ``<meta>`` elements that are looked at
_MOST_PICTURES: Final = 20  # pictures that are
_FEW: Final = 5  # pages that may have one picture, as parts of one article
_SHARE: Final = 0.05  # the same as a share of the pages of a site
_SURE: Final = 10  # how many times more pages must prove one order of day and month than the other
#: Countries whose English has the day first. Many pages elsewhere declare ``en-US``, so that this one proves nothing.
_DAY_FIRST: Final = lazily(r"\s*en[-_](?:GB|UK|IE|AU|NZ|IN|ZA)\b", re.IGNORECASE)


def _key(name: str) -> int:
    return xxh3_64_intdigest(name.encode("utf-8", "replace")) >> 1


_ORDERS: Final = {True: _key("day/month"), False: _key("month/day")}


@dataclass(frozen=True)
class Habits:
    """What the pages of a site tell alike; without arguments, nothing is known."""

    pages: int = 0  # number of pages known
    #: on how many of them something is told, by its key, see `keys_told`
    told: Mapping[int, int] = field(default_factory=dict)

    def is_default(self, picture: str) -> bool:
        """Return True for a picture, an address as the page has it, that stands for many pages."""
        return self.told.get(_key(picture.strip()), 0) > max(_FEW, _SHARE * self.pages)

    def day_first(self, page: Page) -> bool | None:
        """Whether dates in figures have the day before the month; None if nobody knows.

        Other dates of the page prove it, or those of the other pages, or else the language tells.
        """
        if proven := proven_orders(page):
            return next(iter(proven)) if len(proven) == 1 else None
        day, month = (self.told.get(_ORDERS[order], 0) for order in (True, False))
        if max(day, month) > _SURE * min(day, month):
            return day > month
        is_sure = page.language not in (None, "en") or _DAY_FIRST.match(page.root.get("lang") or "")
        return True if is_sure else None


NOTHING_KNOWN: Final = Habits()


def keys_told(page: Page) -> list[int]:
    """Return keys of what a page tells that other pages may tell alike: orders of its dates, and pictures."""
    return list({*(_ORDERS[order] for order in proven_orders(page)), *_pictures(page)})


def keys_asked(page: Page) -> list[int]:
    """Return the keys by which `Habits` of a page are asked."""
    return list({*_ORDERS.values(), *_pictures(page)})


def _pictures(page: Page) -> list[int]:
    metas = (meta for meta in islice(page.metas, _METAS) if (meta.property or meta.name).strip().lower() in PICTURES)
    return [_key(meta.content.strip()) for meta in islice(metas, _MOST_PICTURES)]
