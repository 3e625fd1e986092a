"""Learn sites, or parts of large sites, from tables of raw pages, and make the rows of all tables of their pages."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import band_hashes, mix
from scrapy_pagelets.corpus.engines import COUNTS, cleaned_schema, groups, rows_of, union_rows
from scrapy_pagelets.corpus.inputs import CorpusOptions
from scrapy_pagelets.corpus.statements import LAST
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.content_store import PageText, prepare
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.duplicates.sketch import banding, encode
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.evidence.site_counts import SiteCounts, body_of
from scrapy_pagelets.feed.feed_schema import PAGE, SEGMENT, STRIP
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.feed.pagelet import records_of
from scrapy_pagelets.page import text, urls
from scrapy_pagelets.page.data_text import with_data
from scrapy_pagelets.page.limits import TooLarge
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers import page_level
from scrapy_pagelets.papers.methods import CLASSIFIER
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import shingles
from scrapy_pagelets.rules.host_rules import Rules, read
from scrapy_pagelets.rules.robots import NOINDEX, OBEY, marked
from scrapy_pagelets.sites.site_store import pack, unpack

#: The first pages of a site, up to this number of bytes, stay in memory between learning and cleaning; others are
#: parsed twice. A page takes some thirty times its bytes.
_KEPT: Final = 8 << 20
_BLOCK: Final = 50  # pages whose rows are in memory at the same time
_SHOWN: Final = 200  # characters of the text of a pagelet that TEMPLATES shows
_NOT_TO_BE_INDEXED: Final = "it asks not to be indexed, and PAGELETS_ROBOTS is obey"
Rows = dict[str, list[dict[str, Any]]]


def clean_sites(table: pa.Table, options: CorpusOptions) -> Iterator[pa.Table]:
    """Clean the pages of sites, or of chunks of large sites; yield tables of `cleaned_schema`.

    Rows are sorted by site, chunk and page. A group whose first row has ``counts`` is a chunk of a large site that was
    learnt before; others are a whole site, which is learnt first.
    """
    schema = cleaned_schema(options)
    for group in groups(table, ("site", "chunk")):
        rows: Rows = defaultdict(list)
        site = Site(group["site"][0].as_py(), options.model, options.strict)
        pages: dict[int, Page] = {}
        if (counts := group["counts"][0].as_py()) is not None:
            site.learnt = SiteCounts.from_arrays(site.name, unpack(counts))
        else:
            learn(site, _pages(group, options, pages))
        for number, row in enumerate(rows_of(group), 1):
            for kind, some in _clean(row, pages.pop(row["page"], None), site, options).items():
                rows[kind] += some
            if number % _BLOCK == 0:
                yield union_rows(rows, schema)
                rows.clear()
        yield union_rows(rows, schema)


def _pages(group: pa.Table, options: CorpusOptions, kept: dict[int, Page] | None = None) -> Iterator[Page]:
    """Parse the pages of a group, and keep the first ones; a failure is reported when they are cleaned."""
    room = _KEPT
    for row in rows_of(group):
        try:
            page = parse(row, options)
        except Exception:
            continue
        room -= len(row["body"])
        if kept is not None and room >= 0:
            kept[row["page"]] = page
        yield page


def _clean(row: dict[str, Any], page: Page | None, site: Site, options: CorpusOptions) -> Rows:
    try:
        page = page or parse(row, options)
        if options.robots != OBEY or NOINDEX not in page.marks.robots:
            return rows_of_record(record_of(page, site, row["fetched_at"], options), row["page"], options)
        reason = _NOT_TO_BE_INDEXED
    except Exception as error:
        reason = f"it is too large: {error}" if isinstance(error, TooLarge) else f"{type(error).__name__}: {error}"
    return {"failure": [{"page": row["page"], "url": row["url"], "reason": reason}]}


def record_of(page: Page, site: Site, fetched_at: str, options: CorpusOptions) -> PageRecord:
    """Decide what of a page of a known site is template."""
    by_method = None
    if options.detection == CLASSIFIER:
        by_method = page_level.templateness(page, page_level.load(options.classifier))
    return PageRecord(page, decided(page, site, by_method, options.keep), site.page_class(page), fetched_at, options)


def rows_of_record(record: PageRecord, number: int, options: CorpusOptions) -> Rows:
    """The rows of all tables that are made of a page, by kind."""
    content, bands, sketch = _content(record, number, options)
    pagelets = dict(zip(record.cut(), records_of(record.cut()), strict=True))
    exported = [pagelets.get(pagelet) or pagelet.record() for pagelet in record.exported]
    values, page, body = record.values(PAGE, SEGMENT, STRIP, pagelets=exported), record.page, body_of(record.page)
    hashes = {"key": page.key, "body": body, "body_of_site": _hash(f"{body} {page.site}")}
    return {
        "page": [{"page": number, **values, "sketch": sketch}],
        "pagelet": [{"page": number, "url": page.url, **pagelet} for pagelet in pagelets.values()],
        "link": _links(page, number, list(pagelets.values())),
        "shingle": _shingles(page, number),
        "origin": [{"page": number, "url": page.url, "site": page.site, **hashes}],
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
    found = shingles(page, pagelet, sketch=False)
    exact = np.where(found.candidates, found.exact, 0)
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


def _content(
    record: PageRecord, number: int, options: CorpusOptions
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
    """Shingles, bands and sketch of the content, nothing if it is shorter than a shingle; declared copies come last."""
    page, within, weights = record.page, options.within_sites, None
    if options.duplicates == "off":
        return [], [], None
    if not within:
        weights = word_weights(page.nodes, record.decision.content, record.decision.templateness)
    compared = PageText(page.url, record.text, urls.key(page.canonical_url), page.site, weights)
    if (made := prepare(compared, within_sites=within)) is None:
        return [], [], None
    number += LAST if page.is_declared_copy else 0
    content = {
        "page": number,
        "url": page.url,
        "site": made.site,
        "address": made.address ^ made.scope,
        "exact": int(mix(np.array([made.exact ^ made.scope]))[0]),
        "shingles": made.shingles.tobytes(),
        "weights": None if made.weights is None else made.weights.tobytes(),
    }
    # Keys of 64 bits: with the 32 bits of a crawl's index, many of a billion pages would share a key.
    bands, rows = banding(options.threshold.within if within else options.threshold.least)
    start = np.arange(bands)[None, :] + mix(np.array([made.scope]))[:, None]
    keys = band_hashes(made.sketch[None], bands, rows, start)[0].tolist()
    return [content], [{"page": number, "key": key} for key in keys], encode(made.sketch)


def _hash(name: str) -> int:
    return xxh3_64_intdigest(name.encode("utf-8", "replace")) >> 1


def parse(row: dict[str, Any], options: CorpusOptions) -> Page:
    """Parse a row of ``RAW``, marked by the rules and by what it asks of robots; TooLarge beyond the limits."""
    content_type, link = row["content_type"], row["link"] or ""
    page = with_data(Page.parse(row["body"], row["url"], content_type, options.limits, link))
    page = _rules(options.rules, options.started).mark(page)
    return marked(page, row["body"], row["robots"] or "", obey=options.robots == OBEY)


@lru_cache(1)
def _rules(path: str, started: str) -> Rules:  # noqa: ARG001 - another job reads them anew
    """The rules of the user, which are read in the process that needs them."""
    return read(path) if path else Rules()


def learn(site: Site, pages: Iterable[Page]) -> None:
    """Count pages with their site, each URL and each text once, as `Site.learn` does; no template tree is made."""
    for page in pages:
        if page.key not in site.learnt.seen:
            site.count(page, site.model.page_evidence(page).odds)


def learn_parts(table: pa.Table, options: CorpusOptions) -> Iterator[pa.Table]:
    """Learn each part of a site, from rows by site, part and page; yield a table of ``COUNTS`` for each part."""
    for part in groups(table, ("site", "part")):
        site = Site(part["site"][0].as_py(), options.model)
        learn(site, _pages(part, options))
        counts = {"site": site.name, "part": part["part"][0].as_py(), "counts": pack(site.arrays())}
        yield pa.Table.from_pylist([counts], COUNTS)


def merge_parts(table: pa.Table) -> Iterator[pa.Table]:
    """Add up the counts of each site, from rows by site and part; yield a table of ``COUNTS`` for each site."""
    for parts in groups(table, ("site",)):
        name = parts["site"][0].as_py()
        whole, *others = (SiteCounts.from_arrays(name, unpack(content.as_py())) for content in parts["counts"])
        for part in others:
            whole.merge(part)
        yield pa.Table.from_pylist([{"site": name, "part": 0, "counts": pack(whole.arrays())}], COUNTS)
