"""Tell the pages of forums from others: by their address, their names, and what they declare."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import types_of

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
#: Types of schema.org of what people discuss.
_DISCUSSIONS: Final = frozenset(("DiscussionForumPosting", "QAPage", "Question"))


def is_forum(page: Page, near: Bools | None = None) -> bool:
    """Return True if the address of a page, the look of its body or elements name a forum, or what forums have.

    Of things that other pages have as well, as threads and topics, elements must name two.

    Parameters
    ----------
    near : (n,) the rows of the page that stand with its content; all if None. Any page may show the latest topics of a
        forum beside its text

    Examples
    --------
    >>> is_forum(Page.parse(b"<body class='thread'><p>Hello", "http://a/1"))
    True
    >>> [is_forum(Page.parse(b"<body><p class=thread-odd>Hello", f"http://a/{name}")) for name in ("topics", "1")]
    [True, False]
    """
    address = page.url.partition("#")[0]
    if _FORUM.search(address) or _COMMENTS_ALONE.search(address):
        return True
    nodes = page.nodes
    top = set(nodes.look[np.flatnonzero(nodes.depth <= 1)].tolist())
    looks = range(len(nodes.looks)) if near is None else sorted(top | set(nodes.look[near].tolist()))
    weak: set[str] = set()
    for number in looks:
        tag, name, classes, _ = nodes.looks[number]
        for found in _FORUM.finditer(f"{name} {classes}" if tag not in _OF_MENUS else ""):
            if number in top or found[1] is None:
                return True
            weak.add(found[1].lower())
    return len(weak) >= _ENOUGH


@once
def is_discussion(page: Page) -> bool:
    """Return True for a page of a forum, and for one that declares that people discuss something on it."""
    kinds = {kind for each in page.objects for kind in types_of(each)}
    kinds |= {(each.get("itemtype") or "").rpartition("/")[2] for each in page.microdata}
    return not _DISCUSSIONS.isdisjoint(kinds) or is_forum(page)
