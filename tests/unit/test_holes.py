"""Blocks that the passes miss in the middle of a text are content."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.corrections import holes_of
from tests.trees import page, soups

PROSE = "<p>All that there is to say about green tea of the hills, and how it is picked by hand in the spring.</p>"


def filled(html, lost):
    """The texts that become content, if the passes have lost those that begin with a word."""
    nodes = page(html).nodes
    keep = np.array([not text.startswith(lost) for text in nodes.strings])
    return [text for text, hole in zip(nodes.strings, holes_of(nodes, keep), strict=True) if hole]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (f"{PROSE * 3}<ul><li>Lost gloves<li>Lost <a href=x>basket</a></ul>{PROSE}", ["Lost gloves", "Lost", "basket"]),
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


@given(soups, st.integers(0, 2**32))
def test_only_what_was_lost_is_filled(html, seed):
    nodes = page(html).nodes
    keep = np.random.default_rng(seed).random(len(nodes.leaves)) < 0.8
    blocks = holes_of(nodes, keep)
    assert not blocks[: np.argmax(keep)].any() if keep.any() else not blocks.any()
