"""The effect of template links on the best authorities: the six versions of Clever on a crawl of the sites.

``scrapy crawl archive`` makes the feeds with all pagelets that are missing in ``--out``, each with the model that has
not seen the site (``--models``). All sites are then treated as one crawl. Hardly any link leads from one site to
another, so the graph is built in two ways: *sites*, where links within a site count; and *sections*, where the first
folder of a page's path is its host, so that links within a section are nepotistic and links between the sections of a
site are votes, as between sister sites with one template.

A page is navigation if the gold gives it fewer than 50 words of content, or if more than half of these are link text.
Queries are the twenty words that occur most often per page among the words of five or more letters that are in the gold
content of 5 to 15 % of the pages and on five or more sites. The figures are means over the queries of two shares among
the top 10 and 50 authorities: navigation pages, and pages whose gold content has the word. *Local* versions take for
template what local detection finds on the base set. The last table counts navigation among the pages that are most
cited together with a hundred pages of content, where links within a site count.

    python -m benchmarks links --out out/links
    python -m benchmarks links --scale 1000000     # times on a made-up crawl of that many links, in parses of its JSON
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64_intdigest

from benchmarks.tools import fold, names, need, option_parser, referee, run, sites_below, table
from scrapy_pagelets import Page
from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.duplicates.shingles import word_hashes
from scrapy_pagelets.links.clever import VERSIONS, clever
from scrapy_pagelets.links.link_tables import Query, Tables, read
from scrapy_pagelets.links.pagerank import pagerank
from scrapy_pagelets.links.votes import cocitations, related, votes
from scrapy_pagelets.training.training_tables import CONTENT, by_gold
from tests.oracles.cocitation import weighted_cocitations

CONTENT_WORDS = 50
LETTERS = 5
QUERIES = 20
SITES = 5
SHARE = (0.05, 0.15)
TOPS = (10, 50)
#: The versions, and those with FT by local detection on the base set, as in the paper.
RANKED = {version: (version, False) for version in VERSIONS}
RANKED |= {f"{version}, local": (version, True) for version in VERSIONS if "-ft" in version}
#: Pages whose co-cited pages are counted.
CITED = 100
#: Co-citation as in Section 4, case 3, and the classical form, in which templates count.
COCITATIONS: dict[str, Callable[[Tables, int], Any]] = {
    "pages, with templates": lambda tables, page: weighted_cocitations(
        replace(tables, template=np.zeros_like(tables.template)), page, pagelet=1, within=True
    ),
    "pages": partial(weighted_cocitations, pagelet=1, within=True),
    "pages, pagelets twice": partial(weighted_cocitations, pagelet=2, within=True),
    "pagelets only": partial(cocitations, within=True),
    "pagelets by votes": partial(related, within=True),
}


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--out", type=Path, default=Path("out/links"))
    parser.add_argument("--scale", type=int, metavar="LINKS", help="only measure times, with that many links")
    args = parser.parse_args(argv)
    if args.scale:
        scale(args.scale)
        return
    folder = sites_below(args.data)
    wanted = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    wanted = [path for path in wanted if not args.only or path.name in names(args.only)]
    for path in wanted:
        make(path, args.models, args.out)
    score = referee(args.referee)
    gold = {page["url"]: page for path in wanted for page in gold_of(path, score)}
    compare([line for path in wanted for line in lines_of(args.out / f"{path.name}.jsonl")], gold)


def make(site: Path, models: Path, out: Path) -> None:
    """Crawl a site into a feed of all pagelets, unless the feed exists."""
    feed = out / f"{site.name}.jsonl"
    if feed.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    model = need(models / f"fold-{fold(site.name)}.npz", "`sh benchmarks/train.sh` writes it")
    settings = ["PAGELETS_EXPORT=all", f"PAGELETS_MODEL={model.resolve()}", "PAGELETS_DUPLICATES=off"]
    command = ["scrapy", "crawl", "archive", "-a", f"path={site.resolve()}", "-a", f"base=http://{site.name}.example/"]
    command += ["-O", f"{feed.resolve()}.part:jsonl", *(part for setting in settings for part in ("-s", setting))]
    if code := run(command, out / f"{site.name}.log"):
        sys.exit(f"the crawl of {site.name} ended with exit code {code}: see {out / site.name}.log")
    Path(f"{feed}.part").rename(feed)


def lines_of(feed: Path) -> Iterator[dict[str, Any]]:
    """The lines of a feed, with the fields that the link tables need."""
    with open(feed, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            for pagelet in line["pagelets"]:
                del pagelet["xpaths"]
            yield {name: line[name] for name in ("url", "title", "pagelets")}


def gold_of(site: Path, score: Any) -> Iterator[dict[str, Any]]:
    """For each page its URL, its site, the words of its gold content, and whether it is navigation."""
    for line in score.read(site / "gold.jsonl.gz"):
        url = f"http://{site.name}.example/{line['path']}"
        nodes = (page := Page.parse((site / line["path"]).read_bytes(), url)).nodes
        content = nodes.words * (by_gold(page, line["content"]) == CONTENT)
        linked = content[nodes.anchor[nodes.leaves]].sum()
        few = content.sum() < CONTENT_WORDS
        count = Counter(words(line["content"]))
        yield {"url": url, "site": site.name, "words": count, "navigation": few or linked > 0.5 * content.sum()}


def queries(gold: dict[str, dict[str, Any]]) -> list[str]:
    """The query words, by the rule in the module docstring."""
    pages, times, sites = Counter[str](), Counter[str](), defaultdict(set)
    for page in gold.values():
        for word, count in page["words"].items():
            if len(word) >= LETTERS and word.isascii() and word.isalpha():
                pages[word] += 1
                times[word] += count
                sites[word].add(page["site"])
    least, most = (share * len(gold) for share in SHARE)
    fit = [word for word, count in pages.items() if least <= count <= most and len(sites[word]) >= SITES]
    return sorted(fit, key=lambda word: (-times[word] / pages[word], word))[:QUERIES]


def sections(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same lines, with the first folder of each page's path as its host."""

    def moved(url: str) -> str:
        return re.sub(r"^https?://([a-z0-9-]+)\.example/([^/?#]+)/", r"http://\2--\1.example/", url)

    return [
        line
        | {
            "url": moved(line["url"]),
            "pagelets": [
                pagelet | {"links": [link | {"url": moved(link["url"])} for link in pagelet["links"]]}
                for pagelet in line["pagelets"]
            ],
        }
        for line in lines
    ]


