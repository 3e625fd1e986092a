"""The sets of pages with gold text, as jobs: pages that are cleaned together, each with its kind and its model."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from benchmarks.role_labels import add_rules, gold_by_role
from benchmarks.tools import fold, names, need, sites_below
from scrapy_pagelets import Page
from scrapy_pagelets.archives.reader import Reader, expand, records
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.page.urls import site_of

SITES = ("sites", "sites2")
#: Pages of all kinds, most of them the only one of their site.
MIXED = "wcxb-dev"
#: Ten pages of each site; never used for training, nor is ``articles``.
NEWS = ("news-05", "news-13")
SETS = (*SITES, MIXED, "articles", *NEWS)
#: Words of the description of a site by which its kind is known. The first of them in the description decides.
KINDS = {
    "documentation": ("documentation", "docs"),
    "software project": ("software", "product"),
    "blog": ("blog",),
    "news": ("news",),
    "shop": ("shop",),
    "forum, wiki, mailing list": ("forum", "wiki", "mailing", "community"),
    "conference": ("conference", "event"),
    "organisation, company, school": (
        "organisation", "ngo", "company", "school", "university", "club", "research",
    ),
}  # fmt: skip
OTHER = "other"


@dataclass(frozen=True)
class Entry:
    """A page of an archive; without gold, it is learnt and not scored."""

    source: str
    offset: int
    base: str
    url: str
    kind: str
    gold: dict[str, Any] | None


@dataclass(frozen=True)
class Job:
    """Pages that are cleaned together.

    Attributes
    ----------
    label : the row of the table that the pages count for
    site : name of the site
    by_site : whether the mean is taken over sites
    strict : value of ``PAGELETS_STRICT``
    """

    label: str
    site: str
    model: str
    by_site: bool
    pages: list[Entry]
    strict: float = 0.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that tell where pages, referee and models are."""
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--by-site", action="store_true", help="the folds leave out sites, not families")
    parser.add_argument("--model", default="", help="name or path of a model for all pages, instead of --models")


def read_pages(job: Job) -> tuple[list[Page], list[bytes]]:
    """The pages of a job, as parsed and as received."""
    with Reader() as reader:
        found = [reader.read(entry.source, entry.offset, entry.base) for entry in job.pages]
    types = [next(iter(page.headers.get("Content-Type") or ()), None) for page in found]
    pages = [Page.parse(page.body, page.url, kind) for page, kind in zip(found, types, strict=True)]
    return pages, [page.body for page in found]


def jobs_of(args: argparse.Namespace, score: ModuleType) -> Iterator[Job]:
    """The jobs of the chosen sets; those of the same model follow each other."""
    for name in (name for name in SETS if name in names(args.sets)):
        jobs = list(of_sites(args, name, score) if name in SITES else of_pages(args, name, score))
        for job in sorted(jobs, key=lambda job: (job.label, job.model)):
            if any(page.gold for page in job.pages) and (not args.only or job.site in names(args.only)):
                yield job


def of_sites(args: argparse.Namespace, label: str, score: ModuleType) -> Iterator[Job]:
    """A job for each site of a folder."""
    folder = sites_below(args.data).with_name(label)
    about = json.loads(need(folder / "sites.json", "it describes the sites of the set").read_text(encoding="utf-8"))
    for site in about:
        name, kind = site["name"], kind_of(site["kind"])
        base = f"http://{name}.example/"
        lines = gold_by_role(args, score, label, name)[:: args.every]
        gold = {line["path"]: line for line in lines}
        entries = entries_of(str(folder / name), base)
        pages = [replace(entry, kind=kind, gold=gold.get(path_of(entry.url))) for entry in entries]
        yield Job(label, name, model_for(name, args), by_site=True, pages=complete(pages, lines, name))


def of_pages(args: argparse.Namespace, name: str, score: ModuleType) -> Iterator[Job]:
    """A job for each page of a WARC file, and for each site of news."""
    archive = need(args.data / "content" / f"{name}.warc", "the benchmark needs the WARC file of each set")
    lines = score.read(args.data / "content" / f"{name}.gold.jsonl.gz")[:: args.every]
    gold = {line["url"]: line for line in lines}
    pages = [
        replace(entry, kind=gold.get(entry.url, {}).get("type", ""), gold=gold.get(entry.url))
        for source in expand(str(archive))
        for entry in entries_of(source)
    ]
    sites: dict[str, list[Entry]] = defaultdict(list)
    for page in complete(pages, lines, name):
        sites[site_of(page.url)].append(page)
    label = f"{name}, page alone" if name in NEWS else name
    for site, group in sites.items():
        model = model_for(site, args) if name == MIXED else args.model or LABELLED
        yield from (Job(label, site, model, by_site=False, pages=[page]) for page in group)
        if name in NEWS:
            yield Job(f"{name}, site known", site, model, by_site=False, pages=group)


def complete(pages: list[Entry], gold: list[dict[str, Any]], name: str) -> list[Entry]:
    """Return the pages, or exit if one with gold is not among them."""
    if lacking := len(gold) - sum(page.gold is not None for page in pages):
        sys.exit(f"{name} does not have {lacking} of the {len(gold)} pages that its gold names")
    return pages


def path_of(url: str) -> str:
    """Path of a page in the folder of its site."""
    return unquote(urlsplit(url).path).lstrip("/")


def entries_of(source: str, base: str = "") -> list[Entry]:
    """Where the pages of an archive are; their bodies are read later, by the process that needs them."""
    return [Entry(record.source, record.offset, base, record.url, "", None) for record in records(source, base)]


def model_for(site: str, args: argparse.Namespace) -> str:
    """The model that has not learnt from a site."""
    number = fold(site, by_site=getattr(args, "by_site", False))
    return args.model or str(args.models / f"fold-{number}.npz")


def kind_of(description: str) -> str:
    """The kind of a site.

    Examples
    --------
    >>> kind_of("sports club with news (Spanish)"), kind_of("docs/product"), kind_of("demo site")
    ('organisation, company, school', 'documentation', 'other')
    """
    text = description.casefold()
    places = {text.find(word): kind for kind, words in KINDS.items() for word in words if word in text}
    return places[min(places)] if places else OTHER
