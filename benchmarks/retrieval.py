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

Queries with many answers (``--topics``) are of two kinds, and their answers are decided by links alone:

- category pages: a page whose content links to three or more pages, but at most a third of its site, with a tenth of
  its words or more in these links. The query is the text that most links to this page have; it leads to no other page.
  The answers are the pages that it links to. Ten pages of a site at most; they are not in the collection.
- shared anchors: the text of links in content that lead to three or more pages on two or more sites, at most five on a
  site. These pages are the answers. The text is removed from the pages that have the links.

A text of nothing but stop words is no query. All text is cut by VIPS without a browser here; the pagelets are those of
the feeds, and are left out if there are none. The figures are means of average precision and precision at 10, as
printed and by default.

    python -m benchmarks retrieval --feeds .data/feeds
    python -m benchmarks retrieval --feeds .data/feeds --topics       # queries with many answers
    python -m benchmarks retrieval --feeds .data/feeds --titles       # the weight of titles
    python -m benchmarks retrieval --feeds .data/feeds --noise        # menus of another site added to pages
    python -m benchmarks retrieval --feeds .data/feeds --worst 20     # where pagelets with feedback are worst
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from posixpath import normpath
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
from lxml import html
from numpy.typing import NDArray
from scipy.stats import permutation_test

from benchmarks.tools import names, option_parser, referee, sites_below, table
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.index.interface import terms
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.retrieval.collection import MemoryCollection
from scrapy_pagelets.retrieval.feedback import Feedback, expand
from scrapy_pagelets.retrieval.ranking import Bm2500, Floats, Ranking, rank
from scrapy_pagelets.retrieval.search import FEEDBACK, FORMULA, PASSAGES, TITLE, printed, query_of, search

QUERIES = 25
#: Answers that a topic needs, and topics of category pages that a site may have.
LEAST, MOST = 3, 10
HOST = "http://site.example/"
TITLES = (1, 2, 4, 6, 10, 20)
SYSTEMS = ("raw", "trafilatura", "cleaned", "pagelets")


#: A page: its site and its path.
Key = tuple[str, str]


@dataclass(frozen=True)
class Link:
    """A link in the content, as a query: words of its text, the page that has it, the page that it leads to."""

    words: tuple[str, ...]
    source: str
    target: str


@dataclass(frozen=True)
class Topic:
    """A query with many answers."""

    words: tuple[str, ...]
    answers: frozenset[Key]


@dataclass
class Site:
    """A site: titles by path, texts in segments by system and path, its links, and numbers of words by path."""

    name: str
    titles: dict[str, str]
    texts: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)


def digest(*parts: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=8).digest(), "big")


def tuned(name: str) -> bool:
    """Whether parameters are chosen on this site."""
    return digest(name) % 2 == 0


# Data


def load(args: argparse.Namespace) -> list[Site]:
    score, folder = referee(args.referee), sites_below(args.data)
    about = json.loads((folder / "sites.json").read_text(encoding="utf-8"))
    only = names(args.only)
    sites = []
    for entry in about:
        feed = args.feeds / f"{entry['name']}.jsonl"
        if (not only or entry["name"] in only) and (feed.exists() or args.topics):
            gold = score.read(folder / entry["name"] / "gold.jsonl.gz")
            lines = score.by_path(score.read(feed) if feed.exists() else [], [g["path"] for g in gold])
            sites.append(site_of(entry, folder / entry["name"], gold, lines, args.cache, args.topics))
    if not sites:
        sys.exit(f"{args.feeds} has no feed of a site: name a folder of feeds with --feeds")
    return sites


def site_of(
    entry: dict[str, Any],
    folder: Path,
    gold: list[dict[str, str]],
    feed: dict[str, Any],
    cache: Path,
    vips: bool = False,
) -> Site:
    lines = {path: line for path, line in feed.items() if line is not None}
    bodies = {g["path"]: (folder / g["path"]).read_bytes() for g in gold}
    pages = {path: Page.parse(body, HOST + path) for path, body in bodies.items()}
    site = Site(entry["name"], {path: page.title for path, page in pages.items()})
    site.texts = {
        "raw": {path: segments_of(page) for path, page in pages.items()},
        "vips": {path: segments_of(page, "vips") for path, page in pages.items()} if vips else {},
        "trafilatura": {}
        if vips
        else {path: [text] for path, text in trafilatura_of(bodies, cache / f"{site.name}.json").items()},
        "cleaned": {g["path"]: [(lines.get(g["path"]) or {}).get("text") or ""] for g in gold},
        "pagelets": {g["path"]: [p["text"] for p in (lines.get(g["path"]) or {}).get("pagelets", ())] for g in gold},
    }
    content = {g["path"]: " ".join(words(g["content"])) for g in gold}
    site.words = {path: text.count(" ") + 1 for path, text in content.items()}
    site.links = [link for path, body in bodies.items() for link in links_of(entry, path, body, content)]
    return site


