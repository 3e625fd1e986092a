"""Draw lines as an SVG picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLOURS = ("#4363d8", "#e6194b", "#3cb44b", "#f58231", "#911eb4")
#: Pixels of the field of the lines.
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 30, 520, 300


@dataclass(frozen=True)
class Axis:
    """An axis from the first to the last of its marks."""

    title: str
    marks: Mapping[float, str]

    def share(self, value: float) -> float:
        """Where a value lies between the ends, 0 to 1."""
        return (value - min(self.marks)) / (max(self.marks) - min(self.marks))


def chart(lines: Mapping[str, Sequence[tuple[float, float]]], across: Axis, up: Axis) -> str:
    """Up to five lines by name, each a sequence of points, as SVG."""

    def x(value: float) -> float:
        return _LEFT + _WIDTH * across.share(value)

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (1 - up.share(value))

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="820" height="380" font-family="sans-serif" font-size="13">',
        '<rect width="820" height="380" fill="white"/>',
        f'<text x="250" y="370">{across.title}</text><text x="8" y="20">{up.title}</text>',
    ]
    for value, text in up.marks.items():
        parts.append(f'<path d="M{_LEFT} {y(value):.0f}h{_WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="20" y="{y(value) + 4:.0f}">{text}</text>')
    for value, text in across.marks.items():
        parts.append(f'<text x="{x(value) - 8:.0f}" y="348">{text}</text>')
    for number, ((name, points), colour) in enumerate(zip(lines.items(), COLOURS, strict=False)):
        path = " ".join(f"{x(one):.0f},{y(other):.0f}" for one, other in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="600" y="{60 + 22 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])
