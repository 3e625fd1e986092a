"""The command ``pagelets corpus``: clean a corpus of archived pages, on this machine or on a Spark cluster."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import CommandError, ConfigError
from scrapy_pagelets.corpus.inputs import CorpusOptions, sources_of
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.decision.model import load
from scrapy_pagelets.duplicates.sketch import Threshold
from scrapy_pagelets.papers import page_level
from scrapy_pagelets.papers.methods import CLASSIFIER, FUSED
from scrapy_pagelets.session.config import Config

if TYPE_CHECKING:
    from scrapy_pagelets.corpus.job import Engine, Report

EXAMPLES: Final = (
    "pagelets corpus crawl.warc.gz tables/",
    "pagelets corpus 'crawl-*.warc.gz' tables/ --workers 1 -s PAGELETS_CHUNKS=200",
)
USES_SETTINGS: Final = True
#: Engine -> what it needs, and the extra that installs it.
_ENGINES: Final = {"duckdb": (("duckdb", "pyarrow"), "corpus"), "spark": (("pyspark", "pyarrow"), "spark")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "input", metavar="IN",
        help="WARC, WACZ or Parquet: files or their URLs, a folder, a quoted glob, a list (.paths), an index (.cdxj)",
    )  # fmt: skip
    parser.add_argument("output", metavar="OUT", help="folder for the tables: empty, or that of a job that was stopped")
    parser.add_argument("--base", default="", help="prefix of relative names in a list or an index")
    parser.add_argument("--engine", choices=_ENGINES, default="duckdb", help="where to run (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=0, help="number of processes (default: one for each processor)")
    parser.add_argument("--memory", default="", help="memory of DuckDB, as 4GB (default: 40%% of the machine's)")
    parser.add_argument("--master", default="", help="of Spark: spark://HOST:PORT, yarn, local[4]")


def run(options: argparse.Namespace) -> int:
    """Run the job; the exit code is 1 if a source could not be read to its end."""
    needed, extra = _ENGINES[options.engine]
    if missing := [name for name in needed if find_spec(name) is None]:
        raise CommandError(f"this needs {' and '.join(missing)}: pip install 'scrapy-pagelets[{extra}]'")
    from scrapy_pagelets.corpus.job import CorpusJob, prepare_job

    if options.workers < 0:
        raise ConfigError(f"--workers is {options.workers}: give the number of processes, from 1")
    wanted = corpus_options(Config.from_settings(options.settings))
    if options.engine == "spark":
        from scrapy_pagelets.corpus.distributed import check

        check(options.master)
    if "://" in options.output:
        raise CommandError(f"{options.output} is no folder: the tables are written to a folder; copy them from there")
    sources = sources_of(options.input, options.base)
    out = Path(options.output)
    wanted = prepare_job(out, sources, wanted, options.engine)
    with closing(_engine(options, out)) as engine:
        return _show(CorpusJob(engine, out, sources, wanted, warn).run(), out)


def corpus_options(config: Config) -> CorpusOptions:
    """The settings of a crawl that a corpus job follows; ConfigError for one that it cannot follow."""
    if config.render:
        raise ConfigError("PAGELETS_RENDER is on, but a corpus job renders no pages: switch it off")
    if config.detection not in (FUSED, CLASSIFIER):
        wanted = f"a corpus job decides by {FUSED} or {CLASSIFIER}: choose one of them"
        raise ConfigError(f"PAGELETS_DETECTION is {config.detection}, but {wanted}")
    load(config.model)
    if config.detection == CLASSIFIER:
        page_level.load(config.classifier)
    return CorpusOptions.of(
        config,
        lean=False,
        started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        threshold=Threshold(config.duplicates_threshold, config.duplicates_threshold_across),
        within_sites=config.duplicates_scope == "site",
    )


def _engine(options: argparse.Namespace, out: Path) -> Engine:
    if options.engine == "spark":
        from scrapy_pagelets.corpus.distributed import SparkEngine

        return SparkEngine(options.master)
    from scrapy_pagelets.corpus.embedded import EmbeddedEngine
    from scrapy_pagelets.corpus.engines import WORK

    return EmbeddedEngine(out / WORK / "spill", options.workers, options.memory)


def _show(report: Report, out: Path) -> int:
    pages, are = counted(report.pages, "page"), "is" if report.pages == 1 else "are"
    show(f"{pages} of {counted(report.sites, 'site')} {are} in {out}, {report.duplicates:,} of them near-duplicates")
    show(f"{counted(report.templates, 'template')}, {counted(report.links, 'link')}")
    if report.skipped:
        warn(f"left out: {', '.join(f'{count} {reason}' for reason, count in sorted(report.skipped.items()))}")
    if report.cut:
        warn(f"{counted(report.cut, 'page')} cut off in the archives, of which only the beginning is cleaned")
    for why, count, url in report.failures:
        warn(f"{counted(count, 'page')} could not be cleaned, the first is {url}: {why}")
    for sentence in report.broken:
        warn(sentence)
    if report.broken:
        warn(f"{len(report.broken)} sources or pages are not there, or not whole")
    return int(bool(report.broken))


if __name__ == "__main__":  # an application of its own, for ``spark-submit``
    from scrapy_pagelets.crawler.console import main

    sys.exit(main(["corpus", "--engine", "spark", *sys.argv[1:]]))
