"""The steps of the corpus job, the same on every engine.

As in the spider `archive`, what the pages of a site share is learnt first, then each page is cleaned. Every step writes
a table, long ones in rounds; a job that is run again continues after the last complete one.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from xxhash import xxh3_128_hexdigest

from scrapy_pagelets.archives.reader import BROKEN
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.corpus import engines, statements
from scrapy_pagelets.corpus.inputs import CorpusError, CorpusOptions, Source
from scrapy_pagelets.corpus.raw_pages import read_pages
from scrapy_pagelets.corpus.site_cleaning import clean_sites, learn_parts, merge_parts
from scrapy_pagelets.papers.shared_pagelets import relational

if TYPE_CHECKING:
    from scrapy_pagelets.corpus.distributed import SparkEngine
    from scrapy_pagelets.corpus.embedded import EmbeddedEngine

    Engine = EmbeddedEngine | SparkEngine

_RESULTS: Final = ("pages", "pagelets", "links", "templates", "duplicates")  # the tables that stay
_UNFINISHED: Final = ".part"  # the end of the name of a folder that is being written
_PLAN: Final = "job.json"
_VIEWS: Final = {  # views on the rows of `cleaned_schema`, with their kinds
    "cleaned_pages": "page", "cut_pagelets": "pagelet", "found_links": "link", "shingles": "shingle",
    "origins": "origin", "contents": "content", "bands": "band", "failures": "failure",
}  # fmt: skip
_FORMS: Final = {"local": "of_site", "global": "shingle"}
_ROUNDS: Final = 64  # most rounds of small sites, and of large ones: each round searches all files for its pages


@dataclass
class Report:
    """What a job has done."""

    #: pages, sites, links, templates, duplicates: rows of the tables; sites with pages
    pages: int = 0
    sites: int = 0
    links: int = 0
    templates: int = 0
    duplicates: int = 0
    skipped: Counter[str] = field(default_factory=Counter)  # number of records that are not pages, by reason
    cut: int = 0  # number of pages that end early, because their bodies in the archive are cut off
    #: sentences about the sources that could not be read, or not to their end, and pages that end a process
    broken: list[str] = field(default_factory=list)
    #: reason, number of pages, and URL of the first one that could not be cleaned
    failures: list[tuple[Any, ...]] = field(default_factory=list)


def prepare_job(out: Path, sources: Sequence[Source], options: CorpusOptions, engine: str) -> CorpusOptions:
    """Make the output folder of a new job, or find an unfinished one there; return the options with the job's time.

    ``engine``: its name; another one divides the work otherwise. Raise CorpusError if the folder has anything else.
    """
    plan = out / engines.WORK / _PLAN
    listed = "".join(json.dumps([source.path, source.offsets, source.sizes]) for source in sources)
    wanted = {"sources": xxh3_128_hexdigest(listed.encode()), "options": options.plain(), "engine": engine}
    try:
        if plan.exists():
            known = json.loads(plan.read_text(encoding="utf-8"))
            if {name: known.get(name) for name in wanted} != wanted:
                advice = "repeat that one, give another folder, or delete it"
                raise CorpusError(f"{out} has an unfinished job with other input, settings or engine: {advice}")
            return replace(options, started=known["started"])
        if out.exists() and any(out.iterdir()):
            raise CorpusError(f"{out} is not empty: give another folder, or delete it")
        plan.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(plan, ".part") as part:
            part.write_text(json.dumps(wanted | {"started": options.started}), encoding="utf-8")
    except (OSError, json.JSONDecodeError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise CorpusError(f"{out} cannot be used: {why}") from None
    return options


@dataclass(frozen=True, eq=False)
class CorpusJob:
    """A job on an engine; ``out`` is its folder, see `prepare_job`, and ``progress`` gets a sentence now and then."""

    engine: Engine
    out: Path
    sources: Sequence[Source]
    options: CorpusOptions
    progress: Callable[[str], None]

    def run(self) -> Report:
        """Run all steps that have no result yet. Raise CorpusError if there is no page, or if a step fails."""
        report = Report()
        self._gather(report)
        self._learn_large_sites()
        self._clean()
        self._find_near_duplicates()
        self._write("links", statements.LINKS, opened="linked")
        self._store_templates()
        self._store_results()
        self._count(report)
        report.broken += [f"{name} is left out: it ends the process that reads it" for name in self.engine.left_out()]
        shutil.rmtree(self.out / engines.WORK)
        return report

    def _gather(self, report: Report) -> None:
        rows = [{"source": number, **vars(source)} for number, source in enumerate(self.sources)]
        self._make("sources", partial(engines.store, table=pa.Table.from_pylist(rows, engines.SOURCES)))
        self._open("sources")
        step, read = self.engine.round_sources, partial(read_pages, started=self.options.started)
        for first in range(0, len(rows), step):
            select = f"SELECT * FROM sources WHERE source BETWEEN {first} AND {first + step - 1}"
            self._map(f"raw/{first:09d}", engines.Work(select, read, engines.RAW))
            self.progress(f"{min(first + step, len(rows))} of {len(rows)} sources are read")
        self.engine.open("raw", *self._parts("raw"))
        for (found,) in self.engine.rows(statements.SKIPPED):
            source = json.loads(found)
            report.skipped.update(source["skipped"])
            report.cut += source["cut"]
            if BROKEN & source["skipped"].keys():
                report.broken += source["messages"] or [f"{source['path']} cannot be read"]
        [(report.pages, report.sites)] = self.engine.rows("SELECT COUNT(url), COUNT(DISTINCT site) FROM raw")
        if not report.pages:
            reasons = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items()) or "it is empty"
            shutil.rmtree(self.out / engines.WORK)
            raise CorpusError(" ".join([f"the input has no HTML page: {reasons}.", *report.broken]))
        self.progress(f"{counted(report.pages, 'page')} of {counted(report.sites, 'site')}")

    def _learn_large_sites(self) -> None:
        options = self.options
        self._write("large_sites", statements.LARGE_SITES.format(part=options.part))
        self._write("places", statements.PLACES.format(part=options.part))
        self._write("sample", statements.SAMPLE.format(part=options.part, sample=options.sample))
        learn = partial(learn_parts, options=options)
        self._map("part_counts", engines.Work(statements.SAMPLED, learn, engines.COUNTS, ("site", "part"), ("page",)))
        self._open("part_counts")
        parts = "SELECT site, part, counts FROM part_counts"
        self._map("site_counts", engines.Work(parts, merge_parts, engines.COUNTS, ("site",), ("part",)))
        self._open("site_counts")

    def _clean(self) -> None:
        schema = engines.cleaned_schema(self.options)
        function = partial(clean_sites, options=self.options)
        rounds = list(self._rounds())
        done = 0
        for name, pages, select in rounds:
            self._map(f"cleaned/{name}", engines.Work(select, function, schema, ("site", "chunk"), ("page",)))
            done += pages
            self.progress(f"{done} of {sum(pages for _, pages, _ in rounds)} pages are cleaned")
        self.engine.open("cleaned", *self._parts("cleaned"))
        for name, kind in _VIEWS.items():
            self.engine.view(name, f"SELECT {kind}.* FROM cleaned WHERE kind = '{kind}'")

    def _rounds(self) -> Iterator[tuple[str, int, str]]:
        """Name, number of pages and statement of each round: small sites by bucket, large ones by chunk."""
        engine = self.engine
        sizes = engine.rows(statements.SMALL_SIZES)
        for first, last, pages in _ranges(sizes, engine.round_pages):
            yield f"small-{first:05d}", pages, statements.SMALL.format(first=first, last=last, binary=engine.binary)
        sizes = engine.rows(statements.CHUNK_SIZES)
        buckets = ", ".join(str(b) for (b,) in engine.rows("SELECT DISTINCT bucket FROM large_sites ORDER BY 1"))
        for first, last, pages in _ranges(sizes, engine.round_pages):
            yield f"large-{first:05d}", pages, statements.LARGE.format(first=first, last=last, buckets=buckets)

    def _find_near_duplicates(self) -> None:
        self._write("copies", statements.ORIGINALS)
        self._write("band_places", statements.BAND_PLACES)
        self._write("candidates", statements.CANDIDATES)
        self._compare("near", "candidates")
        self._write("best", statements.BEST)
        self._connect("group_stars", statements.EDGES)
        self._write("heads", statements.HEADS)
        self._compare("near_heads", "heads")
        self._write("verdicts", statements.VERDICTS)
        self.progress("near-duplicates are found")

    def _compare(self, name: str, pairs: str) -> None:
        compare = partial(statements.compare, threshold=self.options.threshold)
        self._map(name, engines.Work(statements.COMPARED.format(pairs=pairs), compare, engines.PAIRS, many=True))
        self._open(name)

    def _connect(self, name: str, edges: str) -> None:
        """Find connected components: each round of large-star and small-star is written before the next one."""
        number = 0
        if not self._folder(name).is_dir():
            self._write(f"{name}_0", edges, opened="stars")
            changed = True
            while changed:
                number += 1
                self._write(f"{name}_{number}", statements.ROUND, opened="next_stars")
                changed = bool(self.engine.rows(relational.CHANGED)[0][0])
                self._open(f"{name}_{number}", opened="stars")
        self._write(name, "SELECT * FROM stars")

    def _store_templates(self) -> None:
        for name, select in statements.LOCAL:
            self.engine.view(name, select)
        self._write("candidates_local", statements.TEMPLATE_CANDIDATES, opened="template_candidates")
        self._write("page_groups_local", relational.LOCAL_GROUPS)
        for name, select in statements.GLOBAL:
            self.engine.view(name, select)
        self._write("candidates_global", statements.TEMPLATE_CANDIDATES, opened="template_candidates")
        self.engine.view("originals", relational.CANDIDATES[0][1])
        self._write("candidate_links", relational.CANDIDATE_LINKS)
        self._connect("template_stars", relational.TEMPLATE_LINKS)
        self._open("template_stars", opened="stars")
        self._write("page_groups_global", relational.GLOBAL_GROUPS)
        selects = (statements.TEMPLATES.format(form=form, column=column) for form, column in _FORMS.items())
        self._write("templates", " UNION ALL ".join(selects), opened="found_templates")
        self.progress("templates are found")

    def _store_results(self) -> None:
        self._write("duplicates", statements.DUPLICATES)
        self._write("pagelets", "SELECT * FROM cut_pagelets")
        found = {"near_duplicate_of": "d.url", "similarity": "ROUND(v.similarity, 4)"}
        names = [each.name for each in engines.feed_fields(self.options)]
        columns = ", ".join(["p.page", *(f"{found.get(name, f'p.{name}')} AS {name}" for name in names)])
        where = "WHERE v.duplicate_of IS NULL" if self.options.duplicates == "drop" else ""
        self._write("pages", statements.FEED.format(columns=columns, where=where, last=statements.LAST))

    def _count(self, report: Report) -> None:
        for name in _RESULTS:
            self._open(name, opened=f"result_{name}")
        counts = {name: self.engine.rows(f"SELECT COUNT(*) FROM result_{name}")[0][0] for name in _RESULTS}
        report.pages, report.links, report.templates = counts["pages"], counts["links"], counts["templates"]
        copies = "SELECT COUNT(*) FROM result_duplicates WHERE duplicate_of IS NOT NULL"
        [(report.duplicates,)] = self.engine.rows(copies)
        report.failures = self.engine.rows(statements.FAILURES)

    def _write(self, name: str, select: str, *, opened: str = "") -> None:
        self._make(name, partial(self.engine.write, select=select))
        self._open(name, opened=opened)

    def _map(self, name: str, work: engines.Work) -> None:
        self._make(name, partial(self.engine.map, work=work))

    def _make(self, name: str, write: Callable[[Path], None]) -> None:
        """Write a table, or a part, where nothing is, unless it is complete: then its folder has its final name."""
        path = self._folder(name)
        if not path.is_dir():
            unfinished = path.with_name(path.name + _UNFINISHED)
            unfinished.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(unfinished, ignore_errors=True)
            write(unfinished)
            unfinished.replace(path)

    def _open(self, name: str, *, opened: str = "") -> None:
        self.engine.open(opened or name, self._folder(name))

    def _folder(self, name: str) -> Path:
        """The folder of a table; of a part of one, ``NAME/PART``."""
        return self.out / name if name in _RESULTS else self.out / engines.WORK / name

    def _parts(self, name: str) -> list[Path]:
        return sorted(path for path in self._folder(name).glob("*") if path.suffix != _UNFINISHED)


def _ranges(sizes: Sequence[tuple[int, int]], least: int) -> Iterator[tuple[int, int, int]]:
    """First and last number, and sum of the sizes, of runs of numbers, so that a large corpus is not read too often."""
    first, total, most = None, 0, max(least, -(-sum(size for _, size in sizes) // _ROUNDS))
    for number, size in sizes:
        first = number if first is None else first
        total += size
        if total >= most:
            yield first, number, total
            first, total = None, 0
    if first is not None:
        yield first, sizes[-1][0], total
