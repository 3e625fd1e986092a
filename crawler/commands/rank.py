"""The command ``pagelets rank``: authorities and hubs for a query, PageRank, and related pages of a feed."""

import argparse
from collections.abc import Iterator
from typing import Final

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.display import counted, shortened
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.links.clever import BEST, VERSIONS, clever, roots
from scrapy_pagelets.links.link_tables import Query, Tables, read
from scrapy_pagelets.links.pagerank import pagerank
from scrapy_pagelets.links.votes import MOST, cocitations, inside, related, votes

EXAMPLES: Final = (
    "pagelets crawl https://example.com/ -s PAGELETS_EXPORT=all -o all.jsonl",
    "pagelets rank all.jsonl --pagerank",
    'pagelets rank all.jsonl --query "install"',
)
_LEAST: Final = 0.0005  # lower scores are not shown
_COMMON: Final = 0.5  # a query that fits a larger share of the pages gets a warning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), made with -s PAGELETS_EXPORT=all")
    parser.add_argument("--query", metavar="WORDS", help="rank by hubs and authorities for these words")
    parser.add_argument(
        "--version", metavar="NAME",
        help="page, page-fnm, pagelet, pagelet-fnm, pagelet-ft or pagelet-ft-fnm (default): hubs are pages or "
        "pagelets; fnm leaves out those without a word of the query, ft those of templates",
    )  # fmt: skip
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--pagerank", action="store_true", help="rank by PageRank, without the links of templates")
    other.add_argument("--related", metavar="URL", help="pages that content pagelets cite together with this one")
    within = "count links within a site as well; this is the default if the feed has a single site"
    parser.add_argument("--within", action="store_true", help=within)
    parser.add_argument("--top", type=int, default=20, metavar="N", help="number of lines of a table (default: 20)")


def run(options: argparse.Namespace) -> None:
    if options.top < 1:
        raise CommandError(f"--top is {options.top}: give the number of lines, from 1")
    if options.query is None and not options.pagerank and options.related is None:
        raise CommandError("nothing to rank by: give --query WORDS, --pagerank or --related URL")
    if options.version is not None and (options.pagerank or options.related is not None):
        raise CommandError("--version is for hubs and authorities: leave it out, or --pagerank and --related")
    if options.query is not None and options.related is not None:
        raise CommandError("related pages are the same for every query: leave out --query or --related")
    if options.version not in (None, *VERSIONS):
        raise CommandError(f"there is no version {options.version!r}: choose from {', '.join(VERSIONS)}")
    table = _pagerank if options.pagerank else _clever if options.related is None else _related
    for line in table(_tables(options), options):
        show(line)


def _clever(tables: Tables, options: argparse.Namespace) -> Iterator[str]:
    version = options.version or BEST
    if "-ft" not in version and not tables.template.any():
        advice = "crawl with -s PAGELETS_EXPORT=all"
        warn(f"the feed has content pagelets only, so {version} cannot use the links of templates: {advice}")
    within = options.within or None
    ranking = clever(tables, version, within=within)
    counted = "links within a site count" if inside(tables, within) else "links between sites count"
    yield f"{_query_summary(tables)}, {ranking.base.sum()} with neighbours; {version}, {counted}"
    if not ranking.authorities.any():
        raise CommandError(_why_none(tables, int(ranking.base.sum()), inside(tables, within), version))
    yield from _scores("authority", ranking.authorities, options.top, tables)
    yield from _scores("hub", ranking.hubs, options.top, tables, pagelets=version.startswith("pagelet"))


def _why_none(tables: Tables, pages: int, within: bool, version: str) -> str:
    between = votes(tables, templates=True, within=within)
    if not within and not tables.crawled[between.target].any():
        return "no link leads from one site of the feed to another: --within counts links within a site as well"
    if pages == 1:
        return "no link joins the one page that the query finds to another page, so that there is nothing to rank"
    others = " or ".join(other for other in ("pagelet-ft", "page") if other != version)
    return f"no link that {version} counts leads to these pages: try {others} as --version"


def _pagerank(tables: Tables, options: argparse.Namespace) -> Iterator[str]:
    """The table of all pages, or of those that the query finds, by PageRank in multiples of the mean."""
    scores = pagerank(tables) * tables.crawled.sum()
    if options.query is None:
        yield _size(tables)
    else:
        yield _query_summary(tables)
        scores[~roots(tables)] = 0.0
    yield from _scores("times mean", scores, options.top, tables)


def _related(tables: Tables, options: argparse.Namespace) -> Iterator[str]:
    """The table of pages that are cited together with the given one, and by how many pages."""
    page = tables.find(options.related)
    if page is None:
        raise CommandError(f"the feed has neither the page {options.related} nor a link to it")
    scores = related(tables, page, within=options.within or None)
    yield _size(tables)
    if not scores.any():
        hint = "" if tables.single_site or options.within else "; --within counts links within a site as well"
        raise CommandError(f"no content pagelet of up to {MOST} links cites {options.related} with another page{hint}")
    counts = cocitations(tables, page, within=options.within or None)
    yield from _scores("votes", scores, options.top, tables, counts=counts)


def _tables(options: argparse.Namespace) -> Tables:
    feed = Feed(options.feed, ("title", "pagelets"), ("id", "role", "text", "links"))
    tables = read(feed, None if options.query is None else Query(options.query))
    warn(feed.note)
    if not len(tables.target):
        raise feed.error("its pagelets have no links, so there is nothing to rank by")
    return tables


def _size(tables: Tables) -> str:
    templates = int(tables.template[tables.source].sum())
    pages, links = counted(int(tables.crawled.sum()), "page"), counted(len(tables.target), "link")
    return f"{pages}, {links}, {templates:,} of them in templates"


def _query_summary(tables: Tables) -> str:
    matching = tables.terms > 0
    if not matching.any():
        raise CommandError(f"{_size(tables)}; no page has a word of the query in its content")
    most = tables.terms == tables.terms.max()
    if (share := most.sum() / tables.crawled.sum()) > _COMMON:
        warn(f"the query fits {share:.0%} of the pages, so the ranking says little about it: give rarer words")
    return f"{_size(tables)}; the query finds {counted(int(matching.sum()), 'page')}"


def _scores(
    head: str, scores: Floats, top: int, tables: Tables, pagelets: bool = False, counts: Ints | None = None
) -> Iterator[str]:
    """A table of the pages or pagelets with the highest scores, and of the numbers of pages that cite them if given."""
    best = (-scores).argsort(kind="stable")[:top].tolist()
    cited = [""] * len(scores) if counts is None else [f"{count:>10}" for count in counts.tolist()]
    yield ""
    yield f"{head:>10}{'' if counts is None else '    citing'}  {'pagelet' if pagelets else 'page'}"

    def name(i: int) -> str:
        if pagelets:  # the URL of its page, its number and the beginning of its text
            return f"{tables.urls[tables.page[i]]}  {tables.number[i]}: {tables.labels[i]}".rstrip()
        return f"{tables.urls[i]}  {shortened(tables.titles[i], 60)}".rstrip()

    yield from (f"{scores[i]:>10.3f}{cited[i]}  {name(i)}" for i in best if scores[i] >= _LEAST)
