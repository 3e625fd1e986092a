"""F1 of the product of a page by the rules of Zyte's product-extraction-benchmark, beside extruct.

The set has 87 of that benchmark's pages of some 50 shops, ``content/products.warc`` below ``--data .data``. The
order of some rules was changed after a look at their figures. Prices are compared as decimal numbers, all else as it is
written. A wrong value counts as a false one and, if the page has a right one, as one that is missing; counts are summed
over all pages. Values that the gold does
not have are left out. Our reading knows each page alone, without its site. Of extruct, the first product in JSON-LD,
microdata and Open Graph counts; its RDFa takes minutes.

The figures that the benchmark publishes for other tools are those of all of its pages.

    python -m benchmarks products
    python -m benchmarks products --wrong ours
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.metadata import first, nested
from benchmarks.tools import need, option_parser, table
from scrapy_pagelets.archives.reader import Reader, expand, records
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.metadata.metadata import metadata_of
from scrapy_pagelets.page.page import Page, decode

FIELDS = ("price", "sku", "availability", "brand", "gtin")
#: F1 on all pages of the benchmark, as published.
PUBLISHED = {
    "Zyte, published": {"price": 0.918, "sku": 0.841},
    "Diffbot, published": {"price": 0.824, "sku": 0.765},
    "extruct, published": {"price": 0.685, "sku": 0.537},
}
Values = Mapping[str, Any]
Tool = Callable[[Page, str], Values]


@dataclass(frozen=True)
class Sample:
    """A page with the values that are right for each field."""

    page: Page
    text: str
    right: Mapping[str, list[str]]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--wrong", default="", metavar="TOOL", help="also print what a tool has wrong")
    args = parser.parse_args(argv)
    logging.disable()
    samples = list(samples_of(args.data / "content" / "products.warc"))
    tools: dict[str, Tool] = {"ours": ours}
    if importlib.util.find_spec("extruct"):
        tools["extruct"] = extruct()
    found = {name: [tool(each.page, each.text) for each in samples] for name, tool in tools.items()}
    fields = [field for field in FIELDS if any(field in sample.right for sample in samples)]
    report(samples, found, fields)
    for sample, values in zip(samples, found.get(args.wrong, []), strict=False):
        for field in fields:
            if any(counts(sample.right.get(field, []), values.get(field), field)[1:]):
                print(f"{sample.page.url[:90]}  {field}: {values.get(field)!r}, not {sample.right.get(field)!r}")


def samples_of(archive: Path) -> Iterator[Sample]:
    """The pages of an archive that the gold beside it names."""
    path = need(archive.with_suffix(".gold.jsonl.gz"), "it has the gold of the products")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    gold = {line["url"]: line["attributes"] for line in map(json.loads, lines)}
    with Reader() as reader:
        for source in expand(str(need(archive, "it has the pages of the products"))):
            for entry in records(source, ""):
                if entry.url in gold:
                    record = reader.read(entry.source, entry.offset, "")
                    kind = next(iter(record.headers.get("Content-Type") or ()), None)
                    page = Page.parse(record.body, entry.url, kind)
                    yield Sample(page, decode(record.body, kind), gold[entry.url])


def ours(page: Page, _text: str) -> Values:
    """Our own reading."""
    return metadata_of(page, headline_of(page)).fields["product"] or {}


def extruct() -> Tool:
    """Return extruct, with the first value of each property of products and their offers."""
    from extruct import extract

    def read(page: Page, text: str) -> Values:
        raw = extract(text, page.url, syntaxes=["json-ld", "microdata", "opengraph"], errors="ignore", uniform=True)
        everything = [*nested([*raw.values()])]
        products = [each for each in everything if "Product" in str(each.get("@type"))][:1]
        inside = [*nested(products)]
        price = first(inside, ("price", "lowPrice")) or first(everything, ("product:price:amount", "og:price:amount"))
        state = first(inside, ("availability",)) or first(everything, ("product:availability", "og:availability"))
        return {
            "price": price,
            "sku": first(inside, ("sku",)),
            "availability": state and state.rpartition("/")[2],
            "brand": first(inside, ("brand",)),
            "gtin": first(inside, ("gtin13", "gtin", "gtin14", "gtin12", "gtin8")),
        }

    return read


def report(samples: list[Sample], found: Mapping[str, list[Values]], fields: list[str]) -> None:
    """Print F1, precision and recall of each field by tool."""
    heads = [f"{field} ({sum(bool(sample.right.get(field)) for sample in samples)})" for field in fields]
    rows: list[list[Any]] = [
        [name, *(scored(samples, values, field) for field in fields)] for name, values in found.items()
    ]
    rows += [
        [name, *(f"{told[field]:.3f}" if field in told else "-" for field in fields)]
        for name, told in PUBLISHED.items()
    ]
    table(["F1 (precision / recall)", *heads], rows)


def scored(samples: list[Sample], values: list[Values], field: str) -> str:
    """F1, precision and recall of a field."""
    each = [counts(one.right.get(field, []), got.get(field), field) for one, got in zip(samples, values, strict=True)]
    hit, wrong, missed = np.array(each).sum(axis=0).tolist()
    precision, recall = hit / max(hit + wrong, 1), hit / max(hit + missed, 1)
    f1 = 2 * precision * recall / (precision + recall) if hit else 0.0
    return f"{f1:.3f} ({precision:.3f} / {recall:.3f})"


def counts(right: Sequence[str], value: Any, field: str) -> tuple[int, int, int]:
    """The true, false and missing values of a page, as the benchmark counts them."""
    if value is None:
        return 0, 0, int(bool(right))
    hit = decimal(value) in map(decimal, right) if field == "price" else str(value) in right
    return int(hit), int(not hit), int(not hit and bool(right))


def decimal(value: Any) -> Decimal | None:
    """A price as a number; None if it is none."""
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        return None
