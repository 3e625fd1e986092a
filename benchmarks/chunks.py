"""What chunks that follow a page's structure gain for retrieval: the known-item queries of ``retrieval.py``.

Data: the sites below ``--data``, and feeds of them with ``text``, ``markdown`` and ``chunks`` (``--feeds``, a file for
each site), made with models that have not seen them. For each site of the name NAME and the fold N (``tools.fold``):

    scrapy crawl archive -a path=.data/sites/NAME -a base=http://site.example/ -O .data/chunks/NAME.jsonl \
        -s PAGELETS_MODEL=.data/models/fold-N.npz -s PAGELETS_FORMATS=text,markdown -s PAGELETS_CHUNKS=200

A query is the text of a link, and its answer the page that the link leads to; the text of the link is removed from the
page that has it. Here a document of the index is a chunk. A page has the rank of its best chunk, among pages. Compared
are whole pages, windows of `--words` words, the Markdown divided at its headings (sections that are longer are cut into
windows), and our chunks; each with the page's title as title, or with the headings above the chunk as further words of
the title. All are made from the same Markdown, without the targets of its links. The ranking is BM25 as in
``retrieval.py``, without feedback. Tokens are estimated as in the feed: bytes in UTF-8, divided by three; those of the
five best documents are what a language model would read.

    python benchmarks/chunks.py --feeds .data/chunks
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import retrieval
from markdown_it import MarkdownIt
from tools import names, referee, sites_below, table

from scrapy_pagelets.document.chunks import tokens_of
from scrapy_pagelets.page import Page
from scrapy_pagelets.retrieval.collection import MemoryCollection
from scrapy_pagelets.retrieval.search import query_of
from scrapy_pagelets.retrieval.term_weights import Floats
from scrapy_pagelets.words import WORD, words

#: Documents that a language model reads.
READ = 5
PARSER = MarkdownIt("commonmark").enable("table")


class Piece(NamedTuple):
    """A document of the index: its text, and the headings above it."""

    text: str
    headings: tuple[str, ...] = ()


#: A way to cut a page, from its line of the feed and the number of words.
Cutter = Callable[[dict[str, Any], int], list[Piece]]


def whole(line: dict[str, Any], _: int) -> list[Piece]:
    return [Piece(visible(line["markdown"]))]


def windows(line: dict[str, Any], size: int) -> list[Piece]:
    return [Piece(text) for text in windows_of(visible(line["markdown"]), size)]


def windows_of(text: str, size: int) -> Iterator[str]:
    """Cut a text after every so many words."""
    starts = [match.start() for match in WORD.finditer(text)][::size]
    for start, end in pairwise([*starts, len(text)]):
        yield text[start:end]


def sections(line: dict[str, Any], size: int) -> list[Piece]:
    """The Markdown from each heading to the next; windows of longer sections."""
    markdown = visible(line["markdown"])
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


def chunks(line: dict[str, Any], _: int) -> list[Piece]:
    return [Piece(visible(chunk["markdown"]), tuple(chunk["headings"])) for chunk in line["chunks"]]


SYSTEMS: dict[str, Cutter] = {
    "whole pages": whole,
    "windows": windows,
    "Markdown by headings": sections,
    "chunks": chunks,
}


class Pieces:
    """The pieces of all pages as a collection, without the texts of the queries' links."""

    def __init__(self, sites: list[Lined], cut: Cutter, size: int, queries: Queries, *, headed: bool) -> None:
        taken = defaultdict(list)
        for site, link in queries:
            taken[site.name, link.source].append(link)
        self.page: list[retrieval.Key] = []
        self.tokens: list[int] = []
        self.words = 0
        texts, titles = [], []
        for lined in sites:
            for path, line in lined.lines.items():
                pieces = [piece for piece in cut(line, size) if piece.text.strip()]
                shown = [piece.text for piece in pieces]
                self.tokens += map(tokens_of, shown)
                self.words += sum(len(WORD.findall(text)) for text in shown)
                for link in taken[lined.site.name, path]:
                    shown = retrieval.without(shown, link)
                title = lined.site.titles[path]
                texts += [[text] for text in shown]
                titles += [" ".join((title, *piece.headings)) if headed else title for piece in pieces]
                self.page += [(lined.site.name, path)] * len(pieces)
        self.collection = MemoryCollection(texts, titles)

    def answers(self, queries: Queries) -> tuple[Floats, Floats]:
        """The rank of each query's answer among pages, from 1, inf if it is not found; tokens of the best documents."""
        found = [self._answer(site.name, link) for site, link in queries]
        return np.array([place for place, _ in found]), np.array([tokens for _, tokens in found], np.float64)

    def _answer(self, name: str, link: retrieval.Link) -> tuple[float, int]:
        ranking, _ = retrieval.PAGES.search(self.collection, query_of(" ".join(link.words))[0])
        numbers = ranking.page.tolist()
        seen = dict.fromkeys(self.page[number] for number in numbers)
        place = next((place for place, page in enumerate(seen, 1) if page == (name, link.target)), np.inf)
        return place, sum(self.tokens[number] for number in numbers[:READ])


