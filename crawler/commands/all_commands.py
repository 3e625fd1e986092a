"""The list of all commands, and how one is called. A new command is a row of `_ABOUT` and its module."""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Final, NoReturn

from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.crawler.commands.terminal import CLOSED, INTERRUPTED, OutputClosed, flush, warn, working

#: Command -> its description. Its module has ``EXAMPLES``, ``add_arguments(parser)`` and ``run(options)``. Only that of
#: the command that is called is imported, and imports heavy libraries in ``run``. A module that reads settings
#: (``options.settings``) says so with ``USES_SETTINGS = True`` and gets the option ``-s``.
_ABOUT: Final = {
    "crawl": "crawl a site and write its clean pages to a feed",
    "clean": "clean a page, or all pages of a folder or an archive",
    "report": "show how much was stripped, per site and template",
    "view": "draw the pagelets of a page over a picture of it",
    "search": "search an index, with or without feedback from the best pagelets",
    "index": "write a feed to a search index",
    "chunks": "write the chunks of a feed, one line of JSON each",
    "diff": "show which pages are new, gone or changed since an earlier crawl",
    "duplicates": "show near-duplicate pages, copied blocks and copied sites",
    "similar": "show the pages that resemble a page of a feed most",
    "rank": "rank the pages of a crawl by their links, or show related pages",
    "template": "write the template of a site as HTML, with slots where content stands",
    "train": "train a model on archives, with or without labels by people",
    "llms": "write llms.txt and llms-full.txt of a feed",
    "mcp": "serve an index to language models, by the Model Context Protocol",
    "merge": "put the parts of a shared crawl together",
    "corpus": "clean a corpus of WARC or Parquet files",
}
_NAMES: Final = {"index": "fill_index", "duplicates": "find_duplicates"}  # modules that are not called as their command
#: Command -> its description and its module.
COMMANDS: Final = {name: (about, f"{__package__}.{_NAMES.get(name, name)}") for name, about in _ABOUT.items()}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help has examples\n")


def add_commands(parser: argparse.ArgumentParser, script: str, wanted: str | None = None) -> None:
    """Add the commands to the parser of a script; the arguments of the ``wanted`` one only, of all if None."""
    commands = parser.add_subparsers(
        title="commands", prog=script, metavar="COMMAND", dest="command", parser_class=Parser
    )
    for name, (about, module) in COMMANDS.items():
        sub = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        sub.set_defaults(module=module, script=script)
        if wanted not in (None, name):
            continue
        command = import_module(module)
        command.add_arguments(sub)
        if getattr(command, "USES_SETTINGS", False):
            about = "set a setting (repeatable)"
            sub.add_argument("-s", dest="given", action="append", default=[], metavar="NAME=VALUE", help=about)
        sub.formatter_class = argparse.RawDescriptionHelpFormatter
        examples = (f"  {example.replace('pagelets', script, 1)}" for example in command.EXAMPLES)
        sub.epilog = "\n".join(("examples:", *examples))


def run_command(run: Callable[[argparse.Namespace], int | None], options: argparse.Namespace) -> int:
    """Run a command and return its exit code; 1, after printing the message, if it raises a `PageletsError`."""
    try:
        with working(getattr(options, "command", "")):
            code = run(options)
            flush()
    except PageletsError as error:
        warn(error)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        warn("this needs scikit-learn: pip install 'scrapy-pagelets[topic]'")
        return 1
    except OutputClosed:
        return CLOSED
    except KeyboardInterrupt:
        warn("interrupted")
        return INTERRUPTED
    return code or 0
