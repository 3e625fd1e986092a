"""Word F1 of the content by set and by kind of page, with models that have not seen the pages, beside other tools.

The sets are whole sites (``sites``, ``sites2``), pages of all kinds (``wcxb-dev``), articles and news. Sites are
cleaned as archives are: all pages are learnt, then each is cleaned. Other pages are cleaned by a site that knows
nothing but the page itself, and pages of news once more when the other pages of their site are known (``site known``).
Nothing is crawled. Data: ``sites/``, ``sites2/`` and ``content/`` below ``--data .data``.

The model of a site or page is the cross-validation model that was trained without it (``--models``, which
``benchmarks/train.sh`` trains); that of articles and news is the shipped one, which has not learnt from them.
``--by-site`` is for folds that were trained as in ``train.sh``, but without ``--families``: they leave out the site and
know others of its kind. ``--model`` uses one model for everything. The kind of a WCXB page is in its gold, that of a
site follows from its description in ``sites.json``.

The functions of the referee (``--referee ../shared/bench``) compute the scores: of sites by the roles of texts
(``--rules``), see ``roles.py``, of other pages by their gold text. The mean of a set of sites is taken over the sites,
every other mean over pages. ``precision``, ``recall`` and ``tmpl. F1`` (of the text removed, of sites) are ours. The
peers get the same bytes, and one that is not installed is left out. ``full text`` is a page without any cleaning. *With
its gold* are the pages whose full text has half of the words of the gold: others were made by scripts after they were
received, or have an empty gold.

    python -m benchmarks quality
    python -m benchmarks quality --model labelled --sets sites2,wcxb-dev --every 5 --worst 10
    python -m benchmarks quality --tools "trafilatura,resiliparse,full text"
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import numpy as np

from benchmarks.page_sets import KINDS, MIXED, OTHER, SETS, SITES, Job, add_options, jobs_of, read_pages
from benchmarks.peers import PEERS, is_installed
from benchmarks.role_labels import the_referee
from benchmarks.tools import names, need, option_parser, table
from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.model import ModelError, load
from scrapy_pagelets.page.text import plain

WORKERS = 2
#: Jobs that are sent to a worker at once: those of a model follow each other, and a worker keeps few models in memory.
BATCH = 4

#: Share of the words of the gold that a page must have to be one with its gold.
HALF = 0.5
OURS, FULL = "ours", "full text"
KEYS = ("f1", "precision", "recall", "template_f1")
TOOLS = (OURS, *PEERS, FULL)
#: Returns the text of a page, given as it was parsed and as it was received.
Extract = Callable[[Page, bytes], str]


@dataclass(frozen=True)
class Scored:
    """The referee's scores of a page, for each tool."""

    label: str
    site: str
    by_site: bool
    url: str
    kind: str
    has_gold: bool
    scores: dict[str, dict[str, float]]


def main(argv: Sequence[str]) -> None:
    args = options(argv)
    tools = [tool for tool in TOOLS if tool in names(args.tools) and (tool not in PEERS or is_installed(tool))]
    jobs = list(jobs_of(args, the_referee(args.referee)))
    if not jobs or not tools:
        sys.exit("there is nothing to do: --sets, --only and --every leave no page, or --tools leaves no tool")
    if OURS in tools:
        check_models({job.model for job in jobs})
    with ProcessPoolExecutor(WORKERS) as pool:
        parts = pool.map(partial(scored, tools=tools, folder=args.referee), jobs, chunksize=BATCH)
        found = [page for part in parts for page in part]
    report(found, tools, args.worst)
    if args.model and OURS in tools:
        print(f"\nNot held out: the model {args.model} may have learnt from pages of {', '.join((*SITES, MIXED))}.")


def options(argv: Sequence[str]) -> argparse.Namespace:
    parser = option_parser(__name__, __doc__)
    add_options(parser)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names of sets; default: %(default)s")
    parser.add_argument("--only", default="", help="comma-separated names of sites, or domains in sets of pages")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="score only every N-th page of a set or site")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="also print the worst N pages of each set")
    parser.add_argument("--tools", default=",".join(TOOLS), help="comma-separated; default: %(default)s")
    args = parser.parse_args(argv)
    for option, known in (("sets", SETS), ("tools", TOOLS)):
        if unknown := sorted(names(getattr(args, option)) - set(known)):
            parser.error(f"--{option} takes {', '.join(known)}, not {', '.join(unknown)}")
    if args.every < 1:
        parser.error("--every must be at least 1")
    return args


def check_models(models: Iterable[str]) -> None:
    """Exit with one sentence if a model is missing or of another version."""
    for model in sorted(models):
        if model.endswith(".npz"):
            need(Path(model), "train the folds with benchmarks/train.sh, or use one model for all: --model labelled")
        try:
            load(model)
        except ModelError as error:
            sys.exit(str(error))


