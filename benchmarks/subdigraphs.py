"""How often a complete subdigraph is found from a start page, and what the pages that were loaded for it teach.

Nothing is crawled: a link leads to the file of its path. The search is that of a crawl: the candidates of
``menu_links``, four pages that link each other, eight loads at most. Once the key page may be one of the four, as in
the default; once they are beside it, as printed in the paper and with ``PAGELETS_DETECTION=etdm``. Then in the order of
the paper itself, which goes through the links as they stand in the page, whatever most loaded pages link to.

``--content`` then cleans up to 40 pages of each site, which knows only the pages that the first search has loaded: all
of them; only those of the set; all, with the pages of the set counted as one class; and the same as the first with
the ETDM of the set as an override, so that what is in it is template whatever the model says. The figures are the F1 of
content words. Use sites that the shipped model has not learnt from.

    python -m benchmarks subdigraphs
    python -m benchmarks subdigraphs --sites .data/sites2 --content
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import numpy as np

from benchmarks.tools import need, option_parser, referee, table
from scrapy_pagelets import Page, Site, segment
from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.evidence.complete_subdigraph import Subdigraph
from scrapy_pagelets.evidence.menu_links import candidates, link_targets
from scrapy_pagelets.evidence.site_counts import Observation, outline
from scrapy_pagelets.probing.menu_search import MAX_LOADS

#: Pages that must link each other, the default of PAGELETS_PROBE.
SIZE = 4
#: Pages of a site that are cleaned at most.
SCORED = 40


@dataclass(frozen=True)
class Folder:
    """The files of a site as a server would answer with them."""

    path: Path
    start: str

    @property
    def host(self) -> str:
        return f"http://{self.path.name}.example/"

    def page(self, url: str) -> Page | None:
        """The page of a URL, None if there is no such file."""
        path = unquote(urlsplit(url).path).lstrip("/")
        tries = (self.path / path / "index.html", self.path / path, self.path / f"{path}.html")
        file = next((file for file in tries if _is_file(file)), None)
        return Page.parse(file.read_bytes(), url) if file else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


@dataclass(frozen=True)
class Search:
    """A search that has ended.

    Attributes
    ----------
    found : the pages of the largest set other than the key page
    size : number of pages of the set, with the key page if it is one of them
    loaded : all pages that were loaded, in order
    loads : number of loads, those without an answer too
    """

    found: list[Page]
    size: int
    loaded: list[Page]
    loads: int


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--sites", type=Path, default=Path(".data/sites"), help="folder of sites, with sites.json")
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--content", action="store_true", help="clean pages of sites that know the loaded pages only")
    args = parser.parse_args(argv)
    folders = list(folders_below(args.sites))
    starts = [(folder, page) for folder in folders if (page := folder.page(folder.host + folder.start)) is not None]
    rows = [
        searched(
            "key page may be one of the four", [search(page, folder.page, member=True) for folder, page in starts]
        ),
        searched("four beside it, as printed", [search(page, folder.page) for folder, page in starts]),
        searched(
            "four beside it, links in document order",
            [search(page, folder.page, order=in_document_order) for folder, page in starts],
        ),
    ]
    table(["start pages", "sites", "sets of 4", "loads", "sets of 2 or 3", "none"], rows)
    if args.content:
        print()
        content(starts, referee(args.referee))


def folders_below(sites: Path) -> Iterator[Folder]:
    """The sites of a folder."""
    about = need(sites / "sites.json", "name a folder of sites with --sites")
    for site in json.loads(about.read_text(encoding="utf-8")):
        yield Folder(sites / site["name"], site.get("start", "index.html"))


def searched(name: str, found: Sequence[Search]) -> list[object]:
    """A row: how many sets were found, and the mean number of loads."""
    sizes = Counter(min(one.size, SIZE) for one in found)
    loads = float(np.mean([one.loads for one in found]))
    return [name, len(found), sizes[SIZE], loads, sizes[2] + sizes[3], sizes[0] + sizes[1]]


def in_document_order(page: Page) -> list[int]:
    """Indices of the links that may be loaded, the first to each target, as they stand in the page (Algorithm 1)."""
    links = page.nodes.links
    allowed = {int(links.key[i]) for i in candidates(page)}
    first: dict[int, int] = {}
    for i in sorted(page.links):
        if int(links.key[i]) in allowed:
            first.setdefault(int(links.key[i]), i)
    return list(first.values())


def search(
    key_page: Page,
    fetch: Callable[[str], Page | None],
    *,
    member: bool = False,
    order: Callable[[Page], list[int]] | None = None,
) -> Search:
    """Search from a key page (Alarte et al. 2014, Algorithm 1, with a limit of loads).

    Parameters
    ----------
    fetch : from a URL to its page
    member : whether the key page may be one of the set
    order : load the links in this order; by default in that of a crawl
    """
    links = key_page.nodes.links
    urls = {int(links.key[i]): links.target[i] for i in (order or candidates)(key_page)}
    graph = Subdigraph(urls, SIZE, key_page.key if member else None)
    rest = iter(urls)
    loaded: dict[int, Page] = {}
    loads = 0
    while not graph.done and loads < MAX_LOADS and (key := next(rest, None) if order else graph.next()) is not None:
        loads += 1
        if (page := fetch(urls[key])) is not None:
            loaded[page.key] = page
            graph.add(page.key, link_targets(page))
    found = [page for key, page in loaded.items() if key in graph.best]
    return Search(found, len(graph.best), list(loaded.values()), loads)


def content(starts: Sequence[tuple[Folder, Page]], score: ModuleType) -> None:
    """Print the F1 of content words by what was learnt, and what the override takes away."""
    scores: dict[str, list[float]] = defaultdict(list)
    words: Counter[str] = Counter()
    for folder, start in starts:
        found = search(start, folder.page, member=True)
        gold = {line["path"]: line["content"] for line in score.read(folder.path / "gold.jsonl.gz")}
        paths = random.Random(0).sample(sorted(gold), min(SCORED, len(gold)))
        pages = [(page, gold[path]) for path in paths if (page := folder.page(folder.host + path)) is not None]
        every, as_set, one_class = learnt(folder.path.name, start, found)
        for name, site in (("all loaded pages", every), ("the set only", as_set), ("the set as one class", one_class)):
            values = [content_f1(page, site.templateness(page), text, score) for page, text in pages]
            scores[name].append(float(np.mean(values)))
        values = []
        for page, text in pages:
            templateness, shared = every.templateness(page), as_set.in_subdigraph_template(page)
            values.append(content_f1(page, np.where(shared, 1.0, templateness), text, score))
            words += overridden(page, shared & (templateness < 0.5), text, score)
        scores["all, with the ETDM as an override"].append(float(np.mean(values)))
    table(["learnt", "content F1"], [[name, float(np.mean(values))] for name, values in scores.items()])
    print(f"\n{len(starts)} sites. Of the words that only the override turns into template,", end=" ")
    print(f"{words['content']} are in the gold content of their page and {words['template']} are not.")


def learnt(name: str, start: Page, found: Search) -> tuple[Site, Site, Site]:
    """Sites that know the start page and all loaded pages; the set only; all, with the set counted as one class."""
    every, as_set, one_class = Site(name), Site(name), Site(name)
    for page in (start, *found.loaded):
        every.learn(page)
    if found.found:
        as_set.learn_set(start, found.found)
    else:
        as_set.learn(start)
    for page in (start, *found.found):
        odds = one_class.model.page_evidence(page).odds
        one_class.learnt.count(replace(Observation.of(page, odds), outline=outline(start.nodes)))
    for page in found.loaded:
        one_class.learn(page)
    return every, as_set, one_class


def content_f1(page: Page, templateness: Floats, gold: str, score: ModuleType) -> float:
    """F1 of the content words of a page."""
    text = " ".join(part.text for part in segment(page, templateness) if part.role == "content")
    f1: float = score.prf(Counter(score.words(text)), Counter(score.words(gold)))[2]
    return f1


def overridden(page: Page, leaves: Bools, gold: str, score: ModuleType) -> Counter[str]:
    """How many words of some leaves are in the gold content of the page, and how many are not."""
    known = set(score.words(gold))
    found = (word for leaf in np.flatnonzero(leaves) for word in score.words(page.nodes.strings[leaf]))
    return Counter("content" if word in known else "template" for word in found)
