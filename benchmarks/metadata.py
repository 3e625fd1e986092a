"""Precision and recall of the metadata of pages, and what they cost, beside other tools.

The gold, ``benchmarks/metadata.json``, names 200 pages of ``sites/``, ``sites2/`` and ``content/wcxb-dev.warc`` below
``--data .data``, at most two of each site and part, with the values of each field that are right: read by eye from
what the page shows and from its markup. A null is right if the page does not tell the field for itself; the dates of
the entries of a list are not those of the list. Authors are compared regardless of case, dates by day, descriptions by
their first 60 characters, breadcrumbs with or without the page itself at their end. Our reading was written with the
pages of the part ``seen`` at hand. The part ``held out`` was labelled then, and showed four smaller faults that are
mended. The part ``sites2`` has fifty more pages, labelled before our reading saw them; with ``--part sites2``, a second
table tells ours by kind of site.

Precision is the share of right values among those given, recall the share of right ones among the pages that tell the
field. ``cost`` is CPU time in multiples of the lxml parse of the same pages: ours from our node table, which a crawl
has anyway, the others' from a parsed tree if they take one. Tools that are not installed are left out; extruct returns
raw structures, of which the first value of each property counts.

    python -m benchmarks metadata
    python -m benchmarks metadata --part sites2 --wrong ours
"""

from __future__ import annotations

import importlib.util
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any
from urllib.parse import urljoin

from lxml import html

from benchmarks.page_sets import kind_of
from benchmarks.tools import ROOT, need, option_parser, table
from scrapy_pagelets.archives.reader import Reader, expand, records
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.metadata.metadata import metadata_of
from scrapy_pagelets.page.page import Page, decode, parse

GOLD = ROOT / "benchmarks" / "metadata.json"
ARCHIVE = "content/wcxb-dev.warc"
FIELDS = ("author", "published", "modified", "canonical", "description", "image", "breadcrumbs")
#: Characters of a description, and of a date, that are compared.
DESCRIPTION, DAY = 60, 10

Values = Mapping[str, Any]
#: Returns the fields of a page, given its node table, its text and a tree of its own.
Tool = Callable[[Page, str, html.HtmlElement], Values]


@dataclass(frozen=True)
class Sample:
    """A page with the values that are right for each field."""

    name: str
    url: str
    body: bytes
    content_type: str | None
    right: dict[str, Any]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--part", choices=("seen", "held out", "sites2"), help="only the pages of one part of the gold")
    parser.add_argument("--wrong", default="", metavar="TOOL", help="also print what a tool has wrong")
    args = parser.parse_args(argv)
    logging.disable()
    samples = list(samples_of(args.data, args.part))
    tools = installed()
    found, costs = measured(samples, tools)
    report(samples, found, costs)
    if args.part == "sites2":
        report_kinds(samples, found["ours"], args.data)
    if args.wrong:
        print_wrong(samples, found[args.wrong])


def samples_of(data: Path, part: str | None) -> Iterator[Sample]:
    """The pages of the gold, or of a part of it."""
    lines = json.loads(GOLD.read_text(encoding="utf-8"))
    gold = {line["page"]: line for line in lines if part in (None, line["part"])}
    for name, right in gold.items():
        if not name.startswith("http"):
            folder, site, path = name.split("/", 2)
            body = need(data / name, f"it is a page of the folder {folder}").read_bytes()
            yield Sample(name, f"http://{site}.example/{path}", body, None, right)
    with Reader() as reader:
        for source in expand(str(need(data / ARCHIVE, "it has the pages of many sites"))):
            for entry in records(source, ""):
                if entry.url in gold:
                    record = reader.read(entry.source, entry.offset, "")
                    kind = next(iter(record.headers.get("Content-Type") or ()), None)
                    yield Sample(entry.url, entry.url, record.body, kind, gold[entry.url])


