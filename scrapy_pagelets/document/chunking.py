"""Cut a document into chunks for retrieval: pieces of limited length that follow its headings and pagelets."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from typing import Any, Final
from urllib.parse import quote

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.document.blocks import Block, text_of_runs, tidy
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.document.units import Limit, Tokenizer, Unit, halved, sentences, tokens_of, units_of, words_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import paths_of

_SMALL: Final = 4  # a piece that is smaller than a chunk by this factor goes with what follows, if there is room
#: Characters of a heading in the path of a chunk; the rest is cut off. Longer names of places are of machines.
_LONGEST: Final = 200
_ANCHORS: Final = ("a", "span")  # elements that have a name for the place where they stand, without text of their own
_TOP: Final = "top"  # the name of the top of each page, whatever element has it
#: Characters of a fragment that need no escape (RFC 3986, 3.5), beside letters and digits.
_SAFE: Final = "-._~!$&'()*+,;=:@/?"


@dataclass(frozen=True, eq=False)
class Chunk:
    """A piece of a document."""

    #: the headings above all of its blocks, from the page's own; a heading is above the section that it begins
    headings: tuple[str, ...]
    document: Block  # its blocks
    leaves: tuple[int, ...]  # (k,) indices of the leaves of the page that it shows, ascending
    #: the leaf that it begins with, without what it repeats of the chunk before; None if it has only pictures
    first: int | None
    words: int  # number of its words

    @property
    def markdown(self) -> str:
        """The chunk as Markdown."""
        return markdown_of(self.document)


def chunk_records(
    page: Page, document: Block, chunks: Iterable[Chunk], templateness: Floats, tokenizer: Tokenizer = tokens_of
) -> list[dict[str, Any]]:
    """Write the chunks of a document, as `chunks_of` cuts it, as records of the feed.

    ``templateness``: (m,) of each leaf of the page, 0 to 1.
    """
    places, records = NamedPlaces(page, document), list[dict[str, Any]]()
    for number, chunk in enumerate(chunks):
        leaves, markdown = np.array(chunk.leaves, np.int64), chunk.markdown
        weights = np.maximum(page.nodes.words[leaves], 1)
        mean = np.average(templateness[leaves], weights=weights) if len(leaves) else 0.0  # of pictures alone
        records.append({
            "id": number,
            "url": places.url(chunk.first),
            "headings": list(chunk.headings),
            "markdown": markdown,
            "xpaths": xpaths_of(page, leaves),
            "words": chunk.words,
            "tokens": tokenizer(markdown),
            "templateness": round(float(mean), 3),
        })  # fmt: skip
    return records


def xpaths_of(page: Page, leaves: Ints) -> list[str]:
    """Return the paths of the fewest nodes with exactly these leaves; of a rendered page, in the page as received."""
    if page.source is None:
        return paths_of(page.nodes, leaves)
    received = page.received[leaves]
    return paths_of(page.source.nodes, received[received >= 0])


def chunks_of(
    document: Block,
    most: int,
    overlap: int = 0,
    pagelet: Mapping[int, int] | None = None,
    tokens: int = 0,
    tokenizer: Tokenizer = tokens_of,
) -> list[Chunk]:
    """Cut a document into chunks.

    What fits into one chunk together stays together: first sections, the outermost first, then pagelets, lists, items
    and paragraphs. Code, tables and formulas are not cut, paragraphs only between sentences and only if one is too
    long for a chunk. Headings stay with what follows. Where there is a limit in tokens, whatever exceeds it is cut.

    ``document``: as `document_of` returns it. ``most``: words of a chunk; only a single block or sentence that cannot
    be cut has more, with its headings. ``overlap``: words of these that a chunk may repeat from the end of the one
    before, unless it begins with a heading. ``pagelet``: number of the pagelet of each leaf. ``tokens``: tokens of the
    Markdown of a chunk, which no chunk exceeds; 0 for no such limit. ``tokenizer``: counts the tokens of a text.

    Raise ValueError if the overlap is more than half of a chunk.
    """
    if most < 1 or not 0 <= 2 * overlap <= most:
        raise ValueError(f"chunks of {most} words with an overlap of {overlap}: give at most half of the words")
    own = Limit(most - overlap, tokens * (most - overlap) // most, tokenizer)
    packer = _Packer(own.words)
    packer.add(units_of(document, own, pagelet or {}), 0)
    packer.close()
    pieces = [part for piece in packer.pieces for part in _within(piece, own)] if tokens else packer.pieces
    shown = [[at for at, unit in enumerate(piece) if unit.block.kind != "rule" or unit.lead] for piece in pieces]
    pieces = [piece[at[0] : at[-1] + 1] for piece, at in zip(pieces, shown, strict=True) if at]  # no rules at the ends
    texts = [(block, text_of_runs(block.runs)) for block in document.walk() if block.kind == "heading"]
    names = {block: text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}..." for block, text in texts}
    chunks = []
    for before, following in pairwise([[], *pieces]):
        room = min(overlap, most - sum(unit.size for unit in following))
        chunks.append(_chunk(_tail(before, following, room, own), following, names))
    return chunks


class _Packer:
    """Put units into pieces, group by group; ``pieces`` are those that are full."""

    def __init__(self, most: int) -> None:
        self.pieces: list[list[Unit]] = []
        self._most = most
        self._open: list[Unit] = []
        self._size = 0

    def add(self, units: Sequence[Unit], depth: int) -> None:
        """Add the units of a group; those of a smaller group stay together if they can.

        The groups are few levels deep (six headings, a pagelet, the lists of `draft.DEPTH`), so this may recurse.
        """
        for _, same in groupby(units, lambda unit: unit.path[depth] if depth < len(unit.path) else unit):
            group = list(same)
            size = sum(unit.size for unit in group)
            if self._size + size > self._most and (size <= self._most or len(group) == 1 or not self._is_small):
                self.close()
            if self._size + size <= self._most or len(group) == 1:
                self._open += group
                self._size += size
            else:
                self.add(group, depth + 1)
                if not self._is_small:
                    self.close()

    def close(self) -> None:
        """End the piece."""
        if self._open:
            self.pieces.append(self._open)
        self._open, self._size = [], 0

    @property
    def _is_small(self) -> bool:
        return _SMALL * self._size < self._most


def _within(units: list[Unit], limit: Limit) -> Iterator[list[Unit]]:
    """Yield a piece in parts that have no more tokens than a chunk: those of units may not add up."""

    def halves(part: list[Unit]) -> list[list[Unit]] | None:
        half = len(part) // 2
        is_longer = half and limit.tokenizer(markdown_of(_document(part))) > limit.tokens
        return [part[:half], part[half:]] if is_longer else None

    return halved(units, halves)


def _tail(units: Sequence[Unit], following: Sequence[Unit], most: int, limit: Limit) -> list[Unit]:
    """The end of a piece that the following one repeats: whole blocks and sentences."""
    tail: list[Unit] = []
    if following[0].lead or following[0].block.kind == "heading":
        return tail
    for unit in reversed(units if most > 0 else ()):
        words = words_of(unit.block)
        alone = replace(unit, lead=(), words=words, size=limit.size(unit.block, unit.above, words))
        for part in reversed(list(sentences(alone, limit))):
            most -= part.size
            if most < 0 or part.block.kind in ("heading", "rule"):
                return tail
            tail.insert(0, part)
        if unit.lead:
            break
    return tail


def _chunk(repeated: list[Unit], own: list[Unit], names: Mapping[Block, str]) -> Chunk:
    leaves = sorted({leaf for unit in repeated + own for block in _blocks(unit) for leaf in block.leaves})
    first = [leaf for unit in own[:1] for block in _blocks(unit) for leaf in block.leaves[:1]]
    return Chunk(
        headings=tuple(names[heading] for heading in _shared(*(unit.headings for unit in own))),
        document=_document(repeated + own),
        leaves=tuple(leaves),
        first=first[0] if first else next((leaf for unit in own for leaf in unit.block.leaves), None),
        words=sum(unit.words for unit in repeated + own),
    )


def _blocks(unit: Unit) -> list[Block]:
    return [*(block for block, _ in unit.lead), unit.block]


def _shared(*sequences: Sequence[Block]) -> list[Block]:
    """The blocks with which all of some sequences begin."""
    return [first for first, *_ in takewhile(lambda same: len({*same}) == 1, zip(*sequences, strict=False))]


def _document(units: Sequence[Unit]) -> Block:
    """A document of units, in copies of what is around them; the sentences of a paragraph become one."""
    root = Block("document")
    inside: list[tuple[Block, Block]] = []  # what is around a unit, and its copy
    last: Block | None = None
    for unit in units:
        for block, above in (*unit.lead, (unit.block, unit.above)):
            common = len(_shared(above, [original for original, _ in inside]))
            del inside[common:]
            for original in above[common:]:
                copy = replace(original, children=[])
                (inside[-1][1] if inside else root).children.append(copy)
                inside.append((original, copy))
            children = (inside[-1][1] if inside else root).children
            if block is unit.block and unit.origin is last and block.kind == children[-1].kind == "paragraph":
                children[-1].runs = [*children[-1].runs, *block.runs]
            else:
                children.append(replace(block))
            last = unit.origin if block is unit.block else block
    for block in root.walk():
        if block.kind in ("paragraph", "heading"):
            block.runs = tidy(block.runs)
    return root


class NamedPlaces:
    """The places in the content of a page that have a name: the fragments of its URL, which a browser scrolls to.

    A name belongs to the block that its element begins with; to a heading, if the element is anywhere in it. If two
    elements have one name, a browser goes to the first. What is around all content is no place in it, and of empty
    elements only anchors are: others are fields of forms, or what scripts fill.

    ``document``: the content of the page, as `document_of` returns it.
    """

    def __init__(self, page: Page, document: Block) -> None:
        self._page = page
        leaves = {leaf for block in document.walk() for leaf in block.leaves}
        own = document.children[0].leaves if document.children and document.children[0].kind == "heading" else []
        below = leaves.difference(own) or leaves or {0}
        self._names = dict(_names(page, min(below), max(below)))
        starts: dict[int, int] = {}  # of headings all leaves, else the first one: each with the first of its block
        for block in document.walk():
            starts |= dict.fromkeys(block.leaves if block.kind == "heading" else block.leaves[:1], *block.leaves[:1])
        first = page.nodes.first_leaf
        named = [(starts[leaf], name) for row, name in self._names.items() if (leaf := int(first[row])) in starts]
        named.sort(key=lambda place: place[0])  # stable: of the names of a block, the last is the nearest to its text
        self._leaves = [leaf for leaf, _ in named]
        self._named = [name for _, name in named]

    def url(self, leaf: int | None) -> str:
        """The URL of the page with the nearest name at or above a leaf; without one if there is none."""
        url = self._page.url.partition("#")[0]
        name = None if leaf is None else self._nearest(leaf)
        return url if name is None else f"{url}#{quote(name, safe=_SAFE, errors='replace')}"

    def _nearest(self, leaf: int) -> str | None:
        if place := bisect_right(self._leaves, leaf):
            return self._named[place - 1]
        nodes = self._page.nodes
        return next((self._names[row] for row in nodes.above(nodes.leaves.item(leaf)) if row in self._names), None)


def _names(page: Page, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Yield the rows with a name which no row before has: their ``id``, or the ``name`` of an ``a``.

    ``first``, ``last``: of the leaves of the content; rows around all of them are left out.
    """
    nodes, seen = page.nodes, set[str]()
    tags = [look[0] for look in nodes.looks]
    may = np.array([look[0] == "a" or bool(look[1]) for look in nodes.looks], np.bool_)[nodes.look]
    may[nodes.leaves] = False
    places = (nodes.first_leaf < nodes.last_leaf) | np.array([tag in _ANCHORS for tag in tags])[nodes.look]
    places &= (nodes.first_leaf > first) | (nodes.last_leaf <= last)
    for row in np.flatnonzero(may).tolist():
        element = nodes.elements[row]
        for name in (element.get("id"), element.get("name") if tags[nodes.look[row]] == "a" else None):
            if name and len(name) <= _LONGEST and name not in seen and name.lower() != _TOP:
                seen.add(name)
                if places[row]:
                    yield row, name
                break
