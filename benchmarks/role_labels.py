"""What people have said of single texts of pages: their roles, and the facts that they tell; and labels from these."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from benchmarks.tools import need
from scrapy_pagelets import Page
from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.training.training_tables import CONTENT, TEMPLATE, UNKNOWN

#: Labels by role: texts of roles that count neither as content nor as template get none, like texts without a role.
_LABELS: Final = {
    "content": CONTENT,
    **dict.fromkeys(("comments", "navigation", "forms", "template"), TEMPLATE),
    **dict.fromkeys(("", "metadata", "contents", "hidden"), UNKNOWN),
}
#: Letters and digits that a leaf may have besides the fact that it tells.
_BESIDE: Final = 25
RULES: Final = Path("../shared/data/roles")  # roles by hand, by set and site


def the_referee(folder: Path) -> ModuleType:
    """The referee's ``score.py``, with ``roles.py`` as its attribute."""
    need(folder / "roles.py", "name the folder of the referee (score.py and roles.py) with --referee")
    sys.path.insert(0, str(folder.resolve()))
    found = importlib.import_module("score")
    found.roles = importlib.import_module("roles")  # type: ignore[attr-defined]
    return found


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the option that `gold_by_role` needs besides ``data`` and ``referee``."""
    parser.add_argument("--rules", type=Path, default=RULES, help="roles by hand, by set and site")


def gold_by_role(args: argparse.Namespace, referee: ModuleType, name: str, site: str) -> list[dict[str, Any]]:
    """The pages of a site with the roles of their runs, and their content; made once, by the referee."""
    gold = args.data / "roles" / name / f"{site}.gz"
    if not gold.exists():
        gold.parent.mkdir(parents=True, exist_ok=True)
        rules = need(args.rules / name / f"{site}.json", "name the folder of the rules by site with --rules")
        program = str(args.referee / "roles.py")
        subprocess.check_call([sys.executable, program, "build", str(args.data / name / site), str(rules), str(gold)])
    return [page | {"content": content_of(page["runs"])} for page in referee.read(gold)]


def content_of(runs: Iterable[tuple[str, str]]) -> str:
    """The text of the runs that are content."""
    return " ".join(text for role, text in runs if role == "content")


def by_roles(page: Page, runs: Iterable[tuple[str, str]]) -> Ints:
    """(m,) labels of the leaves of a page from the role and the text of each run of it, in document order."""
    return labels_of(roles_of(page, runs))


def labels_of(roles: Iterable[str]) -> Ints:
    """(m,) labels of leaves from their roles.

    Raises
    ------
    ValueError : if there is no such role
    """
    roles = list(roles)
    if unknown := sorted(set(roles) - _LABELS.keys()):
        raise ValueError(f"no role is called {', '.join(map(repr, unknown))}: take {', '.join(sorted(_LABELS)[1:])}")
    return np.array([_LABELS[role] for role in roles], np.int64)


def roles_of(page: Page, runs: Iterable[tuple[str, str]]) -> list[str]:
    """The role of each leaf of a page, "" for none: that of most of its words."""
    told = [(word, role) for role, text in runs for word in words(text)]
    read = [(word, leaf) for leaf, text in enumerate(page.nodes.strings) for word in words(text)]
    votes: list[Counter[str]] = [Counter() for _ in page.nodes.strings]
    for i, j in equal_words([word for word, _ in read], [word for word, _ in told]):
        votes[read[i][1]][told[j][1]] += 1
    return [vote.most_common(1)[0][0] if vote else "" for vote in votes]


def equal_words(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of equal words in two sequences of the words of a page, in order.

    Examples
    --------
    >>> list(equal_words("a b c d".split(), "a x b c d".split()))
    [(0, 0), (1, 2), (2, 3), (3, 4)]
    """
    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield from ((block.a + k, block.b + k) for k in range(block.size))


def by_facts(page: Page, facts: Iterable[str]) -> Ints:
    """(m,) labels of the leaves of a page from its facts, such as a price: leaves that tell one are content.

    So is the label before such a leaf, such as "ISBN:". All other leaves stay unlabelled.
    """
    strings = page.nodes.strings
    wanted = [fact for fact in map(_letters, facts) if fact]
    labels = np.full(len(strings), UNKNOWN)
    for leaf, text in enumerate(map(_letters, strings)):
        if any(fact in text and len(text) <= len(fact) + _BESIDE for fact in wanted):
            labels[leaf] = CONTENT
            if leaf and (strings[leaf - 1].endswith(":") or strings[leaf].startswith(":")):
                labels[leaf - 1] = CONTENT
    return labels


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
