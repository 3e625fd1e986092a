"""What stands in the content and is none, by its elements: choices, hints for screen readers, numbers of lines,
bylines, what leads to other posts and further pages, menus, buttons at code, forms to log in."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise, takewhile
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, up_to
from scrapy_pagelets.base.characters import WORD, lazily
from scrapy_pagelets.metadata import dates
from scrapy_pagelets.metadata.byline import SHARING
from scrapy_pagelets.metadata.headline import buttons_in_headings, heading_text
from scrapy_pagelets.metadata.posts import NUMBERED, Thread, is_forum
from scrapy_pagelets.page import looks
from scrapy_pagelets.page.code import TOOLTIP, language_of, line_numbers
from scrapy_pagelets.page.gaps import panels_of
from scrapy_pagelets.page.nodes import (
    GLUED,
    LINE,
    OF_TAG,
    TAG,
    NodeTable,
    attributes_at,
    beginning,
    elements_at,
    having,
    leaves_beginning,
    rows_named,
    rows_related,
    rows_tagged,
    rows_with,
    tags_of,
)
from scrapy_pagelets.page.page import Page

#: Words of a hint for screen readers ("opens in a new window"). What is longer is content, such as a transcript.
_HINT: Final = 8
STRUCK: Final = frozenset("del s strike".split())  # elements of what no longer holds, such as a former price
_PRICES: Final = 8  # runs of text of two prices with their labels
_BYLINE: Final = 20  # words of a line with author, date and section of a post; what is longer has the post in it
#: Relations of a link to its place in a series of pages, as HTML 4 and HTML 5 name them.
_SERIES: Final = frozenset("prev previous next up first last start contents index".split())
#: Address of a page to log in from which the reader comes back to this one.
_LOG_IN: Final = lazily(
    r"(?:log-?in|sign-?in|register)[^?/]{0,20}/?\?(?:[^?]*&)?"
    r"(?:dest(?:ination)?|redirect|return|next|goto|back|continue)[a-z_]*=",
    re.IGNORECASE,
)
_LABELS: Final = 4  # words besides links in a line of such links: "Next:", "Previous:"
#: Elements that may hold a menu by their class, as wikis and engines of manuals name it, and the fewest runs of text in
#: its links; of its words, so many times less are in none.
_AROUND_LINKS: Final = tuple(tags_of("div table td ul nav section").tolist())
_LINKS_OF_MENU: Final = 8
_SHARE_OF_LINKS: Final = 5
#: Share of the links of a table of contents that says what headings do, and the number before a heading.
_REPEATED: Final = 0.6
_CONTENTS: Final = lazily(
    r"(?:^|[\s_-])(?:(?:mini-?)?toc|(?:table-?of-?)?contents?|(?:on-)?this-page)(?:$|[\s_-])", re.IGNORECASE
)
_OF_CONTENTS: Final = ("toc", "contents", "of-content", "this-page")  # one of them is in most ids of such an element
_UNNUMBERED: Final = lazily(r"^(?:[\da-z]{1,3}\.)*\d*[.)]?\s+")
_FOOT: Final = 24  # runs of text at the end of a page; there, wikis write who changed it last
_CHANGED: Final = lazily(r".{0,60}\(last (?:edited|modified|updated|changed)\b[^()]{0,30}\d.{0,70}")
_CONTROLS: Final = 6  # runs of text beside a block of code that may be buttons
_OPENS: Final = frozenset("href aria-controls aria-expanded data-target data-bs-target data-toggle".split())
_OF_ROW: Final = 2  # words of a button that stands in a row of others
_LEVELS: Final = 4  # levels of the elements of a button beside code
_TOOLTIP: Final = lazily(rf"^{TOOLTIP}$")
_RUN: Final = "javascript:"  # how the address of a link begins that runs a script
_LABELS_OF_CODE: Final = frozenset(tags_of("span div p small").tolist())  # elements of the label of a block of code
_DIGITS: Final = 9  # digits of the number of a line
_SHORT: Final = 40  # words of a form to log in, or of links to further pages
_LABEL, _FEWEST_POSTS = 2, 3  # words of a link of a post, and posts that have the same ones
_WIDE: Final = 8  # characters of such a link where words have no spaces between them
_LEAST: Final = 3  # words of content that the page must have besides, or they are what it is about
_MOST: Final = 0.8  # share of the words of the content in the element that has it
_DATA: Final = ('{"', '[{"')  # the beginning of what scripts have written as JSON
_DATE: Final = 9  # words of a line with the date of a comment, and its author
_ALIKE: Final = 2  # sections of comments of a page that look the same
_CELLS: Final = tuple(tags_of("td th tr").tolist())
_HEADINGS: Final = frozenset(tags_of("h1 h2 h3 h4 h5 h6").tolist())
#: Elements whose text may be pressed, as the head of a column that sorts it.
_HOLDS_TEXT: Final = frozenset(tags_of("h1 h2 h3 h4 h5 h6 th figure figcaption p td dt").tolist())
_RULE: Final = 10  # underscores of a line above a signature
_ASKING: Final = 3  # words beside a form to write a comment: "Leave a reply"
_SENTENCE: Final = 12  # words of content that the page must have besides the comments, or they are what it is about
_ARTICLE: Final = 20  # the same besides its menus and signatures


def asides_of(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of the content that nobody reads as content.

    They are options to choose from, hints for screen readers, hidden data of scripts, numbers of lines of code,
    bylines, related posts, links that the page itself says lead to other posts or further pages, menus, buttons at
    code, buttons of which there are several, links to log in and come back, and forms to log in. There are none if next
    to nothing else of the page is content. A whole heading is no hint and no byline, since some pages hide their own
    heading, nor is all of a cell. Labels of prices beside a struck price are no hints.

    ``keep``: (m,) the leaves that are content so far.
    """
    elsewhere = {*rows_with(nodes, looks.RELATED | looks.ELSEWHERE), *_short(nodes, rows_with(nodes, looks.PAGER))}
    found = _beside_text(nodes) | line_numbers(nodes) | _links_alone(nodes)
    found[[*_marks_again(nodes)]] = True
    buttons = (*_buttons(nodes), *buttons_in_headings(nodes), *_switches(nodes))
    found |= nodes.leaves_below(
        (*elsewhere, *_log_in(nodes), *_menus(nodes, keep), *_contents(nodes), *_counts(nodes), *buttons)
    )
    found[controls_of_code(nodes) + _last_change(nodes)] = True
    if nodes.words[keep & ~found].sum() < _LEAST:
        found[:] = False
    return found


