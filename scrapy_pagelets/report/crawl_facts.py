"""What a feed does not tell of the crawl that wrote it: time, loaded pages, subdigraphs, the effect of rules."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

_RULE: Final = re.compile(r"pagelets/rules/(.+)/(keep|strip|headline|ignore_links)/(pages|words|links)")


@dataclass(frozen=True)
class CrawlFacts:
    """Facts of one crawl.

    Attributes
    ----------
    seconds : how long it took
    responses : number of responses that the spider and the search for templates received
    probed : number of pages among them that were loaded for a template
    loaded : their number by site
    computed : seconds of CPU time of what was computed beside the reactor, by step
    subdigraphs : the site, and the URLs of pages that all link to each other and have taught a template
    rules : by host pattern and action, how many ``pages``, and ``words`` or ``links``, a rule changed
    idle_rules : hosts and selectors of rules that had no effect at all
    """

    seconds: float
    responses: int
    probed: int
    loaded: Mapping[str, int]
    computed: Mapping[str, float]
    subdigraphs: list[tuple[str, list[str]]]
    rules: dict[tuple[str, str], dict[str, int]]
    idle_rules: list[str]

    @classmethod
    def of(
        cls,
        stats: Mapping[str, Any],
        *,
        loaded: Mapping[str, int],
        computed: Mapping[str, float],
        subdigraphs: list[tuple[str, list[str]]],
        idle_rules: list[str],
    ) -> Self:
        """The facts by the stats of a crawl that has ended; see the attributes for the rest."""
        rules: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for name, value in stats.items():
            if found := _RULE.fullmatch(name):
                rules[found[1], found[2]][found[3]] = value
        return cls(
            float(stats.get("elapsed_time_seconds", 0.0)),
            stats.get("response_received_count", 0),
            stats.get("pagelets/probe/loaded", 0),
            loaded,
            computed,
            subdigraphs,
            dict(rules),
            idle_rules,
        )
