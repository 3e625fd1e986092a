"""The speed of a crawl with the plugin, beside the same crawl without it and one with trafilatura in a pipeline.

Sites of the data (``--data .data``) are served on loopback by a process of its own, each under its own port. One spider
crawls them, which yields an item for each page and follows all links; everything else is equal: with the add-on,
without it, and, if trafilatura is installed, without it and with a pipeline that calls trafilatura. The three take
turns, first on one core, then with a second core free. The ratios are the medians of those within the repetitions.

Times are measured in the process of the crawl, from the first response until the spider is closed: seconds; CPU
milliseconds a page, of all threads and of child processes, and of the reactor's thread alone; the share of them that
Python's collection of garbage takes; resident memory; how long the callbacks of the reactor take, by the clock and in
CPU time; how late a timer of the reactor fires that is due every 5 milliseconds: after several callbacks in a row, each
timer that is due meanwhile counts; and the seconds of CPU before the first response. ``--blocks`` names the longest
callbacks: it samples the stack.

    python -m benchmarks throughput --only hexo,jdo,typer
    python -m benchmarks throughput --only hexo --blocks --repetitions 1
"""

from __future__ import annotations

import asyncio
import gc
import json
import mimetypes
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import traceback
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, Self
from urllib.parse import quote, unquote, urldefrag, urlsplit

import numpy as np
import scrapy
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from benchmarks.tools import ROOT, last_lines, names, need, option_parser, sites_below, table

SITES = "hexo,jdo,typer,cmake,django,velocity-api"
SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "0",
    "ROBOTSTXT_OBEY": "0",
    "TELNETCONSOLE_ENABLED": "0",
    "CONCURRENT_REQUESTS": "16",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "LOG_LEVEL": "INFO",
}
WITH, WITHOUT = '{"scrapy_pagelets.Addon": 500}', "{}"
PLAIN, PLUGIN, TRAFILATURA = "plain Scrapy", "the plugin", "trafilatura"
#: Seconds between the ticks of the timer, and the length in seconds of a block whose stack is sampled.
_TICK, _BLOCK = 0.005, 0.02

#: Status, headers, body, seconds to wait.
Reply = tuple[int, dict[str, str], bytes, float]


