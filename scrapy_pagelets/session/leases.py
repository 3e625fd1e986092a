"""The requests of a shared crawl that this process works on, and when each of them is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from scrapy.http import Response

#: Request meta: the lease of the request in a shared crawl.
LEASE: Final = "_pagelets_lease"


class Leases:
    """Know when a request is done: its callback has yielded everything, and all its items are written.

    The engine holds a request until its callback has yielded everything and its items have left the pipelines. Whoever
    takes an item out of the scraper to process it later holds its request too (`hold`, `let_go`). The request is done
    when nobody holds it any more. Without a shared crawl, requests have no lease, and nothing happens. All methods are
    called in the reactor.

    Attributes
    ----------
    done : leases of the requests that are done, until somebody has taken note of them
    changed : called when a request is done
    failed : called with the error when a request is abandoned
    """

    def __init__(self) -> None:
        self.done: set[str] = set()
        self.changed: Callable[[], None] = lambda: None
        self.failed: Callable[[Exception], None] = lambda _: None
        self._abandoned: set[str] = set()
        self._in_engine: set[str] = set()
        self._holds: Counter[str] = Counter()

    def __contains__(self, lease: str) -> bool:
        return lease in self._in_engine or lease in self._holds or lease in self.done

    def begin(self, lease: str) -> None:
        """Note that the engine has got a request."""
        self._in_engine.add(lease)

    def end(self, lease: str) -> None:
        """Note that the engine is through with a request."""
        self._in_engine.discard(lease)
        self._check(lease)

    def hold(self, lease: str | None) -> None:
        """Hold a request whose item waits; a request without a lease is ignored."""
        if lease is not None:
            self._holds[lease] += 1

    def let_go(self, lease: str | None) -> None:
        """Let go of a request whose item is written, or dropped."""
        if lease is not None:
            self._holds[lease] -= 1
            if self._holds[lease] <= 0:
                del self._holds[lease]
            self._check(lease)

    def abandon(self, lease: str | None, error: Exception) -> None:
        """Give up a request that cannot be finished here: it is never done, and goes to another process."""
        if lease is not None:
            self._abandoned.add(lease)
        self.failed(error)

    def _check(self, lease: str) -> None:
        if lease not in self._in_engine and lease not in self._holds and lease not in self._abandoned:
            self.done.add(lease)
            self.changed()

    @property
    def waiting(self) -> list[str]:
        """Leases of the requests of which only items are left, which wait."""
        return [lease for lease in self._holds if lease not in self._in_engine]

    @property
    def all(self) -> list[str]:
        """Leases of the requests that are not done."""
        return list(self._in_engine | self._holds.keys())

    @property
    def busy(self) -> bool:
        """True if the engine has a request."""
        return bool(self._in_engine)


def lease_of(response: Response) -> str | None:
    """Return the lease of the request of a response, None without one."""
    return None if response.request is None else response.request.meta.get(LEASE)
