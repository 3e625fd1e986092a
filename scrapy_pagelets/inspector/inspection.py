"""Inspect a page: cut it into pagelets, as its site or the feed of a crawl decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.decision import Decision, decided
from scrapy_pagelets.decision.model import load
from scrapy_pagelets.feed.feed_reader import Line, pagelets
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.feed.pagelet import Pagelet, segment
from scrapy_pagelets.inspector.contents import Inspected
from scrapy_pagelets.inspector.reasons import Reasons
from scrapy_pagelets.inspector.recorded import as_page, placed, templateness_of
from scrapy_pagelets.metadata.metadata import Metadata
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.papers.detections import FUSED
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore


def known_sites(page: Page, store: str, model: str, detection: str, strict: float, classifier: str) -> SiteCache:
    """The sites as a crawl with a store has left them, and the page itself as one of the pages of its site.

    Parameters
    ----------
    store : folder of the store; "" for none: the page alone is known
    model, detection, strict, classifier : see `SiteCache`
    """
    kept = SiteStore(Path(store) if store else None, load(model))
    sites = SiteCache(kept, model, detection=detection, strict=strict, classifier=classifier)
    sites.learn(page)
    return sites


def by_site(page: Page, sites: SiteCache, options: RecordOptions, *, whole: bool) -> Inspected:
    """Inspect a page as its site decides.

    Parameters
    ----------
    whole : see `PageRecord.cut`
    """
    reasons = _reasons(page, sites)
    site, others = reasons.site, reasons.site.pages - 1
    record = PageRecord(page, reasons.decision, options=options)
    return Inspected(
        record=record,
        pagelets=record.cut(whole=whole),
        decided_by=f"Decided with {others} other page{'s' * (others != 1)} of {site.name} known."
        if others
        else "Decided by this page alone: a crawl knows the other pages of the site.",
        reasons=reasons.of,
    )


def _reasons(page: Page, sites: SiteCache) -> Reasons:
    site = sites.of(page)
    by_method = sites.templateness(page)
    decision = decided(page, site, None if sites.detection == FUSED else by_method)
    return Reasons(page, site, by_method, decision)


def by_feed(page: Page, line: Line, sites: SiteCache, *, told: bool) -> Inspected:
    """Inspect a page as the feed of a crawl has recorded it.

    Parameters
    ----------
    page : the page, from an archive or fetched again
    told : whether the sites are those of a store, so that they can tell more than the page
    """
    records = pagelets(line)
    found, lost = placed(page, records)
    notes = [f"{lost} of the {len(records)} pagelets of the feed differ: {_why_lost(page)}."] if lost else []
    if all(pagelet.role == CONTENT for pagelet in found):
        found += _left_out(page, found)
    values = templateness_of(page, found)
    known = _reasons(page, sites)

    def reasons(index: Ints) -> list[str]:
        return [_as_recorded(values, index), *(known.witnesses(index) if told else known.by_classifier(index))]

    return Inspected(
        record=PageRecord(page, replace(known.decision, templateness=values)),
        pagelets=sorted(found, key=lambda pagelet: pagelet.id),
        decided_by=_decided_by(line),
        reasons=reasons,
        notes=notes,
    )


def from_feed(line: Line) -> Inspected:
    """Inspect what a feed has of a page that is gone."""
    records = pagelets(line)
    page, found = as_page(line, records)
    values = templateness_of(page, found)
    return Inspected(
        record=PageRecord(page, Decision(values, None, Metadata({}, np.zeros(len(values), np.bool_)), {})),
        pagelets=found,
        decided_by=_decided_by(line),
        reasons=lambda index: [_as_recorded(values, index)],
        xpaths={record["id"]: record["xpaths"] for record in records},
    )


def _why_lost(page: Page) -> str:
    changed = "the page has changed since the crawl"
    return changed if page.source is None else f"{changed}, or scripts change it (--no-scripts shows it without)"


def _left_out(page: Page, found: Sequence[Pagelet]) -> list[Pagelet]:
    """What is in no pagelet of a feed that has content only, as pagelets of the template."""
    outside = np.ones(len(page.nodes.leaves))
    for pagelet in found:
        outside[pagelet.index] = 0
    first = max((pagelet.id for pagelet in found), default=-1) + 1
    rest = [pagelet for pagelet in segment(page, outside) if pagelet.role != CONTENT]
    return [replace(pagelet, id=first + number) for number, pagelet in enumerate(rest)]


def _decided_by(line: Line) -> str:
    template = line.get("template") or {}
    known = f", with {template['pages']} pages like it known (class {template['id']})" if template.get("pages") else ""
    return f"Decided by the crawl that wrote the feed{known}."


def _as_recorded(values: Floats, index: Ints) -> str:
    return f"In the feed its templateness is {float(values[index].mean()):.2f}. From 0.50 on it is template."
