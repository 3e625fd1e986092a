"""How clean the first pages of a crawl are, in the order in which they arrive, and what waiting for others gains.

Each site is served on loopback and crawled by a plain spider with the add-on, once for each value of
``PAGELETS_FIRST_PAGES`` (``--wait``), and once more from a store that knows all its pages. F1 and precision of the
content of the first 1, 2, 5, 10 pages, by the roles that people have given (see `roles`), are means over the sites.
``--set`` passes further settings to all crawls.

    python -m benchmarks first_pages --only hexo,jdo,naodeng
    python -m benchmarks first_pages --sets sites2 --set PAGELETS_PROBE=0 CONCURRENT_REQUESTS=1
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any
from urllib.parse import urldefrag, urlsplit

import scrapy
from scrapy.http import HtmlResponse, Response

from benchmarks.page_sets import SITES
from benchmarks.role_labels import add_rules, gold_by_role, the_referee
from benchmarks.throughput import WITH, Answers
from benchmarks.tools import last_lines, names, need, option_parser, run, table
from tests.server import SiteServer

FIRST = (1, 2, 5, 10)
ALL_KNOWN = "all known"

#: F1 and precision of the content of a page.
Row = tuple[float, float]


class NumberingSpider(scrapy.Spider):
    """Yield an item with its number for each page, and follow all links of the site."""

    name = "numbering"

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls, self.host, self.pages = [url], urlsplit(url).netloc, 0

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        self.pages += 1
        yield {"url": response.url, "number": self.pages}
        for href in response.css("a::attr(href)").getall():
            try:
                url = urldefrag(response.urljoin(href.strip())).url
            except ValueError:
                continue
            if urlsplit(url).netloc == self.host:
                yield scrapy.Request(url)


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--sets", default=",".join(SITES), help="comma-separated names of sets; default: %(default)s")
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--wait", type=int, nargs="*", default=[1, 10], help="values of PAGELETS_FIRST_PAGES")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of all crawls")
    args = parser.parse_args(argv)
    referee, chosen = the_referee(args.referee), names(args.only)
    found = [
        of_site(args, referee, name, site)
        for name in SITES
        for site in sites_of(args.data / name)
        if name in names(args.sets) and (not chosen or site["name"] in chosen)
    ]
    if not found:
        sys.exit("no site to crawl: --only matches no site")
    head = ["pages of each crawl", *(f"first {n}: F1, precision" for n in FIRST)]
    table(head, [[label, *(cell([site[label][:n] for site in found]) for n in FIRST)] for label in found[0]])


def sites_of(folder: Path) -> list[dict[str, Any]]:
    """What is known of the sites in a folder."""
    about = need(folder / "sites.json", "name a folder of sites with --sites").read_text(encoding="utf-8")
    sites: list[dict[str, Any]] = json.loads(about)
    return sites


def of_site(args: argparse.Namespace, referee: ModuleType, name: str, site: dict[str, Any]) -> dict[str, list[Row]]:
    """The pages of each crawl of a site, in the order of the first crawl."""
    folder, waits = args.data / name / site["name"], args.wait
    gold = {page["path"]: page for page in gold_by_role(args, referee, name, site["name"])}
    with SiteServer(routes={"/*": Answers(folder, 0.0)}) as server, tempfile.TemporaryDirectory() as temporary:
        scored = {}
        for label, wait in [*((f"wait for {n}", n) for n in waits), (ALL_KNOWN, 1)]:
            store = Path(temporary, str(waits[0] if label == ALL_KNOWN else wait))
            settings = [*args.set, f"PAGELETS_FIRST_PAGES={wait}", f"PAGELETS_STORE={store}"]
            scored[label] = rows(crawl(server.url(site["start"]), Path(temporary), settings), gold, referee)
    paths = [path for path in next(iter(scored.values())) if all(path in pages for pages in scored.values())]
    return {label: [pages[path] for path in paths] for label, pages in scored.items()}


def crawl(url: str, folder: Path, settings: list[str]) -> list[dict[str, Any]]:
    """Crawl a site, and return the items."""
    feed, log = folder / "feed.jsonl", folder / "log"
    command = [sys.executable, "-m", "scrapy", "runspider", __file__, "-O", str(feed), "-a", f"url={url}"]
    for setting in (f"ADDONS={WITH}", *settings):
        command += ["-s", setting]
    if code := run(command, log):
        sys.exit(f"the crawl ended with exit code {code}; the end of its log:\n{last_lines(log)}")
    return [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]


def rows(feed: list[dict[str, Any]], gold: dict[str, Any], referee: ModuleType) -> dict[str, Row]:
    """The pages with roles by their path, in the order in which they arrived."""
    lines = {path: line for path, line in referee.by_path(feed, list(gold)).items() if line is not None}
    paths = sorted(lines, key=lambda path: int(lines[path]["number"]))
    scored = {path: referee.roles.score([lines[path]], [gold[path]]) for path in paths}
    return {path: (found["f1"], found["precision"]) for path, found in scored.items()}


def cell(first: list[list[Row]]) -> str:
    """F1 and precision of some pages of each site; means over the sites."""
    means = [[fmean(column) for column in zip(*pages, strict=True)] for pages in first if pages]
    return ", ".join(f"{fmean(column):.3f}" for column in zip(*means, strict=True))
