"""Read the byline of a page, the short texts around its heading: who wrote it, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from typing import Final

from scrapy_pagelets.metadata import dates
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import AUTHOR, HEADING
from scrapy_pagelets.page.nodes import TAG, NodeTable, attributes_at, leaves_beginning, rows_with
from scrapy_pagelets.page.page import Page

_TIME: Final = TAG["time"]
#: Leaves after and before the heading that may be the byline. The first long one ends it.
_AFTER, _BEFORE = 14, 3
_LONG: Final = 15
#: Leaves between the heading of a list and that of its first entry, and words of a name in lower case.
_FEW: Final = 3
#: Words of a name.
_MOST_WORDS: Final = 6
_BY: Final = (
    r"(?:(?:article|discussion|posted|published|written|created|submitted|started|words|text|story)\s+)?by|"
    r"author|von|verfasst von|par|publié par|rédigé par|por|escrito por|publicado por|di|scritto da|pubblicato da|"
    r"door|av|af|autor|autor[ae]?|przez|автор|作者|著者|投稿者"
)
_BY_NAME: Final = re.compile(rf"(?:{_BY})\s*[:：]?\s+(?P<name>\S.*)|(?:{_BY})\s*[:：]\s*(?P<other>\S.*)", re.IGNORECASE)
_BY_ALONE: Final = re.compile(rf"[\"'’”]?\s*(?:{_BY})\s*[:：]?", re.IGNORECASE)
_CHANGED: Final = re.compile(
    r"updat|modif|edited|revised|reviewed|changed|aktualisiert|geändert|mis à jour|actualizad|atualizad|aggiornat|"
    r"bijgewerkt|обновлен|更新",
    re.IGNORECASE,
)
#: Words around a date in a byline. A text with others is not one.
_AROUND_DATE: Final = frozenset(
    "at am pm on the um uhr à le el il de date posted published publish written created released submitted last update "
    "updated modified edited revised reviewed changed this page was article utc gmt est edt cst cdt mst mdt pst pdt "
    "cet cest st nd rd th mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday "
    "publicado publié veröffentlicht aktualisiert geändert stand mis mise jour actualizado atualizado pubblicato "
    "aggiornato 投稿日 公開日 更新日 発行日 发布于 发表于 更新于".split()
)
_WORD: Final = re.compile(r"[^\W\d_]+")
#: Words of links beside the name of an author. A text of these alone is not a name.
_NO_NAME: Final = frozenset("profile posts articles website homepage google facebook twitter linkedin view all".split())
#: What a page says of its last change, at any place.
_LAST_CHANGE: Final = re.compile(
    r"(?:(?:this )?page was last edited|(?:this page was |page )?last (?:updated?|modified|changed|revised))(?: on)?\b",
    re.IGNORECASE,
)
#: How such a text begins: its first word has four letters.
_BEGINS_CHANGE: Final = ("tplTPL", "haHA", "", "", " ")
#: Marks around a name or between two entries.
_MARKS: Final = " \t\n\xa0|·•,-–—/"
#: Characters of a text that is looked at.
_LONGEST: Final = 150


class Byline:
    """The byline of a page; without a heading of its own, only what the page says of its last change.

    It is read only as far as somebody asks, because most pages tell the same in their head.

    Parameters
    ----------
    page : the page
    headline : its own heading
    """

    def __init__(self, page: Page, headline: Headline | None) -> None:
        self._page = page
        self._heading = page.nodes.leaves_of(headline.row) if headline else None

    @cached_property
    def author(self) -> str | None:
        """The one name that it tells."""
        if self._heading is None:
            return None
        _, _, dated = self._dates
        return _author(self._page, [leaf for leaf in self._near if leaf not in dated and leaf >= self._heading.stop])

    @property
    def published(self) -> str | None:
        """The first date, in ISO 8601."""
        return self._dates[0]

    @cached_property
    def modified(self) -> str | None:
        """The first date of a change, or that of the last change, in ISO 8601."""
        changes = set() if self._dates[1] else set(_changes(self._page))
        return changes.pop() if len(changes) == 1 else self._dates[1]

    @cached_property
    def _near(self) -> list[int]:
        return _near(self._page, self._heading) if self._heading else []

    @cached_property
    def _dates(self) -> tuple[str | None, str | None, list[int]]:
        return _dates(self._page, self._near)


def _near(page: Page, heading: slice) -> list[int]:
    """The short leaves after the heading, up to the next one or a long text, and just before it; none in a list."""
    nodes, start, stop = page.nodes, heading.start, heading.stop
    headings = _in_headings(nodes, start - _BEFORE, stop + _AFTER)
    found: list[int] = []
    words = nodes.words[: stop + _AFTER].tolist()
    for leaf in range(stop, len(words)):
        if leaf in headings and not _BY_NAME.fullmatch(nodes.strings[leaf][:_LONGEST]):
            if nodes.anchor[nodes.leaves[leaf]] and len(found) <= _FEW:
                return []
            break
        if words[leaf] >= _LONG:
            break
        found.append(leaf)
    for leaf in range(start - 1, max(start - 1 - _BEFORE, -1), -1):
        if leaf in headings or words[leaf] >= _LONG:
            break
        found.append(leaf)
    return [leaf for leaf in found if len(nodes.strings[leaf]) <= _LONGEST]


def _in_headings(nodes: NodeTable, start: int, stop: int) -> set[int]:
    """The first leaves of each heading that has leaves in a range."""
    spans = takewhile(lambda span: span.start < stop, map(nodes.leaves_of, rows_with(nodes, HEADING)))
    near = [span for span in spans if span.stop > start]
    return {leaf for span in near for leaf in range(span.start, min(span.stop, span.start + _LONG))}


def _dates(page: Page, near: list[int]) -> tuple[str | None, str | None, list[int]]:
    """The first dates of publication and of change, and their leaves."""
    published = modified = None
    leaves = []
    for leaf in near:
        text = page.nodes.strings[leaf]
        date, label = _date(page, leaf, text)
        if date is None:
            continue
        if not _BY_NAME.fullmatch(text.strip(_MARKS)):  # "By Ana Bo, 20 November 2026" tells both
            leaves.append(leaf)
        before = page.nodes.strings[leaf - 1] if leaf and page.nodes.words[leaf - 1] <= 4 else ""
        if _CHANGED.search(label) or (_CHANGED.search(before) and dates.find(before) is None):
            modified = modified or date
        else:
            published = published or date
    return published, modified, leaves


def _date(page: Page, leaf: int, text: str) -> tuple[str | None, str]:
    """The date that a leaf tells and the words around it; None if it has others than those and a name behind "by"."""
    row = page.nodes.parent.item(page.nodes.leaves.item(leaf))
    if page.nodes.tag.item(row) == _TIME and (told := dates.iso(attributes_at(page.nodes, [row], "datetime")[0])):
        return told, text
    found = dates.find(text, page.language) if dates.has_year(text) else None
    if found is None:
        return None, ""
    before, signature = text[: found[1]], _before_date(text, found[1])
    if _BY_NAME.fullmatch(signature) and "," not in signature:
        before = ""
    around = f"{before} {text[found[2] :]}"
    return (found[0], around) if _AROUND_DATE.issuperset(_WORD.findall(around.lower())) else (None, "")


def _author(page: Page, near: list[int]) -> str | None:
    """The one name behind "by", or in an element whose class says author; None if there are several, as in a list."""
    called = _called_author(page.nodes) if near else set()
    names = {name for leaf in near if (name := _named(page, leaf, near, called))}
    return names.pop() if len(names) == 1 else None


def _called_author(nodes: NodeTable) -> set[int]:
    """The rows of the elements whose class or relation says author."""
    related = [(row, relation.lower()) for row, relation in nodes.relations.items()]
    named = [row for row, relation in related if "author" in relation and "author" in relation.split()]
    return {*rows_with(nodes, AUTHOR), *named}


def _named(page: Page, leaf: int, near: list[int], called: set[int]) -> str | None:
    """The name that a leaf tells, or the one before it announces."""
    strings = page.nodes.strings
    text = strings[leaf].strip(_MARKS)
    if match := _BY_NAME.fullmatch(text):
        name = _name(page, match["name"] or match["other"])
        # "by default ..." begins a sentence, a link "by review score" sorts a list; names in lower case are short.
        most = 1 if page.nodes.anchor[page.nodes.leaves[leaf]] else _FEW
        return name if name and (not name[0].islower() or len(name.split()) <= most) else None
    announced = leaf - 1 in near and _BY_ALONE.fullmatch(strings[leaf - 1].strip(_MARKS))
    return _name(page, text) if announced or (called and _is_inside(page.nodes, leaf, called)) else None


def _is_inside(nodes: NodeTable, leaf: int, rows: set[int]) -> bool:
    """Whether one of the three elements around a leaf is among some rows, and has few other leaves."""
    row = nodes.leaves.item(leaf)
    for _ in range(3):
        row = nodes.parent.item(row)
        if row < 0 or nodes.last_leaf.item(row) - nodes.first_leaf.item(row) > 3:
            return False
        if row in rows:
            return True
    return False


def _undated(page: Page, text: str) -> str:
    """A name without the date behind it; the same text if there is none, or more than a name before it."""
    found = dates.find(text, page.language)
    if found is None:
        return text
    name = _before_date(text, found[1])
    return text if "," in name else name


def _before_date(text: str, start: int) -> str:
    """What stands before a date, without the words that belong to it."""
    words = text[:start].split()
    while words and words[-1].strip(_MARKS).lower() in _AROUND_DATE:
        words.pop()
    return " ".join(words).strip(_MARKS)


def _name(page: Page, text: str) -> str | None:
    """A text as a name; None if it is too long, has no letters, or is a date, an address or the label of a link."""
    name = _undated(page, text.strip(_MARKS + ":"))
    cut = re.split(r"\s+[|·•]\s+|\s+on\s+(?=\w+ \d|\d)|\s+[–—]\s+|\s+\((?!.*\) \w)", name, maxsplit=1)[0].strip()
    words = _WORD.findall(cut.lower())
    odd = "@" in cut or "://" in cut or _AROUND_DATE.issuperset(words) or _NO_NAME.issuperset(words)
    odd = odd or dates.find(cut, page.language) is not None
    return None if odd or len(cut.split()) > _MOST_WORDS or len(cut) > 80 or _BY_ALONE.fullmatch(cut) else cut


def _changes(page: Page) -> Iterator[str]:
    """The dates of the texts that begin as "Last updated on"."""
    strings = page.nodes.strings
    for leaf in leaves_beginning(page.nodes, _BEGINS_CHANGE):
        text = strings[leaf]
        if len(text) <= _LONGEST and (match := _LAST_CHANGE.match(text)):
            rest = text[match.end() :]
            if not any(map(str.isalnum, rest)) and leaf + 1 < len(strings):
                rest = strings[leaf + 1][:_LONGEST]
            told = dates.find(rest, page.language)
            if told:
                yield told[0]
