"""The command ``scrapy pagelets``."""

import argparse
from importlib import import_module
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.addon import add_parquet_for_options
from scrapy_pagelets.crawler.commands.all_commands import add_commands, run_command
from scrapy_pagelets.crawler.console import given_settings
from scrapy_pagelets.session.scrapy_hooks import before_options_are_checked

before_options_are_checked(add_parquet_for_options)  # Scrapy imports this module whenever a command starts


class PageletsCommand(ScrapyCommand):
    """The group of commands; ``-h`` describes each."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "COMMAND ..."

    def short_desc(self) -> str:
        return "Look at pagelets and templates"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add_commands(parser, "scrapy pagelets")
        super().add_options(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.command is None or args:
            raise UsageError(f"unknown argument: {' '.join(args)}" if args else "", print_help=not args)
        assert self.settings is not None
        try:  # ``-s`` behind the name of the command, of which Scrapy does not know
            self.settings.setdict(given_settings(getattr(opts, "given", ())), "cmdline")
        except ConfigError as error:
            raise UsageError(str(error), print_help=False) from None
        opts.settings = self.settings
        self.exitcode = run_command(import_module(opts.module).run, opts)
