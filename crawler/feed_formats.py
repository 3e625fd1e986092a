"""The format ``parquet`` for ``-O cleaned.parquet`` in a project with the add-on."""

from __future__ import annotations

import argparse
from typing import Final

from scrapy.commands import ScrapyCommand
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

_process_options: Final = ScrapyCommand.process_options


def add_before_options_are_checked() -> None:
    """Let the options ``-o`` and ``-O`` of any command know the format.

    Scrapy checks them before it loads add-ons, and offers no hook in between. Commands read all other options, such as
    ``-s ADDONS=...``, with this method of their base class.
    """
    ScrapyCommand.process_options = _read_options  # type: ignore[method-assign, assignment]


def _read_options(command: ScrapyCommand, args: list[str], options: argparse.Namespace) -> None:
    _process_options(command, args, options)
    settings = command.settings
    has_feed = getattr(options, "output", None) or getattr(options, "overwrite_output", None)
    if settings is None or not has_feed or not settings["ADDONS"]:
        return
    from scrapy_pagelets.crawler.addon import Addon, add_parquet

    if Addon in map(load_object, build_component_list(settings["ADDONS"])):
        add_parquet(settings)
