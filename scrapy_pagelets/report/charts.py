"""The charts of the report, as SVG that takes the colours of the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

from scrapy_pagelets.report.summary import Totals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE: Final = (5.0, 2.4)
_SQUARE: Final = (1.6, 1.6)
#: Elements of matplotlib's SVG that a document of its own needs.
_HEAD: Final = re.compile(r"<\?xml.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)


def curves(points: Sequence[Totals]) -> list[str]:
    """Words kept and stripped over the pages in their order, and the share of near-duplicates if there are any; SVG.

    Raises
    ------
    ImportError : if matplotlib is not installed
    """
    whole = [point for point in points if 2 * point.pages >= points[0].pages]  # the last may be of a few pages only
    pages = [0]
    for point in whole:
        pages.append(pages[-1] + point.pages)
    middle = [(start + end) / 2 for start, end in pairwise(pages)]
    kept, stripped = ([getattr(point, name) / point.pages for point in whole] for name in ("kept", "stripped"))
    shares = [100 * point.duplicates / point.pages for point in whole]
    return [_words(middle, kept, stripped), *([_duplicates(middle, shares)] if any(shares) else [])]


def _words(pages: Sequence[float], kept: Sequence[float], stripped: Sequence[float]) -> str:
    with _axes("words a page") as (figure, axes):
        axes.stackplot(pages, kept, stripped, colors=("#0a7ea4", "#d9730d"), labels=("kept", "stripped"))
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    return _svg(figure, "Words kept and words stripped of a page, in the order of the feed")


def _duplicates(pages: Sequence[float], shares: Sequence[float]) -> str:
    with _axes("near-duplicates, %") as (figure, axes):
        axes.plot(pages, shares, color="#0a7ea4")
        axes.set(ylim=(0, max(5.0, 1.1 * max(shares))))
    return _svg(figure, "Share of near-duplicates among the pages, in the order of the feed")


@contextmanager
def _axes(name: str) -> Iterator[tuple[Figure, Axes]]:
    """The axes of a curve over the pages."""
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(_SIZE, layout="constrained")
        axes = figure.subplots()
        axes.set(xlabel="pages", ylabel=name)
        axes.spines[["top", "right"]].set_visible(False)
        yield figure, axes


def complete_graph(number: int) -> str:
    """Points on a circle, all linked to each other, and numbered from 1; SVG.

    Parameters
    ----------
    number : of the points

    Raises
    ------
    ImportError : if matplotlib is not installed
    """
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(_SQUARE)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(-1.4, 1.4), ylim=(-1.4, 1.4))
        axes.set_axis_off()
        angles = [math.pi / 2 - 2 * math.pi * i / number for i in range(number)]
        points = [(math.cos(angle), math.sin(angle)) for angle in angles]
        for (x1, y1), (x2, y2) in combinations(points, 2):
            axes.plot((x1, x2), (y1, y2), color="#0a7ea4", linewidth=1)
        for i, (x, y) in enumerate(points, 1):
            axes.text(1.2 * x, 1.2 * y, str(i), ha="center", va="center")
    return _svg(figure, f"{number} pages, each linked to all others")


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl

    return mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.family": "sans-serif"})


def _svg(figure: Figure, name: str) -> str:
    """A figure as SVG with a name that is read out."""
    written = io.StringIO()
    with _style():
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    drawn = _HEAD.sub("", written.getvalue()).replace("#000000", "currentColor")
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)