def scored(job: Job, tools: Sequence[str], folder: Path) -> list[Scored]:
    """Clean the pages of a job with each tool, and score those with gold."""
    logging.disable()  # trafilatura logs a warning for each page that it finds nothing on
    score = the_referee(folder)
    pages, bodies = read_pages(job)
    functions = {tool: extractor(tool, job, pages) for tool in tools}
    return [
        Scored(job.label, job.site, job.by_site, entry.url, entry.kind, has_gold(entry.gold, page, score), {
            tool: score_of(entry.gold, extract(page, body), score) for tool, extract in functions.items()
        })
        for entry, page, body in zip(job.pages, pages, bodies, strict=True) if entry.gold
    ]  # fmt: skip


def has_gold(gold: dict[str, Any], page: Page, score: ModuleType) -> bool:
    """Whether the text of a page has half of the words of its gold, and the gold has any."""
    whole = score_of(gold, full_text(page, b""), score)
    return bool(whole["recall"] >= HALF and whole["f1"] > 0)


def score_of(gold: dict[str, Any], text: str, score: ModuleType) -> dict[str, float]:
    """The referee's scores of the text of a page."""
    if "runs" not in gold:
        return dict(score.score_content([{"url": gold["url"], "text": text}], [gold]))
    found = score.roles.score([{"url": f"http://site.example/{quote(gold['path'])}", "text": text}], [gold])
    return {key: found[key] for key in KEYS}


def extractor(tool: str, job: Job, pages: Sequence[Page]) -> Extract:
    """The function of a tool, for the pages of a job."""
    if tool == OURS:
        return ours(job, pages)
    if tool == FULL:
        return full_text
    peer = PEERS[tool]()
    return lambda _, body: peer(body)


def full_text(page: Page, _: bytes) -> str:
    """The text of the whole page."""
    return plain(page.nodes, np.ones(len(page.nodes.leaves), np.bool_))


def ours(job: Job, pages: Sequence[Page]) -> Extract:
    """Learn all pages of a job, to clean each of them."""
    site = Site(job.site, job.model, job.strict)
    for page in pages:
        site.learn(page)

    def content(page: Page, _: bytes) -> str:
        keep = np.zeros(len(page.nodes.leaves), np.bool_)
        for part in segment(page, decided(page, site).templateness):
            if part.role == "content":
                keep |= part.leaves
        return plain(page.nodes, keep)

    return content


def report(found: list[Scored], tools: Sequence[str], worst: int) -> None:
    """Print a row for each set and for each kind in it, and the worst pages."""
    sets: dict[str, list[Scored]] = defaultdict(list)
    for page in found:
        sets[page.label].append(page)
    own = ["precision", "recall", "tmpl. F1"] if OURS in tools else []
    rows: list[list[Any]] = []
    for label, pages in sets.items():
        rows.append([label, *row(pages, tools)])
        kinds: dict[str, list[Scored]] = defaultdict(list)
        for page in pages:
            kinds[page.kind].append(page)
        if len(kinds) > 1:
            ordered = sorted(kinds, key=[*KINDS, OTHER].index if pages[0].by_site else None)
            rows += [[f"  {kind}", *row(kinds[kind], tools)] for kind in ordered]
        if len(there := [page for page in pages if page.has_gold]) < len(pages):
            rows.append(["  with its gold", *row(there, tools)])
    first = [tool for tool in tools if tool == OURS]
    table(["F1 of the content", "sites", "pages", *first, *own, *(tool for tool in tools if tool != OURS)], rows)
    if worst:
        for label, pages in sets.items():
            print_worst(label, pages, tools[0], worst)


def row(pages: Sequence[Scored], tools: Sequence[str]) -> list[Any]:
    """Numbers of sites and pages, and the means."""
    means = [mean(pages, OURS, key) for key in KEYS] if OURS in tools else []
    return [
        len({page.site for page in pages}),
        len(pages),
        *means,
        *(mean(pages, tool, "f1") for tool in tools if tool != OURS),
    ]


def mean(pages: Sequence[Scored], tool: str, key: str) -> float | None:
    """Mean over the sites of sets of sites, else over pages; None if the pages have no such score."""
    groups: dict[str, list[float]] = defaultdict(list)
    for page in pages:
        if key in page.scores[tool]:
            groups[page.site if page.by_site else page.url].append(page.scores[tool][key])
    return float(np.mean([np.mean(group) for group in groups.values()])) if groups else None


def print_worst(label: str, pages: Sequence[Scored], tool: str, count: int) -> None:
    """Print the pages of a set with the lowest F1 of a tool."""
    print(f"\nThe worst of {len(pages)} pages of {label} ({tool}): F1, precision, recall, kind, URL")
    for page in sorted(pages, key=lambda page: page.scores[tool]["f1"])[:count]:
        scores = "  ".join(f"{page.scores[tool][key]:.3f}" for key in ("f1", "precision", "recall"))
        print(f"  {scores}  {page.kind or '-'}  {page.url}")
