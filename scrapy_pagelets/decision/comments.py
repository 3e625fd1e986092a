"""What readers write below an article, or customers below a product, is not its content; on a page of a forum it is."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.page.looks import COMMENT, COMMENTS, REVIEWS, SIGNATURE
from scrapy_pagelets.page.nodes import NodeTable, rows_with
from scrapy_pagelets.page.page import Page

# Programs for forums and their themes name addresses and classes in English, whatever the language of the text.
_FORUM: Final = re.compile(
    r"(?<![a-z])(?:forums?|viewtopic|showthread|discourse|phpbb|vbulletin|bbs|(thread|topic|board|question|discussion)s?)(?![a-z])",
    re.IGNORECASE,
)
_COMMENTS_ALONE: Final = re.compile(r"/comments(?:/|$)", re.IGNORECASE)
#: How many of the names behind the bar are enough: comments have threads, too, and many pages have a list of topics.
_ENOUGH: Final = 2
#: Elements of menus, which lead to the forum of a site from everywhere.
_OF_MENUS: Final = ("a", "li", "ul", "nav", "span")
#: Words of content that the page must have besides the comments, or they are what it is about.
_ARTICLE: Final = 20


def comments_of(page: Page, keep: Bools, *, is_product: bool = False, is_discussion: bool = False) -> Bools:
    """(m,) leaves of comments, and of reviews of a product, by the names of their sections; none on pages of forums.

    Parameters
    ----------
    keep : (m,) the leaves that are content so far
    is_product, is_discussion : whether the page declares that it is one, see `page_features.declared`

    Examples
    --------
    >>> comment = "<ol class=commentlist><li class=comment>One reader says this.</ol>"
    >>> page = Page.parse(f"<p>{'Twenty words and more. ' * 6}</p>{comment}".encode(), "http://a/1")
    >>> comments_of(page, np.ones(2, np.bool_)).tolist()
    [False, True]
    >>> forum = Page.parse(f"<p>{'Twenty words and more. ' * 6}</p>{comment}".encode(), "http://a/forum/1")
    >>> comments_of(forum, np.ones(2, np.bool_)).tolist()
    [False, False]
    """
    nodes = page.nodes
    found = np.zeros(len(nodes.leaves), np.bool_)
    for row in (*_sections(nodes), *(rows_with(nodes, REVIEWS) if is_product else ())):
        found[nodes.first_leaf[row] : nodes.last_leaf[row]] = True
    if found.any() and (is_discussion or nodes.words[keep & ~found].sum() < _ARTICLE or is_forum(page)):
        found[:] = False
    return found


def signatures_of(page: Page, keep: Bools, *, is_discussion: bool = False) -> Bools:
    """(m,) leaves of the signatures that forums put below each contribution, by their names; none on other pages.

    Manuals call what a function takes its signature. Parameters are those of `comments_of`.

    Examples
    --------
    >>> html = f"<p>{'Twenty words and more. ' * 6}</p><div class=signature>Ask me about tea"
    >>> for address in ("http://a/forum/1", "http://a/manual/1"):
    ...     signatures_of(Page.parse(html.encode(), address), np.ones(2, np.bool_)).tolist()
    [False, True]
    [False, False]
    """
    nodes = page.nodes
    found = np.zeros(len(nodes.leaves), np.bool_)
    for row in rows_with(nodes, SIGNATURE):
        found[nodes.first_leaf[row] : nodes.last_leaf[row]] = True
    if found.any() and (nodes.words[keep & ~found].sum() < _ARTICLE or not (is_discussion or is_forum(page))):
        found[:] = False
    return found


def _sections(nodes: NodeTable) -> list[int]:
    """Rows of the sections that are named so and have a comment in them; manuals have chapters on comments."""
    sections = rows_with(nodes, COMMENTS)
    if not sections:
        return []
    comments = np.array(rows_with(nodes, COMMENT))
    begins = np.searchsorted(comments, sections, side="right")
    ends = np.searchsorted(comments, nodes.end[sections])
    return [section for section, begin, end in zip(sections, begins, ends, strict=True) if begin < end]


def is_forum(page: Page) -> bool:
    """Return True if the address of a page, the look of its body or an element names a forum, or what forums have.

    Of things that other pages have as well, as threads and topics, elements must name two.

    Examples
    --------
    >>> is_forum(Page.parse(b"<body class='thread'><p>Hello", "http://a/1"))
    True
    >>> is_forum(Page.parse(b"<body><p class=thread-odd>Hello", "http://a/topics"))
    True
    >>> is_forum(Page.parse(b"<body><p class=thread-odd>Hello", "http://a/1"))
    False
    >>> is_forum(Page.parse(b"<body><p class=thread-odd>Hello<div id=block-forum-1>", "http://a/1"))
    True
    """
    address = page.url.partition("#")[0]
    if _FORUM.search(address) or _COMMENTS_ALONE.search(address):
        return True
    nodes = page.nodes
    top = set(nodes.look[np.flatnonzero(nodes.depth <= 1)].tolist())
    weak: set[str] = set()
    for number, (tag, name, classes, _) in enumerate(nodes.looks):
        for found in _FORUM.finditer(f"{name} {classes}" if tag not in _OF_MENUS else ""):
            if number in top or found[1] is None:
                return True
            weak.add(found[1].lower())
    return len(weak) >= _ENOUGH