def segments_of(page: Page, method: str = "pagelets") -> list[str]:
    """All text of a page's body, in segments."""
    return [pagelet.text for pagelet in segment(page, np.zeros(len(page.nodes.leaves)), method=method)]


def trafilatura_of(bodies: dict[str, bytes], file: Path) -> dict[str, str]:
    """The text that trafilatura extracts, cached in a file."""
    if not file.exists():
        import trafilatura

        file.parent.mkdir(parents=True, exist_ok=True)
        texts = {path: trafilatura.extract(body) or "" for path, body in bodies.items()}
        file.write_text(json.dumps(texts), encoding="utf-8")
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return found


def links_of(entry: dict[str, Any], path: str, body: bytes, content: dict[str, str]) -> Iterator[Link]:
    """The links in the content of a page that lead to other pages with gold."""
    document = html.document_fromstring(body)
    dropped = set(document.cssselect(entry["exclude_css"])) if entry.get("exclude_css") else set()
    seen = set()
    for box in document.cssselect(entry["content_css"]):
        for anchor in box.iter("a"):
            if anchor in seen or not anchor.get("href") or dropped.intersection(anchor.iterancestors()):
                continue
            seen.add(anchor)
            found = tuple(words(" ".join(anchor.itertext())))
            target = target_of(path, anchor.get("href") or "", content)
            if found and target not in (None, path) and f" {' '.join(found)} " in f" {content[path]} ":
                yield Link(found, path, target)


def target_of(path: str, href: str, known: Iterable[str]) -> str | None:
    """The path of the page that a link leads to, if it has gold."""
    try:
        url = urlsplit(urljoin(HOST + path, href.strip()))
    except ValueError:
        return None
    found = normpath(unquote(url.path).lstrip("/") or ".").lstrip("/")
    tries = (found, f"{found}/index.html", f"{found}.html", "index.html" if found == "." else found)
    return next((name for name in tries if name in known), None) if url.hostname == "site.example" else None


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


def anchors(sites: list[Site]) -> list[Topic]:
    """Topics of shared link texts, by the rule in the module docstring."""
    targets = defaultdict(set)
    for site in sites:
        for link in site.links:
            targets[link.words].add((site.name, link.target))
    return [
        Topic(found, frozenset(pages))
        for found, pages in sorted(targets.items())
        if len(pages) >= LEAST and _is_shared(Counter(site for site, _ in pages)) and is_specific(found)
    ]


def _is_shared(sites: Counter[str]) -> bool:
    return len(sites) >= 2 and max(sites.values()) <= 5


def is_specific(found: tuple[str, ...]) -> bool:
    """Whether a query is left without stop words."""
    return any(len(word) > 1 and word not in printed()["stop_words"] for word in found)


def categories(sites: list[Site]) -> tuple[list[Topic], set[Key]]:
    """Topics of pages that list others, by the rule in the module docstring; and these pages."""
    leading = defaultdict(set)
    for site in sites:
        for link in site.links:
            leading[link.words].add((site.name, link.target))
    topics, listing = [], set()
    for site in sites:
        named: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        listed: dict[str, dict[str, int]] = defaultdict(dict)
        for link in site.links:
            listed[link.source][link.target] = len(link.words)
            if len(leading[link.words]) == 1 and is_specific(link.words):
                named[link.target][link.words] += 1
        fit = [
            path
            for path, pages in sorted(listed.items())
            if named[path]
            and LEAST <= len(pages) <= len(site.titles) / 3
            and sum(pages.values()) >= 0.1 * site.words[path]
        ]
        for path in sorted(fit, key=lambda path: digest(site.name, path))[:MOST]:
            [(found, _)] = named[path].most_common(1)
            topics.append(Topic(found, frozenset((site.name, target) for target in listed[path])))
            listing.add((site.name, path))
    return topics, listing


def without(texts: Sequence[str], link: Link) -> list[str]:
    """The texts of a page's segments, with the first occurrence of a link's text removed."""
    expression = re.compile(r"[\W_]*".join(map(re.escape, link.words)), re.IGNORECASE)
    found = list(texts)
    for number, text in enumerate(texts):
        cut, count = expression.subn("", text, count=1)
        if count:
            found[number] = cut
            break
    return found


# Search


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
        query = expand(collection, query, found, self.formula, self.feedback)
        return rank(collection, query, self.formula, self.passages, self.title), query


