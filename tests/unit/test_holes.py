"""Blocks that the passes miss in the middle of a text are content."""

import numpy as np
import pytest

from scrapy_pagelets.decision.content import corrected
from tests.trees import page

PROSE = "<p>All that there is to say about green tea of the hills, and how it is picked by hand in the spring.</p>"


def filled(html, lost):
    """The texts that become content, if the passes have lost those that begin with a word."""
    nodes = page(html).nodes
    lost_ones = np.array([text.startswith(lost) for text in nodes.strings])
    found = corrected(nodes, 0.9 * lost_ones, None)
    return [text for text, one in zip(nodes.strings, found, strict=True) if text.startswith(lost) and one == 0]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            f"{PROSE * 3}<ul><li>Lost gloves<li>Lost <a href=x>Lost basket</a></ul>{PROSE}",
            ["Lost gloves", "Lost", "Lost basket"],
        ),
        (f"{PROSE * 3}<h2>Lost heading</h2>{PROSE}", ["Lost heading"]),
        (f"{PROSE * 3}<p>Lost at the end", []),
        (f"<p>Lost at the beginning</p>{PROSE * 3}", []),
        (f"{PROSE}<p>Lost in a short text</p>{PROSE}", []),
        (f"{PROSE * 3}<p><a href=x>Lost menu</a></p>{PROSE}", []),
        (f"{PROSE * 3}<div>Lost section</div>{PROSE}", []),
        (f"<div>{PROSE * 3}</div><p>Lost between others</p><div>{PROSE}</div>", []),
        (f"{PROSE * 3}<p>{'Lost one ' * 60}</p>{PROSE}", []),
    ],
)
def test_what_is_filled(html, expected):
    assert filled(html, "Lost") == expected
