"""The command ``scrapy pagelets report``: what was stripped, per site and template, and which pages are doubtful."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy_pagelets.characters import visible
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.errors import CommandError
from scrapy_pagelets.feed_reader import Feed

if TYPE_CHECKING:
    from scrapy_pagelets.report.summary import Summary, Totals

_COLUMNS: Final = ("template", "pagelets", "text", "near_duplicate_of")
#: Doubtful pages in the terminal.
_SHOWN: Final = 5
_MEANING: Final = (
    "kept, stripped: words of content and template; share: stripped of all words; doubles: near-duplicates; "
    "empty: pages of which nothing is left; repeated: content that a tenth of the pages share, counted on each page"
)
#: Columns of output that is not a terminal.
_WIDTH: Final = 120
#: Sites in the terminal.
_SITES: Final = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), as the spiders write them")
    parser.add_argument("--html", metavar="FILE", help="also write the report as one HTML file (needs matplotlib)")
    parser.add_argument(
        "--inspect", action="store_true",
        help="with --html, also show each doubtful page, as the feed has it, in a folder beside FILE, and link it",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Print the report, and write it."""
    from scrapy_pagelets.report.summary import summary_of

    if options.inspect and not options.html:
        raise CommandError("--inspect writes pages beside the report: name it with --html FILE")
    feed = feed_of(options.feed)
    summary = summary_of(feed)
    if options.html:
        _write(summary, options.feed, options.html, inspect=options.inspect)
    show_tables(summary)
    if options.html:
        show(f"written: {options.html}")
    if feed.note:
        warn(feed.note)


def feed_of(path: str) -> Feed:
    """Open a feed with the fields that are counted."""
    return Feed(path, _COLUMNS, ("role", "text", "words"), one_of=("pagelets", "text"))


def _write(summary: Summary, feed: str, name: str, *, inspect: bool) -> None:
    from scrapy_pagelets.report.html_report import document

    try:
        links = _inspected(summary, feed, Path(name)) if inspect else {}
        Path(name).write_text(document(summary, feed, links=links), encoding="utf-8")
    except ImportError:
        raise CommandError("--html needs matplotlib: pip install 'scrapy-pagelets[report]'") from None
    except OSError as error:
        raise CommandError(f"{name} cannot be written: {error.strerror}") from None


def _inspected(summary: Summary, feed: str, report: Path) -> dict[str, str]:
    """Write what a feed has of each doubtful page beside the report; return the files, relative to it, by URL."""
    from scrapy_pagelets.inspector.contents import contents
    from scrapy_pagelets.inspector.document import document
    from scrapy_pagelets.inspector.inspection import from_feed
    from scrapy_pagelets.inspector.source import feed_of

    folder = report.with_name(f"{report.stem}-pages")
    folder.mkdir(exist_ok=True)
    links = {page.url: f"{folder.name}/{number}.html" for number, page in enumerate(summary.doubtful, 1)}
    for line in feed_of(feed):
        if line["url"] in links:
            (report.parent / links[line["url"]]).write_text(document(contents(from_feed(line)), b""), encoding="utf-8")
    return links


def show_tables(summary: Summary) -> None:
    """Print totals, doubtful pages, and the table of sites and templates."""
    show(
        f"{summary.pages} pages of {len(summary.sites)} sites: {summary.kept} words kept, {summary.stripped} stripped "
        f"({summary.share:.0%}); {summary.duplicates} near-duplicates, nothing left of {summary.empty}"
    )
    for page in summary.doubtful[:_SHOWN]:
        show(f"look at {page.url}: {page.reason}")
    for line in table(summary):
        show(line)
    show(_MEANING)


def table(summary: Summary) -> list[str]:
    """The lines of the table; sites and templates with the most pages come first."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False)
    drawn.add_column("site and template", overflow="fold")
    for name in ("pages", "kept", "stripped", "share", "doubles", "empty", "repeated"):
        drawn.add_column(name, justify="right", overflow="fold")
    sites = sorted(summary.sites.items(), key=lambda item: -item[1].pages)
    for name, site in sites[:_SITES]:
        repeated = sum(count for _, count in site.repeated)
        drawn.add_row(Text(visible(name)), *_cells(site), str(repeated))
        for number, page_class in sorted(site.classes.items(), key=lambda item: -item[1].pages):
            drawn.add_row(Text(f"  {visible(number)}"), *_cells(page_class), "")
    if len(sites) > _SITES:
        drawn.add_row(f"and {len(sites) - _SITES} sites with fewer pages")
    width = None if sys.stdout is not None and sys.stdout.isatty() else _WIDTH
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().rstrip("\n").split("\n")]


def _cells(totals: Totals) -> list[str]:
    counts = (totals.pages, totals.kept, totals.stripped)
    return [*map(str, counts), f"{totals.share:.0%}", str(totals.duplicates), str(totals.empty)]
