"""Code blocks: their language, and the numbers of their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.page.nodes import TAG, NodeTable, leaves_beginning, rows_with
from scrapy_pagelets.page.placing import NUMBERS

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
        alone = node.get("class", "").lower().split() if node.tag == "pre" else ()
        own = (word for word in alone if word in _LANGUAGES)  # rustdoc: `<pre class="rust item-decl">`
        for told in (node.get("data-lang"), node.get("data-language"), *_told(named), *own):
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
