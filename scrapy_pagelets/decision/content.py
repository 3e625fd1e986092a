"""What a page says of itself is content, whatever its site repeats; marks that serve the browser only are not."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, up_to
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.corrections import corrected as corrected
from scrapy_pagelets.core.text import permalinks as permalinks
from scrapy_pagelets.decision.half_lines import COLONS
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.metadata.product_values import BRAND_LABELS
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import CELL, LINE, TAG, TEXT, NodeTable, among_tags, below, rows_tagged
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import THRESHOLD

_IS_HEADING: Final = among_tags("h1 h2 h3 h4 h5 h6")
#: Classes of the labels of admonitions, such as "Note", as Sphinx, MkDocs, VuePress, GitHub and others write them.
_LABEL: Final = lazily(
    r"(?:^|[\s_-])(?:admonition|callout|alert|custom-(?:block|container)|hint|note)[-_]{1,2}(?:title|heading|label)(?:$|\s)",
    re.IGNORECASE,
)
_MOST: Final = 0.5  # share of content from which on a heading belongs to it
#: From this templateness on, a linked heading is the name of the site or the like, not the title of a post.
_CERTAIN: Final = 0.95
_BYLINE: Final = 20  # words of the date, the author and the tags that a header may have beside such a title
_IS_LIST: Final = among_tags("ul ol dl")
_IS_ITEM: Final = among_tags("li dt dd")
_WHOLE: Final = 0.8  # share of the words of a list from which on all of its items are content
#: Words without links that a line must have to announce a list. Labels of filters and of share buttons have fewer.
_ANNOUNCING: Final = 5
_IN_DOUBT: Final = 0.65  # up to this templateness, a list right below a heading of content belongs to it
#: Leaves before and after the own heading that may say of the page what it declares, their words; those to a price.
_BEFORE, _AFTER, _LONGEST = 8, 60, 12
_PRICE_BEFORE: Final = 30
_DIGITS: Final = 4  # characters of a number that is no other one by chance
_PRICE: Final = lazily(r"\D{0,5}?(\d{1,3}(?:[., ]\d{3})+|\d+)(?:[.,](\d{1,2}))?\D{0,5}")
_RUNS: Final = 2  # runs of text that a permalink has at most
_CELL, _KEY = TAG["td"], 3  # and words of a key to sort by
_IS_BLOCK: Final = among_tags("p ul ol dl blockquote pre table h2 h3 h4 h5 h6")
#: Share of the words of its blocks, and number of them, that are content in an element whose holes are filled.
_SHARE, _LEAST = 0.7, 50
#: Share of content from which on a block is no hole, and of words in links from which on it is a menu.
_HALF, _LINKS = 0.5, 0.8


@cached
def _is_label(classes: str) -> bool:
    return _LABEL.search(classes) is not None


def said_of_itself(page: Page, headline: Headline | None, names: Sequence[str], prices: Sequence[str]) -> Bools:
    """(m,) leaves near the page's own heading that say its author, its product's name or what that costs.

    They are content even if other pages of the site say the same. Of a price and of a name, it is the first: shops
    repeat prices in forms that style sheets hide, and news say at the end who the author is.

    ``names``, ``prices``: as the page declares them, see `Metadata`.
    """
    nodes = page.nodes
    mask = np.zeros(len(nodes.leaves), np.bool_)
    told = {name.casefold() for name in names} - {""}
    amounts = {_amount(price) for price in prices} - {""}
    if headline is None or not (told or amounts):
        return mask
    first, last = int(nodes.first_leaf[headline.row]), int(nodes.last_leaf[headline.row])
    near = slice(max(0, first - _PRICE_BEFORE), last + _AFTER)
    for leaf, (words, text) in enumerate(zip(nodes.words[near].tolist(), nodes.strings[near], strict=True), near.start):
        if words > _LONGEST:
            continue
        amount = _amount(text) if amounts else ""
        name = text.casefold().strip() if leaf >= first - _BEFORE else ""
        if amount in amounts or name in told:
            mask[leaf] = True
            amounts.discard(amount)
            told.discard(name)
            if not (told or amounts):
                break
    return mask


def marks_in_cells(nodes: NodeTable) -> Bools:
    """(m,) leaves of cells that are not for readers: hidden keys to sort by, and the heads of columns once more.

    Style sheets show these in all cells on narrow screens, and the head of the table on wide ones.
    """
    rows = np.flatnonzero((nodes.tag == _CELL) & (nodes.last_leaf - nodes.first_leaf > 1))
    hidden = nodes.hidden[nodes.leaves]
    found = hidden & (nodes.words <= _KEY)
    if found.any():
        found &= nodes.leaves_below(rows[below(nodes, up_to(~hidden), rows) > 0].tolist())
    heads = [nodes.first_leaf.item(row) for row in rows_tagged(nodes, TAG["th"]) if len(rows)]
    if heads and heads[-1] < len(found):
        first = nodes.first_leaf[rows]
        said = nodes.text + up_to(nodes.tag == TAG["table"])[nodes.leaves]  # in which table, too
        copies = (nodes.parent[nodes.leaves[first]] != rows) & np.isin(said[first], said[heads])
        found[first] |= copies & (np.bincount(nodes.parent[rows], copies)[nodes.parent[rows]] > 1)
    return found


def facts_of(page: Page, headline: Headline | None, facts: Sequence[str], keep: Bools) -> Bools:
    """(m,) the first leaf with each fact that a page declares, if the content does not have it yet.

    ``facts``: such as the number of a product, and its brand. ``keep``: (m,) the leaves that are content so far; a name
    stands between the heading and the last of them, or behind a label of brands.
    """
    nodes = page.nodes
    mask = np.zeros(len(nodes.leaves), np.bool_)
    first = int(nodes.last_leaf[headline.row]) if headline else len(mask)
    of_names = range(first, int(keep.nonzero()[0].max(initial=0)) + 1) if facts else range(0)
    for fact in facts:
        if _is_number(fact) and len(fact) < _DIGITS:
            continue
        saying = [leaf for leaf in range(len(mask)) if _has_fact(nodes, leaf, fact)]
        if not _is_number(fact):
            labels = {leaf: nodes.strings[leaf - 1].strip() if leaf else "" for leaf in saying}
            brands = {leaf for leaf, label in labels.items() if label[-1:] in COLONS and BRAND_LABELS.fullmatch(label)}
            saying = [leaf for leaf in saying if leaf in of_names or leaf in brands]
        if saying and not keep[saying].any():
            mask[saying[0]] = True
    return mask


def _has_fact(nodes: NodeTable, leaf: int, fact: str) -> bool:
    """Whether a run of text is a fact, or a few words that begin or end with a number."""
    text = nodes.strings[leaf]
    if fact not in text or nodes.words[leaf] > _LONGEST:
        return False
    words = text.split()
    return text.strip() == fact or (_is_number(fact) and fact in (words[0], words[-1]))


def _is_number(fact: str) -> bool:
    return any(map(str.isdecimal, fact))


def _amount(text: str) -> str:
    """The digits of a price, without cents of zero ("$ 1,299.00" is 1299); "" if the text says more than a price."""
    match = _PRICE.fullmatch(text.strip())
    if match is None:
        return ""
    whole, cents = re.sub(r"\D", "", match[1]), (match[2] or "").ljust(2, "0")
    return whole if cents == "00" else whole + cents


give("text", RUNS_OF_PERMALINK=_RUNS)
give(
    "corrections", CELL=CELL, LINE=LINE, TEXT=TEXT, HEADING=HEADING, THRESHOLD=THRESHOLD, OF_LINE=THRESHOLD,
    WHOLE=_WHOLE, ANNOUNCING=_ANNOUNCING, MOST=_MOST, CERTAIN=_CERTAIN,
    BYLINE=_BYLINE, IN_DOUBT=_IN_DOUBT, IS_LIST=_IS_LIST, IS_ITEM=_IS_ITEM,
    IS_HEADING=_IS_HEADING, COLONS=COLONS, permalinks=permalinks, is_label=_is_label,
)  # fmt: skip
give("corrections", SHARE=_SHARE, LEAST=_LEAST, HALF=_HALF, LINKS=_LINKS, IS_BLOCK=_IS_BLOCK)
