"""Inspect a page: cut it into pagelets, as its site or the feed of a crawl decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.decision.decision import Decision, decided
from scrapy_pagelets.decision.model import load
from scrapy_pagelets.feed.feed_reader import Line, pagelets
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.feed.pagelet import Pagelet, segment
from scrapy_pagelets.inspector.contents import Inspected
from scrapy_pagelets.inspector.reasons import Reasons
from scrapy_pagelets.metadata.metadata import Metadata
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.papers.detections import FUSED
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore

#: Templateness of what is in no pagelet of the feed.
_LEFT_OUT: Final = 1.0


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


def by_feed(page: Page, line: Line, sites: SiteCache, *, stored: bool) -> Inspected:
    """Inspect a page as the feed of a crawl has recorded it.

    Parameters
    ----------
    page : the page, from an archive or fetched again
    stored : whether the sites are those of a store, so that they can tell more than the page
    """
    records = pagelets(line)
    found, lost = _place_pagelets(page, records)
    notes = [f"{lost} of the {len(records)} pagelets of the feed differ: {_why_lost(page)}."] if lost else []
    if all(pagelet.role == CONTENT for pagelet in found):
        found += _left_out(page, found)
    values = _templateness_of(page, found)
    known = _reasons(page, sites)

    def reasons(index: Ints) -> list[str]:
        return [_as_recorded(values, index), *(known.witnesses(index) if stored else known.by_classifier(index))]

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
    page, found = _page_of_feed(line, records)
    values = _templateness_of(page, found)
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


def _place_pagelets(page: Page, records: Sequence[Mapping[str, Any]]) -> tuple[list[Pagelet], int]:
    """The pagelets of a feed on the page that they come from, and the number of those whose text is no longer there.

    Parameters
    ----------
    records : pagelets of the feed
    """
    row_of = {(page.source or page).nodes.xpath(row): row for row in range(len((page.source or page).nodes))}
    found, lost = [], 0
    for record in records:
        index = _leaves(page, [row_of[path] for path in map(str, record["xpaths"]) if path in row_of])
        if not len(index):
            lost += 1
            continue
        pagelet = Pagelet(page, record["id"], index, float(record["templateness"]), str(record["role"]))
        lost += "".join(pagelet.text.split()) != "".join(str(record["text"]).split())
        found.append(pagelet)
    return found, lost


def _leaves(page: Page, rows: Sequence[int]) -> Ints:
    """The leaves of a page below some rows of the page as received."""
    nodes = (page.source or page).nodes
    mask = np.zeros(len(nodes.leaves), np.bool_)
    for row in rows:
        mask[nodes.first_leaf[row] : nodes.last_leaf[row]] = True
    if page.source is None:
        return np.flatnonzero(mask)
    return np.flatnonzero((page.received >= 0) & np.append(mask, False)[page.received])


def _templateness_of(page: Page, pagelets: Sequence[Pagelet]) -> Floats:
    """(m,) templateness of each leaf as its pagelet has it; what is in none of them was left out as template."""
    found = np.full(len(page.nodes.leaves), _LEFT_OUT)
    for pagelet in pagelets:
        found[pagelet.index] = pagelet.templateness
    return found


def _page_of_feed(line: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> tuple[Page, list[Pagelet]]:
    """A page made from the feed alone, for a page that is gone: its pagelets as blocks of text."""
    root = etree.Element("html")
    title = etree.SubElement(etree.SubElement(root, "head"), "title")
    title.text = readable(str(line.get("title") or line["url"]))
    body = etree.SubElement(root, "body")
    kept = [record for record in records if str(record["text"]).strip()]
    for record in kept:
        etree.SubElement(body, "pre").text = readable(str(record["text"]))
    page = Page.from_root(root, str(line["url"]))
    return page, [
        Pagelet(page, record["id"], np.array([number]), float(record["templateness"]), str(record["role"]))
        for number, record in enumerate(kept)
    ]
