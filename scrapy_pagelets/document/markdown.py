"""Write a document as Markdown: CommonMark 0.31, with the tables of GitHub Flavored Markdown."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate, groupby, takewhile
from typing import Final, NamedTuple

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.document.blocks import Block, Run, Style
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.page.page import Page

#: Characters that have a meaning anywhere in a line.
_ANYWHERE: Final = lazily(r"[\\`*\[]|<(?=[A-Za-z/!?])|&(?=#?\w{1,31};)|~(?=~)|(?<!\w)_|_(?!\w)|(?<=~)~")
#: What would begin a block at the start of a line: heading, quote, list, rule, fence, underline or head of a table.
_AT_START: Final = lazily(r"#{1,6}(?=\s|$)|>|[-+](?=\s|$)|(?:=+|-+)(?=\s*$)|(?:[-_]\s*){3,}$|~~~|[-:|][-:| \t]*$")
_BACKTICKS: Final = lazily("`+")
_NUMBERED: Final = lazily(r"(\d{1,9})([.)])(?=\s|$)")
_ASCII_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_NESTED: Final = 20  # parentheses inside of each other in an address
_STRONG, _EMPHASISED = _DELIMITERS = ("**", "*")


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
    return markdown_of(document_of(page, decision.content, decision.headline, repeated=decision.repeated))


def markdown_of(block: Block) -> str:
    """Write a document, or a part of one.

    Lists and quotes are nested `draft.DEPTH` deep at most, so this may recurse.
    """
    return "\n".join(_lines(block))


def _lines(block: Block) -> list[str]:
    match block.kind:
        case "heading":
            return [f"{'#' * block.level} {_heading(block)}"]
        case "paragraph":
            return write_inline(block.runs).split("\n")
        case "code":
            return _fenced(block.text, block.language) + (["", write_inline(block.runs)] if block.runs else [])
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
        case _:  # a document or an item
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
    text = write_inline(block.runs, one_line=True)
    return f"{text[:-1]}\\#" if text.endswith(" #") or text == "#" else text


def _fenced(text: str, language: str) -> list[str]:
    fence = "`" * _fence_length(text, 3)
    return [fence + language, *text.split("\n"), fence]


def _list(block: Block, alternate: int) -> Iterator[str]:
    """The items of a list; without empty lines if each is one paragraph, perhaps with a list below.

    In CommonMark, an ordered list that does not begin with 1 cannot end a paragraph: it needs an empty line before.
    """
    items = [item for item in block.children if item.children]
    short = (["paragraph"], ["paragraph", "list"], ["list"])
    tight = all([child.kind for child in item.children] in short for item in items)
    lists = (block.children for item in items for block in item.children[1:] if block.kind == "list" and block.ordered)
    tight = tight and all([item.number for item in inner if item.children][:1] in ([], [1]) for inner in lists)
    first = True
    for item in items:
        marker = f"{item.number}{'.)'[alternate]} " if block.ordered else ("- ", "+ ")[alternate]
        lines = [line for child in item.children for line in _lines(child)] if tight else _blocks(item.children)
        if not lines:
            continue
        if item.checked is not None and item.children[0].kind == "paragraph":  # a task of GitHub Flavored Markdown
            lines[0] = f"[{' x'[item.checked]}] {lines[0]}"
        if not tight and not first:
            yield ""
        first = False
        for number, line in enumerate(lines):
            yield ((marker if number == 0 else " " * len(marker)) + line) if line or number == 0 else ""


def _table(rows: Sequence[Sequence[Sequence[Run]]]) -> list[str]:
    lines = [_row([write_inline(cell, one_line=True) for cell in row]) for row in rows]
    return [lines[0], _row(["---"] * len(rows[0])), *lines[1:]]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write_inline(runs: Iterable[Run], *, one_line: bool = False) -> str:
    """Write runs as inline Markdown; nothing in it begins a block.

    ``runs``: as `tidy` returns them. ``one_line``: line breaks are spaces, as in headings and cells: no block begins.
    """
    line = "".join(_without_ambiguous(_pieces(list(_merged(runs)))))
    if one_line:
        return line.replace("\n", " ")
    return "\\\n".join(_escaped_start(part) for part in line.split("\n"))


def _merged(runs: Iterable[Run]) -> Iterator[Run]:
    """Join equal neighbours, and code without a space between, which would end up in one span in any case."""
    for (code, _, _), group in groupby(runs, _span):
        parts = list(group)
        if code:
            shared = reduce(Style.shared, (part.style for part in parts))._replace(code=1)
            parts = [replace(run, style=shared) for run in parts]
        for (style, picture), equal in groupby(parts, lambda run: (run.style, bool(run.source))):
            if picture:
                yield from equal
            else:
                yield Run("".join(run.text for run in equal), style)


def _span(run: Run) -> tuple[bool, str, str]:
    return run.style.code > 0 and not run.source, run.style.href, run.style.title


class _Piece(NamedTuple):
    """A piece of the line; ``pair`` numbers a delimiter and its counterpart, ``inner`` marks one inside of another."""

    text: str
    pair: int = -1
    opens: bool = False
    inner: bool = False


def _pieces(runs: Sequence[Run]) -> list[_Piece]:
    """Pieces of the line, with the delimiters of nested styles around them."""
    pieces: list[_Piece] = []
    opened: list[tuple[str, str, int]] = []  # the marks of a style, number of the pair
    pairs = 0
    for index, run in enumerate(runs):
        wanted = _levels(run.style)
        common = len(list(takewhile(lambda pair: pair[0][:2] == pair[1], zip(opened, wanted, strict=False))))
        _close(pieces, opened, common)
        for opening, closing in wanted[common:]:
            inner = any(outer in _DELIMITERS for outer, _, _ in opened)
            opened.append((opening, closing, pairs if opening in _DELIMITERS else -1))
            pieces.append(_Piece(opening, opened[-1][2], opens=True, inner=inner))
            pairs += 1
        after = runs[index + 1] if index + 1 < len(runs) else Run("")
        # An exclamation mark before a bracket would make a picture of a link.
        bracket = bool(after.source) or (bool(after.style.href) and after.style.href != run.style.href)
        pieces.append(_Piece(_text(run, before_bracket=bracket)))
    _close(pieces, opened, 0)
    return pieces


def _levels(style: Style) -> list[tuple[str, str]]:
    """What opens and closes a style, from the outside. CommonMark has no mark for the tags: ``~~`` is none."""
    link = [("[", f"]({_destination(style.href)}{_quoted(style.title)})")] if style.href else []
    script = [(f"<{style.script}>", f"</{style.script}>")] if style.script else []
    strong, emphasised = [(_STRONG, _STRONG)] * style.strong, [(_EMPHASISED, _EMPHASISED)] * style.emphasised
    return [*link, *[("<del>", "</del>")] * style.struck, *strong, *emphasised, *script]


def _close(pieces: list[_Piece], opened: list[tuple[str, str, int]], common: int) -> None:
    while len(opened) > common:
        _, closing, pair = opened.pop()
        pieces.append(_Piece(closing, pair))


def _text(run: Run, *, before_bracket: bool) -> str:
    if run.source:
        alt = _escaped(" ".join(run.text.split())).replace("]", "\\]")
        return f"![{alt}]({_destination(run.source)}{_quoted(run.title)})"
    if run.style.code and run.text.strip():
        text = " ".join(run.text.split())
        fence, pad = "`" * _fence_length(text, 1), " " * (text.startswith("`") or text.endswith("`"))
        return f"{fence}{pad}{text}{pad}{fence}"
    text = _escaped(run.text)
    if run.style.href:
        text = text.replace("]", "\\]")
    return f"{text[:-1]}\\!" if before_bracket and text.endswith("!") else text


def _without_ambiguous(pieces: list[_Piece]) -> Iterator[str]:
    """Yield the text of the pieces without the delimiters that a parser would not pair as meant."""
    dropped: set[int] = set()
    starts = {piece.pair: i for i, piece in enumerate(pieces) if piece.pair >= 0 and piece.opens}
    ends = {piece.pair: i for i, piece in enumerate(pieces) if piece.pair >= 0 and not piece.opens}
    for pair, start in starts.items():
        end = ends[pair]
        before, first = _neighbour(pieces, start, -1), _neighbour(pieces, start, 1)
        last, after = _neighbour(pieces, end, -1), _neighbour(pieces, end, 1)
        glued = start > 0 and _is_closing(pieces, start - 1, dropped)
        if glued or not (_flanks(before, first) and _flanks(after, last)) or _is_torn(pieces, start, end):
            dropped.add(pair)
    return (piece.text for piece in pieces if piece.pair not in dropped)


def _is_torn(pieces: Sequence[_Piece], start: int, end: int) -> bool:
    """Whether a delimiter inside of a word, which may open as well as close, would end what is around its pair."""
    return pieces[start].inner and any(
        _flanks(last, first) and _flanks(first, last) and not first.isspace() and not last.isspace()
        for last, first in ((_neighbour(pieces, at, -1), _neighbour(pieces, at, 1)) for at in (start, end))
    )


def _is_closing(pieces: Sequence[_Piece], at: int, dropped: set[int]) -> bool:
    """Whether the delimiter before a place, if there is one, closes a pair that is written."""
    while at >= 0 and pieces[at].pair in dropped:
        at -= 1
    return at >= 0 and pieces[at].pair >= 0 and not pieces[at].opens


def _neighbour(pieces: Sequence[_Piece], at: int, step: int) -> str:
    """The character beside a delimiter that is not part of a delimiter; a space at the ends."""
    at += step
    while 0 <= at < len(pieces) and (pieces[at].pair >= 0 or not pieces[at].text):
        at += step
    return pieces[at].text[0 if step > 0 else -1] if 0 <= at < len(pieces) else " "


def _flanks(outside: str, inside: str) -> bool:
    """Whether a delimiter between two characters belongs to the text inside (CommonMark, 6.2)."""
    if inside.isspace():
        return False
    broadly = inside in _ASCII_PUNCTUATION or unicodedata.category(inside)[0] in "PS"
    narrowly = outside.isspace() or outside in _ASCII_PUNCTUATION or unicodedata.category(outside)[0] == "P"
    return not broadly or narrowly


def _escaped(text: str) -> str:
    return _ANYWHERE.sub(r"\\\g<0>", text)


def _escaped_start(line: str) -> str:
    line = line.strip(" ")
    if match := _NUMBERED.match(line):
        return f"{match[1]}\\{line[match.end(1) :]}"
    return f"\\{line}" if _AT_START.match(line) else line


def _fence_length(text: str, least: int) -> int:
    """Number of backticks around code: one more than any run of them inside has, if that has as many as ``least``."""
    return max(least, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))


def _destination(url: str) -> str:
    url = re.sub(r"[\s<>\\]", lambda match: f"%{ord(match[0]):02X}" if match[0] < "\x7f" else "%20", url)
    url = re.sub(r"&(?=#?\w{1,31};)", "&amp;", url)
    levels = [0, *accumulate((character == "(") - (character == ")") for character in url)]
    is_balanced = min(levels) == levels[-1] == 0 and max(levels) <= _NESTED
    return url if is_balanced and url else f"<{url}>"


def _quoted(title: str) -> str:
    title = " ".join(title.split())
    quoted = re.sub(r'[\\"]|&(?=#?\w{1,31};)', r"\\\g<0>", title)
    return f' "{quoted}"' if title else ""
