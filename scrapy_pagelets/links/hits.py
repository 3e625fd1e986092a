"""Hubs and authorities of a weighted graph."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from scrapy_pagelets.nodes import Floats

#: As in Kleinberg 1999; by then most graphs have come to rest.
ITERATIONS: Final = 50
_REST: Final = 1e-9


def hits(weights: Any, hub_weights: Any = None, *, iterations: int = ITERATIONS) -> tuple[Floats, Floats]:
    """HITS: good hubs point to good authorities, good authorities are pointed to by good hubs.

    Source: Kleinberg 1999; with weights, Chakrabarti et al. 1998 (Clever) and Bharat & Henzinger 1998.

    Parameters
    ----------
    weights : (k, n) of edges from hubs to authorities, 0 or more; sparse or dense
    hub_weights : (k, n) of the same edges where hubs are scored; by default the same
    iterations : at the most; it ends earlier once no score changes by 1e-9

    Returns
    -------
    (k,) hub and (n,) authority scores, each of Euclidean length 1, or zeros without an edge. With one matrix they are
    its principal singular vectors, where these are unique

    Raises
    ------
    ValueError : for iterations below 1

    Examples
    --------
    >>> hubs, authorities = hits(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]))
    >>> hubs.round(3).tolist(), authorities.round(3).tolist()
    ([0.851, 0.526], [0.526, 0.851, 0.0])
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}: give 1 or more")
    hub_weights = weights if hub_weights is None else hub_weights
    back = weights.T
    hubs, authorities = np.ones(weights.shape[0]), np.zeros(weights.shape[1])
    for _ in range(iterations):
        found = _unit(back @ hubs)
        hubs = _unit(hub_weights @ found)
        rest = bool(np.abs(found - authorities).max(initial=0.0) < _REST)
        authorities = found
        if rest:
            break
    return hubs, authorities


def _unit(values: Floats) -> Floats:
    """Scaled to length 1."""
    length = float(np.linalg.norm(values))
    return values / length if length > 0 else values
