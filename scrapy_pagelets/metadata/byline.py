"""Read the byline of a page, the short texts around its heading: who wrote it, and when."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from functools import cached_property, partial
from itertools import takewhile
from typing import Final

import numpy as np

from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.metadata import dates
from scrapy_pagelets.metadata.dates import Habits
from scrapy_pagelets.metadata.headline import Headline, parts_of
from scrapy_pagelets.page.looks import AUTHOR, BYLINE, COMMENT, COMMENTS, ENTRY, HEADING, LANDMARKS, RELATED, REVIEWS
from scrapy_pagelets.page.nodes import (
    LINE,
    TAG,
    TEXT,
    NodeTable,
    attributes_at,
    leaves_beginning,
    rows_named,
    rows_tagged,
    rows_with,
)
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import host_of

#: Attributes with the date of an element, by its tag; any other tag is one of a web component, as `relative-time`.
_ATTRIBUTES: Final = {TAG["time"]: "datetime", TAG["abbr"]: "title", TAG["?"]: "datetime"}
#: Elements that may tell in words how long ago something was, and in their title exactly when.
_DATED: Final = frozenset(TAG[name] for name in "a span time abbr small i em".split())
#: Classes of the days on which something begins and ends, as in hCalendar: they are not those of the page.
_OF_EVENT: Final = lazily(r"(?:^|[\s_-])(?:dt-?start|dt-?end|(?:start|end|event)-?date)(?:$|[\s_-])", re.IGNORECASE)
#: Leaves after and before the heading that may be the byline. The first long one ends it.
_AFTER, _BEFORE = 14, 3
_LONG: Final = 15
_FEW: Final = 3  # leaves between the heading of a list and that of its first entry, and words of a name in lower case
#: Words of a name.
_MOST_WORDS: Final = 6
_BY: Final = (
    r"(?:(?:article|discussion|posted|added|opened|reported|published|written|created|submitted|started|words|text|"
    r"story)\s+)?by|author|reporter|von|verfasst von|par|publié par|rédigé par|por|escrito por|publicado por|"
    r"enviado por|postado por|di|scritto da|inviato da|pubblicato da|"
    r"door|av|af|autor|autor[ae]?|przez|vložil(?:/?a)?|napsala?|автор|作者|著者|投稿者|작성자|글쓴이|بقلم|מאת"
)
#: Labels of a name, which are verbs or other words without their colon.
_LABELS: Final = (
    rf"{_BY}|muhabir|yazar|yazan|haber|redacteur|tekst|skribent|toimittaja|írta|szerző|συντάκτης|tác giả|기자|記者|记者"
)
_BY_NAME: Final = lazily(rf"(?:{_BY})\s*[:：]?\s+(?P<name>\S.*)|(?:{_LABELS})\s*[:：]\s*(?P<other>\S.*)", re.IGNORECASE)
_REPORTERS: Final = ("기자", "記者", "记者")  # words behind a name
_REPORTER: Final = lazily(rf"(?P<name>[^\W\d_]{{2,5}})\s?(?:{'|'.join(_REPORTERS)})")
#: What stands between the name of who did something and the day of it: "released this".
_DID: Final = lazily(
    r"\s*(?:released|opened|asked|wrote|posted|published|created|started|submitted|uploaded|added|commented|answered)"
    r"(?: (?:this|it|an?)(?: \w+)?)?(?: on)?:?\s*",
    re.IGNORECASE,
)
#: Addresses of pages of users.
OF_USER: Final = lazily(
    r"(?:^|[/?&=])(?:u|users?|members?|profiles?|memberlist|viewprofile|userinfo|author|aut(?:or|eur)(?:es)?|autore|auteurs)"
    r"(?:\.\w{2,5})?[/?=]|"
    r"user[-_]?id=|mode=viewprofile|action=profile|(?:[?&]|space-)uid[-=]\d|/~[\w.+-]+/?$",
    re.IGNORECASE,
)
#: Addresses by which a reader shares the page, whose own address is a part of them.
SHARING: Final = lazily(
    r"[^?#]*/(?:sharer?(?:\.php)?|share-?article|sharing|dialog/\w+|intent|pin/create|submit|send|save|entry|add|msg)\b|"
    r"mailto:\?",
    re.IGNORECASE,
)
#: Addresses below those of users, at which they log in, or show what they have written.
_OF_ACCOUNT: Final = lazily(
    r"/(?:log-?(?:in|on)|sign[-_]?(?:in|up)|regist(?:er|ration)|new|password|topics|replies|engagements|favorites|posts|"
    r"comments)(?:\.\w+)?/?(?:[?#]|$)",
    re.IGNORECASE,
)
_USER_NAME: Final = lazily(r"(?:^|[\s_-])user-?name(?:$|[\s_-])|(?:^|\s)user(?:$|\s)", re.IGNORECASE)
_BY_ALONE: Final = lazily(rf"[\"'’”]?\s*(?:{_BY})\s*[:：]?", re.IGNORECASE)
#: Labels of facts: of an author, and of the day on which a page was made; and the first year of such days.
_AUTHORED: Final = frozenset(dates.WORDS["authored"])
_CREATED: Final = frozenset(dates.WORDS["created"])
_MODIFIED: Final = frozenset(dates.WORDS["modified"])  # labels of the day of a change
_BEGINS_FACT: Final = (
    "ACPBRDOSUVELMagm更psО作著发公投",
    "uUrRhHyYeEoOaApPdDsSпПkcg新者布開稿",
    "tTeEoO: \xa0pPbBsSlLdDkKrRу：时日",
)
_LABEL: Final = 30  # characters of such a label
_COLONS: Final = (":", "：")  # behind it, or in a run of text of their own
#: The head of a letter, as archives of mailing lists write it: "From: Ana Bo <ana@b.test>", and the date below it.
_LETTER: Final = lazily(
    r"From\s*:\s*\"?(?P<name>[^\n<>(\"@]{2,80}?)\"?\s*"
    r"[<(][^<>()]{1,100}?(?:@| at ).{0,400}?\n\s*Date\s*:\s*(?P<date>[^\n]{8,80})",
    re.DOTALL,
)
_FIRST_PAGES: Final = "1990"
_INFOBOX: Final = lazily(r"(?:^|[\s_-])infobox", re.IGNORECASE)
_CHANGED: Final = lazily(
    r"updat|modif|edited|\bstand\s*:|revised|reviewed|changed|aktuali|geändert|änderung|mis à jour|mise à jour|"
    r"actualiza|atualiza|aggiorna|bijgewerkt|gewijzigd|uppdater|oppdater|opdater|zmieni|güncelle|обновлен|изменен|"
    r"更新|수정|تحديث|تعديل",
    re.IGNORECASE,
)
#: Words that tell what a date is of.
_SAYS: Final = lazily(
    rf"{_CHANGED.pattern}|publi|post|creat|written|released|veröffentlich|erstellt|erschienen|опублик|発行|公開|投稿|发布|发表",
    re.IGNORECASE,
)
_BY_CLASS, _BY_WORDS = 1, 2  # what says that a date is of a change: its class, or words
#: Words around a date in a byline. A text with others is not one.
_WORD: Final = lazily(r"[^\W\d_]+")
_AROUND_DATE: Final = frozenset(_WORD.findall(" ".join(dates.WORDS["around_dates"])))
_AT: Final = lazily(r"^\W*(?:[^\W\d]{1,4}\W+){1,2}(?=\d\d?[:.]\d\d)")  # "в" before "13:26", "a las" before "10:22"
#: What stands between the names of two authors.
_AND: Final = lazily(r"\s*[,;&]?\s*(?:(?:and|und|et|y|e|en|och|og|i|и)\s*)?", re.IGNORECASE)
_AND_NAME: Final = lazily(r"\s*(?:and|und|et|y|e|en|och|og|i|и|&)\s+(.*)")
#: What no name has, and how none begins.
_ODD: Final = lazily(rf"@|://|^\(|^{_AND_NAME.pattern}")
#: What software writes that knows no author.
_NOBODY: Final = frozenset(
    "unknown,unknown author,unbekannt,inconnu,desconocido,n/a,none,null,undefined,nobody,super user".split(",")
)
#: What stands behind a name: marks, what somebody else did, "says", a date, something in brackets.
_BEHIND_NAME: Final = lazily(
    r"\s+[|·•–—]\s+|,\s+(?:\w+\s+by|[^\W\dA-ZÄÖÜ]\w*\s+(?:von|par|por))\s|"
    r"\s+(?:says|said|wrote):?$|\s+<[\w.-]*>$|\s+on\s+(?=\w+ \d|\d)|\s+\((?!.*\) \w)"
)
_OF_LIBRARY: Final = lazily(
    r"(?P<last>[^,\d]{1,40}),\s{1,3}(?P<first>[^,\d]{1,40}),?\s{1,3}(?:b\. )?1\d{3}(?:\s?[-–]\s?(?:\d{4})?)?"
)
_NO_NAME: Final = frozenset(
    "profile posts articles website homepage google facebook twitter linkedin view all online offline "
    "log in login sign up register username".split()
)
#: What announces a name in the next run of text, behind a date.
_BY_LAST: Final = lazily(rf"(?<=\W)(?:{_BY})\s*[:：]?\s*$", re.IGNORECASE)
#: What a page says of its last change, at any place.
_LAST_CHANGE: Final = lazily(
    r"(?:(?:this )?page was last edited|(?:this page was |page )?last (?:updated?|modified|changed|revised|edited))"
    r"(?: on)?\b|(?:letzte (?:aktualisierung|änderung)|zuletzt (?:aktualisiert|geändert|bearbeitet)|aktuali[sz]acja|"
    r"dernière (?:mise à jour|modification)|última (?:actualización|atualização|modificación)|"
    r"laatst (?:bijgewerkt|gewijzigd)|ultim[oa] (?:aggiornamento|modifica)|son güncelleme|senast (?:uppdaterad|ändrad)|"
    r"ostatnia (?:aktualizacja|zmiana)|последнее (?:обновление|изменение)|最終?更新日?|最后更新)\b",
    re.IGNORECASE,
)
#: Names of elements that tell of it.
_NAMED_CHANGE: Final = lazily(r"(?:^|[\s_-])last-?(?:mod|updat|edit|chang)[a-z]*(?:$|[\s_-])", re.IGNORECASE)
#: A year of the last century without it, behind a day and the name of a month: no day is as large.
_SHORT_YEAR: Final = lazily(r"(\d[ -][A-Za-z]{3}[ -])(?=[4-9]\d\b(?!:))")
_ITEMS: Final = frozenset((TAG["li"], TAG["tr"], TAG["dd"]))  # elements of entries of lists
_WITH_CENTURY: Final = r"\g<1>19"
#: A year of this one without it, where the day tells that the month is before it.
_MONTH_AND_DAY: Final = lazily(r"(?<![\d/])((?:0?\d|1[012])/(?:1[3-9]|2\d|3[01])/)(?=[012]\d\b)")
#: How such a text begins.
_BEGINS_CHANGE: Final = (
    "tplzadúusoп最更TPLZADÚUSOП", "haueklnsо終后新HAUEKLNSO", "igstlranс更日新IGSTLRAN",
    "steztuniaл 更新日：:STEZTUNIA", " taimsgеTAIMSG日新：:0123456789",
)  # fmt: skip
_BEGINS_BEHIND_MARK: Final = ("·•|–—-", " ", "lL", "aA")
#: Classes of the line with author and date, as Drupal and blog engines name it.
_LINES: Final = lazily(
    r"(?:^|[\s_-])(?:submitted|byline|posted-on|(?:entry|post|article|node)[-_]{1,2}(?:meta(?:data)?|info|footers?))(?:$|\s)",
    re.IGNORECASE,
)
#: What the address of a blog's post tells: its day.
_OF_ADDRESS: Final = lazily(r"/((?:19|20)\d\d)/([01]\d)/([0-3]\d)/[^/?#]")
_MARKS: Final = " \t\n\xa0|·•,-–—/"  # marks around a name or between two entries
_ABOVE, _BEHIND = 30, 10  # leaves before the heading that may name its author, and behind that name
_FOOT: Final = 12  # runs of text at the end of a page, which may tell of its last change amid other words
_BADGE: Final = 20  # characters of a day and a month
_LONGEST: Final = 150  # characters of a text that is looked at


class Byline:
    """The byline of a page; without a heading of its own, only what the page says of its last change.

    It is read only as far as somebody asks, because most pages tell the same in their head.

    ``posts``: the leaves of the posts of a thread, which tell of themselves. ``sells``: whether the page is one of a
    product, whose labels tell of the product, such as a book, and not of the page.
    """

    def __init__(self, page: Page, headline: Headline | None, habits: Habits, posts: Set[int], *, sells: bool) -> None:
        self._page = page
        self._habits = habits
        self._posts = posts
        self._sells = sells
        self._heading = page.nodes.leaves_of(headline.row) if headline else None
        whole = " ".join(page.nodes.strings[self._heading or slice(0)])
        self._tail = whole[len(headline.text) :] if headline and whole.startswith(headline.text) else ""  # "by Ana Bo"

    @cached_property
    def author(self) -> str | None:
        """The one name that it tells."""
        if self._heading is None:
            return self._letter[0]
        strings, start, dated = self._page.nodes.strings, self._heading.stop, self._dates[2]
        own = (at for at in self._near if at >= start or any(map(announces, strings[at - 1 : at + 1])))
        near = [at for at in own if at not in dated]
        told = signed_name(self._tail) or _author(self._page, near, dated) or self._letter[0]
        if not told and not self._posts and rows_with(self._page.nodes, BYLINE):
            told = _author(self._page, _line(self._page.nodes, start), dated)
        return told or self._facts.get("author") or self._above[0]

    @property
    def published(self) -> str | None:
        """The first date, in ISO 8601; of one without a year, the address of the page must tell the same day."""
        behind = dates.find(self._tail, self._habits.day_first(self._page)) if self._tail else None
        told = self._dates[0] or self._letter[1] or _date_of_address(self._page, self._near) or (behind and behind[0])
        return told or self._facts.get("posted") or self._facts.get("made") or self._above[1]

    @cached_property
    def _above(self) -> tuple[str | None, str | None]:
        """The user before the heading whom the title names, and the date behind that name."""
        nodes, end = self._page.nodes, self._heading.start if self._heading and not self._posts else 0
        spans = [nodes.leaves_of(row) for row in sorted(called_author(nodes))] if end else []
        near = (leaf for span in spans for leaf in range(span.start, span.stop) if end - _ABOVE <= leaf < end)
        for leaf in (leaf for leaf in near if nodes.strings[leaf].strip() in parts_of(self._page.title)):
            behind = range(leaf + 1, min(leaf + _BEHIND, end))
            text = "".join(" " * bool(nodes.gap[each]) + nodes.strings[each] for each in behind)
            date = dates.find(text, self._habits.day_first(self._page))
            return _name(nodes.strings[leaf]), date and date[0]
        return None, None

    @cached_property
    def _letter(self) -> tuple[str | None, str | None]:
        """The author and the date of the one letter on the page."""
        begins = leaves_beginning(self._page.nodes, ("F", "r", "o", "m"))
        texts = ("\n".join(self._page.nodes.strings[leaf : leaf + _AFTER]) for leaf in begins)
        letters = [match for text in texts if (match := _LETTER.match(text))]
        date = dates.find(letters[0]["date"]) if len(letters) == 1 else None
        return (_name(letters[0]["name"]), date[0]) if date else (None, None)

    @cached_property
    def _facts(self) -> dict[str, str]:
        """The one author and the one date of each kind behind labels: "Author: Ana Bo", "Created: 4 March 2025".

        Infoboxes tell of what the page is about, such as a book; comments and entries of a list have labels, too.
        """
        nodes, strings = self._page.nodes, self._page.nodes.strings
        begins = leaves_beginning(nodes, _BEGINS_FACT) if self._heading and not self._sells else ()
        short = (leaf for leaf in begins if len(strings[leaf]) <= _LABEL)
        labels = {leaf: kind for leaf in short if (kind := _fact(strings[leaf]))}
        if not labels:
            return {}
        others = rows_with(nodes, COMMENTS | COMMENT | REVIEWS | RELATED | ENTRY | BYLINE)
        code = (*rows_tagged(nodes, TAG["pre"]), *rows_tagged(nodes, TAG["code"]))
        elsewhere = nodes.leaves_below((*others, *rows_named(nodes, _INFOBOX), *code)) | nodes.anchor[nodes.leaves]
        found: dict[str, set[str]] = {kind: set() for kind in labels.values()}
        own = (leaf for leaf in labels if leaf + 1 < len(strings) and not elsewhere[leaf] and leaf not in self._posts)
        for leaf in own:
            kind, is_mark = labels[leaf], leaf + 2 < len(strings) and strings[leaf + 1].strip() in _COLONS
            label, leaf = strings[leaf] + ":" * is_mark, leaf + is_mark
            rows = nodes.parent[nodes.leaves[leaf : leaf + 2]]
            alike = len({*nodes.look[rows].tolist()}) == 1 or bool((nodes.tag[rows] == TAG["th"]).all())
            if alike and not label.endswith(_COLONS):
                continue  # the heads of two columns
            if kind != "author":
                told = (date for date, _ in dates_told(self._page, leaf + 1, self._habits) if date >= _FIRST_PAGES)
                found[kind].update(filter(None, (_behind(self._page, leaf) or next(told, None),)))
            elif name := name_in(strings[leaf + 1][:_LONGEST]):
                if name.isascii() and name.islower() and not nodes.anchor[nodes.leaves[leaf + 1]]:
                    continue  # "author: username" explains how to search
                found["author"].add(", ".join((name, *_also_named(self._page, leaf + 1, range(len(strings))))))
        return {kind: values.pop() for kind, values in found.items() if len(values) == 1}

    @cached_property
    def modified(self) -> str | None:
        """The first date of a change, or that of the last change, in ISO 8601."""
        is_own = self._heading is not None and not self._posts
        changes = set() if self._dates[1] else set(_changes(self._page, self._habits, is_own))
        days = {change[:10] for change in changes}
        last = max(changes, key=lambda change: (len(change), change)) if len(days) == 1 else self._dates[1]
        return last or self._facts.get("changed")

    @cached_property
    def _near(self) -> list[int]:
        if self._heading is None:
            return []
        near = [leaf for leaf in _near(self._page, self._heading) if leaf not in self._posts]
        if any(dates.has_year(self._page.nodes.strings[leaf]) for leaf in near):
            return near
        line = _line(self._page.nodes, self._heading.stop) if not self._posts else []
        return [*dict.fromkeys(near + line)]

    @cached_property
    def _dates(self) -> tuple[str | None, str | None, list[int]]:
        """The first dates of publication and of change, and their leaves."""
        published = modified = made = None
        leaves, is_sure = [], False
        for leaf in self._near:
            text = self._page.nodes.strings[leaf]
            told = dates_told(self._page, leaf, self._habits)
            if told and not _signed(text.strip(_MARKS)):  # "By Ana Bo, 20 November 2026" tells both
                leaves.append(leaf)
            for date, change in told:
                if change or _is_change(self._page, leaf, self._near):
                    is_sure |= change != _BY_CLASS
                    modified = modified or date
                elif leaf and _fact(self._page.nodes.strings[leaf - 1]) == "made":  # a picture, say, posted later
                    made = made or date
                else:
                    published = published or date
        if sum(_is_of_other(self._page, leaf - 1) for leaf in leaves) > 1:
            return None, None, leaves
        published = published or made
        if published is None and not is_sure:  # hAtom demands the class, even of what was never changed
            return modified, None, leaves
        return published, modified, leaves


def _near(page: Page, heading: slice) -> list[int]:
    """The short leaves after the heading, up to the next one or a long text, and just before it; none in a list."""
    nodes, start, stop = page.nodes, heading.start, heading.stop
    stop = _end_of_subtitle(nodes, stop)
    headings = _in_headings(nodes, start - _BEFORE, stop + _AFTER)
    found: list[int] = []
    words = nodes.words[: stop + _AFTER].tolist()
    for leaf in range(stop, len(words)):
        if leaf in headings and not _is_byline(nodes, leaf):
            if nodes.anchor[nodes.leaves[leaf]] and len(found) <= _FEW:
                return []
            break
        if _begins_entry(nodes, leaf):
            break
        if words[leaf] >= _LONG and (words[leaf] >= 2 * _LONG or len(dates.find_all(nodes.strings[leaf], True)) < 2):
            break
        found.append(leaf)
    for leaf in range(start - 1, max(start - 1 - _BEFORE, -1), -1):
        if leaf in headings or words[leaf] >= _LONG:
            break
        found.append(leaf)
    return [leaf for leaf in found if len(nodes.strings[leaf]) <= _LONGEST]


def _is_byline(nodes: NodeTable, leaf: int) -> bool:
    return bool(_BY_NAME.fullmatch(nodes.strings[leaf][:_LONGEST])) or _is_inside(nodes, leaf, called_author(nodes))


def _end_of_subtitle(nodes: NodeTable, stop: int) -> int:
    """Where a subtitle ends: a heading right behind the own one, no link, alone of its level or in a header."""
    row = next((row for row in rows_with(nodes, HEADING) if nodes.first_leaf[row] == stop), -1)
    if row < 0 or nodes.anchor[nodes.leaves[stop]] or _is_byline(nodes, stop):
        return stop
    in_header = nodes.signs[nodes.look[nodes.parent[row]]] & LANDMARKS["header"] > 0
    if not in_header and np.count_nonzero(nodes.tag == nodes.tag[row]) > 1:
        return stop
    return nodes.last_leaf.item(row)


def _begins_entry(nodes: NodeTable, leaf: int) -> bool:
    """Whether a leaf begins an entry of a list: like what follows, it has a date and a link of some words."""
    row = nodes.leaves.item(leaf)
    parent, look = nodes.parent.item, nodes.look.item
    while (above := parent(row)) > 0 and nodes.first_leaf.item(above) == leaf:
        row, after = above, nodes.end.item(above)
        if after < len(nodes) and parent(after) == parent(row) and look(after) == look(row):
            return _is_entry(nodes, row) and _is_entry(nodes, after)
    return False


def _is_entry(nodes: NodeTable, row: int) -> bool:
    leaves = nodes.leaves_of(row)
    linked = nodes.anchor[nodes.leaves[leaves]] & (nodes.words[leaves] >= _FEW)
    return bool(linked.any()) and any(map(dates.has_year, nodes.strings[leaves]))


def _line(nodes: NodeTable, start: int) -> list[int]:
    """The leaves of the one line with author and date that a page has, if no heading stands before it."""
    spans = [nodes.leaves_of(row) for row in nodes.outermost(rows_named(nodes, _LINES))]
    other = nodes.leaves_below(rows_with(nodes, COMMENTS | COMMENT | RELATED))
    lines = [span for span in spans if span.stop > span.start and not other[span.start]]
    [line] = lines if len(lines) == 1 else [slice(0, 0)]
    is_near = start <= line.start and line.stop - line.start <= _AFTER
    return list(range(line.start, line.stop)) if is_near and not _in_headings(nodes, start, line.stop) else []


def _in_headings(nodes: NodeTable, start: int, stop: int) -> set[int]:
    """The first leaves of each heading that has leaves in a range."""
    spans = takewhile(lambda span: span.start < stop, map(nodes.leaves_of, rows_with(nodes, HEADING)))
    near = [span for span in spans if span.stop > start]
    return {leaf for span in near for leaf in range(span.start, min(span.stop, span.start + _LONG))}


def _date_of_address(page: Page, near: list[int]) -> str | None:
    """The day in the address of a page, if its byline tells day and month: a badge often leaves the year out."""
    if (match := _OF_ADDRESS.search(page.url)) is None:
        return None
    strings = page.nodes.strings
    badges = (" ".join(strings[leaf:stop]) for leaf in near for stop in (leaf + 1, leaf + 2))
    told = (dates.find(f"{badge} {match[1]}") for badge in badges if len(badge) <= _BADGE)
    return next((day[0] for day in told if day and day[0] == "-".join(match.groups())), None)


def _is_change(page: Page, leaf: int, near: list[int]) -> bool:
    """Whether the label before or behind a date is that of a change; of two labels before two, each has its own."""
    last, other, third = (_label(page, leaf - place) for place in (1, 2, 3))
    after, behind = slice(leaf + 2, leaf + 3), "" if last else _label(page, leaf + 1)
    is_last = bool((page.nodes.gap[after] >= LINE).all()) and not any(map(dates.has_year, page.nodes.strings[after]))
    if behind and is_last and is_between(behind):
        return _CHANGED.search(behind) is not None  # "3 March 2025 - Updated"
    if last and not other and not _SAYS.search(last):  # "modified by", a name, and "on"
        other = third
    is_first = bool(last and other) and leaf + 1 in near and dates.has_year(page.nodes.strings[leaf + 1])
    is_second = bool(not last and other and third)
    return bool(_CHANGED.search(other if is_first or is_second or not _SAYS.search(last) else last))


def _is_of_other(page: Page, leaf: int) -> bool:
    """Whether the label before a date says something else than dates of pages do, such as "Start:" and "End:"."""
    text = page.nodes.strings[leaf].rstrip() if leaf >= 0 else ""
    return text.endswith(_COLONS) and not _SAYS.search(text) and not _label(page, leaf)


def _label(page: Page, leaf: int) -> str:
    """A leaf that is the label of a date, as its few words say; "" for others."""
    if not 0 <= leaf < len(page.nodes.leaves) or page.nodes.words.item(leaf) > _FEW + 1:
        return ""
    text = page.nodes.strings[leaf]
    is_label = _AROUND_DATE.issuperset(_WORD.findall(text.lower())) or _CHANGED.search(text)
    return text if is_label and any(map(str.isalpha, text)) and dates.find(text) is None else ""


def dates_told(page: Page, leaf: int, habits: Habits) -> list[tuple[str, int]]:
    """The dates that a leaf tells, each with what says that it is of a change: nothing, ``_BY_CLASS``, ``_BY_WORDS``.

    There are none if it has other words than those around dates and a name behind "by", or two dates that nothing tells
    apart: these are often the first and the last day of something.
    """
    nodes, text = page.nodes, _SHORT_YEAR.sub(_WITH_CENTURY, page.nodes.strings[leaf])
    row = nodes.parent.item(nodes.leaves.item(leaf))
    classes, told = nodes.looks[nodes.look.item(row)][2], machine_date(page, row)
    if _OF_EVENT.search(classes) or (told and _OF_EVENT.search(attributes_at(nodes, [row], "itemprop")[0])):
        return []
    if told:
        return [(told[0], _BY_WORDS if _CHANGED.search(text) else told[1])]
    found = dates.find_all(text, habits.day_first(page)) if dates.has_year(text) else []
    if not found:
        is_age = nodes.tag.item(row) in _DATED and any(map(str.isdecimal, text))  # "3 years ago"
        around, own = _moments(nodes, [nodes.parent.item(row), row]) if is_age else (None, None)
        moment = own or around
        return [(moment, 0)] if moment else []
    words = [_BY_LAST.sub("", each) for each in _words_around(text, found)]
    if not _AROUND_DATE.issuperset(_WORD.findall(" ".join(words).lower())):
        return []
    if len(found) == 1:
        return [(found[0][0], _BY_WORDS * any(map(_CHANGED.search, words)))]
    behind = not any(map(str.isalpha, words[0])) and bool(_SAYS.search(words[-1]))  # where the words of each one stand
    changes = [bool(_CHANGED.search(each)) for each in (words[1:] if behind else words[:-1])]
    told_apart = len({*changes}) == 2
    return [(date, _BY_WORDS * change) for (date, *_), change in zip(found, changes, strict=True) if told_apart]


def _moments(nodes: NodeTable, rows: Sequence[int]) -> Iterator[str | None]:
    """The moment in the title or data of each of some elements, which says "3 years ago"; None without one."""
    values = (attributes_at(nodes, rows, name) for name in ("title", "data-datetime", "data-date"))
    for told in map(" ".join, zip(*values, strict=True)):
        match = dates.MOMENT.search(told)
        found = dates.find(told) if ":" in told and not match else None
        yield dates.iso(match[0]) if match else found and found[0]


def machine_date(page: Page, row: int) -> tuple[str, int] | None:
    """The date of a ``time`` element, or of an ``abbr`` as in hAtom, and whether its class says that it is a change."""
    nodes = page.nodes
    if row < 0 or (name := _ATTRIBUTES.get(nodes.tag.item(row))) is None:
        return None
    told = dates.iso(attributes_at(nodes, [row], name)[0]) or next(_moments(nodes, [row]))
    classes = nodes.looks[nodes.look.item(row)][2].lower()
    return (told, _BY_CLASS * (bool(_CHANGED.search(classes)) and "publi" not in classes)) if told else None


def _words_around(text: str, found: list[tuple[str, int, int]]) -> list[str]:
    """What stands before, between and after the dates of a text, but for a name behind "by" and words to a time."""
    ends, starts = [0, *(end for _, _, end in found)], [*(start for _, start, _ in found), len(text)]
    words = [_AT.sub("", text[end:start], 1) for end, start in zip(ends, starts, strict=True)]
    signature = _signature(text, found)
    return [each if signature not in each else "" for each in words] if signature else words


def _signature(text: str, found: list[tuple[str, int, int]]) -> str:
    """What stands before or behind the dates of a text, if it is "by" and a name: "4 March 2025 by Ana Bo"; else ""."""
    around = (_before_date(text, found[0][1]), text[found[-1][2] :].strip(_MARKS)) if found else ()
    short = (each for each in around if len(each.split()) <= _MOST_WORDS + 2 and "," not in each)
    return next((each for each in short if _BY_NAME.fullmatch(each)), "")


def _author(page: Page, near: list[int], dated: list[int]) -> str | None:
    """The one name behind "by", or in an element whose class says author; None if there are several, as in a list."""
    nodes, strings = page.nodes, page.nodes.strings
    called = called_author(page.nodes) if near else set()
    related = called.intersection(page.nodes.relations)
    # Of several, the link to an author, or the one behind "by".
    for rows in dict.fromkeys(map(frozenset, (called, related, ()))):
        told = {name: leaf for leaf in reversed(near) if (name := _named(page, leaf, near, rows))}
        parts = [*told][::-1]
        if len(parts) == 2 and not any(map(str.isspace, "".join(parts))) and _are_parts(nodes, {*told.values()}, rows):
            return " ".join(parts)
        if len(told) == 1:
            [(name, leaf)] = told.items()
            return ", ".join((name, *_also_named(page, leaf, near)))
    # Or who did something on that day, or the user to whose page a link leads.
    of_users = (*users_of(page, near), *rows_named(nodes, _USER_NAME)) if near else ()
    users = sorted({nodes.first_leaf.item(row) for row in of_users}.intersection(near))
    linked = (leaf for leaf in near if leaf + 2 in dated and nodes.anchor[nodes.leaves[leaf]])
    did = (leaf for leaf in linked if _DID.fullmatch(strings[leaf + 1][:_LONGEST]))
    found = {leaf: name for leaf in (*did, *users) if (name := _name(strings[leaf].removeprefix("@")))}
    names = {name for leaf, name in found.items() if announces(strings[leaf - 1])} or {*found.values()}
    if len(names) == 1:
        return names.pop()
    first = min(found, default=0)  # several full names in one line are of one byline, accounts may be of readers
    together = [found[first], *_also_named(page, first, near)] if found else []
    return ", ".join(together) if names == {*together} and all(" " in name for name in together) else None


def _are_parts(nodes: NodeTable, leaves: Set[int], rows: Set[int]) -> bool:
    """Whether some leaves are all that an element in some rows has, each in an element of its own: parts of a name."""
    spans = (nodes.leaves_of(row) for row in rows)
    own = not nodes.anchor[nodes.leaves[[*leaves]]].any() and len({*nodes.parent[nodes.leaves[[*leaves]]].tolist()}) > 1
    return own and any(leaves == {*range(span.start, span.stop)} for span in spans)


def _also_named(page: Page, leaf: int, near: Container[int]) -> Iterator[str]:
    """The names behind a linked name in the same line: links with "and" or a mark before them; "and Cy Di" without."""
    nodes = page.nodes
    linked = nodes.anchor[nodes.leaves]
    while (
        linked[leaf]
        and leaf + 2 in near
        and linked[leaf + 2]
        and nodes.gap[leaf + 1 : leaf + 3].max() < LINE
        and _AND.fullmatch(nodes.strings[leaf + 1])
        and (name := _name(nodes.strings[leaf + 2]))
    ):
        leaf += 2
        yield name
    if linked[leaf] and leaf + 1 in near and nodes.gap[leaf + 1] < LINE:
        last = _AND_NAME.fullmatch(nodes.strings[leaf + 1][:_LONGEST])
        is_one = last is not None and not last[1][:1].islower() and len(last[1].split()) in (2, _FEW)
        yield from filter(None, (_name(last[1]) if last and is_one else None,))


@once
def called_author(nodes: NodeTable) -> set[int]:
    """The rows of the elements whose class or relation says author."""
    related = [(row, relation.lower()) for row, relation in nodes.relations.items()]
    named = [row for row, relation in related if "author" in relation and "author" in relation.split()]
    return {*rows_with(nodes, AUTHOR), *named}


def users_of(page: Page, near: Iterable[int]) -> list[int]:
    """The rows of the links to pages of users that begin with some leaves; pages of a user lead to that one's home."""
    nodes, links, may_be = page.nodes, page.nodes.links, np.zeros(len(page.nodes.leaves) + 1, np.bool_)
    may_be[[*near]] = True
    found = np.flatnonzero(may_be[nodes.first_leaf[links.row]]).tolist()
    led = ((links.row.item(link), OF_USER.search(href := links.href[link]), href) for link in found)
    own = (each for each in led if each[1] and not (SHARING.match(each[2]) or _OF_ACCOUNT.search(each[2])))
    users = ((row, match[0]) for row, match, _ in own if match and nodes.words_of(row))
    return [row for row, match in users if match[:2] != "/~" or match not in page.url]


