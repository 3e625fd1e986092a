"""What search gains from pagelets: a known-item test on crawled sites, with and without feedback.

Data: the sites below ``--data``, and feeds of them made with models that have not seen them (``--feeds``, a file for
each site, see ``python -m benchmarks held_out``). A query is the text of a link, and its answer is the page that the
link leads to. A link qualifies if it has two or more words, is in the content by the rule of the gold, has its words in
the gold content, leads to another page with gold, and shares its words with no link to any other target in the whole
crawl. Each target has one query, and each site its first 25, by the hash of words and target. The text of the link
itself is removed from the page that has it.

Collections: all text of the body (raw), trafilatura's text, cleaned pages, and pagelets, each with the title of the
page; all sites in one collection, as in a search engine, and each site by itself. The figures are means over queries of
MRR and nDCG@10, for each feedback of `scrapy pagelets search` and with the weights of the paper. Differences are tested
by a paired randomisation test (10,000 samples). Parameters are chosen on half of the sites, by the hash of their names.
Queries with many answers are those of ``python -m benchmarks expansion``.

    python -m benchmarks retrieval --feeds .data/feeds
    python -m benchmarks retrieval --feeds .data/feeds --titles       # the weight of titles
    python -m benchmarks retrieval --feeds .data/feeds --noise        # menus of another site added to pages
    python -m benchmarks retrieval --feeds .data/feeds --worst 20     # where pagelets with feedback are worst
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

from benchmarks.searched_sites import Link, Searched, Site, add_data, digest, load, tuned
from benchmarks.tools import option_parser, table
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.index.interface import terms
from scrapy_pagelets.retrieval.feedback import Feedback, by_model, by_segments
from scrapy_pagelets.retrieval.ranking import Bm2500, Ranking, rank
from scrapy_pagelets.retrieval.search import FEEDBACK, FORMULA, PASSAGES, TITLE, printed, query_of
from tests.oracles.memory_collection import MemoryCollection

QUERIES = 25
TITLES = (1, 2, 4, 6, 10, 20)
SYSTEMS = ("raw", "trafilatura", "cleaned", "pagelets")


def queries_of(sites: list[Site]) -> list[tuple[Site, Link]]:
    """The queries of all sites, by the rule in the module docstring."""
    targets = defaultdict(set)
    for site in sites:
        for link in site.links:
            targets[link.words].add((site.name, link.target))
    found = []
    for site in sites:
        chosen: dict[str, Link] = {}
        several = [link for link in site.links if len(link.words) >= 2]
        for link in sorted(several, key=lambda link: digest(*link.words, link.target, link.source)):
            if len(targets[link.words]) == 1 and len(chosen) < QUERIES:
                chosen.setdefault(link.target, link)
        found += [(site, link) for link in chosen.values()]
    return found


@dataclass(frozen=True)
class Method:
    """A way to search a collection."""

    passages: float = 0.0
    feedback: Feedback | None = None
    formula: Bm2500 = FORMULA
    title: float = TITLE

    def search(self, collection: MemoryCollection, query: dict[str, float]) -> tuple[Ranking, dict[str, float]]:
        """The ranking, and the query with the terms that were added."""
        found = rank(collection, query, self.formula, self.passages, self.title)
        if self.feedback is None:
            return found, query
        way = by_model if self.feedback.model else by_segments
        query = way(collection, query, found, self.formula, self.feedback)
        return rank(collection, query, self.formula, self.passages, self.title), query


def places_of(searched: Searched, method: Method, queries: list[tuple[Site, Link]]) -> Floats:
    """The rank of each query's answer, from 1; inf if it is not found."""
    found = []
    for site, link in queries:
        ranking, _ = method.search(searched.collection, query_of(" ".join(link.words))[0])
        at = np.flatnonzero(ranking.page == searched.number[site.name, link.target])
        found.append(at[0] + 1.0 if len(at) else np.inf)
    return np.array(found)


