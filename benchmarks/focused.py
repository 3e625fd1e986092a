"""Harvest of a focused crawl compared with breadth-first: how many of the fetched pages are about the topic.

The sites of the data (``--data .data``) are served on loopback, each under its own host, and crawled together by Scrapy
from their start pages; no crawl fetches more than ``--pages``. Each topic is crawled in four ways: breadth-first
without the add-on; by the relevance of pagelets (`PriorityMiddleware`, pages learnt as they come); in the same way with
links of good hubs raised while they wait (`RaisingQueue`); and by the same formula with every page as one
pagelet without template. A page counts as fetched when its server has sent it, in that
order.

There are two kinds of topics. Which pages are relevant is decided without the crawler, by gold content and paths:

- words: a word is a topic if 30 to 200 pages are about it. A page is about a word that occurs five or more times in its
  content and makes up at least 1 % of its words. At most 20 % of all pages may contain the word, at least four sites
  must have three of its pages, and no site may have more than 60 % of them. The query is the word and the three words
  that are most typical of its pages. Words that share a fifth of their pages with an earlier topic are left out.
- sections: 13 or more pages in one folder of a site, but no more than 60 % of its pages. Three of them, drawn at
  random, are the examples, and the others the relevant pages.

Every second topic, at random, is for reporting; the parameters were chosen on the others, in a simulation of such
crawls.

    python -m benchmarks focused --topics 6 --picture docs/evaluation/focused.svg
    python -m benchmarks focused --crawls out/focused --picture docs/evaluation/focused.svg
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np
import scrapy
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

from benchmarks.throughput import Answers, Reply
from benchmarks.tools import last_lines, option_parser, run, sites_below, table
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.links.relevance import PageScores, score
from scrapy_pagelets.middlewares.priority import PriorityMiddleware
from scrapy_pagelets.session.page_context import PageContext
from tests.server import SiteServer

#: A page of the data: its site and its path.
Key = tuple[str, str]

SETTINGS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": 0,
    "ROBOTSTXT_OBEY": 0,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "LOG_LEVEL": "INFO",
    # Breadth-first among requests of the same priority.
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "PAGELETS_PROBE": 0,
}
BREADTH, PAGES, PAGELETS, HUBS = "breadth-first", "pages", "pagelets", "hubs"
VARIANTS: dict[str, dict[str, Any]] = {
    BREADTH: {},
    PAGES: {"SPIDER_MIDDLEWARES": '{"focused.WholePages": 75}'},
    PAGELETS: {"ADDONS": '{"scrapy_pagelets.Addon": 500}'},
    HUBS: {
        "ADDONS": '{"scrapy_pagelets.Addon": 500}',
        "SCHEDULER_PRIORITY_QUEUE": "scrapy_pagelets.session.raising.RaisingQueue",
    },
}


class FocusedTopic(NamedTuple):
    """A topic, the settings that give it to a crawl, and the relevant pages."""

    name: str
    settings: dict[str, str]
    relevant: set[Key]


class FollowSpider(scrapy.Spider):
    """Follow the links within the hosts of the start pages."""

    name = "follow"

    def __init__(self, urls: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = urls.split(",")
        self.allowed_domains = [url.split("/")[2].partition(":")[0] for url in self.start_urls]

    def parse(self, response: Response) -> Any:
        if isinstance(response, HtmlResponse):
            yield from response.follow_all(LinkExtractor().extract_links(response))


class WholePages(PriorityMiddleware):
    """The same without pagelets: each page is a single pagelet, and all of it is content."""

    def score(self, visit: PageContext, inherited: float) -> PageScores:
        page = visit.page
        return score(pagelets_of(page, np.zeros(len(page.nodes), np.int64)), self.topic, inherited)


class Data:
    """The pages of the sites, with the words of their gold content and their folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.starts: dict[str, str] = {
            site["name"]: site["start"] for site in json.loads((folder / "sites.json").read_text(encoding="utf-8"))
        }
        self.contents: dict[Key, Counter[str]] = {}
        for name in self.starts:
            with gzip.open(folder / name / "gold.jsonl.gz", "rt", encoding="utf-8") as file:
                for line in map(json.loads, file):
                    self.contents[name, line["path"]] = Counter(filter(_counts, words(line["content"])))

    def topics(self) -> tuple[list[FocusedTopic], list[FocusedTopic]]:
        """The topics for reporting, of both kinds."""
        return self._words()[1::2], self._sections()[1::2]

    def _words(self) -> list[FocusedTopic]:
        stands = Counter(word for content in self.contents.values() for word in content)
        about: defaultdict[str, set[Key]] = defaultdict(set)
        for key, content in self.contents.items():
            total = content.total()
            for word, count in content.items():
                if count >= 5 and count >= 0.01 * total and stands[word] <= 0.2 * len(self.contents):
                    about[word].add(key)
        found: list[FocusedTopic] = []
        for word in _shuffled((word for word, pages in about.items() if _is_spread(pages)), seed=0):
            pages = about[word]
            if all(len(pages & other.relevant) < 0.2 * len(pages | other.relevant) for other in found):
                found.append(FocusedTopic(word, {"PAGELETS_TOPIC": self._query(word, pages)}, pages))
        return found

    def _query(self, word: str, pages: set[Key]) -> str:
        """A word and the three that are most typical of its pages."""
        here, there = Counter[str](), Counter[str]()
        for key, content in self.contents.items():
            (here if key in pages else there).update(content.keys())
        others = len(self.contents) - len(pages)

        def weight(other: str) -> float:
            share = here[other] / len(pages)
            return share * math.log((share + 0.001) / (there[other] / others + 0.001))

        near = [other for other, count in here.items() if count >= 5 and other != word]
        return " ".join([word, *sorted(near, key=weight, reverse=True)[:3]])

    def _sections(self) -> list[FocusedTopic]:
        folders: defaultdict[Key, list[str]] = defaultdict(list)
        for site, path in sorted(self.contents):
            if "/" in path:
                folders[site, path.rpartition("/")[0]].append(path)
        size = Counter(site for site, _ in self.contents)
        fit = [(site, name) for (site, name), paths in folders.items() if 13 <= len(paths) <= 0.6 * size[site]]
        found = []
        for site, name in _shuffled(fit, seed=1):
            paths = folders[site, name]
            examples = random.Random(0).sample(paths, 3)
            files = ",".join(str((self.folder / site / path).absolute()) for path in examples)
            pages = {(site, path) for path in paths if path not in examples}
            found.append(FocusedTopic(f"{site}/{name}", {"PAGELETS_TOPIC_PAGES": files}, pages))
        return found


