"""The lines of a block of code, as a browser shows them: white space is kept, numbers of lines are left out."""

from __future__ import annotations

import re
from typing import Final

from lxml import etree

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.page.nodes import CELL, GAPS, GLUED, LINE
from scrapy_pagelets.page.placing import CODE_LINE, NUMBERS, placing

_NOT_CODE: Final = frozenset("script style template noscript button".split())
#: Class of what Doxygen shows beside the pointer.
TOOLTIP: Final = "ttc"
#: Elements that are a line, and those between which white space is no text.
_ROWS: Final = ("li", "tr")
_GROUPS: Final = frozenset("ol ul table thead tbody tfoot tr".split())
#: White space with a line break, which outside of ``pre`` says no more than a space.
_FORMATTING: Final = re.compile(r"[ \t]*\n[ \t\n]*")
#: Stands for the number of a line; no parsed text has it.
_NUMBER: Final = "\0"


@cached
def _signs(classes: str) -> int:
    return placing(classes, "")


def _names_gutter(element: etree._Element) -> bool:
    """Whether the class of an element says that it has the numbers of lines; it may have others, too."""
    return bool((classes := element.get("class")) and _signs(classes) & NUMBERS)


def is_gutter(element: etree._Element) -> bool:
    """Whether an element shows the numbers of lines: code stands in none, whatever its class says of them.

    >>> one, other = etree.fromstring('<div><p class="line-numbers">1 2</p><pre class="line-numbers">a = 1</pre></div>')
    >>> is_gutter(one), is_gutter(other)
    (True, False)
    """
    named = _names_gutter(element)
    return named and not any(any(map(str.isalpha, text)) for text in element.itertext())


def code_of(element: etree._Element, *, verbatim: bool = True) -> str:
    r"""The text of a block of code, as written: white space is kept, line numbers are left out.

    Parameters
    ----------
    verbatim : whether line breaks in the text are lines, as in ``pre``

    Examples
    --------
    >>> code_of(etree.fromstring("<pre><ol><li>a = 1</li><li>  b</li></ol></pre>"))
    'a = 1\n  b'
    """
    lines = _Lines(verbatim=verbatim)
    walk = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if event == "start" and (node.tag in _NOT_CODE or node.get("class") == TOOLTIP):
            walk.skip_subtree()
        elif event == "start":
            if node is not element:
                lines.begin(node)
            lines.add(node.text, node)
        elif node is not element:
            if event == "end" and node.tag not in _NOT_CODE and node.get("class") != TOOLTIP:
                lines.end(node)
            lines.add(node.tail, node.getparent())
    return lines.text()


class _Lines:
    """The lines of a block of code that is being read.

    Attributes
    ----------
    pieces, last : the text so far, and its last character
    made : whether an element has ended the line: a line break behind it does not count again
    filled : whether the innermost row has text
    numbers : what these were before each open element that may have the numbers of lines
    letters : whether each of them has letters, which numbers have not
    """

    def __init__(self, *, verbatim: bool) -> None:
        self.verbatim = verbatim
        self.pieces: list[str] = []
        self.last, self.made, self.filled = "\n", False, False
        self.numbers: list[tuple[int, str, bool]] = []
        self.letters = [False]

    def begin(self, node: etree._Element) -> None:
        """Begin an element."""
        if _names_gutter(node):
            self.numbers.append((len(self.pieces), self.last, self.filled))
            self.letters.append(False)
        if node.tag == "br":
            if not self.made:
                self.write("\n")
        elif ends_line(node):
            self.end_line()
            self.filled = self.filled and not is_row(node)
        elif GAPS.get(str(node.tag)) == CELL and self.last not in "\n\t":
            self.write("\t")
        self.made = False

    def end(self, node: etree._Element) -> None:
        """End an element; a row without text is an empty line."""
        if node.tag != "br" and ends_line(node):
            self.end_line()
            if is_row(node) and not self.filled:
                self.write("\n")
            self.made = True
        if _names_gutter(node):
            before, letters = self.numbers.pop(), self.letters.pop()
            self.letters[-1] |= letters
            if not letters:
                start, self.last, self.filled = before
                self.pieces[start:] = [_NUMBER]

    def add(self, text: str | None, within: etree._Element | None) -> None:
        """Add a run of text."""
        if not text or (within is not None and text.isspace() and within.tag in _GROUPS):
            return
        text = readable(text).replace("\r\n", "\n")
        if not self.verbatim:
            text = _FORMATTING.sub(" ", _FORMATTING.sub("", text, 1) if self.last == "\n" else text)
        elif self.made:
            text = text.removeprefix("\n")
        self.made = False
        if self.numbers and any(map(str.isalpha, text)):
            self.letters[-1] = True
        self.write(text.replace("\N{NO-BREAK SPACE}", " "))

    def write(self, text: str) -> None:
        """Write text as it is."""
        if text:
            self.pieces.append(text)
            self.last, self.made, self.filled = text[-1], False, True

    def end_line(self) -> None:
        """End the line, if it has begun."""
        if self.last != "\n":
            self.write("\n")

    def text(self) -> str:
        """The lines, without white space at their ends and empty ones around them."""
        lines = "".join(self.pieces).split("\n")
        behind = [line.rpartition(_NUMBER)[2] for line in lines if _NUMBER in line]
        indents = [len(line) - len(line.lstrip()) for line in behind if line.strip()]
        # Code is indented by two, four or eight: the odd blank parts it from the numbers.
        odd = min(indents, default=0) % 2
        parted = (before + line[odd:] if number else line for before, number, line in map(_at_number, lines))
        return "\n".join(line.rstrip() for line in parted).strip("\n")


def _at_number(line: str) -> tuple[str, str, str]:
    before, number, behind = line.rpartition(_NUMBER)
    return before.replace(_NUMBER, ""), number, behind


def is_row(node: etree._Element) -> bool:
    """Whether an element of a block of code is a line of it by its tag or class, even if it is empty."""
    return node.tag in _ROWS or bool((classes := node.get("class")) and _signs(classes) & CODE_LINE)


def ends_line(node: etree._Element) -> bool:
    """Whether an element of a block of code stands in lines of its own; its class may say so, and code beside code."""
    if GAPS.get(str(node.tag), GLUED) >= LINE or is_row(node):
        return True
    before, above = (node.getprevious(), node.getparent()) if node.tag == "code" else (None, None)
    if before is None or above is None:
        return False
    return above.tag == "pre" and before.tag == "code" and not before.tail
