"""Time, memory and bytes of the corpus job, for corpora of several sizes, and what a Common Crawl month would take.

    python -m benchmarks corpus --pages 1000,10000,100000
    python -m benchmarks corpus --pages 1000 --engine spark --master spark://127.0.0.1:7077

Data: a folder of sites (``--data .data``), replicated under other hosts. In each replica a quarter of the words, by
their hash, become others; a word becomes the same one wherever it stands, so what the pages of a site share stays
shared, and what they say is no duplicate of another replica. Seconds are those of the processors, of all processes
together: the machine may be busy with other things. Bytes are those written to the output folder in the end, and by
all processes to the disk. DuckDB has 2 GB of memory, beyond which it spills.
"""

from __future__ import annotations

import argparse
import io
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
from xxhash import xxh3_64_intdigest

from benchmarks.tools import names, option_parser, sites_below, table

#: Pages of a WARC file, and pages of each site that are replicated.
_FILE: Final = 1000
_TEXT: Final = re.compile(rb">[^<]+<")
_WORD: Final = re.compile(rb"[A-Za-z]{4,}")
_LETTERS: Final = b"abcdefghijklmnop"
_MEMORY: Final = "2GB"
#: A Common Crawl month, and hours and processors of an executor to clean it with.
_MONTH: Final = 3_000_000_000
_HOURS: Final = 24
_CORES: Final = 4


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--only", default="hexo,tomcat10,ipe,django,boost,yard", help="names of sites (%(default)s)")
    parser.add_argument("--pages", default="1000,10000", help="sizes of the corpora (%(default)s)")
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--master", default="")
    parser.add_argument("--out", type=Path, default=Path("out/corpus"))
    args = parser.parse_args(argv)
    folders = [sites_below(args.data) / name for name in sorted(names(args.only))]
    rows = []
    for size in map(int, args.pages.split(",")):
        rows.append(measure(folders, size, args))
        print(f"{size} pages: {rows[-1]}", file=sys.stderr)
    head = ("pages", "seconds", "processor s", "ms a page", "MB of largest process", "MB in", "MB out", "MB written")
    table(head, rows)
    last = rows[-1]
    seconds = last[2] / last[0] * _MONTH
    print(
        f"\n{_MONTH:.0e} pages at the {last[3]} ms of the last row: {seconds / 3600:,.0f} processor hours, "
        f"{seconds / 3600 / _HOURS / _CORES:,.0f} executors with {_CORES} processors for {_HOURS} hours; "
        f"{last[6] / last[0] * _MONTH / 1e6:,.0f} TB out"
    )


def measure(folders: list[Path], size: int, args: argparse.Namespace) -> tuple[Any, ...]:
    """Clean a corpus of one size."""
    source, out = args.out / f"in-{size}", args.out / f"out-{size}"
    shutil.rmtree(out, ignore_errors=True)
    if not source.exists():
        write(folders, size, source)
    command = [sys.executable, "-m", "scrapy", "pagelets", "corpus", str(source), str(out), "--engine", args.engine]
    command += ["--memory", _MEMORY]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run([*command, *(["--master", args.master] if args.master else [])], check=True)
    seconds, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    written = (after.ru_oublock - before.ru_oublock) * 512
    megabytes = (round(value / 1e6) for value in (size_of(source), size_of(out), written))
    row = (size, round(seconds), round(cpu), round(1000 * cpu / size, 1), after.ru_maxrss // 1000, *megabytes)
    shutil.rmtree(out)
    return row


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write(folders: list[Path], size: int, folder: Path) -> None:
    """Write WARC files with replicas of the sites."""
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True)
    pages = islice(replicas(folders), size)
    number = 0
    while some := list(islice(pages, _FILE)):
        with (part / f"part-{number:05d}.warc.gz").open("wb") as file:
            writer = WARCWriter(file, gzip=True)
            for url, body in some:
                headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
                record = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=headers)
                writer.write_record(record)
        number += 1
    part.rename(folder)


def replicas(folders: list[Path]) -> Iterator[tuple[str, bytes]]:
    sites = [(folder, sorted(folder.rglob("*.html"))) for folder in folders]
    number = 0
    while True:
        for folder, files in sites:
            known: dict[bytes, bytes] = {}
            for file in files:
                url = f"http://{folder.name}-{number}.example/{file.relative_to(folder)}"
                yield url, replica(file.read_bytes(), number, known)
        number += 1


def replica(body: bytes, number: int, known: dict[bytes, bytes]) -> bytes:
    """A page in which a quarter of the words are others."""

    def other(match: re.Match[bytes]) -> bytes:
        word = match[0]
        if word not in known:
            value = xxh3_64_intdigest(word, seed=number)
            ending = bytes(_LETTERS[value >> shift & 15] for shift in (2, 6, 10, 14))
            known[word] = word if value % 4 or not number else word + ending
        return known[word]

    return _TEXT.sub(lambda text: _WORD.sub(other, text[0]), body)