class LinksSpider(scrapy.Spider):
    """The minimum that a spider does: yield an item for each page, and follow its links."""

    name = "links"

    def __init__(self, urls: str = "", report: str = "", html: str = "", blocks: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = urls.split(",")
        self.hosts = {urlsplit(url).netloc for url in self.start_urls}
        self.report, self.html, self.blocks = report, html, blocks
        self.meter: Meter | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        if spider.report:
            spider.meter = Meter(crawler, Path(spider.report), stacks=bool(spider.blocks))
        return spider

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        item = {"url": response.url, "title": response.css("title::text").get()}
        yield item | {"html": response.text} if self.html else item
        for href in response.css("a::attr(href)").getall():
            try:
                url = urldefrag(response.urljoin(href.strip())).url
            except ValueError:
                continue
            if urlsplit(url).netloc in self.hosts:
                yield scrapy.Request(url)


class TrafilaturaPipeline:
    """What projects without the plugin do."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        import trafilatura

        return item | {"text": trafilatura.extract(item.pop("html"))}


class Meter:
    """Measure a crawl in its own process, and write the figures to a file."""

    def __init__(self, crawler: Crawler, report: Path, *, stacks: bool) -> None:
        self.crawler, self.report, self.stacks = crawler, report, stacks
        self.late, self.took, self.its_cpu = (
            array("d"),
            array("d"),
            array("d"),
        )  # lists of floats would be what is measured
        self.found: Counter[str] = Counter()
        self.collecting = self.began_collecting = 0.0
        self.running = 0.0
        self.open = True
        crawler.signals.connect(self.began, signals.response_received)
        crawler.signals.connect(self.closed, signals.spider_closed)

    def began(self) -> None:
        self.crawler.signals.disconnect(self.began, signals.response_received)
        self.seconds, self.cpu, self.own = perf_counter(), _cpu(), thread_time()
        gc.callbacks.append(self.collected)
        self.time_callbacks()
        if self.stacks:
            threading.Thread(target=self.watch, args=(threading.get_ident(),), daemon=True).start()
        self.loop = asyncio.get_running_loop()
        self.due = self.loop.time() + _TICK
        self.loop.call_at(self.due, self.tick)

    def time_callbacks(self) -> None:
        handles: Any = asyncio.Handle
        run = handles._run

        def timed(handle: asyncio.Handle) -> None:
            self.running, cpu = perf_counter(), thread_time()
            run(handle)
            self.took.append(perf_counter() - self.running)
            self.its_cpu.append(thread_time() - cpu)
            self.running = 0.0

        handles._run = timed

    def tick(self) -> None:
        now = self.loop.time()
        while self.due <= now:
            self.late.append(now - self.due)
            self.due += _TICK
        if self.open:
            self.loop.call_at(self.due, self.tick)

    def watch(self, thread: int) -> None:
        """Sample the stack of the reactor in long callbacks; runs in a thread."""
        while self.open:
            threading.Event().wait(_TICK)
            began = self.running
            if began and (took := perf_counter() - began) > _BLOCK and (frame := sys._current_frames().get(thread)):
                calls = traceback.extract_stack(frame)[-8:]
                place = " < ".join(f"{Path(call.filename).stem}.{call.name}:{call.lineno}" for call in reversed(calls))
                self.found[place] = max(self.found[place], round(1000 * took))

    def collected(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self.began_collecting = process_time()
        else:
            self.collecting += process_time() - self.began_collecting

    def closed(self) -> None:
        self.open = False
        gc.callbacks.remove(self.collected)
        stats, late = self.crawler.stats, 1000 * np.array(self.late or [0.0])
        took, its_cpu = 1000 * np.array(self.took), 1000 * np.array(self.its_cpu)
        assert stats is not None
        cpu, seconds = _cpu() - self.cpu, perf_counter() - self.seconds
        pages = stats.get_value("item_scraped_count", 0)
        figures = {
            "pages": pages,
            "pages/s": pages / seconds,
            "CPU ms": 1000 * cpu / max(1, pages),
            "reactor ms": 1000 * (thread_time() - self.own) / max(1, pages),
            "collection": self.collecting / cpu,
            "block p99": float(np.percentile(took, 99)),
            "block max": float(took.max()),
            "its CPU p99": float(np.percentile(its_cpu, 99)),
            "its CPU max": float(its_cpu.max()),
            "late p50": float(np.percentile(late, 50)),
            "late p99": float(np.percentile(late, 99)),
            "late max": float(late.max()),
            "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
            "start s": self.cpu,
        }
        self.report.write_text(json.dumps(figures | {"blocks": self.found.most_common(5)}), encoding="utf-8")


def _cpu() -> float:
    """Seconds of CPU of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--only", default=SITES, help=f"comma-separated names of sites ({SITES})")
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2], help="number of cores, one or more (1 2)")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that the server waits before each answer")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="leave out trafilatura")
    parser.add_argument("--blocks", action="store_true", help="name what blocks the reactor longest")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="of the plugin's crawls")
    args = parser.parse_args(argv)
    folders = [folder for folder in sorted(sites_below(args.data).iterdir()) if folder.name in names(args.only)]
    if not folders:
        sys.exit("no site to crawl: --only matches no site")
    kinds = [PLAIN, PLUGIN, *([TRAFILATURA] if find_spec("trafilatura") and not args.no_peers else [])]
    for cores in args.cores:
        found = measure(folders, kinds, cores, args.repetitions, args.latency, args.setting, blocks=args.blocks)
        print(f"\n{len(folders)} sites, {cores} of {os.cpu_count()} cores, {args.repetitions} repetitions\n")
        report(found)


def measure(
    folders: list[Path],
    kinds: list[str],
    cores: int,
    repetitions: int,
    latency: float = 0.0,
    settings: list[str] | None = None,
    *,
    blocks: bool = False,
) -> dict[str, list[dict[str, Any]]]:
    """Crawl the sites by turns with each kind of crawl.

    Parameters
    ----------
    settings : settings of the crawls with the plugin, ``NAME=VALUE``

    Returns
    -------
    The figures of each repetition, by kind
    """
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for folder in folders:
        need(folder / "index.html", "each site starts there")
    with served([Answers(folder, latency) for folder in folders]) as roots:
        urls = [f"{root}index.html" for root in roots]
        for _ in range(repetitions):
            for kind in kinds:
                found[kind].append(crawl(urls, kind, cores, settings or [], blocks=blocks))
    return found


