"""Find the breadcrumbs of a page: the trail from the home page to it, by what the page itself calls so."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.metadata.dates import has_year
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import CRUMBS, CRUMBS_NAMED, MENU
from scrapy_pagelets.page.nodes import LINE, TAG, NodeTable, rows_with
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import Object, types_of, values_of
from scrapy_pagelets.page.urls import resolve

_HEADINGS: Final = [TAG[name] for name in "h1 h2 h3 h4 h5 h6".split()]
_ITEMS: Final = [TAG["li"], TAG["a"]]
_LISTS: Final = [TAG["ul"], TAG["ol"]]
#: Parts of a page that have a trail, whatever their class says.
_PAGE: Final = [TAG[name] for name in "html body main article".split()]
_MARKS: Final = " \t\n\xa0›»>/|→·•\\-–—:«<▸▶►❯⟩∕::,"  # Marks between two names. Some sites write them into the name.
#: The marks that lead from one name to the next; others stand between the links of menus, too.
_ARROW: Final = lazily(r"\s*(?:-*>+|[›»→▸▶►❯⟩]|/(?!\w))\s*")
_ICONS: Final = lazily("[\ue000-\uf8ff]")  # characters of icon fonts
_LEAD: Final = lazily(r"\s*(?:you are here|sie sind hier|vous êtes ici|estás aquí)\s*:?\s*", re.IGNORECASE)
#: Names of links that stand in a trail, or alone in its element, and are none of it.
_NO_CRUMB: Final = lazily(
    r"\W+|(?:go )?back(?: to\b.*)?|search|menu|share|print|"
    r"(?:view|show|edit)(?: this)?(?: page)?(?: source| on \w+)?|"
    r"zurück(?: zu[mr]?\b.*)?|suchen?|retour(?: à\b.*)?|recherche|"
    r"volver(?: a\b.*)?|buscar|indietro|cerca|terug(?: naar\b.*)?|zoeken|wstecz|szukaj|назад|поиск",
    re.IGNORECASE,
)
#: A trail has no more names and words than this; what has more is something else with the name of one.
_MOST_NAMES: Final = 15
_MOST_WORDS: Final = 80
_MOST_LEAVES: Final = 60
_FEWEST: Final = 3  # names of a trail that nothing calls so
_PLAIN: Final = 3  # words behind the last link
_PARTS: Final = 5  # leaves of its last name, in which some words may be code
_BEFORE: Final = 60  # leaves before the heading in which it is looked for
_MOST: Final = 50  # elements with such a name that are looked at
_LONGEST: Final = 300  # characters of a name


def declared_names(objects: Sequence[Object]) -> list[str]:
    """Return the names of the longest ``BreadcrumbList`` among the JSON-LD objects of a page; [] without one."""
    lists = (_names(each) for each in objects[:_MOST] if "BreadcrumbList" in types_of(each))
    parts = (part for each in objects[:_MOST] for part in values_of(each.get("breadcrumb")))
    inner = (_names(part) for part in parts if isinstance(part, dict))
    return max((*lists, *inner), key=len, default=[])


def _names(trail: Object) -> list[str]:
    items = [each for each in values_of(trail.get("itemListElement"))[:_MOST_NAMES] if isinstance(each, dict)]
    if all(isinstance(each.get("position"), int | str) and str(each["position"])[:9].isdecimal() for each in items):
        items.sort(key=lambda each: int(str(each["position"])[:9]))
    return [name for each in items if (name := _name(each))]


def _name(item: Object) -> str:
    inner: Any = item.get("item")
    candidates = (item.get("name"), inner.get("name") if isinstance(inner, dict) else None)
    return next((each.strip()[:_LONGEST] for each in candidates if isinstance(each, str) and each.strip()), "")


def shown(page: Page, headline: Headline | None) -> tuple[list[str], Bools]:
    """Return the names of the breadcrumbs that the page shows, [] without any, and the leaves of sure ones, (m,).

    An element is a trail if its class, id, label or type says so, and if it has links, few words and no heading. The
    names are those of the longest, without links such as "Back" and "Search". A label (``aria-label``) or type
    (``BreadcrumbList``) is sure. So is a class if the page has its own heading elsewhere: on some sites the last name
    is the only heading of the page.

    ``headline``: the page's own heading.
    """
    nodes = page.nodes
    mask = np.zeros(len(nodes.leaves), np.bool_)
    best: list[str] = []
    sure, end = _labelled(page), 0
    for row in sorted(sure.union(rows_with(nodes, CRUMBS)))[:_MOST]:
        if row < end or not _is_trail(page, row):
            continue
        end = int(nodes.end[row])
        names = list(_shown_names(page, *_list_in(nodes, row)))
        names = names[1:] if names[:1] in ([name] for name in names[1:]) else names  # small screens have a way back
        if 1 <= len(names) <= _MOST_NAMES:
            has_heading = headline is None or row <= headline.row < end
            mask[nodes.leaves_of(row)] = any(row <= other < end for other in sure) or not has_heading
            best = max(best, [name for name in names if not _NO_CRUMB.fullmatch(name)], key=len)
    return best, mask


def _list_in(nodes: NodeTable, row: int) -> tuple[int, int]:
    """The leaves of the longest list right in a trail, beside which links lead elsewhere; or all of them."""
    while row + 1 < nodes.end[row] == nodes.end[row + 1]:
        row += 1
    rows = [each for each in nodes.children_of(row) if nodes.tag[each] in _LISTS]
    lengths = [nodes.last_leaf.item(each) - nodes.first_leaf.item(each) for each in rows]
    longest = max(lengths, default=0)
    inner = rows[lengths.index(longest)] if longest > 1 and lengths.count(longest) == 1 else row
    return nodes.first_leaf.item(inner), nodes.last_leaf.item(inner)


def unnamed(page: Page, headline: Headline | None) -> tuple[list[str], slice]:
    """Return the names of a trail that nothing calls so, and its leaves; none without one.

    These are links before the page's own heading with arrows between them, and behind them the words of the heading,
    once more or as the heading itself, or a few words without a link right before it, which are a name if they are part
    of it.
    """
    if headline is None:
        return [], slice(0)
    strings, own = page.nodes.strings, page.nodes.leaves_of(headline.row)
    heading = headline.text.casefold()[:_LONGEST]
    before = range(own.start - 1, max(own.start - 1 - _BEFORE, -1), -1)
    last_word = heading.rpartition(" ")[2]
    for end in [at for at in before if strings[at].casefold().endswith(last_word)]:
        leaf = _begin(strings, end, heading)
        names, first = _names_before(page, leaf) if leaf >= 0 else ([], 0)
        if names:
            return [*names, _pointed(" ".join(strings[leaf : end + 1]))], slice(first, end + 1)
    if own.start > 0 and not page.nodes.anchor[page.nodes.leaves[own.start - 1]]:
        names, first = _names_before(page, own.start - 1)
        last = _pointed(strings[own.start - 1])
        if names and "/" not in strings[first + 1] and 0 < len(last.split()) <= _PLAIN and not has_year(last):
            return [*names, last][: None if last.casefold() in heading else -1], slice(first, own.start)
    names, first = _names_before(page, own.start)
    is_pointed = own.start > 0 and bool(_ARROW.fullmatch(strings[own.start - 1]))
    is_trail = bool(names) and (is_pointed or _leads_down(page, own.start - 1, strings[first + 1]))
    return (names, slice(first, own.start)) if is_trail else ([], slice(0))


def _begin(strings: Sequence[str], last: int, heading: str) -> int:
    """The first of at most some leaves, up to a last one, that say a heading, maybe behind an arrow; -1 if none do."""
    text = ""
    for leaf in range(last, max(last - _PARTS, -1), -1):
        text = f"{strings[leaf].casefold()} {text}".strip()
        if _pointed(text) == heading:
            return leaf
        if not heading.endswith(text):
            break
    return -1


def _leads_down(page: Page, leaf: int, mark: str) -> bool:
    """Whether the link in a leaf leads to what holds the page; a mark that is no slash says so, too."""
    nodes = page.nodes
    row = nodes.parent.item(nodes.leaves.item(leaf))
    hrefs = (nodes.links.href[at] for at in np.flatnonzero(nodes.links.row == row).tolist())
    targets = (resolve(page.base, href)[1] for href in hrefs)
    return "/" not in mark or any(target and page.url.startswith(target) for target in targets)


def _names_before(page: Page, leaf: int) -> tuple[list[str], int]:
    """The texts of the links before a leaf, as far as there is an arrow behind each of them, and the first leaf.

    There are none if they are too few or too many for a trail with one name more.
    """
    nodes, names, first = page.nodes, list[str](), leaf
    while leaf > 0 and len(names) < _MOST_NAMES:
        # The own name may stand in the next line.
        is_pointed = bool(_ARROW.match(nodes.strings[leaf])) or (not names and nodes.gap[leaf] >= LINE)
        leaf -= 1
        if _ARROW.fullmatch(nodes.strings[leaf]):
            is_pointed, leaf = leaf > 0, leaf - 1
        if not is_pointed or not nodes.anchor[nodes.leaves[leaf]]:
            break
        names.append(_pointed(nodes.strings[leaf]))
        first = leaf
    return names[::-1] if _FEWEST <= len(names) + 1 <= _MOST_NAMES else [], first


def _pointed(text: str) -> str:
    """A name without the arrow before it."""
    arrow = _ARROW.match(text[:_LONGEST])
    return text[arrow.end() if arrow else 0 : _LONGEST].strip()


def _labelled(page: Page) -> set[int]:
    """Rows of the elements whose label or type is that of breadcrumbs."""
    nodes = page.nodes
    named = (row for row, label in nodes.labels.items() if CRUMBS_NAMED.search(label))
    rows = {row for row in named if nodes.signs[nodes.look[row]] & MENU}
    kinds = ((each, (each.get("itemtype") or "").rpartition("/")[2]) for each in page.microdata)
    typed = {each if kind == "BreadcrumbList" or len(each.findall(".//a")) > 1 else each.getparent()
             for each, kind in kinds if kind in ("BreadcrumbList", "Breadcrumb")}  # fmt: skip
    return rows | {row for row, each in enumerate(nodes.elements if typed else ()) if each in typed}


def _is_trail(page: Page, row: int) -> bool:
    nodes = page.nodes
    first, last, end = int(nodes.first_leaf[row]), int(nodes.last_leaf[row]), int(nodes.end[row])
    headings = np.flatnonzero(np.isin(nodes.tag[row:end], _HEADINGS)) + row
    return (
        nodes.tag[row] not in _PAGE
        and 0 < last - first <= _MOST_LEAVES
        and int(nodes.words[first:last].sum()) <= _MOST_WORDS
        and bool(np.any((nodes.links.row >= row) & (nodes.links.row < end)))
        and all(_LEAD.fullmatch(" ".join(nodes.strings[nodes.leaves_of(each)])) for each in headings.tolist())
    )


def _shown_names(page: Page, first: int, last: int) -> Iterator[str]:
    """The texts of the list items or links, and those between them; marks alone are left out."""
    nodes, name, before = page.nodes, "", -1
    for leaf in range(first, last):
        row = int(nodes.leaves[leaf])
        item = _item(page, row)
        if before < 0 and nodes.strings[leaf].rstrip(" \xa0").endswith(":") and not nodes.anchor[row]:
            continue  # "You are here:"
        if item != before or item < 0:
            yield from _cleaned(name)
            name = ""
        before = item
        name += " " + nodes.strings[leaf]
    yield from _cleaned(name)


def _item(page: Page, row: int) -> int:
    """Row of the innermost list item or link around a leaf; -1 without one."""
    nodes = page.nodes
    for _ in range(6):
        row = int(nodes.parent[row])
        if row < 0 or nodes.tag[row] in _ITEMS:
            return row
    return -1


def _cleaned(name: str) -> Iterable[str]:
    name = _ICONS.sub(" ", name)
    lead = _LEAD.match(name)
    name = " ".join(name[lead.end() if lead else 0 :].strip(_MARKS).split())
    return [name[:_LONGEST]] if name else []


def leaves_of(page: Page, names: Sequence[str]) -> Bools:
    """Return the mask of the leaves, (m,), that repeat a trail of at least two names, one after the other."""
    mask = np.zeros(len(page.nodes.leaves), np.bool_)
    wanted = [name.casefold() for name in names]
    if len(wanted) < 2:
        return mask
    strings = [text.strip(_MARKS).casefold() if len(text) <= _LONGEST else text for text in page.nodes.strings]
    for start in (leaf for leaf, text in enumerate(strings) if text == wanted[0]):
        leaf, found = start, 0
        while leaf < len(strings) and found < len(wanted) and strings[leaf] in ("", wanted[found]):
            found += strings[leaf] == wanted[found]
            leaf += 1
        if found == len(wanted):
            mask[start:leaf] = True
    return mask