def _named(page: Page, leaf: int, near: list[int], called: Set[int]) -> str | None:
    """The name that a leaf tells, or the one before it announces."""
    strings = page.nodes.strings
    text = strings[leaf].strip(_MARKS)
    if match := _signed(text):
        name = _name(match[match.lastgroup or 0])
        # "by default ..." begins a sentence, a link "by topic" sorts a list; names in lower case are short.
        most = 0 if page.nodes.anchor[page.nodes.leaves[leaf]] else _FEW
        return name if name and (not name[0].islower() or len(name.split()) <= most) else None
    before = strings[leaf - 1][:_LONGEST].strip(_MARKS) if leaf else ""
    if before and page.nodes.gap[leaf] < LINE and _LAST_CHANGE.search(" ".join(strings[max(0, leaf - 3) : leaf])):
        return None  # who changed it last
    is_dated = leaf - 1 not in near and dates.has_year(before)
    announced = _BY_LAST.search(before) if is_dated else leaf - 1 in near and _BY_ALONE.fullmatch(before)
    is_told = announced or (called and _is_inside(page.nodes, leaf, called)) or _is_of_mail(page, leaf, near)
    return _name(text) if is_told else None


def _is_of_mail(page: Page, leaf: int, near: list[int]) -> bool:
    """Whether an address of mail and a date stand behind a leaf, as in the archives of mailing lists."""
    nodes = page.nodes
    date = nodes.strings[leaf + 2] if leaf + 1 in near and leaf + 2 < len(nodes.strings) else ""
    if len(date) > _LONGEST or not dates.has_year(date):
        return False
    parent = nodes.parent.item(nodes.leaves.item(leaf + 1))
    links = zip(nodes.links.row.tolist(), nodes.links.href, strict=True)
    is_address = any(row == parent and href.startswith("mailto:") for row, href in links)
    return is_address and dates.find(date) is not None