def _beside_text(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints, options and bylines, without those that are a whole heading."""
    found = hints_of(nodes)
    if found.any():
        found &= ~_labels_of_prices(nodes)
    bylines = _short(nodes, rows_with(nodes, looks.BYLINE), _BYLINE)
    found |= nodes.leaves_below((*rows_with(nodes, looks.CHOICES), *bylines))
    found[[leaf for leaf in nodes.hidden[nodes.leaves].nonzero()[0] if nodes.strings[leaf].startswith(_DATA)]] = True
    if found.any():  # cells may have nothing but what screen readers say, as beside an icon
        within = [nodes.parent.item(row) for row in rows_with(nodes, looks.HEARD) if not nodes.anchor[row]]
        cells = (row for row in (*within, *map(nodes.parent.item, within)) if nodes.tag.item(row) == _CELLS[0])
        for leaves in map(nodes.leaves_of, (*rows_with(nodes, looks.HEADING), *cells)):
            found[leaves] &= not found[leaves].all()
    return found


def _marks_again(nodes: NodeTable) -> set[int]:
    """Leaves that say the raised mark of a note again, as LaTeXML writes it three times for a note in the text."""
    raised, found = rows_tagged(nodes, TAG["sup"]), set[int]()
    if len(raised) < 2:
        return found
    for leaf in {*nodes.last_leaf[raised].tolist()} & {*nodes.first_leaf[raised].tolist()}:  # one follows another
        again = nodes.strings[leaf - 1 : leaf]
        while again and again == nodes.strings[leaf : leaf + 1] and nodes.gap[leaf] == GLUED and leaf not in found:
            found.add(leaf)
            leaf += 1
    return found


def hints_of(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints that only screen readers say, headings that a page hides among them."""
    return nodes.leaves_below(_short(nodes, rows_with(nodes, looks.HEARD), _HINT))


def _links_alone(nodes: NodeTable) -> Bools:
    """(m,) leaves of links to pages of a series, to share the page, and to log in and come back, with their labels."""
    series = rows_related(nodes, _SERIES)
    rows, hrefs, targets = nodes.links.row.item, nodes.links.href, nodes.links.target
    log_in = [rows(link) for link in having(targets, "?") if _leads_back(targets[link])]
    leading = ((link, hrefs[link]) for link in having(hrefs, ":"))
    series += [
        rows(link) for link, href in leading if ("http" in href[9:] or "mailto:?" in href) and SHARING.match(href)
    ]
    found = _with_labels(nodes, series, _LABELS)
    return found | _with_labels(nodes, log_in, _HINT) if log_in else found


def own_tags(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of the links of which the page says that they are its tags, with their labels.

    Those in a line with more words of the content stay, as in a post whose words are tags, and all of a page that says
    next to nothing else.

    ``keep``: (m,) the leaves that are content so far.
    """
    rows = rows_related(nodes, OF_TAG)
    found = _with_labels(nodes, rows, _LABELS)
    if rows:
        line = np.cumsum(nodes.gap >= LINE)
        found &= (np.bincount(line, nodes.words * (keep & ~found)) == 0)[line]
        found &= nodes.words[keep & ~found].sum() >= _LEAST
    return found


def _leads_back(target: str) -> bool:
    folded = target.rpartition("?")[0].casefold()  # many links have a query
    return ("log" in folded or "sign" in folded or "register" in folded) and _LOG_IN.search(target) is not None


def _with_labels(nodes: NodeTable, rows: list[int], most: int) -> Bools:
    """(m,) leaves of links, and the other words in their lines if these are no more than ``most`` and have no link."""
    found = nodes.leaves_below(rows)
    if rows:
        line = np.cumsum(nodes.gap >= LINE)
        others = np.bincount(line, nodes.words * ~found)
        links = np.bincount(line, ~found & nodes.anchor[nodes.leaves])
        found |= ((np.bincount(line, found) > 0) & (links == 0) & (others <= most))[line]
    return found


def _buttons(nodes: NodeTable) -> Iterator[int]:
    """Rows of the buttons whose text another one has, and of several in a row that say a word or two and open no panel.

    The question that opens an answer has a button of its own. What only has the role of a button says a few words.
    """
    labels = (row for row in rows_with(nodes, looks.CONTROL) if nodes.tag.item(row) == TAG["label"])
    rows = sorted((*rows_tagged(nodes, TAG["button"]), *_short(nodes, labels, _LABELS)))
    buttons = [row for row in rows if nodes.first_leaf[row] < nodes.last_leaf[row]]
    texts = [" ".join(nodes.strings[nodes.leaves_of(row)]) for row in buttons]
    roles = (row for row in rows_with(nodes, looks.CONTROL) if nodes.looks[nodes.look.item(row)][3] == "button")
    idle = _short(nodes, (row for row in roles if nodes.tag.item(row) != TAG["button"]), _LABELS)
    # Neither it nor the element around it is a heading, a picture, a cell, or a paragraph; tabs and titles stay.
    tags = ((nodes.tag.item(row), nodes.tag.item(nodes.parent.item(row))) for row in idle)
    tabs = {*panels_of(nodes).values()}
    titles = tabs.union(rows_with(nodes, looks.HEADLINE))
    idle = [row for row, own in zip(idle, tags, strict=True) if _HOLDS_TEXT.isdisjoint(own) and row not in titles]
    yield from (row for row, each in zip(idle, elements_at(nodes, idle), strict=True) if _OPENS.isdisjoint(each.attrib))
    count, above = Counter(texts), Counter(map(nodes.parent.item, buttons))
    for row, text in zip(buttons, texts, strict=True):
        around, is_tab = nodes.parent.item(row), row in tabs or nodes.looks[nodes.look.item(row)][3] == "tab"
        in_row = above[around] > 1 and nodes.tag.item(around) != TAG["p"]  # a sentence names what one presses
        if count[text] > 1 or (in_row and not is_tab and len(text.split()) <= _OF_ROW):
            yield row


def _switches(nodes: NodeTable) -> Iterator[int]:
    """Rows of what changes a view: links of captions or without words that run a script, tabs of the same panel."""
    captions = rows_tagged(nodes, TAG["caption"])
    within = nodes.leaves_below(captions)
    within[[nodes.first_leaf.item(row) for row in captions if nodes.words_of(row)]] = False
    for row in map(nodes.links.row.item, beginning(nodes.links.href, _RUN)):
        if not nodes.words_of(row) or within[nodes.first_leaf[row]]:
            yield row
    tabs = [row for row in rows_with(nodes, looks.TABS) if nodes.looks[nodes.look.item(row)][3] == "tab"]
    panels = attributes_at(nodes, tabs, "aria-controls")
    labels: dict[str, set[str]] = {}
    for row, panel in reversed([*zip(tabs, panels, strict=True)]):
        label, known = " ".join(nodes.strings[nodes.leaves_of(row)]), labels.setdefault(panel, set())
        if panel and label in known:  # one for each width of the screen, the last one at the panel
            yield row
        known.add(label)
    yield from (row for row, panel in zip(tabs, panels, strict=True) if panel and len(labels[panel]) > 1)


def _menus(nodes: NodeTable, keep: Bools) -> Iterator[int]:
    """Rows of the elements that are named menus and have nothing but links, on a page with text besides."""
    rows = [row for row in rows_with(nodes, looks.LINKS) if nodes.tag.item(row) in _AROUND_LINKS]
    plain = nodes.words * ~nodes.anchor[nodes.leaves] if rows else nodes.words
    for row in nodes.outermost(rows) if rows and (plain * keep).sum() >= _ARTICLE else ():
        leaves = nodes.leaves_of(row)
        is_linked = plain[leaves].sum() * _SHARE_OF_LINKS <= nodes.words_of(row)
        if is_linked and leaves.stop - leaves.start >= _LINKS_OF_MENU:
            yield row


def _contents(nodes: NodeTable) -> Iterator[int]:
    """Rows of the tables of contents, by their names, that repeat headings of the page as links, with their labels.

    A list without such a name may be a part of the text.
    """
    fragments = nodes.links.row[beginning(nodes.links.href, "#")].tolist()
    ids = [look[1] for look in nodes.looks] if fragments else []
    together = "\n".join(ids).lower()
    may_be = any(part in together for part in _OF_CONTENTS)
    named = [look for look, name in enumerate(ids) if _CONTENTS.search(name)] if may_be else []
    rows = np.flatnonzero(np.isin(nodes.look, named)).tolist() if named else []
    for row in (*rows, *rows_named(nodes, _CONTENTS)) if fragments else ():
        links = fragments[bisect_left(fragments, row) : bisect_left(fragments, nodes.end.item(row))]
        most = sum(map(nodes.words_of, links)) + max(_LABELS, len(links))
        leads = any(nodes.tag[nodes.parent[link]] not in _HEADINGS for link in links)  # these lead to themselves
        if leads and nodes.words_of(row) <= most and _repeat_headings(nodes, links):
            while row > 0 and nodes.words_of(nodes.parent.item(row)) <= most:
                row = nodes.parent.item(row)
            yield row


def _last_change(nodes: NodeTable) -> list[int]:
    """Leaves of the line at the foot of a page that says in brackets who changed it last."""
    if "(last " not in "\n".join(nodes.strings[-_FOOT:]):
        return []
    place, line = max(i for i, text in enumerate(nodes.strings) if "(last " in text), np.cumsum(nodes.gap >= LINE)
    own = np.flatnonzero(line == line[place]).tolist()
    return own if _CHANGED.fullmatch(" ".join(" ".join(nodes.strings[leaf] for leaf in own).split())) else []


def _repeat_headings(nodes: NodeTable, links: list[int]) -> bool:
    """Whether most of some links have the text of a heading, with its number or without."""
    texts = {heading_text(nodes, row).casefold() for row in rows_with(nodes, looks.HEADING)}
    said = [" ".join(nodes.strings[nodes.leaves_of(link)]).casefold() for link in links]
    return sum(text in texts or _UNNUMBERED.sub("", text) in texts for text in said) > _REPEATED * len(links)


def _counts(nodes: NodeTable) -> Iterator[int]:
    """Rows of the ``pre`` elements that count the lines of the one in the next cell, whatever their class."""
    rows = rows_tagged(nodes, TAG["pre"])
    for row, other in pairwise(rows):
        cell, beside = nodes.parent.item(row), nodes.parent.item(other)
        if cell == beside or nodes.parent[cell] != nodes.parent[beside] or nodes.tag.item(cell) != TAG["td"]:
            continue
        numbers = " ".join(nodes.strings[nodes.leaves_of(row)]).split()
        first = int(numbers[0][:_DIGITS]) if numbers and numbers[0].isdecimal() else -1
        if first >= 0 and numbers == list(map(str, range(first, first + len(numbers)))):
            yield row


def controls_of_code(nodes: NodeTable) -> list[int]:
    """Leaves of the buttons in blocks of code and right beside them: to copy it, to run it, to show all of it."""
    named = (row for row in rows_with(nodes, looks.CODE) if nodes.tag.item(row) == TAG["code"])  # as forums write it
    in_lines = (row for row in named if (nodes.tag[row : nodes.end[row]] == TAG["br"]).any())
    blocks = nodes.outermost([*rows_tagged(nodes, TAG["pre"]), *in_lines])
    found = _languages_beside(nodes, blocks)
    for row in blocks:
        leaves = nodes.leaves_of(row)
        before = range(leaves.start - 1, max(-1, leaves.start - _CONTROLS - 1), -1)
        after = range(leaves.stop, min(len(nodes.leaves), leaves.stop + _CONTROLS))
        for beside in (before, after):
            found += takewhile(partial(_is_control, nodes), beside)
    in_code = [row for row in rows_tagged(nodes, TAG["button"]) if nodes.first_leaf.item(row) in nodes.spaces]
    if rows := [*rows_named(nodes, _TOOLTIP), *in_code]:
        found += nodes.leaves_below(rows).nonzero()[0].tolist()
    if found and (panels := panels_of(nodes)):
        tabs = nodes.leaves_below(panels.values())
        found = [leaf for leaf in found if not tabs[leaf]]
    return sorted({*found})


def _languages_beside(nodes: NodeTable, blocks: Iterable[int]) -> list[int]:
    """The leaves that only repeat the language of a block of code, in an element of their own in its frame."""
    edges = ((row, leaf) for row in blocks for leaf in (nodes.first_leaf.item(row) - 1, nodes.last_leaf.item(row)))
    labels = [(row, leaf) for row, leaf in edges if _is_label(nodes, row, leaf)]
    elements = elements_at(nodes, [row for row, _ in labels])
    told = zip(labels, map(language_of, elements), strict=True)
    return [leaf for (_, leaf), language in told if nodes.strings[leaf].strip().lower() == language]


def _is_label(nodes: NodeTable, row: int, leaf: int) -> bool:
    """Whether a leaf beside a block of code is a word in an element of its own in the frame of the block."""
    frame = nodes.parent.item(row)
    if not 0 <= leaf < len(nodes.leaves) or nodes.words.item(leaf) != 1 or nodes.first_leaf.item(row) == leaf:
        return False
    label = nodes.parent.item(nodes.leaves.item(leaf))
    is_in_frame = nodes.parent.item(label) == frame and nodes.last_leaf[frame] - nodes.first_leaf[frame] > 1
    return bool(is_in_frame and nodes.tag.item(label) in _LABELS_OF_CODE)


def _is_control(nodes: NodeTable, leaf: int) -> bool:
    """Whether a leaf is in a button, a link that leads nowhere, or a few words named so; labels of tabs are none."""
    row = nodes.parent.item(nodes.leaves.item(leaf))
    for _ in range(_LEVELS if leaf not in nodes.spaces else 0):  # the class of code says that it may be copied
        if row < 0 or nodes.words_of(row) > _LABELS:
            return False
        look = nodes.look.item(row)
        if nodes.looks[look][3] == "tab":
            return False
        if nodes.tag.item(row) == TAG["button"] or nodes.signs.item(look) & looks.CONTROL:
            return True
        if nodes.tag.item(row) == TAG["a"]:
            element = nodes.elements[row]
            href = (element.get("href") or "").strip()
            names_place = element.get("name") or element.get("id")
            return href.startswith(_RUN) or (href in ("", "#") and not names_place)
        row = nodes.parent.item(row)
    return False


def _short(nodes: NodeTable, rows: Iterable[int], most: int = _SHORT) -> list[int]:
    return [row for row in rows if nodes.words_of(row) <= most]


def _log_in(nodes: NodeTable) -> Iterator[int]:
    """Rows of the forms that ask for a password and little else."""
    forms = _short(nodes, rows_tagged(nodes, TAG["form"]))
    for row, form in zip(forms, elements_at(nodes, forms), strict=True):
        if any((field.get("type") or "").lower() == "password" for field in form.iter("input")):
            yield row


def _labels_of_prices(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints such as "Regular price" beside struck text: nothing else tells two prices apart."""
    mask = np.zeros(len(nodes.leaves), np.bool_)
    names = [look for look, (tag, *_) in enumerate(nodes.looks) if tag in STRUCK]
    if not names:
        return mask
    struck = np.isin(nodes.look, names)
    places = np.unique(nodes.first_leaf[struck & (nodes.first_leaf < nodes.last_leaf)])
    for row in rows_with(nodes, looks.HEARD) if len(places) else ():
        leaves, around = nodes.leaves_of(row), nodes.leaves_of(int(nodes.parent[row]))
        text = "".join(nodes.strings[leaves])
        beside = np.searchsorted(places, around.start) < np.searchsorted(places, around.stop)
        mask[leaves] |= beside and around.stop - around.start <= _PRICES and not any(map(str.isdecimal, text))
    return mask


def comments_of(page: Page, keep: Bools, *, is_product: bool = False, is_discussion: bool = False) -> Bools:
    """(m,) leaves of comments, and of reviews of a product, by the names of their sections; none on pages of forums.

    ``keep``: (m,) the leaves that are content so far. ``is_product``, ``is_discussion``: whether it is one of a
    product, or declares a discussion, see `page_features.declared`.
    """
    nodes = page.nodes
    named = rows_with(nodes, looks.REVIEWS) if is_product else ()
    found = nodes.leaves_below((*_sections(nodes), *named, *_typed_reviews(page, is_product)))
    if found.any() and (
        is_discussion or nodes.words[keep & ~found].sum() < _SENTENCE or is_forum(page, _near(nodes, keep, found))
    ):
        found[:] = False
    return found


def unsaid(nodes: NodeTable, comments: Bools, in_forms: Bools) -> Bools:
    """(m,) of the leaves of comments, those that nobody said: of a form to write one, and all if few words are left."""
    forms = (row for row in rows_tagged(nodes, TAG["form"]) if comments[nodes.leaves_of(row)].all())
    found = comments & (in_forms | nodes.leaves_below(forms))
    return found if nodes.words[comments & ~found].sum() > _ASKING else comments


def _typed_reviews(page: Page, is_product: bool) -> list[int]:
    """Rows of the reviews by their type; without a product, of those that are a property of what the page shows."""
    typed = {each for each in page.microdata if (each.get("itemtype") or "").endswith("/Review")}
    typed = {each for each in typed if is_product or each.get("itemprop") in ("review", "reviews")}
    return [row for row, each in enumerate(page.nodes.elements) if each in typed] if typed else []


def signatures_of(page: Page, keep: Bools, *, is_discussion: bool = False) -> Bools:
    """(m,) leaves of the signatures that forums put below each contribution; none on other pages.

    They are told by their names, or by a line of underscores above them; manuals call what a function takes its
    signature. Parameters are those of `comments_of`.
    """
    nodes = page.nodes
    found = nodes.leaves_below(rows_with(nodes, looks.SIGNATURE))
    for leaf in leaves_beginning(nodes, ("_",) * _RULE):
        if nodes.gap[leaf] >= LINE and not nodes.strings[leaf].strip("_ "):
            found[leaf : nodes.last_leaf.item(nodes.parent.item(nodes.leaves.item(leaf)))] = True
    if found.any() and (
        nodes.words[keep & ~found].sum() < _ARTICLE or not (is_discussion or is_forum(page, _near(nodes, keep, found)))
    ):
        found[:] = False
    return found


def signed_posts(page: Page, thread: Thread, keep: Bools) -> tuple[Bools, Bools]:
    """(m,) leaves of what a forum tells of the authors of the posts, and (m,) those with author and date of each post.

    Only posts that are content by most of their words count. Author and date of a comment leave with it.
    """
    profiles, lines = np.zeros((2, len(keep)), np.bool_)
    words = page.nodes.words
    for post in thread.posts if thread.is_thread else ():
        leaves = np.setdiff1d(post.leaves, post.profile + post.line)
        if 2 * words[leaves[keep[leaves]]].sum() > words[leaves].sum():
            profiles[[*post.profile]] = True
            lines[[*post.line]] = True
    return profiles & ~lines, lines


def controls_of_posts(nodes: NodeTable, thread: Thread) -> list[int]:
    """Leaves of what most posts of a page have in lines of links or of its own: to reply, to quote, to report.

    Of texts without a link, only those are no words of the posts that stand in an element with a class, where hardly a
    post says another one: a post may be a word of thanks.
    """
    if len(thread.posts) < _FEWEST_POSTS:
        return []
    line = np.cumsum(nodes.gap >= LINE)
    linked, said_by = nodes.anchor[nodes.leaves], np.zeros(len(line), np.bool_)
    said_by[[leaf for post in thread.posts for leaf in post.line]] = True
    of_links = np.bincount(line, nodes.words * ~(linked | said_by)) == 0
    is_named = np.array([bool(look[2]) for look in nodes.looks])[nodes.look[nodes.leaves]]
    alone = (np.bincount(line) == 1)[line] & is_named
    is_short = np.array(
        [words <= _LABEL or len(text) <= _WIDE for words, text in zip(nodes.words.tolist(), nodes.strings, strict=True)]
    )
    may_be = is_short & ((of_links[line] & linked) | alone)
    own = [[leaf for leaf in post.leaves if may_be[leaf] and leaf not in post.line] for post in thread.posts]
    said = [{leaf: NUMBERED.sub("#", nodes.strings[leaf].strip()) for leaf in leaves} for leaves in own]
    often = Counter(text for each in said for text in {*each.values()} - {post.author for post in thread.posts})
    least = max(_FEWEST_POSTS, len(said) / 2)
    shapes = nodes.shape[nodes.leaves].tolist()
    of_shape = Counter(shapes[leaf] for post in thread.posts for leaf in post.leaves)
    alike = Counter((shapes[leaf], text) for each in said for leaf, text in each.items())
    return [
        leaf
        for each in said
        for leaf, text in each.items()
        if often[text] >= least and (linked[leaf] or alike[shapes[leaf], text] >= _MOST * of_shape[shapes[leaf]])
    ]


def _sections(nodes: NodeTable) -> list[int]:
    """Rows of the sections that are named so and have comments in them or are one, and of comments that look alike.

    Of alike sections without a date, more than two are of a manual, and so is what has its own heading as its id. A
    wrong end tag ends one before other comments.
    """
    sections = rows_with(nodes, looks.COMMENTS)
    if not sections:
        return []
    comments = np.array([row for row in rows_with(nodes, looks.COMMENT) if _may_be_comment(nodes, row)], np.int64)
    begins = np.searchsorted(comments, sections, side="right")
    ends = np.searchsorted(comments, nodes.end[sections])
    number = Counter(nodes.look[sections].tolist())
    within = (begins < ends) & np.array([number[look] <= _ALIKE for look in nodes.look[sections].tolist()])
    tags_and_classes = [(tag, classes) for tag, _, classes, _ in (nodes.looks[look] for look in nodes.look[comments])]
    like = {each for i in np.flatnonzero(within) for each in tags_and_classes[begins[i] : ends[i]]}
    alike = [row for row, each in zip(comments.tolist(), tags_and_classes, strict=True) if each in like]
    return [*np.array(sections)[within].tolist(), *alike, *_dated_sections(nodes, sections)]


def _may_be_comment(nodes: NodeTable, row: int) -> bool:
    """Whether an element has text, and an id that does not end with it: "line-comment" is made of "Line Comment"."""
    words = WORD.findall(nodes.strings[nodes.first_leaf.item(row)].lower()) if nodes.words_of(row) else []
    name = nodes.looks[nodes.look.item(row)][1].lower()
    return bool(words) and ("".join(words).isdecimal() or not name.endswith("-".join(words)))


def _dated_sections(nodes: NodeTable, sections: Iterable[int]) -> Iterator[int]:
    """Those of the sections that look the same and most of which have a line that tells a day: each is a comment."""
    alike: dict[int, list[int]] = {}
    for row in sections:
        alike.setdefault(nodes.look.item(row), []).append(row)
    several = [rows for rows in alike.values() if len(rows) > 1 and nodes.tag.item(rows[0]) not in _CELLS]
    lines = zip(nodes.words.tolist(), nodes.strings, strict=True) if several else ()
    days = up_to(np.array([words <= _DATE and dates.find(text, day_first=True) is not None for words, text in lines]))
    for rows in several:
        dated = (days[nodes.last_leaf[rows]] > days[nodes.first_leaf[rows]]).sum()
        yield from rows if 2 * dated > len(rows) else ()


def _near(nodes: NodeTable, keep: Bools, answers: Bools) -> Bools:
    """(n,) rows of the smallest element with most words of the content and of the answers, and of those around it.

    What stands before all of them or behind is left out: where tags are wrong, that element may be the whole page.
    """
    near = np.ones(len(nodes), np.bool_)
    for leaves in (keep & ~answers, answers):
        words = nodes.sum_below(nodes.words * leaves)
        near &= words >= _MOST * words[:1]
    smallest = np.flatnonzero(near)[-1:]
    near[slice(*smallest.tolist(), *nodes.end[smallest].tolist())] = True
    own = nodes.leaves[keep | answers]
    rows = np.arange(len(nodes))
    between: Bools = (rows <= own.max(initial=0)) & (nodes.end > own.min(initial=len(nodes)))
    return near & between
