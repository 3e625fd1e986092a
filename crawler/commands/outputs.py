"""Where commands that run a spider write: their options, which are read without Scrapy."""

from __future__ import annotations

import argparse
from typing import Final

#: Name of the feed that is standard output.
STDOUT: Final = "-"


def add_output(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the options."""
    parser.add_argument(
        "-o", "--out", metavar="FILE", default=default,
        help="file to write, replaced if it exists; a feed is named .jsonl, .parquet, .json or .csv; - is standard "
        "output (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--log", metavar="FILE", help="of a feed: write Scrapy's log to a file (default: only warnings are shown)"
    )
