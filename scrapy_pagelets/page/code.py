"""Code blocks: their language, and their lines as a browser shows them, without the numbers of the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.page.looks import CODE_LINE, NUMBERS, placing
from scrapy_pagelets.page.nodes import CELL, GAPS, GLUED, LINE, TAG, NodeTable, leaves_beginning, rows_with

#: Elements above a block of code whose classes may tell its language.
_ABOVE: Final = 4
_OF_TABLE: Final = frozenset(("td", "tr", "tbody", "table"))  # a cell beside that of the numbers of lines
#: The first elements of code in it that may.
_INSIDE: Final = 4
_CELL, _LIST = TAG["td"], TAG["ul"]
_DIGITS: Final = ("0123456789",)
_PREFIXED: Final = re.compile(
    r"(?:^|\s)(?:language|lang|mw-highlight-lang|highlight-source|highlight-text|highlight|brush|src|sourceCode|code)[-:]\s*([\w+#.-]+)",
    re.IGNORECASE,
)
#: In these classes, a language stands beside one of these words: ``highlight js``, ``sourceCode python``.
_BESIDE: Final = frozenset(
    "mw-geshi syntaxhighlighter highlight sourcecode prettyprint codehilite hljs src code rouge literal-block".split()
)
#: Where Confluence writes what others have in classes.
_PARAMETERS: Final = "data-syntaxhighlighter-params"
#: Words in classes that are no language.
_NO_LANGUAGE: Final = frozenset(
    "default fallback none notranslate plaintext plain text nohighlight no-highlight block inline body wrapper "
    "container toolbar example box line lines table copy linenums linenumbers line-numbers".split()
)
_LANGUAGES: Final = frozenset(
    "ada apache asm awk bash batch c c# c++ clojure cmake coffeescript console cpp crystal cs csharp css csv cython d "
    "dart diff docker dockerfile elisp elixir elm erl erlang f# fortran fsharp gap glsl go gradle graphql groovy haml "
    "handlebars haskell hcl html http ini java javascript js json jsx julia kotlin latex less lisp lua makefile "
    "markdown matlab md mysql nasm nginx nim objc objectivec ocaml pascal perl php pgsql plsql postgresql powershell "
    "properties protobuf py pycon python python3 qml r racket rb rest rst ruby rust sass scala scheme scss sh shell "
    "sql stylus svg swift tcl terraform tex toml ts tsx twig typescript vala vb vbnet verilog vhdl vim vue xml xslt "
    "yaml yml zig zsh".split()
)


def line_numbers(nodes: NodeTable) -> Bools:
    r"""(m,) leaves of code that number its lines, in elements named so: in ``pre``, in cells or in a list of their own.

    >>> from scrapy_pagelets import Page
    >>> html = b"<pre><i class=lineno>1</i>a = 1\n<i class=lineno>2</i>2 + 3</pre>"
    >>> line_numbers(Page.parse(html, "http://a/").nodes).tolist()
    [True, False, True, False]
    """
    found = np.zeros(len(nodes.leaves), np.bool_)
    judged = set[int]()
    gutters = {nodes.look.item(row) for row in rows_with(nodes, NUMBERS)}
    for leaf in leaves_beginning(nodes, _DIGITS) if gutters else ():
        row = -1 if found[leaf] else nodes.parent.item(nodes.leaves.item(leaf))
        for _ in range(_ABOVE):
            if row < 0:
                break
            if nodes.look.item(row) in gutters and (leaf in nodes.spaces or _is_beside_text(nodes, row)):
                if row not in judged:
                    leaves = nodes.leaves_of(row)
                    found[leaves] |= not any(map(str.isalpha, "".join(nodes.strings[leaves])))
                judged.add(row)
                break
            row = nodes.parent.item(row)
    return found


def _is_beside_text(nodes: NodeTable, row: int) -> bool:
    """Whether a row is a cell, and its line of the table has another one with text, or a list behind code."""
    if nodes.tag.item(row) == _LIST:  # it has ended the `pre` that it stands in
        return True
    cells = nodes.leaves_of(nodes.parent.item(row))
    return nodes.tag.item(row) == _CELL and cells != nodes.leaves_of(row)


def without_blanks(nodes: NodeTable, keep: Bools) -> NodeTable:
    """The node table without the blank that parts code from numbers of its lines, see `code_lines.code_of`.

    Parameters
    ----------
    keep : (m,) a mask of the leaves; only with the numbers that are not kept goes their blank
    """
    numbers = np.flatnonzero(line_numbers(nodes) & ~keep).tolist() if nodes.spaces else []
    white = {leaf + 1: nodes.spaces[leaf + 1] for leaf in numbers if leaf + 1 in nodes.spaces}
    behind = {leaf: space for leaf, space in white.items() if "\n" not in space}
    if not min(map(len, behind.values()), default=0) % 2:
        return nodes
    return replace(nodes, spaces=nodes.spaces | {leaf: space[1:] for leaf, space in behind.items()})


def language_of(element: etree._Element) -> str:
    """The language of a block of code in lower case; "" if the page does not tell.

    >>> pre = etree.fromstring('<div class="highlight-python notranslate"><pre>x</pre></div>')[0]
    >>> language_of(pre)
    'python'
    """
    for node in _near(element):
        named = f"{node.get('class', '')} {node.get(_PARAMETERS, '')}"
        for told in (node.get("data-lang"), node.get("data-language"), *_told(named)):
            if told and (name := told.strip().lower()) not in _NO_LANGUAGE and re.fullmatch(r"[\w+#.-]{1,20}", name):
                return name
    return _label(element)


def _near(element: etree._Element) -> Iterator[etree._Element]:
    yield element
    yield from islice(element.iterdescendants("pre", "code"), _INSIDE)
    yield from islice((above for above in element.iterancestors() if above.tag not in _OF_TABLE), _ABOVE)


def _told(classes: str) -> Iterator[str]:
    for match in _PREFIXED.finditer(classes):
        yield match[1].removeprefix("source-").removesuffix(";")
    words = classes.lower().split()
    if _BESIDE.intersection(words):
        yield from (word for word in words if word in _LANGUAGES)


def _label(element: etree._Element) -> str:
    """A language that a label above the code names, as on MDN."""
    above = element.getparent()
    for label in () if above is None else above.xpath(".//*[contains(@class, 'language-name')]"):
        name = "".join(label.itertext()).strip().lower()
        return name if name in _LANGUAGES else ""
    return ""


_NOT_CODE: Final = frozenset("script style template noscript button".split())
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
        if event == "start" and node.tag in _NOT_CODE:
            walk.skip_subtree()
        elif event == "start":
            if node is not element:
                lines.begin(node)
            lines.add(node.text, node)
        elif node is not element:
            if event == "end" and node.tag not in _NOT_CODE:
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
