"""The size of a site's counts in memory and on disk, and the memory of a process that visits many sites.

    python -m benchmarks memory                                       # some sites: entries, bytes, milliseconds
    python -m benchmarks memory --many 2000 --capacity 300000         # many sites, each visited for three pages
    python -m benchmarks memory --crawl 100000                        # a crawl of a generated site, on loopback

Data: a folder of sites (``--data .data``). The many sites are the pages of one site under many hosts. The crawl is
measured in its own process, with the plugin and without it; in a crawl without it, Scrapy's dupefilter grows. What is
resident of files, libraries and the index of near-duplicates, stands apart: the system may drop it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import cycle, islice, pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from scrapy.http import Response

from benchmarks.throughput import SETTINGS, WITH, WITHOUT, LinksSpider, Reply, served
from benchmarks.tools import ROOT, names, option_parser, sites_below, table
from scrapy_pagelets.archives.reader import expand, records
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore, pack, unpack

_PAGES = 3


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--only", default="hexo,tomcat10,ipe,cmake", help="comma-separated names of sites")
    parser.add_argument("--many", type=int, default=0, help="number of sites to visit")
    parser.add_argument("--capacity", type=int, default=300_000, help="entries that the many sites may have in memory")
    parser.add_argument("--crawl", type=int, default=0, help="number of pages of a generated site to crawl")
    args = parser.parse_args(argv)
    if args.crawl:
        crawls(args.crawl)
        return
    folders = [sites_below(args.data) / name for name in sorted(names(args.only))]
    if args.many:
        many(folders[0], args.many, args.capacity)
    else:
        table(
            ("site", "pages", "entries", "bytes each", "MB", "MB on disk", "ms to write", "ms to read"),
            (row(folder) for folder in folders),
        )


def row(folder: Path) -> tuple[object, ...]:
    """Measure the counts of a site."""
    model = load(LABELLED)
    evidence = [(page, model.page_evidence(page).odds) for page in pages(folder)]
    tracemalloc.start()
    site = Site(folder.name)
    while evidence:  # a page keeps what was computed of it, which is not part of the site
        site.count(*evidence.pop(0))
    # Python does not see what tables in the compiled core allocate.
    tables = (*site.counts.tables.values(), site.learnt.seen, site.learnt.bodies)
    size = tracemalloc.get_traced_memory()[0] + sum(map(sys.getsizeof, tables))
    tracemalloc.stop()
    times = [perf_counter()]
    content = pack(site.arrays())
    times.append(perf_counter())
    SiteCounts.from_arrays(folder.name, unpack(content))
    times.append(perf_counter())
    write, read = (round(1000 * (after - before)) for before, after in pairwise(times))
    entries = site.size
    return folder.name, site.pages, entries, round(size / entries), size / 1e6, len(content) / 1e6, write, read


def pages(folder: Path) -> list[Page]:
    """Parse the pages of a site."""
    found = (record for source in expand(str(folder)) for record in records(source, f"http://{folder.name}.example/"))
    return [Page.parse(record.body, record.url) for record in found]


def many(folder: Path, number: int, capacity: int) -> None:
    """Visit many sites, a hundred at a time in turns, and print the memory of the process."""
    bodies = [record.body for source in expand(str(folder)) for record in records(source, "http://x.example/")]
    sites = SiteCache(SiteStore(None, load(LABELLED)), capacity=capacity)
    print(f"{'sites':>8}  {'pages':>8}  {'resident MB':>11}")
    turn = cycle(bodies)
    for first in range(0, number, 100):
        for _ in range(_PAGES):
            for host, body in zip(range(first, first + 100), islice(turn, 100), strict=True):
                page = Page.parse(body, f"http://site{host}.example/{hash(body)}")
                sites.learn(page)
                sites[page.site].templateness(page)
        if (first + 100) % (number // 10) == 0:
            print(f"{first + 100:>8}  {(first + 100) * _PAGES:>8}  {resident():>11.0f}", flush=True)


class Generated:
    """A site of any number of pages: each has the same menu, words of its own, and links to ten further pages."""

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def __call__(self, path: str) -> Reply:
        number = int(path.strip("/") or 0)
        links = "".join(
            f"<li><a href=/{i}>Part {i}</a>" for i in range(10 * number + 1, 10 * number + 11) if i < self.pages
        )
        words = random.Random(number)
        text = "".join(f"<p>{' '.join(f'word{words.randrange(50_000)}' for _ in range(60))}.</p>" for _ in range(4))
        menu = "".join(f"<li><a href=/{i}>Chapter {i}</a>" for i in range(10))
        body = (
            f"<html lang=en><title>Page {number}</title><body><ul id=menu>{menu}</ul><main><h1>Page {number}</h1>{text}"
            f"<ul>{links}</ul></main><footer>All rights reserved by the house</footer></html>"
        )
        return 200, {"Content-Type": "text/html"}, body.encode(), 0.0


class GeneratedSpider(LinksSpider):
    """Print the memory of the process at each tenth of the pages."""

    name = "generated"
    most = "0"
    received = 0

    def parse(self, response: Response) -> Iterator[Any]:
        yield from super().parse(response)
        self.received += 1
        if self.received % (int(self.most) // 10) == 0:
            print(self.received, resident(), resident("RssFile"), flush=True)


def crawls(pages: int) -> None:
    """Crawl a generated site without the plugin and with it, and print the memory of both as they proceed."""
    with served([Generated(pages)]) as [url]:
        columns = [memory_of_crawl(url, pages, addons) for addons in (WITHOUT, WITH)]
    rows = [
        [number, *(f"{size:.0f}" for column in columns for size in column.get(number, (0.0, 0.0)))]
        for number in columns[0]
    ]
    table(["pages", "MB without", "of files", "MB with the plugin", "of files"], rows)


def memory_of_crawl(url: str, pages: int, addons: str) -> dict[int, tuple[float, float]]:
    """The memory of a crawl, and that of files in it, by the number of pages received."""
    settings = [part for name, value in (SETTINGS | {"ADDONS": addons}).items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "runspider", __file__, "-a", f"urls={url}", "-a", f"most={pages}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        command += ["-O", f"{folder}/feed.jsonl", *settings, "-s", "LOG_LEVEL=ERROR"]
        found = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    if found.returncode:
        sys.exit(found.stderr)
    lines = map(str.split, found.stdout.splitlines())
    return {int(number): (float(size), float(of_files)) for number, size, of_files in lines}


def resident(field: str = "VmRSS") -> float:
    """Resident memory of this process in megabytes, or a part of it, as reported by Linux."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1000
