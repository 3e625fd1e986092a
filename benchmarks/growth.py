"""How the time of each step grows: with the nodes of a page, the pages of a site, and the sites of a crawl.

Pages are made up: a menu and a footer that all have, and a content of sections, lists, tables and code, or of one of
these alone (``--shapes``). Each step of a page is measured in CPU time, at sizes that grow threefold; the fastest of
some repetitions counts. Printed are microseconds for each node and two exponents: that of a line fitted to the
logarithms over all sizes, and that of the last threefold step, where fixed costs no longer hide growth. The time for a
page of a site, or of a crawl, should not grow at all: its exponent is that of all pages together. What exceeds 1.1 is
named below the table. The bare parse is a measure of noise: on a busy machine it is not linear either.

    python -m benchmarks growth                            # nodes: 100 to 30,000 ...
    python -m benchmarks growth --largest 300000           # ... or 300,000
    python -m benchmarks growth pages --largest 100000     # pages of a site; resident memory beside it
    python -m benchmarks growth sites --largest 10000      # sites of a crawl, three pages of each
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import count, takewhile
from time import process_time

import numpy as np

from benchmarks.cost import REFERENCE, steps
from benchmarks.memory import resident
from benchmarks.tools import names, option_parser, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.archives.reader import Record
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore

TARGET = 1.1
SMALLEST, LARGEST = {"nodes": 100, "pages": 10, "sites": 10}, {"nodes": 30_000, "pages": 3_000, "sites": 300}
#: Content of a page: some rows of nodes that are repeated, each with its number.
SHAPES = {
    "links": "<li><a href=/page/{0}.html>Entry {0}</a></li>",
    "lists": "<ul><li>item {0}<ul><li>part {0} of it</li></ul></li></ul>",
    "tables": "<table><tr><td>cell {0}<td>value {0}<tr><td>next {0}<td><b>last {0}</b></table>",
    "text": "<h2 id=s{0}>Section {0}</h2><p>Sentence {0} of the text, which says <em>something</em> about {0}.</p>",
    "code": "<pre><code>line {0}\n  <span class=k>return</span> {0}\n</code></pre>",
}
MIXED = "mixed"
MENU = "<nav><ul>" + "".join(f"<li><a href=/{name}.html>{name}</a>" for name in "home news shop help contact".split())
FOOTER = "<footer><p>All rights reserved by the society</p></footer>"
#: Pages of a site whose mean time counts as the time at that number.
WINDOW = 10
PAGES_OF_A_SITE = 3


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("of", nargs="?", choices=tuple(LARGEST), default="nodes", help="what grows (default: nodes)")
    parser.add_argument("--largest", type=int, help=f"default: {LARGEST}")
    parser.add_argument("--repetitions", type=int, default=3, help="of nodes; more of small pages")
    parser.add_argument("--shapes", default=MIXED, help=f"comma-separated, of {', '.join((MIXED, *SHAPES))}")
    args = parser.parse_args(argv)
    if unknown := names(args.shapes) - {MIXED, *SHAPES}:
        parser.error(f"--shapes takes {', '.join((MIXED, *SHAPES))}, not {', '.join(sorted(unknown))}")
    sizes = sizes_to(SMALLEST[args.of], args.largest or LARGEST[args.of])
    if len(sizes) < 2:
        parser.error(f"--largest must be at least {3 * SMALLEST[args.of]}")
    if args.of == "nodes":
        report = {f"{shape}: {step}": exponents for shape in sorted(names(args.shapes))
                  for step, exponents in of_nodes(shape, sizes, args.repetitions).items()}  # fmt: skip
    else:
        report = of_pages(sizes) if args.of == "pages" else of_sites(sizes)
    worst = {name: max(found) for name, found in report.items() if max(found) > TARGET and REFERENCE not in name}
    print(f"\nAbove {TARGET}: " + (", ".join(f"{name} ({value:.2f})" for name, value in worst.items()) or "nothing"))


def sizes_to(smallest: int, largest: int) -> list[int]:
    """Sizes that grow threefold, nearly: 1, 3, 10, 30 and so on."""
    found = (smallest * factor * 10**power for power in count() for factor in (1, 3))
    return list(takewhile(lambda size: size <= largest, found))


def content(shape: str, nodes: int, first: int = 0) -> str:
    """Content of about so many rows of the node table."""
    rows = [(text, len(Page.parse(text.encode(), "http://a.b/").nodes.tag)) for text in
            (SHAPES.values() if shape == MIXED else [SHAPES[shape]])]  # fmt: skip
    parts: list[str] = []
    used = 0
    for number in count(first):
        if used >= nodes:
            return "".join(parts)
        text, size = rows[number % len(rows)]
        parts.append(text.format(number))
        used += size - 2  # without html and body
    raise AssertionError


def record(url: str, main: str) -> Record:
    """A page as an archive has it."""
    body = f"<!doctype html><title>Page</title>{MENU}</ul></nav><main><h1>Page {url}</h1>{main}</main>{FOOTER}"
    return Record(url, {}, body.encode(), None, "", 0)


def of_nodes(shape: str, sizes: Sequence[int], repetitions: int) -> dict[str, tuple[float, float]]:
    """Print the time of each step for pages of some sizes; return the exponents."""
    best: dict[str, list[float]] = defaultdict(list)
    rows = []
    for size in sizes:
        main = content(shape, size)
        found: dict[str, float] = {}
        for _ in range(max(repetitions, 5_000 // size)):
            site = Site("growth.example")
            for number in range(5):
                other = record(f"http://growth.example/{number}", content(shape, 50, 1000 * number))
                site.learn(Page.parse(other.body, other.url))
            for step, seconds in steps(record("http://growth.example/x", main), site, {}, {}):
                found[step] = min(seconds, found.get(step, seconds))
        whole = record("http://growth.example/x", main)  # a crawl refuses pages of more than 100,000 elements
        page = Page.parse(whole.body, whole.url, limits=Limits(nodes=2 * size, size=sys.maxsize))
        rows.append(len(page.nodes.tag))
        for step, seconds in found.items():
            best[step].append(seconds)
        best["all"].append(sum(found.values()))
    return printed(f"{shape}, µs a node", rows, best, rows)


def of_pages(sizes: Sequence[int]) -> dict[str, tuple[float, float]]:
    """Print the time of a page by the number of pages that its site has."""
    site = Site("growth.example")
    best: dict[str, list[float]] = defaultdict(list)
    window: dict[str, list[float]] = defaultdict(list)
    memory: list[float] = []
    for number in range(1, sizes[-1] + 1):
        page = record(f"http://growth.example/{number}", content(MIXED, 40, 7 * number))
        if any(size - WINDOW < number <= size for size in sizes):
            for step, seconds in steps(page, site, {}, {}):
                window[step].append(seconds)
        else:
            site.learn(Page.parse(page.body, page.url))
        if number in sizes:
            for step, times in window.items():
                best[step].append(min(times))
            memory.append(resident())
            window.clear()
    return per_page("pages of a site, µs a page", sizes, best, memory)


def of_sites(sizes: Sequence[int]) -> dict[str, tuple[float, float]]:
    """Print the time of a page by the number of sites that a process has visited."""
    sites = SiteCache(SiteStore(None, load(LABELLED)))
    best: dict[str, list[float]] = defaultdict(list)
    window: list[tuple[float, float]] = []
    memory: list[float] = []
    for number in range(1, sizes[-1] + 1):
        for turn in range(PAGES_OF_A_SITE):
            found = record(f"http://site{number}.example/{turn}", content(MIXED, 40, 7 * (number + turn)))
            page = Page.parse(found.body, found.url)
            start = process_time()
            sites.learn(page)
            learnt = process_time()
            sites[page.site].templateness(page)
            window = [*window, (learnt - start, process_time() - learnt)][-WINDOW:]
        if number in sizes:
            for step, times in zip(("learn", "templateness"), zip(*window, strict=True), strict=True):
                best[step].append(min(times))
            memory.append(resident())
    return per_page("sites, µs a page", sizes, best, memory)


def per_page(
    head: str, sizes: Sequence[int], best: dict[str, list[float]], memory: list[float]
) -> dict[str, tuple[float, float]]:
    """Print times for a page; the exponents are those of all pages together."""
    one = {step: [seconds * size for seconds, size in zip(times, sizes, strict=True)] for step, times in best.items()}
    found = printed(head, sizes, one, sizes)
    print(f"resident MB: {', '.join(f'{size}: {mb:.0f}' for size, mb in zip(sizes, memory, strict=True))}")
    return found


def printed(
    head: str, sizes: Sequence[int], best: dict[str, list[float]], units: Sequence[int]
) -> dict[str, tuple[float, float]]:
    """Print a table of the times for each unit; return both exponents of each step."""
    found, rows = {}, []
    for step, times in best.items():
        x, y = np.log(sizes), np.log(times)
        found[step] = float(np.polyfit(x, y, 1)[0]), float((y[-1] - y[-2]) / (x[-1] - x[-2]))
        each = (1e6 * seconds / unit for seconds, unit in zip(times, units, strict=True))
        rows.append([step, *(f"{time:.2f}" for time in each), *(f"{value:.2f}" for value in found[step])])
    table([head, *(f"{size:,}" for size in sizes), "exponent", "of the last step"], rows)
    return found
