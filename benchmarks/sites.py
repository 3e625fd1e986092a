"""How clean whole sites are: content F1 and template F1 of crawled sites against their gold text.

The referee (``--referee ../shared/bench``) serves each site on loopback, crawls it with ``scrapy crawl site`` and
scores the feed. This program prints the scores with their means, the worst sites, and how many pages were loaded per
template. Feeds, logs and ``scores.json`` stay in ``--out``; ``--feeds DIR`` prints such a folder again without a crawl.
``--detection`` crawls with several methods instead, each into a folder of its own (``out/sites-etdm``), and prints a
row of means for each. ``--archive`` cleans the same sites as archives as well, and prints the template F1 of both.

    python -m benchmarks sites --only hexo,jdo,typer --out out/sites
    python -m benchmarks sites --feeds out/sites
    python -m benchmarks sites --detection etdm,fused,classifier,local,global --every 2
    python -m benchmarks sites --detection etdm --archive
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.tools import last_lines, need, option_parser, referee, run, sites_below, table

WORST = 5
#: The referee puts the URL of the site and the path of the feed in.
CRAWL = "scrapy crawl site -a url={url} -O {feed}"
_PER_TEMPLATE = re.compile(r"'pagelets/probe/pages_per_template': ([\d.]+)")


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th site of sites.json")
    parser.add_argument("--out", type=Path, default=Path("out/sites"))
    parser.add_argument("--feeds", type=Path, help="print this folder of an earlier run, without crawling")
    parser.add_argument("--detection", default="", help="comma-separated values of PAGELETS_DETECTION to compare")
    parser.add_argument("--archive", action="store_true", help="with --detection: compare crawls with archives")
    args = parser.parse_args(argv)
    folder = args.feeds or args.out
    if not args.detection:
        if args.feeds is None:
            crawl(args, folder, CRAWL)
        report(*read(folder))
        return
    folders = {method: folder.with_name(f"{folder.name}-{method}") for method in args.detection.split(",")}
    for method, out in folders.items():
        if args.feeds is None:
            crawl(args, out, f"{CRAWL} -s PAGELETS_DETECTION={method}")
    runs = {method: read(out) for method, out in folders.items()}
    compare(runs)
    for method in folders if args.archive else ():
        beside_archive(method, runs[method][0]["sites"], sites_below(args.data), args.referee, folders[method])


def every(sites: Path, step: int) -> list[str]:
    """Names of every so many sites, in the order of the data."""
    about = json.loads((sites / "sites.json").read_text(encoding="utf-8"))
    return [site["name"] for site in about][step - 1 :: step]


def read(folder: Path) -> tuple[dict[str, Any], dict[str, float | None]]:
    """Return the scores of a run, and the pages loaded per template of each site."""
    scores = json.loads(need(folder / "scores.json", "a run writes it at its end").read_text(encoding="utf-8"))
    return scores, {name: per_template(folder / f"{name}.log") for name in scores["sites"]}


def crawl(args: argparse.Namespace, out: Path, command_of_site: str) -> None:
    """Let the referee crawl and score the sites; its output is shown."""
    program = need(args.referee / "crawl_sites.py", "name the folder of the referee with --referee")
    sites = sites_below(args.data)
    only = args.only or ",".join(every(sites, args.every))
    (out / "scores.json").unlink(missing_ok=True)
    command = [sys.executable, program, "--sites", sites, "--out", out, "--only", only, "--crawl", command_of_site]
    if code := run([str(part.absolute() if isinstance(part, Path) else part) for part in command]):
        sys.exit(f"the referee ended with exit code {code}")
    print()


def per_template(log: Path) -> float | None:
    """Pages loaded per template, from the stats at the end of a log; None if no template was searched for."""
    found = _PER_TEMPLATE.search(log.read_text(encoding="utf-8", errors="replace")) if log.exists() else None
    return float(found[1]) if found else None


def report(scores: dict[str, Any], loaded: dict[str, float | None]) -> None:
    """Print the sites from the worst to the best, the means, and what is wrong with the worst.

    The last row has the sum of the pages and the number of crawls that failed.
    """
    sites = sorted(scores["sites"].items(), key=lambda site: site[1]["f1"])
    keys = ("f1", "precision", "recall", "template_f1", "template_precision", "template_recall", "coverage")
    head = [
        "site",
        "pages",
        "F1",
        "prec.",
        "recall",
        "tmpl. F1",
        "t. prec.",
        "t. recall",
        "coverage",
        "twice",
        "per tmpl.",
        "exit",
    ]
    rows = [
        [name, row["pages"], *(row[k] for k in keys), row["fetched_twice"], loaded[name], row["exit"]]
        for name, row in sites
    ]
    mean = scores["mean"]
    failed = sum(row["exit"] != 0 for _, row in sites)
    total = sum(row["pages"] for _, row in sites)
    rows.append(["MEAN", total, *(mean[k] for k in keys), mean["fetched_twice"], mean_of(loaded), failed])
    table(head, rows)
    print(f"\nThe worst of {len(sites)} sites by content F1:")
    for name, row in sites[:WORST]:
        print(f"  {name}: {row['f1']:.3f}, {reason(row)}; full text has {row['f1_of_full_text']:.3f}")
    pairs = mean.get("pair_precision"), mean.get("pair_recall")
    print(f"\nNear-duplicates of all sites: precision {pairs[0]}, recall {pairs[1]}")


def mean_of(loaded: dict[str, float | None]) -> float | None:
    """Mean over the sites on which a template was searched for, None if there are none."""
    loads = [value for value in loaded.values() if value is not None]
    return sum(loads) / len(loads) if loads else None


def compare(runs: dict[str, tuple[dict[str, Any], dict[str, float | None]]]) -> None:
    """Print a row of means for each method of detection, over the sites that all methods have crawled.

    The start of the program counts for responses per second.
    """
    common = set.intersection(*(set(scores["sites"]) for scores, _ in runs.values()))
    rows = []
    for method, (scores, loaded) in runs.items():
        sites = [scores["sites"][name] for name in sorted(common)]
        content, template, requests, seconds = (
            sum(row[key] for row in sites) for key in ("f1", "template_f1", "requests", "seconds")
        )
        loads = mean_of({name: loaded[name] for name in common})
        failed = sum(row["exit"] != 0 for row in sites)
        n = len(sites)
        rows.append([method, n, content / n, template / n, loads, requests / seconds, failed])
    table(["method", "sites", "content F1", "template F1", "loaded per template", "responses/s", "failed"], rows)


def beside_archive(method: str, crawled: dict[str, Any], sites: Path, folder: Path, out: Path) -> None:
    """Print the template F1 of each site that was crawled, and of the same site as an archive, furthest apart first."""
    score = referee(folder)
    rows = []
    for name, row in crawled.items():
        feed, site = (out / f"{name}.archive.jsonl").absolute(), (sites / name).absolute()
        options = ["-a", f"path={site}", "-a", "base=http://127.0.0.1/", "-s", f"PAGELETS_DETECTION={method}"]
        if run(["scrapy", "crawl", "archive", *options, "-O", str(feed)], feed.with_suffix(".log")):
            sys.exit(f"the archive of {name} could not be cleaned: {last_lines(feed.with_suffix('.log'))}")
        archived = score.score_sites(score.read(feed), score.read(site / "gold.jsonl.gz"))["template_f1"]
        rows.append([name, row["template_f1"], archived, row["template_f1"] - archived])
    print()
    table([f"{method}, template F1", "crawl", "archive", "difference"], sorted(rows, key=lambda one: -abs(one[3])))


def reason(row: dict[str, Any]) -> str:
    """Which of the two kinds of error is larger."""
    kept, lost = 1 - row["precision"], 1 - row["recall"]
    if kept > lost:
        return f"template is kept: {kept:.1%} of the words exported are wrong, {lost:.1%} of the content is lost"
    return f"content is lost: {lost:.1%} of it, {kept:.1%} of the words exported are wrong"
