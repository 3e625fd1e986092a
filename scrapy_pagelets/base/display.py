"""Show things to people: numbers in sentences, and tables in notebooks (``_repr_html_``) that load and run nothing."""

from collections.abc import Sequence
from html import escape
from typing import Final

from scrapy_pagelets.base.characters import visible

MOST: Final = 100  # rows of a table
_TEXT: Final = 200  # characters of a text
#: Colours of what is kept and what is stripped that can be seen on light and on dark ground.
KEPT, STRIPPED = "#2b7fb5", "#c05a1e"
Row = Sequence[str | int | float]


def counted(number: int, name: str) -> str:
    """A number of things, in figures that are easy to read: ``31,072 pages``."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """The first characters of a text; dots say that there are more."""
    return text if len(text) <= most else f"{text[:most]}..."


def table(title: str, head: Sequence[str], rows: Sequence[Row], note: str = "", colors: Sequence[str] = ()) -> str:
    """A table in HTML. All texts are escaped, and cut off where they are long.

    ``title``, ``note``: what stands above, and a sentence about it. ``head``: names of the columns; none for rows of a
    name and a value. ``rows``: at most ``MOST``. ``colors``: of each row, CSS colours.
    """
    names = "".join(f'<th scope="col" style="text-align:start">{escape(name)}</th>' for name in head)
    edges = [f' style="border-left:5px solid {color}"' for color in colors] or [""] * len(rows)
    lines = (f"<tr{edge}>{''.join(map(_cell, row))}</tr>" for edge, row in zip(edges, rows, strict=True))
    return (
        '<div style="max-width:64rem;overflow-x:auto">'
        f'<p><b dir="auto">{_text(title)}</b> {escape(note)}</p>'
        '<table style="border-collapse:collapse">'
        f"{f'<thead><tr>{names}</tr></thead>' if head else ''}<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return f'<td dir="auto" style="text-align:start">{_text(value)}</td>'
    return f'<td style="text-align:right">{f"{value:,}" if isinstance(value, int) else f"{value:.2f}"}</td>'


def _text(text: str) -> str:
    folded = " ".join(text[: 4 * _TEXT].split())
    return escape(visible(folded if len(folded) <= _TEXT else f"{folded[:_TEXT]}…"))
