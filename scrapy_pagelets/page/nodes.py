"""The node table: a DOM tree as NumPy columns, with one row for each node in preorder."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, up_to
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.table import attributes_at as attributes_at
from scrapy_pagelets.core.table import elements as elements
from scrapy_pagelets.core.table import elements_at as elements_at
from scrapy_pagelets.core.table import values_at as values_at
from scrapy_pagelets.core.text import beginning as beginning
from scrapy_pagelets.core.text import having as having
from scrapy_pagelets.core.text import leaves_beginning as leaves_beginning
from scrapy_pagelets.core.text import path_of
from scrapy_pagelets.core.text import rows_named as rows_named
from scrapy_pagelets.core.text import rows_tagged as rows_tagged
from scrapy_pagelets.core.text import rows_with as rows_with
from scrapy_pagelets.page.looks import Look

T = TypeVar("T", bound=np.generic)
#: Tags that have a number of their own; 0 is any other tag, 1 a run of text.
TAGS: Final = (
    "? #text html body main article section nav aside header footer dialog form fieldset div p h1 h2 h3 h4 h5 h6 "
    "hgroup ul ol menu dl li dt dd table caption thead tbody tfoot tr td th colgroup col pre blockquote figure "
    "figcaption address hr br details summary center dir a span b i em strong u s small big font tt code kbd samp var "
    "cite q abbr acronym sub sup time mark label button input select optgroup option textarea img picture video audio "
    "svg map area frameset frame iframe legend ins del bdo bdi wbr nobr data dfn output progress meter object param "
    "embed search slot ruby rt rp rb"
).split()
TAG: Final[dict[str, int]] = {name: number for number, name in enumerate(TAGS)}
TEXT: Final = TAG["#text"]

#: The relation of a link to what is a tag of the page. Source: HTML, link type ``tag``.
OF_TAG: Final = frozenset(("tag",))


def tags_of(names: str) -> Ints:
    """(k,) the numbers of some tags, whose names are separated by spaces."""
    return np.array([TAG[name] for name in names.split()], np.int64)


def among_tags(names: str) -> Bools:
    """(tags,) whether each tag is one of some, whose names are separated by spaces."""
    return np.isin(np.arange(len(TAGS)), tags_of(names))


#: The gap between a run of text and the one before: none, a space, a table cell, a line, a paragraph.
GLUED, SPACE, CELL, LINE, PARAGRAPH = range(5)
#: The gap that a tag makes before and after its content; any other tag is part of the line.
GAPS: Final = {
    **dict.fromkeys(
        "html body main article section nav aside header footer dialog form fieldset div p h1 h2 h3 h4 h5 h6 hgroup ul "
        "ol menu dl table caption pre listing xmp plaintext blockquote figure figcaption address hr details center dir "
        "frameset search".split(),
        PARAGRAPH,
    ),
    # `text` is a label in `svg`, `mtr` a row of a matrix in `math`.
    **dict.fromkeys("li dt dd tr thead tbody tfoot br summary legend option optgroup text mtr".split(), LINE),
    **dict.fromkeys("td th mtd".split(), CELL),
    **dict.fromkeys(
        "input select button textarea img label svg iframe audio video canvas object embed progress meter".split(),
        SPACE,
    ),
}
_XPATH_NAME: Final = lazily(r"[a-z_][a-z0-9_.-]*", re.IGNORECASE | re.ASCII)
_LONGEST_PATH: Final = 1000  # characters of a path from which on it begins anew
_INDEX: Final = 6  # characters of the number in a step
_MANY: Final = 16  # rows from which on their leaves are found by counting


# Tables are never changed, but it takes longer to make frozen ones of them than to parse a small page.
@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Links:
    """The hyperlinks of a page in document order."""

    row: Ints  # (links,) row of the element with the link (``a``, ``area``, ``frame``, ``iframe``)
    href: list[str]  # the attribute as written
    target: list[str]  # the normalised URL, "" if the link does not lead to a page
    key: Ints  # (links,) 64-bit hash of the target, 0 if the link does not lead to a page
    rel: list[str]  # the ``rel`` attribute, lower case
    beyond: int = 0  # number of the last links that have no target because of `urls.ROOM`


@dataclass(kw_only=True, eq=False, repr=False)
class NodeTable:
    """One row for each node in preorder: the elements, and the runs of text that a reader sees (*leaves*)."""

    root: etree._Element  # root of the tree, which must not be changed
    tag: Ints  # (n,) number of the tag in ``TAGS``
    parent: Ints  # (n,) row of the parent, -1 at the root
    end: Ints  # (n,) row after the last one of the subtree: ``slice(i, end[i])`` is the subtree
    depth: Ints  # (n,) 0 at the root
    look: Ints  # (n,) index into ``looks``; a run of text has the look of its parent
    path: Ints  # (n,) hash of the path from the root: signatures, each with its rank among equal siblings
    signature: Ints  # (n,) `signature` of the look
    shape: Ints  # (n,) hash of the path without ranks: the records of one listing have one shape
    looks: list[Look]  # the distinct looks of the page
    #: (looks,) what each look says, see `looks.signs`; hash of its tag and classes alone
    signs: Ints
    class_signature: Ints
    #: (n,) ``first_leaf:last_leaf`` are the leaves of the subtree, as indices of ``leaves``
    first_leaf: Ints
    last_leaf: Ints
    leaves: Ints  # (m,) rows of the runs of text
    strings: list[str]  # (m,) the runs of text without control characters, white space folded outside ``pre``
    #: by index of the leaf, the exact white space before a run of text inside ``pre``, from the start of the line or
    #: the end of the previous run
    spaces: dict[int, str]
    #: (m,) hash, number of words, gap after the previous run (``GLUED`` ... ``PARAGRAPH``), k of ``text()[k]``
    text: Ints
    words: Ints
    gap: Ints
    number: Ints
    #: (n,) whether the row is inside a hyperlink; whether ``hidden`` or an inline style hides it
    anchor: Bools
    hidden: Bools
    #: by row, ``aria-label`` and ``rel`` of the elements that have them
    labels: dict[int, str]
    relations: dict[int, str]
    #: by row, the inline styles that say how an element is laid out: its ``display``, white space or font
    styles: dict[int, str]
    links: Links  # the hyperlinks

    def __len__(self) -> int:
        return len(self.parent)

    def spread(self, of_leaves: NDArray[T]) -> NDArray[T]:
        """Spread a column of the leaves, (m,), to all rows, (n,), with zeros for the elements."""
        column = np.zeros(len(self), of_leaves.dtype)
        column[self.leaves] = of_leaves
        return column

    def total(self, column: NDArray[T]) -> NDArray[T]:
        """Sum a column, (n, ...), over the subtree of each row. Integers wrap around."""
        sums = np.zeros((len(self) + 1, *column.shape[1:]), column.dtype)
        np.cumsum(column, axis=0, out=sums[1:])
        return sums[self.end] - sums[:-1]

    def sum_below(self, of_leaves: NDArray[T]) -> NDArray[T]:
        """Sum a column of the leaves, (m,), over the subtree of each row."""
        return self.total(self.spread(of_leaves))

    def inherit(self, column: NDArray[T], combine: Callable[..., Any]) -> NDArray[T]:
        """Combine the value of each row, (n,), with that of its parent, from the root down; the column is changed."""
        for rows in self.levels[1:]:
            column[rows] = combine(column[rows], column[self.parent[rows]])
        return column

    def leaves_of(self, row: int) -> slice:
        """The leaves below a row."""
        return slice(self.first_leaf.item(row), self.last_leaf.item(row))

    def words_of(self, row: int) -> int:
        """Number of words below a row."""
        sums = self.word_sums
        return sums.item(self.last_leaf.item(row)) - sums.item(self.first_leaf.item(row))

    @cached_property
    def word_sums(self) -> Ints:
        """(m + 1,) the words of the first leaves, from none to all of them."""
        return up_to(self.words)

    def leaves_below(self, rows: Iterable[int]) -> Bools:
        """(m,) the leaves below some rows."""
        found = np.zeros(len(self.leaves), np.bool_)
        rows = list(rows)
        if len(rows) > _MANY + len(found) // 100:  # then it is faster to count where they begin and end
            begins, ends = (np.bincount(edge[rows], None, len(found) + 1) for edge in (self.first_leaf, self.last_leaf))
            return np.asarray(np.cumsum(begins - ends)[:-1] > 0)
        for row in rows:
            found[self.leaves_of(row)] = True
        return found

    def above(self, row: int) -> Iterator[int]:
        """Yield the rows of the elements around a row, from its parent up to the root."""
        while (row := self.parent.item(row)) >= 0:
            yield row

    def links_in(self, row: int) -> slice:
        """The links in a row, and at it."""
        return slice(*np.searchsorted(self.links.row, (row, self.end[row])).tolist())

    def children_of(self, row: int) -> list[int]:
        """The elements right below a row."""
        own = slice(row, self.end[row])
        return (np.flatnonzero((self.parent[own] == row) & (self.tag[own] != TEXT)) + row).tolist()

    def outermost(self, rows: Iterable[int]) -> list[int]:
        """Those of some rows that are not inside of another one, ascending."""
        found: list[int] = []
        for row in sorted(rows):
            if not found or row >= self.end[found[-1]]:
                found.append(row)
        return found

    @cached_property
    def elements(self) -> list[etree._Element]:
        """(n,) the lxml element of each row; for a run of text, its parent."""
        return elements(self.root, self.tag, self.parent, self.end)

    def xpath(self, row: int) -> str:
        """Return the XPath of a row: as lxml's ``getpath`` for an element, ending in ``text()[k]`` for a run of text.

        Names that are invalid in an XPath (``o:p``, ``a"b``) become ``*[k]``, and the steps to an element far below the
        root ``/descendant::*[k]``. The paths of all rows take linear time, while ``getpath`` counts the siblings again
        for each element.
        """
        return path_of(self, row)

    @cached_property
    def known_paths(self) -> dict[int, str]:
        """The XPaths that were asked for, and those of their ancestors, by row."""
        name, root = self.looks[self.look[0]][0], self.root
        # Behind the end of a page may stand more elements of the same name, which lxml adds beside the root.
        is_alone = root.getparent() is None and root.getnext() is None and root.getprevious() is None
        plain = is_alone and _XPATH_NAME.fullmatch(name)
        return {0: f"/{name}" if plain else root.getroottree().getpath(root)} | self._far_paths()

    def _far_paths(self) -> dict[int, str]:
        """By row, paths by number of elements far below the root: steps would be too long on hostile pages."""
        own = np.array([len(look[0]) for look in self.looks], np.int64) + _INDEX
        if self.depth.max() * own.max() < _LONGEST_PATH or self.root.getparent() is not None:
            return {}
        length, far = own[self.look], list[int]()
        for rows in self.levels[1:]:
            length[rows] += length[self.parent[rows]]
            too_long = rows[(length[rows] > _LONGEST_PATH) & (self.tag[rows] != TEXT)]
            length[too_long] = 0
            far += too_long.tolist()
        found = dict(zip(elements_at(self, sorted(far)), sorted(far), strict=True))
        everything = enumerate(self.root.iter(etree.Element), 1) if found else ()
        return {found[element]: f"/descendant::*[{number}]" for number, element in everything if element in found}

    def step(self, row: int) -> str:
        """Return the last step of the XPath of an element whose name is invalid in one."""
        return f"*[{self._among_all[row]}]"

    @cached_property
    def _among_all(self) -> Ints:
        return ranks(self.parent, self.tag == TEXT)

    @cached_property
    def letters(self) -> Floats:
        """(m,) number of characters of each leaf."""
        return np.fromiter(map(len, self.strings), np.float64, len(self.strings))

    @cached_property
    def levels(self) -> list[Ints]:
        """Rows of each depth from the root down, in document order, so that siblings are adjacent."""
        return levels_of(self.depth)


def below(nodes: NodeTable, sums: Ints, rows: int | Sequence[int] | Ints) -> Ints:
    """(k,) sum of a column of the leaves below each of some rows, from the sums of the column (`arrays.up_to`)."""
    found: Ints = sums[nodes.last_leaf[rows]] - sums[nodes.first_leaf[rows]]
    return found


def rows_related(nodes: NodeTable, relations: frozenset[str]) -> list[int]:
    """Rows of the elements whose ``rel`` attribute has one of some relations."""
    return [row for row, told in nodes.relations.items() if not relations.isdisjoint(told.lower().split())]


def levels_of(depth: Ints) -> list[Ints]:
    """Rows of each depth, as `NodeTable.levels`."""
    return np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])


def ranks(parent: Ints, kind: NDArray[T]) -> Ints:
    """Return (n,) rank of each row among its siblings of the same kind, from 1."""
    order = np.lexsort((kind, parent))
    first = np.ones(len(parent), np.bool_)
    first[1:] = (np.diff(parent[order]) != 0) | (kind[order][1:] != kind[order][:-1])
    rank = np.empty(len(parent), np.int64)
    rank[order] = np.arange(1, len(parent) + 1) - np.flatnonzero(first)[np.cumsum(first) - 1]
    return rank


give("text", XPATH_NAME=_XPATH_NAME)
