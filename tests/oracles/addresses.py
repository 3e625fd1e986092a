"""The addresses of links, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urljoin

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import quoted
from scrapy_pagelets.page.urls import (
    _ABSOLUTE,
    LONGEST,
    ROOM,
    _relevant_base,
    cost_of,
    host_of,
    is_page_of_host,
    resolve,
)


def targets_of(base: str, hrefs: Sequence[str]) -> tuple[list[str], NDArray[np.int64], int]:
    """See `core.urls.targets_of`."""
    targets, keys, left, beyond = [""] * len(hrefs), np.zeros(len(hrefs), np.int64), ROOM, 0
    for i, href in enumerate(hrefs):
        left -= cost_of(href)
        if left > 0:
            keys[i], targets[i] = resolve(base, href)
            left -= len(targets[i])
        else:
            beyond += 1
    return targets, keys, beyond


def absolute(base: str, href: str) -> str:
    """See `core.urls.absolute`."""
    href = href.strip()
    if _ABSOLUTE.match(href):
        return href
    join = _join if len(href) <= LONGEST else urljoin  # a cache of longer ones would take megabytes
    return join(_relevant_base(base, href), href)


def written_addresses(base: str, hrefs: Sequence[str]) -> list[str]:
    """See `core.urls.written_addresses`."""
    return [quoted(absolute(base, href)) for href in hrefs]


_join = cached(urljoin)


def pages_of_host(targets: Sequence[str], url: str) -> list[int]:
    """See `core.urls.pages_of_host`."""
    host = host_of(url).removeprefix("www.")
    return [i for i, target in enumerate(targets) if target and is_page_of_host(target, host)]
