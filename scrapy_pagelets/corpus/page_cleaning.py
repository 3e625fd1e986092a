"""Clean the pages of sites: the fields of the feed, and the rows of all tables that are made of pages."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, band_hashes, mix
from scrapy_pagelets.corpus.near_duplicates import LAST
from scrapy_pagelets.corpus.options import CorpusOptions
from scrapy_pagelets.corpus.row_groups import groups
from scrapy_pagelets.corpus.schemas import cleaned_schema, union
from scrapy_pagelets.corpus.site_learning import PageParser, counts_of, learn, rows_of
from scrapy_pagelets.decision.decision import Decision, decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.certainty import word_weights
from scrapy_pagelets.duplicates.shingles import shingles, tokens, weighted_shingles
from scrapy_pagelets.duplicates.sketch import banding, encode, minhash
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.evidence.site_counts import body_of
from scrapy_pagelets.feed.page_fields import PageContent, told
from scrapy_pagelets.feed.pagelet import Pagelet, pagelets_of
from scrapy_pagelets.page import text, urls
from scrapy_pagelets.page.limits import TooLarge
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.papers.detections import CLASSIFIER
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.papers.page_alone import page_level
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


def optional_fields(options: CorpusOptions) -> list[str]:
    """The optional fields of the feed that the options ask for."""
    return [name for name in options.formats if name != "text"] + (["chunks"] if options.chunks else [])


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
        schema = cleaned_schema(optional_fields(self._options))
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
                    yield union(rows, schema)
                    rows.clear()
            yield union(rows, schema)

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
            cleaned = CleanedPage(page or self._parse(row), site, self._options)
            made = cleaned.rows(row["page"], row["fetched_at"])
        except Exception as error:
            reason = f"it is too large: {error}" if isinstance(error, TooLarge) else f"{type(error).__name__}: {error}"
            made = {"failure": [{"page": row["page"], "url": row["url"], "reason": reason}]}
        for kind, some in made.items():
            rows[kind] += some


@dataclass(eq=False)
class CleanedPage:
    """A page with its pagelets, as the pipelines of a crawl make them of a page of a known site."""

    page: Page
    site: Site
    options: CorpusOptions

    @cached_property
    def decision(self) -> Decision:
        """What of the page is template."""
        if self.options.detection == CLASSIFIER:
            model = page_level.load(self.options.classifier)
            return decided(self.page, self.site, page_level.templateness(self.page, model))
        return decided(self.page, self.site)

    @property
    def templateness(self) -> Floats:
        """(m,) templateness of the leaves, 0 to 1."""
        return self.decision.templateness

    @property
    def keep(self) -> Bools:
        """(m,) whether each leaf is content."""
        return self.decision.content

    @cached_property
    def _left(self) -> PageContent:
        return PageContent(self.page, self.decision, self.options.switches)

    @cached_property
    def _labels(self) -> Ints:
        return labels_of(self.page, self.options.segmenter, self.templateness, **self.options.segmenter_options)

    @cached_property
    def pagelets(self) -> list[Pagelet]:
        """All pagelets, content apart from template."""
        return pagelets_of(self.page, self._labels, self.templateness)

    def rows(self, number: int, fetched_at: str) -> Rows:
        """The rows of all tables, by kind.

        Parameters
        ----------
        number : of the page
        """
        content, bands, sketch = self._content(number)
        records = [pagelet.record() for pagelet in self.pagelets]
        return {
            "page": [{"page": number, **self._feed(fetched_at, records), "sketch": sketch}],
            "pagelet": [{"page": number, "url": self.page.url, **record} for record in records],
            "link": self._links(number, records),
            "shingle": self._shingles(number),
            "origin": [self._origin(number)],
            "content": content,
            "band": bands,
        }

    def _feed(self, fetched_at: str, records: list[dict[str, Any]]) -> dict[str, Any]:
        options, left = self.options, self._left
        found = told(self.page, self.decision, fetched_at) | {name: left.form(name) for name in options.formats}
        if options.chunks:
            found["chunks"] = left.chunks(options.chunks, options.chunks_overlap, self.pagelets)
        template = left.template(self.site.page_class(self.page))
        return found | {"pagelets": self._exported(records), "template": template, "content_hash": left.hash}

    def _exported(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if self.options.export == "content":
            return [record for record in records if record["role"] == CONTENT]
        if self.options.segmenter.startswith("pagelets"):
            return records
        return [one.record() for one in pagelets_of(self.page, self._labels, self.templateness, whole=True)]

    def _links(self, number: int, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        links = [(record, link) for record in records for link in record["links"]]
        _, keys, _ = urls.targets_of("", [link["url"] for _, link in links])
        return [
            {
                "page": number,
                "url": self.page.url,
                "pagelet": record["id"],
                "role": record["role"],
                "target_url": link["url"],
                "anchor": link["anchor"],
                "key": key,
            }
            for (record, link), key in zip(links, keys.tolist(), strict=True)
        ]

    def _shingles(self, number: int) -> list[dict[str, Any]]:
        """The pagelets of the strict partition, large enough to be templates, by their shingles."""
        nodes = self.page.nodes
        pagelet = partition(nodes, STRICT_K, strict=True)
        exact = exact_shingles(self.page, pagelet)
        of_site = mix(exact ^ _hash(self.page.site)).tolist()
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

    def _origin(self, number: int) -> dict[str, Any]:
        page = self.page
        body = body_of(page)
        of_site = _hash(f"{body} {page.site}")
        return {"page": number, "url": page.url, "site": page.site, "key": page.key, "body": body,
                "body_of_site": of_site}  # fmt: skip

    def _content(self, number: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
        """Shingles, bands and sketch of the content; nothing if it has fewer words than a shingle.

        Pages that declare another one as the canonical page are compared after all others.
        """
        options, page = self.options, self.page
        number += LAST if page.is_declared_copy else 0
        if options.duplicates == "off":
            return [], [], None
        token = tokens(self._left.text)
        if len(token) < options.shingle:
            return [], [], None
        weights = None
        if options.within_sites:
            hashes = shingles(token, options.shingle)
        else:
            words = word_weights(page.nodes, self.keep, self.templateness)
            hashes, weights = weighted_shingles(token, words, options.shingle)
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
