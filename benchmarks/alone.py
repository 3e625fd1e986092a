"""Word F1 by type of page, each page of an archive cleaned by itself, with the model trained without its site.

Data: WARC files and their gold in ``content/`` below ``--data .data``; the cross-validation models that ``scrapy
pagelets train --folds .data/models`` writes. The referee's functions compute the scores. Pages of sets that are not
used for training are cleaned with one of these models, too.

    python benchmarks/alone.py --sets wcxb-dev
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from content import SETS, scores
from tools import names, need, referee, table

from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.archives.reader import expand, records
from scrapy_pagelets.templates.training.labels import fold_of
from scrapy_pagelets.text import plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--sets", default="wcxb-dev", help=f"comma-separated names of sets ({SETS})")
    args = parser.parse_args()
    score = referee(args.referee)
    rows: list[list[Any]] = []
    for name in sorted(names(args.sets)):
        archive = need(args.data / "content" / f"{name}.warc", "the benchmark needs the WARC file of each set")
        gold = score.read(args.data / "content" / f"{name}.gold.jsonl.gz")
        rows += scores(score, name, list(cleaned(archive, args.models)), gold)
    table(["set", "pages", "coverage", "precision", "recall", "F1"], rows)


def cleaned(archive: Path, models: Path) -> Iterator[dict[str, str]]:
    """URL and content of each page."""
    pages = [
        Page.parse(record.body, record.url, next(iter(record.headers.get("Content-Type") or ()), None))
        for source in expand(str(archive))
        for record in records(source, "")
    ]
    for page in sorted(pages, key=lambda page: fold_of(page.site)):  # by fold: few models are in memory at a time
        site = Site(page.site, str(models / f"fold-{fold_of(page.site)}.npz"))
        site.learn(page)
        keep = np.zeros(len(page.nodes.leaves), np.bool_)
        for part in segment(page, site.templateness(page)):
            if part.role == "content":
                keep |= part.leaves
        yield {"url": page.url, "text": plain(page.nodes, keep)}


if __name__ == "__main__":
    main()