def ndcg(places: Floats) -> Floats:
    """nDCG@10 of queries with a single answer, by its rank."""
    return np.where(places <= 10, 1 / np.log2(places + 1), 0.0)


def significance(one: Floats, other: Floats) -> float:
    """The p-value of a two-sided paired randomisation test of two means."""
    if len(one) < 2 or np.array_equal(one, other):
        return 1.0
    found = permutation_test(
        (one, other),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    )
    return float(found.pvalue)


def as_printed(feedback: str) -> Method:
    """The search of the paper; queries keep their stop words here, because each query must have an answer."""
    way = printed(feedback)
    given = None if feedback == "none" else way["feedback"]
    return Method(way["passages"], given, way["formula"], way["title"])


# Output

PAGES = Method()
#: What `scrapy pagelets search` does.
BOTH = Method(passages=PASSAGES)
WAYS: dict[str, Callable[[Method], Method]] = {
    "none": lambda method: method,
    **{
        name: lambda method, name=name: replace(method, feedback=FEEDBACK[name])  # type: ignore[misc]
        for name in ("pages", "windows", "blocks", "segments", "rm3")
    },
    **{
        f"{name}, as printed": lambda _, name=name: as_printed(name)  # type: ignore[misc]
        for name in ("none", "pages", "windows", "blocks", "segments")
    },
}


def compare(sites: list[Site], queries: list[tuple[Site, Link]]) -> dict[tuple[str, str], Floats]:
    """Ranks of all answers, by system and way of feedback."""
    found = {}
    for system in SYSTEMS:
        searched = Searched(sites, system, queries)
        for way, change in WAYS.items():
            if way.startswith("segments") and system in ("trafilatura", "cleaned"):
                continue  # a page is one segment: as with pages, except for the numbers of segments and terms
            found[system, way] = places_of(searched, change(BOTH if system == "pagelets" else PAGES), queries)
            print(f"{system}, {way}: MRR {np.mean(1 / found[system, way]):.4f}", file=sys.stderr, flush=True)
    return found


def merged(parts: Sequence[dict[tuple[str, str], Floats]]) -> dict[tuple[str, str], Floats]:
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def report(found: dict[tuple[str, str], Floats], chosen: NDArray[np.bool_]) -> None:
    """Print a row for each system and way of feedback, and the differences."""
    rows = [
        [
            f"{system}, {way}",
            float(np.mean(1 / p[chosen])),
            float(np.mean(ndcg(p[chosen]))),
            float(np.mean(p[chosen] <= 1)),
        ]
        for (system, way), p in found.items()
    ]
    table(["collection, feedback", "MRR", "nDCG@10", "first"], rows)
    pairs = [
        (("pagelets", "segments"), ("pagelets", "pages")),
        (("pagelets", "segments"), ("cleaned", "pages")),
        (("pagelets", "segments"), ("raw", "pages")),
        (("pagelets", "segments"), ("raw", "none")),
        (("pagelets", "segments"), ("pagelets", "rm3")),
        (("pagelets", "segments"), ("pagelets", "none")),
        (("pagelets", "none"), ("raw", "none")),
        (("pagelets", "none"), ("trafilatura", "none")),
        (("pagelets", "none"), ("cleaned", "none")),
    ]
    print()
    table(
        ["against", "MRR", "p", "nDCG@10", "p"],
        [
            [
                f"{', '.join(one)} : {', '.join(other)}",
                *gain(1 / found[one][chosen], 1 / found[other][chosen]),
                *gain(ndcg(found[one][chosen]), ndcg(found[other][chosen])),
            ]
            for one, other in pairs
        ],
    )


def gain(one: Floats, other: Floats) -> list[str]:
    return [change(float(np.mean(one)), float(np.mean(other))), f"{significance(one, other):.4f}"]


def change(one: float, other: float) -> str:
    """How much more one figure is than another; nothing is more than 0."""
    return f"{one / other - 1:+.1%}" if other else "-"


