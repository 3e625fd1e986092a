"""Adjoining texts: which inline elements without a space between them say different things.

Style sheets put room between the date of a post and its number of comments. Other elements are parts of a word, such as
its first letter in another size, so that only signs of different things count: the classes of fields, ``time``, icons,
the ends of links, and digits beside letters.
"""

import re
from collections.abc import Iterable
from itertools import islice, takewhile
from typing import Final

import numpy as np

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.page.looks import Look
from scrapy_pagelets.page.nodes import GLUED, SPACE, NodeTable, elements_at, rows_tagged, tags_of

#: Classes of what tells one thing of a post, a product or a person.
_FIELD: Final = lazily(
    r"(?:^|[\s_-])(?:date(?:time)?|time(?:stamp)?|published|updated|posted|author|byline|username|nick(?:name)?|"
    r"count(?:er|s)?|badge|chip|pill|lozenge|comments?|replies|views?|likes?|votes?|score|rating|price|currency|label|"
    r"value|tags?|category|classifier|lines?|rows?|cell|item|field|meta|(?:tooltip|popup)[a-z]*)(?:$|[\s_]|-(?!through|height))",
    re.IGNORECASE,
)
#: Classes of highlighted code, and those that editors give to any part of a word.
_STYLE: Final = lazily(
    r"(?:hljs|token|mtk|cm|pl|tok|style|font|apple|mso|text|color|bold)(?:$|[\d_-]).*|[a-z_]{1,3}\d+|[a-z_]{1,2}|"
    r"kwd|str|pun|pln|com|lit|typ|atn|atv",
    re.IGNORECASE,
)
_ICON: Final = lazily(r"(?:^|[\s_-])(?:icons?|fa[srlb]?|glyphicon|dashicons|bi|sep\w*)(?:$|[\s_-])", re.IGNORECASE)
_LINES: Final = lazily(r"(?:^|[\s_-])lines(?:$|\s)", re.IGNORECASE)  # classes of elements whose children are lines
#: Characters of scripts that put no spaces between words.
_UNSPACED: Final = lazily(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]"
)
_CURRENCIES: Final = "$€£¥"
_MARKS: Final = ":;!?,)"  # punctuation before a space
_NUMBER: Final = lazily(r"\d[\d.,]*")
_LONG: Final = 3  # letters of a word behind a number that is no unit
_WORD: Final = lazily(r"[^\W\d_]+")
_ENDINGS: Final = frozenset("s st nd rd th es er ed ing e er re ème x k".split())
#: Elements in which each character counts, or whose texts belong to what is before them.
_EXACT: Final = tags_of("code tt kbd samp var textarea pre sub sup ruby")
_APART: Final = ("time", "cite")  # elements of one thing: a date, or who or what is quoted
_CLOCK: Final = lazily(r"\s*(?:(?:\d{1,2}:)?\d{1,2}:\d\d(?:[-\u2013]\d\d?:\d\d)?|\d{1,2}([./-])\d{1,2}\1\d{4}\b.*)\s*")
_PLAIN: Final = frozenset("b strong i em u s small big font mark span".split())
_FAR: Final = 30  # rows between two texts
_BLOCK: Final = lazily(r"display\s*:\s*(?:block|flex|grid|table|list-item|inline-(?:block|flex|grid|table))", re.I)
_BY_CLASS: Final = lazily(r"\.([\w-]+)$")


def part_words(nodes: NodeTable) -> None:
    """Put a space between texts that adjoin and say different things: the gaps of a new table are changed."""
    strings, spaces = nodes.strings, nodes.spaces
    glued = np.flatnonzero(nodes.gap == GLUED).tolist()
    found = [i for i in glued if i and i not in spaces and _adjoin(strings[i - 1][-1], strings[i][0])]
    if not found:
        return
    exact = nodes.leaves_below(row for tag in _EXACT.tolist() for row in rows_tagged(nodes, tag))
    blocks: frozenset[str] | None = None
    for i in found:
        if exact[i - 1] or exact[i] or (border := _border(nodes, i)) is None:
            continue
        ended, begun, between, around = border
        if blocks is None:
            blocks = _shown_as_blocks(nodes)
        lines = bool(ended and begun) and any(_LINES.search(look[2]) for look in around)
        is_block = bool(blocks) and any(not blocks.isdisjoint(look[2].split()) for look in (*ended, *begun))
        if lines or is_block or _differ(strings[i - 1], strings[i], ended, begun, between):
            nodes.gap[i] = SPACE


def _adjoin(before: str, behind: str) -> bool:
    may_begin = behind.isalnum() or behind in _CURRENCIES
    if not may_begin or not (before.isalnum() or (before in _MARKS + "." and behind.isalpha())):
        return False
    return (before + behind).isascii() or not _UNSPACED.search(before + behind)


