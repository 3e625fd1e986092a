r"""Crawl a site with the model that was learnt without it: for the referee's ``--crawl``.

    python ../shared/bench/crawl_sites.py --sites .data/sites --out .data/feeds \
        --crawl "python benchmarks/held_out.py .data/models {url} {feed}"

The site's name is the feed's; ``scrapy pagelets train --folds .data/models`` puts each site into a
fold by its name.
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
