"""What cleaning a page costs, in multiples of the lxml parse of the same page, and what comes out, beside other tools.

Data: a folder of sites with gold (``--data .data``). All other pages of a site are learnt before its sample is cleaned.
The sample is deterministic: pages at equal distances in the order of their paths. Every repetition starts from bytes
and runs all steps for a page, then the bare parse and the other tools on the same page; CPU time is measured. The
decision includes the heading, the metadata and all corrections. Cold is the first repetition, in which nothing has
seen the page yet; warm is the fastest of the others. F1 of the words is the referee's (``--referee ../shared/bench``),
by the shipped model or by the models that were trained without the site (``--models .data/models``). A tool that learns
whole sites (deboiler) has learnt all pages of the site before, which is not measured. Tools that are not installed are
left out: ``pip install trafilatura resiliparse readability-lxml justext boilerpy3 turbohtml deboiler``.
Compare the multiples, not the milliseconds, between machines.

    python -m benchmarks cost --only hexo,jdo,typer --pages 4
"""

from __future__ import annotations

import gc
import logging
import statistics
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time
from types import ModuleType

import numpy as np
from lxml import etree

from benchmarks.peers import FAST_AND_SLOW, OF_SITES, Extract, Pages, is_installed
from benchmarks.role_labels import add_rules, gold_by_role, the_referee
from benchmarks.tools import fold, names, option_parser, sites_below, table
from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.archives.reader import Record, expand, records
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.feed.pagelet import records_of
from scrapy_pagelets.page.page import decode, parse
from scrapy_pagelets.page.text import plain

REFERENCE = "lxml parse alone"
STEPS = ("decode", "parse", "node table", "learn", "decision", "segment", "records and text")
#: Steps that a spider has done already; the plugin starts from its tree.
SPIDERS = ("decode", "parse")
OURS, FROM_TREE = "all, from bytes", "all, from the spider's tree"
#: Seconds of each step, for each repetition.
Times = dict[str, list[float]]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--models", type=Path, help="folder with fold-0.npz ..., trained without the sites")
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--pages", type=int, default=5, help="number of sample pages of each site")
    parser.add_argument("--repetitions", type=int, default=3, help="two or more; the first is the cold one")
    parser.add_argument("--no-peers", action="store_true", help="leave out all other tools")
    args = parser.parse_args(argv)
    if args.repetitions < 2:
        parser.error("--repetitions must be at least 2: the first is the cold one")
    folders = [
        folder
        for folder in sorted(sites_below(args.data).iterdir())
        if folder.is_dir() and (not args.only or folder.name in names(args.only))
    ]
    if not folders:
        raise SystemExit("no page to measure: --only matches no site")
    logging.disable()  # some tools log a line for each page
    warnings.simplefilter("ignore")
    score = the_referee(args.referee)
    known = {} if args.no_peers else FAST_AND_SLOW | OF_SITES
    installed = [name for name in known if is_installed(name, known)]
    peers = {name: tool() for name, tool in FAST_AND_SLOW.items() if name in installed}
    of_sites = {name: tool for name, tool in OF_SITES.items() if name in installed}
    times: list[Times] = []
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for folder in folders:
        model = str(args.models / f"fold-{fold(folder.name)}.npz") if args.models else LABELLED
        gold = {line["path"]: line for line in gold_by_role(args, score, folder.parent.name, folder.name)}
        for record, page_times, texts in measure(folder, model, args.pages, args.repetitions, peers, of_sites):
            times.append(page_times)
            if line := gold.get(record.url.partition(".example/")[2]):
                for tool, text in texts.items():
                    found[tool][folder.name].append(f1(text, line, score))

    print(f"{len(times)} pages of {len(folders)} sites\n")
    quality = {tool: statistics.mean(map(statistics.mean, sites.values())) for tool, sites in found.items()}
    report(times, installed, quality)


def f1(text: str, line: dict[str, object], score: ModuleType) -> float:
    """The referee's F1 of the content of a page, by the roles of its texts."""
    return float(score.roles.score([{"url": f"http://site.example/{line['path']}", "text": text}], [line])["f1"])


