"""Learn sites, or parts of large sites, from tables of raw pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from scrapy_pagelets.corpus.merged_counts import merged
from scrapy_pagelets.corpus.options import CorpusOptions
from scrapy_pagelets.corpus.row_groups import groups
from scrapy_pagelets.corpus.schemas import COUNTS
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.rules.host_rules import Rules
from scrapy_pagelets.rules.rules_file import read
from scrapy_pagelets.sites.site_store import pack, unpack


class PageParser:
    """Parse raw pages, and mark what the rules of the user name; the rules are read in the process that needs them."""

    def __init__(self, options: CorpusOptions) -> None:
        self._limits = options.limits
        self._path = options.rules
        self._rules: Rules | None = None

    def __call__(self, row: dict[str, Any]) -> Page:
        """Parse a row of the schema ``RAW``.

        Raises
        ------
        TooLarge : if the page exceeds the limits
        """
        if self._rules is None:
            self._rules = read(self._path) if self._path else Rules()
        return self._rules.mark(Page.parse(row["body"], row["url"], row["content_type"], self._limits))


def learn(site: Site, pages: Iterable[Page]) -> None:
    """Count pages with their site, each URL and each text once, as `Site.learn` does; no template tree is made."""
    for page in pages:
        if page.key not in site.learnt.seen:
            site.count(page, site.model.page_evidence(page).odds)


class LearnParts:
    """Learn the pages of each part of a site; the rows are sorted by site, part and page."""

    def __init__(self, options: CorpusOptions) -> None:
        self._options = options
        self._parse = PageParser(options)

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield a table of the schema ``COUNTS`` for each part."""
        for part in groups(table, ("site", "part")):
            name, number = part["site"][0].as_py(), part["part"][0].as_py()
            site = Site(name, self._options.model)
            learn(site, self._pages(part))
            yield pa.Table.from_pylist([{"site": name, "part": number, "counts": pack(site.arrays())}], COUNTS)

    def _pages(self, part: pa.Table) -> Iterator[Page]:
        for row in rows_of(part):
            try:
                yield self._parse(row)
            except Exception:  # reported when the page is cleaned
                continue


class MergeParts:
    """Add up the counts of the parts of each site; the rows are sorted by site and part."""

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield a table of the schema ``COUNTS`` for each site."""
        for parts in groups(table, ("site",)):
            name = parts["site"][0].as_py()
            counts = merged(name, [counts_of(name, content.as_py()) for content in parts["counts"]])
            yield pa.Table.from_pylist([{"site": name, "part": 0, "counts": pack(counts.arrays())}], COUNTS)


def counts_of(name: str, content: bytes) -> SiteCounts:
    """Restore the counts of a site."""
    return SiteCounts.from_arrays(name, unpack(content))


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, made one batch at a time."""
    for batch in table.to_batches(32):
        yield from batch.to_pylist()