class Searched:
    """The pages of some sites as a collection, without the texts of the queries' links."""

    def __init__(
        self, sites: list[Site], system: str, queries: list[tuple[Site, Link]], without_pages: Collection[Key] = ()
    ) -> None:
        taken = defaultdict(list)
        for site, link in queries:
            taken[site.name, link.source].append(link)
        self.number: dict[Key, int] = {}
        pages: list[Any] = []
        titles: list[Any] = []
        for site in sites:
            for path, texts in site.texts[system].items():
                if (site.name, path) in without_pages:
                    continue
                for link in taken[site.name, path]:
                    texts = without(texts, link)
                self.number[site.name, path] = len(pages)
                pages.append(texts)
                titles.append(site.titles[path])
        self.collection = MemoryCollection(pages, titles)

    def places(self, method: Method, queries: list[tuple[Site, Link]]) -> Floats:
        """The rank of each query's answer, from 1; inf if it is not found."""
        found = []
        for site, link in queries:
            ranking, _ = method.search(self.collection, query_of(" ".join(link.words))[0])
            at = np.flatnonzero(ranking.page == self.number[site.name, link.target])
            found.append(at[0] + 1.0 if len(at) else np.inf)
        return np.array(found)


def ndcg(places: Floats) -> Floats:
    """nDCG@10 of queries with a single answer, by its rank."""
    return np.where(places <= 10, 1 / np.log2(places + 1), 0.0)


def significance(one: Floats, other: Floats) -> float:
    """The p-value of a two-sided paired randomisation test of two means."""
    if np.array_equal(one, other):
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
            found[system, way] = searched.places(change(BOTH if system == "pagelets" else PAGES), queries)
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
    return [f"{np.mean(one) / np.mean(other) - 1:+.1%}", f"{significance(one, other):.4f}"]


def titles(sites: list[Site], queries: list[tuple[Site, Link]]) -> None:
    """Print the MRR by the weight of titles, for queries of the sites for tuning; all sites are searched."""
    asked = [(site, link) for site, link in queries if tuned(site.name)]
    rows = []
    for system in SYSTEMS:
        searched = Searched(sites, system, queries)
        found = [float(np.mean(1 / searched.places(Method(title=weight), asked))) for weight in TITLES]
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
                    float(np.mean(1 / searched.places(WAYS[way](PAGES), queries))),
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


def precisions(ranked: NDArray[np.int64], answers: set[int]) -> tuple[float, float]:
    """Average precision, and the share of answers among the first ten."""
    right = np.isin(ranked, list(answers))
    at = np.flatnonzero(right)
    return float(np.sum(np.arange(1, len(at) + 1) / (at + 1))) / len(answers), float(right[:10].sum()) / 10


def many(sites: list[Site]) -> None:
    """Print mean average precision and precision at 10 for queries with many answers, by source of feedback."""
    listed, listing = categories(sites)
    shared = anchors(sites)
    by_words = {topic.words for topic in shared}
    taken = [(site, link) for site in sites for link in site.links if link.words in by_words]
    for label, topics, links, left_out in (
        ("category pages", listed, [], listing),
        ("shared anchors", shared, taken, set[Key]()),
    ):
        if not topics:
            continue
        count = np.mean([len(topic.answers) for topic in topics])
        print(f"\n{label}: {len(topics)} queries, {count:.1f} answers on average\n")
        rows = []
        for system in ("vips", "pagelets"):
            if not any(filter(None, sites[0].texts[system].values())):
                continue  # no feeds
            searched = Searched(sites, system, links, left_out)
            for method in ("as printed", "default"):
                base = None
                for way in (
                    "none",
                    "pages",
                    "windows",
                    "blocks",
                    "segments",
                    *(["rm3"] if method == "default" else []),
                ):
                    found = answered(searched, topics, printed(way) if method == "as printed" else {"feedback": way})
                    base = found if base is None else base
                    row = [
                        f"{'all text' if system == 'vips' else system}, {method}, {way}",
                        *map(float, found.mean(axis=0)),
                    ]
                    rows.append([*row, *gain(found[:, 0], base[:, 0])])
                    print(*rows[-1], file=sys.stderr, flush=True)
        table(["collection, search, feedback", "MAP", "P@10", "MAP", "p"], rows)


def answered(searched: Searched, topics: list[Topic], method: dict[str, Any]) -> Floats:
    """(n, 2) average precision and precision at 10 of each topic."""
    found = []
    for topic in topics:
        answers = {searched.number[key] for key in topic.answers if key in searched.number}
        ranking = search(searched.collection, " ".join(topic.words), **method).ranking
        found.append(precisions(ranking.page, answers))
    return np.array(found)


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
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--feeds", type=Path, default=Path(".data/feeds"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument(
        "--cache", type=Path, default=Path("out/trafilatura"), help="folder for the texts that trafilatura extracts"
    )
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--titles", action="store_true")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--topics", action="store_true", help="queries with many answers")
    parser.add_argument("--worst", type=int, default=0, metavar="N")
    args = parser.parse_args(argv)
    sites = load(args)
    if args.topics:
        many(sites)
        return
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