def _signed(text: str) -> re.Match[str] | None:
    """A match of "by" and a name, with a date before or behind it or without one; or of a name and "reporter"."""
    if text.endswith(_REPORTERS):
        return _REPORTER.fullmatch(text)
    if (match := _BY_NAME.fullmatch(text)) or not dates.has_year(text):
        return match
    return _BY_NAME.fullmatch(_signature(text, dates.find_all(text, day_first=True)))


def name_in(text: str) -> str | None:
    """The name that a text is, with "by" before it or without; None if it is none."""
    return signed_name(text) or _name(text.strip(_MARKS))


def signed_name(text: str) -> str | None:
    """The name behind "by" in a text, with a date beside it or without one; None without it."""
    match = _signed(text.strip(_MARKS))
    return _name(match[match.lastgroup or 0]) if match else None


def _is_inside(nodes: NodeTable, leaf: int, rows: Set[int]) -> bool:
    """Whether one of the eight elements around a leaf is among some rows, and has few other leaves."""
    row = nodes.leaves.item(leaf)
    for _ in range(8):
        row = nodes.parent.item(row)
        if row < 0 or nodes.last_leaf.item(row) - nodes.first_leaf.item(row) > 3:
            return False
        if row in rows:
            return True
    return False


def _undated(text: str) -> str:
    """A name without the date behind it; the same text if there is none, or more than a name before it."""
    found = dates.find(text, day_first=True)
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


