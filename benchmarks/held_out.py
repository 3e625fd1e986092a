r"""Crawl a site with the model that was trained without it, as a ``--crawl`` command of the referee; score the feeds.

    python ../shared/bench/crawl_sites.py --sites .data/sites --out .data/feeds \
        --crawl "python -m benchmarks held_out .data/models {url} {feed}"
    python -m benchmarks held_out .data/feeds      # content by role, the mean over the sites

The name of the feed must be the name of the site, which names its family (``families.json``) and so its fold.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.page_sets import SITES
from benchmarks.role_labels import RULES, gold_by_role, the_referee
from benchmarks.tools import fold, table

KEYS = ("f1", "precision", "recall", "coverage")


def main(argv: Sequence[str]) -> int:
    if len(argv) == 1:
        return score(Path(argv[0]))
    models, url, feed, *options = argv
    model = Path(models, f"fold-{fold(Path(feed).stem)}.npz")
    return subprocess.call(
        ["scrapy", "crawl", "site", "-a", f"url={url}", "-O", feed, "-s", f"PAGELETS_MODEL={model.resolve()}", *options]
    )


def score(feeds: Path) -> int:
    """Print how clean the feeds of a folder are, by set of sites."""
    args = argparse.Namespace(data=Path(".data"), referee=Path("../shared/bench"), rules=RULES)
    referee, rows = the_referee(args.referee), []
    for name in SITES:
        found = [
            referee.roles.score(referee.read(feed), gold_by_role(args, referee, name, feed.stem))
            for feed in sorted(feeds.glob("*.jsonl"))
            if (args.data / name / feed.stem).is_dir()
        ]
        if found:
            rows.append([name, len(found), *(fmean(one[key] for one in found) for key in KEYS)])
    table(["crawls", "sites", *KEYS], rows)
    return 0
