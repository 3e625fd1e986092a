"""The command ``scrapy pagelets``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_pagelets.crawler.commands.terminal import CLOSED, OutputClosed, complain, flush
from scrapy_pagelets.errors import PageletsError

#: Subcommand -> what it does, and the module that has ``add_arguments(parser)`` and ``run(options)``. The
#: modules are imported when one of these commands is run; what is heavy they import in ``run``.
_COMMANDS: Final = {
    "duplicates": (
        "show near-duplicates, blocks and sites that were copied",
        "scrapy_pagelets.crawler.commands.duplicates",
    ),
    "index": ("write a feed to a search index", "scrapy_pagelets.crawler.commands.index"),
    "rank": ("rank the pages of a crawl by their links, show related pages", "scrapy_pagelets.crawler.commands.rank"),
    "report": ("show what was stripped, per site and template", "scrapy_pagelets.crawler.commands.report"),
    "search": (
        "search an index, with feedback from the best pagelets or without",
        "scrapy_pagelets.crawler.commands.search",
    ),
    "train": (
        "learn a model from archives, with or without labels by people",
        "scrapy_pagelets.crawler.commands.train",
    ),
    "view": ("look at a page: its pagelets, drawn over what a browser shows", "scrapy_pagelets.crawler.commands.view"),
}


class PageletsCommand(ScrapyCommand):
    """Group of commands; each says by ``-h`` what it does."""

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
        self.exitcode = ended(import_module(opts.module).run, opts)


def ended(run: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Run a command; returns its exit code: 1, with a sentence, for what it cannot do."""
    try:
        run(options)
        flush()
    except PageletsError as error:
        complain(error)
        return 1
    except OutputClosed:
        return CLOSED
    return 0