def _name(text: str) -> str | None:
    """A text as a name; None if it is too long, has no letters, or is a date, an address or the label of a link."""
    name = spoken(_undated(text.strip(_MARKS + ":")))
    cut = _BEHIND_NAME.split(name, maxsplit=1)[0].strip()
    words = _WORD.findall(cut.lower())
    odd = _ODD.search(cut) is not None or _AROUND_DATE.issuperset(words) or _NO_NAME.issuperset(words)
    odd = odd or dates.find(cut, day_first=True) is not None or not is_name(cut)
    return None if odd or len(cut.split()) > _MOST_WORDS or len(cut) > 80 or _BY_ALONE.fullmatch(cut) else cut


def spoken(name: str) -> str:
    """A name as it is spoken, of one as libraries sort it with the years of a life: "Bo, Ana, 1842-1912"."""
    match = _OF_LIBRARY.fullmatch(name)
    return f"{match['first']} {match['last']}" if match else name


def announces(text: str) -> bool:
    """Return True for a short text that ends in "by", as "Bug 7 reported by"."""
    return len(text) <= _LONGEST and _BY_LAST.search(f" {text}") is not None


def is_between(text: str) -> bool:
    """Return True for what stands between an author and a date: marks, and words as "by" and "on"."""
    return _AROUND_DATE.issuperset(_WORD.findall(text.lower())) or _BY_ALONE.fullmatch(text.strip(_MARKS)) is not None


