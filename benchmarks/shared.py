"""A crawl that several processes share through Redis, beside one process by itself, and with processes that are killed.

The sites of the data are served on loopback, each under its own port, and crawled at once by ``scrapy crawl site``: by
one process without Redis, by several on one Redis, and by several of which one after the other is killed with SIGKILL,
at random, and replaced by a new one, until there were so many kills. ``scrapy pagelets merge`` merges the parts. The
table has the pages of the feed, those of one process that are missing, those with two lines, the requests for pages
that the sites received twice, the lines that the merge left out, the word F1 of content and template against the gold
text, the largest memory of Redis in MB, and seconds. The referee (``--referee ../shared/bench``) serves and scores.

    python -m benchmarks shared --only hexo,jdo,typer --kills 3
    python -m benchmarks shared --processes 4 --kills 20
    python -m benchmarks shared --kills 20 --set PAGELETS_FIRST_PAGES=1      # lines are written all the time
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import redis

from benchmarks.tools import need, option_parser, run, sites_below, table

HEAD = ("crawl", "kills", "pages", "missing", "doubled", "fetched twice", "left out", "F1", "tmpl. F1", "Redis MB", "s")
#: What the referee counts as a page.
_PAGE = re.compile(r"\.(x?html?|php|aspx?)([?#]|$)|/[^./]*$")
#: Seconds between two kills, at least and at most; a process has started after four of them.
_BETWEEN = (4.0, 10.0)
_LEASE = 10


class Sites(NamedTuple):
    """The sites on loopback: their names by port, the servers, and the file with the start pages."""

    names: dict[int, str]
    servers: list[Any]
    starts: Path


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the times of the kills, and of the processes")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of all crawls")
    parser.add_argument("--out", type=Path, default=Path("out/shared"))
    args = parser.parse_args(argv)
    program = need(args.referee / "crawl_sites.py", "name the folder of the referee with --referee")
    sys.path.insert(0, str(program.parent))
    args.out.mkdir(parents=True, exist_ok=True)
    rows = []
    alone = crawl(args, "alone", 1, shared=False)
    rows.append(alone.row(alone.urls))
    rows.append(crawl(args, "shared", args.processes).row(alone.urls))
    kills = 0
    while kills < args.kills:
        killed = crawl(args, f"killed-{kills}", args.processes, args.kills - kills, random.Random(args.seed + kills))
        kills += killed.kills
        rows.append(killed.row(alone.urls))
    table(HEAD, rows)


class Crawl(NamedTuple):
    """One crawl of all sites, and what came of it."""

    name: str
    kills: int
    lines: list[dict[str, Any]]
    hits: list[Counter[str]]
    left_out: int
    f1: float
    template_f1: float
    memory: float
    seconds: float

    @property
    def urls(self) -> set[str]:
        """Names of the sites and paths of the pages: each crawl has other ports."""
        return {line["page"] for line in self.lines}

    def row(self, expected: set[str]) -> list[Any]:
        lines = Counter(line["page"] for line in self.lines)
        doubled = sum(count > 1 for count in lines.values())
        twice = sum(count - 1 for of_site in self.hits for count in of_site.values())
        about = [len(lines), len(expected - lines.keys()), doubled, twice, self.left_out]
        return [self.name, self.kills, *about, self.f1, self.template_f1, self.memory, self.seconds]


def crawl(
    args: argparse.Namespace,
    name: str,
    processes: int,
    kills: int = 0,
    rng: random.Random | None = None,
    *,
    shared: bool = True,
) -> Crawl:
    """Crawl all sites, and score the feed."""
    folder = args.out / name
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    with served(args, folder) as sites, redis_server() as port:
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"urls={sites.starts}"]
        command += ["-o", str(folder / "feed.jsonl"), "-s", "AUTOTHROTTLE_ENABLED=0"]
        for setting in args.set:
            command += ["-s", setting]
        if shared:
            command += ["-s", f"PAGELETS_REDIS=redis://127.0.0.1:{port}", "-s", f"PAGELETS_REDIS_LEASE={_LEASE}"]
        started = time.perf_counter()
        killed, memory = supervise(command, folder, processes, kills, rng, port)
        seconds = time.perf_counter() - started
        hits = [Counter(path for path in server.hits if _PAGE.search(path)) for server in sites.servers]
        left_out = merge(folder) if shared else 0
        return scored(args, name, killed, folder / "feed.jsonl", sites, hits, left_out, memory, seconds)


def supervise(
    command: list[str], folder: Path, processes: int, kills: int, rng: random.Random | None, port: int
) -> tuple[int, float]:
    """Run the processes, kill some and replace them; return the number of kills, and the memory of Redis in MB."""
    count, killed, memory = 0, 0, 0

    def start() -> subprocess.Popen[bytes]:
        nonlocal count
        count += 1
        with open(folder / f"{count}.log", "wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    running, client = [start() for _ in range(processes)], redis.Redis(port=port)
    due = time.monotonic() + rng.uniform(*_BETWEEN) if rng else float("inf")
    while any(process.poll() is None for process in running):
        time.sleep(0.1)
        memory = max(memory, int(client.info("memory")["used_memory"]))
        if killed < kills and rng and time.monotonic() > due:
            victim = rng.randrange(processes)
            if running[victim].poll() is None:
                running[victim].send_signal(signal.SIGKILL)
                running[victim].wait()
                killed += 1
                running[victim] = start()
            due = time.monotonic() + rng.uniform(*_BETWEEN)
    client.close()
    if any(process.returncode for process in running):
        sys.exit(f"a process has failed, see {folder}")
    return killed, memory / 1e6


def merge(folder: Path) -> int:
    """Merge the parts; return the number of lines that were left out."""
    parts = [str(path) for path in folder.glob("feed.part-*.jsonl")]
    merged = [sys.executable, "-m", "scrapy", "pagelets", "merge", *parts, "-o", str(folder / "feed.jsonl")]
    if run(merged, folder / "merge.log"):
        sys.exit(f"the parts could not be merged, see {folder / 'merge.log'}")
    found = re.search(r"(\d+) left out", (folder / "merge.log").read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def scored(
    args: argparse.Namespace, name: str, kills: int, feed: Path, sites: Sites, hits: list[Counter[str]], left_out: int,
    memory: float, seconds: float,
) -> Crawl:  # fmt: skip
    """Score the lines of each site against its gold text; means over the sites."""
    import score

    lines = score.read(feed)
    of_site: dict[str, list[dict[str, Any]]] = {name: [] for name in sites.names.values()}
    for line in lines:
        port, _, path = line["url"].removeprefix("http://127.0.0.1:").partition("/")
        line["page"] = f"{sites.names[int(port)]}/{path}"
        of_site[sites.names[int(port)]].append(line)
    results = [
        score.score_sites(found, score.read(sites_below(args.data) / site / "gold.jsonl.gz"))
        for site, found in of_site.items()
    ]
    f1, template_f1 = (sum(result[key] for result in results) / len(results) for key in ("f1", "template_f1"))
    return Crawl(name, kills, lines, hits, left_out, f1, template_f1, memory, seconds)


def _ignored(*_: object) -> None:
    """What a server does about a client that is gone."""


@contextmanager
def served(args: argparse.Namespace, folder: Path) -> Iterator[Sites]:
    """The sites on loopback."""
    import crawl_sites

    data = sites_below(args.data)
    only = set(filter(None, args.only.split(",")))
    every = json.loads((data / "sites.json").read_text(encoding="utf-8"))
    about = [site for site in every if not only or site["name"] in only]
    crawl_sites.http.server.ThreadingHTTPServer.handle_error = _ignored  # a killed process resets its connections
    servers = [crawl_sites.serve(str(data / site["name"])) for site in about]
    names = {server.server_address[1]: site["name"] for server, site in zip(servers, about, strict=True)}
    starts = folder / "starts.txt"
    urls = (f"http://127.0.0.1:{s.server_address[1]}/{site['start']}\n" for s, site in zip(servers, about, strict=True))
    starts.write_text("".join(urls))
    try:
        yield Sites(names, servers, starts)
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


@contextmanager
def redis_server() -> Iterator[int]:
    """A new Redis server, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        process = subprocess.Popen([*command, "--appendonly", "yes"], stdout=subprocess.DEVNULL)
        try:
            yield port
        finally:
            process.terminate()
            process.wait()
