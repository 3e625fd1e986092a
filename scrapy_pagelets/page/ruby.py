"""Ruby: readings that are shown above or beside the words that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lxml import etree

from scrapy_pagelets.base.patterns import lazily

_BRACKETS: Final = "([（［【〔〈《「"
#: Characters that are as wide as they are high: brackets around them are as wide.
_WIDE: Final = lazily(r"[\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")
_TEXTS: Final = etree.XPath("descendant::text()[normalize-space()]")


def bracket_readings(root: etree._Element) -> None:
    """Put brackets around the readings of a page that has none for browsers without ruby (``rp``).

    Only texts are changed, so that the paths of all nodes stay. The readings of the parts of a word, one after the
    other, share their brackets.
    """
    for readings in _readings(root):
        texts = [text for reading in readings for text in _texts(reading)]
        if not texts or texts[0].lstrip()[0] in _BRACKETS:
            continue
        before, behind = ("（", "）") if _WIDE.search(texts[0]) else (" (", ")")
        for text, value in zip(texts, _with_brackets(texts, before, behind), strict=True):
            setattr(text.getparent(), "text" if text.is_text else "tail", value)


def _readings(root: etree._Element) -> Iterator[list[etree._Element]]:
    """Yield the readings that have no brackets, those that follow each other at once."""
    found: list[etree._Element] = []
    context = etree.iterwalk(root, events=("start",), tag=("rt", "rtc"))
    for _, reading in context:
        if reading.tag == "rtc" and reading.find("rt") is not None:
            continue
        context.skip_subtree()  # a reading in it is part of it
        if _has_brackets(reading):
            continue
        if found and (reading.getprevious() is not found[-1] or (found[-1].tail or "").strip()):
            yield found
            found = []
        found.append(reading)
    yield found


def _has_brackets(reading: etree._Element) -> bool:
    """Whether the page has brackets for a reading; where the end tag of ``rp`` is missing, the reading is inside."""
    around = (reading.getprevious(), reading.getnext(), reading.getparent())
    return any(one is not None and one.tag == "rp" and (one.text or "").strip() for one in around)


def _texts(reading: etree._Element) -> list[Any]:
    found = _TEXTS(reading)
    assert isinstance(found, list)
    return found


def _with_brackets(texts: list[Any], before: str, behind: str) -> list[str]:
    texts = [before + texts[0].lstrip(), *texts[1:]]
    return [*texts[:-1], texts[-1].rstrip() + behind]