def installed() -> dict[str, Tool]:
    """The tools that can be imported, by name."""
    makers = {"trafilatura": trafilatura, "htmldate": htmldate, "extruct": extruct}
    return {"ours": ours} | {name: make() for name, make in makers.items() if importlib.util.find_spec(name)}


def ours(page: Page, _text: str, _tree: html.HtmlElement) -> Values:
    """Our own reading."""
    return metadata_of(page, headline_of(page)).fields


def trafilatura() -> Tool:
    """Return trafilatura, whose date is that of publication."""
    from trafilatura import extract_metadata

    def read(page: Page, text: str, _: html.HtmlElement) -> Values:
        found = extract_metadata(text, default_url=page.url, extensive=False)
        names = {"author": "author", "published": "date", "canonical": "url", "description": "description"}
        return {field: getattr(found, name) for field, name in (names | {"image": "image"}).items()}

    return read


def htmldate() -> Tool:
    """Return htmldate, without its search for any date in the text."""
    from htmldate import find_date

    def read(page: Page, _: str, tree: html.HtmlElement) -> Values:
        options = {"url": page.url, "extensive_search": False}
        return {
            "published": find_date(tree, original_date=True, **options),
            "modified": find_date(tree, original_date=False, **options),
        }

    return read


def extruct() -> Tool:
    """Return extruct, with the first value of each property in JSON-LD, microdata and Open Graph."""
    from extruct import extract

    syntaxes = ("json-ld", "opengraph", "microdata")
    properties = {
        "author": ("author",),
        "published": ("datePublished", "article:published_time"),
        "modified": ("dateModified", "article:modified_time"),
        "description": ("og:description", "description"),
        "image": ("og:image", "image"),
    }

    def read(page: Page, text: str, _: html.HtmlElement) -> Values:
        raw = extract(text, page.url, syntaxes=list(syntaxes), errors="ignore", uniform=True)
        objects = list(nested([raw.get(syntax, []) for syntax in syntaxes]))
        found = {field: first(objects, names) for field, names in properties.items()}
        trails = [each for each in objects if each.get("@type") == "BreadcrumbList"]
        return found | {"breadcrumbs": crumbs(trails[0]) if trails else []}

    return read


