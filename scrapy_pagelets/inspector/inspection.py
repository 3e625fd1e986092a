"""Find a page to inspect: on the web, in a file, an archive or a feed; decide it as its site or the feed does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from lxml import etree

from scrapy_pagelets.archives import reader
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.archives.unpacking import why_no_page
from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.characters import lazily, readable
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.decision.decision import Decision, decided
from scrapy_pagelets.feed.feed_reader import Feed, Line, content_text, pagelets_of_line
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.feed.pagelet import Pagelet, segment
from scrapy_pagelets.inspector.contents import Inspected
from scrapy_pagelets.inspector.reasons import Reasons
from scrapy_pagelets.metadata.metadata import Metadata
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.page.page import Page, decode
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.papers.methods import FUSED
from scrapy_pagelets.recrawl.version_store import parts
from scrapy_pagelets.sites.site_cache import SiteCache

_LEFT_OUT: Final = 1.0  # templateness of what is in no pagelet of the feed
_FEEDS: Final = (".jsonl", ".jl", ".jsonl.gz", ".jl.gz", ".parquet")
_COLUMNS: Final = ("title", "text", "template", "pagelets", "near_duplicate_of", "similarity")
_NAMED: Final = 5  # pages of a feed that a message names
_PIECE: Final = lazily(r"\s+|\S+")  # words and white space, so that a word is never divided
_MOST: Final = 20_000  # pieces of each text that are compared; the time grows with the square at worst


@dataclass(frozen=True, eq=False)
class PageSource:
    """A page to inspect."""

    url: str
    html: str | None = None  # its HTML; None if it has to be fetched
    resources: Resources | None = None  # its style sheets and pictures; None if they have to be fetched
    line: Line | None = None  # what a feed says of it
    twin: dict[str, Any] | None = None  # the page that it nearly repeats, see `compare_texts`


def source_of(
    name: str, limits: Limits, page: str | None = None, archive: str | None = None, base: str = ""
) -> PageSource:
    """Find a page by its address, its HTML file, or a feed and its URL, which a feed of one page does not need.

    ``archive``: HTML file, archive or folder with the page of the feed, and with the ``base`` of `reader.records`; None
    if it is still on the web. Raise ValueError if there is no such file or page; FeedError if a feed cannot be read.
    """
    is_address = name.startswith(("http://", "https://"))
    is_feed = name.lower().endswith(_FEEDS) and not is_address
    if not is_feed and (page or archive or base):
        raise ValueError("--page, --source and --base are for feeds, and it is none")
    if is_address:
        return PageSource(name)
    path = Path(name).absolute()
    if path.is_dir():
        raise ValueError("it is a folder: give one of its files, or the feed of a crawl")
    if not path.is_file():
        raise ValueError("there is no such file; an address begins with http:// or https://")
    if not is_feed:
        return _of_file(path, limits)
    source = _of_feed(name, page)
    return source if archive is None else _in_archive(source, archive, limits, base)


def _of_file(path: Path, limits: Limits) -> PageSource:
    body = path.read_bytes()
    if problem := why_no_page(body):
        raise ValueError(f"it {problem}")
    html = decode(body)
    limits.check(html)
    return PageSource(path.as_uri(), html, Resources([str(path.parent), str(Path.cwd())]))


def feed_of(name: str) -> Feed:
    """Open a feed with the fields that are shown."""
    return Feed(name, _COLUMNS, ("id", "text", "role", "templateness", "xpaths"), one_of=("pagelets", "text"))


def _of_feed(name: str, url: str | None) -> PageSource:
    line: Line | None = None
    others: list[str] = []
    for found in feed_of(name):
        if url in (None, found["url"]) and line is None:
            line = found
        elif len(others) < _NAMED:
            others.append(found["url"])
    if line is None:
        raise ValueError(f"the feed has no page {url}; it has {', '.join(others)}")
    if url is None and others:
        raise ValueError(f"the feed has several pages: choose one with --page, such as {line['url']}")
    twin = None
    if copied := line.get("near_duplicate_of"):
        lines = Feed(name, _COLUMNS, one_of=("pagelets", "text"))
        if other := next((found for found in lines if found["url"] == copied), None):
            twin = compare_texts(copied, content_text(line), content_text(other))
    return PageSource(line["url"], line=line, twin=twin)


def _in_archive(source: PageSource, archive: str, limits: Limits, base: str) -> PageSource:
    path = Path(archive)
    if path.is_file() and path.suffix.lower() in (".html", ".htm"):
        return replace(_of_file(path.absolute(), limits), url=source.url, line=source.line, twin=source.twin)
    sources = reader.expand(archive)
    for one in sources:
        for record in reader.records(one, base, log=reader.logger.debug):
            if record.url == source.url:
                html = decode(record.body, next(iter(record.headers.get("Content-Type", ())), None))
                limits.check(html)
                return replace(source, html=html, resources=Resources(sources, base))
    advice = "" if base else "; if the spider archive had a base, give it with --base"
    raise ValueError(f"{archive} has no page {source.url}{advice}")


def compare_texts(url: str, own: str, other: str) -> dict[str, Any]:
    """Divide the texts of a page and of its near-duplicate, whose URL is given, into equal and different parts."""
    one, two = (_PIECE.findall(text) for text in (own, other))
    found = parts(one[:_MOST], two[:_MOST], 2 * _MOST)
    listed = [["same" if a == b else "changed", "".join(a), "".join(b)] for a, b in found if a or b]
    return {"url": url, "parts": listed, "whole": max(len(one), len(two)) <= _MOST}


def by_site(page: Page, sites: SiteCache, options: RecordOptions, *, whole: bool) -> Inspected:
    """Inspect a page as its site decides. ``whole``: see `PageRecord.cut`."""
    reasons = _reasons(page, sites)
    site, others = reasons.site, reasons.site.pages - 1
    record = PageRecord(page, reasons.decision, options=options)
    alone = "Decided by this page alone: a crawl knows the other pages of the site."
    known = f"Decided with {counted(others, 'other page')} of {site.name} known." if others else alone
    return Inspected(record=record, pagelets=record.cut(whole=whole), decided_by=known, reasons=reasons.of)


def _reasons(page: Page, sites: SiteCache) -> Reasons:
    site = sites[page.site]
    by_method = sites.templateness(page)
    decision = decided(page, site, None if sites.detection == FUSED else by_method)
    return Reasons(page, site, by_method, decision)


def by_feed(page: Page, line: Line, sites: SiteCache, *, stored: bool) -> Inspected:
    """Inspect a page as the feed of a crawl has recorded it; sites that are ``stored`` know more than the page."""
    records = pagelets_of_line(line)
    found, lost = _place_pagelets(page, records)
    scripts = "" if page.source is None else ", or scripts change it (--no-scripts shows it without)"
    why = f"the page has changed since the crawl{scripts}"
    notes = [f"{lost} of the {len(records)} pagelets of the feed differ: {why}."] if lost else []
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
    records = pagelets_of_line(line)
    page, found = _page_of_feed(line, records)
    values = _templateness_of(page, found)
    nothing = np.zeros(len(values), np.int64)
    return Inspected(
        record=PageRecord(page, Decision(values, None, Metadata({}, nothing > 0), {}, nothing)),
        pagelets=found,
        decided_by=_decided_by(line),
        reasons=lambda index: [_as_recorded(values, index)],
        xpaths={record["id"]: record["xpaths"] for record in records},
    )


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
    """Find the pagelets of a feed on their page; return them, and the number of pagelets whose text has changed."""
    nodes = (page.source or page).nodes
    row_of = {nodes.xpath(row): row for row in range(len(nodes))}
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
    mask = nodes.leaves_below(rows)
    if page.source is None:
        return np.flatnonzero(mask)
    return np.flatnonzero((page.received >= 0) & np.append(mask, False)[page.received])


def _templateness_of(page: Page, pagelets: Sequence[Pagelet]) -> Floats:
    """(m,) templateness of each leaf: that of its pagelet; a leaf without a pagelet was left out as template."""
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