def measure(
    folder: Path,
    model: str,
    count: int,
    repetitions: int,
    peers: Mapping[str, Extract],
    of_sites: Mapping[str, Callable[[Pages], Extract]],
) -> Iterator[tuple[Record, Times, dict[str, str]]]:
    """Each page of a site's sample with its times and the text that each tool finds."""
    found = [record for source in expand(str(folder)) for record in records(source, f"http://{folder.name}.example/")]
    sample = found[:: max(1, len(found) // count)][:count]
    sampled = {record.url for record in sample}
    others = [Page.parse(record.body, record.url) for record in found if record.url not in sampled]
    pages = [(record.url, record.body) for record in found]
    peers = {**peers, **{name: tool(pages) for name, tool in of_sites.items()}}
    gc.unfreeze()  # what those of the site before have left
    gc.collect()
    gc.freeze()  # that Python scans what one tool keeps is no cost of another
    times: list[Times] = [defaultdict(list) for _ in sample]
    texts: list[dict[str, str]] = [{} for _ in sample]
    for _ in range(repetitions):
        site = Site(folder.name, model)
        for page in others:
            site.learn(page)
        for page_times, page_texts, record in zip(times, texts, sample, strict=True):
            for step, seconds in steps(record, site, peers, page_texts):
                page_times[step].append(seconds)
    yield from zip(sample, times, texts, strict=True)


def steps(
    record: Record, site: Site, peers: Mapping[str, Extract], texts: dict[str, str]
) -> Iterator[tuple[str, float]]:
    """Clean a page, and collect the texts of all tools; yield each step and its seconds of CPU time."""
    times = [process_time()]

    def done(step: str) -> tuple[str, float]:
        times.append(process_time())
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
    decision = decided(page, site)
    yield done("decision")
    content = [pagelet for pagelet in segment(page, decision.templateness) if pagelet.role == "content"]
    yield done("segment")
    keep = np.zeros(len(page.nodes.leaves), np.bool_)
    records_of(content)
    for pagelet in content:
        keep[pagelet.index] = True
    texts[OURS] = plain(page.nodes, keep)
    yield done("records and text")

    body = text.encode("utf-8", "replace") or b"<html/>"
    times.append(process_time())
    etree.fromstring(body, etree.HTMLParser(encoding="utf-8", huge_tree=True))
    yield done(REFERENCE)
    for name, peer in peers.items():
        texts[name] = peer(record.body)
        yield done(name)


def report(times: Sequence[Times], peers: Sequence[str], quality: Mapping[str, float]) -> None:
    """Print a line for each step and each tool; sums and multiples are computed page by page."""
    for page in times:
        page[OURS] = [sum(parts) for parts in zip(*(page[step] for step in STEPS), strict=True)]
        added = (page[step] for step in STEPS if step not in SPIDERS)
        page[FROM_TREE] = [sum(parts) for parts in zip(*added, strict=True)]
    rows = []
    for name in (REFERENCE, *STEPS, FROM_TREE, OURS, *peers):
        cold = [page[name][0] / min(page[REFERENCE]) for page in times]
        warm = [min(page[name][1:]) / min(page[REFERENCE]) for page in times]
        milliseconds = 1000 * statistics.mean(min(page[name][1:]) for page in times)
        columns = (milliseconds, statistics.mean(warm), statistics.median(warm), np.quantile(warm, 0.95), max(warm))
        rows.append([name, *(f"{v:.2f}" for v in (*columns, statistics.mean(cold), np.quantile(cold, 0.95)))])
        rows[-1].append(f"{quality[name]:.3f}" if name in quality else "")
    head = ["CPU time of", "ms", "x parse, mean", "median", "p95", "max", "cold, mean", "p95", "F1"]
    table(head, rows)
    print()
    ours = sum(min(page[OURS][1:]) for page in times)
    for name in peers:
        peer = sum(min(page[name][1:]) for page in times)
        print(f"{name} takes {peer / ours:.2f} times as long as all our steps from bytes")