def _border(nodes: NodeTable, leaf: int) -> tuple[list[Look], ...] | None:
    """The looks of the elements that end before a leaf, that begin, that have no text, and of the one around; or None.

    There are none if they are many.
    """
    first, second = nodes.leaves.item(leaf - 1), nodes.leaves.item(leaf)
    if second - first > _FAR:
        return None
    begun = [*takewhile(lambda row: row > first, nodes.above(second))]
    above = nodes.parent.item(begun[-1] if begun else second)
    ended = [*islice(takewhile(lambda row: row != above, nodes.above(first)), _FAR)]
    empty = [row for row in range(first + 1, second) if row not in begun]
    return tuple([nodes.looks[nodes.look[row]] for row in rows] for rows in (ended, begun, empty, [above]))


def _differ(one: str, other: str, ended: list[Look], begun: list[Look], between: list[Look]) -> bool:
    """Whether two texts say different things, by the elements that end and begin between them."""
    if any((tag == "i" and classes) or _ICON.search(classes) for tag, _, classes, _ in between):
        return True
    if not (ended or begun) or any(look[0] == "wbr" for look in between) or _is_one_word(one, other, begun):
        return False
    if any(tag in _APART or _FIELD.search(classes) for tag, _, classes, _ in (*ended, *begun)):
        return True
    both, are_sentences = bool(ended and begun), " " in one and " " in other
    is_number, is_numbered = _NUMBER.fullmatch(one) is not None, _NUMBER.fullmatch(other) is not None
    if one[-1] == ".":  # a number, or a sentence, as a caption before the name of who took the picture
        is_end = other[0].isupper() and " " in one and one.split()[-1][:-1].isalpha() and one[-2].islower()
        return (both and is_number) or is_end
    if _CLOCK.fullmatch(one) or _CLOCK.fullmatch(other) or (is_numbered and len(one) > _LONG and one[-4:].islower()):
        return True
    ends_link, begins_link = (any(look[0] == "a" for look in looks) for looks in (ended, begun))
    if not (changes := _changes(one[-1], other[0])) or ends_link != begins_link:
        apart = ends_link != begins_link and _is_apart(ended) and _is_apart(begun)
        return apart or (changes and " " in (one if ends_link else other))
    is_upper, is_digit = other[0].isupper(), other[0].isdigit()
    if (is_upper and one[-1] in _MARKS[:4]) or (both and are_sentences and (is_upper or is_digit)):
        return not one.endswith("::")
    if both and is_number and (word := _WORD.match(other)) and (len(word[0]) >= _LONG or " " in other):
        return True
    if ended and is_upper and other[1:4].isalpha() and one[-1].isdigit() and " " in one:  # "Chapter 4" and its title
        return True
    classes, others = _named(ended), _named(begun)
    if classes == others:
        return bool(classes) and are_sentences
    return both and bool((classes and others) or (one[-1].isdigit() and is_digit))


def _is_one_word(one: str, other: str, begun: list[Look]) -> bool:
    """Whether the second text is an ending of the first, or the first one the letter that a word begins with."""
    word = _WORD.match(other)
    if word is not None and word[0] in _ENDINGS:
        return True
    is_kind = any("classifier" in look[2] for look in begun)  # of a term, which may be a letter
    return not is_kind and one[-1].isalpha() and not one[-2:-1].isalnum() and other[0].islower()


def _changes(before: str, behind: str) -> bool:
    """Whether the kind of characters changes, as from letters to digits; two numbers are no word either."""
    if before in _MARKS or before.isdigit() or behind.isdigit():
        return True
    return before.islower() and behind.isupper()


def _is_apart(looks: Iterable[Look]) -> bool:
    """Whether elements are more than a style for some letters."""
    return any(look[0] not in _PLAIN or _named((look,)) for look in looks)


def _named(looks: Iterable[Look]) -> frozenset[str]:
    return frozenset(name for look in looks for name in look[2].split() if not _STYLE.fullmatch(name))


def _shown_as_blocks(nodes: NodeTable) -> frozenset[str]:
    numbers = [number for number, look in enumerate(nodes.looks) if look[0] == "style"]
    rows = np.flatnonzero(np.isin(nodes.look, numbers)).tolist() if numbers else []
    sheet = "".join(element.text or "" for element in elements_at(nodes, rows))[:200_000]
    found = set[str]()
    for rule in sheet.split("}") if _BLOCK.search(sheet) else ():
        selectors, _, declarations = rule.rpartition("{")
        if _BLOCK.search(declarations):
            found.update(match[1] for one in selectors.split(",") if (match := _BY_CLASS.search(one.strip())))
    return frozenset(found)
