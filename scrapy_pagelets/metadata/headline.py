"""The page's own heading: it is content, even where the menus of the site repeat its words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import WORD, lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.text import heading_text as heading_text
from scrapy_pagelets.core.text import naming as naming
from scrapy_pagelets.metadata.dates import has_year
from scrapy_pagelets.page.looks import HEADING, HEADLINE, HEARD
from scrapy_pagelets.page.nodes import CELL, LINE, TAG, NodeTable, among_tags, beginning, rows_tagged, rows_with
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import is_work, types_of, values_of

_LONGEST: Final = 60  # words of the longest heading
_MOST: Final = 200  # candidates that are compared
_TITLE: Final = 1000  # characters of a title that are compared
_HEADINGS: Final = {TAG[f"h{level}"]: level for level in range(1, 7)}
_IS_HEADING: Final = among_tags("h1 h2 h3 h4 h5 h6")
_FIRST_LEVEL: Final = TAG["h1"]
_SHORT: Final = 3  # words of a title from which on a heading that is longer than the title may say it
#: Share of the other pages that have the name of the site at its place; more for a text with a number in it, which may
#: be another one there: how many have the same one is an estimate, and none at all with fewer pages than these.
_OFTEN: Final = 0.2
_OFTEN_WITH_DIGITS, _FEWEST = 0.8, 4
_SECTION: Final = 0.4  # weight of a heading that more of the other pages have than have another one that a title names
_DECLARED: Final = 0.8  # weight of a title in JSON-LD, which may be a number of a product or the name of another page
_PARAGRAPH: Final = lazily(r"\s*(§{1,2})\s+\d")  # the sign of a paragraph of a law, which is no permalink
#: Marks of permalinks at the ends of headings.
_MARKS: Final = " ¶↑#§\N{LINK SYMBOL}\u200b\ufeff\uf0c1\uf292\uf02d"
_BETWEEN: Final = " |/\\>›»:·•–—-"  # marks between links and a title behind them
#: What parts the name of a page from that of its site in a title.
_ENDS: Final = lazily(
    r"\s[-/\N{EN DASH}\N{EM DASH}]\s|[|\N{MIDDLE DOT}\N{BULLET}\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}]|\s:\s"
)
_PARTS: Final = lazily(rf"{_ENDS.pattern}|:\s")
#: Elements that stand for a heading where there is none.
_UNMARKED: Final = [TAG[name] for name in ("p", "div", "td", "b", "strong", "font", "big", "center")]
#: The number of a section before its title.
_NUMBER: Final = lazily(r"(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*[.:)]?\s+(?=\D)")
_EMPHASISED: Final = [TAG[name] for name in ("b", "strong", "font", "big")]
#: What a heading is the title of, and the number of an issue behind its title.
_KIND: Final = lazily(
    r"^\s*(?:title|thread|topic|subject|question|issue|bug|ticket|titel|thema|betreff|titre|sujet|t[íi]tulo|tema|titolo|"
    r"oggetto|тема|主题|標題|标题)\s*[:：]\s*",
    re.IGNORECASE,
)
_TICKET: Final = lazily(r"\s*[#!]\d+\s*")
_BY: Final = lazily(r"(?:by|von|par|por|di|door|av)\b", re.IGNORECASE)  # what begins a byline in a heading: "by Ana Bo"
_KIND_WORDS: Final = 2  # words of a kind before a name in a heading: "Enum Class", "Annotation Type"
_NO_ELEMENT: Final = 0.8  # weight of a heading that is in no heading element
#: Share of the words of a title that a heading must have if other words stand around it on both sides.
_LEAST: Final = 0.3
_Title = tuple[list[str], float]  # the words of a title, and its weight


@dataclass(frozen=True)
class Headline:
    """The own heading of a page."""

    row: int  # row of its element
    text: str  # its text, white space folded
    #: rows of headings above it that name the site, as they stand at the same place of many other pages; and of those
    #: of the first level that say the same again
    banners: tuple[int, ...] = ()


def headline_of(page: Page, alike: Ints | None = None, pages: int = 0, named: Sequence[int] = ()) -> Headline | None:
    """Find the page's own heading: the heading that a title of the page names, or that links to the page have as text.

    The titles are those of the page itself, of Open Graph and of JSON-LD. A heading that stands at the same place of
    many other pages is the name of the site; one that stands there on a few is the name of a section, and the heading
    only if the page has no other. What both say is taken off the titles before the others are compared with them: names
    of sites and of sections are often longer than what follows them. Without one of the first level, a heading above it
    with a kind before the same words ("Class Matcha") is taken in its place. If no title names a heading, it is the
    only one of the first level; without that, a heading with the text of a link by which the page leads to itself, as
    the entry of a menu; the first heading that has a part of the title in it ("Posts about tea"); at last, a paragraph
    of what the title begins with.

    ``alike``: (m,) number of other pages with the same text at the same place, see `Site.pages_alike`; zeros if
    missing. ``pages``: number of other pages of the site that are known. ``named``: rows that a rule of the user names;
    the first with text is the heading.
    """
    for row in named:
        if text := heading_text(page.nodes, row):
            return Headline(row, text)
    told = _titles(page)
    rows = _candidates(page.nodes, [words for words, _ in told])
    found = [*filter(None, (_Candidate.of(page, row, weight, alike, pages, told) for row, weight in rows))]
    names = [one for one in found if _is_often(one.text, one.others, pages)]
    banners = [one.row for one in names if one.is_first_level]
    found = [one for one in found if one not in names]
    first_levels = {one.text.casefold(): one for one in reversed(found) if one.is_first_level}
    if (best := _named(found, names, told)) is not None:
        if len(first_levels) == 1:
            best = _rather(page, next(iter(first_levels.values())), best)
        elif not first_levels:
            best = _with_kind(page.nodes, best)
        names_above = (row for row in banners if row < best.row)
        return Headline(best.row, best.text, (*names_above, *_copies(page.nodes, best, found)))
    if len(first_levels) == 1:  # the title names the site, and nothing else
        [(_, only)] = first_levels.items()
        return Headline(only.row, only.text, banners=tuple(_copies(page.nodes, only, found)))
    return _linked(page, alike, pages) or _about(page, alike, pages) or _unmarked(page, alike, pages)


def _leads_elsewhere(page: Page, row: int) -> bool:
    """Whether all of the text of a row is in links to other pages."""
    links, leaves = page.nodes.links, page.nodes.leaves_of(row)
    elsewhere = links.row[(links.key != 0) & (links.key != page.key)].tolist()
    return bool(page.nodes.leaves_below(elsewhere)[leaves].all())


def _copies(nodes: NodeTable, own: _Candidate, found: Iterable[_Candidate]) -> Iterator[int]:
    equal = (one for one in found if one.is_first_level and one.text.casefold() == own.text.casefold())
    yield from (one.row for one in equal if nodes.first_leaf[one.row] != nodes.first_leaf[own.row])


def _named(found: Sequence[_Candidate], names: Sequence[_Candidate], titles: Sequence[_Title]) -> _Candidate | None:
    """The candidate that most surely is the own heading; None if no title names one; ``names`` are of the site."""
    found = [one for one in found if one.likeness > 0]
    rarest = min((one.others for one in found), default=0)
    shared = [*names, *(one for one in found if one.others > rarest)]
    own = [(_without(title, shared), surely) for title, surely in titles] if shared else []

    def score(one: _Candidate) -> float:
        if one.others > rarest:
            return _SECTION * one.weight * one.likeness
        return one.weight * max(one.likeness, _greatest_likeness(_words(one.text), own))

    return max(found, key=score, default=None)


def _rather(page: Page, first_level: _Candidate, best: _Candidate) -> _Candidate:
    """The only heading of the first level, if it has ``best`` in it, or as much of what the title begins with.

    A title has the words of menus and of boxes as well, but ends with the names of sections and of the site, unless a
    colon is behind these. A heading that leads to another page is the name of the site.
    """
    if best.is_first_level or first_level.others > best.others or _leads_elsewhere(page, first_level.row):
        return best
    words, own = _words(best.text), _words(first_level.text)
    beginning = set(_words(_ENDS.split(page.title[:_TITLE])[0]))
    more = len(beginning & set(own)) >= max(1, len(beginning & set(words)))
    return first_level if more or _place(words, own) is not None else best


def _with_kind(nodes: NodeTable, best: _Candidate) -> _Candidate:
    """The heading of a higher level above the best that has a kind before its words ("Class Matcha"), or the best."""
    words = _words(best.text)
    for row in rows_with(nodes, HEADING)[:_MOST]:
        if row < best.row and nodes.tag[row] < nodes.tag[best.row]:
            text = heading_text(nodes, row)
            if _words(text)[-len(words) :] == words and len(_words(text)) <= len(words) + _KIND_WORDS:
                return best._replace(row=row, text=text)
    return best


def _without(title: list[str], names: Iterable[_Candidate]) -> list[str]:
    """The words of a title that are left without those of some headings."""
    for name in sorted((_words(one.text) for one in names), key=len, reverse=True):
        if (at := _place(name, title)) is not None:
            title = title[:at] + title[at + len(name) :]
    return title


def _linked(page: Page, alike: Ints | None, pages: int) -> Headline | None:
    """The first heading with the text of a link by which the page leads to itself."""
    nodes = page.nodes
    own = [i for i in (nodes.links.key == page.key).nonzero()[0].tolist() if "#" not in nodes.links.href[i]]
    texts = {heading_text(nodes, int(nodes.links.row[i])).casefold() for i in own[:_MOST]} - {""}
    for row, _ in _candidates(nodes) if texts else ():
        text = heading_text(nodes, row)
        if text.casefold() in texts and not _is_often(text, _others(nodes, row, alike), pages):
            return Headline(row, text)
    return None


def _names_of_site(page: Page, alike: Ints, pages: int, most: int) -> list[list[str]]:
    """What the page says in few words at the same place as many others, such as the name of the site; longest first."""
    nodes = page.nodes
    often = ((alike > max(1, _OFTEN * pages)) & (nodes.words > 0) & (nodes.words <= most)).nonzero()[0]
    texts = {nodes.strings[leaf] for leaf in often[:_MOST].tolist()}
    texts |= {meta.content[:_TITLE] for meta in page.metas[:_MOST] if meta.property == "og:site_name"}
    return sorted(filter(None, map(_words, texts)), key=len, reverse=True)


def _about(page: Page, alike: Ints | None, pages: int) -> Headline | None:
    """The first heading, if it says a part of the title and is of the first level, or the only one of its level.

    A title may say nothing but the name of the site, or nothing at all.
    """
    nodes = page.nodes
    texts = {row: heading_text(nodes, row) for row in rows_with(nodes, HEADING)[:_MOST]}
    own = [row for row, text in texts.items() if text and not _is_often(text, _others(nodes, row, alike), pages)]
    if not own:
        return None
    level, words = nodes.tag.item(own[0]), _words(texts[own[0]])
    if level != _FIRST_LEVEL and any(nodes.tag.item(row) == level for row in own[1:]):
        return None
    title = page.title[:_TITLE]
    parts = [part for piece in _PARTS.split(title) if (part := _words(piece))]
    names = [] if alike is None else _names_of_site(page, alike, pages, _LONGEST)
    parts = [part for part in parts if part not in names] or parts  # a menu may have all of them
    parts += map(_words, title.split(" (")[:-1])  # "Context (Velocity 1.7 API)"
    says_one = any(2 * len(part) >= len(words) > 0 and _place(part, words) is not None for part in parts)
    of_site = chain.from_iterable(_words(text) for row, text in texts.items() if row not in own)
    says_none = alike is not None and {*of_site}.issuperset(_words(title)) and not _leads_elsewhere(page, own[0])
    return Headline(own[0], texts[own[0]]) if says_one or says_none else None


def _unmarked(page: Page, alike: Ints | None, pages: int) -> Headline | None:
    """The first paragraph or the like that says the title, what it begins with, but for a number, or ends with.

    A link to the page itself may say it, too.
    """
    nodes, title = page.nodes, page.title[:_TITLE]
    parts = [" ".join(part.split()) for part in _ENDS.split(title)]
    is_number = any(map(str.isdecimal, parts[0])) and len(_words(parts[0])) < _SHORT  # of a ticket, say
    names = [parts[is_number and len(parts) > 1], *_PARTS.split(title)[-1:] * (pages >= _FEWEST), title]
    # The name of a file ("05_more_on_tea") is one word, which a menu has as well.
    wanted = {name.casefold() for name in names if len(WORD.findall(name)) >= _SHORT or name == title}
    emphasised = {name.casefold() for name in names if pages >= _FEWEST and len(_words(name)) == _SHORT - 1}
    own = set(nodes.links.row[nodes.links.key == page.key].tolist()) if wanted or emphasised else set[int]()
    for leaf in np.flatnonzero(nodes.words > 0).tolist() if wanted or emphasised else ():
        row = nodes.parent.item(nodes.leaves.item(leaf))
        if (
            _KIND.sub("", nodes.strings[leaf], 1).strip().casefold()
            in (wanted | emphasised if nodes.tag[row] in _EMPHASISED else wanted)
            and (row in own or _may_say(nodes, row))
            and _is_line(nodes, row, leaf)
            and (nodes.gap[leaf] != CELL or len(_words(nodes.strings[leaf])) >= _SHORT)  # or it is the value of a label
            and not _is_often(nodes.strings[leaf], _others(nodes, row, alike), pages)
        ):
            return Headline(row, _KIND.sub("", nodes.strings[leaf], 1).strip())
    return None


def _is_line(nodes: NodeTable, row: int, leaf: int) -> bool:
    """Whether an element has one leaf, or begins with it, and a block follows."""
    leaves = nodes.leaves_of(row)
    return leaves.start == leaf and (leaves.stop == leaf + 1 or nodes.gap.item(leaf + 1) >= LINE)


def _may_say(nodes: NodeTable, row: int) -> bool:
    """Whether an element has text, or is a link in an element named a title."""
    if nodes.tag[row] in _UNMARKED and not nodes.anchor[row]:
        return True
    around = nodes.look[[above := nodes.parent.item(row), nodes.parent.item(above)]]
    return bool((nodes.signs[around] & HEADLINE).any()) and nodes.tag.item(row) == TAG["a"]


class _Candidate(NamedTuple):
    row: int
    text: str
    weight: float  # how likely an element of its kind is the own heading
    likeness: float  # to the titles of the page, 0 to 1
    others: int  # number of other pages with the same text at the same place
    is_first_level: bool

    @classmethod
    def of(
        cls, page: Page, row: int, weight: float, alike: Ints | None, pages: int, titles: Sequence[_Title]
    ) -> _Candidate | None:
        """The candidate in a row; None if it has no words or too many, or if nothing speaks for it."""
        nodes, text = page.nodes, heading_text(page.nodes, row)
        first = nodes.strings[nodes.first_leaf.item(row)] if text else ""
        if "§" in first and (sign := _PARAGRAPH.match(first)):
            text = f"{sign[1]} {text}"
        words = _words(text)
        if not 0 < len(words) <= _LONGEST:
            return None
        own_leaves = [] if alike is None else _own_leaves(nodes, row, alike, pages)
        if short := _without_buttons(nodes, row) or _shorter(nodes, row, own_leaves, titles):
            text, words = short, _words(short)
        likeness = _greatest_likeness(words, titles)
        if own := _words(" ".join(nodes.strings[leaf] for leaf in own_leaves)):
            likeness = max(likeness, _greatest_likeness(own, titles))
        if not likeness and (number := _NUMBER.match(text)):
            likeness = _greatest_likeness(_words(text[number.end() :]), titles)
        if _BY.match(text) and not any(title[: len(words)] == words for title, _ in titles):
            return None
        is_first_level = nodes.tag.item(row) == _FIRST_LEVEL
        found = cls(row, text, weight, likeness, _others(nodes, row, alike), is_first_level)
        return found if likeness or is_first_level else None


def buttons_in_headings(nodes: NodeTable) -> Iterator[int]:
    """Rows of the buttons in headings that have other words: to copy a name, to change units."""
    buttons = _pressed(nodes)
    for row in rows_with(nodes, HEADING) if buttons else ():
        yield from _buttons_in(nodes, row, buttons)


@once
def _pressed(nodes: NodeTable) -> list[int]:
    """Rows of the buttons, of the small links that lead nowhere, as those that fold a section, and of icons' names.

    And of the links from several headings to one place of the page, as to its top, that say the same.
    """
    inside = beginning(nodes.links.href, "#")
    if not inside and not rows_with(nodes, HEARD):
        return rows_tagged(nodes, TAG["button"])
    rows = nodes.links.row[inside]
    above = nodes.tag[nodes.parent[rows]]
    led: dict[str, list[int]] = {}
    for at in _IS_HEADING[above].nonzero()[0].tolist():
        led.setdefault(nodes.links.href[inside[at]], []).append(rows.item(at))
    together = (row for each in led.values() if len(each) > 1 for row in each)
    said = {row: " ".join(nodes.strings[nodes.leaves_of(row)]) for row in together}
    times = Counter(said.values())
    again = [row for row, text in said.items() if times[text] > 1 and any(map(str.isalpha, text))]
    heard = [row for row in rows_with(nodes, HEARD) if _IS_HEADING[nodes.tag[nodes.parent[nodes.parent[row]]]]]
    return sorted({*rows_tagged(nodes, TAG["button"]), *rows[above == TAG["small"]].tolist(), *again, *heard})


def _buttons_in(nodes: NodeTable, row: int, buttons: list[int]) -> list[int]:
    """Those of some buttons that a heading has beside other words."""
    within = buttons[bisect_left(buttons, row) : bisect_left(buttons, nodes.end.item(row))]
    return within if nodes.words_of(row) > sum(map(nodes.words_of, within)) else []


def _without_buttons(nodes: NodeTable, row: int) -> str | None:
    """The text of a heading without that of the buttons in it; None if it has none beside other words."""
    buttons = _pressed(nodes)
    if not buttons or not (buttons := _buttons_in(nodes, row, buttons)):
        return None
    leaves, pressed = nodes.leaves_of(row), nodes.leaves_below(buttons)
    kept = [leaf for leaf in range(leaves.start, leaves.stop) if not pressed[leaf]]
    parts = (part for leaf in kept for part in (" " if nodes.gap[leaf] else "", nodes.strings[leaf]))
    return " ".join("".join(parts).strip(_MARKS).split())


def _shorter(nodes: NodeTable, row: int, own: list[int], titles: Iterable[_Title]) -> str | None:
    """The part of a heading that a title has, and not the whole heading; None without one.

    It may have lines as "Chapter 3" or links before it, if a title begins with the rest; a byline or a date behind it;
    a label before it ("Thread:") and a number behind it ("#7"); badges behind the last of its ``own`` leaves.
    """
    leaves, strings = nodes.leaves_of(row), nodes.strings
    first, stop = leaves.start, leaves.stop
    if stop - first < 2:
        return None
    starts, parts = list[int](), list[slice]()
    if nodes.tag.item(row) in _HEADINGS:
        starts = [at for at in range(first + 1, stop) if nodes.gap.item(at) >= LINE]
        linked = [at for at in range(first, stop) if nodes.anchor[nodes.leaves[at]] and not nodes.anchor[row]]
        starts += [at for at in range(linked[-1] + 1, stop) if nodes.words.item(at)][:1] if linked else []
    parts += (slice(start, stop) for start in sorted(starts) if _begins(" ".join(strings[start:stop]), titles))
    if nodes.gap.item(first + 1) >= LINE and any(_words(strings[first]) == title for title, _ in titles):
        parts.append(slice(first, first + 1))
    dates_end = not strings[first].rstrip().endswith((":", "："))  # unlike "Day: 4 May 2026"
    ends = [at for at in range(first + 1, stop) if _BY.match(strings[at]) or (dates_end and has_year(strings[at]))]
    parts += (slice(first, end) for end in ends)
    start, end = first + bool(_KIND.fullmatch(strings[first])), stop - bool(_TICKET.fullmatch(strings[stop - 1]))
    parts.append(slice(start, end))
    parts += (slice(first, end) for end in range(stop - 1, own[-1], -1)) if own else ()
    found = (_part(nodes, leaves, part, titles) for part in parts)
    return next((text.lstrip(_BETWEEN) for text in found if text), None)


def _begins(text: str, titles: Iterable[_Title]) -> bool:
    """Whether a title begins with some words, but for the number of a chapter before them."""
    words = _words(text)
    starts = ((title, skip) for title, _ in titles for skip in {0, int(title[0].isdecimal())})
    return len(words) > 1 and any(title[skip : skip + len(words)] == words for title, skip in starts)


def _part(nodes: NodeTable, leaves: slice, part: slice, titles: Iterable[_Title]) -> str | None:
    """The text of a part of a heading, if a title has it and not the whole heading; None for others."""
    own, whole = (" ".join(nodes.strings[each]).strip(_MARKS) for each in (part, leaves))
    words, others = _words(own), _words(whole)
    is_own = words and any(_place(words, title) is not None and _place(others, title) is None for title, _ in titles)
    return " ".join(own.split()) if is_own else None


def _own_leaves(nodes: NodeTable, row: int, alike: Ints, pages: int) -> list[int]:
    """The leaves of a heading but those of its kind, as on other pages ("Category:", "Open access"); [] if all are."""
    leaves = range(*nodes.leaves_of(row).indices(len(alike)))
    own = [leaf for leaf in leaves if not _is_often(nodes.strings[leaf], alike.item(leaf), pages)]
    return own if len(own) < len(leaves) else []


def _is_often(text: str, others: int, pages: int) -> bool:
    """Whether a heading stands at the same place of so many other pages that it is the name of the site."""
    if any(map(str.isdecimal, text)):
        return pages >= _FEWEST and others > _OFTEN_WITH_DIGITS * pages
    return others > max(1, _OFTEN * pages)


def _titles(page: Page) -> list[_Title]:
    """What tells the title of the page, with its weight: ``<title>``, Open Graph, and the one work of JSON-LD."""
    shared = (meta.content for meta in page.metas[:_MOST] if (meta.property or meta.name) == "og:title")
    told = [(page.title, 1.0), (next(shared, ""), 1.0)]
    works = [each for each in page.objects if any(map(is_work, types_of(each)))]
    for work in works[: len(works) == 1]:
        names = [name for key in ("headline", "name") for name in values_of(work.get(key))[:1]]
        told += ((name, _DECLARED) for name in names if isinstance(name, str))
    found: dict[tuple[str, ...], float] = {}  # most pages tell one title twice
    for title, weight in told:
        found.setdefault(tuple(_words(title[:_TITLE])), weight)
    return [([*title], weight) for title, weight in found.items() if title]


def _others(nodes: NodeTable, row: int, alike: Ints | None) -> int:
    """Number of other pages that have all text of a row at the same place."""
    if alike is None:
        return 0
    return min(alike[nodes.first_leaf.item(row) : nodes.last_leaf.item(row)].tolist(), default=0)


def _candidates(nodes: NodeTable, titles: list[list[str]] | None = None) -> Iterator[tuple[int, float]]:
    """Rows that may be the heading, with a weight, heading elements first; all but ``h1`` have a word of a title."""
    headings, others = (rows_with(nodes, sign)[:_MOST] for sign in (HEADING, HEADLINE))
    if titles is not None:  # most headings of a long page name its sections
        headings, others = naming(nodes, headings, titles), naming(nodes, others, titles)
    for row in headings:
        yield row, 1.5 - 0.1 * _HEADINGS[nodes.tag.item(row)]
    for row in others:
        yield row, _NO_ELEMENT


def _greatest_likeness(words: list[str], titles: Iterable[_Title]) -> float:
    return max((surely * _likeness(words, title) for title, surely in titles if title), default=0.0)


def _likeness(words: list[str], title: list[str]) -> float:
    """0 to 1: how much of a title a heading says; 0 if it says something else."""
    if _place(words, title) is None:
        says_it = len(title) >= _SHORT and 2 * len(title) >= len(words) and _place(title, words) is not None
        return len(title) / len(words) if says_it else 0.0
    share = sum(map(len, words)) / sum(map(len, title))
    at_end = words == title[: len(words)] or words == title[-len(words) :]
    return share if at_end or share >= _LEAST else 0.0


def _place(words: list[str], title: list[str]) -> int | None:
    """Where the words stand in a title, all of them in a row; None if they do not."""
    if words[0] not in title:
        return None
    return next((i for i in range(len(title) - len(words) + 1) if title[i : i + len(words)] == words), None)


def parts_of(title: str) -> set[str]:
    """The parts of a title between marks, such as the names of a page, of its author and of its site."""
    return {part.strip() for part in _PARTS.split(title[:_TITLE])}


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold().replace("_", " "))  # names of files and wiki pages are titles, too


give(
    "text", LONGEST_HEADING=_LONGEST, MARKS_OF_HEADINGS=_MARKS, FIRST_LEVEL=_FIRST_LEVEL, words_of_heading=_words,
)  # fmt: skip
