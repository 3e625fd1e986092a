"""Cut blocks that are too long: code between lines, tables between rows, and all other text between words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from scrapy_pagelets.document.blocks import Block, Run

_SPACES: Final = ("\n", " ")


def cut(block: Block, fits: Callable[[Block], bool]) -> Iterator[Block]:
    r"""Yield a block in parts that fit, halved as often as needed.

    Each part of a table has its head. What does not fit although it is a single word loses its link, and a single
    picture is left out.

    Examples
    --------
    >>> code = Block("code", text="a\nb\nc")
    >>> [part.text for part in cut(code, lambda part: len(part.text) <= 3)]
    ['a', 'b\nc']
    """
    stack = [block]
    while stack:
        part = stack.pop()
        halves = None if fits(part) else _halves(part, fits)
        if halves is None:
            yield part
        else:
            stack += reversed(halves)


def _halves(block: Block, fits: Callable[[Block], bool]) -> list[Block] | None:
    """The parts of a block; None if it cannot be cut."""
    if block.kind == "table":
        return _parts_of_table(block, fits)
    if block.kind in ("code", "math"):
        return _halves_of_text(block)
    if len(block.runs) > 1:
        ends = list(accumulate(len(run.text) + len(run.source) + len(run.style.href) for run in block.runs))
        middle = min(len(ends) - 1, max(1, bisect_right(ends, ends[-1] // 2)))
        return _with_runs(block, block.runs[:middle], block.runs[middle:])
    return _halves_of_run(block, block.runs[0]) if block.runs else None


def _parts_of_table(table: Block, fits: Callable[[Block], bool]) -> list[Block]:
    """The halves of a table; paragraphs of its lines if two of them do not fit."""
    head, *rows = table.rows
    if len(rows) > 1 and fits(replace(table, rows=[head, head])):
        middle = len(rows) // 2
        halves = rows[:middle], rows[middle:]
        parts = [replace(table, rows=[head, *half]) for half in halves]
        return _with_leaves(table, parts, [[run for row in half for cell in row for run in cell] for half in halves])
    lines = [[run for cell in row for run in (*cell, Run(" "))] for row in table.rows]
    return _with_leaves(table, [Block("paragraph", runs=line) for line in lines], lines)


def _halves_of_text(block: Block) -> list[Block] | None:
    """The halves of code or of a formula; the links of code come behind it."""
    if block.runs:
        return [replace(block, runs=[]), Block("paragraph", runs=block.runs, leaves=block.leaves[-1:])]
    if len(block.text) < 2:
        return None
    at = _middle(block.text)
    share = len(block.leaves) * at // len(block.text)  # which leaf has which line is not known
    leaves = block.leaves[: share + 1], block.leaves[share:]
    texts = block.text[:at].rstrip("\n"), block.text[at:]
    return [replace(block, text=text, leaves=own) for text, own in zip(texts, leaves, strict=True)]


def _halves_of_run(block: Block, run: Run) -> list[Block] | None:
    if run.source:
        return [replace(block, runs=[Run(run.text, leaf=run.leaf)])] if run.text else []
    if len(run.style.href) > len(run.text):
        return [replace(block, runs=[replace(run, style=run.style._replace(href="", title=""))])]
    if len(run.text) < 2:
        return None
    at = _middle(run.text)
    return _with_runs(block, [replace(run, text=run.text[:at])], [replace(run, text=run.text[at:])])


def _middle(text: str) -> int:
    """The index behind the white space that is nearest to the middle; line breaks come first."""
    middle = len(text) // 2
    for space in _SPACES:
        before, after = text.rfind(space, 0, middle), text.find(space, middle, len(text) - 1)
        if nearest := [1 + place for place in (before, after) if place >= 0]:
            return min(nearest, key=lambda place: abs(place - middle))
    return middle


def _with_runs(block: Block, *parts: list[Run]) -> list[Block]:
    """The parts of a paragraph or heading, which is continued as a paragraph."""
    kinds = (block.kind, "paragraph")
    blocks = [replace(block, kind=kind, runs=runs) for kind, runs in zip(kinds, parts, strict=True)]
    return _with_leaves(block, blocks, parts)


def _with_leaves(block: Block, parts: list[Block], runs: Sequence[Sequence[Run]]) -> list[Block]:
    """Give each part the leaves of the block from its first run to its last one."""
    for part, own in zip(parts, runs, strict=True):
        if known := [run.leaf for run in own if run.leaf >= 0]:
            part.leaves = block.leaves[bisect_left(block.leaves, known[0]) : bisect_right(block.leaves, known[-1])]
        else:
            part.leaves = block.leaves[:1]
    return parts