def nested(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a value."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            yield each
            yield from nested([*each.values()])
        elif isinstance(each, list):
            yield from nested(each)


def first(objects: list[dict[str, Any]], names: tuple[str, ...]) -> str | None:
    """The first text of a property; of an object, its name or URL."""
    for value in (each[name] for name in names for each in objects if each.get(name)):
        one = value[0] if isinstance(value, list) else value
        one = one.get("name") or one.get("url") if isinstance(one, dict) else one
        if isinstance(one, str):
            return one
    return None


def crumbs(trail: dict[str, Any]) -> list[str]:
    """The names of a ``BreadcrumbList``."""
    items = trail.get("itemListElement") or []
    inner = [each.get("item") for each in items if isinstance(each, dict)]
    names = [
        each.get("name") or (isinstance(item, dict) and item.get("name"))
        for each, item in zip(items, inner, strict=False)
    ]
    return [str(name) for name in names if name]


def measured(samples: list[Sample], tools: dict[str, Tool]) -> tuple[dict[str, list[Values]], dict[str, float]]:
    """What each tool finds on each page, and its cost in parses."""
    found: dict[str, list[Values]] = {name: [] for name in tools}
    seconds = dict.fromkeys(("parse", *tools), 0.0)
    failures: Counter[str] = Counter()
    for sample in samples:
        text = decode(sample.body, sample.content_type)
        start = process_time()
        parse(text)
        seconds["parse"] += process_time() - start
        for name, tool in tools.items():
            page, tree = (
                Page.parse(sample.body, sample.url, sample.content_type),
                html.fromstring(text.encode(), parser=parser()),
            )
            start = process_time()
            try:
                found[name].append(tool(page, text, tree))
            except Exception:  # tools that others wrote
                failures[name] += 1
                found[name].append({})
            seconds[name] += process_time() - start
    if failures:
        print(f"pages on which a tool fails: {dict(failures)}")
    return found, {name: each / seconds["parse"] for name, each in seconds.items()}


def report(samples: list[Sample], found: dict[str, list[Values]], costs: dict[str, float]) -> None:
    """Print precision and recall of each field, and the costs."""
    rows = []
    for field in FIELDS:
        told = sum(is_told(sample.right[field]) for sample in samples)
        cells = (score(samples, values, field) for values in found.values())
        rows.append([f"{field} ({told})", *(cell for pair in cells for cell in pair)])
    table(["precision, recall", *(head for name in found for head in (name, ""))], rows)
    print("\ncost in lxml parses:", ", ".join(f"{name} {costs[name]:.2f}" for name in found))


def report_kinds(samples: list[Sample], values: list[Values], data: Path) -> None:
    """Print precision and recall of all fields of our reading, by kind of site; numbers of values beside them."""
    sites = json.loads((data / "sites2" / "sites.json").read_text(encoding="utf-8"))
    kinds = {site["name"]: kind_of(site["kind"]) for site in sites}
    of_kind = [kinds[sample.name.split("/")[1]] for sample in samples]
    rows = []
    for kind in sorted(set(of_kind)):
        pages = [pair for pair, each in zip(zip(samples, values, strict=True), of_kind, strict=True) if each == kind]
        given, right, told, hit = map(
            sum, zip(*(counts(*pair, field) for pair in pages for field in FIELDS), strict=True)
        )
        rows.append([f"{kind} ({len(pages)} pages)", right / given, given, hit / told, told])
    print()
    table(["ours by kind, all fields", "precision", "given", "recall", "told"], rows)


def counts(sample: Sample, values: Values, field: str) -> tuple[bool, bool, bool, bool]:
    """Whether a value is given, whether it is right, whether the page tells the field, and whether that is found."""
    told = is_told(sample.right[field])
    good = bool(values.get(field)) and is_right(values[field], sample, field)
    return bool(values.get(field)), good, told, good and told


def parser() -> html.HTMLParser:
    return html.HTMLParser(encoding="utf-8", huge_tree=True)


def is_told(right: list[Any]) -> bool:
    return None not in right and [] not in right


def score(samples: list[Sample], values: list[Values], field: str) -> tuple[float | None, float | None]:
    """Precision and recall; None for a field that the tool does not know."""
    if not any(field in each for each in values):
        return None, None
    given = right = hit = 0
    for sample, each in zip(samples, values, strict=True):
        if value := each.get(field):
            good = is_right(value, sample, field)
            given, right, hit = given + 1, right + good, hit + (good and is_told(sample.right[field]))
    return right / given if given else None, hit / sum(is_told(sample.right[field]) for sample in samples)


def is_right(value: Any, sample: Sample, field: str) -> bool:
    accepted = [each for each in sample.right[field] if each]
    if field == "breadcrumbs":
        trails = [folded(trail) for trail in accepted]
        return any(folded(value) in (trail, trail[:-1]) or folded(value)[:-1] == trail for trail in trails)
    if field in ("published", "modified"):
        return str(value)[:DAY] in accepted
    if field == "description":
        return folded([str(value)])[0][:DESCRIPTION] in [folded([each])[0][:DESCRIPTION] for each in accepted]
    if field == "author":
        return folded([str(value)]) in [folded([each]) for each in accepted]
    return urljoin(sample.url, str(value)) in accepted


def folded(names: list[str]) -> list[str]:
    return [" ".join(name.casefold().split()) for name in names]


def print_wrong(samples: list[Sample], values: list[Values]) -> None:
    """Print each field that a tool has wrong."""
    for sample, each in zip(samples, values, strict=True):
        for field in FIELDS:
            value, right = each.get(field), sample.right[field]
            if is_told(right) if not value else not is_right(value, sample, field):
                print(f"{sample.name[:70]}  {field}: {value!r}, not {right[:3]!r}")
