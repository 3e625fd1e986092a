"""Run one of our spiders in this process, outside of any Scrapy project as well, and tell what came out."""

import argparse
import logging
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Final

from scrapy import Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler import settings as own
from scrapy_pagelets.crawler.addon import Addon
from scrapy_pagelets.crawler.commands.terminal import (
    INTERRUPTED,
    STDOUT,
    OutputClosed,
    require_folder,
    require_writable,
    show,
    warn,
    write,
)
from scrapy_pagelets.crawler.progress_log import what_is_missing
from scrapy_pagelets.crawler.spiders.request_journal import has_made_pages
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import context_of

#: Suffix of a feed -> its format.
_FORMATS: Final = {".jsonl": "jsonlines", ".jl": "jsonlines", ".parquet": "parquet", ".json": "json", ".csv": "csv"}
_CANDIDATES: Final = 40  # pages of which the one is chosen that is shown before and after
_STOPPING: Final = "stopping: the requests under way are finished, and the feed is kept; Ctrl-C again stops at once"


class _Process(AsyncCrawlerProcess):
    """Tells the user at once what the first Ctrl-C does; Scrapy tells its log only."""

    killed = False

    def _signal_shutdown(self, signum: int, frame: Any) -> None:
        from twisted.internet import reactor

        super()._signal_shutdown(signum, frame)
        reactor.callFromThread(warn, _STOPPING)  # not in here: what was interrupted may be writing to the same stream

    def _signal_kill(self, signum: int, frame: Any) -> None:
        self.killed = True
        super()._signal_kill(signum, frame)


def crawl(spider: type[Spider], options: argparse.Namespace, **arguments: str) -> int:
    """Run a spider, print what came out, and return the exit code."""
    settings = _settings(options)
    process = _Process(settings)
    if sys.stderr is not None:  # which shows warnings and errors, a line each, whether there is a log file or not
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        logging.getLogger().addHandler(handler)
        if options.log is None:
            logging.getLogger().setLevel(logging.WARNING)
    crawler = process.create_crawler(spider)
    sample = _Sample(crawler)
    began = time.monotonic()
    process.crawl(crawler, **arguments)
    process.start()
    seconds = time.monotonic() - began
    if not crawler.settings.frozen:  # refused before it had stats; the log has said why
        return 1
    stats = crawler.stats.get_stats()
    if stats.get("pagelets/feeds/closed"):
        raise OutputClosed
    reason = stats.get("finish_reason")
    pages = stats.get("pagelets/pages/cleaned", 0) + stats.get("pagelets/recrawl/not_modified", 0)
    if process.bootstrap_failed:
        return 1
    if pages:
        _summary(stats, options, sample, pages, seconds)
    if process.killed:
        warn("interrupted twice: pages that waited for others of their site are not in the feed")
    elif reason in (None, "shutdown"):
        warn("interrupted: the feed has the pages until then" if pages else "interrupted before a page was written")
    elif not pages and has_made_pages(settings["JOBDIR"]):
        raise CommandError(f"the job in {settings['JOBDIR']} has no page left: crawl again with a new JOBDIR")
    elif not pages:
        raise CommandError("no page was written: the address has no HTML page, or robots.txt forbids it")
    return INTERRUPTED if reason in (None, "shutdown") else 0


def project_settings(options: argparse.Namespace) -> Settings:
    """The settings of the project around, if it has the add-on, else those of this package; and those of ``-s``."""
    settings: Settings = options.settings
    if Addon in map(load_object, build_component_list(settings["ADDONS"])):
        return settings
    # Those of ``pagelets ... -s`` and of ``scrapy pagelets -s``.
    names = [one.partition("=")[0] for one in (*options.given, *getattr(options, "set", ()))]
    given = {name: settings[name] for name in names}
    settings = Settings()
    settings.setmodule(own, "project")
    settings.setdict(given, "cmdline")
    return settings


def _settings(options: argparse.Namespace) -> Settings:
    if options.out == STDOUT and sys.stdout is None:
        raise CommandError("standard output is closed: name a file with -o")
    if options.log:
        require_writable(options.log)
    settings = project_settings(options)
    if job := settings["JOBDIR"]:
        require_folder(job)
    goes_on = has_made_pages(job)
    feed, form = "stdout:", "jsonlines"
    if options.out != STDOUT:
        path = Path(options.out).absolute()
        if (suffix := path.suffix.lower()) not in _FORMATS:
            ends = f"a name that ends in {', '.join(_FORMATS)}, or - for standard output"
            raise CommandError(f"-o is {options.out}: give {ends}")
        require_writable(options.out)
        feed, form = path.as_uri(), _FORMATS[suffix]
    if goes_on and form != "jsonlines" and Path(options.out).exists():
        raise CommandError(f"{options.out} would be replaced, but the job in {job} goes on: give another name with -o")
    # What was written before stays until there is a page to write, unless nothing may be new.
    may_be_empty = settings["PAGELETS_CHANGED"] == "only"
    written = {"format": form, "overwrite": options.out != STDOUT and not goes_on, "store_empty": may_be_empty}
    settings.set("FEEDS", {feed: written}, "cmdline")
    settings.setdict({"LOG_ENABLED": bool(options.log), "LOG_FILE": options.log, "LOG_FILE_APPEND": False}, "cmdline")
    return settings


