"""The charts of the report, as SVG that takes the colours of the page."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

from scrapy_pagelets.report.summary import Totals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZE: Final = (8.0, 2.4)
_SQUARE: Final = (1.6, 1.6)
#: Elements of matplotlib's SVG that a document of its own needs.
_HEAD: Final = re.compile(r"<\?xml.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)


def curves(points: Sequence[Totals]) -> str:
    """Words kept and stripped, and the share of near-duplicates, over the pages in their order; SVG.

    Raises
    ------
    ImportError : if matplotlib is not installed
    """
    from matplotlib.figure import Figure

    whole = [point for point in points if 2 * point.pages >= points[0].pages]  # the last may be of a few pages only
    pages = [0]
    for point in whole:
        pages.append(pages[-1] + point.pages)
    middle = [(start + end) / 2 for start, end in pairwise(pages)]
    with _style():
        figure = Figure(_SIZE, layout="constrained")
        words, doubles = figure.subplots(1, 2, width_ratios=(3, 2))
        kept = [point.kept / point.pages for point in whole]
        stripped = [point.stripped / point.pages for point in whole]
        words.stackplot(middle, kept, stripped, colors=("#0a7ea4", "#d9730d"), labels=("kept", "stripped"))
        words.set(xlabel="pages", ylabel="words a page")
        words.legend(loc="upper right", frameon=False)
        shares = [100 * point.duplicates / point.pages for point in whole]
        doubles.plot(middle, shares, color="#0a7ea4")
        doubles.set(xlabel="pages", ylabel="near-duplicates, %", ylim=(0, max(5.0, 1.1 * max(shares))))
        for axes in (words, doubles):
            axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure)


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
    return _svg(figure)


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl

    return mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.family": "sans-serif"})


def _svg(figure: Figure) -> str:
    written = io.StringIO()
    with _style():
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return _HEAD.sub("", written.getvalue()).replace("#000000", "currentColor")
