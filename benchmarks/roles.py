"""Whether every text has its role and no fact is lost: F1 of content by role, words kept of each role, facts.

Sites are judged by the roles that people have given to each run of text (``--rules``, made into gold by the referee's
``roles.py``): what is content must be in ``text``; comments, navigation, forms and template must not; metadata,
contents of the page and hidden text count neither way. Precision, recall and F1 are means over the pages of a site,
then over sites. Of all pages together: the share of the words of each role that is kept (comments on articles and
products only, because posts of a forum are content), and *half lines*, the share of the words of metadata that are kept
from runs of which other words are taken away. *Pairs* are near-duplicates within a site, against those of its content;
*clear* ones leave out what is near the threshold. The table of confusions has a row for each role of the gold, with the
share of its words in the pagelets of each role.

Of ``books`` and ``products``, the share of pages whose text has each fact is measured; of the other sets, the word F1.
Everything comes from feeds of ``scrapy crawl archive``, which ``--feeds`` scores again.

    python -m benchmarks roles                                      # everything with the shipped model
    python -m benchmarks roles --every 8 --sets sites,sites2,books --tools ours                      # a quick look
    python -m benchmarks roles --held-out .data/models --model new.npz   # families left out, see `train_roles`

``--held-out`` names the folder of the cross-validation (fold-0.npz ...): sites, and shops of ``books`` and
``products``, are cleaned by the model that has not learnt from them; ``--model`` is for the other sets.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from benchmarks.labelled_pages import folders
from benchmarks.page_sets import SITES
from benchmarks.peers import OF_SITES, PEERS, Extract, is_installed
from benchmarks.role_labels import add_rules, equal_words, gold_by_role, the_referee
from benchmarks.tools import fold, last_lines, names, need, option_parser, run, table
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.page.urls import site_of

FACTS = ("books", "products")
TEXTS = ("dragnet", "l3s-gn1", "dragnet-one-host")
SETS = (*SITES, *FACTS, *TEXTS)
OURS = "ours"
#: Kinds of pages whose comments are not what the page is for.
COMMENTED = ("article", "product")
KEPT = ("comments", "navigation", "forms", "template", "metadata", "contents")

#: The Jaccard similarity of near-duplicates, and what a pair may be from it to count neither way.
NEAR, HAIR = 0.8, 0.05

Lines = list[dict[str, Any]]
#: Lines of a feed by the name of the tool.
Feeds = Mapping[str, Lines]


def main(argv: Sequence[str]) -> None:
    args = options(argv)
    peers: dict[str, Callable[..., Extract]] = {**PEERS, **OF_SITES}
    tools = [OURS, *(tool for tool in peers if tool in names(args.tools) and is_installed(tool, peers))]
    referee = the_referee(args.referee)
    args.out.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in SETS if name in names(args.sets)]
    judge_sites([name for name in chosen if name in SITES], args, referee, tools)
    for name in (name for name in chosen if name in FACTS):
        gold = gold_of(args, referee, name)
        scores = {tool: referee.score_facts(feed_of(args, name, tool, gold), gold) for tool in tools}
        facts = [key for key in scores[OURS] if key not in ("pages", "mean") and " " not in key]
        print()
        rows = ([tool, *(row[fact][1] for fact in facts), row["mean"]] for tool, row in scores.items())
        table([f"{name}, {len(gold)} pages", *facts, "mean"], rows)
    texts: list[list[Any]] = []
    for name in (name for name in chosen if name in TEXTS):
        gold = gold_of(args, referee, name)
        for tool in tools:
            found = referee.score_content(feed_of(args, name, tool, gold), gold)
            texts.append([f"{name}, {tool}", *(found[key] for key in ("pages", "f1", "precision", "recall"))])
    if texts:
        print()
        table(["set", "pages", "F1", "precision", "recall"], texts)


def options(argv: Sequence[str]) -> argparse.Namespace:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names of sets; default: %(default)s")
    parser.add_argument("--only", default="", help="comma-separated names of sites")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th site of a set")
    parser.add_argument("--model", default=LABELLED, help="name or path of the model (default: %(default)s)")
    parser.add_argument(
        "--held-out", type=Path, metavar="FOLDER", help="models of the cross-validation: fold-0.npz ..."
    )
    parser.add_argument("--tools", default=",".join(PEERS), help="tools beside; default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("out/roles"))
    parser.add_argument("--feeds", action="store_true", help="score the feeds that are in --out, without cleaning")
    args = parser.parse_args(argv)
    if unknown := sorted(names(args.sets) - set(SETS)):
        parser.error(f"--sets takes {', '.join(SETS)}, not {', '.join(unknown)}")
    return args


def gold_of(args: argparse.Namespace, referee: ModuleType, name: str) -> Lines:
    """The gold of a set of pages."""
    path = need(args.data / "content" / f"{name}.gold.jsonl.gz", "the benchmark needs the gold of each set")
    found: Lines = referee.read(path)
    return found


def feed_of(args: argparse.Namespace, name: str, tool: str, gold: Lines) -> Lines:
    """Lines of a set of pages; ours by models that have not learnt from their hosts, if there are such models."""
    archive = need(args.data / "content" / f"{name}.warc", "the benchmark needs the WARC file of each set")
    if tool != OURS:
        wanted = {line["url"] for line in gold}
        return peer_feed(tool, ((r.url, r.body) for r in records(str(archive), "http://") if r.url in wanted))
    of_fold: dict[str, set[str]] = defaultdict(set)
    for line in gold:
        of_fold[model_of(args, site_of(line["url"]), left_out=name in FACTS)].add(line["url"])
    feed: Lines = []
    for model, urls in sorted(of_fold.items()):
        lines = clean(args, f"{name}-{Path(model).stem}", archive, "http://", model)
        feed += (line for line in lines if line["url"] in urls)
    return feed


def model_of(args: argparse.Namespace, site: str, *, left_out: bool = True) -> str:
    """The model for a site."""
    if args.held_out is None or not left_out:
        return str(Path(args.model).resolve()) if args.model.endswith(".npz") else args.model
    path = args.held_out / f"fold-{fold(site)}.npz"
    return str(
        need(
            path,
            "--held-out takes the folder that `train_roles --folds` has written",
        ).resolve()
    )


def clean(args: argparse.Namespace, name: str, path: Path, base: str, model: str) -> Lines:
    """Clean an archive or a folder; return the lines of its feed."""
    feed = (args.out / f"{name}.jsonl").absolute()
    if not args.feeds:
        command = ["scrapy", "crawl", "archive", "-a", f"path={path.absolute()}", "-a", f"base={base}", "-O", str(feed)]
        settings = [f"PAGELETS_MODEL={model}", "PAGELETS_EXPORT=all"]
        log = feed.with_suffix(".log")
        if code := run([*command, *(part for setting in settings for part in ("-s", setting))], log):
            sys.exit(f"the crawl of {path} ended with exit code {code}; the end of {log}:\n{last_lines(log)}")
    with open(need(feed, "--feeds takes the --out folder of a run with the same options"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def peer_feed(tool: str, pages: Iterable[tuple[str, bytes]]) -> Lines:
    """Lines of a feed as another tool would write it."""
    pages = list(pages)
    extract = OF_SITES[tool](pages) if tool in OF_SITES else PEERS[tool]()
    lines = []
    for url, body in pages:
        try:
            lines.append({"url": url, "text": extract(body)})
        except Exception:  # whatever a tool raises, it has no text for the page
            lines.append({"url": url, "text": ""})
    return lines


# Sites


def judge_sites(sets: Sequence[str], args: argparse.Namespace, referee: ModuleType, tools: Sequence[str]) -> None:
    """Print the tables of sites."""
    rows: list[list[Any]] = []
    pooled: dict[str, Lines] = defaultdict(list)
    all_gold: Lines = []
    for name in sets:
        gold = {
            folder.name: gold_by_role(args, referee, name, folder.name) for folder in folders(args, name)[:: args.every]
        }
        feeds = {tool: of_sites(args, name, sorted(gold), tool) for tool in tools}
        for tool, by_site in feeds.items():
            found = [referee.roles.score(by_site[site], gold[site]) for site in gold]
            figures = [referee.mean(one[key] for one in found) for key in ("f1", "precision", "recall")]
            pairs = pairs_of(referee, by_site, gold) if tool == OURS else [None] * 4
            rows.append([f"{name}, {tool}", sum(one["pages"] for one in found), *figures, *pairs])
            pooled[tool] += (line for lines in by_site.values() for line in lines)
        all_gold += (page | {"path": f"{site}/{page['path']}"} for site, pages in gold.items() for page in pages)
    if not rows:
        return
    table(
        [
            "sites",
            "pages",
            "F1",
            "precision",
            "recall",
            "pairs, prec.",
            "pairs, recall",
            "clear, prec.",
            "clear, recall",
        ],
        rows,
    )
    confusions = list(confused(referee, pooled[OURS], all_gold))
    half = half_lines(confusions)
    print()
    kept = [[tool, *kept_of(referee, feed, all_gold), half if tool == OURS else None] for tool, feed in pooled.items()]
    table(["share kept", *KEPT, "half lines"], kept)
    print()
    print_confusions(confusions)


def of_sites(args: argparse.Namespace, name: str, sites: Sequence[str], tool: str) -> dict[str, Lines]:
    """Lines of the feed of each site of a set."""
    found: dict[str, Lines] = {site: [] for site in sites}
    if tool != OURS:
        for site in sites:
            pages = records(str(args.data / name / site), f"http://{site}/")
            found[site] = peer_feed(tool, ((record.url, record.body) for record in pages))
        return found
    by_model: dict[str, list[str]] = defaultdict(list)
    for site in sites:
        by_model[model_of(args, site)].append(site)
    for model, group in sorted(by_model.items()):
        with tempfile.TemporaryDirectory(dir=args.out) as folder:  # one crawl of many sites: a folder is a host
            for site in group if not args.feeds else ():
                shutil.copytree(args.data / name / site, Path(folder, site), copy_function=os.link)
            for line in clean(args, f"{name}-{Path(model).stem}", Path(folder), "http://", model):
                if (host := urlsplit(line["url"]).hostname) in found:
                    found[host].append(line)
    return found


def pairs_of(referee: ModuleType, feeds: Mapping[str, Lines], gold: Mapping[str, Lines]) -> list[float]:
    """Precision and recall of near-duplicates within the sites; then each where pairs by a hair count neither way."""
    sums: Counter[tuple[float, str]] = Counter()
    for site, pages in gold.items():
        for threshold in (NEAR, NEAR - HAIR, NEAR + HAIR):
            found = referee.score_pairs(feeds[site], pages, threshold)
            sums.update({(threshold, key): found[key] for key in ("true_pairs", "flagged_pairs", "right")})
    columns = (NEAR, "flagged_pairs"), (NEAR, "true_pairs"), (NEAR - HAIR, "flagged_pairs"), (NEAR + HAIR, "true_pairs")
    return [sums[at, "right"] / sums[at, key] if sums[at, key] else 1.0 for at, key in columns]


def kept_of(referee: ModuleType, feed: Lines, gold: Lines) -> list[float | None]:
    """Shares of the words of roles that are kept."""
    found: dict[str, float] = referee.roles.score(feed, gold)["kept"]
    commented = [page for page in gold if page["kind"] in COMMENTED]
    found = found | {"comments": referee.roles.score(feed, commented)["kept"].get("comments")}
    return [found.get(role) for role in KEPT]


#: Of a run of the gold: its role, and the number of its words by the role of their pagelets.
Confused = tuple[str, Counter[str]]


def confused(referee: ModuleType, feed: Lines, gold: Lines) -> Iterator[Confused]:
    """Yield the runs of the gold with the roles that the feed gives their words; "none" where a word is not found."""
    found = referee.by_path(feed, [page["path"] for page in gold])
    for page in gold:
        if (line := found[page["path"]]) is None:
            continue
        ours = [(word, part["role"]) for part in line["pagelets"] for word in referee.words(part["text"])]
        theirs = [(word, run) for run, (_, text) in enumerate(page["runs"]) for word in referee.words(text)]
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        matched = dict(equal_words([word for word, _ in theirs], [word for word, _ in ours]))
        for number, (_, of_run) in enumerate(theirs):
            counts[of_run][ours[matched[number]][1] if number in matched else "none"] += 1
        yield from ((page["runs"][number][0], count) for number, count in counts.items())


def half_lines(confusions: Iterable[Confused]) -> float:
    """Share of the words of metadata that are kept while other words of their run are not."""
    counts = [count for role, count in confusions if role == "metadata"]
    half = sum(count["content"] for count in counts if count["content"] < count.total() - count["none"])
    return half / max(1, sum(count.total() for count in counts))


def print_confusions(confusions: Iterable[Confused]) -> None:
    """Print the share of the words of each role of the gold that has each role of ours."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for role, count in confusions:
        sums[role].update(count)
    roles = sorted({role for count in sums.values() for role in count}, key=lambda role: (role == "none", role))
    rows = (
        [role, count.total(), *(count[one] / max(1, count.total()) for one in roles)] for role, count in sums.items()
    )
    table(["role by hand", "words", *roles], sorted(rows, key=lambda row: -row[1]))
