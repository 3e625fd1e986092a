r"""Crawl a site with the model that was trained without it, as a ``--crawl`` command of the referee.

    python ../shared/bench/crawl_sites.py --sites .data/sites --out .data/feeds \
        --crawl "python -m benchmarks held_out .data/models {url} {feed}"

The name of the feed must be the name of the site, which names its family (``families.json``) and so its fold.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tools import fold


def main(argv: Sequence[str]) -> int:
    models, url, feed, *options = argv
    model = Path(models, f"fold-{fold(Path(feed).stem)}.npz")
    return subprocess.call(
        ["scrapy", "crawl", "site", "-a", f"url={url}", "-O", feed, "-s", f"PAGELETS_MODEL={model.resolve()}", *options]
    )
