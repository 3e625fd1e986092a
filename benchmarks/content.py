"""How clean the pages of archives are: word F1 of the text that ``scrapy crawl archive`` exports.

Data: WARC files and their gold in ``content/`` below ``--data .data``. The functions of the referee compute the scores
(``--referee ../shared/bench``). The gold of some sets has snippets that must (``with``) and must not (``without``) be
in the text. For these sets the program also prints how many of the snippets are there, and the scores of the hosts with
several pages, where pages can be compared.

    python -m benchmarks content --sets news-05
    python -m benchmarks content --sets news-05 --feeds out/content     # print an earlier run again
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from benchmarks.tools import last_lines, names, need, option_parser, referee, run, table

SETS = "wcxb-dev,articles,news-05,news-13"
#: Number of pages of a host from which on its pages can be compared.
SOME_PAGES = 3

Lines = list[dict[str, Any]]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--sets", default=SETS, help=f"comma-separated names of sets ({SETS})")
    parser.add_argument("--out", type=Path, default=Path("out/content"))
    parser.add_argument("--feeds", type=Path, help="score the feeds in this folder, without cleaning anything")
    args = parser.parse_args(argv)
    sets = [name for name in SETS.split(",") if name in names(args.sets)]
    if not sets:
        sys.exit(f"--sets must name at least one of {SETS}")
    score = referee(args.referee)
    for name in sets:
        need(args.data / "content" / f"{name}.gold.jsonl.gz", "the benchmark needs the gold text of each set")
        if args.feeds is None:
            clean(name, args.data, args.out)
    rows: list[list[Any]] = []
    snippets: list[list[Any]] = []
    for name in sets:
        gold = score.read(args.data / "content" / f"{name}.gold.jsonl.gz")
        feed = score.read(need((args.feeds or args.out) / f"{name}.jsonl", "--feeds takes the --out folder of a run"))
        rows += scores(score, name, feed, gold)
        if "without" in gold[0]:
            snippets += [[name, *leaks(feed, gold)], [of_hosts(name), *leaks(feed, some_pages(gold))]]
    table(["set", "pages", "coverage", "precision", "recall", "F1"], rows)
    if snippets:
        print()
        table(["snippets", "pages", "'without' found (leak)", "'with' found"], snippets)


def clean(name: str, data: Path, out: Path) -> None:
    """Clean a WARC file into a feed, with the log beside it."""
    archive = need(data / "content" / f"{name}.warc", "the benchmark needs the WARC file of each set").absolute()
    feed = (out / f"{name}.jsonl").absolute()
    feed.parent.mkdir(parents=True, exist_ok=True)
    log = feed.with_suffix(".log")
    if code := run(["scrapy", "crawl", "archive", "-a", f"path={archive}", "-O", str(feed)], log):
        sys.exit(f"the crawl of {archive} ended with exit code {code}; the end of {log}:\n{last_lines(log)}")


def scores(score: ModuleType, name: str, feed: Lines, gold: Lines) -> list[list[Any]]:
    """A row for the set, one for each type or site of its pages, and one for its hosts with several pages."""

    def row(label: str, part: Lines) -> list[Any]:
        found = score.score_content(feed, part)
        return [label, *(found[key] for key in ("pages", "coverage", "precision", "recall", "f1"))]

    found = [row(name, gold)]
    kinds = sorted({g.get("type") or g.get("site") or "" for g in gold})
    if len(kinds) > 1:
        found += [row(f"  {kind}", [g for g in gold if kind in (g.get("type"), g.get("site"))]) for kind in kinds]
    if "without" in gold[0]:
        found.append(row(of_hosts(name), some_pages(gold)))
    return found


def of_hosts(name: str) -> str:
    return f"{name}, hosts with >= {SOME_PAGES} pages"


def some_pages(gold: Lines) -> Lines:
    """The pages of hosts with at least `SOME_PAGES` pages."""
    count = Counter(host(g["url"]) for g in gold)
    return [g for g in gold if count[host(g["url"])] >= SOME_PAGES]


def host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")


def leaks(feed: Lines, gold: Lines) -> tuple[int, float, float]:
    """Number of pages, and the shares of their ``without`` and ``with`` snippets that are in the exported text."""
    texts = {line["url"]: folded(line.get("text") or "") for line in feed}
    shares = []
    for kind in ("without", "with"):
        found = [
            folded(snippet) in texts.get(g["url"], "") for g in gold for snippet in g.get(kind) or () if snippet.strip()
        ]
        shares.append(sum(found) / len(found) if found else float("nan"))
    return len(gold), shares[0], shares[1]


def folded(text: str) -> str:
    """Text without case and without differences of white space."""
    return " ".join(text.casefold().split())
