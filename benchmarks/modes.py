"""The modes that run a paper as printed, over whole sites: content and template F1 by kind of site, beside full text.

A detection (``PAGELETS_DETECTION``) cleans each site twice, by a crawl and as an archive, and is scored by the text of
all pages. A segmenter (``PAGELETS_SEGMENTER``) changes no text: it is scored by the text of its pagelets of content,
each left whole, after the default decision, on some pages of each site, of which all pages are known.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.smoothing import SCORED, pages_of
from benchmarks.tools import ROOT, last_lines, referee, sites_below, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.page.roles import CONTENT, is_template
from scrapy_pagelets.page.text import plain
from scrapy_pagelets.papers.methods import CLASSIFIER, ETDM, FUSED, GLOBAL, LOCAL
from tests.prefork import popen

#: Those of 2014, 2002 (Figures 4 and 5) and 2007.
DETECTIONS = (ETDM, LOCAL, GLOBAL, CLASSIFIER)
#: Those of 2002, 2003, 2008 (two) and 2007.
SEGMENTERS = ("pagelets-strict", "vips-strict", "gcuts-strict", "cclus", "sections")
FULL_TEXT = "full text"
#: Some of the sites link to a thousand pages that they lack, for each of which a crawl would wait half a second.
UNTHROTTLED = "AUTOTHROTTLE_ENABLED=0"

#: The referee's figures of a site.
Score = dict[str, float]
#: By the name of a mode, then by that of a site.
Scores = dict[str, dict[str, Score]]


def compare(args: argparse.Namespace) -> None:
    """Print the figures of all modes by kind of site; what is in ``args.out`` is not run again."""
    sites, score = sites_below(args.data), referee(args.referee)
    about = json.loads((sites / "sites.json").read_text(encoding="utf-8"))
    by_name = {site["name"]: site for site in about}
    about = [by_name[name] for name in args.only.split(",")] if args.only else about
    kinds = {site["name"]: site["kind"] for site in about}
    tell("all text", by_detection(args, about, score), kinds)
    tell("whole pagelets of content", by_segmenter([sites / name for name in kinds], score), kinds)


def by_detection(args: argparse.Namespace, about: Sequence[dict[str, Any]], score: ModuleType) -> Scores:
    """The scores of the detections, by crawls and as archives."""
    sites, serve = sites_below(args.data), referee(args.referee, "crawl_sites").serve
    found = defaultdict[str, dict[str, Score]](dict)
    for site in about:
        name, folder = site["name"], sites / site["name"]
        gold = score.read(folder / "gold.jsonl.gz")
        found[FULL_TEXT][name] = uncleaned(gold, score)
        for method, way in product(DETECTIONS, ("crawl", "archive")):
            feed = args.out / method / way / f"{name}.jsonl"
            feed.parent.mkdir(parents=True, exist_ok=True)
            if way == "crawl":
                crawled(folder, site["start"], method, feed, serve)
            else:
                archived(folder, method, feed)
            found[f"{method}, {way}"][name] = score.score_sites(score.read(feed), gold)
        tell_site(name, found)
    return found


def crawled(site: Path, start: str, method: str, feed: Path, serve: Callable[[str], Any]) -> None:
    """Crawl a site on loopback."""
    server = serve(str(site))
    try:
        cleaned(["site", "-a", f"url=http://127.0.0.1:{server.server_address[1]}/{start}"], method, feed)
    finally:
        server.shutdown()
        server.server_close()


def archived(site: Path, method: str, feed: Path) -> None:
    """Clean a site as an archive."""
    cleaned(["archive", "-a", f"path={site.absolute()}", "-a", "base=http://127.0.0.1/"], method, feed)


def cleaned(spider: Sequence[str], method: str, feed: Path) -> None:
    """Run a spider, unless its feed is there already; as a fork, because most of a short crawl is its start."""
    if feed.exists():
        return
    log, part = feed.with_suffix(".log"), feed.with_suffix(".part.jsonl")
    settings = [f"PAGELETS_DETECTION={method}", f"LOG_FILE={log.absolute()}", UNTHROTTLED]
    options = [*(word for setting in settings for word in ("-s", setting)), "-O", str(part.absolute())]
    process = popen([sys.executable, "-m", "scrapy", "crawl", *spider, *options], cwd=ROOT)
    if process.communicate() and process.returncode:
        sys.exit(f"{feed.stem} could not be cleaned: {last_lines(log)}")
    part.replace(feed)


def by_segmenter(folders: Sequence[Path], score: ModuleType) -> Scores:
    """The scores of the segmenters on some pages of each site, and of the text of the default decision."""
    found = defaultdict[str, dict[str, Score]](dict)
    for folder in folders:
        gold = score.read(folder / "gold.jsonl.gz")
        pages, site = pages_of(folder, gold), Site(folder.name)
        for page in pages:
            site.learn(page)
        some = random.Random(0).sample(range(len(pages)), min(SCORED, len(pages)))
        lines = [gold[i] for i in some]
        found[FULL_TEXT][folder.name] = uncleaned(lines, score)
        texts = [(pages[i].url, texts_of(pages[i], site)) for i in some]
        for method in (FUSED, *SEGMENTERS):
            feed = [{"url": url, "text": by_method[method]} for url, by_method in texts]
            found[method][folder.name] = score.score_sites(feed, lines)
        tell_site(folder.name, found)
    return found


def texts_of(page: Page, site: Site) -> dict[str, str]:
    """The text of a page by the default decision, and that of the pagelets of content of each segmenter."""
    templateness = site.templateness(page)
    texts = {FUSED: plain(page.nodes, ~is_template(templateness))}
    for method in SEGMENTERS:
        parts = segment(page, templateness, method, whole=True)
        texts[method] = "\n\n".join(part.text for part in parts if part.role == CONTENT)
    return texts


def uncleaned(gold: Sequence[dict[str, str]], score: ModuleType) -> Score:
    """The scores of the full text of pages."""
    found: Score = score.score_sites([{"url": f"http://h/{g['path']}", "text": g["full"]} for g in gold], gold)
    return found


def tell_site(name: str, found: Scores) -> None:
    """Print the content F1 of a site by each mode, while others are still to come."""
    print(name, *(f"{mode} {of[name]['f1']:.3f}" for mode, of in found.items()), file=sys.stderr)


def tell(what: str, found: Scores, kinds: dict[str, str]) -> None:
    """Print the tables of content and template F1; a star is at what is worse than no cleaning."""
    for key, measure in (("f1", "content F1"), ("template_f1", "template F1")):
        print(f"\n{measure} of {what}; * is less than full text has\n")
        table(["kind of site", "sites", *found], by_kind(found, kinds, key))


def by_kind(found: Scores, kinds: dict[str, str], key: str) -> Iterator[list[Any]]:
    """Rows of means for each kind of site and for all; the number of sites on which it is worse than full text."""
    groups = defaultdict(list)
    for name, kind in kinds.items():
        groups[kind].append(name)
    full = found[FULL_TEXT]
    for kind, names in (*sorted(groups.items(), key=lambda group: -len(group[1])), ("all", [*kinds])):
        least = mean(full[name][key] for name in names)
        means = (mean(scores[name][key] for name in names) for scores in found.values())
        yield [kind, len(names), *(f"{value:.3f}{'*' if value < least else ' '}" for value in means)]
    worse = (sum(scores[name][key] < full[name][key] for name in kinds) for scores in found.values())
    yield ["sites with *", len(kinds), *worse]


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
