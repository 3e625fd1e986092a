"""The command ``pagelets report``: what was stripped, per site and template, and which pages are doubtful."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import saving, show, terminal_width, warn
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.report.html_report import html_file
from scrapy_pagelets.report.summary import Summary, Totals, summary_of

EXAMPLES: Final = ("pagelets report pages.jsonl", "pagelets report pages.jsonl --html report.html")
_COLUMNS: Final = ("template", "pagelets", "text", "near_duplicate_of")
_SHOWN: Final = 5  # doubtful pages, and texts that were stripped, in the terminal
_MEANING: Final = (
    "kept, stripped: words of content and template; share: stripped of all words; doubles: near-duplicates; "
    "empty: pages of which nothing is left; repeated: content that a tenth of the pages share, counted on each page"
)
_WIDTH: Final = 120  # characters of a line of output that is not a terminal
_NARROW: Final = 70  # characters that the table needs
_SITES: Final = 1000  # sites in the terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), as the spiders write them")
    parser.add_argument("--html", metavar="FILE", help="also write the report as one HTML file (needs matplotlib)")
    parser.add_argument("--inspect", action="store_true", help="with --html: doubtful pages in a folder beside FILE")


def run(options: argparse.Namespace) -> None:
    if options.inspect and not options.html:
        raise CommandError("--inspect writes pages beside the report: name it with --html FILE")
    feed = feed_of(options.feed)
    summary = summary_of(feed)
    if options.html:
        path = Path(options.html)
        try:
            with saving(options.html):
                links = _inspected(summary, options.feed, path) if options.inspect else {}
                path.write_text(html_file(summary, options.feed, links=links), encoding="utf-8")
        except ImportError:
            raise CommandError("--html needs matplotlib: pip install 'scrapy-pagelets[report]'") from None
    show_tables(summary)
    if options.html:
        show(f"written: {options.html}")
    warn(feed.note)


def feed_of(path: str) -> Feed:
    """Open a feed with the fields that are counted."""
    return Feed(path, _COLUMNS, ("role", "text", "words"), one_of=("pagelets", "text"))


def _inspected(summary: Summary, feed: str, report: Path) -> dict[str, str]:
    """Write what a feed has of each doubtful page beside the report; return the files, relative to it, by URL."""
    from scrapy_pagelets.inspector import contents, inspection

    folder = report.with_name(f"{report.stem}-pages")
    folder.mkdir(exist_ok=True)
    links = {page.url: f"{folder.name}/{number}.html" for number, page in enumerate(summary.doubtful, 1)}
    for line in inspection.feed_of(feed):
        if line["url"] in links:
            html = contents.html_file(contents.contents(inspection.from_feed(line)))
            (report.parent / links[line["url"]]).write_text(html, encoding="utf-8")
    return links


def show_tables(summary: Summary) -> None:
    """Print totals, doubtful pages, and the table of sites and templates."""
    show(
        f"{counted(summary.pages, 'page')} of {counted(len(summary.sites), 'site')}: "
        f"{counted(summary.kept, 'word')} kept, {summary.stripped:,} stripped ({summary.share:.0%}); "
        f"{counted(summary.duplicates, 'near-duplicate')}, nothing left of {counted(summary.empty, 'page')}"
    )
    for page in summary.doubtful[:_SHOWN]:
        show(f"look at {page.url}: {page.reason}")
    width = terminal_width() or _WIDTH
    for line in (*table(summary, max(width, _NARROW)), *most_stripped(summary, width), _MEANING):
        show(line)


def most_stripped(summary: Summary, width: int) -> Iterator[str]:
    """What was stripped most from the pages of the largest class, in its words, a line each."""
    classes = (page_class for site in summary.sites.values() for page_class in site.classes.items())
    name, largest = max(classes, key=lambda item: item[1].pages)
    if texts := largest.texts.top(_SHOWN):
        yield f"stripped most from {name}, on how many of its {counted(largest.pages, 'page')}:"
        lines = (f"{count:7,}  {text}" for text, count in texts)
        yield from (line if len(line) <= width else f"{line[: width - 1]}…" for line in lines)
    elif not summary.all_pagelets:
        yield "to see the texts that were stripped, crawl with -s PAGELETS_EXPORT=all"


def table(summary: Summary, width: int = _WIDTH) -> list[str]:
    """The lines of the table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False)
    drawn.add_column("site and template", overflow="fold")
    for name in ("pages", "kept", "stripped", "share", "doubles", "empty", "repeated"):
        drawn.add_column(name, justify="right", overflow="fold")
    for site, of_site in sorted(summary.sites.items(), key=lambda item: -item[1].pages)[:_SITES]:
        classes = sorted(of_site.classes.items(), key=lambda item: -item[1].pages)
        rows: list[tuple[str, Totals]] = [(site, of_site), *((f"  {number}", one) for number, one in classes)]
        for name, totals in rows:
            repeated = f"{sum(count for _, count in of_site.repeated):,}" if totals is of_site else ""
            words = (f"{totals.pages:,}", f"{totals.kept:,}", f"{totals.stripped:,}", f"{totals.share:.0%}")
            drawn.add_row(Text(visible(name)), *words, f"{totals.duplicates:,}", f"{totals.empty:,}", repeated)
    if (more := len(summary.sites) - _SITES) > 0:
        drawn.add_row(f"and {counted(more, 'site')} with fewer pages")
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().rstrip("\n").split("\n")]
