"""The template of a class of pages, as a tree: the rows of its key page that its other pages have too.

Pages are aligned with it in near-linear time, by an equal top-down mapping (Alarte, Insa, Silva, Tamarit 2014,
Definition 3.2). It is not always the largest one, as that of ``etdm``: siblings of one signature are told apart by
their texts.

Source: Alarte et al. 2014, Definition 3.3 and Algorithm 2 (``docs/algorithms/menu-templates-2014.md``).
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.core.subtrees import align_page
from scrapy_pagelets.evidence.etdm import extract, same_signature
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page


@dataclass(frozen=True, eq=False)
class TemplateTree:
    """Rows of a page that form a tree, in preorder. It needs no page and can be stored as arrays."""

    parent: Ints  # (n,) row of the parent, -1 at the root
    end: Ints  # (n,) row after the last one of the subtree
    depth: Ints  # (n,) 0 at the root
    label: Ints  # (n,) signature; ``TEXT`` for a run of text
    text: Ints  # (n,) hash of a run of text, 0 for an element

    def __len__(self) -> int:
        return len(self.parent)

    @classmethod
    def of(cls, nodes: NodeTable, rows: Bools | None = None) -> Self:
        """Take the rows of a page whose ancestors are among them as well; None for all rows."""
        kept = nodes.inherit(np.ones(len(nodes), np.bool_) if rows is None else rows.copy(), np.bitwise_and)
        before = np.append(0, np.cumsum(kept))
        parent = nodes.parent[kept]
        return cls(
            parent=np.where(parent < 0, -1, before[parent]),
            end=before[nodes.end[kept]],
            depth=nodes.depth[kept],
            label=np.where(nodes.tag == TEXT, TEXT, nodes.signature)[kept],
            text=nodes.spread(nodes.text)[kept],
        )


#: A node belongs to the template if this share of the pages has it, so that one odd page cannot delete the template.
VOTE: Final = 0.6
#: Number of pages that vote, unless a complete subdigraph is found: more of them change little, and cost time.
_MAX_VOTERS: Final = 16
Columns = NDArray[Any]
_EMPTY: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page that can be stored and parsed again."""

    url: str  # its URL
    markup: bytes = field(repr=False)  # its tree as compressed HTML

    @classmethod
    def of(cls, page: Page) -> Self:
        """Compress a page."""
        markup: bytes = etree.tostring(page.root, encoding="utf-8", method="html")
        return cls(page.url, zlib.compress(markup, 1))

    def page(self) -> Page:
        """Parse the page again."""
        return Page.parse(zlib.decompress(self.markup), self.url, "text/html; charset=utf-8")


@dataclass(eq=False)
class ClassTemplate:
    """The key page of a class, with the number of pages that have each of its rows."""

    tree: TemplateTree  # rows of the key page
    #: (n,) number of pages, with the key page, that have the element in its place, or say the same in that of a text
    votes: Ints
    voters: int  # number of pages that were compared, with the key page
    settled: bool  # whether the pages are a complete subdigraph, which no further page changes
    source: KeptPage  # the key page
    members: list[str] = field(default_factory=list)  # URLs of the other pages of the complete subdigraph

    @classmethod
    def of_page(cls, page: Page) -> Self:
        """Begin with the key page alone."""
        votes = np.ones(len(page.nodes), np.int64)
        return cls(TemplateTree.of(page.nodes), votes, 1, False, KeptPage.of(page))

    @classmethod
    def of_set(cls, key_page: Page, pages: Sequence[Page]) -> Self:
        """The template of a key page with respect to the other pages of a complete subdigraph: Algorithm 2.

        Here a row needs all pages, and two rows are equal if they have the same signature.
        """
        rows, same = extract(key_page.nodes, [page.nodes for page in pages], same_signature)
        tree = TemplateTree.of(key_page.nodes, rows)
        voters = 1 + len(pages)
        votes = np.where(same[rows], voters, 0)
        members = [page.url for page in pages]
        return cls(tree, votes, voters, True, KeptPage.of(key_page), members)

    def count(self, page: Page) -> None:
        """Let a page of the class vote, unless the template is settled or has enough votes."""
        if not self.settled and self.voters < _MAX_VOTERS:
            rows, same = self._compared(page)
            self.voters += 1
            self.votes[rows[same]] += 1

    def rows_of(self, page: Page) -> Bools:
        """(n,) whether each row of a page is template: it has the place of a row that enough pages have."""
        rows, same = self._compared(page)
        return np.asarray(same & (self.votes[rows] >= max(2.0, VOTE * self.voters)))

    def _compared(self, page: Page) -> tuple[Ints, Bools]:
        """Align a page: (n,) the row of the template of each row, -1 for none; (n,) whether both have the same text."""
        rows = align_page(self.tree, page.nodes)
        texts = page.nodes.spread(page.nodes.text)
        return rows, (rows >= 0) & ((page.nodes.tag != TEXT) | (self.tree.text[rows] == texts))


