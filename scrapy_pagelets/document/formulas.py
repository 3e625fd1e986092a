"""Formulas: the TeX that a page gives beside what its browser shows."""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

_TEX_TYPE: Final = re.compile(r"(?:application/x-tex|math/tex|text/x-tex|latex)", re.IGNORECASE)
_KATEX: Final = re.compile(r"(?:^|\s)katex(?:-display)?(?:\s|$)")


def is_formula(element: etree._Element) -> bool:
    """Whether an element shows a formula, or holds the source of one."""
    if element.tag == "math":
        return True
    if element.tag == "script":
        return bool(_TEX_TYPE.match(element.get("type", "")))
    return element.tag == "span" and bool(_KATEX.search(element.get("class", "")))


def tex_of(element: etree._Element) -> str:
    """The TeX of a formula; "" if the page does not give it."""
    if element.tag == "script":
        return _folded(element.text or "")
    for note in element.iter("annotation"):
        if _TEX_TYPE.search(note.get("encoding", "")):
            return _folded("".join(note.itertext()))
    return _folded(element.get("alttext", ""))


def is_display(element: etree._Element) -> bool:
    """Whether a formula stands on a line of its own."""
    told = " ".join((element.get("display", ""), element.get("type", ""), element.get("class", "")))
    return "block" in told or "mode=display" in told or "katex-display" in told


def _folded(text: str) -> str:
    return " ".join(text.split())
