"""The units of a document: what no chunk cuts, each with the headings, the pagelet and the lists that it stands in."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from scrapy_pagelets.base.characters import WORD
from scrapy_pagelets.document.blocks import PLAIN, Block, Run
from scrapy_pagelets.document.cutting import cut
from scrapy_pagelets.document.tokens import Limit

#: The end of a sentence: its mark with closing quotes, then white space and no small letter; in Chinese and Japanese,
#: the mark alone.
_END: Final = re.compile(
    r"[.!?\N{HORIZONTAL ELLIPSIS}]"
    r"[\"'\N{RIGHT DOUBLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK})\]]*\s+(?=\S)(?![a-z])"
    r"|[\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}\N{FULLWIDTH QUESTION MARK}]"
    r"[\N{RIGHT CORNER BRACKET}\N{RIGHT DOUBLE QUOTATION MARK}]*"
)
#: Characters of a token, at most: what has more is cut without counting its tokens.
_LETTERS: Final = 64


@dataclass(frozen=True, eq=False)
class Unit:
    """A block, or a sentence of a paragraph, with the headings right above it."""

    block: Block  # a block without children
    origin: Block  # the block of the document that it is, or is a sentence of
    above: tuple[Block, ...]  # the list, item and quote around it, from the outside
    lead: tuple[tuple[Block, tuple[Block, ...]], ...]  # the headings right above it, each with what is around it
    headings: tuple[Block, ...]  # all headings above it, those of ``lead`` among them
    #: the groups that it belongs to, from the largest: headings, pagelet, lists, items, paragraph
    path: tuple[object, ...]
    words: int  # number of words, those of ``lead`` included
    size: int  # number of words that it counts for, see `Limit.size`


def units_of(document: Block, limit: Limit, pagelet: Mapping[int, int]) -> list[Unit]:
    """List the units of a document; a paragraph that is too long is divided into its sentences.

    Headings belong to the block that follows, unless they are longer than half of a chunk.

    Parameters
    ----------
    limit : on a chunk
    pagelet : number of the pagelet of each leaf
    """
    found: list[Unit] = []
    lead: list[Unit] = []
    headings: tuple[Block, ...] = ()
    number = 0
    for block, above in _leaf_blocks(document):
        words, waiting = words_of(block), sum(heading.size for heading in lead)
        size = limit.size(block, above, words)
        if block.leaves:
            number = pagelet.get(block.leaves[0], number)
        if block.kind == "heading":
            headings = (*(heading for heading in headings if heading.level < block.level), block)
            ended = (place for place, heading in enumerate(lead, 1) if heading.block not in headings)
            alone = len(lead) if 2 * (waiting + size) > limit.words else max(ended, default=0)
            found += lead[:alone]
            lead = [*lead[alone:], Unit(block, block, above, (), headings, headings, words, size)]
            continue
        if 2 * waiting > limit.words:
            found += lead
            lead = []
        own = tuple((heading.block, heading.above) for heading in lead)
        words += sum(heading.words for heading in lead)
        size += sum(heading.size for heading in lead)
        lead = []
        whole = Unit(block, block, above, own, headings, (*headings, number, *above), words, size)
        found += sentences(whole, limit) if size > limit.words else [whole]
    found += lead
    return [part for unit in found for part in fitting(unit, limit)] if limit.tokens else found


def _leaf_blocks(document: Block) -> Iterator[tuple[Block, tuple[Block, ...]]]:
    """Yield the blocks that have no others in them, each with those around it, without the document itself."""
    stack: list[tuple[Block, tuple[Block, ...]]] = [(child, ()) for child in reversed(document.children)]
    while stack:
        block, above = stack.pop()
        if block.kind in ("list", "item", "quote"):
            stack += [(child, (*above, block)) for child in reversed(block.children)]
        else:
            yield block, above


def words_of(block: Block) -> int:
    """Number of words of a block without children: those of its text, and of the alternative texts of pictures."""
    lines = [cell for row in block.rows for cell in row] if block.kind == "table" else [block.runs]
    return _count(block.text) + sum(
        _count("".join(f" {run.text} " if run.source else run.text for run in line)) for line in lines
    )


def _count(text: str) -> int:
    return sum(1 for _ in WORD.finditer(text))


def fitting(unit: Unit, limit: Limit) -> Iterator[Unit]:
    """Yield a unit in parts that have no more tokens than a chunk; the first one has the lead."""
    lead = unit.size - limit.size(unit.block, unit.above, words_of(unit.block))

    def fits(block: Block) -> bool:
        return _letters(block) <= _LETTERS * limit.tokens and lead + limit.size(block, unit.above, 0) <= limit.words

    if fits(unit.block):
        yield unit
    else:
        yield from _parts(unit, list(cut(unit.block, fits)), limit)


def _letters(block: Block) -> int:
    """Number of characters of a block without children."""
    cells = (cell for row in block.rows for cell in row)
    return len(block.text) + sum(len(run.text) for runs in (block.runs, *cells) for run in runs)


def _parts(unit: Unit, blocks: Sequence[Block], limit: Limit) -> Iterator[Unit]:
    """Yield parts of a unit as units of their own; the first one has the lead."""
    own = words_of(unit.block)
    lead, words, size = unit.lead, unit.words - own, unit.size - limit.size(unit.block, unit.above, own)
    path = (*unit.path, unit.origin)
    for block in blocks:
        own = words_of(block)
        sizes = words + own, size + limit.size(block, unit.above, own)
        yield Unit(block, unit.origin, unit.above, lead, unit.headings, path, *sizes)
        lead, words, size = (), 0, 0


def sentences(unit: Unit, limit: Limit) -> Iterator[Unit]:
    """Yield the sentences of a paragraph as units; the first one has the lead. Yield any other unit as it is."""
    if unit.block.kind != "paragraph":
        yield unit
        return
    parts = list(_divided(unit.block.runs))
    leaves = _leaves_of(parts, unit.block.leaves)
    blocks = [replace(unit.block, runs=runs, leaves=own) for runs, own in zip(parts, leaves, strict=True)]
    yield from _parts(unit, blocks, limit)


def _leaves_of(parts: Sequence[Sequence[Run]], leaves: list[int]) -> Iterator[list[int]]:
    """Yield the leaves of each part of a paragraph; two parts share one if its text is divided."""
    known = [[run.leaf for run in part if run.leaf >= 0] for part in parts]
    ends = [len(leaves)]
    for own in reversed(known[1:]):
        ends.append(bisect_left(leaves, own[0]) if own else ends[-1])
    start = 0
    for own, end in zip(known, reversed(ends), strict=True):
        yield leaves[start : max(end, bisect_right(leaves, own[-1]) if own else end)]
        start = end


def _divided(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Yield the runs of each sentence; line breaks end one too, links and code are not divided."""
    sentence: list[Run] = []
    for run in runs:
        start = 0
        for end in _ends(run):
            sentence.append(replace(run, text=run.text[start:end]))
            yield sentence
            sentence, start = [], end
        if start < len(run.text) or run.source:
            sentence.append(replace(run, text=run.text[start:]))
    if sentence:
        yield sentence


def _ends(run: Run) -> Iterator[int]:
    """Yield where the sentences of a run end."""
    if run.text == "\n":
        yield 1
    elif not run.source and run.style == PLAIN:
        yield from (match.end() for match in _END.finditer(run.text))
