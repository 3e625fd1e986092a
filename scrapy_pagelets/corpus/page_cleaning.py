"""Clean the pages of sites: the records of the feed, and the rows of all tables that are made of pages."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.hashing import band_hashes, mix
from scrapy_pagelets.corpus.engines import cleaned_schema, groups, rows_of, union_rows
from scrapy_pagelets.corpus.inputs import CorpusOptions
from scrapy_pagelets.corpus.site_learning import PageParser, counts_of, learn
from scrapy_pagelets.corpus.statements import LAST
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.shingles import SIZE, shingles, weighted_shingles, word_hashes, word_weights
from scrapy_pagelets.duplicates.sketch import banding, encode, minhash
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.evidence.site_counts import body_of
from scrapy_pagelets.feed.feed_schema import PAGE, SEGMENT, STRIP
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.page import text, urls
from scrapy_pagelets.page.limits import TooLarge
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers import page_level
from scrapy_pagelets.papers.detections import CLASSIFIER
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import exact_shingles

logger = logging.getLogger(__name__)

#: The first pages of a site, up to this number of bytes, stay in memory between learning and cleaning; others are
#: parsed twice. A page takes some thirty times its bytes.
_KEPT: Final = 8 << 20
#: Pages whose rows are in memory at the same time.
_BLOCK: Final = 50
#: Characters of the text of a pagelet that TEMPLATES shows.
_SHOWN: Final = 200

Rows = dict[str, list[dict[str, Any]]]


class CleanSites:
    """Clean the pages of sites, or of chunks of large sites; the rows are sorted by site, chunk and page.

    A group whose first row has ``counts`` is a chunk of a large site, which was learnt before. The pages of other
    groups are a whole site, and are learnt first.
    """

    def __init__(self, options: CorpusOptions) -> None:
        self._options = options
        self._parse = PageParser(options)

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield tables of `cleaned_schema`."""
        schema = cleaned_schema(self._options)
        for group in groups(table, ("site", "chunk")):
            rows: Rows = defaultdict(list)
            site = Site(group["site"][0].as_py(), self._options.model, self._options.strict)
            pages: dict[int, Page] = {}
            if (counts := group["counts"][0].as_py()) is not None:
                site.learnt = counts_of(site.name, counts)
            else:
                learn(site, self._pages(group, pages))
            for number, row in enumerate(rows_of(group), 1):
                self._clean(row, pages.pop(row["page"], None), site, rows)
                if number % _BLOCK == 0:
                    yield union_rows(rows, schema)
                    rows.clear()
            yield union_rows(rows, schema)

    def _pages(self, group: pa.Table, kept: dict[int, Page]) -> Iterator[Page]:
        """Parse the pages of a group, and keep the first ones; a failure is reported when they are cleaned."""
        room = _KEPT
        for row in rows_of(group):
            try:
                page = self._parse(row)
            except Exception:
                continue
            room -= len(row["body"])
            if room >= 0:
                kept[row["page"]] = page
            yield page

    def _clean(self, row: dict[str, Any], page: Page | None, site: Site, rows: Rows) -> None:
        try:
            record = record_of(page or self._parse(row), site, row["fetched_at"], self._options)
            made = rows_of_record(record, row["page"], self._options)
        except Exception as error:
            reason = f"it is too large: {error}" if isinstance(error, TooLarge) else f"{type(error).__name__}: {error}"
            made = {"failure": [{"page": row["page"], "url": row["url"], "reason": reason}]}
        for kind, some in made.items():
            rows[kind] += some


def record_of(page: Page, site: Site, fetched_at: str, options: CorpusOptions) -> PageRecord:
    """Decide what of a page of a known site is template."""
    by_method = None
    if options.detection == CLASSIFIER:
        by_method = page_level.templateness(page, page_level.load(options.classifier))
    return PageRecord(page, decided(page, site, by_method), site.page_class(page), fetched_at, options)