def report(found: dict[str, list[dict[str, Any]]]) -> None:
    """Print the medians of each kind, its ratios to plain Scrapy, and the longest blocks of the reactor."""
    columns = [column for column in found[PLAIN][0] if column != "blocks"]
    rows = []
    for kind, runs in found.items():
        ratios = [
            statistics.median(one[column] / other[column] for one, other in zip(runs, found[PLAIN], strict=True))
            for column in ("pages/s", "CPU ms")
        ]
        medians = {column: statistics.median(run[column] for run in runs) for column in columns}
        rows.append([kind, *(f"{v:.{_digits(v)}f}" for v in medians.values()), *(f"{ratio:.2f}" for ratio in ratios)])
    table(["crawl", *columns, "x pages/s", "x CPU"], rows)
    if len({run["pages"] for runs in found.values() for run in runs}) > 1:
        print("the crawls differ in their number of pages", file=sys.stderr)
    for kind, runs in found.items():
        for place, late in max((run["blocks"] for run in runs), key=lambda each: each[0][1] if each else 0):
            print(f"{kind}: {late} ms: {place}")


def _digits(value: float) -> int:
    return 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2


def crawl(urls: list[str], kind: str, cores: int, settings: list[str], *, blocks: bool = False) -> dict[str, Any]:
    """Crawl sites in a process that may use some of the cores; return its figures."""
    given = [f"{name}={value}" for name, value in SETTINGS.items()]
    if kind == PLUGIN:
        given += [f"ADDONS={WITH}", *settings]
    elif kind == TRAFILATURA:
        given += ['ITEM_PIPELINES={"benchmarks.throughput.TrafilaturaPipeline": 100}']
    with tempfile.TemporaryDirectory() as temporary:
        log, figures = Path(temporary, "log"), Path(temporary, "figures.json")
        command = [sys.executable, "-m", "scrapy", "runspider", __file__, "-O", f"{temporary}/feed.jsonl"]
        command += ["-a", "urls=" + ",".join(urls), "-a", f"report={figures}"]
        command += ["-a", "html=1"] * (kind == TRAFILATURA) + ["-a", "blocks=1"] * blocks
        command += [part for setting in given for part in ("-s", setting)]
        with log.open("w", encoding="utf-8") as file:
            path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
            process = subprocess.Popen(
                command, env=os.environ | {"PYTHONPATH": path}, stdout=file, stderr=file, cwd=temporary
            )
            os.sched_setaffinity(process.pid, range(cores))
            code = process.wait()
        if code or not figures.exists():
            sys.exit(f"the crawl ended with exit code {code}; the end of its log:\n{last_lines(log)}")
        found: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
        return found


class Answers:
    """The files of a folder, after a delay. As on static hosts, ``a/`` is ``a/index.html`` and ``a`` is ``a.html``."""

    def __init__(self, folder: Path, latency: float) -> None:
        self.folder, self.latency = folder.resolve(), latency
        self._replies: dict[str, Reply] = {}

    def __call__(self, path: str) -> Reply:
        path = unquote(urlsplit(path).path)
        if path not in self._replies:
            self._replies[path] = self._reply(path)
        return self._replies[path]

    def _reply(self, path: str) -> Reply:
        file = (self.folder / path.lstrip("/")).resolve()
        if file.is_dir():
            if not path.endswith("/"):
                return 301, {"Location": quote(path) + "/"}, b"", self.latency
            file /= "index.html"
        elif not file.exists():
            file = file.with_name(file.name + ".html")
        if not file.is_file() or self.folder not in file.parents:
            return 404, {}, b"", self.latency
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return 200, {"Content-Type": kind}, file.read_bytes(), self.latency


@contextmanager
def served(sites: Sequence[Callable[[str], Reply]]) -> Iterator[list[str]]:
    """Serve sites in a process of its own, on the last core; the URLs of their roots.

    Parameters
    ----------
    sites : functions from paths to answers, which can be pickled
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(sites, theirs), daemon=True)
    process.start()
    try:
        yield [f"http://127.0.0.1:{port}/" for port in ours.recv()]
    finally:
        process.terminate()
        process.join()


def serve(sites: Sequence[Callable[[str], Reply]], opened: Connection) -> None:
    """Serve sites, and send the numbers of their ports."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    async def run() -> None:
        loop = asyncio.get_running_loop()
        servers = []
        for answers in sites:
            servers.append(await loop.create_server(partial(_Connection, answers), "127.0.0.1"))
        opened.send([server.sockets[0].getsockname()[1] for server in servers])
        await asyncio.Event().wait()

    asyncio.run(run())


class _Connection(asyncio.Protocol):
    """The least that a crawler needs of HTTP/1.1: GET on connections that stay open."""

    def __init__(self, answers: Callable[[str], Reply]) -> None:
        self.answers = answers
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            request, _, self.received = self.received.partition(b"\r\n\r\n")
            status, headers, body, latency = self.answers(request.split(b" ", 2)[1].decode("latin-1"))
            lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers.items())]
            head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1")
            if latency:
                asyncio.get_running_loop().call_later(latency, self.transport.write, head + body)
            else:
                self.transport.write(head + body)