def _counts(word: str) -> bool:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return len(word) > 3 and word.isascii() and word.isalpha() and word not in ENGLISH_STOP_WORDS


def _is_spread(pages: set[Key]) -> bool:
    sites = Counter(site for site, _ in pages)
    several = sum(count >= 3 for count in sites.values()) >= 4
    return 30 <= len(pages) <= 200 and several and max(sites.values()) <= 0.6 * len(pages)


def _shuffled(values: Iterable[Any], seed: int) -> list[Any]:
    found = sorted(values)
    random.Random(seed).shuffle(found)
    return found


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--pages", type=int, default=500, help="number of pages that a crawl may fetch")
    parser.add_argument("--topics", type=int, default=6, help="number of topics of each kind")
    parser.add_argument(
        "--out", type=Path, default=Path("out/focused"), help="folder of crawls; existing crawls are kept"
    )
    parser.add_argument("--crawls", type=Path, help="print the crawls of this folder, without crawling")
    parser.add_argument("--picture", type=Path, help="SVG file to draw the curves into")
    args = parser.parse_args(argv)
    data = Data(sites_below(args.data))
    kinds = dict(zip(("words", "sections"), (topics[: args.topics] for topics in data.topics()), strict=True))
    if args.crawls is None:
        args.out.mkdir(parents=True, exist_ok=True)
        # Kinds take turns, so that an interrupted run has some of each.
        for topics in zip(*kinds.values(), strict=False):
            for topic in topics:
                for variant in VARIANTS:
                    crawl(data, variant, topic, args.pages, args.out)
    report(kinds, args.crawls or args.out, args.picture)


def file_of(folder: Path, variant: str, topic: FocusedTopic) -> Path:
    """The file of a crawl; breadth-first is the same for all topics."""
    name = variant if variant == BREADTH else f"{variant} {topic.name.replace('/', ' ')}"
    return folder / f"{name}.json"


