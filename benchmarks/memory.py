"""The size of a site's counts in memory and on disk, and the memory of a process that visits many sites.

    python benchmarks/memory.py                                       # some sites: entries, bytes, milliseconds
    python benchmarks/memory.py --many 2000 --capacity 300000         # many sites, each visited for three pages

Data: a folder of sites (``--data .data``). The many sites are the pages of one site under many hosts.
"""

from __future__ import annotations

import argparse
import tracemalloc
from itertools import cycle, islice, pairwise
from pathlib import Path
from time import perf_counter

from tools import names, sites_below, table

from scrapy_pagelets.archives.reader import expand, records
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.model import LABELLED, load
from scrapy_pagelets.templates.site import Site
from scrapy_pagelets.templates.site_cache import SiteCache
from scrapy_pagelets.templates.site_counts import SiteCounts
from scrapy_pagelets.templates.site_store import SiteStore, pack, unpack

_PAGES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--only", default="hexo,tomcat10,ipe,cmake", help="comma-separated names of sites")
    parser.add_argument("--many", type=int, default=0, help="number of sites to visit")
    parser.add_argument("--capacity", type=int, default=300_000, help="entries that the many sites may have in memory")
    args = parser.parse_args()
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
    for page, odds in evidence:
        site.count(page, odds)
    size = tracemalloc.get_traced_memory()[0]
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
                sites.of(page).templateness(page)
        if (first + 100) % (number // 10) == 0:
            print(f"{first + 100:>8}  {(first + 100) * _PAGES:>8}  {resident():>11.0f}", flush=True)


def resident() -> float:
    """Resident memory of this process in megabytes, as reported by Linux."""
    fields = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(field.split()[1]) for field in fields if field.startswith("VmRSS")) / 1000


if __name__ == "__main__":
    main()
