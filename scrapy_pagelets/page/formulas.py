r"""Formulas: the TeX that a page gives beside what its browser shows, or that its script has yet to set.

Scripts leave a formula in several forms: what is seen, MathML for screen readers, and the source. It is written once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from lxml import etree

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.page.looks import FORMULA, FORMULA_NAMED
from scrapy_pagelets.page.nodes import GLUED, NodeTable, rows_with

_TEX_TYPE: Final = lazily(r"(?:application/x-tex|math/tex|text/x-tex|latex)", re.IGNORECASE)
#: Classes of pictures of formulas, whose alternative text is the source.
_PICTURE: Final = lazily(
    r"(?:^|\s)(?:latex|tex|texrender|equation_image|ql-img-\w+-(?:formula|equation)|mwe-math-fallback-image-\w+)(?:\s|$)"
)
#: Alternative texts that are the source by their delimiters, as converters of LaTeX write them.
_DELIMITED: Final = lazily(r"\s*(?:\$.+\$|\\\(.+\\\)|\\\[.+\\\]|\\begin\{.+\\end\{[\w*]+\})\s*", re.DOTALL)
_SOURCES: Final = ("d-math", "math-renderer")  # elements whose text is the source: of Distill, of GitHub
_CODE: Final = ("code", "pre")  # elements whose text may be, as ``data-math-style`` says: of GitLab, Gitea, Forgejo
_WRITTEN: Final = frozenset(("img", *_SOURCES, *_CODE))
_ELEMENTS: Final = frozenset((*_SOURCES, *_CODE, "math", "mjx-container"))
#: What it has around it.
_AROUND: Final = lazily(
    r"(?:LaTeX:\s*|\\[(\[]|\$\$?|\\begin\{\w*math\})?(.+?)(?:\\[)\]]|\$\$?|\\end\{\w*math\})?", re.DOTALL
)
_DISPLAY: Final = lazily(
    r"katex-display|_Display|math-element-block|displayed-|display-math|mode=display|^(?:block|display)$|^true$"
)
_APART: Final = ("$$", "\\[", "\\begin{displaymath}")  # how the source of such a formula begins
_STYLE: Final = lazily(r"\{\\(?:displaystyle|textstyle)\b\s*(.*)\}", re.DOTALL)
#: Formulas in a text. Single dollars count only if the page's script is told so: they may be prices.
PLAIN, INLINE, DISPLAY = range(3)
_LINES: Final = r"(?:align|gather|multline|eqnarray|flalign|alignat)"  # environments of several lines
_BODY: Final = rf"((?:[^\\]|\\(?!(?:begin|end)\{{(?:equation|{_LINES})).){{1,5000}}?)"
_SOURCE: Final = lazily(  # a delimiter inside of a formula is an error: the search need not go on behind it
    r"\\\(((?:[^\\]|\\[^()]){1,1000}?)\\\)|\\\[((?:[^\\]|\\[^\[\]]){1,5000}?)\\\]|\$\$((?:[^$\\]|\\.){1,5000}?)\$\$|"
    rf"\\begin\{{equation\*?\}}{_BODY}\\end\{{equation\*?\}}|(\\begin\{{{_LINES}\*?\}}{_BODY[1:-1]}\\end\{{{_LINES}\*?\}})",
    re.DOTALL,
)
_DOLLARS: Final = r"(?<![\\$\w])\$(?![\s$])([^$]{1,1000}?)(?<![\s\\])\$(?![\w$])"
_WITH_DOLLARS: Final = lazily(f"{_SOURCE.pattern}|{_DOLLARS}", re.DOTALL)
_SCRIPT: Final = lazily(r"mathjax|katex", re.IGNORECASE)
_TOLD: Final = lazily(r"""\[\s*["']\$["']\s*,\s*["']\$["']\s*\]|left["']?\s*:\s*["']\$["']""")
#: Elements of MathML that change the meaning of what they set beside each other.
_SCRIPTS: Final = frozenset("mfrac msup msub msubsup msqrt mroot mover munder munderover mtable".split())
_OTHER: Final = 0  # the number of all tags that have none of their own, as those of MathML
_MOST: Final = 20_000  # characters of a script in which its settings are looked for


def is_formula(element: etree._Element) -> bool:
    """Whether an element shows a formula, or holds the source of one."""
    tag = element.tag
    if tag in ("span", "div"):
        return _is_set(element)
    if tag in _ELEMENTS:
        if tag in _CODE:
            return element.get("data-math-style") is not None
        return len(element) == 0 or tag in ("math", "mjx-container")
    if tag == "script":
        before = element.getprevious()  # what has been set as a picture has no text
        is_text = _is_set(before) and before is not None and any(map(str.strip, map(str, before.itertext())))
        return bool(_TEX_TYPE.match(element.get("type", ""))) and not is_text
    alt = element.get("alt", "") if tag == "img" else ""
    return bool(alt and (_PICTURE.search(element.get("class", "")) or _DELIMITED.fullmatch(alt)))


def _is_set(element: etree._Element | None) -> bool:
    """Whether an element shows a formula as a script or a server has set it."""
    if element is None or element.tag not in ("span", "div"):
        return False
    is_named = FORMULA_NAMED.search(element.get("class", "")) is not None
    return is_named and (len(element) > 0 or _script_of(element) is not None)


def tex_of(element: etree._Element) -> str:
    """The TeX of a formula; "" if the page does not give it."""
    if element.tag == "script":
        return _folded(element.text or "")
    if element.tag in _WRITTEN:
        around = _AROUND.fullmatch(_folded(element.get("alt") or "".join(map(str, element.itertext()))))
        return around[1] if around else ""
    if (script := _script_of(element)) is not None:
        return _folded(script.text or "")
    if noted := _noted(element):
        return noted
    formula = next(element.iter("math"), None)
    return "" if formula is None else _folded(formula.get("alttext", "")) or tex_of_mathml(formula)


def _noted(element: etree._Element) -> str:
    """The TeX in an annotation of MathML."""
    notes = (note for note in element.iter("annotation") if _TEX_TYPE.search(note.get("encoding", "")))
    return next((_folded("".join(map(str, note.itertext()))) for note in notes), "")


def _script_of(element: etree._Element) -> etree._Element | None:
    """The source that MathJax 2 leaves behind what it has set."""
    after = element.getnext() if element.tag != "math" else None
    return after if after is not None and after.tag == "script" and _TEX_TYPE.match(after.get("type", "")) else None


def is_display(element: etree._Element) -> bool:
    """Whether a formula stands on a line of its own."""
    script = _script_of(element)
    nodes = [element, *element.iter("math"), *([] if script is None else [script])]
    named = (node.get(name, "") for node in nodes for name in ("class", "display", "type", "data-math-style"))
    is_set_apart = element.get("block") is not None or element.get("alt", "").startswith(_APART)
    return is_set_apart or any(map(_DISPLAY.search, named))


def delimiters(scripts: Iterable[etree._Element]) -> re.Pattern[str] | None:
    """How formulas are written in the text of a page whose script sets them in the browser; None if it has none."""
    found = None
    for script in scripts:
        text = (script.text or "")[:_MOST]
        if _TOLD.search(text):
            return _WITH_DOLLARS
        if _SCRIPT.search(script.get("src") or "") or _SCRIPT.search(text):
            found = _SOURCE
    return found


def split(text: str, source: re.Pattern[str] | None) -> Iterator[tuple[str, int]]:
    """Yield the parts of a text, each with ``PLAIN``, ``INLINE`` or ``DISPLAY``; formulas without their delimiters."""
    end = 0
    for match in source.finditer(text) if source else ():
        yield text[end : match.start()], PLAIN
        tex = _folded(next(group for group in match.groups() if group))
        yield tex, DISPLAY if match[0].startswith(("\\[", "$$", "\\b")) else INLINE
        end = match.end()
    yield text[end:], PLAIN


def with_one_form(nodes: NodeTable, keep: Bools) -> NodeTable:
    """The node table with one form of each formula among the leaves to keep, (m,): TeX, or else what is seen."""
    rows = nodes.outermost(rows_with(nodes, FORMULA))
    if not rows:
        return nodes
    strings, gap = list(nodes.strings), nodes.gap.copy()
    for row in rows:
        leaves = nodes.leaves_of(row)
        if leaves.stop - leaves.start > 1 and keep[leaves].all() and (shown := _form(nodes, row)):
            gap[leaves.start + 1 : leaves.stop] = GLUED
            strings[leaves] = [shown] + [""] * (leaves.stop - leaves.start - 1)
    return nodes if strings == nodes.strings else replace(nodes, strings=strings, gap=gap)


def _form(nodes: NodeTable, row: int) -> str:
    """The form of a formula in plain text; "" if it has only the one that is seen."""
    if noted := _noted(nodes.elements[row]):
        return noted
    formula = next(
        (i for i in range(row, nodes.end.item(row)) if nodes.tag[i] == _OTHER and nodes.elements[i].tag == "math"), row
    )
    if next(nodes.elements[formula].iter(*_SCRIPTS), None) is not None:
        return tex_of_mathml(nodes.elements[formula])
    leaves = nodes.leaves_of(formula)
    pieces = zip(nodes.gap[leaves].tolist(), nodes.strings[leaves], strict=True)
    return "".join((" " if gap else "") + string for gap, string in pieces).strip() if formula > row else ""


def _folded(text: str) -> str:
    text = " ".join(text.split())
    styled = _STYLE.fullmatch(text)
    return styled[1].strip() if styled else text


#: What TeX reads as markup.
_SPECIAL: Final = lazily(r"[{}%&#_$]")
#: Signs whose limits stand above and below them.
_WITH_LIMITS: Final = lazily(r"[∑∏∐⋂⋃⋀⋁∫∬∮]|\\mathrm\{(?:lim|max|min|sup|inf|limsup|liminf)\}")
_OVER: Final = {
    **dict.fromkeys("¯ˉ‾―", "overline"), **dict.fromkeys("^ˆ", "hat"), **dict.fromkeys("~˜", "tilde"),
    **dict.fromkeys("→⃗", "vec"), **dict.fromkeys("˙.", "dot"), "¨": "ddot", "⏞": "overbrace",
}  # fmt: skip
_UNDER: Final = {**dict.fromkeys("_̲―", "underline"), "⏟": "underbrace"}
_INVISIBLE: Final = str.maketrans("", "", "\u2061\u2062\u2063\u2064")
_LEAVES: Final = frozenset("mi mo mn mtext ms".split())
_SKIPPED: Final = frozenset("annotation annotation-xml mspace mphantom maligngroup malignmark".split())
_ROWS: Final = frozenset("math mrow mstyle mpadded menclose maction merror semantics mtd none".split())


def tex_of_mathml(formula: etree._Element) -> str:
    """Write a formula as TeX; "" if it holds anything but presentation MathML."""
    parts: list[list[str]] = [[]]
    walk = etree.iterwalk(formula, events=("start", "end"))
    for event, element in walk:
        tag = str(element.tag)
        if event == "start":
            if tag in _SKIPPED:
                walk.skip_subtree()
                continue
            if tag not in _LEAVES and tag not in _ROWS and tag not in _WRITERS:
                return ""
            parts.append([])
        elif tag not in _SKIPPED:
            inside = parts.pop()
            parts[-1].append(_write_element(element, tag, inside))
    return " ".join(parts[0][0].split())


def _write_element(element: etree._Element, tag: str, inside: Sequence[str]) -> str:
    if tag in _LEAVES:
        text = " ".join("".join(map(str, element.itertext())).split()).translate(_INVISIBLE)
        escaped = _SPECIAL.sub(r"\\\g<0>", text.replace("\\", "\\backslash "))
        is_name = tag == "mi" and len(escaped) > 1 and escaped.isalpha()
        return f"\\text{{{escaped}}}" if tag in ("mtext", "ms") else f"\\mathrm{{{escaped}}}" if is_name else escaped
    if tag == "mfenced":
        return f"{element.get('open', '(')}{','.join(inside)}{element.get('close', ')')}"
    write = _WRITERS.get(tag)
    return write(inside) if write else "".join(inside)


def _script(*marks: str) -> Callable[[Sequence[str]], str]:
    """What writes a base with scripts: ``_`` below, ``^`` above."""

    def write(inside: Sequence[str]) -> str:
        base = "".join(inside[:1])
        base = base if len(base) == 1 or _WITH_LIMITS.fullmatch(base) else f"{{{base}}}"
        return base + "".join(f"{mark}{{{part}}}" for mark, part in zip(marks, inside[1:], strict=False))

    return write


def _stacked(inside: Sequence[str], accents: dict[str, str], command: str, mark: str) -> str:
    base, sign = "".join(inside[:1]), "".join(inside[1:])
    if _WITH_LIMITS.fullmatch(base):
        return f"{base}{mark}{{{sign}}}"
    if accent := accents.get(sign.removeprefix("\\")):
        return f"\\{accent}{{{base}}}"
    return f"\\{command}{{{sign}}}{{{base}}}"


_over = partial(_stacked, accents=_OVER, command="overset", mark="^")
_under = partial(_stacked, accents=_UNDER, command="underset", mark="_")


def _under_and_over(inside: Sequence[str]) -> str:
    base = "".join(inside[:1])
    if _WITH_LIMITS.fullmatch(base):
        return _script("_", "^")(inside)
    return _over([_under(inside[:2]), *inside[2:]])


_WRITERS: Final[dict[str, Callable[[Sequence[str]], str]]] = {
    "mfrac": lambda inside: "\\frac" + "".join(f"{{{part}}}" for part in inside),
    "msqrt": lambda inside: f"\\sqrt{{{''.join(inside)}}}",
    "mroot": lambda inside: f"\\sqrt[{''.join(inside[1:])}]{{{''.join(inside[:1])}}}",
    "msup": _script("^"),
    "msub": _script("_"),
    "msubsup": _script("_", "^"),
    "mover": _over,
    "munder": _under,
    "munderover": _under_and_over,
    "mtable": lambda inside: "\\begin{matrix}" + " \\\\ ".join(inside) + "\\end{matrix}",
    "mtr": lambda inside: " & ".join(inside),
    "mfenced": "".join,
}
