"""Train a model on the roles that people have given to the texts of sites, and on facts of books and products.

The sites are those of ``roles.py``; the labels of the other pages (``wcxb-dev``) are their gold content. ``--without``
names pages that are in the test split of the same set as well. Of ``books`` and ``products``, the facts alone are
labelled, as content. The cross-validation leaves out families of sites (``families.json``) and shops, and so does
``roles.py --held-out``.

    python -m benchmarks train_roles --out new.npz --folds .data/models
    python -m benchmarks roles --held-out .data/models --model new.npz
"""

from __future__ import annotations

import argparse
import random
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from benchmarks import catalogues
from benchmarks.labelled_pages import folders, single_pages
from benchmarks.page_sets import SITES
from benchmarks.role_labels import by_facts, by_roles
from benchmarks.roles import FACTS, gold_by_role, gold_of, the_referee
from benchmarks.tools import families, need, option_parser
from scrapy_pagelets import Page
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.training.labels import Example
from scrapy_pagelets.training.model_training import train

#: Pages of each catalogue.
_PAGES = 12


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument(
        "--rules", type=Path, default=Path("../shared/data/roles"), help="roles by hand, by set and site"
    )
    parser.add_argument(
        "--without", type=Path, default=Path("../shared/data/wcxb-in-both.txt"), help="URLs, one a line"
    )
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th site and single page")
    parser.add_argument("--pages", type=int, default=40, help="pages of each site and shop, at most (default: 40)")
    parser.add_argument(
        "--catalogues", type=int, default=24, help="number of catalogues that are generated (default: 24)"
    )
    parser.add_argument("--trees", type=int, default=300, help="number of trees of each pass (default: 300)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", type=Path, help="folder for the models of the cross-validation")
    args = parser.parse_args(argv)
    referee = the_referee(args.referee)
    without = set(need(args.without, "name the file of pages to leave out").read_text(encoding="utf-8").split())
    examples = [*of_sites(args, referee), *of_facts(args, referee), *catalogues.examples(args.catalogues, _PAGES)]
    examples += (e for e in single_pages(args.data, referee, args.every) if e.page.url not in without)
    trained = train(examples, args.trees)
    about = {"command": shlex.join(["python -m benchmarks train_roles", *sys.argv[2:]]), "figures": trained.figures}
    replace(trained.model, about=about).save(args.out)
    if args.folds:
        args.folds.mkdir(parents=True, exist_ok=True)
        for number, model in enumerate(trained.folds):
            model.save(args.folds / f"fold-{number}.npz")
    for name, figure in trained.figures.items():
        print(f"F1 on unseen sites, {name}: {figure:.4f}")


def of_sites(args: argparse.Namespace, referee: ModuleType) -> Iterator[Example]:
    """Yield pages of each site with labels by role."""
    for name in SITES:
        for folder in folders(args, name)[:: args.every]:
            gold = gold_by_role(args, referee, name, folder.name)
            random.Random(0).shuffle(gold)
            for line in gold[: args.pages]:
                body = (folder / line["path"]).read_bytes()
                page = Page.parse(body, f"http://{folder.name}.example/{line['path']}")
                yield Example(page, by_roles(page, line["runs"]), families().get(folder.name, ""))


def of_facts(args: argparse.Namespace, referee: ModuleType) -> Iterator[Example]:
    """Yield pages whose facts are labelled."""
    for name in FACTS:
        gold = {line["url"]: line["attributes"] for line in gold_of(args, referee, name)}
        seen: Counter[str] = Counter()
        for record in records(str(args.data / "content" / f"{name}.warc"), "http://"):
            if record.url in gold:
                page = Page.parse(record.body, record.url, next(iter(record.headers.get("Content-Type", ())), None))
                seen[page.site] += 1
                if seen[page.site] <= args.pages:
                    yield Example(page, by_facts(page, [v for found in gold[record.url].values() for v in found]))
