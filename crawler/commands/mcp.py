"""The command ``pagelets mcp``: serve an index to language models, by the Model Context Protocol."""

import argparse
from contextlib import suppress
from typing import Final

from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.search import filled

EXAMPLES: Final = ("pagelets index pages.jsonl pages.sqlite", "pagelets mcp pages.sqlite")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", help="NAME.sqlite, as PAGELETS_INDEX and `pagelets index` write it")


def run(options: argparse.Namespace) -> None:
    with filled(options.index):  # or a sentence says why it cannot be served
        pass
    try:
        from scrapy_pagelets.llms.mcp_server import server_of
    except ModuleNotFoundError as error:
        raise CommandError(f"mcp needs a library ({error.name}): pip install 'scrapy-pagelets[mcp]'") from None
    with suppress(KeyboardInterrupt):
        server_of(options.index).run("stdio")
