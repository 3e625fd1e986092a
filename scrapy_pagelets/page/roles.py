"""What is template: the threshold of templateness, the roles that follow from it, and the marks of the user's rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.core import give
from scrapy_pagelets.core.subtrees import role_of as role_of
from scrapy_pagelets.page.nodes import NodeTable

#: Roles of texts: what a page is for, what its readers say of it, what it says of itself in other places than its text,
#: its own table of contents, links to other pages, what is to be filled in or pressed, and everything else.
ROLES: Final = ("content", "comments", "metadata", "contents", "navigation", "forms", "template")
CONTENT, COMMENTS, METADATA, CONTENTS, NAVIGATION, FORMS, TEMPLATE = ROLES
#: What has at least this templateness is template, on every page: `decision.cut.shifted` moves the cut of each page to
#: this value. To draw the line elsewhere, change the cut and not this.
THRESHOLD: Final = 0.5
#: Where no model tells roles, a template is navigation if more than this share of its words is link text.
_LINKED: Final = 0.5


def is_template(templateness: Floats) -> Bools:
    """Return whether each of some values of templateness, 0 to 1, is that of template."""
    return np.asarray(templateness >= THRESHOLD)


give(
    "subtrees", ROLES=ROLES, CONTENT=CONTENT, NAVIGATION=NAVIGATION, TEMPLATE=TEMPLATE, THRESHOLD=THRESHOLD,
    LINKED=_LINKED,
)  # fmt: skip

KEEP, STRIP, HEADLINE, IGNORE_LINKS = ACTIONS = ("keep", "strip", "headline", "ignore_links")
_DECIDED: Final = {KEEP: 0.0, STRIP: 1.0}  # templateness of what is kept and of what is stripped


class Cause(NamedTuple):
    """The part of a rule that names a row: the host pattern that the page matches, and the action."""

    host: str
    action: str


@dataclass(frozen=True, eq=False)
class Marks:
    """What rules name on a page, and what the page asks of robots. Without arguments: nothing."""

    #: for each cause, also for those that name nothing on this page, the rows of its elements
    rows: Mapping[Cause, list[int]] = field(default_factory=lambda: MappingProxyType({}))
    ignored_links: frozenset[int] = frozenset()  # indices of the links inside the elements of ``ignore_links``
    problems: tuple[str, ...] = ()  # sentences about selectors that failed on this page
    robots: tuple[str, ...] = ()  # what the page asks of robots, see `rules.robots`

    @property
    def headline(self) -> list[int]:
        """Rows of the elements that rules name as headline, in document order."""
        return sorted({row for cause, rows in self.rows.items() if cause.action == HEADLINE for row in rows})

    def applied(self, nodes: NodeTable, templateness: Floats) -> tuple[Floats, dict[str, int]]:
        """Let the rules decide the leaves that they name: 0 for those to keep, 1 for those to strip.

        The innermost element decides; if it is both to keep and to strip, it is kept. Return (m,) the templateness with
        rules, and by the name of the stat, what each rule has done to this page.

        ``templateness``: (m,) of each leaf, without rules.
        """
        if not self.rows:
            return templateness, {}
        causes = sorted((cause for cause in self.rows if cause.action in _DECIDED), key=lambda c: c.action == KEEP)
        column = np.full(len(nodes), -1)
        for number, cause in enumerate(causes):
            column[self.rows[cause]] = number
        decided_by = nearest(nodes, column)[nodes.leaves]
        values = np.array([_DECIDED[cause.action] for cause in causes] + [0.0])
        ruled = np.where(decided_by < 0, templateness, values[decided_by])
        changed = nodes.words * (is_template(ruled) != is_template(templateness))
        effect = {}
        for cause, rows in self.rows.items():
            name = f"{cause.host}/{cause.action}"
            effect[f"{name}/pages"] = int(bool(rows))
            if cause.action == IGNORE_LINKS:
                effect[f"{name}/links"] = len(links_inside(nodes, rows))
            elif cause in causes:
                effect[f"{name}/words"] = int(changed[decided_by == causes.index(cause)].sum())
            else:
                effect[f"{name}/words"] = int(nodes.words[nodes.leaves_below(rows)].sum())
        return ruled, effect


def nearest(nodes: NodeTable, column: Ints) -> Ints:
    """(n,) the value of each row or, where it is -1, that of the nearest ancestor that has one."""
    return nodes.inherit(column.copy(), lambda own, above: np.where(own < 0, above, own))


def links_inside(nodes: NodeTable, rows: list[int]) -> list[int]:
    """Indices of the links inside of some rows, or at them."""
    return [i for row in nodes.outermost(rows) for i in range(len(nodes.links.row))[nodes.links_in(row)]]