def is_name(text: str) -> bool:
    """Return False for what software writes that knows no author, and for texts without a letter."""
    return any(map(str.isalpha, text)) and text.casefold() not in _NOBODY


def _behind(page: Page, leaf: int) -> str | None:
    """The date that an element right behind a leaf tells by itself, but for words as "on" between them."""
    nodes = page.nodes
    near = range(leaf + 1, min(leaf + 3, len(nodes.strings)))
    stop = next((each for each in near if not is_between(nodes.strings[each])), leaf)
    end = nodes.leaves.item(stop) + 1 if stop > leaf else len(nodes)
    behind = range(nodes.leaves.item(leaf) + 1, min(end, nodes.leaves.item(leaf) + _LONG))
    rows = [row for row in behind if nodes.tag[row] != TEXT]
    told = zip(map(partial(machine_date, page), rows), _moments(nodes, rows), strict=True)
    return next((date[0] if date else moment for date, moment in told if date or moment), None)


def _fact(text: str) -> str | None:
    """What a text is the label of: an author, a post, what may be posted later ("made"), a change; None for others."""
    name = text.rstrip(" :：").lower()
    date = ("made" if "creat" in name else "posted") if name in _CREATED else "changed" if name in _MODIFIED else None
    return "author" if name in _AUTHORED or text.lower() in _AUTHORED else date


