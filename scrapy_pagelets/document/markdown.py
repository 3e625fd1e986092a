"""Write a document as Markdown: CommonMark 0.31, with the tables of GitHub Flavored Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Final, NamedTuple

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.document.builder import document_of
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


_SPACE: Final = re.compile(r"[ \t\n]+")

#: Characters that have a meaning anywhere in a line.
_ANYWHERE: Final = re.compile(r"[\\`*\[]|<(?=[A-Za-z/!?])|&(?=#?\w{1,31};)|~(?=~)|(?<!\w)_|_(?!\w)|(?<=~)~")

#: What would begin a block at the start of a line: heading, quote, list, rule, fence, underline or head of a table.
_AT_START: Final = re.compile(r"#{1,6}(?=\s|$)|>|[-+](?=\s|$)|(?:=+|-+)(?=\s*$)|(?:[-_]\s*){3,}$|~~~|[-:|][-:| \t]*$")

_BACKTICKS: Final = re.compile("`+")

_NUMBERED: Final = re.compile(r"(\d{1,9})([.)])(?=\s|$)")

_ASCII_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


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


PLAIN: Final = Style()


@dataclass(frozen=True)
class Run:
    r"""A run of text in one style; ``"\n"`` is a line break.

    Attributes
    ----------
    text : the text, without markup; of a picture its alternative text
    source : URL of a picture; "" for text
    title : title of a picture
    leaf : index of the leaf of the page that has the text, of a formula that of its first; -1 if no leaf has it
    """

    text: str
    style: Style = PLAIN
    source: str = ""
    title: str = ""
    leaf: int = field(default=-1, compare=False)


BREAK: Final = Run("\n")

_DELIMITERS: Final = {"strong": "**", "emphasised": "*"}

#: What nests in what, from the outside. CommonMark has no mark of its own for the tags: ``~~`` is none.
_LEVELS: Final = ("href", "tag", "strong", "emphasised", "script")


def tidy(runs: Iterable[Run]) -> list[Run]:
    """Fold white space, also across runs, and drop it at the ends; each space becomes a run of its own.

    White space between two runs has the style that both share.
    """
    pieces = [piece for run in runs for piece in _pieces(run)]
    folded: list[Run] = []
    space: str = ""
    for piece in pieces:
        if piece.text in (" ", "\n") and not piece.source:
            space = max(space, piece.text, key=" \n".find) if space else piece.text
            continue
        if space and folded:
            shared = _shared(folded[-1].style, piece.style)
            folded.append(Run(space, shared._replace(code=0) if space == "\n" else shared))
        space = ""
        folded.append(piece)
    return folded


def _pieces(run: Run) -> Iterator[Run]:
    """Split a run into white space and words."""
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


def _shared(a: Style, b: Style) -> Style:
    if a == b:
        return a
    link = a.href == b.href and a.title == b.title
    return Style(
        a.href if link else "",
        a.title if link else "",
        strong=a.strong and b.strong,
        emphasised=a.emphasised and b.emphasised,
        struck=a.struck and b.struck,
    )


def _merged(runs: Iterable[Run]) -> Iterator[Run]:
    """Join equal neighbours, and code without a space between, which would end up in one span in any case."""
    for (code, _, _), group in groupby(runs, _span):
        parts = list(group)
        if code:
            shared = reduce(_shared, (part.style for part in parts))._replace(code=1)
            parts = [replace(run, style=shared) for run in parts]
        for (style, picture), equal in groupby(parts, lambda run: (run.style, bool(run.source))):
            if picture:
                yield from equal
            else:
                yield Run("".join(run.text for run in equal), style)


def _span(run: Run) -> tuple[bool, str, str]:
    return run.style.code > 0 and not run.source, run.style.href, run.style.title


def text_of_runs(runs: Iterable[Run]) -> str:
    """The text of runs, without markup and pictures, white space folded."""
    return " ".join("".join(run.text for run in runs if not run.source).split())


def written(runs: Iterable[Run], *, one_line: bool = False) -> str:
    """Write runs as inline Markdown; nothing in it begins a block.

    Parameters
    ----------
    runs : as `tidy` returns them
    one_line : line breaks become spaces, as in headings and cells, where no block can begin
    """
    line = "".join(_without_ambiguous(_tokens(list(_merged(runs)))))
    if one_line:
        return line.replace("\n", " ")
    return "\\\n".join(_escaped_start(part) for part in line.split("\n"))


class _Token(NamedTuple):
    """A piece of the line; ``pair`` numbers a delimiter and its counterpart, ``inner`` marks one inside of another."""

    text: str
    pair: int = -1
    opens: bool = False
    inner: bool = False


def _tokens(runs: Sequence[Run]) -> list[_Token]:
    """Pieces of the line, with the delimiters of nested styles around them."""
    tokens: list[_Token] = []
    opened: list[tuple[str, str, int]] = []  # attribute and value of the style, number of the pair
    pairs = 0
    for index, run in enumerate(runs):
        wanted = [(name, value) for name, value in zip(_LEVELS, _levels(run.style), strict=True) if value]
        common = 0
        while common < min(len(opened), len(wanted)) and opened[common][:2] == wanted[common]:
            common += 1
        _close(tokens, opened, common)
        for name, value in wanted[common:]:
            inner = any(outer in _DELIMITERS for outer, _, _ in opened)
            opened.append((name, value, pairs))
            tokens.append(_Token(_opening(name, value), pairs if name in _DELIMITERS else -1, opens=True, inner=inner))
            pairs += 1
        link = bool(run.style.href)
        after = runs[index + 1] if index + 1 < len(runs) else None
        tokens.append(_Token(_text(run, link=link, before_bracket=_opens_bracket(run, after))))
    _close(tokens, opened, 0)
    return tokens


def _opens_bracket(run: Run, after: Run | None) -> bool:
    """Whether a bracket comes after a run, which an exclamation mark before it would make a picture."""
    if after is None:
        return False
    return bool(after.source) or (bool(after.style.href) and after.style.href != run.style.href)


def _levels(style: Style) -> tuple[str, str, str, str, str]:
    link = f"{style.href}\0{style.title}" if style.href else ""
    return link, "del" * style.struck, "1" * style.strong, "1" * style.emphasised, style.script


def _close(tokens: list[_Token], opened: list[tuple[str, str, int]], common: int) -> None:
    while len(opened) > common:
        name, value, pair = opened.pop()
        tokens.append(_Token(_closing(name, value), pair if name in _DELIMITERS else -1))


def _opening(name: str, value: str) -> str:
    if name == "href":
        return "["
    return _DELIMITERS.get(name) or f"<{value}>"


def _closing(name: str, value: str) -> str:
    if name == "href":
        href, _, title = value.partition("\0")
        return f"]({destination(href)}{_quoted(title)})"
    return _DELIMITERS.get(name) or f"</{value}>"


def _text(run: Run, *, link: bool, before_bracket: bool) -> str:
    if run.source:
        alt = escaped(" ".join(run.text.split())).replace("]", "\\]")
        return f"![{alt}]({destination(run.source)}{_quoted(run.title)})"
    if run.style.code and run.text.strip():
        return code_span(run.text)
    text = escaped(run.text)
    if link:
        text = text.replace("]", "\\]")
    return f"{text[:-1]}\\!" if before_bracket and text.endswith("!") else text


def _without_ambiguous(tokens: list[_Token]) -> Iterator[str]:
    """Yield the text of the tokens without the delimiters that a parser would not pair as meant."""
    dropped: set[int] = set()
    for pair, (start, end) in _places(tokens).items():
        before = _neighbour(tokens, start, -1)
        after = _neighbour(tokens, end, 1)
        first, last = _neighbour(tokens, start, 1), _neighbour(tokens, end, -1)
        glued = start > 0 and _is_closing(tokens, start - 1, dropped)
        if glued or not (_flanks(before, first) and _flanks(after, last)) or _is_torn(tokens, start, end):
            dropped.add(pair)
    return (token.text for token in tokens if token.pair < 0 or token.pair not in dropped)


def _is_torn(tokens: Sequence[_Token], start: int, end: int) -> bool:
    """Whether a delimiter inside of a word, which may open as well as close, would end what is around its pair."""
    return tokens[start].inner and any(
        _flanks(last, first) and _flanks(first, last) and not first.isspace() and not last.isspace()
        for last, first in ((_neighbour(tokens, at, -1), _neighbour(tokens, at, 1)) for at in (start, end))
    )


def _places(tokens: Sequence[_Token]) -> dict[int, tuple[int, int]]:
    starts = {token.pair: i for i, token in enumerate(tokens) if token.pair >= 0 and token.opens}
    ends = {token.pair: i for i, token in enumerate(tokens) if token.pair >= 0 and not token.opens}
    return {pair: (start, ends[pair]) for pair, start in starts.items()}


def _is_closing(tokens: Sequence[_Token], at: int, dropped: set[int]) -> bool:
    """Whether the delimiter before a place, if there is one, closes a pair that is written."""
    while at >= 0 and tokens[at].pair in dropped:
        at -= 1
    return at >= 0 and tokens[at].pair >= 0 and not tokens[at].opens


def _neighbour(tokens: Sequence[_Token], at: int, step: int) -> str:
    """The character beside a delimiter that is not part of a delimiter; a space at the ends."""
    at += step
    while 0 <= at < len(tokens) and (tokens[at].pair >= 0 or not tokens[at].text):
        at += step
    if not 0 <= at < len(tokens):
        return " "
    return tokens[at].text[0 if step > 0 else -1]


def _flanks(outside: str, inside: str) -> bool:
    """Whether a delimiter between two characters belongs to the text inside (CommonMark, 6.2)."""
    if inside.isspace():
        return False
    broadly = inside in _ASCII_PUNCTUATION or unicodedata.category(inside)[0] in "PS"
    narrowly = outside.isspace() or outside in _ASCII_PUNCTUATION or unicodedata.category(outside)[0] == "P"
    return not broadly or narrowly


def escaped(text: str) -> str:
    r"""Escape what Markdown would read as markup anywhere in a line.

    >>> print(escaped("f(*args) [1] a_b _c_ <b> 1 < 2 &amp; R&D"))
    f(\*args) \[1] a_b \_c\_ \<b> 1 < 2 \&amp; R&D
    """
    return _ANYWHERE.sub(r"\\\g<0>", text)


def _escaped_start(line: str) -> str:
    r"""Escape what would begin a block.

    >>> print(_escaped_start("1. May"), _escaped_start("- a"), _escaped_start("-1"))
    1\. May \- a -1
    """
    line = line.strip(" ")
    if match := _NUMBERED.match(line):
        return f"{match[1]}\\{line[match.end(1) :]}"
    return f"\\{line}" if _AT_START.match(line) else line


def code_span(text: str) -> str:
    """Write text as a code span, with as many backticks as it needs.

    >>> print(code_span("a`b"))
    ``a`b``
    """
    text = " ".join(text.split())
    fence = "`" * fence_length(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fence_length(text: str, least: int) -> int:
    """Number of backticks around code: one more than any run of them inside has, if that has as many as ``least``.

    >>> fence_length("a ``` b", 3), fence_length("a ` b", 3)
    (4, 3)
    """
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    return least if longest < least else longest + 1


def destination(url: str) -> str:
    r"""Write the URL of a link or picture.

    >>> print(destination("http://h/a b(c)"), destination("http://h/f(x"))
    http://h/a%20b(c) <http://h/f(x>
    """
    url = re.sub(r"[\s<>\\]", lambda match: f"%{ord(match[0]):02X}" if match[0] < "\x7f" else "%20", url)
    url = re.sub(r"&(?=#?\w{1,31};)", "&amp;", url)
    return url if _balanced(url) and url else f"<{url}>"


def _balanced(url: str) -> bool:
    level = 0
    for character in url:
        level += (character == "(") - (character == ")")
        if level < 0 or level > 20:
            return False
    return level == 0


def _quoted(title: str) -> str:
    title = " ".join(title.split())
    if not title:
        return ""
    quoted = re.sub(r'[\\"]|&(?=#?\w{1,31};)', r"\\\g<0>", title)
    return f' "{quoted}"'
