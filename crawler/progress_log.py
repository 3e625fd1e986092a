"""Tell in log, terminal and notebook what a crawl does and what came out of it, and log items in few words."""

import logging
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from itemadapter import ItemAdapter
from rich.console import Console
from rich.live import Live
from rich.text import Text
from scrapy.crawler import Crawler
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.utils.asyncio import create_looping_call

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.session.config import ONLY
from scrapy_pagelets.session.crawl_session import Component, CrawlSession
from scrapy_pagelets.session.page_context import copied, current_places
from scrapy_pagelets.session.scrapy_hooks import number_waiting

logger = logging.getLogger(__name__)

_REFRESH: Final = 0.5  # seconds between two forms of the live line
_SHOWN: Final = 60  # characters of the text of a field that are shown


class ProgressLog(Component):
    """Log what is cleaned, held back and why, and at the end what came out; terminals and notebooks show it live."""

    for_single_pages = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._logging = create_looping_call(lambda: logger.info("%s", self._sentence()))
        self._drawing = create_looping_call(lambda: self._draw(self._sentence()))
        self._line: LiveLine | None = None
        self._output: Any = None

    def spider_opened(self) -> None:
        if self._interval:
            self._logging.start(self._interval, now=False)
        if sys.stderr is not None and sys.stderr.isatty():  # not the stream of a terminal with a line already
            console = Console(file=sys.stderr, soft_wrap=True)
            self._line = None if console.is_dumb_terminal else LiveLine(console)
        if "IPython" in sys.modules and hasattr(import_module("IPython").get_ipython(), "kernel"):
            show = import_module("IPython.display").display  # as an output of the cell that runs, in a notebook
            self._output = show({"text/plain": self._sentence()}, raw=True, display_id=True)
        if self._line is not None or self._output is not None:
            self._drawing.start(_REFRESH)

    def spider_closed(self) -> None:
        for call in (self._logging, self._drawing):
            if call.running:
                call.stop()
        if self._line is not None:
            self._line.end()
            self._line = None

    def engine_stopped(self) -> None:
        """Tell what came out; feeds are closed by now."""
        sentences = [visible(sentence) for sentence in closing_lines(self.session)]
        for sentence in sentences:
            logger.info("%s", sentence)
        self._draw("\n".join(sentences))

    def _draw(self, text: str) -> None:
        if self._line is not None:
            self._line.update(text)
        if self._output is not None:
            self._output.update({"text/plain": text}, raw=True)

    def _sentence(self) -> str:
        return progress_sentence(self.session, number_waiting(self.crawler))


#: What is left out -> the stats that count why.
_REASONS: Final = {"left out of the archive": "pagelets/archive/skipped/", "not loaded": "pagelets/pages/missing/"}


class _Counts:
    def __init__(self, session: CrawlSession) -> None:
        names = ("pages/cleaned", "words", "words/template", "duplicates", "pages/empty")
        self.cleaned, self.words, self.template, self.duplicates, self.empty = map(session.stat, names)
        self.sites = len(session.sites)
        self.share = f"{self.template / self.words:.0%}" if self.words else "0%"


def progress_sentence(session: CrawlSession, requests: int) -> str:
    """What a crawl does, of which ``requests`` have to wait; what matters most comes first, for the end may be cut."""
    counts, progress = _Counts(session), session.progress
    parts = [f"{counted(counts.cleaned, 'page')} cleaned (at {60 * progress.rate(counts.cleaned):.0f} a minute)"]
    if (step := progress.step) is not None:
        share = f" ({step.share:.0%})" if step.share is not None else ""
        parts.append(f"{step.name} the archive: {counted(step.pages, 'page')}{share}")
    if (left := progress.seconds_left()) is not None:
        parts.append(f"{duration(left)} left")
    waiting = [(why, count()) for why, count in progress.waiting.items()]
    parts += [f"{counted(number, 'page')} held back {why}" for why, number in waiting if number]
    if requests:
        parts.append(f"{counted(requests, 'request')} to load")
    parts += [counted(counts.sites, "site"), f"{counts.share} of the words are template"]
    return "; ".join((*parts, counted(counts.duplicates, "near-duplicate")))


