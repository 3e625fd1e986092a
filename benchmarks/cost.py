"""What cleaning a page costs, in milliseconds and in multiples of the lxml parse of the same page.

Data: a folder of sites (``--data .data``). All other pages of a site are learnt before its sample is cleaned. The
sample is deterministic: pages at equal distances in the order of their paths. Every repetition starts from bytes and
runs all steps for a page one after the other, including the bare parse and the other tools; the fastest repetition
counts. Compare the multiples, not the milliseconds, between machines.

    python benchmarks/cost.py --only hexo,jdo,typer --pages 4
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
from lxml import etree
from tools import names, sites_below, table

from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.archives.reader import Record, expand, records
from scrapy_pagelets.document.metadata import metadata_of
from scrapy_pagelets.page import decode, parse
from scrapy_pagelets.text import plain

REFERENCE = "lxml parse alone"
STEPS = ("decode", "parse", "node table", "learn", "templateness", "metadata", "segment", "records and text")
#: Steps that a spider has done already; the plugin starts from its tree.
SPIDERS = ("decode", "parse")

Peer = Callable[[str], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--pages", type=int, default=5, help="number of sample pages of each site")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="leave out trafilatura and resiliparse, if installed")
    args = parser.parse_args()
    only, peers = names(args.only), {} if args.no_peers else installed_peers()
    best: dict[str, list[float]] = defaultdict(list)
    sites = [f for f in sorted(sites_below(args.data).iterdir()) if f.is_dir() and (not only or f.name in only)]
    for folder in sites:
        for times in measure(folder, args.pages, args.repetitions, peers):
            for step, seconds in times.items():
                best[step].append(seconds * 1000)
    if not best:
        raise SystemExit("no page to measure: --only matches no site")
    print(f"{len(best[REFERENCE])} pages of {len(sites)} sites, best of {args.repetitions}\n")
    report(best, list(peers))


def installed_peers() -> dict[str, Peer]:
    """The other tools that are installed, as functions from decoded HTML to text."""
    found: dict[str, Peer] = {}
    if importlib.util.find_spec("trafilatura"):
        import trafilatura

        found["trafilatura"] = trafilatura.extract
        found["trafilatura, fast"] = lambda text: trafilatura.extract(text, fast=True)
    if importlib.util.find_spec("resiliparse"):
        from resiliparse.extract.html2text import extract_plain_text

        found["resiliparse"] = lambda text: extract_plain_text(text, main_content=True)
    return found


def measure(folder: Path, count: int, repetitions: int, peers: dict[str, Peer]) -> Iterator[dict[str, float]]:
    """The fewest seconds of each step, for each page of a site's sample."""
    found = [record for source in expand(str(folder)) for record in records(source, f"http://{folder.name}.example/")]
    sample = found[:: max(1, len(found) // count)][:count]
    sampled = {record.url for record in sample}
    others = [Page.parse(record.body, record.url) for record in found if record.url not in sampled]
    best: list[dict[str, float]] = [{} for _ in sample]
    for _ in range(repetitions):
        site = Site(folder.name)
        for page in others:
            site.learn(page)
        for fastest, record in zip(best, sample, strict=True):
            for step, seconds in steps(record, site, peers):
                fastest[step] = min(seconds, fastest.get(step, seconds))
    yield from best


def steps(record: Record, site: Site, peers: dict[str, Peer]) -> Iterator[tuple[str, float]]:
    """Clean a page; yield each step and its seconds."""
    times = [perf_counter()]

    def done(step: str) -> tuple[str, float]:
        times.append(perf_counter())
        return step, times[-1] - times[-2]

    declared = record.headers.get("Content-Type")
    text = decode(record.body, declared[0] if declared else None)
    yield done("decode")
    root = parse(text)
    yield done("parse")
    page = Page.from_root(root, record.url)
    yield done("node table")
    site.learn(page)
    yield done("learn")
    templateness = site.templateness(page)
    yield done("templateness")
    metadata_of(page)
    yield done("metadata")
    content = [pagelet for pagelet in segment(page, templateness) if pagelet.role == "content"]
    yield done("segment")
    keep = np.zeros(len(page.nodes.leaves), np.bool_)
    for pagelet in content:
        pagelet.record()
        keep |= pagelet.leaves
    plain(page.nodes, keep)
    yield done("records and text")

    body = text.encode("utf-8", "replace") or b"<html/>"
    times.append(perf_counter())
    etree.fromstring(body, etree.HTMLParser(encoding="utf-8", huge_tree=True))
    yield done(REFERENCE)
    for name, peer in peers.items():
        peer(text)
        yield done(name)


def report(best: dict[str, list[float]], peers: list[str]) -> None:
    """Print a line for each step; sums and multiples are computed page by page."""
    parsed = best[REFERENCE]
    whole = [sum(times) for times in zip(*(best[step] for step in STEPS), strict=True)]
    added = [sum(times) for times in zip(*(best[step] for step in STEPS if step not in SPIDERS), strict=True)]
    lines = {step: best[step] for step in (REFERENCE, *STEPS)}
    lines |= {"all, from bytes": whole, "all, from the spider's tree": added}
    lines |= {name: best[name] for name in peers}
    table(
        ["step", "mean ms", "median ms", "mean x parse", "median x parse", "max x parse"],
        [
            [name, *(f"{v:.2f}" for v in (statistics.mean(ms), statistics.median(ms), *multiples(ms, parsed)))]
            for name, ms in lines.items()
        ],
    )
    print()
    for name in peers:
        print(f"{name} takes {sum(best[name]) / sum(whole):.1f} times as long as all steps from bytes")


def multiples(times: list[float], parsed: list[float]) -> tuple[float, float, float]:
    """Mean, median and largest multiple of the parse."""
    ratios = [one / other for one, other in zip(times, parsed, strict=True)]
    return statistics.mean(ratios), statistics.median(ratios), max(ratios)


if __name__ == "__main__":
    main()
