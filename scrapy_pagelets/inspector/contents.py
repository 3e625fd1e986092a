"""What the inspector shows of a page, and the HTML file that shows it: it loads nothing, and runs only its script."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any, Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.feed.pagelet import Pagelet
from scrapy_pagelets.inspector.reasons import write_rule
from scrapy_pagelets.page.nodes import LINE, TAG, NodeTable
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import CONTENT, KEEP, STRIP, nearest
from scrapy_pagelets.page.text import roots
from scrapy_pagelets.papers.graph_cuts.gcuts import Described, cut_into_blocks
from scrapy_pagelets.papers.graph_cuts.segment_weights import INNER, load
from scrapy_pagelets.papers.vips.vips import vips
from scrapy_pagelets.papers.vips.vips_blocks import GREATEST, LEAST

#: Runs of text that are shown, and characters of each; more would make the file too large for a browser.
_LEAVES: Final = 20_000
_RUN: Final = 2_000
_PAGELETS: Final = 1_000  # pagelets that are listed, each with its reasons and its rule
_TEXT: Final = 500_000  # characters of each of the texts
_SEGMENTED: Final = 4_000  # runs of text of a page whose segmentations are computed
_PENALTIES: Final = tuple(2.0**k for k in range(-4, 5))  # the penalties of the slider for GCuts
_FORMS: Final = {  # how the inspector writes a run of text: by the nearest of these elements
    **{f"h{level}": "heading" for level in range(1, 7)},
    "li": "item", "dd": "item", "dt": "item", "pre": "code", "blockquote": "quote", "td": "cell", "th": "cell",
}  # fmt: skip
#: Only the script and the style sheet of this file, by their hashes, and pictures that are in it.
_POLICY: Final = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
)


class Picture(NamedTuple):
    """A page as a browser shows it."""

    jpeg: bytes  # the file
    #: width, height: of the picture, in pixels
    width: int
    height: int
    whole: int  # height of the page, which may be more


@dataclass(frozen=True, eq=False, kw_only=True)
class Inspected:
    """A page with what was decided about it."""

    record: PageRecord  # of the page
    pagelets: Sequence[Pagelet]  # of the page; a leaf is in one pagelet at most
    decided_by: str  # a sentence about who decided
    reasons: Callable[[Ints], list[str]]  # sentences about some leaves
    notes: Sequence[str] = ()  # sentences about what cannot be shown
    xpaths: Mapping[int, Sequence[str]] | None = None  # paths of pagelets of a page that is gone
    picture: Picture | None = None  # the page as a browser shows it; None if it was not rendered
    twin: dict[str, Any] | None = None  # the near-duplicate of the page, see `inspection.compare_texts`


def contents(inspected: Inspected) -> dict[str, Any]:
    """Everything that the inspector shows, but the picture."""
    record, picture = inspected.record, inspected.picture
    page, runs = record.page, len(record.page.nodes.leaves)
    shown = min(runs, _LEAVES)
    segmentations = _segmentations(page, record.decision.templateness) if 0 < runs <= _SEGMENTED else {}
    return {
        "title": page.title or page.url,
        "url": page.url,
        "decidedBy": inspected.decided_by,
        "notes": [*inspected.notes, *_left_out(inspected)],
        "leaves": _leaves(page, shown),
        "pagelets": [_pagelet(inspected, pagelet, shown) for pagelet in inspected.pagelets[:_PAGELETS]],
        "segmentations": segmentations,
        "texts": _texts(record),
        "twin": inspected.twin,
        "size": [picture.width, picture.height] if picture else None,
    }


def html_file(contents: dict[str, Any], picture: bytes = b"") -> str:
    """The HTML file with what `contents` returns, as JSON that the script reads, and the page as a browser shows it."""
    page, style, script = (
        files("scrapy_pagelets.inspector").joinpath(f"inspector.{end}").read_text(encoding="utf-8")
        for end in ("html", "css", "js")
    )
    data = json.dumps(contents, ensure_ascii=True, separators=(",", ":"))
    return Template(page).substitute(
        policy=_POLICY.format(style=_hash(style), script=_hash(script)),
        style=style,
        script=script,
        # No tag, comment or entity for a parser of HTML.
        data=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        picture=f"data:image/jpeg;base64,{b64encode(picture).decode()}" if picture else "",
    )


def _left_out(inspected: Inspected) -> Iterator[str]:
    runs, picture = len(inspected.record.page.nodes.leaves), inspected.picture
    if not runs:
        yield "The page has no text."
    elif all(pagelet.role != CONTENT for pagelet in inspected.pagelets):
        yield "Nothing of this page is kept."
    if runs > _SEGMENTED:
        yield f"The page has {runs:,} runs of text: the sliders of VIPS and GCuts are left out above {_SEGMENTED:,}."
    if runs > _LEAVES:
        yield f"The text by pagelet ends after the first {_LEAVES:,} runs of text."
    if (count := len(inspected.pagelets)) > _PAGELETS:
        yield f"The page has {count:,} pagelets: the first {_PAGELETS:,} are listed."
    if picture and picture.height < picture.whole:
        seen = f"the first {picture.height:,} of the {picture.whole:,} pixels of the page's height"
        yield f"The picture shows {seen}; the text by pagelet goes on."


def _leaves(page: Page, shown: int) -> dict[str, Any]:
    nodes = page.nodes
    texts = list(nodes.strings[:shown])
    for leaf in filter(shown.__gt__, nodes.spaces):  # white space inside ``pre``, without the line break of the gap
        white = nodes.spaces[leaf]
        texts[leaf] = (white.rpartition("\n")[2] if nodes.gap[leaf] >= LINE else white) + texts[leaf]
    return {
        "text": [_first(text, _RUN) for text in texts],
        "gap": nodes.gap[:shown].tolist(),
        "form": _forms(nodes)[:shown],
        "link": nodes.anchor[nodes.leaves[:shown]].tolist(),
        "box": _boxes(page, nodes.leaves[:shown].tolist()),
    }


def _forms(nodes: NodeTable) -> list[str]:
    names = list(dict.fromkeys(_FORMS.values()))
    column = np.full(len(nodes), -1)
    for tag, form in _FORMS.items():
        column[nodes.tag == TAG[tag]] = names.index(form)
    return [([*names, "text"])[number] for number in nearest(nodes, column)[nodes.leaves].tolist()]


def _boxes(page: Page, rows: Sequence[int]) -> list[list[int] | None]:
    layout = page.layout
    if layout is None:
        return []
    columns = np.stack([layout.x, layout.y, layout.width, layout.height], 1)[rows].round().astype(int).tolist()
    return [box if seen else None for box, seen in zip(columns, layout.visible[rows].tolist(), strict=True)]


def _pagelet(inspected: Inspected, pagelet: Pagelet, shown: int) -> dict[str, Any]:
    page = inspected.record.page
    rows = roots(page.nodes, pagelet.index)
    action = STRIP if pagelet.role == CONTENT else KEEP
    return {
        "id": pagelet.id,
        "role": pagelet.role,
        "templateness": round(pagelet.templateness, 3),
        "words": pagelet.words,
        "text": _first(pagelet.text, _RUN),
        "xpaths": pagelet.xpaths if inspected.xpaths is None else inspected.xpaths[pagelet.id],
        "leaves": pagelet.index[pagelet.index < shown].tolist(),
        "boxes": [box for box in _boxes(page, rows) if box],
        "reasons": inspected.reasons(pagelet.index) if len(pagelet.index) else [],
        "rules": {action: write_rule(page, rows, action)} if inspected.xpaths is None else {},
    }


def _segmentations(page: Page, templateness: Floats) -> dict[str, Any]:
    tree = vips(page)
    described, learnt = Described.of(page, templateness), load(INNER, rendered=page.layout is not None)
    cut, leaf_of = cut_into_blocks(described, learnt), np.searchsorted(described.tree.seen, page.nodes.leaves)
    return {
        "vips": {
            "name": "degree of coherence (PDoC)",
            "values": list(range(LEAST, GREATEST + 1)),
            "labels": [tree.labels(pdoc).tolist() for pdoc in range(LEAST, GREATEST + 1)],
            "tree": [{"parent": p, "doc": d} for p, d in zip(tree.parent.tolist(), tree.doc.tolist(), strict=True)],
        },
        "gcuts": {
            "name": "penalty (lambda)",
            "values": list(_PENALTIES),
            "labels": [cut(penalty)[leaf_of].tolist() for penalty in _PENALTIES],
        },
    }


def _texts(record: PageRecord) -> dict[str, str]:
    everything = np.zeros_like(record.decision.templateness)
    before = PageRecord(record.page, replace(record.decision, templateness=everything, headline=None))
    return {
        "textBefore": _first(before.text, _TEXT),
        "textAfter": _first(record.text, _TEXT),
        "markdownBefore": _first(before.markdown, _TEXT),
        "markdownAfter": _first(record.markdown, _TEXT),
    }


def _first(text: str, most: int) -> str:
    """The beginning of a text, which says how much of it is left out."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
