"""Random pages for tests, and the simplest way to read one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.page.page import Page, parse

# No test here is about time, and machines are busy.
UNHURRIED = "unhurried"
settings.register_profile(UNHURRIED, deadline=None, max_examples=50)
settings.load_profile(UNHURRIED)

URL = "http://example.com/a/b.html"

BLOCKS = (
    "div p main header ul li h1 section blockquote pre form table tr td th dl dt dd article details summary center"
).split()
INLINE = "b i span em a code sup font u label abbr o:p x-y ins".split()
ODD = (
    "svg text math mi select option textarea button noscript script style template iframe xmp listing title body html"
).split()
VOID = "br hr img input wbr source".split()
ATTRIBUTES = [
    "",
    ' class="x"',
    ' id="i"',
    " hidden",
    ' style="display:none"',
    ' href="/y"',
    ' href=" "',
    ' href="#z"',
    ' rel="nofollow Author"',
    ' aria-label="&eacute; Breadcrumb"',
    ' title="&lt;t&gt;"',
]
TEXTS = [
    "un",
    "do",
    "Wort",
    "two words",
    " left",
    "right ",
    " ",
    "\n\t",
    "x_y",
    "&amp;",
    "&nbsp;",
    "日本",
    "a<b",
    "\x08",
    "&#8;",
    "\x1b[2J",
    "\x9b",
    "\x0b",
    "\x85",
    "\u2028",
    "&#8233;",
    "&#xfffe;",
    "é",
]
MARKS = ["<!-- no -->", "<?php no ?>", "<![CDATA[no]]>", "</", "<", "&", "<!doctype html>"]

#: What a reader sees as a word, and a machine finds again in any form of the text.
words: Callable[[str], list[str]] = re.compile(r"\w+").findall


def page(html: str, url: str = URL) -> Page:
    return Page.from_root(parse(html), url)


def every(found: Page) -> Bools:
    return np.ones(len(found.nodes.leaves), np.bool_)


def mask(found: Page, *leaves: int) -> Bools:
    keep = np.zeros(len(found.nodes.leaves), np.bool_)
    keep[list(leaves)] = True
    return keep


def masks(data: st.DataObject, found: Page) -> Bools:
    """A random mask of the leaves of a page."""
    count = len(found.nodes.leaves)
    return np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)


def _tags(names: list[str]) -> st.SearchStrategy[str]:
    opening = st.builds("<{}{}>".format, st.sampled_from(names), st.sampled_from(ATTRIBUTES))
    return st.one_of(opening, opening, st.builds("</{}>".format, st.sampled_from(names)))


#: Tags, texts and rubbish in any order, as a parser may meet them.
soups = st.lists(
    st.one_of(
        _tags(BLOCKS),
        _tags(INLINE),
        _tags(ODD),
        _tags(VOID),
        st.sampled_from(TEXTS),
        st.sampled_from(TEXTS),
        st.sampled_from(MARKS),
    ),
    max_size=30,
).map("".join)

UNSEEN = frozenset(
    "script style template noscript noframes noembed iframe audio video canvas datalist title desc metadata".split()
)
METADATA = frozenset("title meta link base script style template noscript".split())


def unseen(element: etree._Element) -> bool:
    """True for an element whose content a reader never sees."""
    if element.tag == "head":  # if tags are omitted, it contains the page
        return all(child.tag in METADATA for child in element if isinstance(child.tag, str))
    return element.tag in UNSEEN


_PARTS = {
    **dict.fromkeys(BLOCKS, "\n"),
    **dict.fromkeys("html body main header xmp listing plaintext hr br text option".split(), "\n"),
    **dict.fromkeys("input select button textarea img label svg iframe".split(), " "),
}


def legible(text: str) -> str:
    """A text without control characters except white space; between letters or digits they become a space."""
    text = re.sub("(?<=\\w)[\x01-\x08\x1b\x7f\x9b]+(?=\\w)", " ", text)
    return "".join(c for c in text if c.isspace() or not (c < " " or "\x7f" <= c < "\xa0")).replace("\ufffe", "\ufffd")


def reading(root: etree._Element) -> str:
    """The text that a reader sees, by plain recursion, with white space wherever elements separate it."""
    shown = "".join(_shown(root))
    # Adjacent links are separated by style sheets.
    return re.sub("(?<=[^\1\2])\1[\1\2]*\2", " ", shown).replace("\1", "").replace("\2", "")


def _shown(element: etree._Element) -> Iterator[str]:
    if not isinstance(element.tag, str):
        return
    part = _PARTS.get(element.tag, "")
    is_link = element.tag == "a" and bool(element.get("href"))
    yield part + "\2" * is_link
    if not unseen(element):
        yield legible(element.text or "")
        for child in element:
            yield from _shown(child)
            yield legible(child.tail or "")
    yield "\1" * is_link + part


def leaf_strings(root: etree._Element) -> list[str]:
    """The runs of text that a reader sees, white space folded, by plain recursion."""
    if not isinstance(root.tag, str) or unseen(root):
        return []
    found = [root.text or ""]
    for child in root:
        found += leaf_strings(child)
        found.append(child.tail or "")
    return [folded for text in found if (folded := " ".join(legible(text).split()))]
