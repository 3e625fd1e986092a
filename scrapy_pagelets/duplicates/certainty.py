"""How surely each word of a page is content, so that leftovers of templates do not separate copies on two sites."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.core import compiled
from scrapy_pagelets.duplicates.shingles import runs_of_tokens
from scrapy_pagelets.page.nodes import GLUED, NodeTable
from scrapy_pagelets.page.text import without_invisible, write_leaves

#: This share of the words of a page is taken for surely content, and counts in full.
_SURE: Final = 0.25
#: Smaller templateness is not told apart.
_LEAST: Final = 0.001


def word_weights(nodes: NodeTable, keep: Bools, templateness: Floats) -> Floats:
    """(w,) weights of the words of a page's text (`text.plain`), above 0 to 1: their odds of being content, relatively.

    The quarter of the words with the highest odds have 1, and so have all words if nothing is known. A shift of the log
    odds of the whole page changes little, so pages of clear and unclear sites can be compared.

    Parameters
    ----------
    keep : (m,) a mask of the leaves of the content
    templateness : (m,) of each leaf

    Examples
    --------
    >>> from scrapy_pagelets.page.page import Page
    >>> nodes = Page.parse(b"<h1>Of cats</h1><p>Cats sleep. <i>About us</i>", "http://a/").nodes
    >>> word_weights(nodes, np.ones(3, np.bool_), np.array([0.2, 0.2, 0.4])).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.375, 0.375]
    """
    nodes, leaves = write_leaves(nodes, keep)
    texts, template = runs_of_words(nodes, leaves, np.ascontiguousarray(templateness, np.float64))
    template = np.maximum(template, _LEAST)
    odds: Floats = ((1 - template) / template)[runs_of_tokens(texts)]
    return np.minimum(1, odds / _quantile(odds, 1 - _SURE)) if len(odds) else odds


@compiled("text")
def runs_of_words(nodes: NodeTable, leaves: Ints, templateness: Floats) -> tuple[list[str], Floats]:
    """The texts of the runs of some leaves that share no word with another run, and (runs,) their largest templateness.

    Characters that no reader sees are left out.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    templateness : (m,) of each leaf
    """
    if not len(leaves):
        return [], np.zeros(0)
    starts = _starts(nodes, leaves)
    strings = list(map(nodes.strings.__getitem__, leaves.tolist()))
    texts = [without_invisible("".join(strings[i:k])) for i, k in pairwise((*starts.tolist(), len(strings)))]
    return texts, np.maximum.reduceat(templateness[leaves], starts)


def _quantile(values: Floats, share: float) -> float:
    """Interpolate linearly, as `np.quantile`, which takes many times as long."""
    place = share * (len(values) - 1)
    lower, upper = int(place), min(int(place) + 1, len(values) - 1)
    parted = np.partition(values, (lower, upper))
    return float(parted[lower] + (place - lower) * (parted[upper] - parted[lower]))


def _starts(nodes: NodeTable, leaves: Ints) -> Ints:
    """Numbers of the leaves before which a word cannot go on."""
    apart = (nodes.gap[leaves] > GLUED) | (np.diff(leaves, prepend=-2) > 1)
    if nodes.spaces:
        apart |= np.isin(leaves, [leaf for leaf, white in nodes.spaces.items() if white])
    return np.flatnonzero(apart)
