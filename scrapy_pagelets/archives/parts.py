"""Cut an archive into parts that can be cleaned one after the other."""

from __future__ import annotations

from collections.abc import Sequence


def parts(sites: Sequence[str]) -> list[int]:
    """Return the numbers of pages of the smallest parts of an archive of which no two have pages of one site.

    An archive whose sites follow each other has a part for each; one whose sites alternate is a single part.

    Parameters
    ----------
    sites : the site of each page, in the order of the archive

    Examples
    --------
    >>> parts(["a", "a", "b", "c", "b", "d"])
    [2, 3, 1]
    """
    last = {site: number for number, site in enumerate(sites)}
    found, start, end = [], 0, 0
    for number, site in enumerate(sites):
        end = max(end, last[site])
        if number == end:
            found.append(end + 1 - start)
            start = end + 1
    return found
