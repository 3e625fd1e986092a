"""Crawled sites as collections to search: the texts of their pages, cut in several ways, their links, and their tags.

A site is a folder with an entry in ``sites.json`` and with gold. Its tags are the names of links with ``rel="tag"`` and
of breadcrumbs but for the first, which are no content by the gold. Links with such a name as their text, and
breadcrumbs, are in no text of the site. A page that lists others has two links to one tag, or is what a tag leads to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from posixpath import normpath
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
from lxml import html

from benchmarks.tools import names, need, referee
from benchmarks.vips import pages as rendered_page
from benchmarks.vips import render
from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.metadata.metadata import metadata_of
from scrapy_pagelets.page.nodes import tags_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.training.training_tables import CONTENT, by_gold
from tests.oracles.memory_collection import MemoryCollection

HOST = "http://site.example/"
#: The tags that the paper of 2003 names as those of blocks, in its Section 1; it adds "etc.".
BLOCKS: Final = tags_of("p table ul h1 h2 h3 h4 h5 h6")

#: A page: its site and its path.
Key = tuple[str, str]
Words = tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """A link in the content, as a query: words of its text, the page that has it, the page that it leads to."""

    words: Words
    source: str
    target: str


@dataclass
class Site:
    """A site: titles by path, texts in segments by system and path, its links, and numbers of words by path."""

    name: str
    titles: dict[str, str]
    texts: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)
    #: the tags of each page, and the pages that list others
    tags: dict[str, set[Words]] = field(default_factory=dict)
    listing: set[str] = field(default_factory=set)


def digest(*parts: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=8).digest(), "big")


def tuned(name: str) -> bool:
    """Whether parameters are chosen on this site."""
    return digest(name) % 2 == 0


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options that `load` reads."""
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--feeds", type=Path, default=Path(".data/feeds"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument(
        "--cache", type=Path, default=Path("out/trafilatura"), help="folder for the texts that trafilatura extracts"
    )
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th site of sites.json")


def load(
    args: argparse.Namespace,
    systems: Collection[str],
    folders: Sequence[str] = ("sites",),
    *,
    tags: bool = False,
    rendered: Path | None = None,
) -> list[Site]:
    """Read the sites of some folders, with their texts by some systems, see `site_of`.

    ``rendered`` is a folder for the pages as a browser shows them, which are rendered unless they are there.
    """
    score, only, sites = referee(args.referee), names(args.only), []
    for folder in (
        need(args.data / name, "unpack the data of the benchmarks, or name it with --data") for name in folders
    ):
        for entry in json.loads((folder / "sites.json").read_text(encoding="utf-8"))[args.every - 1 :: args.every]:
            feed = args.feeds / f"{entry['name']}.jsonl"
            if (not only or entry["name"] in only) and (feed.exists() or not {"cleaned", "pagelets"} & set(systems)):
                gold = score.read(folder / entry["name"] / "gold.jsonl.gz")
                if rendered:
                    rendered.mkdir(parents=True, exist_ok=True)
                    every = [{"page": f"{entry['name']}/{g['path']}"} for g in gold]
                    asyncio.run(render(every, folder, rendered, screenshots=False))
                lines = score.by_path(score.read(feed) if feed.exists() else [], [g["path"] for g in gold])
                sites.append(site_of(entry, folder, gold, lines, args.cache, systems, rendered, tags))
    if not sites:
        sys.exit(f"{args.feeds} has no feed of a site: name a folder of feeds with --feeds")
    return sites


def site_of(
    entry: dict[str, Any],
    folder: Path,
    gold: list[dict[str, str]],
    feed: dict[str, Any],
    cache: Path,
    systems: Collection[str],
    rendered: Path | None = None,
    tags: bool = False,
) -> Site:
    """Read a site: its texts by systems of `CUTS`, by trafilatura, or cleaned and in pagelets, from the feed."""
    name, lines = entry["name"], {path: line or {} for path, line in feed.items()}
    bodies = {g["path"]: (folder / name / g["path"]).read_bytes() for g in gold}
    pages = {path: page_of(f"{name}/{path}", body, folder, rendered) for path, body in bodies.items()}
    site = Site(name, {path: page.title for path, page in pages.items()})
    hidden = mark_tags(site, pages, gold) if tags else {}
    for system in CUTS.keys() & set(systems):
        site.texts[system] = {p: segments_of(page, CUTS[system](page), hidden.get(p)) for p, page in pages.items()}
    if "trafilatura" in systems:
        found = trafilatura_of(bodies, cache / f"{name}.json")
        site.texts["trafilatura"] = {path: [text] for path, text in found.items()}
    site.texts["cleaned"] = {path: [line.get("text") or ""] for path, line in lines.items()}
    site.texts["pagelets"] = {
        path: [pagelet["text"] for pagelet in line.get("pagelets", ()) if pagelet["role"] == "content"]
        for path, line in lines.items()
    }
    content = {g["path"]: " ".join(words(g["content"])) for g in gold}
    site.words = {path: text.count(" ") + 1 for path, text in content.items()}
    site.links = [link for path, body in bodies.items() for link in links_of(entry, path, body, content)]
    return site


