"""The charts of the report, as SVG that takes the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from scrapy_pagelets.report.summary import Totals

_SIZE: Final = (8.0, 2.4)
#: Elements of matplotlib's SVG that a document of its own needs.
_HEAD: Final = re.compile(r"<\?xml.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)


def curves(points: Sequence[Totals]) -> str:
    """Words kept and stripped, and the share of near-duplicates, over the pages in their order; SVG.

    Raises
    ------
    ImportError : if matplotlib is not installed
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    whole = [point for point in points if 2 * point.pages >= points[0].pages]  # the last may be of a few pages only
    pages = [0]
    for point in whole:
        pages.append(pages[-1] + point.pages)
    middle = [(start + end) / 2 for start, end in pairwise(pages)]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.family": "sans-serif"}):
        figure = Figure(_SIZE, layout="constrained")
        words, doubles = figure.subplots(1, 2, width_ratios=(3, 2))
        kept = [point.kept / point.pages for point in whole]
        stripped = [point.stripped / point.pages for point in whole]
        words.stackplot(middle, kept, stripped, colors=("#0a7ea4", "#d9730d"), labels=("kept", "stripped"))
        words.set(xlabel="pages", ylabel="words a page")
        words.legend(loc="upper right", frameon=False)
        doubles.plot(middle, [100 * point.duplicates / point.pages for point in whole], color="#0a7ea4")
        doubles.set(xlabel="pages", ylabel="near-duplicates, %", ylim=(0, None))
        for axes in (words, doubles):
            axes.spines[["top", "right"]].set_visible(False)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return _HEAD.sub("", written.getvalue()).replace("#000000", "currentColor")
