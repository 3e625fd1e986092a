"""Write the report as one HTML file that loads and runs nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.report.charts import complete_graph, curves
from scrapy_pagelets.report.crawl_facts import CrawlFacts
from scrapy_pagelets.report.summary import Class, SiteSummary, Summary, Totals

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
#: Sites, classes of a site, and texts of each that are shown.
_SITES: Final = 200
_CLASSES: Final = 20
_TEXTS: Final = 20
#: Sites whose classes and texts are shown; and those with the most pages, of whose classes more texts are.
_OPENED: Final = 50
_LARGEST: Final = 10
_FEWER_TEXTS: Final = 5
#: Sites whose pages were loaded for templates, and steps of the crawl, that are named.
_RANKED: Final = 20
#: Subdigraphs that are drawn.
_DRAWN: Final = 12
_COLUMNS: Final = ("pages", "words kept", "words stripped", "share stripped", "near-duplicates", "nothing left")


def document(
    summary: Summary, feed: str, crawl: CrawlFacts | None = None, links: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The HTML file.

    Parameters
    ----------
    feed : path of the feed, for commands that show its pages
    crawl : facts of the crawl that wrote the feed, if they are known
    links : by the URLs of doubtful pages, files that show them

    Raises
    ------
    ImportError : if matplotlib is not installed
    """
    body = "\n".join(_parts(summary, feed, crawl, links))
    style = files("scrapy_pagelets.report").joinpath("report.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Report on {_text(feed)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _parts(summary: Summary, feed: str, crawl: CrawlFacts | None, links: Mapping[str, str]) -> Iterator[str]:
    yield f"<h1>Report on {_text(feed)}</h1>"
    yield _cards(summary)
    yield f"<figure class=curves>{''.join(curves(summary.curve))}</figure>"
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
    rate = f", {crawl.responses / crawl.seconds:.1f} a second" if crawl.seconds else ""
    loaded = f"{counted(crawl.responses, 'response')}{rate}; pages loaded for templates: {crawl.probed:,}"
    yield f"<p>{counted(round(crawl.seconds), 'second')}; {loaded}.</p>"
    if crawl.loaded:
        yield "<h3>Pages loaded for templates</h3>"
        yield _ranking(crawl.loaded, lambda number: f"{number:,}", "sites")
    if crawl.computed:
        yield "<h3>Where the time went</h3><p class=soft>Seconds of CPU time, beside those of Scrapy's own thread.</p>"
        yield _ranking(crawl.computed, lambda seconds: f"{seconds:.1f} s", "steps")
    yield "<h3>Pages that link to each other</h3>"
    if not crawl.subdigraphs:
        yield "<p>None were found: templates are what the pages of a site have in common.</p>"
    for site, urls in crawl.subdigraphs[:_DRAWN]:
        points = "".join(f"<li>{_text(url)}</li>" for url in urls)
        yield f"<figure>{complete_graph(len(urls))}<figcaption>{_text(site)}<ol>{points}</ol></figcaption></figure>"
    if len(crawl.subdigraphs) > _DRAWN:
        yield f"<p class=soft>and {len(crawl.subdigraphs) - _DRAWN:,} more sets.</p>"
    if crawl.rules or crawl.idle_rules:
        yield from _rules(crawl)


def _ranking(values: Mapping[str, float], shown: Callable[[float], str], name: str) -> str:
    """The largest of some values as a list."""
    ranked = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    rows = "".join(f"<li>{_text(key)}: {shown(value)}</li>" for key, value in ranked[:_RANKED])
    more = f"<p class=soft>and {len(ranked) - _RANKED:,} {name} more.</p>" if len(ranked) > _RANKED else ""
    return f"<ul>{rows}</ul>{more}"


def _rules(crawl: CrawlFacts) -> Iterator[str]:
    yield "<h3>Rules</h3><ul>"
    for (host, action), effect in sorted(crawl.rules.items()):
        counts = ", ".join(f"{number:,} {name}" for name, number in effect.items())
        yield f"<li><code>{_text(host)}</code> {action}: {counts}</li>"
    yield from (f"<li>without effect: <code>{_text(rule)}</code></li>" for rule in crawl.idle_rules)
    yield "</ul>"


def _cards(summary: Summary) -> str:
    cards = {
        "pages": f"{summary.pages:,}",
        "sites": f"{len(summary.sites):,}",
        "words kept": f"{summary.kept:,}",
        "words stripped": f"{summary.stripped:,}",
        "share stripped": f"{summary.share:.0%}",
        "near-duplicates": f"{summary.duplicates:,}",
        "nothing left": f"{summary.empty:,}",
    }
    return f"<dl class=cards>{''.join(f'<div><dt>{n}</dt><dd>{v}</dd></div>' for n, v in cards.items())}</dl>"


def _doubtful(summary: Summary, feed: str, links: Mapping[str, str]) -> Iterator[str]:
    yield "<h2>Pages to look at</h2>"
    if not summary.doubtful:
        yield "<p>No page is doubtful.</p>"
        return
    yield "<p class=soft>The most doubtful first; the command shows the page, what is stripped, and why.</p><ul>"
    for page in summary.doubtful:
        command = f"scrapy pagelets view {shlex.quote(feed)} --page {shlex.quote(page.url)}"
        name = _text(page.url)
        if page.url in links:
            name = f'<a href="{escape(quote(links[page.url]))}">{name}</a>'
        yield f"<li>{name}<br>{_text(page.reason)}<br><code>{_text(command)}</code></li>"
    yield "</ul>"


def _site(name: str, site: SiteSummary, texts: int, *, all_pagelets: bool, alone: bool) -> Iterator[str]:
    """What is told of a site; at once if it is the only one."""
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
    lines = "".join(f"<tr><td>{_text(name)}</td>{_cells(totals)}</tr>" for name, totals in rows)
    return (
        f'<div class=scroll tabindex=0 role=region aria-label="Sites"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _cells(totals: Totals) -> str:
    values = (f"{n:,}" for n in (totals.pages, totals.kept, totals.stripped))
    cells = [*values, f"{totals.share:.0%}", f"{totals.duplicates:,}", f"{totals.empty:,}"]
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _list(texts: Iterable[tuple[str, int]]) -> str:
    return (
        f"<ul>{''.join(f'<li>{count:,} × <bdi>{_text(text)}</bdi></li>' for text, count in list(texts)[:_TEXTS])}</ul>"
    )


def _text(text: str) -> str:
    return escape(visible(text))
