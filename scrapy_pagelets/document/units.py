"""The units of a document: what no chunk cuts, their limit in tokens, and how longer blocks are cut."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from pkgutil import resolve_name
from typing import Final, TypeVar

from scrapy_pagelets.base.characters import WORD, lazily
from scrapy_pagelets.document.blocks import PLAIN, Block, Run
from scrapy_pagelets.document.markdown import markdown_of

T = TypeVar("T")
Tokenizer = Callable[[str], int]  # counts the tokens of a text
#: The smallest limit: a chunk needs some tokens for the marks of lists, quotes and fences around its text.
LEAST_TOKENS: Final = 50
_BYTES: Final = 3  # bytes of a token, see `tokens_of`


def tokens_of(text: str) -> int:
    """Estimate the number of tokens of a language model: bytes in UTF-8, divided by three and rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES)


@cache
def tokenizer_of(name: str) -> Tokenizer:
    """Import a function that counts tokens by its name, ``package.module:function``; "" is `tokens_of`.

    Raise ValueError if there is no such function, or if it does not return a whole number.
    """
    if not name:
        return tokens_of
    try:
        function = resolve_name(name)
        number = function("tea")
    except Exception as error:  # a module of the user may raise anything
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not isinstance(number, int):
        raise ValueError(f"it returns {type(number).__name__}, not a whole number")
    return function  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Limit:
    """How long a chunk may be."""

    words: int  # number of words, which a block that cannot be cut well may exceed
    tokens: int = 0  # number of tokens, which nothing exceeds; 0 for no limit
    tokenizer: Tokenizer = tokens_of

    def size(self, block: Block, above: tuple[Block, ...], words: int) -> int:
        """Return the number of words that a block counts for: more than its own if it has too many tokens for them.

        Sizes of blocks add up to at least the size of all of them together.
        """
        if not self.tokens:
            return words
        for outer in reversed(above):
            block = replace(outer, children=[block])
        text = markdown_of(Block("document", children=[block])) + f"\n{'> ' * len(above)}\n"
        return max(words, -(-self.tokenizer(text) * self.words // self.tokens))


_SPACES: Final = ("\n", " ")


def halved(whole: T, halves: Callable[[T], list[T] | None]) -> Iterator[T]:
    """Yield something in parts, each halved as often as ``halves`` divides it; None if it does not."""
    stack = [whole]
    while stack:
        part = stack.pop()
        parts = halves(part)
        if parts is None:
            yield part
        else:
            stack += reversed(parts)


def _halves(block: Block, fits: Callable[[Block], bool]) -> list[Block] | None:
    """The parts of a block; None if it cannot be cut.

    Each part of a table has its head. A single word that does not fit loses its link, and a picture is left out.
    """
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


def _with_leaves(block: Block, parts: Sequence[Block], runs: Sequence[Sequence[Run]]) -> list[Block]:
    """Give each part of a block the leaves that its runs are of; two parts share one if its text is divided."""
    leaves = block.leaves
    known = [[run.leaf for run in part if run.leaf >= 0] for part in runs]
    ends = [len(leaves)]
    for own in reversed(known[1:]):
        ends.append(bisect_left(leaves, own[0]) if own else ends[-1])
    start = 0
    for part, own, end in zip(parts, known, reversed(ends), strict=True):
        part.leaves = leaves[start : max(end, bisect_right(leaves, own[-1]) if own else end)]
        start = end
    return [*parts]


#: The end of a sentence: its mark with closing quotes, white space and no small letter; in Chinese, the mark alone.
_END: Final = lazily(
    r"[.!?\N{HORIZONTAL ELLIPSIS}]"
    r"[\"'\N{RIGHT DOUBLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK})\]]*\s+(?=\S)(?![a-z])"
    r"|[\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}\N{FULLWIDTH QUESTION MARK}]"
    r"[\N{RIGHT CORNER BRACKET}\N{RIGHT DOUBLE QUOTATION MARK}]*"
)
_LETTERS: Final = 64  # characters of a token, at most: what has more is cut without counting its tokens


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

    ``limit``: on a chunk. ``pagelet``: number of the pagelet of each leaf.
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
        cells = (cell for row in block.rows for cell in row)
        letters = len(block.text) + sum(len(run.text) for runs in (block.runs, *cells) for run in runs)
        return letters <= _LETTERS * limit.tokens and lead + limit.size(block, unit.above, 0) <= limit.words

    if fits(unit.block):
        yield unit
    else:
        blocks = halved(unit.block, lambda part: None if fits(part) else _halves(part, fits))
        yield from _parts(unit, blocks, limit)


def _parts(unit: Unit, blocks: Iterable[Block], limit: Limit) -> Iterator[Unit]:
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
    blocks = [replace(unit.block, runs=runs) for runs in parts]
    yield from _parts(unit, _with_leaves(unit.block, blocks, parts), limit)


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
    if run.text == "\n":
        yield 1
    elif not run.source and run.style == PLAIN:
        yield from (match.end() for match in _END.finditer(run.text))
