"""What each correction of the decision is worth: figures without it, on families of sites that were left out.

A row is the decision without one of the corrections of ``decided``; the first has all of them, the last one none. Runs
of text are judged by their roles (see ``roles.py``): F1 of content, mean over pages, then over sites; the share of the
words of each other role that is kept; and of ``books`` and ``products``, the share of the labelled facts. Single pages
(``wcxb-dev``) are judged by their gold content. A list is torn if people have labelled all of its items alike, and some
are kept and some not.

    python -m benchmarks corrections --held-out .data/models
    python -m benchmarks corrections --held-out .data/models --every 4              # a quick look
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.labelled_pages import SETS, folders, single_pages
from benchmarks.page_sets import MIXED, SITES
from benchmarks.role_labels import add_rules, by_facts, gold_by_role, labels_of, roles_of, the_referee
from benchmarks.roles import COMMENTED, FACTS, gold_of, model_of
from benchmarks.tools import option_parser, table
from scrapy_pagelets import Page, Site, core
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.base.arrays import Bools, Floats, Ints, up_to
from scrapy_pagelets.decision import decision
from scrapy_pagelets.page.nodes import TAG, TAGS, below
from scrapy_pagelets.training.model_training import f1
from scrapy_pagelets.training.training_tables import CONTENT, UNKNOWN, Example

#: Functions of `decision`, and what stands in for each.
OF_DECISION: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        "comments_of signatures_of asides_of repeats_of link_sections_of lone_headings_of "
        "said_of_itself facts_of own_texts data_tables labelled companions".split(),
        lambda *args, **_: nothing(*args),
    ),
    "controls_of_posts": lambda *_: [],
    **dict.fromkeys("decided_together signs_with_words".split(), lambda _, templateness: templateness),
}
#: What is handed to the core so that a part of `content.corrected` finds nothing.
OF_CORRECTED: dict[str, dict[str, Any]] = {
    "lines": {"OF_LINE": -1.0},
    "items": {"WHOLE": math.inf, "ANNOUNCING": math.inf},
    "holes": {"LEAST": math.inf},
    "permalinks": {"permalinks": lambda nodes: nothing(nodes)},
    "headings": {"MOST": math.inf},
    "lists": {"IN_DOUBT": -1.0},
}
#: Corrections each of which gains less than 0.001 by itself.
_SMALL = ("items", "holes", "lists", "signatures_of")
ROLES = ("comments", "navigation", "forms", "template", "metadata", "contents")
TORN = "torn lists"
_IS_ITEM = np.isin(np.arange(len(TAGS)), [TAG[name] for name in ("li", "tr", "dt", "dd")])
Method = Callable[..., Any]
#: A labelled page of a site, the roles of its leaves, and whether comments are what it is for.
Judged = tuple[Example, list[str], bool]
#: The sites and the shops, for the processes that are forked.
FIXTURE: list[Any] = []


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--only", default="", help="comma-separated names of sites")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th site of a set")
    parser.add_argument("--pages", type=int, default=60, help="pages of each site, at most (default: 60)")
    parser.add_argument("--held-out", type=Path, required=True, help="models of the cross-validation: fold-0.npz ...")
    args = parser.parse_args(argv)
    args.model = ""
    names: dict[str, tuple[str, ...]] = {"all": ()}
    names |= {name: (name,) for name in (*OF_CORRECTED, *OF_DECISION)}
    names["four small ones"] = _SMALL
    names["none"] = (*OF_CORRECTED, *OF_DECISION)
    referee = the_referee(args.referee)
    sites, shops = list(labelled_sites(args, referee)), list(labelled_shops(args, referee))
    sites += labelled_singles(args, referee)
    # The core looks up what it was handed once: each row has a process of its own, which knows the sites.
    with patch.object(decision, "corrected", lambda _, templateness, __: templateness):
        figures(sites, shops)
    FIXTURE.extend((sites, shops))
    rows = []
    with get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        for row, found in zip(names, pool.imap(row_of, names.values(), chunksize=1), strict=True):
            rows.append([row, *found])
            print(*rows[-1], flush=True)
    table(["without", *SETS, *ROLES, *FACTS, TORN], rows)


def once_for_each_page(method: Method) -> Method:
    found: dict[Page, Any] = {}  # pages are alike only if they are the same

    def remembered(self: Any, page: Page, *args: Any) -> Any:
        if page not in found:
            found[page] = method(self, page, *args)
        return found[page]

    return remembered


class Remembering(Site):
    """A site that has learnt all of its pages, and decides each of them once."""

    @once_for_each_page
    def templateness(self, page: Page, strict: float = 0.0) -> Floats:
        return super().templateness(page, strict)

    @once_for_each_page
    def pages_alike(self, page: Page) -> Ints:
        return super().pages_alike(page)

    def roles(self, page: Page, templateness: Floats) -> Ints:  # noqa: ARG002
        return np.zeros(len(templateness), np.int64)  # no correction depends on them


def labelled_sites(args: argparse.Namespace, referee: ModuleType) -> Iterator[tuple[str, Site, list[Judged]]]:
    """Yield the set of each site, the site with all of its pages learnt, and its pages with roles."""
    for name in SITES:
        for folder in folders(args, name)[:: args.every]:
            site = Remembering(folder.name, model_of(args, folder.name))
            pages = []
            for line in gold_by_role(args, referee, name, folder.name)[: args.pages]:
                page = Page.parse((folder / line["path"]).read_bytes(), f"http://{folder.name}/{line['path']}")
                roles = roles_of(page, line["runs"])
                pages.append((Example(page, labels_of(roles)), roles, line["kind"] in COMMENTED))
                site.learn(page)
            yield name, site, pages


def labelled_singles(args: argparse.Namespace, referee: ModuleType) -> Iterator[tuple[str, Site, list[Judged]]]:
    """Yield single pages as sites of their own."""
    for example in single_pages(args.data, referee, 2 * args.every):
        site = Remembering(example.page.site, model_of(args, example.page.site))
        site.learn(example.page)
        yield MIXED, site, [(example, [""] * len(example.labels), False)]


def labelled_shops(args: argparse.Namespace, referee: ModuleType) -> Iterator[tuple[str, Site, list[Example]]]:
    """Yield the set of each shop, the shop with all of its pages learnt, and its pages with labelled facts."""
    for name in FACTS:
        gold = {line["url"]: line["attributes"] for line in gold_of(args, referee, name)}
        shops: dict[str, list[Example]] = defaultdict(list)
        for record in records(str(args.data / "content" / f"{name}.warc"), "http://"):
            if record.url in gold:
                page = Page.parse(record.body, record.url, next(iter(record.headers.get("Content-Type", ())), None))
                facts = [value for found in gold[record.url].values() for value in found]
                shops[page.site].append(Example(page, by_facts(page, facts)))
        for shop, examples in shops.items():
            site = Remembering(shop, model_of(args, shop))
            for example in examples[: args.pages]:
                site.learn(example.page)
            yield name, site, examples[: args.pages]


def nothing(*args: Any, **_: Any) -> Any:
    """The leaves that a correction finds which is left out: none."""
    nodes = getattr(args[0], "nodes", args[0])
    return np.zeros(len(nodes.leaves), np.bool_)


def row_of(names: Sequence[str]) -> list[float]:
    """The figures without some corrections, in a process that does nothing else."""
    for name in names:
        if name in OF_CORRECTED:
            core.give("corrections", **OF_CORRECTED[name])
        else:
            setattr(decision, name, OF_DECISION[name])
    sites, shops = FIXTURE
    return figures(sites, shops)


def figures(
    sites: Sequence[tuple[str, Site, list[Judged]]],
    shops: Sequence[tuple[str, Site, list[Example]]],
) -> list[float]:
    """F1 of each set of sites, shares of roles and of facts that are kept, and of lists that are torn."""
    scores: dict[str, list[float]] = defaultdict(list)
    kept: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for name, site, pages in sites:
        found = []
        for example, roles, commented in pages:
            keep = decision.decided(example.page, site).content
            found.append(f1(example, np.where(keep, -1.0, 1.0)))
            if name in SITES:
                torn = torn_lists(example, keep)
                kept[TORN] += int(torn.sum())
                words[TORN] += len(torn)
            for role, number, kept_leaf in zip(roles, example.page.nodes.words.tolist(), keep.tolist(), strict=True):
                if role != "comments" or commented:
                    words[role] += number
                    kept[role] += number * kept_leaf
        scores[name].append(float(np.mean(found)))
    for name, site, examples in shops:
        for example in examples:
            keep, facts = decision.decided(example.page, site).content, example.labels == CONTENT
            words[name] += int(facts.sum())
            kept[name] += int((facts & keep).sum())
    means = [float(np.mean(scores[name])) for name in SETS if name in scores]
    return [round(x, 4) for x in (*means, *(kept[key] / max(1, words[key]) for key in (*ROLES, *FACTS, TORN)))]


def torn_lists(example: Example, keep: Bools) -> Bools:
    """(lists,) of the lists that people have labelled as a whole, whether some of their items are kept and some not."""
    nodes, known = example.page.nodes, (example.labels != UNKNOWN) & (example.page.nodes.words > 0)
    rows = np.flatnonzero(_IS_ITEM[nodes.tag])
    rows = rows[below(nodes, up_to(known), rows) > 0]
    _, group = np.unique(nodes.parent[rows] * len(nodes.looks) + nodes.look[rows], return_inverse=True)
    every, content, kept = (
        np.bincount(group, below(nodes, up_to(leaves), rows))
        for leaves in (known, known & (example.labels == CONTENT), known & keep)
    )
    whole = (np.bincount(group) > 1) & ((content == 0) | (content == every))
    torn: Bools = ((kept > 0) & (kept < every))[whole]
    return torn