_LINK = re.compile(r"\]\((?:<[^>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?: \"[^\"\n]*\")?\)")


def visible(markdown: str) -> str:
    """Markdown without the targets of its links: nobody searches for them."""
    return _LINK.sub("]", markdown)


class Lined(NamedTuple):
    """A site with its lines of the feed, by path."""

    site: retrieval.Site
    lines: dict[str, dict[str, Any]]


Queries = list[tuple[retrieval.Site, retrieval.Link]]


def load(args: argparse.Namespace) -> list[Lined]:
    score, folder = referee(args.referee), sites_below(args.data)
    only = names(args.only)
    found = []
    for entry in json.loads((folder / "sites.json").read_text(encoding="utf-8")):
        feed = args.feeds / f"{entry['name']}.jsonl"
        if feed.exists() and (not only or entry["name"] in only):
            found.append(site_of(entry, folder / entry["name"], score, score.read(feed)))
    if not found:
        sys.exit(f"{args.feeds} has no feed of a site: name a folder of feeds with --feeds")
    return found


def site_of(entry: dict[str, Any], folder: Path, score: Any, feed: list[dict[str, Any]]) -> Lined:
    gold = score.read(folder / "gold.jsonl.gz")
    lines = {path: line for path, line in score.by_path(feed, [g["path"] for g in gold]).items() if line is not None}
    bodies = {g["path"]: (folder / g["path"]).read_bytes() for g in gold if g["path"] in lines}
    titles = {path: Page.parse(body, retrieval.HOST + path).title for path, body in bodies.items()}
    site = retrieval.Site(entry["name"], titles)
    content = {g["path"]: " ".join(words(g["content"])) for g in gold if g["path"] in lines}
    site.links = [link for path, body in bodies.items() for link in retrieval.links_of(entry, path, body, content)]
    return Lined(site, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--feeds", type=Path, default=Path(".data/chunks"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all with a feed")
    parser.add_argument("--words", type=int, default=200, help="words of a window; default: 200, as in the feeds")
    args = parser.parse_args()
    sites = load(args)
    queries = retrieval.queries_of([lined.site for lined in sites])
    print(f"{len(sites)} sites, {sum(len(lined.lines) for lined in sites)} pages, {len(queries)} queries\n")
    found: dict[tuple[str, bool], Floats] = {}
    rows = []
    for system, cut in SYSTEMS.items():
        for headed in (False, True) if system in ("chunks", "Markdown by headings") else (False,):
            pieces = Pieces(sites, cut, args.words, queries, headed=headed)
            places, read = pieces.answers(queries)
            found[system, headed] = places
            figures = [float(np.mean(1 / places)), float(np.mean(retrieval.ndcg(places))), float(np.mean(places <= 1))]
            name = f"{system}, with headings" if headed else system
            rows.append([name, *figures, len(pieces.page), pieces.words, sum(pieces.tokens), round(np.mean(read))])
            print(*rows[-1], file=sys.stderr, flush=True)
    table(["index of", "MRR", "nDCG@10", "first", "documents", "words", "tokens", f"of {READ}"], rows)
    print()
    ours = 1 / found["chunks", True]
    rows = [
        [f"chunks, with headings : {system}{', with headings' * headed}", *retrieval.gain(ours, 1 / places)]
        for (system, headed), places in found.items()
        if (system, headed) != ("chunks", True)
    ]
    table(["against", "MRR", "p"], rows)


if __name__ == "__main__":
    main()
