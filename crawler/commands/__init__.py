"""The command ``scrapy pagelets``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.crawler.addon import add_parquet_for_options
from scrapy_pagelets.crawler.commands.terminal import CLOSED, OutputClosed, flush, warn
from scrapy_pagelets.session.scrapy_hooks import before_options_are_checked

#: Subcommand -> its description, and the module with its ``add_arguments(parser)`` and ``run(options)``. The modules
#: are imported when `scrapy pagelets` runs; they import heavy libraries in ``run`` only.
_COMMANDS: Final = {
    "chunks": ("write the chunks of a feed, one line of JSON each", "scrapy_pagelets.crawler.commands.chunks"),
    "corpus": ("clean a corpus of WARC or Parquet files", "scrapy_pagelets.crawler.commands.corpus"),
    "diff": (
        "show which pages are new, gone or changed since an earlier crawl",
        "scrapy_pagelets.crawler.commands.diff",
    ),
    "duplicates": (
        "show near-duplicate pages, copied blocks and copied sites",
        "scrapy_pagelets.crawler.commands.find_duplicates",
    ),
    "index": ("write a feed to a search index", "scrapy_pagelets.crawler.commands.fill_index"),
    "llms": ("write llms.txt and llms-full.txt of a feed", "scrapy_pagelets.crawler.commands.llms"),
    "mcp": ("serve an index to language models, by the Model Context Protocol", "scrapy_pagelets.crawler.commands.mcp"),
    "merge": ("put the parts of a shared crawl together", "scrapy_pagelets.crawler.commands.merge"),
    "rank": (
        "rank the pages of a crawl by their links, or show related pages",
        "scrapy_pagelets.crawler.commands.rank",
    ),
    "report": ("show how much was stripped, per site and template", "scrapy_pagelets.crawler.commands.report"),
    "search": (
        "search an index, with or without feedback from the best pagelets",
        "scrapy_pagelets.crawler.commands.search",
    ),
    "similar": ("show the pages that resemble a page of a feed most", "scrapy_pagelets.crawler.commands.similar"),
    "template": (
        "write the template of a site as HTML, with slots where content stands",
        "scrapy_pagelets.crawler.commands.template",
    ),
    "train": ("train a model on archives, with or without labels by people", "scrapy_pagelets.crawler.commands.train"),
    "view": ("draw the pagelets of a page over a picture of it", "scrapy_pagelets.crawler.commands.view"),
}
# Scrapy imports this module whenever a command starts.
before_options_are_checked(add_parquet_for_options)


class PageletsCommand(ScrapyCommand):
    """The group of commands; ``-h`` describes each."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "COMMAND ..."

    def short_desc(self) -> str:
        return "Look at pagelets and templates"

    def long_desc(self) -> str:
        return "Look at pagelets and templates."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        commands = parser.add_subparsers(
            title="commands",
            prog="scrapy pagelets",
            metavar="COMMAND",
            dest="command",
            parser_class=argparse.ArgumentParser,
        )
        for name, (about, module) in _COMMANDS.items():
            sub = commands.add_parser(name, help=about, description=f"{about.capitalize()}.")
            import_module(module).add_arguments(sub)
            sub.set_defaults(module=module)
        super().add_options(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.command is None or args:
            raise UsageError(f"unknown argument: {' '.join(args)}" if args else "", print_help=not args)
        opts.settings = self.settings
        self.exitcode = run_command(import_module(opts.module).run, opts)


def run_command(run: Callable[[argparse.Namespace], int | None], options: argparse.Namespace) -> int:
    """Run a command and return its exit code; 1, after printing the message, if it raises a `PageletsError`."""
    try:
        code = run(options)
        flush()
    except PageletsError as error:
        warn(error)
        return 1
    except OutputClosed:
        return CLOSED
    return code or 0
