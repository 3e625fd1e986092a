"""How pages, segmentations and sites look in a notebook: small tables in HTML that load and run nothing.

IPython asks objects for ``_repr_html_``, see "Rich display" in its documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scrapy_pagelets.characters import visible
from scrapy_pagelets.templates.roles import CONTENT

if TYPE_CHECKING:
    from scrapy_pagelets.page import Page
    from scrapy_pagelets.segmentation.pagelet import Pagelet
    from scrapy_pagelets.templates.site import Site

#: Pagelets or classes that are listed, and characters of a text.
_ROWS: Final = 100
_TEXT: Final = 200
#: Colours that can be read on light and on dark ground.
_KEPT, _STRIPPED = "#2b7fb5", "#c05a1e"


def page_html(page: Page) -> str:
    """A page: what it is called, and how its text begins."""
    nodes = page.nodes
    rows = {
        "URL": page.url,
        "language": page.language or "not declared",
        "words": f"{int(nodes.words.sum()):,} in {len(nodes.leaves):,} runs of text",
        "links": f"{len(nodes.links.row):,}",
        "browser": "as received" if page.layout is None else "rendered",
        "text": _start(" ".join(nodes.strings[:_TEXT])),
    }
    return _table(page.title or page.url, (), [(_cell(name), _cell(value)) for name, value in rows.items()])


def pagelets_html(pagelets: Sequence[Pagelet]) -> str:
    """The pagelets of a page, with what is kept and what is stripped."""
    words = [pagelet.words for pagelet in pagelets[:_ROWS]]
    rows = [_pagelet(pagelet, count) for pagelet, count in zip(pagelets, words, strict=False)]
    title = pagelets[0].page.title or pagelets[0].page.url if pagelets else "No pagelet: the page has no text"
    head = ("pagelet", "words", "templateness", "where", "text")
    return _table(title, head, rows, _totals(pagelets), len(pagelets) - len(rows))


def site_html(site: Site) -> str:
    """A site: how many pages it knows, and its classes of pages."""
    classes = sorted(site.classes, key=lambda one: -one.pages)
    rows = [
        (_cell(one.id), _number(one.pages), _cell("yes" if one.subdigraph_template is not None else "no"))
        for one in classes[:_ROWS]
    ]
    known = f"{site.pages:,} page{'s' * (site.pages != 1)} known; the more of a class, the better."
    head = ("class of pages", "pages", "template from pages that link each other")
    return _table(site.name, head, rows, known, len(classes) - len(rows))


def _totals(pagelets: Sequence[Pagelet]) -> str:
    if not pagelets:
        return ""
    page, kept = pagelets[0].page, np.zeros(len(pagelets[0].page.nodes.leaves), np.bool_)
    for pagelet in pagelets:
        if pagelet.role == CONTENT:
            kept[pagelet.index] = True
    words, total = int(page.nodes.words[kept].sum()), int(page.nodes.words.sum())
    return f"{words:,} of {total:,} words are kept, {1 - words / max(1, total):.0%} stripped."


def _pagelet(pagelet: Pagelet, words: int) -> tuple[str, ...]:
    is_kept, paths = pagelet.role == CONTENT, pagelet.xpaths
    where = paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "") if paths else "added by a script"
    return (
        f'<td style="text-align:left;border-left:5px solid {_KEPT if is_kept else _STRIPPED}">'
        f"{pagelet.id} {escape(pagelet.role)}, {'kept' if is_kept else 'stripped'}</td>",
        _number(words),
        f'<td style="text-align:right">{pagelet.templateness:.2f}</td>',
        _cell(where),
        _cell(_start(pagelet.text)),
    )


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "", more: int = 0) -> str:
    names = "".join(f'<th scope="col" style="text-align:left">{escape(name)}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    left_out = f"<p>and {more:,} more.</p>" if more > 0 else ""
    return (
        '<div style="max-width:64rem;overflow-x:auto">'
        f'<p><b dir="auto">{_escaped(_start(title))}</b> {escape(note)}</p>'
        f"<table>{f'<thead><tr>{names}</tr></thead>' if head else ''}<tbody>{lines}</tbody></table>{left_out}</div>"
    )


def _cell(text: str) -> str:
    return f'<td dir="auto" style="text-align:start;overflow-wrap:anywhere">{_escaped(text)}</td>'


def _number(value: int) -> str:
    return f'<td style="text-align:right">{value:,}</td>'


def _start(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _TEXT else f"{folded[:_TEXT]}…"


def _escaped(value: Any) -> str:
    return escape(visible(str(value)))