def closing_lines(session: CrawlSession) -> Iterator[str]:
    """What came out of a crawl, where it is, how to look at it, and each kind of warning once more."""
    counts, feeds = _Counts(session), session.progress.feeds
    yield (
        f"{counted(counts.cleaned, 'page')} cleaned: {counted(counts.words - counts.template, 'word')} kept, "
        f"{counts.template:,} ({counts.share}) stripped as template"
    )
    if counts.duplicates or counts.empty:
        yield f"{counted(counts.duplicates, 'near-duplicate')}; nothing is left of {counted(counts.empty, 'page')}"
    yield from what_is_missing(session.stats.get_stats())
    if session.config.changed == ONLY:
        not_sent = session.stat("recrawl/not_modified")
        same = session.stat("recrawl/left_out") + not_sent
        are = f"{counted(same, 'page')} {'is' if same == 1 else 'are'} the same as in the earlier crawl"
        yield f"{are}, and left out ({not_sent} of them were not sent again)"
    written = ", ".join(f"{name} ({counted(items, 'item')})" for name, items in feeds.items())
    yield f"written: {written or 'nothing'}"
    if name := next((name for name in feeds if name.endswith((".jsonl", ".jl", ".parquet"))), None):
        quoted = shlex.quote(name)
        yield f"to see what was stripped: pagelets report {quoted}"
        # Playwright draws the picture; it is not part of a base install.
        without = "" if find_spec("playwright") else " --no-picture"
        yield f"to see it on a page, and why: pagelets view {quoted} --page URL{without}"
    for stat, sentence in session.progress.warnings.items():
        yield f"warned of {stat}, {counted(session.stat(stat), 'time')}: {sentence}"


def what_is_missing(stats: Mapping[str, Any]) -> Iterator[str]:
    """What of an archive is no page, and which links gave none, each with the reasons and how often."""
    for title, prefix in _REASONS.items():
        counts = [(stat, times) for stat, times in sorted(stats.items()) if stat.startswith(prefix)]
        if counts:
            yield f"{title}: {', '.join(f'{times:,} x {stat.removeprefix(prefix)}' for stat, times in counts)}"


def duration(seconds: float) -> str:
    """Seconds in words: ``10 s``, ``2 min``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{10 * round(max(10.0, seconds) / 10)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class LiveLine:
    """A line at the end of a terminal, below the log of this process."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._live.start()
        # What is written to `sys.stderr` scrolls above the line from now on.
        handlers = (one for one in logging.getLogger().handlers if isinstance(one, logging.StreamHandler))
        self._handlers = [one for one in handlers if one.stream is console.file]
        for handler in self._handlers:
            handler.setStream(sys.stderr)

    def update(self, line: str) -> None:
        self._live.update(Text(line, style="bold", no_wrap=True, overflow="ellipsis"), refresh=True)

    def end(self) -> None:
        self._live.stop()
        for handler in self._handlers:
            handler.setStream(self._live.console.file)


class ShortFields(LogFormatter):
    """Scrapy's log messages, but what pipelines have set on an item, as all of its text, is cut to a few words."""

    def scraped(self, item: Any, *rest: Any, **named: Any) -> LogFormatterResult:
        return _shortened(super().scraped(item, *rest, **named), item)

    def dropped(self, item: Any, *rest: Any, **named: Any) -> LogFormatterResult:
        return _shortened(super().dropped(item, *rest, **named), item)

    def item_error(self, item: Any, *rest: Any, **named: Any) -> LogFormatterResult:
        return _shortened(super().item_error(item, *rest, **named), item)


class _Short:
    """An item for a log message, formatted only if the message is written."""

    def __init__(self, item: Any, ours: frozenset[str]) -> None:
        self._item = item
        self._ours = ours

    def __str__(self) -> str:
        with suppress(Exception):  # types and their validators can raise anything
            if (copy := copied(self._item)) is not self._item:
                fields = ItemAdapter(copy)
                for name in self._ours & fields.keys():
                    fields[name] = _short(fields[name])
                return str(copy)
        return str(self._item)


def _shortened(result: LogFormatterResult, item: Any) -> LogFormatterResult:
    if (ours := frozenset(current_places().values())) and isinstance(result["args"], dict):
        result["args"]["item"] = _Short(item, ours)
    return result


def _short(value: Any) -> Any:
    """A value of the same type that is short: the item's type may check it."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]}..."
    return [f"... {len(value):,} in all"] if isinstance(value, list) and value else value
