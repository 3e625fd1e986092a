"""How clean whole sites are: content F1 and template F1 of crawled sites against their gold text.

The referee (``--referee ../shared/bench``) serves each site on loopback, crawls it with ``scrapy crawl site`` and
scores the feed. This program prints the scores with their means, the worst sites, and how many pages were loaded per
template. Feeds, logs and ``scores.json`` stay in ``--out``; ``--feeds DIR`` prints such a folder again without a crawl.

    python benchmarks/sites.py --only hexo,jdo,typer --out out/sites
    python benchmarks/sites.py --feeds out/sites
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from tools import need, run, sites_below, table

WORST = 5
_PER_TEMPLATE = re.compile(r"'pagelets/probe/pages_per_template': ([\d.]+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--out", type=Path, default=Path("out/sites"))
    parser.add_argument("--feeds", type=Path, help="print this folder of an earlier run, without crawling")
    args = parser.parse_args()
    if args.feeds is None:
        crawl(args.data, args.referee, args.only, args.out)
    folder = args.feeds or args.out
    scores = json.loads(need(folder / "scores.json", "a run writes it at its end").read_text(encoding="utf-8"))
    report(scores, {name: per_template(folder / f"{name}.log") for name in scores["sites"]})


def crawl(data: Path, referee: Path, only: str, out: Path) -> None:
    """Let the referee crawl and score the sites; its output is shown."""
    program = need(referee / "crawl_sites.py", "name the folder of the referee with --referee")
    sites = sites_below(data)
    (out / "scores.json").unlink(missing_ok=True)
    command = [sys.executable, program, "--sites", sites, "--out", out, "--only", only]
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
    loads = [value for value in loaded.values() if value is not None]
    failed = sum(row["exit"] != 0 for _, row in sites)
    total = sum(row["pages"] for _, row in sites)
    mean_loads = sum(loads) / len(loads) if loads else None
    rows.append(["MEAN", total, *(mean[k] for k in keys), mean["fetched_twice"], mean_loads, failed])
    table(head, rows)
    print(f"\nThe worst of {len(sites)} sites by content F1:")
    for name, row in sites[:WORST]:
        print(f"  {name}: {row['f1']:.3f}, {reason(row)}; full text has {row['f1_of_full_text']:.3f}")
    pairs = mean.get("pair_precision"), mean.get("pair_recall")
    print(f"\nNear-duplicates of all sites: precision {pairs[0]}, recall {pairs[1]}")


def reason(row: dict[str, Any]) -> str:
    """Which of the two kinds of error is larger."""
    kept, lost = 1 - row["precision"], 1 - row["recall"]
    if kept > lost:
        return f"template is kept: {kept:.1%} of the words exported are wrong, {lost:.1%} of the content is lost"
    return f"content is lost: {lost:.1%} of it, {kept:.1%} of the words exported are wrong"


if __name__ == "__main__":
    main()
