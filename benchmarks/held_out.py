r"""Crawl a site with the model that was trained without it, as a ``--crawl`` command of the referee.

    python ../shared/bench/crawl_sites.py --sites .data/sites --out .data/feeds \
        --crawl "python benchmarks/held_out.py .data/models {url} {feed}"

The name of the feed must be the name of the site, because ``scrapy pagelets train --folds .data/models`` assigns sites
to folds by name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scrapy_pagelets.templates.training.labels import fold_of


def main() -> int:
    models, url, feed, *options = sys.argv[1:]
    model = Path(models, f"fold-{fold_of(Path(feed).stem)}.npz")
    return subprocess.call(
        ["scrapy", "crawl", "site", "-a", f"url={url}", "-O", feed, "-s", f"PAGELETS_MODEL={model.resolve()}", *options]
    )


if __name__ == "__main__":
    sys.exit(main())
