"""The command ``pagelets crawl``: crawl a site, in any folder."""

import argparse
from typing import Final

from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import add_output

EXAMPLES: Final = (
    "pagelets crawl https://example.com/ -o pages.jsonl",
    "pagelets crawl https://example.com/ --pages 50 -s PAGELETS_FORMATS=text,markdown -o pages.jsonl",
)
USES_SETTINGS: Final = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="start page; the crawl stays on its host")
    parser.add_argument("--pages", type=int, default=0, metavar="N", help="at most this many pages (default: all)")
    parser.add_argument("--depth", type=int, default=0, metavar="N", help="at most this many links from the start page")
    parser.add_argument("--sitemap", action="store_true", help="start from the sitemaps of the site as well")
    parser.add_argument("--listed", action="store_true", help="only the pages that the sitemaps of the site list")
    parser.add_argument("--since", default="", metavar="DAY", help="no page that the sitemaps date before this day")
    add_output(parser, "pages.jsonl")


def run(options: argparse.Namespace) -> int:
    from scrapy_pagelets.crawler.commands.crawling import crawl
    from scrapy_pagelets.crawler.spiders.site_spider import SiteSpider
    from scrapy_pagelets.crawler.spiders.start_pages import moment, start_urls

    try:
        start_urls(options.url, "")
        moment("since", options.since)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if min(options.pages, options.depth) < 0:
        raise CommandError("--pages and --depth take a number from 1, or 0 for no limit")
    arguments = {name: str(int(getattr(options, name))) for name in ("pages", "depth", "listed")}
    sitemap = "1" if options.sitemap or options.listed or options.since else "0"
    return crawl(SiteSpider, options, url=options.url, since=options.since, sitemap=sitemap, **arguments)