def page_of(name: str, body: bytes, folder: Path, rendered: Path | None) -> Page:
    """A page below a folder, with the layout of a browser if there is a folder for it."""
    return rendered_page({"page": name}, folder, rendered) if rendered else Page.parse(body, f"http://{name}")


def by_tags(page: Page) -> Ints:
    """DOMPS: (n,) the block of each run of text: its innermost element of `BLOCKS`; text between blocks is one, too."""
    nodes = page.nodes
    innermost = nodes.inherit(np.where(np.isin(nodes.tag, BLOCKS), np.arange(len(nodes)), 0), np.maximum)
    labels = np.full(len(nodes), -1)
    labels[nodes.leaves] = np.cumsum(np.diff(innermost[nodes.leaves], prepend=-1) != 0)
    return labels


#: Ways to cut all text of a page.
CUTS: Mapping[str, Callable[[Page], Ints]] = {
    "raw": lambda page: labels_of(page, "pagelets"),
    "vips": lambda page: labels_of(page, "vips"),
    "vips-strict": lambda page: labels_of(page, "vips-strict"),
    "tags": by_tags,
}


def segments_of(page: Page, labels: Ints, hidden: Bools | None = None) -> list[str]:
    """The texts of a page's segments, without hidden leaves."""
    hidden = np.zeros(len(page.nodes.leaves), np.bool_) if hidden is None else hidden
    labels = labels.copy()
    labels[page.nodes.leaves[hidden]] = labels.max(initial=0) + 1
    return [pagelet.text for pagelet in pagelets_of(page, labels) if not hidden[pagelet.index].all()]


def mark_tags(site: Site, pages: dict[str, Page], gold: list[dict[str, str]]) -> dict[str, Bools]:
    """Fill in the tags of a site, by the rule in the module docstring; returns the leaves that show them, by path."""
    found = {g["path"]: tags_on(pages[g["path"]], g["content"]) for g in gold}
    site.tags = {path: set(named) for path, (named, _, _) in found.items()}
    every = set[Words]().union(*site.tags.values())
    hidden, led = {}, set[int]()
    for path, page in pages.items():
        links = page.nodes.links
        shown = [i for i, row in enumerate(links.row.tolist()) if words_below(page, row) in every]
        led.update(links.key[shown].tolist())
        hidden[path] = page.nodes.leaves_below(links.row[shown].tolist()) | found[path][1]
    site.listing = {path for path, page in pages.items() if found[path][2] or page.key in led}
    return hidden


def tags_on(page: Page, content: str) -> tuple[list[Words], Bools, bool]:
    """The tags of a page, the leaves of its breadcrumbs, and whether two of its links are one tag."""
    links, headline = page.nodes.links, headline_of(page)
    rows = [row for row, rel in zip(links.row.tolist(), links.rel, strict=True) if "tag" in rel.split()]
    template = by_gold(page, content if rows else "") != CONTENT  # without tags, nothing is looked for
    linked = [words_below(page, row) for row in rows if template[page.nodes.leaves_of(row)].all()]
    told = metadata_of(page, headline)
    trail = [tuple(words(name)) for name in told.fields["breadcrumbs"][1:]] if told.trail.any() else []
    own = tuple(words(headline.text)) if headline else ()
    named = [found for found in (*linked, *trail) if found and found != own]
    return named, told.trail, len(set(linked)) < len(linked)


def words_below(page: Page, row: int) -> Words:
    """The words of an element."""
    return tuple(words(" ".join(page.nodes.strings[page.nodes.leaves_of(row)])))


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
    place = entry.get("content_xpath")
    for box in document.xpath(place) if place else document.cssselect(entry["content_css"]):
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


class Searched:
    """The pages of some sites as a collection, without the texts of some links, and without some pages."""

    def __init__(
        self,
        sites: list[Site],
        system: str,
        links: Iterable[tuple[Site, Link]] = (),
        without_pages: Collection[Key] = (),
    ) -> None:
        taken = defaultdict(list)
        for site, link in links:
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
                titles.append(site.titles[path] or " ")  # so that the first segment of each page is its title
        self.collection = MemoryCollection(pages, titles)
