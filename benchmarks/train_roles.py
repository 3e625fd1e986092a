"""Train a model on the roles that people have given to the texts of sites, and on facts of books and products.

The sites are those of ``roles.py``; the labels of the other pages (``wcxb-dev``) are their gold content. ``--without``
names pages that are in the test split of the same set as well. Of ``books`` and ``products``, the facts alone are
labelled, as content; ``catalogues.py`` generates further shops. The cross-validation leaves out families of sites
(``families.json``) and shops, and so does ``roles.py --held-out``. At last, the roles of what is stripped are learnt.

    python -m benchmarks train_roles --out new.npz --folds .data/models
    python -m benchmarks roles --held-out .data/models --model new.npz
"""

from __future__ import annotations

import argparse
import random
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from benchmarks import catalogues
from benchmarks.labelled_pages import folders, single_pages
from benchmarks.page_sets import SITES
from benchmarks.role_labels import add_rules, by_facts, gold_by_role, labels_of, roles_of, the_referee
from benchmarks.roles import FACTS, gold_of
from benchmarks.tools import families, need, option_parser
from scrapy_pagelets import Page, Site
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.classifiers import Trees
from scrapy_pagelets.decision.model import load, role_parts
from scrapy_pagelets.page.roles import ROLES
from scrapy_pagelets.training.model_training import train
from scrapy_pagelets.training.training_tables import BOOSTING, FOLDS, Example, read

#: Pages of each catalogue; and pages of each site, and runs of text of each page, from which roles are learnt.
_PAGES, _ROLE_PAGES, _RUNS = 12, 16, 128


@dataclass(frozen=True)
class WithRoles(Example):
    """A page with labels, and the role of each leaf."""

    roles: Sequence[str] = ()


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
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
    parser.add_argument("--folds", type=Path, required=True, help="folder for the models of the cross-validation")
    args = parser.parse_args(argv)
    referee = the_referee(args.referee)
    without = set(need(args.without, "name the file of pages to leave out").read_text(encoding="utf-8").split())
    examples = [*of_sites(args, referee), *of_facts(args, referee), *catalogues.examples(args.catalogues, _PAGES)]
    examples += (e for e in single_pages(args.data, referee, args.every) if e.page.url not in without)
    model, folds, figures = train(examples, args.trees)
    about = {
        "command": shlex.join(["python", "-m", "benchmarks", "train_roles", *sys.argv[2:]]),
        "figures": figures,
    }
    models = [*folds, replace(model, about=about)]
    args.folds.mkdir(parents=True, exist_ok=True)
    paths = [*(args.folds / f"fold-{number}.npz" for number in range(FOLDS)), args.out]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    rate_roles(paths, [e for e in examples if isinstance(e, WithRoles)], args.trees // 4)
    for name, figure in figures.items():
        print(f"F1 on unseen sites, {name}: {figure:.4f}")


def rate_roles(paths: Sequence[Path], examples: Iterable[WithRoles], trees: int) -> None:
    """Add the ratings of roles to model files, from the decision about pages of sites that it has not learnt from.

    Parameters
    ----------
    paths : of the models of the cross-validation, and of the model that is trained on all examples
    """
    columns, number, weight, fold = role_table(paths, examples)
    for left_out, path in enumerate(paths):
        rows = fold != left_out
        roles = fit_classes(columns[rows], number[rows], weight[rows], trees)
        replace(load(str(path)), roles=roles).save(path)


def fit_classes(columns: NDArray[np.float32], number: Ints, weight: Floats, trees: int) -> tuple[Trees, ...]:
    """Train a rating of each class; the largest one names the class. All have the same splits.

    ``columns``: (rows, features). ``number`` and ``weight``: (rows,) of each row; each class has rows.
    """
    from catboost import CatBoostClassifier

    learner = CatBoostClassifier(
        iterations=trees, loss_function="MultiClass", l2_leaf_reg=5, rsm=0.4, subsample=0.5, **BOOSTING
    )
    learner.fit(columns, number, sample_weight=weight)
    return tuple(read(learner, of) for of in range(int(number.max()) + 1))


def role_table(paths: Sequence[Path], examples: Iterable[WithRoles]) -> tuple[NDArray[np.float32], Ints, Floats, Ints]:
    """(rows, features) what ratings of roles see of leaves that are no content; (rows,) role, weight and fold of each.

    All pages have the same weight, and the leaves of a page by their words.
    """
    parts, numbers, weights, fold = [], [], [], []
    rng = np.random.default_rng(0)
    groups: dict[str, list[WithRoles]] = defaultdict(list)
    for example in examples:
        groups[example.site].append(example)
    for group in groups.values():
        site = Site("", str(paths[group[0].fold]))
        for example in group:
            site.learn(example.page)
        for example in group[:_ROLE_PAGES]:
            found = np.array([ROLES.index(role) - 1 if role in ROLES else -1 for role in example.roles])
            if not len(rows := np.flatnonzero(found >= 0)):
                continue
            rows = rows if len(rows) <= _RUNS else np.sort(rng.choice(rows, _RUNS, replace=False))
            evidence = site.model.page_evidence(example.page)
            parts.append(np.hstack(role_parts(evidence, site.templateness(example.page)))[rows])
            numbers.append(found[rows])
            words = example.page.nodes.words[rows] + 0.1  # a bullet counts a little
            weights.append(words / words.sum())
            fold.append(np.full(len(rows), example.fold))
    return np.vstack(parts), np.concatenate(numbers), np.concatenate(weights), np.concatenate(fold)


def of_sites(args: argparse.Namespace, referee: ModuleType) -> Iterator[Example]:
    """Yield pages of each site with labels by role."""
    for name in SITES:
        for folder in folders(args, name)[:: args.every]:
            gold = gold_by_role(args, referee, name, folder.name)
            random.Random(0).shuffle(gold)
            for line in gold[: args.pages]:
                body = (folder / line["path"]).read_bytes()
                page = Page.parse(body, f"http://{folder.name}.example/{line['path']}")
                roles = roles_of(page, line["runs"])
                yield WithRoles(page, labels_of(roles), families().get(folder.name, ""), roles)


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