def compare(lines: list[dict[str, Any]], gold: dict[str, dict[str, Any]]) -> None:
    """Print the tables for both graphs."""
    asked = queries(gold)
    order = [line["url"] for line in lines]
    about = [gold.get(url, {"words": {}, "navigation": False}) for url in order]
    known = np.array([url in gold for url in order])
    navigation = np.array([page["navigation"] for page in about])
    tables = read(lines)
    between = votes(tables, templates=True, pagelets=False, within=False)
    count = (
        len(order),
        int(known.sum()),
        int(tables.crawled[tables.target].sum()),
        int(tables.template[tables.source].sum()),
    )
    print("{} pages, {} with gold; {} links between them; {} links are in templates;".format(*count))
    print(f"{int(tables.crawled[between.target].sum())} pairs of pages on two sites are linked")
    if asked:
        print(f"queries: {', '.join(asked)}\n")
    else:
        print(f"no word is on enough pages of {SITES} sites to be a query: name more sites with --only\n")
    graphs = {"sites": (tables, True), "sections": (moved := read(sections(lines)), False)}
    rows = {"sites": numbers(tables, lines), "sections": numbers(moved, sections(lines))}
    sums: dict[str, dict[str, list[list[float]]]] = {name: defaultdict(list) for name in graphs}
    repeating = shingles(lines)
    for word in asked:
        has = np.array([word in page["words"] for page in about])
        found = read(lines, Query(word))
        for name, (graph, within) in graphs.items():
            terms = np.zeros(len(graph.urls), np.int64)
            terms[rows[name]] = found.terms[rows["sites"]]
            graph = replace(graph, terms=terms, matches=found.matches, near=found.near)
            template = local_templates(graph, clever(graph, within=within).base, repeating)
            for label, (version, local) in RANKED.items():
                ranking = clever(graph, version, within=within, template=template if local else None)
                scores = ranking.authorities[rows[name]]
                sums[name][label].append(shares(np.where(known, scores, 0.0), navigation, has))
    for name in graphs if asked else ():
        report(name, sums[name], float(navigation[known].mean()))
    co_cited(tables, rows["sites"], known, navigation)


def shingles(lines: list[dict[str, Any]]) -> Ints:
    """(k,) hash of the words of each pagelet, in any spelling; 0 if it has none. Each page has one line."""
    texts = (pagelet["text"] for line in lines for pagelet in line["pagelets"])
    hashes = map(word_hashes, texts)
    return np.array([(xxh3_64_intdigest(one.tobytes()) >> 1) | 1 if len(one) else 0 for one in hashes], np.int64)