class _Sample:
    """The page of the first ones that shows best what is stripped, because it has content and template."""

    def __init__(self, crawler: Crawler) -> None:
        self.lines: list[str] = []
        self._worth = -1
        self._crawler = crawler
        self._seen = 0
        crawler.signals.connect(self.item_scraped, signals.item_scraped)

    def item_scraped(self, item: Any, response: Any) -> None:
        context = context_of(response, session_of(self._crawler)) if self._seen < _CANDIDATES else None
        if context is None or context.failed:
            return
        self._seen += 1
        with suppress(Exception):  # nothing that is only shown may end a crawl
            kept = context.record.words_of_content
            stripped = context.record.words_of_page - kept
            if (worth := min(kept, 3 * stripped)) > self._worth:
                regions = [
                    (role, " | ".join(" ".join(one.text[:_LONGEST].split()) for one in pagelets)[:_LONGEST])
                    for role, pagelets in groupby(context.record.cut(), key=lambda one: one.role)
                ]
                width, ansi = get_terminal_size((100, 24)).columns, sys.stdout is not None and sys.stdout.isatty()
                self.lines = list(lines(context.url, kept, stripped, regions, width, ansi=ansi))
                self._worth = worth


def _summary(stats: dict[str, Any], options: argparse.Namespace, sample: _Sample, pages: int, seconds: float) -> None:
    """Tell what came out, on standard error if standard output is the feed."""
    to_error = options.out == STDOUT
    tell = warn if to_error else show
    if sample.lines and not to_error:
        write("\n".join(("One page before and after:", *sample.lines)))
    words, template, left_out, not_modified = (
        stats.get(f"pagelets/{name}", 0)
        for name in ("words", "words/template", "recrawl/left_out", "recrawl/not_modified")
    )
    share = f" ({template / words:.0%})" if words else ""
    write("", sys.stderr if to_error else sys.stdout)
    tell(f"{counted(pages, 'page')} in {seconds:.0f} s, {pages / max(seconds, 0.1):.1f} a second")
    tell(f"{counted(words - template, 'word')} kept, {template:,}{share} stripped as template")
    if same := left_out + not_modified:
        tell(f"{counted(same, 'page')} left out: the same as in the earlier crawl")
    for sentence in what_is_missing(stats):
        tell(sentence)
    if to_error:
        return
    feed = shlex.quote(options.out)
    tell(f"feed: {Path(options.out).absolute()}" + (f"; log: {options.log}" if options.log else ""))
    if same < pages and Path(options.out).suffix.lower() in (".jsonl", ".jl", ".parquet"):
        tell("next:")
        for line in (f"report {feed}", f"index {feed} pages.sqlite", 'search pages.sqlite "WORDS"'):
            tell(f"  {options.script} {line}")


_FIRST, _LAST = 5, 3  # pagelets that are shown at the beginning and at the end of a page
_LONGEST: Final = 400  # characters of a region
_WIDEST: Final = 110  # of a line
_ROLE: Final = 11  # and of a role
_STRUCK: Final = ("\x1b[2;9m", "\x1b[0m")  # around what was stripped, ANSI: dimmed and struck out, and back
_BRACKETS: Final = ("[-", "-]")  # and without colours


Region = tuple[str, str]  # the role of pagelets that follow each other, and the beginning of their text


def lines(url: str, kept: int, stripped: int, regions: Sequence[Region], width: int, *, ansi: bool) -> Iterator[str]:
    """A page, with its numbers of words, for a terminal, or with ``[-...-]`` around what was stripped."""
    marks = _STRUCK if ansi else _BRACKETS
    yield f"{visible(url)}: {counted(kept, 'word')} kept, {stripped:,} stripped {'like this'.join(marks)}"
    hidden = regions[_FIRST:-_LAST] if len(regions) > _FIRST + _LAST + 1 else []
    for number, (role, text) in enumerate(regions):
        if hidden and number == _FIRST:
            of_template = sum(role != CONTENT for role, _ in hidden)
            yield f"  ... {counted(len(hidden), 'more region')}, {of_template} of them stripped"
        if not hidden or not _FIRST <= number < _FIRST + len(hidden):
            room, most = max(20, min(width, _WIDEST) - _ROLE - 8), 2 if role == CONTENT else 1  # lines of a region
            for line, part in enumerate(wrap(visible(text), room, max_lines=most, placeholder=" …")):
                yield f"  {'' if line else role:{_ROLE - 1}} {part if role == CONTENT else part.join(marks)}"
