"""What becomes of headings, code, images, links, tables and lists in the Markdown, beside other tools.

Each site is cleaned as archives are, with the cross-validation model that was trained without its family (``--models``,
which ``benchmarks/train.sh`` trains). The referee compares the Markdown, as a CommonMark parser reads it, with what
stands in the content of each page by the roles that people have given to its elements (``--rules``): recall, and
precision where more can be added than is there. It takes neighbouring elements for one word, a ``<br>`` in code for
nothing, and an escaped address for another one than the same without escapes: a second row forgives such differences,
to all tools. Means are taken over the sites, of all and of each kind, where these are forgiven. trafilatura
runs with everything switched on that its Markdown can have, html-to-markdown with its own main content, markdownify on
the whole page; a tool that is not installed is left out. Data: ``sites/`` and ``sites2/`` below ``--data .data``.

    python -m benchmarks document
    python -m benchmarks document --only hexo,python3 --sites
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import numpy as np

from benchmarks.page_sets import SITES, Job, add_options, kind_of, of_sites, path_of, read_pages
from benchmarks.peers import WRITERS, is_installed
from benchmarks.quality import OURS, check_models
from benchmarks.role_labels import gold_by_role, the_referee
from benchmarks.tools import names, need, option_parser, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.document.markdown import markdown

WORKERS = 2
#: Characters of a heading, cell or item that are compared where differences are forgiven.
FIRST = 30
PARTS = {
    "own heading": "own_heading", "headings": "headings", "code": "code", "images": "images", "links": "links",
    "cells": "cells", "list items": "items",
}  # fmt: skip
#: Scores of a site by tool.
Scores = dict[str, dict[str, Any]]


def main(argv: Sequence[str]) -> None:
    args = options(argv)
    score = the_referee(args.referee)
    kinds: dict[str, str] = {}
    jobs: list[Job] = []
    for name in SITES:
        about = json.loads(need(args.data / name / "sites.json", "it describes the sites").read_text(encoding="utf-8"))
        kinds |= {site["name"]: kind_of(site["kind"]) for site in about}
        jobs += [job for job in of_sites(args, name, score) if not args.only or job.site in names(args.only)]
    if not jobs:
        sys.exit("--only names no site")
    tools = [OURS, *(name for name in WRITERS if is_installed(name, WRITERS))]
    check_models({job.model for job in jobs})
    with ProcessPoolExecutor(WORKERS) as pool:
        scores = pool.map(partial(scored, tools, args), jobs)
        found = dict(zip([job.site for job in jobs], scores, strict=True))
    rows = [(row, means(found.values(), row)) for tool in tools for row in (tool, f"{tool}, forgiving")]
    table(["recall / precision", *PARTS], [[row, *cells] for row, cells in rows])
    print()
    of_kind = {
        kind: [found[site] for site in found if kinds[site] == kind] for kind in sorted({kinds[site] for site in found})
    }
    rows = [
        (f"{kind} ({len(sites)}), {tool}", means(sites, f"{tool}, forgiving"))
        for kind, sites in of_kind.items()
        for tool in tools
    ]
    table(["kind (sites)", *PARTS], [[row, *cells] for row, cells in rows])
    if args.sites:
        print()
        table(
            [f"site ({OURS})", *PARTS],
            [[site, *means([scores], f"{OURS}, forgiving")] for site, scores in found.items()],
        )


def options(argv: Sequence[str]) -> argparse.Namespace:
    parser = option_parser(__name__, __doc__)
    add_options(parser)
    parser.add_argument("--only", default="", help="comma-separated names of sites")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="score only every N-th page of a site")
    parser.add_argument("--sites", action="store_true", help="also print a row for each site")
    return parser.parse_args(argv)


def scored(tools: Sequence[str], args: argparse.Namespace, job: Job) -> Scores:
    """The referee's scores of a site, for each tool."""
    logging.disable()
    score = the_referee(args.referee)
    pages, bodies = read_pages(job)
    gold = gold_by_role(args, score, job.label, job.site)[:: args.every]
    of_path = {path_of(entry.url): number for number, entry in enumerate(job.pages)}
    numbers = [of_path[line["path"]] for line in gold]
    texts: dict[str, list[str]] = {}
    for tool in tools:
        if tool == OURS:
            site = learnt(job, pages)
            texts[tool] = [markdown(pages[i], site) for i in numbers]
        else:
            write = WRITERS[tool]()
            texts[tool] = [write(bodies[i]) for i in numbers]
    urls = [job.pages[i].url for i in numbers]
    folder = str(args.data / job.label / job.site)
    rules = json.loads(Path(args.rules, job.label, f"{job.site}.json").read_text(encoding="utf-8"))
    feeds = {
        tool: [{"url": url, "markdown": text} for url, text in zip(urls, found, strict=True)]
        for tool, found in texts.items()
    }
    strictly = {tool: score.roles.document(feed, gold, folder, rules) for tool, feed in feeds.items()}
    with forgiving(score.roles):
        forgiven = {
            f"{tool}, forgiving": score.roles.document(feed, gold, folder, rules) for tool, feed in feeds.items()
        }
    return strictly | forgiven


@contextmanager
def forgiving(roles: ModuleType) -> Iterator[None]:
    """Let the referee compare parts of pages without their blanks, and addresses without their escapes."""
    before = {name: getattr(roles, name) for name in ("parts_of_page", "parts_of_markdown")}
    own_heading = roles.own_heading
    for name, parts in before.items():
        setattr(roles, name, lambda *args, parts=parts: {key: plain(found) for key, found in parts(*args).items()})
    roles.own_heading = lambda page: "".join(own_heading(page).split())[:FIRST]  # type: ignore[attr-defined]
    yield
    vars(roles).update(before, own_heading=own_heading)


def plain(found: Any) -> Any:
    """Parts without blanks, and addresses without escapes; of long parts only the beginning, as the referee does."""
    if isinstance(found, Counter):
        joined: Counter[str] = Counter()
        for part, count in found.items():
            joined["".join(part.split())[:FIRST]] += count
        return joined
    return {unquote(url) for url in found} if isinstance(found, set) else ["".join(code.split()) for code in found]


def learnt(job: Job, pages: Sequence[Page]) -> Site:
    """The site of a job, with all its pages learnt."""
    site = Site(job.site, job.model, job.strict)
    for page in pages:
        site.learn(page)
    return site


def means(found: Collection[Scores], tool: str) -> list[str]:
    """Mean recall and, where there is one, precision of each part."""
    cells = []
    for part in PARTS.values():
        scores = [site[tool][part] for site in found if part in site[tool]]
        values = [[one[key] for one in scores if key in one] for key in ("recall", "precision")]
        cells.append(" / ".join(f"{np.mean(value):.3f}" for value in values if value) or "-")
    return cells
