"""The console script ``pagelets``: the commands, in any folder, without a Scrapy project."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final

from scrapy_pagelets import __version__
from scrapy_pagelets.base.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.settings import Settings

_SCRIPT: Final = "pagelets"
_INTERRUPTED: Final = 130
_FIRST: Final = """\
start here:
  pagelets crawl https://example.com/ -o pages.jsonl
  pagelets clean page.html

pagelets COMMAND --help has examples of each command."""
_COMPLETING, _LINE = "_ARGCOMPLETE", "COMP_LINE"  # variables that argcomplete, a shell's completion, sets


class Options(argparse.Namespace):
    """The options of a command."""

    given: Sequence[str] = ()

    @cached_property
    def settings(self) -> Settings:
        """The settings of the Scrapy project around, Scrapy's defaults without one, and those of ``-s``."""
        from scrapy.utils.project import get_project_settings

        try:
            settings = get_project_settings()
        except ImportError as error:
            raise ConfigError(f"the settings of the Scrapy project here cannot be read: {error}") from None
        settings.setdict(given_settings(self.given), "cmdline")
        return settings


def given_settings(given: Sequence[str]) -> dict[str, str]:
    """The settings of options ``-s NAME=VALUE``."""
    from scrapy_pagelets.session.config import unknown

    pairs = [one.partition("=") for one in given]
    for (name, equals, _), whole in zip(pairs, given, strict=True):
        if not (name and equals):
            raise ConfigError(f"-s {whole} has no value: write -s NAME=VALUE, such as -s PAGELETS_CHUNKS=200")
    for sentence in unknown(name for name, _, _ in pairs):
        raise ConfigError(sentence)
    return {name: value for name, _, value in pairs}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    try:
        return _main(arguments)
    except KeyboardInterrupt:  # while modules are imported, of which all but a few are imported below
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED


def _main(arguments: Sequence[str] | None) -> int:
    # No command multiplies large matrices, and threads take time to start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from scrapy_pagelets.crawler.commands.all_commands import COMMANDS, Parser, add_commands, run_command

    arguments = sys.argv[1:] if arguments is None else arguments
    words = os.environ.get(_LINE, "").split()[1:] if _COMPLETING in os.environ else arguments
    name = next((word for word in words if not word.startswith("-")), "")
    about = "Turn a crawl into clean text: learn the templates of a site from its own pages, and strip them."
    as_written = argparse.RawDescriptionHelpFormatter
    parser = Parser(_SCRIPT, description=about, epilog=_FIRST, formatter_class=as_written)
    parser.add_argument("--version", action="version", version=f"scrapy-pagelets {__version__}")
    add_commands(parser, _SCRIPT, name)
    if _COMPLETING in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    if name and name not in COMMANDS:
        closest = "".join(f" (did you mean {one}?)" for one in get_close_matches(name, COMMANDS, 1))
        parser.error(f"there is no command {name}{closest}")
    options, unknown = parser.parse_known_args(arguments, Options())
    if unknown:
        command = f"{_SCRIPT} {options.command}" if options.command else _SCRIPT
        type(parser)(command).error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    return run_command(_run, options)


def _run(options: argparse.Namespace) -> int | None:
    if options.given:  # refuse wrong ones, also of a command that needs none of them here
        given_settings(options.given)
    code: int | None = import_module(options.module).run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
