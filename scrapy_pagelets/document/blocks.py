"""The blocks of a document: headings, paragraphs, code, lists, quotes, tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scrapy_pagelets.document.markdown import Run


@dataclass(eq=False)
class Block:
    """A block of a document.

    Attributes
    ----------
    kind : ``document``, ``heading``, ``paragraph``, ``code``, ``math``, ``list``, ``item``, ``quote``, ``table`` or
        ``rule``
    children : the blocks inside a document, list, item or quote
    runs : the text of a heading or paragraph; of code the links in it, which are listed below
    rows : the cells of a table; its first row is its head
    text : code or formula
    language : language of code; "" if it is not told
    level : of a heading, 1 to 6
    ordered : whether the items of a list are numbered
    number : of an item of an ordered list; of a list that of its first item
    step : from the number of an item to the next
    leaves : (k,) indices of the leaves that it shows itself, ascending
    """

    kind: str
    children: list[Block] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    rows: list[list[list[Run]]] = field(default_factory=list)
    text: str = ""
    language: str = ""
    level: int = 0
    ordered: bool = False
    number: int = 1
    step: int = 1
    leaves: list[int] = field(default_factory=list)

    def walk(self) -> Iterator[Block]:
        """Yield the block and all blocks inside it, in document order."""
        stack = [self]
        while stack:
            block = stack.pop()
            yield block
            stack += reversed(block.children)


@dataclass(frozen=True)
class Switches:
    """What the Markdown has beside text: ``PAGELETS_MARKDOWN``.

    Attributes
    ----------
    links, images, tables : whether they are written; the text of links and cells is in any case
    titles : whether links have their tooltips
    """

    links: bool = True
    images: bool = True
    tables: bool = True
    titles: bool = False


ALL: Final = Switches()