def _changes(page: Page, habits: Habits, has_heading: bool) -> Iterator[str]:
    """The dates of the texts that begin as "Last updated on"; without a heading, as in threads, not those of posts."""
    strings = page.nodes.strings
    may_be = ((number, look) for number, look in enumerate(page.nodes.looks) if "last" in look[1] or "last" in look[2])
    named = [number for number, look in may_be if _NAMED_CHANGE.search(" ".join(look[1:3]))]
    for row in np.isin(page.nodes.look, named).nonzero()[0].tolist() if named and has_heading else ():
        text = " ".join(strings[page.nodes.leaves_of(row)])
        if len(text) > _LONGEST or _is_in_entry(page, row):  # it holds more than that
            continue
        found = dates.find_all(text, habits.day_first(page)) if dates.has_year(text) else []
        yield from (date for date, *_ in found[: len(found) == 1])
    behind = leaves_beginning(page.nodes, _BEGINS_BEHIND_MARK) if has_heading else []
    ends = range(max(0, len(strings) - _FOOT), len(strings)) if has_heading else ()
    feet = (leaf for leaf in ends if len(strings[leaf]) <= _LONGEST and "ast " in strings[leaf])
    amid = {leaf: match.start() for leaf in feet if (match := _LAST_CHANGE.search(strings[leaf], 1))}
    for leaf in (*leaves_beginning(page.nodes, _BEGINS_CHANGE), *behind, *amid):
        text = strings[leaf][amid.get(leaf, 0) :].lstrip(_MARKS) if len(strings[leaf]) <= _LONGEST else ""
        if (match := _LAST_CHANGE.match(text)) and (has_heading or text[:11] != "Last edited"):
            rest = text[match.end() :]
            if not any(map(str.isalnum, rest)):
                if machine := _behind(page, leaf):
                    yield machine
                    continue
                rest = strings[leaf + 1][:_LONGEST] if leaf + 1 < len(strings) else ""
            rest = _MONTH_AND_DAY.sub(r"\g<1>20", _SHORT_YEAR.sub(_WITH_CENTURY, rest))
            told = dates.find(rest, habits.day_first(page) if dates.has_year(rest) else None)
            if told:
                yield told[0]


def _is_in_entry(page: Page, row: int) -> bool:
    """Whether an element stands in a list of related posts, or in an item with a link to another page of the site."""
    nodes, item = page.nodes, row
    while item > 0 and nodes.tag.item(item) not in _ITEMS and not nodes.signs[nodes.look[item]] & RELATED:
        item = nodes.parent.item(item)
    at = slice(*np.searchsorted(nodes.links.row, (item, nodes.end[item])).tolist() if item > 0 else (0, 0))
    leading = zip(nodes.links.key[at].tolist(), nodes.links.href[at], strict=True)
    return any(key not in (0, page.key) and host_of(href) in ("", host_of(page.url)) for key, href in leading)
