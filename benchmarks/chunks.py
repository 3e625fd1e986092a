"""What chunks that follow a page's structure gain for retrieval: the known-item queries of ``retrieval.py``.

Each site below ``--data`` is cleaned as archives are, by the model that was trained without its family (``--models``).
A query is the text of a link, and its answer the page that the link leads to; the text of the link is removed from the
page that has it. Here a document of the index is a chunk. A page has the rank of its best chunk, among pages. Compared
are whole pages, windows of so many words, the Markdown divided at its headings (sections that are longer are cut into
windows), and our chunks, for each number of words in ``--words``; each with the page's title as title, or with the
headings above the chunk as further words of the title. All are made from the same Markdown, without the targets of its
links. The ranking is BM25 as in ``retrieval.py``, without feedback. Tokens are estimated as in the feed: bytes in
UTF-8, divided by three; those of the five best documents are what a language model would read.

    python -m benchmarks chunks
    python -m benchmarks chunks --words 200 --every 3
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from markdown_it import MarkdownIt

from benchmarks import retrieval, searched_sites
from benchmarks.page_sets import SITES, Job, add_options, of_sites, read_pages
from benchmarks.quality import check_models
from benchmarks.role_labels import the_referee
from benchmarks.tools import names, option_parser, sites_below, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.characters import WORD, words
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunking import chunks_of
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.document.units import tokens_of
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.retrieval.search import query_of
from tests.oracles.memory_collection import MemoryCollection

#: Documents that a language model reads.
READ = 5
PARSER = MarkdownIt("commonmark").enable("table")


class Piece(NamedTuple):
    """A document of the index: its text, and the headings above it."""

    text: str
    headings: tuple[str, ...] = ()


class Cleaned(NamedTuple):
    """The content of a page: its document, the same as Markdown, and the number of the pagelet of each leaf."""

    document: Block
    markdown: str
    pagelets: dict[int, int]


#: A way to cut a page, from its content and the number of words.
Cutter = Callable[[Cleaned, int], list[Piece]]


def whole(page: Cleaned, _: int) -> list[Piece]:
    return [Piece(visible(page.markdown))]


def windows(page: Cleaned, size: int) -> list[Piece]:
    return [Piece(text) for text in windows_of(visible(page.markdown), size)]


def windows_of(text: str, size: int) -> Iterator[str]:
    """Cut a text after every so many words."""
    starts = [match.start() for match in WORD.finditer(text)][::size]
    for start, end in pairwise([*starts, len(text)]):
        yield text[start:end]


def sections(page: Cleaned, size: int) -> list[Piece]:
    """The Markdown from each heading to the next; windows of longer sections."""
    markdown = visible(page.markdown)
    lines = markdown.split("\n")
    tokens = PARSER.parse(markdown)
    heads = [(i, t) for i, t in enumerate(tokens) if t.type == "heading_open" and t.level == 0 and t.map]
    bounds = [0, *(t.map[0] for _, t in heads if t.map), len(lines)]
    paths: list[tuple[str, ...]] = [()]
    open_heads: list[tuple[str, str]] = []
    for i, token in heads:
        open_heads = [head for head in open_heads if head[0] < token.tag] + [(token.tag, tokens[i + 1].content)]
        paths.append(tuple(text for _, text in open_heads))
    parts = ("\n".join(lines[a:b]).strip() for a, b in pairwise(bounds))
    return [Piece(t, path) for part, path in zip(parts, paths, strict=True) for t in windows_of(part, size)]


def chunks(page: Cleaned, size: int) -> list[Piece]:
    return [
        Piece(visible(chunk.markdown), chunk.headings) for chunk in chunks_of(page.document, size, 0, page.pagelets)
    ]


WHOLE = "whole pages"
SYSTEMS: dict[str, Cutter] = {"windows": windows, "Markdown by headings": sections, "chunks": chunks}
#: Those whose documents have headings above them.
HEADED = ("Markdown by headings", "chunks")


class Pieces:
    """The pieces of all pages as a collection, without the texts of the queries' links."""

    def __init__(self, sites: list[CleanedSite], cut: Cutter, size: int, queries: Queries, *, headed: bool) -> None:
        taken = defaultdict(list)
        for site, link in queries:
            taken[site.name, link.source].append(link)
        self.page: list[searched_sites.Key] = []
        self.tokens: list[int] = []
        texts, titles = [], []
        for site, pages in sites:
            for path, page in pages.items():
                pieces = [piece for piece in cut(page, size) if piece.text.strip()]
                shown = [piece.text for piece in pieces]
                self.tokens += map(tokens_of, shown)
                for link in taken[site.name, path]:
                    shown = searched_sites.without(shown, link)
                title = site.titles[path]
                texts += [[text] for text in shown]
                titles += [" ".join((title, *piece.headings)) if headed else title for piece in pieces]
                self.page += [(site.name, path)] * len(pieces)
        self.collection = MemoryCollection(texts, titles)

    def answers(self, queries: Queries) -> tuple[Floats, Floats]:
        """The rank of each query's answer among pages, from 1, inf if it is not found; tokens of the best documents."""
        found = [self._answer(site.name, link) for site, link in queries]
        return np.array([place for place, _ in found]), np.array([tokens for _, tokens in found], np.float64)

    def _answer(self, name: str, link: searched_sites.Link) -> tuple[float, int]:
        ranking, _ = retrieval.PAGES.search(self.collection, query_of(" ".join(link.words))[0])
        numbers = ranking.page.tolist()
        seen = dict.fromkeys(self.page[number] for number in numbers)
        place = next((place for place, page in enumerate(seen, 1) if page == (name, link.target)), np.inf)
        return place, sum(self.tokens[number] for number in numbers[:READ])