def rows_of_record(record: PageRecord, number: int, options: CorpusOptions) -> Rows:
    """The rows of all tables that are made of a page, by kind.

    Parameters
    ----------
    number : of the page
    """
    content, bands, sketch = _content(record, number, options)
    pagelets = {pagelet: pagelet.record() for pagelet in record.cut()}
    exported = [pagelets.get(pagelet) or pagelet.record() for pagelet in record.exported]
    page = record.values(PAGE, SEGMENT, STRIP, pagelets=exported)
    return {
        "page": [{"page": number, **page, "sketch": sketch}],
        "pagelet": [{"page": number, "url": record.page.url, **pagelet} for pagelet in pagelets.values()],
        "link": _links(record.page, number, list(pagelets.values())),
        "shingle": _shingles(record.page, number),
        "origin": [_origin(record.page, number)],
        "content": content,
        "band": bands,
    }


def _links(page: Page, number: int, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    links = [(record, link) for record in records for link in record["links"]]
    _, keys, _ = urls.targets_of("", [link["url"] for _, link in links])
    return [
        {
            "page": number,
            "url": page.url,
            "pagelet": record["id"],
            "role": record["role"],
            "target_url": link["url"],
            "anchor": link["anchor"],
            "key": key,
        }
        for (record, link), key in zip(links, keys.tolist(), strict=True)
    ]


def _shingles(page: Page, number: int) -> list[dict[str, Any]]:
    """The pagelets of the strict partition, large enough to be templates, by their shingles."""
    nodes = page.nodes
    pagelet = partition(nodes, STRICT_K, strict=True)
    exact = exact_shingles(page, pagelet)
    of_site = mix(exact ^ _hash(page.site)).tolist()
    leaves = np.split(np.argsort(pagelet, kind="stable"), np.cumsum(np.bincount(pagelet))[:-1])
    return [
        {
            "page": number,
            "pagelet": place,
            "shingle": shingle,
            "of_site": of_site[place],
            "text": text.text_of(nodes, leaves[place])[:_SHOWN],
        }
        for place, shingle in enumerate(exact.tolist())
        if shingle
    ]


def _origin(page: Page, number: int) -> dict[str, Any]:
    body = body_of(page)
    of_site = _hash(f"{body} {page.site}")
    return {"page": number, "url": page.url, "site": page.site, "key": page.key, "body": body,
            "body_of_site": of_site}  # fmt: skip


def _content(
    record: PageRecord, number: int, options: CorpusOptions
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
    """Shingles, bands and sketch of the content; nothing if it has fewer words than a shingle.

    Pages that declare another one as the canonical page are compared after all others.
    """
    page = record.page
    number += LAST if page.is_declared_copy else 0
    if options.duplicates == "off":
        return [], [], None
    token = word_hashes(record.text)
    if len(token) < SIZE:
        return [], [], None
    weights = None
    if options.within_sites:
        hashes = shingles(token)
    else:
        words = word_weights(page.nodes, record.decision.content, record.decision.templateness)
        hashes, weights = weighted_shingles(token, words)
    sketch = minhash(hashes)
    site = _hash(page.site)
    scope = site if options.within_sites else 0
    least = options.threshold.within if options.within_sites else options.threshold.least
    exact = int(mix(np.array([xxh3_64_intdigest(token.tobytes()) >> 1 ^ scope]))[0])
    content = {
        "page": number,
        "url": page.url,
        "site": site,
        "address": urls.key(page.canonical_url) ^ scope,
        "exact": exact,
        "shingles": hashes.tobytes(),
        "weights": None if weights is None else weights.tobytes(),
    }
    bands = [{"page": number, "key": key} for key in _bands(sketch, least, scope).tolist()]
    return [content], bands, encode(sketch)


def _bands(sketch: Any, threshold: float, scope: int) -> Ints:
    """(bands,) keys of 64 bits: with the 32 bits of a crawl's index, many of a billion pages would share one."""
    bands, rows = banding(threshold)
    start = np.arange(bands)[None, :] + mix(np.array([scope]))[:, None]
    keys: Ints = band_hashes(sketch[None], bands, rows, start)[0]
    return keys


def _hash(name: str) -> int:
    return xxh3_64_intdigest(name.encode("utf-8", "replace")) >> 1