def titles(sites: list[Site], queries: list[tuple[Site, Link]]) -> None:
    """Print the MRR by the weight of titles, for queries of the sites for tuning; all sites are searched."""
    asked = [(site, link) for site, link in queries if tuned(site.name)]
    rows = []
    for system in SYSTEMS:
        searched = Searched(sites, system, queries)
        found = [float(np.mean(1 / places_of(searched, Method(title=weight), asked))) for weight in TITLES]
        rows.append([system, *found])
    table(["weight of titles", *map(str, TITLES)], rows)


def noise(sites: list[Site], queries: list[tuple[Site, Link]]) -> None:
    """Add the menu of another site to each page of raw text: print how many of its words are added to the queries.

    The menu is the segments that most pages of the next site in the list have in common, as one more segment.
    """
    menus = {site.name: menu(sites[(place + 1) % len(sites)]) for place, site in enumerate(sites)}
    dirty = [
        Site(s.name, s.titles, {"raw": {path: [*t, menus[s.name]] for path, t in s.texts["raw"].items()}})
        for s in sites
    ]
    rows: list[list[Any]] = []
    for label, part in (("as they are", sites), ("with menus", dirty)):
        searched = Searched(part, "raw", queries)
        for way in ("pages", "blocks", "segments", "rm3"):
            taken, added = [], []
            for site, link in queries:
                _, full = WAYS[way](PAGES).search(searched.collection, query_of(" ".join(link.words))[0])
                fresh = [term for term in full if term not in link.words]
                added.append(fresh)
                taken.append(len(set(fresh) & set(terms(menus[site.name]))) / max(1, len(fresh)))
            rows.append(
                [
                    f"{label}, {way}",
                    f"{np.mean(taken):.1%}",
                    float(np.mean(1 / places_of(searched, WAYS[way](PAGES), queries))),
                ]
            )
            print(f"{label}, {way}, {' '.join(queries[0][1].words)}: {', '.join(added[0])}")
    print()
    table(["raw pages, feedback", "words of the menu among those added", "MRR"], rows)


def menu(site: Site) -> str:
    """The texts of the segments that most pages of a site have."""
    pages = site.texts["raw"].values()
    count = Counter(text for texts in pages for text in set(texts))
    return "\n".join(text for text, on in count.items() if on > len(pages) / 2)


def worst(queries: list[tuple[Site, Link]], found: dict[tuple[str, str], Floats], count: int) -> None:
    """Print the queries that lose most against the best of the other systems."""
    best = np.min([places for key, places in found.items() if key != ("pagelets", "segments")], axis=0)
    loss = 1 / best - 1 / found["pagelets", "segments"]
    rows = [
        [
            " ".join(link.words),
            site.name,
            link.target,
            *(str(found[key][n]) for key in (("raw", "none"), ("pagelets", "none"), ("pagelets", "segments"))),
        ]
        for n in np.argsort(-loss, kind="stable")[:count]
        for site, link in [queries[n]]
    ]
    print()
    table(["query", "site", "answer", "raw", "pagelets", "with segments"], rows)


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    add_data(parser)
    parser.add_argument("--titles", action="store_true")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--worst", type=int, default=0, metavar="N")
    args = parser.parse_args(argv)
    sites = load(args, SYSTEMS)
    queries = queries_of(sites)
    print(f"{len(sites)} sites, {sum(len(site.texts['raw']) for site in sites)} pages, {len(queries)} queries\n")
    if args.noise or args.titles:
        (noise if args.noise else titles)(sites, queries)
        return
    found = compare(sites, queries)
    half = np.array([tuned(site.name) for site, _ in queries])
    for label, chosen in (("all sites", half | True), ("sites for tuning", half), ("held-out sites", ~half)):
        print(f"\nOne collection, {label}: {chosen.sum()} queries\n")
        report(found, chosen)
    alone = merged([compare([site], own) for site in sites if (own := [q for q in queries if q[0] is site])])
    print("\nEach site by itself\n")
    report(alone, half | True)
    if args.worst:
        worst(queries, found, args.worst)