_LINK = re.compile(r"\]\((?:<[^>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?: \"[^\"\n]*\")?\)")


def visible(markdown: str) -> str:
    """Markdown without the targets of its links: nobody searches for them."""
    return _LINK.sub("]", markdown)


class CleanedSite(NamedTuple):
    """A site with its cleaned pages, by path."""

    site: searched_sites.Site
    pages: dict[str, Cleaned]


Queries = list[tuple[searched_sites.Site, searched_sites.Link]]


def cleaned(job: Job, entry: dict[str, Any]) -> CleanedSite:
    """Learn all pages of a site, and clean those with gold."""
    logging.disable()
    pages, bodies = read_pages(job)
    learnt = Site(job.site, job.model, job.strict)
    for page in pages:
        learnt.learn(page)
    with_gold = {each.gold["path"]: i for i, each in enumerate(job.pages) if each.gold}
    site = searched_sites.Site(job.site, {path: pages[i].title for path, i in with_gold.items()})
    content = {path: " ".join(words((job.pages[i].gold or {})["content"])) for path, i in with_gold.items()}
    site.links = [
        link for path, i in with_gold.items() for link in searched_sites.links_of(entry, path, bodies[i], content)
    ]
    return CleanedSite(site, {path: cleaned_page(pages[i], learnt) for path, i in with_gold.items()})


def cleaned_page(page: Page, site: Site) -> Cleaned:
    decision = decided(page, site)
    document = document_of(page, decision.content, decision.headline, repeated=decision.repeated)
    pagelets = segment(page, decision.templateness)
    return Cleaned(
        document, markdown_of(document), {leaf: each.id for each in pagelets for leaf in each.index.tolist()}
    )


def options(argv: Sequence[str]) -> argparse.Namespace:
    parser = option_parser(__name__, __doc__)
    add_options(parser)
    parser.add_argument("--only", default="", help="comma-separated names of sites")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th site")
    parser.add_argument("--words", default="100,200,400", help="words of a document; default: %(default)s")
    return parser.parse_args(argv)


def load(args: argparse.Namespace) -> list[CleanedSite]:
    folder = sites_below(args.data)
    about = {each["name"]: each for each in json.loads((folder / "sites.json").read_text(encoding="utf-8"))}
    scored = argparse.Namespace(**{**vars(args), "every": 1})  # every page of a site
    jobs = [
        job
        for job in of_sites(scored, SITES[0], the_referee(args.referee))
        if not args.only or job.site in names(args.only)
    ]
    jobs = jobs[:: args.every]
    check_models({job.model for job in jobs})
    return [cleaned(job, about[job.site]) for job in jobs]


def main(argv: Sequence[str]) -> None:
    args = options(argv)
    sites = load(args)
    queries = retrieval.queries_of([site for site, _ in sites])
    print(f"{len(sites)} sites, {sum(len(pages) for _, pages in sites)} pages, {len(queries)} queries\n")
    found: dict[tuple[str, int, bool], Floats] = {}
    rows = []
    for system, cut, size, headed in compared([int(size) for size in args.words.split(",")]):
        pieces = Pieces(sites, cut, size, queries, headed=headed)
        places, read = pieces.answers(queries)
        found[system, size, headed] = places
        figures = [float(np.mean(1 / places)), float(np.mean(retrieval.ndcg(places))), float(np.mean(places <= 1))]
        rows.append([
            named(system, headed), size or "-", *figures, len(pieces.page), sum(pieces.tokens), round(np.mean(read)),
        ])  # fmt: skip
        print(*rows[-1], file=sys.stderr, flush=True)
    table(["index of", "size", "MRR", "nDCG@10", "first", "documents", "tokens", f"of {READ}"], rows)
    print()
    rows = [
        [
            f"chunks, with headings : {named(system, headed)}",
            size,
            *retrieval.gain(1 / found["chunks", size, True], 1 / places),
        ]
        for (system, size, headed), places in found.items()
        if size and (system, headed) != ("chunks", True)
    ]
    table(["against", "size", "MRR", "p"], rows)


def compared(sizes: Sequence[int]) -> Iterator[tuple[str, Cutter, int, bool]]:
    """Yield each index: the way to cut pages and its name, the number of words, whether headings are added."""
    yield WHOLE, whole, 0, False
    for size in sizes:
        for system, cut in SYSTEMS.items():
            yield system, cut, size, False
            if system in HEADED:
                yield system, cut, size, True


def named(system: str, headed: bool) -> str:
    return f"{system}, with headings" if headed else system
