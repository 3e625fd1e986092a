"""What is told of a running crawl, and of one that has ended."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Self

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.session.crawl_session import CrawlSession

#: Feeds that the commands `report` and `view` read.
_READABLE: Final = (".jsonl", ".jl", ".parquet")


@dataclass(frozen=True)
class _Counts:
    """Numbers of a crawl by its stats; see ``docs/settings.md``."""

    cleaned: int
    words: int
    template: int
    duplicates: int
    empty: int
    sites: int

    @classmethod
    def of(cls, session: CrawlSession) -> Self:
        names = ("pages/cleaned", "words", "words/template", "duplicates", "pages/empty")
        stats = session.stats
        cleaned, words, template, duplicates, empty = (
            0 if stats is None else stats.get_value(f"pagelets/{name}", 0) for name in names
        )
        return cls(cleaned, words, template, duplicates, empty, len(session.sites))

    @property
    def share(self) -> str:
        return f"{self.template / self.words:.0%}" if self.words else "0%"


def progress_line(session: CrawlSession, requests: int) -> str:
    """One line for a terminal: what matters most comes first, for the end of the line may be cut off.

    Parameters
    ----------
    requests : number of requests that wait in the scheduler
    """
    counts, progress = _Counts.of(session), session.progress
    parts = [f"{counts.cleaned:,} cleaned", f"{progress.rate(counts.cleaned):.1f}/s"]
    if (step := progress.step) is not None:
        parts.append(f"{step.name} {step.pages if step.share is None else format(step.share, '.0%')}")
    if (left := progress.seconds_left()) is not None:
        parts.append(f"{duration(left)} left")
    if held := sum(progress.held().values()):
        parts.append(f"{held:,} held back")
    if requests:
        parts.append(f"{requests:,} to load")
    parts += [counted(counts.sites, "site"), f"{counts.share} template", counted(counts.duplicates, "near-duplicate")]
    return " · ".join(parts)


def progress_sentence(session: CrawlSession, requests: int) -> str:
    """The same in words, for a log, and why pages are held back."""
    counts, progress = _Counts.of(session), session.progress
    rate = 60 * progress.rate(counts.cleaned)
    parts = [
        f"{counted(counts.cleaned, 'page')} cleaned (at {rate:.0f} a minute), {counts.share} of the words are "
        f"template, {counted(counts.duplicates, 'near-duplicate')}, {counted(counts.sites, 'site')}"
    ]
    if (step := progress.step) is not None:
        share = f" ({step.share:.0%})" if step.share is not None else ""
        left = progress.seconds_left()
        parts.append(f"{step.name} the archive: {counted(step.pages, 'page')}{share}")
        if left is not None:
            parts.append(f"{duration(left)} left")
    if requests:
        parts.append(f"{counted(requests, 'request')} to load")
    parts += [f"{counted(number, 'page')} held back {why}" for why, number in progress.held().items()]
    return "; ".join(parts)


def closing_lines(session: CrawlSession) -> Iterator[str]:
    """What came out of a crawl, where it is, how to look at it, and each kind of warning once more."""
    counts, feeds = _Counts.of(session), session.progress.feeds
    yield (
        f"{counted(counts.cleaned, 'page')} cleaned: {counted(counts.words - counts.template, 'word')} kept, "
        f"{counts.template:,} ({counts.share}) stripped as template"
    )
    yield f"{counted(counts.duplicates, 'near-duplicate')}; nothing is left of {counted(counts.empty, 'page')}"
    written = ", ".join(f"{name} ({counted(items, 'item')})" for name, items in feeds.items())
    yield f"written: {written or 'nothing'}"
    if name := next((name for name in feeds if name.endswith(_READABLE)), None):
        quoted = shlex.quote(name)
        yield f"to see what was stripped: scrapy pagelets report {quoted}"
        # Playwright draws the picture; it is not part of a base install.
        without = "" if find_spec("playwright") else " --no-picture"
        yield f"to see it on a page, and why: scrapy pagelets view {quoted} --page URL{without}"
    for stat, sentence in session.progress.warnings.items():
        number = session.stats.get_value(f"pagelets/{stat}", 1) if session.stats is not None else 1
        yield f"warned of {stat}, {counted(number, 'time')}: {sentence}"


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(9), duration(100), duration(7500)
    ('10 s', '2 min', '2 h 5 min')
    """
    if seconds < 60:
        return f"{10 * round(max(10.0, seconds) / 10)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