def crawl(data: Data, variant: str, topic: FocusedTopic, pages: int, out: Path) -> None:
    """Crawl, and write the pages that were fetched, in order."""
    file = file_of(out, variant, topic)
    if file.exists():
        return
    fetched: list[Key] = []
    with ExitStack() as stack:
        urls = []
        for number, (site, start) in enumerate(data.starts.items(), 2):
            served = type("", (SiteServer,), {"host": f"127.0.0.{number}"})
            server = stack.enter_context(served(routes={"/*": Recorded(data.folder / site, fetched)}))
            urls.append(server.url(start))
        settings = SETTINGS | VARIANTS[variant] | topic.settings | {"CLOSESPIDER_PAGECOUNT": pages}
        if variant == BREADTH:
            settings = {name: value for name, value in settings.items() if not name.startswith("PAGELETS_TOPIC")}
        command = [sys.executable, "-m", "scrapy", "runspider", __file__, "-a", "urls=" + ",".join(urls)]
        command += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        if code := run(command, log := file.with_suffix(".log")):
            sys.exit(f"the crawl ended with exit code {code}; the end of its log:\n{last_lines(log)}")
    file.write_text(json.dumps(fetched[:pages]), encoding="utf-8")
    print(f"{topic.name}, {variant}: {len(set(fetched[:pages]) & topic.relevant)} pages", file=sys.stderr, flush=True)


class Recorded(Answers):
    """A site's pages; records which ones it sends."""

    def __init__(self, folder: Path, fetched: list[Key]) -> None:
        super().__init__(folder, 0.0)
        self._fetched = fetched

    def __call__(self, path: str) -> Reply:
        reply = super().__call__(path)
        if reply[0] == 200:
            self._fetched.append((self.folder.name, self._path(path)))
        return reply

    def _path(self, path: str) -> str:
        """The file behind a path, as the gold names it."""
        name = unquote(urlsplit(path).path).lstrip("/")
        file = self.folder / name
        if file.is_dir():
            file /= "index.html"
        elif not file.exists():
            file = file.with_name(file.name + ".html")
        return str(file.resolve().relative_to(self.folder))


def report(kinds: dict[str, list[FocusedTopic]], folder: Path, picture: Path | None) -> None:
    """Print pages found and areas under the curves, by topic and on average; draw the curves.

    The crawls of a topic are compared over as many pages as each of them has fetched, because dead links differ.
    """
    curves: dict[str, np.ndarray] = {}
    for kind, topics in kinds.items():
        known = [topic for topic in topics if all(file_of(folder, variant, topic).exists() for variant in VARIANTS)]
        if not known:
            continue
        found = [harvests(folder, topic) for topic in known]
        shortest = min(harvest.shape[1] for harvest in found)
        curves[kind] = np.mean([harvest[:, :shortest] for harvest in found], axis=0)
        areas = np.array([harvest.mean(axis=1) for harvest in found])
        print(f"{kind}: relevant pages found, mean over the first 1, 2, ... fetched pages\n")
        rows = [
            [t.name, len(t.relevant), harvest.shape[1], *area]
            for t, harvest, area in zip(known, found, areas, strict=True)
        ]
        rows.append(["MEAN", *(float(np.mean([row[i] for row in rows])) for i in (1, 2)), *areas.mean(axis=0)])
        table(["topic", "relevant", "fetched", *VARIANTS], rows)
        ends = np.mean([harvest[:, -1] for harvest in found], axis=0)
        print(f"\nat the end, mean: {', '.join(f'{v} {e:.1f}' for v, e in zip(VARIANTS, ends, strict=True))}")
        mean = dict(zip(VARIANTS, areas.mean(axis=0), strict=True))
        gains = [f"{name} {mean[HUBS] / area - 1:+.0%}" for name, area in mean.items() if area and name != HUBS]
        print(f"hubs against {', '.join(gains)}\n")
    if picture is not None:
        draw(curves, picture)


def harvests(folder: Path, topic: FocusedTopic) -> np.ndarray:
    """(variants, pages) number of relevant pages among the first 1, 2, ... fetched pages, each counted once."""
    found = []
    for variant in VARIANTS:
        fetched = [tuple(key) for key in json.loads(file_of(folder, variant, topic).read_text(encoding="utf-8"))]
        first = {key: number for number, key in reversed(list(enumerate(fetched)))}
        hits = np.zeros(len(fetched))
        hits[[number for key, number in first.items() if key in topic.relevant]] = 1
        found.append(hits.cumsum())
    return np.array([hits[: min(map(len, found))] for hits in found])


def draw(curves: dict[str, np.ndarray], picture: Path) -> None:
    """Draw the curves, with a plot for each kind of topic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    for axes, (kind, means) in zip(np.atleast_1d(figure.subplots(1, len(curves))), curves.items(), strict=True):
        for curve, name in zip(means, VARIANTS, strict=True):
            axes.plot(np.arange(1, len(curve) + 1), curve, label=name)
        axes.set(title=f"topics: {kind}", xlabel="pages fetched", ylabel="relevant pages, mean over topics")
        axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})
