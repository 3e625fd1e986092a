"""Write a document as Markdown: CommonMark 0.31, with the tables of GitHub Flavored Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.inline import Run, fence_length, written
from scrapy_pagelets.page.page import Page


def markdown(page: Page, site: Site) -> str:
    """Write the content of a page, as its site knows it.

    >>> site = Site("example.com")
    >>> page = Page.parse(b"<title>Tea</title><h1>Tea</h1><p>All about <i>green</i> tea.", "http://example.com/")
    >>> print(markdown(page, site))
    # Tea
    <BLANKLINE>
    All about *green* tea.
    """
    decision = decided(page, site)
    return markdown_of(document_of(page, decision.content, decision.headline))


def markdown_of(block: Block) -> str:
    """Write a document, or a part of one.

    Lists and quotes are nested `builder.DEPTH` deep at most, so this may recurse.
    """
    return "\n".join(_lines(block))


def _lines(block: Block) -> list[str]:
    match block.kind:
        case "document":
            return _blocks(block.children)
        case "heading":
            return [f"{'#' * block.level} {_heading(block)}"]
        case "paragraph":
            return written(block.runs).split("\n")
        case "code":
            return _fenced(block.text, block.language) + (["", written(block.runs)] if block.runs else [])
        case "math":
            return _fenced(block.text, "math")
        case "quote":
            return [f"> {line}".rstrip() for line in _blocks(block.children)]
        case "table":
            return _table(block.rows)
        case "list":
            return list(_list(block, 0))
        case "rule":
            return ["***"]
        case _:
            return _blocks(block.children)


def _blocks(children: Sequence[Block]) -> list[str]:
    """Blocks with an empty line between them; of two lists in a row, the second has another marker."""
    lines: list[str] = []
    alternate = 0
    before: Block | None = None
    for child in children:
        follows = before is not None and before.kind == child.kind == "list" and before.ordered == child.ordered
        alternate = 1 - alternate if follows else 0
        part = list(_list(child, alternate)) if child.kind == "list" else _lines(child)
        if not part:
            continue
        lines += ["", *part] if lines else part
        before = child
    return lines


def _heading(block: Block) -> str:
    text = written(block.runs, one_line=True)
    return f"{text[:-1]}\\#" if text.endswith(" #") or text == "#" else text


def _fenced(text: str, language: str) -> list[str]:
    fence = "`" * fence_length(text, 3)
    return [fence + language, *text.split("\n"), fence]


def _list(block: Block, alternate: int) -> Iterator[str]:
    """The items of a list; without empty lines if each is one paragraph, perhaps with a list below."""
    items = [item for item in block.children if item.children]
    tight = all(_is_short(item) for item in items)
    first = True
    for item in items:
        marker = f"{item.number}{'.)'[alternate]} " if block.ordered else ("- ", "+ ")[alternate]
        lines = _tight(item) if tight else _blocks(item.children)
        if not lines:
            continue
        if not tight and not first:
            yield ""
        first = False
        for number, line in enumerate(lines):
            yield ((marker if number == 0 else " " * len(marker)) + line) if line or number == 0 else ""


def _is_short(item: Block) -> bool:
    kinds = [child.kind for child in item.children]
    return kinds in (["paragraph"], ["paragraph", "list"], ["list"])


def _tight(item: Block) -> list[str]:
    return [line for child in item.children for line in _lines(child)]


def _table(rows: Sequence[Sequence[Sequence[Run]]]) -> list[str]:
    lines = [_row([written(cell, one_line=True) for cell in row]) for row in rows]
    return [lines[0], _row(["---"] * len(rows[0])), *lines[1:]]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
