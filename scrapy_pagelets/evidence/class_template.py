"""The template of a class of pages, as a tree: the rows of its key page that its other pages have too.

Pages are aligned with it in near-linear time, by an equal top-down mapping (Alarte, Insa, Silva, Tamarit 2014,
Definition 3.2). It is not always the largest one, as that of ``etdm``: siblings of one signature are told apart by
their texts.

Source: Alarte et al. 2014, Definition 3.3 and Algorithm 2 (``docs/algorithms/menu-templates-2014.md``).
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate, pairwise
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
        found = extract(key_page.nodes, [page.nodes for page in pages], same_signature)
        tree = TemplateTree.of(key_page.nodes, found.rows)
        voters = 1 + len(pages)
        votes = np.where(found.same[found.rows], voters, 0)
        members = [page.url for page in pages]
        return cls(tree, votes, voters, True, KeptPage.of(key_page), members)

    @property
    def weight(self) -> tuple[bool, int]:
        """Of two templates of a class, the better one has the greater weight."""
        return self.settled, self.voters

    @property
    def complete(self) -> bool:
        """True if further pages have no vote."""
        return self.settled or self.voters >= _MAX_VOTERS

    def count(self, page: Page) -> None:
        """Let a page of the class vote, unless the template is complete."""
        if not self.complete:
            rows, same = self._compared(page)
            self.voters += 1
            self.votes[rows[same]] += 1

    def rows_of(self, page: Page) -> Bools:
        """(n,) whether each row of a page is template: it has the place of a row that enough pages have."""
        rows, same = self._compared(page)
        found: Bools = same & (self.votes[rows] >= max(2.0, VOTE * self.voters))
        return found

    def _compared(self, page: Page) -> tuple[Ints, Bools]:
        """Align a page: (n,) the row of the template of each row, -1 for none; (n,) whether both have the same text."""
        rows = align_page(self.tree, page.nodes)
        texts = page.nodes.spread(page.nodes.text)
        return rows, (rows >= 0) & ((page.nodes.tag != TEXT) | (self.tree.text[rows] == texts))


def to_arrays(templates: Iterable[ClassTemplate | None]) -> dict[str, Columns]:
    """Pack the templates of the classes of a site as columns, for `from_arrays`."""
    known = [one or _NOTHING for one in templates]
    columns = {
        "class_size": _ints(len(one.tree) for one in known),
        "class_voters": _ints(one.voters for one in known),
        "class_settled": np.array([one.settled for one in known], np.bool_),
        "class_votes": _joined([one.votes for one in known]),
    }
    for column in fields(TemplateTree):
        columns[f"class_{column.name}"] = _joined([getattr(one.tree, column.name) for one in known])
    columns |= packed_texts("class_source", [one.source.markup for one in known])
    columns |= packed_texts("class_url", [one.source.url.encode() for one in known])
    columns |= packed_texts("class_members", ["\n".join(one.members).encode() for one in known])
    return columns


def from_arrays(arrays: Mapping[str, Columns]) -> list[ClassTemplate | None]:
    """Restore the templates from the result of `to_arrays`."""
    if not len(arrays["class_size"]):
        return []
    ends = np.cumsum(arrays["class_size"])[:-1]
    trees = zip(*(np.split(arrays[f"class_{f.name}"], ends) for f in fields(TemplateTree)), strict=True)
    votes = np.split(arrays["class_votes"], ends)
    numbers = (arrays[f"class_{name}"].tolist() for name in ("voters", "settled"))
    sources = map(KeptPage, texts(arrays, "class_url"), split_bytes(arrays, "class_source"))
    members = [text.split("\n") if text else [] for text in texts(arrays, "class_members")]
    return [
        ClassTemplate(TemplateTree(*tree), own.copy(), *rest) if rest[0] else None
        for tree, own, *rest in zip(trees, votes, *numbers, sources, members, strict=True)
    ]


def _ints(numbers: Iterable[int]) -> Ints:
    return np.array(list(numbers), np.int64)


def _joined(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *columns])


def packed_texts(name: str, texts: Sequence[bytes]) -> dict[str, Columns]:
    """Pack byte strings as two columns, for `split_bytes`."""
    return {name: np.frombuffer(b"".join(texts), np.uint8), f"{name}_size": _ints(map(len, texts))}


def split_bytes(arrays: Mapping[str, Columns], name: str) -> list[bytes]:
    """Restore byte strings from the result of `packed_texts`."""
    content, cuts = arrays[name].tobytes(), accumulate(arrays[f"{name}_size"].tolist(), initial=0)
    return [content[start:end] for start, end in pairwise(cuts)]


def texts(arrays: Mapping[str, Columns], name: str) -> list[str]:
    """Restore text from the result of `packed_texts`."""
    return [content.decode() for content in split_bytes(arrays, name)]


_NOTHING: Final = ClassTemplate(TemplateTree(*[_EMPTY] * 5), _EMPTY, 0, False, KeptPage("", b""))
