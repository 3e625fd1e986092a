"""What a small change of all pages of a site, as between two crawls, does to text that has not changed.

Some pages of each site are learnt and cleaned, then learnt and cleaned again by a site that has only seen them with a
change: another year in the footer, one more word in it, or one more entry in the first list of links. *Pages* is the
share of pages on which the decision about other text differs, *words* the share of content words that come or go
because of it (mean over pages), *over 5 %* the share of pages on which that is more than a twentieth. *Alone* means
that each page is cleaned by itself. Data: ``sites/`` and ``sites2/`` below ``--data .data``.

    python -m benchmarks stability
    python -m benchmarks stability --model labelled --pages 4
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.page_sets import SITES, model_for
from benchmarks.tools import need, option_parser, referee, sites_below, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.page.roles import is_template

Change = Callable[[bytes], bytes]

_ENTRY = re.compile(rb"<li[^>]*>\s*<a [^>]*>[^<]{3,60}</a>\s*</li>")
_FOOTER = "<div>\N{COPYRIGHT SIGN} 2026 all rights reserved</div></body>".encode()
#: Share of the content words from which on a difference is large.
_LARGE = 0.05


def footed(body: bytes) -> bytes:
    """A page with a line at its foot."""
    return body.replace(b"</body>", _FOOTER)


def with_entry(body: bytes) -> bytes:
    """A page with one more entry before the first one of its lists of links."""
    if (found := _ENTRY.search(body)) is None:
        return body
    entry = re.sub(rb'href="[^"]*"', b'href="/entries/new.html"', found[0])
    entry = re.sub(rb">[^<]{3,60}</a>", b">A new entry of the season</a>", entry)
    return body[: found.start()] + entry + body[found.start() :]


CHANGES: dict[str, Change] = {
    "another year in the footer": lambda body: body.replace(b"2026 all rights", b"2027 all rights"),
    "one more word in the footer": lambda body: body.replace(b"reserved</div>", b"reserved worldwide</div>"),
    "one more entry in a list": with_entry,
}


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--model", default="", help="name or path of a model for all pages, instead of --models")
    parser.add_argument("--pages", type=int, default=8, help="pages of each site, drawn at random (default: 8)")
    args = parser.parse_args(argv)
    score = referee(args.referee)
    found: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for name in SITES:
        folder = need(sites_below(args.data).with_name(name), "it is a set of sites")
        for site in sorted(path for path in folder.iterdir() if path.is_dir()):
            gold = score.read(site / "gold.jsonl.gz")
            chosen = random.Random(0).sample(gold, min(args.pages, len(gold)))
            base = f"http://{site.name}.example/"
            bodies = [(footed((site / line["path"]).read_bytes()), base + line["path"]) for line in chosen]
            for row, differences in of_site(bodies, model_for(site.name, args)):
                found[row] += differences
    rows = [[change, known, *np.mean(values, 0).tolist(), len(values)] for (change, known), values in found.items()]
    table(["change", "site", "pages", "words", "over 5 %", "number of pages"], rows)


def of_site(
    bodies: Sequence[tuple[bytes, str]], model: str
) -> Iterator[tuple[tuple[str, str], list[tuple[float, ...]]]]:
    """Yield the differences that each change makes, for pages with their site known, and alone."""
    before = cleaned(bodies, model)
    for name, change in CHANGES.items():
        changed = [(change(body), url) for body, url in bodies]
        after = cleaned(changed, model)
        alike = [body != other for (body, _), (other, _) in zip(bodies, changed, strict=True)]
        for known in ("known", "alone"):
            pairs = zip(before[known], after[known], alike, strict=True)
            yield (name, known), [difference(one, other) for one, other, changes in pairs if changes]


def cleaned(bodies: Sequence[tuple[bytes, str]], model: str) -> dict[str, list[tuple[Page, Ints]]]:
    """Pages with what is template, 1 for each run of text, else 0: with all pages known, and each alone."""
    pages = [Page.parse(body, url) for body, url in bodies]
    site = Site("", model)
    for page in pages:
        site.learn(page)
    return {
        "known": [(page, decided(site, page)) for page in pages],
        "alone": [(page, decided(Site("", model), page)) for page in pages],
    }


def decided(site: Site, page: Page) -> Ints:
    return is_template(site.templateness(page)).astype(np.int64)


def difference(before: tuple[Page, Ints], after: tuple[Page, Ints]) -> tuple[float, float, float]:
    """Whether other text is decided otherwise, the share of the content words of that, and whether it is large."""
    (one, was), (other, now) = before, after
    first = next((i for i, (a, b) in enumerate(zip(one.nodes.text, other.nodes.text, strict=False)) if a != b), 0)
    same = np.arange(len(was))
    same[first:] += len(now) - len(was)
    words = one.nodes.words.copy()
    words[-1:] = 0  # the footer itself
    moved = float((words * (was != now[same])).sum() / max(1, (words * (1 - was)).sum()))
    return moved > 0, min(1.0, moved), moved > _LARGE
