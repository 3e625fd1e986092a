"""Write the report as one HTML file that loads and runs nothing."""

from __future__ import annotations

import io
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import accumulate, pairwise
from string import Template
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from scrapy_pagelets.base.characters import lazily, visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.report.summary import Class, SiteSummary, Summary, Totals

_SITES: Final = 200  # sites that are shown
_OPENED: Final = 50  # sites whose classes and texts are shown
_CLASSES: Final = 20  # classes of a site that are shown
_LARGEST: Final = 10  # sites whose classes show more texts
_TEXTS: Final = 20  # texts of a class of these
_FEWER_TEXTS: Final = 5  # texts of a class of another site
_RANKED: Final = 20  # sites whose pages were loaded for templates that are named
_SUBDIGRAPHS: Final = 12  # subdigraphs whose pages are named
_COLUMNS: Final = ("pages", "words kept", "words stripped", "share stripped", "near-duplicates", "nothing left")
_SIZE: Final = (5.0, 2.4)
_HEAD: Final = lazily(r"<\?xml.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)  # what only an SVG file needs
_RULE: Final = lazily(r"pagelets/rules/(.+)/(keep|strip|headline|ignore_links)/(pages|words|links)")


@dataclass(frozen=True)
class CrawlFacts:
    """Facts of one crawl."""

    stats: Mapping[str, Any]  # of the crawl, which has ended
    loaded: Mapping[str, int]  # number of pages that were loaded for a template, by site
    subdigraphs: list[tuple[str, list[str]]]  # site and URLs of pages that link each other
    idle_rules: list[str]  # hosts and selectors of rules that had no effect at all

    @property
    def rules(self) -> dict[tuple[str, str], dict[str, int]]:
        """By host pattern and action, how many ``pages``, and ``words`` or ``links``, a rule changed."""
        rules: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for name, value in self.stats.items():
            if found := _RULE.fullmatch(name):
                rules[found[1], found[2]][found[3]] = value
        return rules


def html_file(
    summary: Summary, feed: str, crawl: CrawlFacts | None = None, links: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The HTML file on a feed, with ``links`` to files that show doubtful pages; ImportError without matplotlib."""
    body = "\n".join(_parts(summary, feed, crawl, links))
    page, style = (
        files("scrapy_pagelets.report").joinpath(name).read_text(encoding="utf-8")
        for name in ("report.html", "report.css")
    )
    return Template(page).substitute(feed=_text(feed), style=style, body=body)


def _parts(summary: Summary, feed: str, crawl: CrawlFacts | None, links: Mapping[str, str]) -> Iterator[str]:
    yield f"<h1>Report on {_text(feed)}</h1>"
    pages, *others = zip(_COLUMNS, _figures(summary), strict=True)
    cards = (pages, ("sites", f"{len(summary.sites):,}"), *others)
    yield f"<dl class=cards>{''.join(f'<div><dt>{n}</dt><dd>{v}</dd></div>' for n, v in cards)}</dl>"
    yield f"<figure class=curves>{''.join(_curves(summary.curve))}</figure>"
    yield from _doubtful(summary, feed, links)
    yield "<h2>Sites and classes of pages</h2>"
    sites = sorted(summary.sites.items(), key=lambda item: -item[1].pages)
    yield _table("All words of the pages; a share is of all words together.", sites[:_SITES])
    if len(sites) > _SITES:
        yield f"<p class=soft>and {counted(len(sites) - _SITES, 'site')} with fewer pages.</p>"
    for rank, (name, site) in enumerate(sites[:_OPENED]):
        texts = _TEXTS if rank < _LARGEST else _FEWER_TEXTS
        yield from _site(name, site, texts, all_pagelets=summary.all_pagelets, alone=len(sites) == 1)
    yield from _groups(summary)
    if crawl is not None:
        yield from _of_crawl(crawl)


def _of_crawl(crawl: CrawlFacts) -> Iterator[str]:
    yield "<h2>The crawl</h2>"
    seconds = float(crawl.stats.get("elapsed_time_seconds", 0.0))
    responses = crawl.stats.get("response_received_count", 0)
    rate = f", {responses / seconds:.1f} a second" if seconds else ""
    loaded = f"{counted(responses, 'response')}{rate}; pages loaded for templates: "
    yield f"<p>{counted(round(seconds), 'second')}; {loaded}{crawl.stats.get('pagelets/probe/loaded', 0):,}.</p>"
    if crawl.loaded:
        yield "<h3>Pages loaded for templates</h3>"
        ranked = sorted(crawl.loaded.items(), key=lambda item: (-item[1], item[0]))
        yield f"<ul>{''.join(f'<li>{_text(site)}: {number:,}</li>' for site, number in ranked[:_RANKED])}</ul>"
        if len(ranked) > _RANKED:
            yield f"<p class=soft>and {len(ranked) - _RANKED:,} sites more.</p>"
    yield "<h3>Pages that link to each other</h3>"
    if not crawl.subdigraphs:
        yield "<p>None were found: templates are what the pages of a site have in common.</p>"
    for site, urls in crawl.subdigraphs[:_SUBDIGRAPHS]:
        points = "".join(f"<li>{_text(url)}</li>" for url in urls)
        yield f"<p>{_text(site)}</p><ol>{points}</ol>"
    if len(crawl.subdigraphs) > _SUBDIGRAPHS:
        yield f"<p class=soft>and {len(crawl.subdigraphs) - _SUBDIGRAPHS:,} more sets.</p>"
    if crawl.rules or crawl.idle_rules:
        yield from _rules(crawl)


def _rules(crawl: CrawlFacts) -> Iterator[str]:
    yield "<h3>Rules</h3><ul>"
    for (host, action), effect in sorted(crawl.rules.items()):
        counts = ", ".join(f"{number:,} {name}" for name, number in effect.items())
        yield f"<li><code>{_text(host)}</code> {action}: {counts}</li>"
    yield from (f"<li>without effect: <code>{_text(rule)}</code></li>" for rule in crawl.idle_rules)
    yield "</ul>"


def _doubtful(summary: Summary, feed: str, links: Mapping[str, str]) -> Iterator[str]:
    yield "<h2>Pages to look at</h2>"
    if not summary.doubtful:
        yield "<p>No page is doubtful.</p>"
        return
    yield "<p class=soft>The most doubtful first; the command shows the page, what is stripped, and why.</p><ul>"
    for page in summary.doubtful:
        command = f"pagelets view {shlex.quote(feed)} --page {shlex.quote(page.url)}"
        name = _text(page.url)
        if page.url in links:
            name = f'<a href="{escape(quote(links[page.url]))}">{name}</a>'
        yield f"<li>{name}<br>{_text(page.reason)}<br><code>{_text(command)}</code></li>"
    yield "</ul>"


def _site(name: str, site: SiteSummary, texts: int, *, all_pagelets: bool, alone: bool) -> Iterator[str]:
    """The part on a site, which is open if the report has no other site."""
    classes = sorted(site.classes.items(), key=lambda item: -item[1].pages)
    pages = counted(site.pages, "page")
    yield f"<details{' open' * alone}><summary>{_text(name)}: {pages}, {site.share:.0%} stripped</summary>"
    if site.repeated:
        yield f"<p>Content that a tenth of its pages or more share; it may be template:</p>{_list(site.repeated)}"
    for number, page_class in classes[:_CLASSES]:
        yield from _class(number, page_class, texts, all_pagelets=all_pagelets)
    if len(classes) > _CLASSES:
        yield f"<p class=soft>and {len(classes) - _CLASSES:,} classes with fewer pages.</p>"
    yield "</details>"


def _class(name: str, page_class: Class, texts: int, *, all_pagelets: bool) -> Iterator[str]:
    known = f", {page_class.known:,} known when the last was cleaned" if page_class.known else ""
    yield f"<h3>{_text(name)}: {counted(page_class.pages, 'page')}{known}, {page_class.share:.0%} stripped</h3>"
    if found := page_class.texts.top(texts):
        yield f"<p>What was stripped most, with the number of pages:</p>{_list(found)}"
    elif not all_pagelets:
        yield "<p class=soft>Crawl with PAGELETS_EXPORT=all to see the texts that were stripped.</p>"


def _groups(summary: Summary) -> Iterator[str]:
    yield "<h2>Near-duplicates</h2>"
    if not summary.groups:
        yield "<p>No page nearly repeats another one.</p>"
        return
    yield "<ul>"
    for url, size, named in summary.groups:
        more = f" and {size - len(named):,} more" if size > len(named) else ""
        yield f"<li>{_text(url)}<br>like it: {', '.join(map(_text, named))}{more}</li>"
    yield "</ul>"


def _table(caption: str, rows: Sequence[tuple[str, Totals]]) -> str:
    head = "".join(f"<th scope=col>{name}</th>" for name in ("site", *_COLUMNS))
    cells = ((name, *_figures(totals)) for name, totals in rows)
    lines = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in cells)
    return (
        f'<div class=scroll tabindex=0 role=region aria-label="Sites"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _figures(totals: Totals) -> list[str]:
    values = (f"{n:,}" for n in (totals.pages, totals.kept, totals.stripped))
    return [*values, f"{totals.share:.0%}", f"{totals.duplicates:,}", f"{totals.empty:,}"]


def _list(texts: Iterable[tuple[str, int]]) -> str:
    items = (f"<li>{count:,} × <bdi>{_text(text)}</bdi></li>" for text, count in list(texts)[:_TEXTS])
    return f"<ul>{''.join(items)}</ul>"


def _text(text: str) -> str:
    return escape(visible(text))


def _curves(points: Sequence[Totals]) -> Iterator[str]:
    """Words kept and stripped over the pages in their order, and the share of near-duplicates if there are any; SVG."""
    whole = [point for point in points if 2 * point.pages >= points[0].pages]  # the last may be of a few pages only
    pages = accumulate((point.pages for point in whole), initial=0)
    middle = [(start + end) / 2 for start, end in pairwise(pages)]
    kept, stripped = ([getattr(point, name) / point.pages for point in whole] for name in ("kept", "stripped"))
    shares = [100 * point.duplicates / point.pages for point in whole]

    name = "Words kept and words stripped of a page, in the order of the feed"
    yield _drawn("words a page", name, middle, kept, stripped)
    if any(shares):
        name = "Share of near-duplicates among the pages, in the order of the feed"
        yield _drawn("near-duplicates, %", name, middle, shares)


def _drawn(label: str, name: str, middle: Sequence[float], *columns: Sequence[float]) -> str:
    """A curve over the pages, or two on top of each other, as SVG, with a name that is read out."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    written = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.family": "sans-serif"}):
        figure = Figure(_SIZE, layout="constrained")
        axes = figure.subplots()
        axes.set(xlabel="pages", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
        if len(columns) == 1:
            axes.plot(middle, *columns, color="#0a7ea4")
            axes.set(ylim=(0, max(5.0, 1.1 * max(*columns))))
        else:
            axes.stackplot(middle, *columns, colors=("#0a7ea4", "#d9730d"), labels=("kept", "stripped"))
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    drawn = _HEAD.sub("", written.getvalue()).replace("#000000", "currentColor")
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)