def local_templates(tables: Tables, base: Bools, shingle: Ints) -> Bools:
    """(k,) whether each pagelet is template by local detection on some pages: two of them, not copies, have its words.

    Source: Bar-Yossef & Rajagopalan 2002, Figure 4, which Section 5 runs on the base set. Pages are copies if all their
    pagelets have the same words in the same order; the first one counts. The pagelets of a copy are template as those
    of the first.

    ``base``: (n,) whether each page is in the base set. ``shingle``: (k,) see `shingles`.
    """
    owned: dict[int, list[int]] = {}
    for page, one in zip(tables.page.tolist(), shingle.tolist(), strict=True):
        if base[page]:
            owned.setdefault(page, []).append(one)
    originals = set(map(tuple, owned.values()))
    owners = Counter(one for known in originals for one in set(known))
    repeated = [one for one, pages in owners.items() if one and pages > 1]
    found: Bools = base[tables.page] & np.isin(shingle, np.array(repeated, np.int64))
    return found


def co_cited(tables: Tables, rows: list[int], known: np.ndarray, navigation: np.ndarray) -> None:
    """Print how much navigation is among the pages that are most cited together with pages of content."""
    content = np.flatnonzero(known & ~navigation).tolist()
    pages = random.Random(0).sample(content, min(CITED, len(content)))
    if not pages:
        print("no page of content, whose co-cited pages could be counted")
        return
    none = np.zeros(len(rows), np.bool_)
    found: list[list[Any]] = []
    for name, score in COCITATIONS.items():
        each = [shares(np.where(known, score(tables, rows[page])[rows], 0.0), navigation, none) for page in pages]
        mean = means(each)
        found.append([name, *mean[: len(TOPS)], mean[-1]])
    table(["co-citation", *(f"navigation @{top}" for top in TOPS), "pages"], found)


def numbers(tables: Tables, lines: list[dict[str, Any]]) -> list[int]:
    """The page number of each line."""
    of = {url: number for number, url in enumerate(tables.urls)}
    return [of[line["url"]] for line in lines]


def shares(scores: np.ndarray, navigation: np.ndarray, has: np.ndarray) -> list[float]:
    """Shares of navigation and of pages with the word, for each of `TOPS`; then the number of authorities.

    Without an authority, as in a base set of one page, the shares are no numbers.
    """
    best = np.argsort(-scores, kind="stable")
    best = best[scores[best] > 1e-6]
    found = [[float(mask[best[:top]].mean()) if len(best) else np.nan for top in TOPS] for mask in (navigation, has)]
    return [*found[0], *found[1], float(min(len(best), TOPS[-1]))]


def means(rows: list[list[float]]) -> list[float | None]:
    """The mean of each column over the rows that have a number there; None if none has."""
    columns = [column[~np.isnan(column)] for column in np.array(rows).T]
    return [float(column.mean()) if len(column) else None for column in columns]


def report(name: str, sums: dict[str, list[list[float]]], chance: float) -> None:
    head = [name, *(f"navigation @{top}" for top in TOPS), *(f"with word @{top}" for top in TOPS), "authorities"]
    rows: list[list[Any]] = [[version, *means(found)] for version, found in sums.items()]
    table(head, [*rows, ["all pages", *[chance] * len(TOPS), None, None, None]])
    print()


def scale(links: int) -> None:
    """Print times on a made-up crawl of pages with a menu of 30 links and three pagelets of ten links."""
    generator, each = random.Random(0), 60
    pages = links // each
    site = [f"http://site{n % 100}.com/page{n}" for n in range(pages)]
    texts = []
    for n in range(pages):
        menu = [{"url": site[i % pages], "anchor": f"Menu {i}"} for i in range(n % 100, 3000, 100)]
        lists = [[{"url": generator.choice(site), "anchor": "guitar"} for _ in range(10)] for _ in range(3)]
        parts = [("navigation", menu), *(("content", found) for found in lists)]
        pagelets = [
            {"id": i, "role": role, "text": "guitar and more words " * 20, "links": found}
            for i, (role, found) in enumerate(parts)
        ]
        texts.append(json.dumps({"url": site[n], "title": "", "pagelets": pagelets}))
    parse = clock(lambda: [json.loads(text) for text in texts])
    tables = read(map(json.loads, texts), Query("guitar"))
    rows = [
        ["tables, including the parse", clock(lambda: read(map(json.loads, texts), Query("guitar"))) / parse],
        *([version, clock(partial(clever, tables, version)) / parse] for version in VERSIONS),
        ["PageRank", clock(lambda: pagerank(tables)) / parse],
        ["related pages", clock(lambda: related(tables, 0)) / parse],
    ]
    print(f"{pages} pages, {len(tables.target)} links; times in parses of the JSON ({parse:.1f} s of processor time)\n")
    table(["", "parses"], rows)


def clock(run_: Callable[[], Any]) -> float:
    """Processor time of a call, in seconds."""
    start = time.process_time()
    run_()
    return time.process_time() - start
