"""Hubs and authorities of a weighted graph."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats

#: As in Kleinberg 1999; most graphs converge earlier.
ITERATIONS: Final = 50
_TOLERANCE: Final = 1e-9


def hits(weights: Any, hub_weights: Any = None, *, iterations: int = ITERATIONS) -> tuple[Floats, Floats]:
    """HITS: good hubs link to good authorities, and good authorities are linked to by good hubs.

    Source: Kleinberg 1999; with weights, Chakrabarti et al. 1998 (Clever) and Bharat & Henzinger 1998.

    Parameters
    ----------
    weights : (k, n) weights of the edges from hubs to authorities, 0 or more; sparse or dense
    hub_weights : (k, n) weights of the same edges for scoring hubs; ``weights`` by default
    iterations : the maximum; iteration stops earlier once no score changes by 1e-9 or more

    Returns
    -------
    (k,) hub and (n,) authority scores, each of Euclidean length 1, or zeros if there is no edge. With one matrix they
    are its principal singular vectors, if these are unique

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
        updated = _unit(back @ hubs)
        hubs = _unit(hub_weights @ updated)
        converged = bool(np.abs(updated - authorities).max(initial=0.0) < _TOLERANCE)
        authorities = updated
        if converged:
            break
    return hubs, authorities


def _unit(values: Floats) -> Floats:
    """Scale a vector to length 1; zeros stay zeros."""
    length = float(np.linalg.norm(values))
    return values / length if length > 0 else values
