"""Write the template of a class of pages as HTML: what its pages share, with a slot where content stands.

Source: Alarte et al. 2014, Definition 3.3: a template is a part of a page (``docs/algorithms/menu-templates-2014.md``).
"""

import re
from typing import Any, Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.characters import lazily, quoted, readable, visible
from scrapy_pagelets.evidence.class_template import VOTE, ClassTemplate
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import link_of

SLOT: Final = "slot"
_REMOVED: Final = "removed"
#: Elements without anything to read: what is left out of them leaves no slot.
_SILENT: Final = frozenset(
    "head script style link meta base template noscript noframes noembed datalist br wbr".split()
)
_LEFT_OUT: Final = (
    "script style template noscript noframes noembed datalist base meta title desc metadata "
    "animate animateMotion animateTransform animatemotion animatetransform set handler"
).split()
#: Browsers take the content of these for text or for another document, lxml for elements.
_EMPTIED: Final = "textarea iframe audio video canvas object".split()
_RAW: Final = "xmp listing plaintext".split()
_URLS: Final = frozenset("href src action formaction poster cite data background longdesc xlink:href".split())
#: Lists of URLs, documents in attributes, and digests of files.
_DROPPED: Final = frozenset(
    "srcset imagesrcset srcdoc ping integrity nonce lowsrc dynsrc code codebase archive classid manifest".split()
)
#: Event handlers begin with ``on``, those of script libraries with ``@``.
_ATTRIBUTE: Final = lazily(r"(?!on)[a-z_:][\w:.-]*", re.IGNORECASE | re.ASCII)
#: White space with the end of a line, where it has no meaning.
_BLANK_LINES: Final = etree.XPath("//text()[contains(., '\n') and not(normalize-space()) and not(ancestor::pre)]")
#: Beginning of the head. No browser runs a script in the document, whatever its markup hides.
HEAD: Final = '<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">\n'


def template_html(template: ClassTemplate, name: str) -> str:
    """HTML of the template of a class of pages; "" if the pages have nothing in common.

    It consists of the rows of the key page that are template, with their attributes. A run of text that varies, or a
    maximal group of siblings that are not template, is one ``<slot></slot>``. Scripts, inline style sheets, comments,
    event handlers and links that are scripts or data are left out. Links are absolute, except those within the page.
    Heads are not compared: that of the key page keeps its links to style sheets, so that the template looks as on the
    site.

    ``name``: of the class, for the comment at the top.
    """
    page = template.source.page()
    rows = template.rows_of(page)
    if not rows.any():
        return ""
    _insert_slots(page.nodes, rows)
    _clean(page)
    if template.settled:
        shared = f"what {template.voters} pages that link each other have in common"
    else:
        shared = f"what {round(100 * VOTE)} % of {template.voters} pages have in common"
    about = visible(f"Template of {name}: {shared}. Key page: {template.source.url}")
    comment = re.sub("-(?=-)", "- ", about)
    html = etree.tostring(page.root, encoding="unicode", method="html", pretty_print=True, with_tail=False)
    whole = readable(f"<!DOCTYPE html>\n<!-- {comment} -->\n{html.strip()}\n")
    # Characters that terminals do not print become references.
    return "".join(c if c.isprintable() or c == "\n" else f"&#{ord(c)};" for c in whole)


def _insert_slots(nodes: NodeTable, rows: Bools) -> None:
    """Put slots into the tree of a page, in the place of what is not template."""
    in_slot: dict[int, bool] = {}  # by parent, whether its last child is in a slot
    slots: list[tuple[int, bool]] = []  # the rows to replace, and whether a slot begins there
    children = np.flatnonzero(rows[nodes.parent] & (nodes.parent >= 0))
    for row, parent in zip(children.tolist(), nodes.parent[children].tolist(), strict=True):
        silent = nodes.tag[row] != TEXT and nodes.elements[row].tag in _SILENT
        if not rows[row]:
            slots.append((row, not silent and not in_slot.get(parent, False)))
        if not silent:
            in_slot[parent] = not rows[row]
    texts: dict[int, list[etree._Element]] = {}
    for row, _ in slots:
        parent = int(nodes.parent[row])
        if nodes.tag[row] == TEXT and parent not in texts:
            above = nodes.elements[parent]  # for each text, the child before it, or the element itself
            texts[parent] = ([above] if above.text else []) + [child for child in above if child.tail]
    for row, begins in slots:
        parent, leaf = int(nodes.parent[row]), int(nodes.first_leaf[row])
        if nodes.tag[row] == TEXT:
            _replace_text(nodes.elements[parent], texts[parent][nodes.number[leaf] - 1], begins)
        else:
            element = nodes.elements[row]
            element.clear(keep_tail=True)
            element.tag = SLOT if begins else _REMOVED
            if not begins and (element.tail or "").isspace():
                element.tail = None


def _replace_text(parent: etree._Element, before: etree._Element, begins: bool) -> None:
    slot = etree.Element(SLOT)
    if before is parent:
        parent.text = None
        if begins:
            parent.insert(0, slot)
    else:
        before.tail = None
        if begins:
            before.addnext(slot)


def _clean(page: Page) -> None:
    """Remove from the tree of a page what acts or is not to be seen, and make its links absolute."""
    root, nodes = page.root, page.nodes
    for row in np.flatnonzero(nodes.end - np.arange(len(nodes)) > 1).tolist():
        if nodes.elements[row].tag == "noscript":  # all there is to see of a page that scripts build
            nodes.elements[row].tag = "div"
    for element in root.iter(*_EMPTIED):
        element.text = None
        del element[:]
    for element in root.iter(*_RAW):
        element.tag = "pre"
    for element in root.iter("link"):
        if "stylesheet" not in element.get("rel", "").lower().split():
            element.tag = _REMOVED
    etree.strip_elements(root, _REMOVED, *_LEFT_OUT, with_tail=False)
    etree.strip_tags(root, etree.Comment, etree.ProcessingInstruction)
    for element in root.iter():
        _clean_attributes(element, page.base)
    for blank in _BLANK_LINES(root):
        owner: Any = blank.getparent()
        setattr(owner, "text" if blank.is_text else "tail", "\n")
    head = root.find("head")
    if head is None:
        head = etree.Element("head")
        root.insert(0, head)
    head[:0] = etree.fromstring(f"<head>{HEAD}</head>", etree.HTMLParser())[0]


def _clean_attributes(element: etree._Element, base: str) -> None:
    kept = {}
    for name, value in element.items():
        if name in _URLS and not value.startswith("#"):
            value = quoted(link_of(base, value))
        if name not in _DROPPED and _ATTRIBUTE.fullmatch(name) and (value or name not in _URLS):
            kept[name] = readable(value)
    if kept != dict(element.items()):
        element.attrib.clear()
        element.attrib.update(kept)
