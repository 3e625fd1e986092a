"""How clean the first pages of a crawl are, in the order in which they arrive, and what waiting for others gains.

Each site is served on loopback and crawled by a plain spider with the add-on, once for each value of
``PAGELETS_FIRST_PAGES`` (``--wait``), and once more from a store that knows all its pages. Content F1 and template F1
of the first 1, 2, 5, 10 pages of the first crawl, and of each class, are means over the sites. ``--set`` passes
further settings to all crawls.

    python -m benchmarks first_pages --only hexo,jdo,naodeng
    python -m benchmarks first_pages --sites .data/sites2 --set PAGELETS_PROBE=0 CONCURRENT_REQUESTS=1
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import scrapy
from scrapy.http import HtmlResponse, Response

from benchmarks.throughput import WITH, Answers
from benchmarks.tools import last_lines, names, need, option_parser, referee, run, table
from tests.server import SiteServer

FIRST = (1, 2, 5, 10)
ALL_KNOWN = "all known"

#: Class, content F1 and template F1 of a page.
Row = tuple[str, float, float]


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
    parser.add_argument("--sites", type=Path, nargs="+", default=[Path(".data/sites"), Path(".data/sites2")])
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--wait", type=int, nargs="*", default=[1, 10], help="values of PAGELETS_FIRST_PAGES")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of all crawls")
    args = parser.parse_args(argv)
    score, chosen = referee(args.referee), names(args.only)
    found = [
        of_site(folder / site["name"], site["start"], args.wait, args.set, score)
        for folder in args.sites
        for site in sites_of(folder)
        if not chosen or site["name"] in chosen
    ]
    if not found:
        sys.exit("no site to crawl: --only matches no site")
    for order in ("crawl", "class"):
        head = [f"first of each {order}", *(f"{n}: content F1, template F1" for n in FIRST)]
        table(head, [[label, *(cell(found, label, order, n) for n in FIRST)] for label in found[0]])
        print()


def sites_of(folder: Path) -> list[dict[str, Any]]:
    """What is known of the sites in a folder."""
    about = need(folder / "sites.json", "name a folder of sites with --sites").read_text(encoding="utf-8")
    sites: list[dict[str, Any]] = json.loads(about)
    return sites


def of_site(folder: Path, start: str, waits: list[int], given: list[str], score: ModuleType) -> dict[str, list[Row]]:
    """The pages of each crawl of a site, in the order of the first crawl."""
    gold = {line["path"]: line for line in score.read(folder / "gold.jsonl.gz")}
    with SiteServer(routes={"/*": Answers(folder, 0.0)}) as server, tempfile.TemporaryDirectory() as temporary:
        feeds = {}
        for label, wait in [*((f"wait for {n}", n) for n in waits), (ALL_KNOWN, 1)]:
            store = Path(temporary, str(waits[0] if label == ALL_KNOWN else wait))
            settings = [*given, f"PAGELETS_FIRST_PAGES={wait}", f"PAGELETS_STORE={store}"]
            feeds[label] = crawl(server.url(start), Path(temporary), settings)
    scored = {label: rows(feed, gold, score) for label, feed in feeds.items()}
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


def rows(feed: list[dict[str, Any]], gold: dict[str, Any], score: ModuleType) -> dict[str, Row]:
    """The pages with a reference text by their path, in the order in which they arrived."""
    found: dict[str, Row] = {}
    for line in sorted(feed, key=lambda line: int(line["number"])):
        path = unquote(urlsplit(line["url"]).path).lstrip("/")
        paths = (path, f"{path.rstrip('/')}/index.html".lstrip("/"), f"{path}.html")
        path = next((one for one in paths if one in gold), "")
        if path and path not in found:
            text = Counter(score.words(line["text"]))
            content, full = Counter(score.words(gold[path]["content"])), Counter(score.words(gold[path]["full"]))
            f1, template_f1 = score.prf(text, content)[2], score.prf(full - text, full - content)[2]
            found[path] = line["template"]["id"], f1, template_f1
    return found


def cell(found: list[dict[str, list[Row]]], label: str, order: str, n: int) -> str:
    """Content F1 and template F1 of the first pages of the crawl, or of its classes; means over the sites."""
    means = []
    for site in found:
        groups = defaultdict(list)
        for row in site[label]:
            groups[row[0] if order == "class" else ""].append(row[1:])
        first = [scores for group in groups.values() for scores in group[:n]]
        means.append([sum(column) / len(first) for column in zip(*first, strict=True)])
    return ", ".join(f"{sum(column) / len(means):.3f}" for column in zip(*means, strict=True))
