"""Code blocks, also those that are no ``pre``: their language, and their lines as a browser shows them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, up_to
from scrapy_pagelets.base.caches import cached, once
from scrapy_pagelets.base.characters import lazily, readable
from scrapy_pagelets.page.gaps import gap_of
from scrapy_pagelets.page.looks import CODE, CODE_CELL, CODE_LINE, NUMBERS, placing
from scrapy_pagelets.page.nodes import (
    CELL,
    GAPS,
    GLUED,
    LINE,
    TAG,
    TEXT,
    NodeTable,
    among_tags,
    leaves_beginning,
    rows_with,
    tags_of,
)

_ABOVE: Final = 4  # elements above a block of code whose classes may tell its language
_OF_TABLE: Final = ("td", "tr", "tbody", "table")  # a cell beside that of the numbers of lines
_LABELS: Final = 20  # elements right before it that may name its language
_INSIDE: Final = 4  # the first elements of code in it that may
_CELL, _LIST = TAG["td"], TAG["ul"]
_DIGITS: Final = ("0123456789",)
_PREFIXED: Final = lazily(
    r"(?:^|\s)(?:language|lang|mw-highlight-lang|highlight-source|highlight-text|highlight|hl|brush|src|sourceCode|code)[-:]\s*([\w+#.-]+)",
    re.IGNORECASE,
)
#: In these classes, a language stands beside one of these words: ``highlight js``, ``sourceCode python``.
_BESIDE: Final = frozenset(
    "mw-geshi syntaxhighlighter syntaxhl highlight sourcecode prettyprint codehilite hljs src code rouge "
    "literal-block".split()
)
_PARAMETERS: Final = "data-syntaxhighlighter-params"  # where Confluence writes what others have in classes
_LANGUAGE: Final = lazily(r"language-name|-language(?:$|\s)")
#: Attributes that say nothing but a language.
_SAYING: Final = "data-lang data-language data-enlighter-language language syntax".split()
#: Words in classes that are no language.
_NO_LANGUAGE: Final = frozenset(
    "auto default fallback none notranslate plaintext plain text nohighlight no-highlight block inline body wrapper "
    "container toolbar example output box line lines table copy with-copy linenums linenumbers line-numbers".split()
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


@once
def line_numbers(nodes: NodeTable) -> Bools:
    """(m,) leaves of code that number its lines, in elements named so: in ``pre``, in cells or in their own list."""
    found = np.zeros(len(nodes.leaves), np.bool_)
    if not (rows := rows_with(nodes, NUMBERS)):
        return found
    wordy = up_to(np.array([any(map(str.isalpha, text)) for text in nodes.strings], np.bool_))
    begins, in_code = found.copy(), found.copy()
    begins[[*leaves_beginning(nodes, _DIGITS)]] = True
    in_code[[*nodes.spaces]] = True
    for row in rows:
        leaves = nodes.leaves_of(row)
        # A cell beside others, what stands beside a `pre`, or a list that has ended the one that it stands in.
        is_cell = nodes.tag.item(row) == _CELL and nodes.leaves_of(nodes.parent.item(row)) != leaves
        is_beside = is_cell or nodes.tag.item(row) == _LIST or _is_beside_code(nodes.elements[row])
        if wordy[leaves.start] == wordy[leaves.stop] and (begins[leaves] & (is_beside | in_code[leaves])).any():
            found[leaves] = True
    return found


def _is_beside_code(element: etree._Element) -> bool:
    return any(each is not None and each.tag == "pre" for each in (element.getprevious(), element.getnext()))


def without_blanks(nodes: NodeTable, keep: Bools) -> NodeTable:
    """The node table without the blank that parts code from numbers of its lines, see `code_of`.

    ``keep``: (m,) a mask of the leaves; only with the numbers that are not kept goes their blank.
    """
    numbers = np.flatnonzero(line_numbers(nodes) & ~keep).tolist() if nodes.spaces else []
    white = {leaf + 1: nodes.spaces[leaf + 1] for leaf in numbers if leaf + 1 in nodes.spaces}
    behind = {leaf: space for leaf, space in white.items() if "\n" not in space}
    if not min(map(len, behind.values()), default=0) % 2:
        return nodes
    return replace(nodes, spaces=nodes.spaces | {leaf: space[1:] for leaf, space in behind.items()})


def language_of(element: etree._Element) -> str:
    """The language of a block of code in lower case; "" if the page does not tell."""
    for node in _near(element):
        named = f"{node.get('class', '')} {node.get(_PARAMETERS, '')}"
        alone = f"{node.get('class', '')} {node.get('lang', '')}".lower().split() if node.tag in ("pre", "code") else ()
        own = (word for word in alone if word in _LANGUAGES)  # rustdoc: `<pre class="rust item-decl">`
        for told in filter(None, (*map(node.get, _SAYING), *_told(named), *own)):
            name = told.strip().lower()
            if _NO_LANGUAGE.isdisjoint((name, name.partition("-")[0])) and re.fullmatch(r"[\w+#.-]{1,20}", name):
                return name
    return _label(element)


def _near(element: etree._Element) -> Iterator[etree._Element]:
    yield element
    yield from islice(element.iterdescendants("pre", "code"), _INSIDE)
    yield from islice((above for above in element.iterancestors() if above.tag not in _OF_TABLE), _ABOVE)


def _told(classes: str) -> Iterator[str]:
    for match in _PREFIXED.finditer(classes):
        name = match[1].removeprefix("source-").removesuffix(";")
        if name.lower() in _LANGUAGES or not match[0].lower().lstrip().startswith("code"):  # unlike `code-frame`
            yield name
    words = classes.lower().split()
    if _BESIDE.intersection(words):
        yield from (word for word in words if word in _LANGUAGES)


def _label(element: etree._Element) -> str:
    """A language that a label above the code names, as on MDN; above a table of lines, it is in the frame of that."""
    frame = element.getparent() if element.tag == "table" else element
    beside = () if frame is None else frame.itersiblings("*", preceding=True)
    above = islice(beside, 1 + 2 * (frame is not element))
    for label in (label for each in above for label in islice(each.iter(etree.Element), _LABELS)):
        if _LANGUAGE.search(label.get("class", "")):
            name = "".join(label.itertext()).strip().lower()
            return name if name in _LANGUAGES else ""
    return ""


TOOLTIP: Final = "ttc"  # class of what Doxygen shows beside the pointer
_NOT_CODE: Final = frozenset("script style template noscript button".split())
_ROWS: Final = ("li", "tr")  # elements that are a line
_GROUPS: Final = frozenset("ol ul table thead tbody tfoot tr".split())  # those between which white space is no text
#: White space with a line break, which outside of ``pre`` says no more than a space.
_FORMATTING: Final = lazily(r"[ \t]*\n[ \t\n]*")
_NUMBER: Final = "\0"  # stands for the number of a line; no parsed text has it


@cached
def _signs(classes: str | None) -> int:
    return placing(classes or "", "")


def is_gutter(element: etree._Element) -> bool:
    """Whether an element shows the numbers of lines: code stands in none, whatever its class says of them."""
    is_named = _signs(element.get("class")) & NUMBERS > 0
    return is_named and not any(any(map(str.isalpha, text)) for text in element.itertext())


def code_of(element: etree._Element, *, verbatim: bool = True) -> str:
    """The text of a block of code, as written: white space is kept, line numbers are left out.

    ``verbatim``: whether line breaks in the text are lines, as in ``pre``.
    """
    lines = _Lines(verbatim=verbatim)
    walk = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if event == "start" and _is_no_code(node):
            walk.skip_subtree()
        elif event == "start":
            if node is not element:
                if node.tag == "code" and lines.last.isalpha() and "\n" in "".join(map(str, node.itertext())):
                    lines.end_line()  # a label stands before the code in the block
                lines.begin(node)
            lines.add(node.text, node)
        elif node is not element:
            if event == "end" and not _is_no_code(node):
                lines.end(node)
            lines.add(node.tail, node.getparent())
    return lines.text()


def _is_no_code(node: etree._Element) -> bool:
    return node.tag in _NOT_CODE or node.get("class") == TOOLTIP or node.get("download") is not None


class _Lines:
    def __init__(self, *, verbatim: bool) -> None:
        self.verbatim = verbatim
        self.pieces: list[str] = []  # the text so far
        self.last = "\n"  # its last character
        self.made = False  # whether an element has ended the line: a line break behind it does not count again
        self.filled = False  # whether the innermost row has text
        #: what these were before each open element that may have the numbers of lines
        self.numbers: list[tuple[int, str, bool]] = []
        self.letters = [False]  # whether each of them has letters, which numbers have not

    def begin(self, node: etree._Element) -> None:
        if _signs(node.get("class")) & NUMBERS:
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
        if _signs(node.get("class")) & NUMBERS:
            before, letters = self.numbers.pop(), self.letters.pop()
            self.letters[-1] |= letters
            if not letters:
                start, self.last, self.filled = before
                self.pieces[start:] = [_NUMBER]

    def add(self, text: str | None, within: etree._Element | None) -> None:
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
        if text:
            self.pieces.append(text)
            self.last, self.made, self.filled = text[-1], False, True

    def end_line(self) -> None:
        if self.last != "\n":
            self.write("\n")

    def text(self) -> str:
        """The lines, without white space at their ends and empty ones around them."""
        lines = "".join(self.pieces).split("\n")
        behind = [line.rpartition(_NUMBER)[2] for line in lines if _NUMBER in line]
        indents = [len(line) - len(line.lstrip()) for line in behind if line.strip()]
        # Code is indented by two, four or eight: the odd blank parts it from the numbers.
        odd = min(indents, default=0) % 2
        split = (line.rpartition(_NUMBER) for line in lines)
        parted = (before.replace(_NUMBER, "") + line[odd * bool(number) :] for before, number, line in split)
        return "\n".join(line.rstrip() for line in parted).strip("\n")


def is_row(node: etree._Element) -> bool:
    """Whether an element of a block of code is a line of it by its tag or class, even if it is empty."""
    return node.tag in _ROWS or _signs(node.get("class")) & CODE_LINE > 0


def ends_line(node: etree._Element) -> bool:
    """Whether an element of a block of code stands in lines of its own; its class may say so, and code beside code."""
    if GAPS.get(str(node.tag), GLUED) >= LINE or is_row(node):
        return True
    before, above = (node.getprevious(), node.getparent()) if node.tag == "code" else (None, None)
    if before is None or above is None:
        return False
    return above.tag == "pre" and before.tag == "code" and not before.tail


_MONOSPACED: Final = lazily(r"font-family\s*:[^;]*(?:mono|courier|consolas|menlo)", re.IGNORECASE)
#: Classes of elements that are code, by tag; of div, if it reads like it: others are of discounts.
_CALLED: Final = {"td": lazily(r"^code$"), "div": lazily(r"(?:^|\s)(?:[a-z]\w{0,11}-)?code(?:$|\s)")}
_SIGNS: Final = frozenset("{}();=<>")
_IN_LINES: Final = lazily(r"(?:^|\s)lang(?:uage)?-\w")
_VERBATIM: Final = lazily(r"white-space\s*:\s*(?:(pre|break-spaces)|pre-wrap)(?![\w-])", re.IGNORECASE)
_CODE: Final = frozenset(tags_of("code samp tt").tolist())
_STYLED: Final = frozenset(tags_of("div p span font td code samp tt").tolist())
#: What never stands in code, and beside that what stands in code only if a class names a highlighter.
_IS_PROSE: Final = among_tags("pre h1 h2 h3 h4 h5 h6 dl blockquote figure img form section article main nav textarea")
_IS_PARAGRAPH: Final = _IS_PROSE | among_tags("p ul ol table")


class CodeBlocks:
    """The blocks of code of a page, apart from ``pre``."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.signs: list[int] = nodes.signs.tolist()
        self.listed = [
            "code" in look[2] and look[0] in _CALLED and _CALLED[look[0]].search(look[2]) is not None
            for look in nodes.looks
        ]
        # Code as Doxygen writes it, with a line in it as blocks of others with this name have not, and Distill.
        self.fragments = [
            look[0] == "d-code" or ("fragment" in look[2] and look[0] == "div" and "fragment" in look[2].split())
            for look in nodes.looks
        ]
        self.in_lines = [look[0] == "code" and _IN_LINES.search(look[2]) is not None for look in nodes.looks]

    def has(self, row: int) -> bool:
        """Whether an element is a block of code."""
        nodes, tag = self.nodes, self.nodes.tag.item(row)
        if self.fragments[nodes.look.item(row)]:
            return bool(self.breaks[row + 1 : row + 2].any()) or nodes.elements[row].get("block") is not None
        if self.is_named(row):
            return self._counts(row, self.lines) and not self._holds(row, _IS_PROSE)
        if self.listed[nodes.look.item(row)]:
            has_text = self._holds(row, _IS_PARAGRAPH)
            return self._counts(row, self.breaks) and not has_text and (tag == _CELL or self._reads_as_code(row))
        if tag == TAG["table"]:
            return self._is_listing(row)
        style = nodes.styles.get(row, "") if tag in _STYLED else ""
        if not style and tag not in _CODE:
            return False
        return self._is_set(row, tag, style) and not self._holds(row, _IS_PARAGRAPH)

    def is_named(self, row: int) -> bool:
        """Whether the class of an element says that it is code."""
        return self.signs[self.nodes.look.item(row)] & CODE > 0

    def is_verbatim(self, row: int) -> bool:
        """Whether a style keeps the white space of an element."""
        keeps_lines = self.fragments[self.nodes.look.item(row)] or self._is_in_lines(row)
        return keeps_lines or _VERBATIM.search(self.nodes.styles.get(row, "")) is not None

    def _is_in_lines(self, row: int) -> bool:
        """Whether the style sheet of a highlighter keeps the lines of code, which is alone in an element."""
        alone = self.nodes.leaves_of(self.nodes.parent.item(row)) == self.nodes.leaves_of(row)
        return alone and self.in_lines[self.nodes.look.item(row)]

    def in_table(self, row: int) -> bool:
        """Whether a table holds a block of code, which no cell of data does."""
        own = slice(row + 1, self.nodes.end[row])
        named = (self.nodes.signs & CODE > 0)[self.nodes.look[own]] & (self.nodes.tag[own] != TEXT)
        return any(self.has(block) for block in (np.flatnonzero(named) + own.start).tolist())

    def _is_set(self, row: int, tag: int, style: str) -> bool:
        """Whether an element is set as code in lines: by its tag or font and line breaks, or by its white space."""
        is_code = tag in _CODE or _MONOSPACED.search(style) is not None
        if is_code and (self._counts(row, self.breaks) or gap_of(self.signs[self.nodes.look.item(row)], style) >= LINE):
            return True
        space = _VERBATIM.search(style)
        if not self._is_in_lines(row) and (space is None or not (is_code or space[1])):
            return False
        return "\n" in "".join(map(str, self.nodes.elements[row].itertext())).strip()

    def _reads_as_code(self, row: int) -> bool:
        """Whether half of the lines of an element without blocks have signs that programs and markup have."""
        leaves = self.nodes.leaves_of(row)
        line = np.cumsum(self.nodes.gap[leaves] >= LINE)
        signs = np.array([not _SIGNS.isdisjoint(text) for text in self.nodes.strings[leaves]], np.bool_)
        is_half = 2 * len(np.unique(line[signs])) >= len(np.unique(line)) > 0
        return is_half and not self._counts(row, self.lines & ~self.breaks)

    def _is_listing(self, table: int) -> bool:
        """Whether each line of a table has a number of a line, and cells of code."""
        if self._holds(table, _IS_PROSE):
            return False
        nodes, lines, numbered, code = self.nodes, set[int](), set[int](), False
        for row in (np.flatnonzero(nodes.tag[table : nodes.end[table]] == TAG["td"]) + table).tolist():
            signs, line = self.signs[nodes.look.item(row)], nodes.parent.item(row)
            lines.add(line)
            if signs & NUMBERS:
                numbered.add(line)
            code |= signs & CODE_CELL > 0
        return code and lines == numbered

    def _counts(self, row: int, column: Bools) -> bool:
        return bool(column[row + 1 : self.nodes.end[row]].any())

    def _holds(self, row: int, tags: Bools) -> bool:
        own = slice(row + 1, self.nodes.end[row])
        return bool((tags[self.nodes.tag[own]] & ~self.breaks[own]).any())

    @cached_property
    def may_be(self) -> list[bool]:
        """(looks,) whether an element with a look may be a block of code even without a style."""
        tags = "code samp tt table" if (self.nodes.signs & NUMBERS).any() else "code samp tt"
        found = [look[0] in tags.split() for look in self.nodes.looks]
        return list((np.array(found, np.bool_) | (self.nodes.signs & CODE > 0) | self.fragments | self.listed).tolist())

    @cached_property
    def breaks(self) -> Bools:
        """(n,) line breaks, and elements whose class says that they are a line of code."""
        is_line = (self.nodes.signs & CODE_LINE > 0)[self.nodes.look]
        found: Bools = is_line & (self.nodes.tag != TEXT) | (self.nodes.tag == TAG["br"])
        return found

    @cached_property
    def lines(self) -> Bools:
        """(n,) elements that end a line."""
        return self.breaks | np.isin(self.nodes.tag, tags_of("div p li tr"))
