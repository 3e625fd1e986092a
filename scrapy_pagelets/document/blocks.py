"""What a document is made of: blocks, with runs of text in one style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from scrapy_pagelets.base.characters import lazily

_SPACE: Final = lazily(r"[ \t\n]+")


class Style(NamedTuple):
    """How a run of text is set: inside a link, strong, emphasised, raised or lowered (``sup``, ``sub``), code, struck.

    ``code`` is the number of the element, because two of them with a space between are two spans; 0 for other text.
    """

    href: str = ""
    title: str = ""
    strong: bool = False
    emphasised: bool = False
    script: str = ""
    code: int = 0
    struck: bool = False

    def shared(self, other: Style) -> Style:
        """What two different styles have in common."""
        if self == other:
            return self
        href, title = (self.href, self.title) if (self.href, self.title) == (other.href, other.title) else ("", "")
        strong, emphasised = self.strong and other.strong, self.emphasised and other.emphasised
        code = self.code if self.code == other.code else 0  # a part of it may be emphasised
        return Style(href, title, strong=strong, emphasised=emphasised, code=code, struck=self.struck and other.struck)


PLAIN: Final = Style()


@dataclass(frozen=True)
class Run:
    r"""A run of text in one style; ``"\n"`` is a line break."""

    text: str  # the text, without markup; of a picture its alternative text
    style: Style = PLAIN
    source: str = ""  # URL of a picture; "" for text
    title: str = ""  # title of a picture
    #: index of the leaf of the page that has the text, of a formula that of its first; -1 if no leaf has it
    leaf: int = field(default=-1, compare=False)


BREAK: Final = Run("\n")


@dataclass(eq=False)
class Block:
    """A block of a document."""

    kind: str  # document, heading, paragraph, code, math, list, item, quote, table or rule
    children: list[Block] = field(default_factory=list)  # the blocks inside a document, list, item or quote
    #: the text of a heading or paragraph; of code the links in it, which are listed below
    runs: list[Run] = field(default_factory=list)
    rows: list[list[list[Run]]] = field(default_factory=list)  # the cells of a table; its first row is its head
    text: str = ""  # code or formula
    language: str = ""  # language of code; "" if the page does not tell it
    level: int = 0  # of a heading, 1 to 6
    ordered: bool = False  # whether the items of a list are numbered
    number: int = 1  # of an item of an ordered list; of a list that of its first item
    checked: bool | None = None  # whether the box of an item is checked; None if it has no box
    step: int = 1  # from the number of an item to the next
    leaves: list[int] = field(default_factory=list)  # (k,) indices of the leaves that it shows itself, ascending

    def walk(self) -> Iterator[Block]:
        """Yield the block and all blocks inside it, in document order."""
        stack = [self]
        while stack:
            block = stack.pop()
            yield block
            stack += reversed(block.children)


@dataclass(frozen=True)
class Switches:
    """What the Markdown has beside text: ``PAGELETS_MARKDOWN``."""

    #: whether they are written; the text of links and cells is in any case
    links: bool = True
    images: bool = True
    tables: bool = True
    titles: bool = False  # whether links have their tooltips


ALL: Final = Switches()


def text_of_runs(runs: Iterable[Run]) -> str:
    """The text of runs, without markup and pictures, white space folded."""
    return " ".join("".join(run.text for run in runs if not run.source).split())


def tidy(runs: Iterable[Run]) -> list[Run]:
    """Fold white space, also across runs, and drop it at the ends; each space becomes a run of its own.

    White space between two runs has the style that both share; at the end of a link or of a line it is no code.
    """
    folded: list[Run] = []
    space = ""
    for piece in (piece for run in runs for piece in _words_and_spaces(run)):
        if piece.text in (" ", "\n") and not piece.source:
            space = max(space, piece.text, key=" \n".find) if space else piece.text
            continue
        if space and folded:
            before, after = folded[-1].style, piece.style
            is_end = space == "\n" or (before.href, before.title) != (after.href, after.title)
            folded.append(Run(space, before.shared(after)._replace(code=0) if is_end else before.shared(after)))
        space = ""
        folded.append(piece)
    return folded


def _words_and_spaces(run: Run) -> Iterator[Run]:
    if run.source or run.text == "\n":
        yield run
        return
    text = _SPACE.sub(" ", run.text)
    core = text.strip(" ")
    if text[:1] == " ":
        yield Run(" ")
    if core:
        yield replace(run, text=core)
        if text[-1:] == " ":
            yield Run(" ")