def to_arrays(templates: Iterable[ClassTemplate | None]) -> dict[str, Columns]:
    """Pack the templates of the classes of a site as columns, for `from_arrays`."""
    known = [one or _NOTHING for one in templates]
    columns = {
        "class_voters": np.array([one.voters for one in known], np.int64),
        "class_settled": np.array([one.settled for one in known], np.bool_),
        **packed("class_votes", [one.votes for one in known]),
        **packed_pages("class_source", [one.source for one in known]),
        **_packed_bytes("class_members", ["\n".join(one.members).encode() for one in known]),
    }
    for column in fields(TemplateTree):
        columns |= packed(f"class_{column.name}", [getattr(one.tree, column.name) for one in known])
    return columns


def from_arrays(arrays: Mapping[str, Columns]) -> list[ClassTemplate | None]:
    """Restore the templates from the result of `to_arrays`."""
    trees = zip(*(unpacked(f"class_{column.name}", arrays) for column in fields(TemplateTree)), strict=True)
    votes = unpacked("class_votes", arrays)
    numbers = (arrays[f"class_{name}"].tolist() for name in ("voters", "settled"))
    sources = unpacked_pages("class_source", arrays)
    members = [urls.decode().split("\n") if urls else [] for urls in _unpacked_bytes("class_members", arrays)]
    return [
        ClassTemplate(TemplateTree(*tree), own.copy(), *rest) if rest[0] else None
        for tree, own, *rest in zip(trees, votes, *numbers, sources, members, strict=True)
    ]


def packed(name: str, rows: Sequence[Columns], dtype: type[np.integer[Any]] = np.int64) -> dict[str, Columns]:
    """Pack arrays of different lengths as two columns, for `unpacked`."""
    sizes = np.array([len(row) for row in rows], np.int64)
    return {name: np.concatenate([np.zeros(0, dtype), *rows]), f"{name}_size": sizes}


def unpacked(name: str, arrays: Mapping[str, Columns]) -> list[Columns]:
    """Restore arrays from the result of `packed`."""
    return np.split(arrays[name], np.cumsum(arrays[f"{name}_size"]))[:-1]


def packed_pages(name: str, pages: Iterable[KeptPage]) -> dict[str, Columns]:
    """Pack pages as columns, for `unpacked_pages`."""
    pages = list(pages)
    urls = _packed_bytes(f"{name}_url", [page.url.encode() for page in pages])
    return urls | _packed_bytes(f"{name}_markup", [page.markup for page in pages])


def unpacked_pages(name: str, arrays: Mapping[str, Columns]) -> list[KeptPage]:
    """Restore pages from the result of `packed_pages`."""
    urls = [url.decode() for url in _unpacked_bytes(f"{name}_url", arrays)]
    return list(map(KeptPage, urls, _unpacked_bytes(f"{name}_markup", arrays)))


def _packed_bytes(name: str, strings: Iterable[bytes]) -> dict[str, Columns]:
    return packed(name, [np.frombuffer(string, np.uint8) for string in strings], np.uint8)


def _unpacked_bytes(name: str, arrays: Mapping[str, Columns]) -> list[bytes]:
    return [row.tobytes() for row in unpacked(name, arrays)]


_NOTHING: Final = ClassTemplate(TemplateTree(*[_EMPTY] * 5), _EMPTY, 0, False, KeptPage("", b""))
