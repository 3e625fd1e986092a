"""The speed of a crawl with the plugin, as a share of the speed of the same crawl without it.

Sites of the data (``--data .data``) are served on loopback, each under its own port, and crawled by one spider, with
and without the add-on; everything else is equal. With ``--latency`` the server waits before each answer, as a real one
does; with no latency, only the CPU time matters. Repetitions alternate between the two, and the best of each counts.

    python benchmarks/throughput.py --only hexo,jdo,typer
"""

from __future__ import annotations

import argparse
import mimetypes
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urlsplit

import scrapy
from scrapy.http import HtmlResponse, Response
from tools import ROOT, last_lines, names, run, sites_below, table

SITES = "hexo,jdo,typer,cmake,django,velocity-api"
SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "0",
    "ROBOTSTXT_OBEY": "0",
    "CONCURRENT_REQUESTS": "16",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "16",
    "LOG_LEVEL": "INFO",
}
WITH, WITHOUT = '{"scrapy_pagelets.Addon": 500}', "{}"

#: Status, headers, body, seconds to wait.
Reply = tuple[int, dict[str, str], bytes, float]


class LinksSpider(scrapy.Spider):
    """The minimum that a spider does: yield an item for each page, and follow its links."""

    name = "links"

    def __init__(self, urls: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = urls.split(",")
        self.hosts = {urlsplit(url).netloc for url in self.start_urls}

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get()}
        for href in response.css("a::attr(href)").getall():
            try:
                url = urldefrag(response.urljoin(href.strip())).url
            except ValueError:
                continue
            if urlsplit(url).netloc in self.hosts:
                yield scrapy.Request(url)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--only", default=SITES, help=f"comma-separated names of sites ({SITES})")
    parser.add_argument("--latency", type=float, nargs="*", default=[0.0, 0.05], help="seconds, one or more")
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.parse_args()
    folders = [folder for folder in sorted(sites_below(args.data).iterdir()) if folder.name in names(args.only)]
    if not folders:
        sys.exit("no site to crawl: --only matches no site")
    rows = []
    for latency in args.latency:
        best = {WITHOUT: 0.0, WITH: 0.0}
        pages = {}
        for _ in range(args.repetitions):
            for addons in best:
                pages[addons], seconds = crawl(folders, latency, addons)
                best[addons] = max(best[addons], pages[addons] / seconds)
        if pages[WITH] != pages[WITHOUT]:
            print(
                f"the crawls differ: {pages[WITHOUT]} pages without the add-on, {pages[WITH]} with it", file=sys.stderr
            )
        ratio = best[WITH] / best[WITHOUT]
        rows.append([f"{latency:g} s", pages[WITH], f"{best[WITHOUT]:.0f}", f"{best[WITH]:.0f}", f"{ratio:.2f}"])
    print(f"{len(folders)} sites, best of {args.repetitions}\n")
    table(["latency", "pages", "pages/s without", "pages/s with", "ratio"], rows)


def crawl(folders: list[Path], latency: float, addons: str) -> tuple[int, float]:
    """Crawl the sites; return the number of items and the seconds from start to end of the spider."""
    sys.path.insert(0, str(ROOT))
    from tests.server import SiteServer

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = [stack.enter_context(SiteServer(routes={"/*": Answers(site, latency)})) for site in folders]
        settings = SETTINGS | {"ADDONS": addons}
        command = [sys.executable, "-m", "scrapy", "runspider", __file__, "-O", str(folder / "feed.jsonl")]
        command += ["-a", "urls=" + ",".join(server.url("index.html") for server in servers)]
        command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        if code := run(command, log := folder / "log"):
            sys.exit(f"the crawl ended with exit code {code}; the end of its log:\n{last_lines(log)}")
        found = stats(log.read_text(encoding="utf-8"))
        return int(found["item_scraped_count"]), found["elapsed_time_seconds"]


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


def stats(log: str) -> dict[str, float]:
    """The numeric stats at the end of a log."""
    found = re.findall(r"'([\w/]+)': ([\d.]+)[,}]", log.partition("Dumping Scrapy stats:")[2])
    return {name: float(value) for name, value in found}


if __name__ == "__main__":
    main()
