"""Count what a feed says, in one pass and bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappush, heappushpop, nlargest
from typing import Any, Final, TypeAlias

from scrapy_pagelets.base.display import shortened
from scrapy_pagelets.feed.feed_reader import CONTENT, Line, pagelets_of_line
from scrapy_pagelets.page.urls import site_of

NO_CLASS: Final = "no template"
NO_SITE: Final = "no site"  # the site of files that were read without the beginning of their URLs
_LEAST: Final = 3  # content repeats if at least so many pages of a site have it
_REPEATED: Final = 0.1  # and at least this share of them
_WORDS: Final = 4  # shorter pagelets, in words, may repeat by chance
#: Most texts that are counted of a class or site, and of all classes and sites; the least number of a class or site.
_TEXTS: Final = 2_000
_ALL_TEXTS: Final = 200_000
_LEAST_TEXTS: Final = 5
_LONGEST: Final = 160  # characters of a text that are kept
#: Pages that are named as doubtful, groups of duplicates, pages of a group, and duplicates whose group is remembered.
_DOUBTFUL: Final = 50
_GROUPS: Final = 50
_NAMED: Final = 5
_REMEMBERED: Final = 200_000
_KNOWN: Final = 10  # a class needs this many pages before one of them can be the odd one out
_DEVIATIONS: Final = 3.0  # the share of the odd one out differs from the mean by so many standard deviations
_DIFFERENCE: Final = 0.3  # and by so much
_FEW_WORDS: Final = 20  # little is left if these words are not reached
_FEW: Final = 0.1  # nor this part of the mean of the class
_UNSURE: Final = (0.3, 0.7)  # templateness at which a pagelet could as well be decided otherwise
_MOSTLY: Final = 0.5  # the share of such words that is doubtful
_POINTS: Final = 25  # points of the curves, half of the most
_Highest: TypeAlias = list[tuple[float, str]]  # a heap of values, each with the URL of its page
_DIGITS: Final = str.maketrans("123456789", "0" * 9)


@dataclass
class Totals:
    """Counts of some pages."""

    pages: int = 0
    duplicates: int = 0  # near-duplicates
    empty: int = 0  # pages of which nothing is left
    kept: int = 0  # words of the content
    stripped: int = 0  # words of the template

    @property
    def share(self) -> float:
        """The chrome ratio: stripped words divided by all words, of all pages together."""
        return self.stripped / max(1, self.kept + self.stripped)

    def count(self, other: Totals) -> None:
        """Add other counts."""
        for name in ("pages", "duplicates", "empty", "kept", "stripped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Class(Totals):
    """The pages of one template."""

    texts: Frequent = field(default_factory=lambda: Frequent(_TEXTS))  # the stripped texts, by number of pages
    known: int = 0  # number of pages that were known when the last page was cleaned
    _mean: float = 0.0
    _squares: float = 0.0
    _least: _Highest = field(default_factory=list)
    _fewest: _Highest = field(default_factory=list)
    _most: _Highest = field(default_factory=list)

    def compare(self, url: str, one: Totals, share: float) -> None:
        """Remember a page that was counted, with its share of template, until all pages are known."""
        difference = share - self._mean
        self._mean += difference / self.pages
        self._squares += difference * (share - self._mean)
        if one.kept:
            _keep(self._least, (-one.kept, url))
        _keep(self._fewest, (-share, url))
        _keep(self._most, (share, url))

    def unlike(self) -> Iterator[Doubtful]:
        """The pages that are unlike the others, in whatever order they came."""
        for kept, url in self._least:
            mean = (self.kept + kept) / max(1, self.pages - 1)
            if -kept < min(_FEW_WORDS, _FEW * mean):
                left = "1 word is" if kept == -1 else f"{-kept:.0f} words are"
                yield Doubtful(3.0, url, f"Only {left} left; others like it have {mean:,.0f} on average.")
        least = max(_DIFFERENCE, _DEVIATIONS * math.sqrt(self._squares / self.pages))
        for share, url in {*self._most, *((-negative, url) for negative, url in self._fewest)}:
            if self.pages > _KNOWN and abs(share - self._mean) >= least:
                yield Doubtful(1.0, url, f"{share:.0%} of it was stripped, unlike the other pages of its class.")


@dataclass
class SiteSummary(Totals):
    """The pages of one site."""

    classes: dict[str, Class] = field(default_factory=dict)  # by the id of the template
    contents: Frequent = field(default_factory=lambda: Frequent(_TEXTS))  # content pagelets, by number of pages

    @property
    def repeated(self) -> list[tuple[str, int]]:
        """Content that many pages share, perhaps template, and how many (Bar-Yossef & Rajagopalan 2002, Figure 4)."""
        least = max(_LEAST, _REPEATED * self.pages)
        return [(text, count) for text, count in self.contents.top() if count >= least]


@dataclass(order=True)
class Doubtful:
    """A page whose cleaning should be looked at."""

    weight: float  # how doubtful
    url: str
    reason: str = field(compare=False)  # a sentence


@dataclass
class Summary(Totals):
    """Everything that the report says."""

    sites: dict[str, SiteSummary] = field(default_factory=dict)  # by name
    #: totals of adjacent pages in the order of the feed, of equal numbers of pages
    curve: list[Totals] = field(default_factory=list)
    all_pagelets: bool = False  # whether the feed has the pagelets that were stripped
    _step: int = 1
    _doubtful: list[Doubtful] = field(default_factory=list)
    _groups: dict[str, list[str]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _original: dict[str, str] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Count a page."""
        one = _totals_of(line)
        about = line.get("template") or {}
        site, page_class = self._of(site_of(line["url"]) or NO_SITE, about.get("id") or NO_CLASS)
        if isinstance(pages := about.get("pages"), int) and pages > 0:  # other tools may write anything
            page_class.known = pages
        for totals in (self, site, page_class):
            totals.count(one)
        self._point(one)
        self._texts(line, site, page_class)
        page_class.compare(line["url"], one, about.get("share") or one.share)
        if (doubtful := _doubt(line, one)) is not None:
            _keep(self._doubtful, doubtful)
        if original := line.get("near_duplicate_of"):
            self._duplicate(line["url"], str(original))

    @property
    def doubtful(self) -> list[Doubtful]:
        """Pages to look at, the most doubtful first, each with its gravest reason."""
        classes = (page_class for site in self.sites.values() for page_class in site.classes.values())
        unlike = [one for page_class in classes for one in page_class.unlike()]
        gravest = {one.url: one for one in sorted([*unlike, *self._doubtful])}
        return sorted(gravest.values(), key=lambda one: (-one.weight, one.url))[:_DOUBTFUL]

    @property
    def groups(self) -> list[tuple[str, int, list[str]]]:
        """The largest groups of near-duplicates: the first page, how many are like it, and some of them."""
        largest = nlargest(_GROUPS, self._sizes.items(), key=lambda group: group[1])
        return [(url, size, self._groups[url]) for url, size in largest]

    def _of(self, name: str, number: str) -> tuple[SiteSummary, Class]:
        """The site and the class of a page. Later sites remember fewer texts, so that memory is bounded."""
        most = max(_LEAST_TEXTS, min(_TEXTS, _ALL_TEXTS // (len(self.sites) + 1)))
        if (site := self.sites.get(name)) is None:
            site = self.sites[name] = SiteSummary(contents=Frequent(most))
        if (page_class := site.classes.get(number)) is None:
            page_class = site.classes[number] = Class(texts=Frequent(most))
        return site, page_class

    def _point(self, one: Totals) -> None:
        if not self.curve or self.curve[-1].pages == self._step:
            if len(self.curve) == 2 * _POINTS:
                for first, second in zip(self.curve[::2], self.curve[1::2], strict=True):
                    first.count(second)
                self.curve = self.curve[::2]
                self._step *= 2
            self.curve.append(Totals())
        self.curve[-1].count(one)

    def _texts(self, line: Line, site: SiteSummary, page_class: Class) -> None:
        content: dict[str, None] = {}  # in the order of the page, so that two reports on a feed are the same
        stripped: dict[str, None] = {}
        for pagelet in pagelets_of_line(line):
            text = " ".join(pagelet["text"].split())
            if pagelet["role"] != CONTENT:
                self.all_pagelets = True
                stripped[shortened(text, _LONGEST)] = None
            elif pagelet["words"] >= _WORDS:
                content[shortened(text.casefold().translate(_DIGITS), _LONGEST)] = None
        stripped.pop("", None)
        for text in stripped:
            page_class.texts.add(text)
        for text in content:
            site.contents.add(text)

    def _duplicate(self, url: str, original: str) -> None:
        first = self._original.get(original, original)
        if len(self._original) < _REMEMBERED:
            self._original[url] = first
        if first in self._sizes or len(self._sizes) < _REMEMBERED:
            self._sizes[first] = self._sizes.get(first, 0) + 1
            named = self._groups.setdefault(first, [])
            if len(named) < _NAMED:
                named.append(url)


def summary_of(lines: Iterable[Line]) -> Summary:
    """Count the pages of a feed. Raise FeedError if the file is not a feed."""
    summary = Summary()
    for line in lines:
        summary.add(line)
    return summary


def _totals_of(line: Line) -> Totals:
    """The counts of one page. What was stripped follows from the share if the feed has no pagelets of the template."""
    listed = pagelets_of_line(line)
    kept = sum(pagelet["words"] for pagelet in listed if pagelet["role"] == CONTENT)
    stripped = sum(pagelet["words"] for pagelet in listed if pagelet["role"] != CONTENT)
    share = (line.get("template") or {}).get("share") or 0.0
    if not stripped and 0 < share < 1:
        stripped = round(kept * share / (1 - share))
    return Totals(1, int(bool(line.get("near_duplicate_of"))), int(not kept), kept, stripped)


def _doubt(line: Line, one: Totals) -> Doubtful | None:
    """Why a page is doubtful by itself, the gravest reason only."""
    if not one.kept:
        return Doubtful(4.0, line["url"], "Nothing is left of it.")
    listed, (least, most) = pagelets_of_line(line), _UNSURE
    words = sum(pagelet["words"] for pagelet in listed if least < (pagelet.get("templateness") or 0.0) < most)
    unsure = words / max(1, sum(pagelet["words"] for pagelet in listed))
    why = f"{unsure:.0%} of its words could as well have been decided otherwise."
    return Doubtful(1.0 + unsure, line["url"], why) if unsure >= _MOSTLY else None


def _keep(heap: list[Any], one: Any) -> None:
    """Keep one of the pages with the highest values, of which there are not many."""
    (heappush if len(heap) < _DOUBTFUL else heappushpop)(heap, one)


class Frequent:
    """Counts of texts, of which the rarest are dropped when there are too many: Manku, Motwani 2002, lossy counting."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count a text."""
        self._counts[text] += 1
        if len(self._counts) > 2 * self._most:
            self._counts = Counter(dict(self.top(self._most)))

    def top(self, number: int | None = None) -> list[tuple[str, int]]:
        """The most frequent texts and their counts; all texts without a number."""
        return self._counts.most_common(number)
