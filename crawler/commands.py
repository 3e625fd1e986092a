"""The command ``scrapy pagelets``."""

from __future__ import annotations

import argparse

from scrapy.commands import ScrapyCommand


class PageletsCommand(ScrapyCommand):
    """Group of commands; each says by ``-h`` what it does."""

    def short_desc(self) -> str:
        return "Look at pagelets and templates"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        raise NotImplementedError
