"""Presentation MathML as TeX, for formulas without their source."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from lxml import etree

#: What TeX reads as markup.
_SPECIAL: Final = re.compile(r"[{}%&#_$]")
#: Signs whose limits stand above and below them.
_WITH_LIMITS: Final = re.compile(r"[∑∏∐⋂⋃⋀⋁∫∬∮]|\\mathrm\{(?:lim|max|min|sup|inf|limsup|liminf)\}")
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
    r"""Write a formula as TeX; "" if it holds anything but presentation MathML.

    >>> tex_of_mathml(etree.fromstring("<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mi>y</mi></math>"))
    'x^{2}+y'
    """
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
            parts[-1].append(_written(element, tag, inside))
    return " ".join(parts[0][0].split())


def _written(element: etree._Element, tag: str, inside: Sequence[str]) -> str:
    if tag in _LEAVES:
        return _leaf(tag, " ".join("".join(map(str, element.itertext())).split()).translate(_INVISIBLE))
    if tag == "mfenced":
        return f"{element.get('open', '(')}{','.join(inside)}{element.get('close', ')')}"
    write = _WRITERS.get(tag)
    return write(inside) if write else "".join(inside)


def _leaf(tag: str, text: str) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", text.replace("\\", "\\backslash "))
    if tag in ("mtext", "ms"):
        return f"\\text{{{text}}}"
    return f"\\mathrm{{{text}}}" if tag == "mi" and len(text) > 1 and text.isalpha() else text


def _fraction(inside: Sequence[str]) -> str:
    return "\\frac" + "".join(f"{{{part}}}" for part in inside)


def _root(inside: Sequence[str]) -> str:
    return f"\\sqrt[{''.join(inside[1:])}]{{{''.join(inside[:1])}}}"


def _script(*marks: str) -> Callable[[Sequence[str]], str]:
    """What writes a base with scripts: ``_`` below, ``^`` above."""

    def write(inside: Sequence[str]) -> str:
        base = inside[0] if inside and _is_one(inside[0]) else f"{{{''.join(inside[:1])}}}"
        return base + "".join(f"{mark}{{{part}}}" for mark, part in zip(marks, inside[1:], strict=False))

    return write


def _is_one(tex: str) -> bool:
    return len(tex) == 1 or bool(_WITH_LIMITS.fullmatch(tex))


def _over(inside: Sequence[str]) -> str:
    return _stacked(inside, _OVER, "overset", "^")


def _under(inside: Sequence[str]) -> str:
    return _stacked(inside, _UNDER, "underset", "_")


def _stacked(inside: Sequence[str], accents: dict[str, str], command: str, mark: str) -> str:
    base, sign = "".join(inside[:1]), "".join(inside[1:])
    if _WITH_LIMITS.fullmatch(base):
        return f"{base}{mark}{{{sign}}}"
    if accent := accents.get(sign.removeprefix("\\")):
        return f"\\{accent}{{{base}}}"
    return f"\\{command}{{{sign}}}{{{base}}}"


def _under_and_over(inside: Sequence[str]) -> str:
    base = "".join(inside[:1])
    if _WITH_LIMITS.fullmatch(base):
        return _script("_", "^")(inside)
    return _over([_under(inside[:2]), *inside[2:]])


_WRITERS: Final[dict[str, Callable[[Sequence[str]], str]]] = {
    "mfrac": _fraction,
    "msqrt": lambda inside: f"\\sqrt{{{''.join(inside)}}}",
    "mroot": _root,
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
