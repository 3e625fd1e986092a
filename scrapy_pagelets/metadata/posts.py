"""Read the posts of a thread and the comments of readers: who wrote each of them, and when; tell forums."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise, repeat, zip_longest
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Ints, up_to
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.metadata import byline, dates
from scrapy_pagelets.metadata.dates import Habits
from scrapy_pagelets.page.looks import COMMENTS, POST, SIGNATURE
from scrapy_pagelets.page.nodes import (
    TAG,
    NodeTable,
    among_tags,
    attributes_at,
    having,
    rows_named,
    rows_tagged,
    rows_with,
)  # fmt: skip
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import types_of, value_of

# Programs for forums and their themes name addresses and classes in English, whatever the language of the text.
_FORUM: Final = lazily(
    r"(?<![a-z])(?:forums?|viewtopic|showthread|discourse|phpbb|vbulletin|bbs|(?:ultimate|u)bb|(thread|topic|board|question|discussion)s?)(?![a-z])",
    re.IGNORECASE,
)
#: Addresses of reports of bugs and requests.
_TRACKER: Final = lazily(
    r"(?<![a-z])(?:bugs?|tickets?|(?:issues|pull|browse)/[a-z-]*\d+(?:\.html)?/?$)(?![a-z])", re.IGNORECASE
)
_COMMENTS_ALONE: Final = lazily(r"/comments(?:/|$)", re.IGNORECASE)
#: How many of the names behind the bar are enough: comments have threads, too, and many pages have a list of topics.
_WEAK_SIGNS: Final = 2
#: Elements of menus, which lead to the forum of a site from everywhere.
_OF_MENUS: Final = ("a", "li", "ul", "nav", "span")
#: Types of schema.org of what people discuss.
_DISCUSSIONS: Final = frozenset(("DiscussionForumPosting", "QAPage", "Question"))


def is_forum(page: Page, near: Bools | None = None) -> bool:
    """Return True if the address of a page, the look of its body or elements name a forum, or what forums have.

    Of things that other pages have as well, as threads and topics, elements must name two.

    ``near``: (n,) the rows of the page that stand with its content; all if None. Any page may show the latest topics of
    a forum beside its text.
    """
    address = page.url.partition("#")[0]
    if any(form.search(address) for form in (_FORUM, _TRACKER, _COMMENTS_ALONE)):
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
    return len(weak) >= _WEAK_SIGNS


@once
def is_discussion(page: Page) -> bool:
    """Return True for a page of a forum, and for one that declares that people discuss something on it."""
    kinds = {kind for each in page.objects for kind in types_of(each)}
    kinds |= {(each.get("itemtype") or "").rpartition("/")[2] for each in page.microdata}
    return not _DISCUSSIONS.isdisjoint(kinds) or is_forum(page)


#: Types of schema.org of posts and comments.
_TYPES: Final = frozenset("Comment UserComments Review Answer Question DiscussionForumPosting".split())
_PROPERTIES: Final = ("author", "datePublished", "dateCreated")  # properties of posts in microdata
#: Names of what is no post of a thread, but said of something else, or in reply.
_IN_REPLY: Final = lazily(r"comment|review|repl(?:y|ies)|answer|journal", re.IGNORECASE)
_COMMENT: Final = lazily(r"comment|review", re.IGNORECASE)
#: The class of the post that opens a thread, where all have a head that is named as that of a reply.
_OPENS: Final = lazily(r"(?:^|\s)(?:topic|bz_first_comment|(?:\S*[-_])?(?:post-{,2}first|first-?post))(?:$|\s)")
#: Classes of names of users, and of what forums tell of the author of a post.
_USER: Final = lazily(
    r"(?:^|[\s_-])(?:(?:post)?user-?name|user-?(?:link|hover)|comment-?(?:user|name)|commenter|member-?name|display-?name|nick-?(?:name)?|creator|poster(?:-?name)?|"
    r"postleft|authi)(?:$|[\s_-])|(?:^|\s)(?:user|member)(?:$|\s)",
    re.IGNORECASE,
)
_PROFILE: Final = lazily(
    r"(?:^|(?<!has)[\s_-])(?:\w*profile|user-?_?(?:info|details|stats|cell|extras|block|box|data)|poster|message-?(?:user|sidebar)|postleft|favatar|"
    r"c?author-?_?(?:pane|info(?:rmation)?|statistics|box|details|role)|reply-author)(?:$|[\s_-])",
    re.IGNORECASE,
)
#: Labels of dates that are not those of a post.
_JOINED: Final = lazily(
    r"(?:join|regist|member since|since|last (?:visit|seen|active)|birth|inscri|beigetreten|dabei|mitglied|angemeldet|"
    r"dołączył|зарегистр|регистрац|注册|登録)\w*:",
    re.IGNORECASE,
)
#: Classes of elements that tell in words how long ago a post was written, and in their title exactly when.
_TIME: Final = lazily(
    r"(?:^|[\s_-])(?:age|date|timeline|time-?ago|relative-?time|timestamp)(?:$|[\s_-])", re.IGNORECASE
)
#: Labels of the date of a post, which then may stand beside what is told of its author.
_OF_POST: Final = lazily(r"\s*(?:asked|answered|commented|posted|written)(?: on)?\s*:?\s*$", re.IGNORECASE)
NUMBERED: Final = lazily(r"^#\d+$")  # a link to a post, with its number
_MOST: Final = 2000  # posts of a page
_DEEPEST: Final = 20  # levels of replies
_FIRST, _LAST = 30, 6  # runs of text at the beginning and at the end of a post that may tell of it
_LONG: Final = 15  # words of a longer run of text
#: Elements around the text of a comment that may have its head, too, and the runs of text of that.
_HEADED, _HEAD = 3, 12
_ABOVE: Final = 3  # elements from a name in microdata to that of the author whose it is
_BESIDE: Final = 2  # runs of text from a date to an element with the name of who is cited
_LINE: Final = 6  # runs of text between an author and a date in one line
_LABEL: Final = 3  # words of a label
_AGE: Final = 4  # words of "over 3 years ago"
_BOLD: Final = (TAG["b"], TAG["strong"])
_OF_PAGE: Final = among_tags("nav main h1 section")  # elements that are in no post
_SAYS: Final = 20  # characters of a text in which it says that it tells when a post was written
_ENOUGH: Final = 3  # dates that must be in order
_UNORDERED: Final = 0.3  # share of more steps that may be back, from the answers to one post to the next one


@dataclass(frozen=True, eq=False)
class Post:
    """A post of a thread, or a comment."""

    leaves: tuple[int, ...] = ()  # (k,) its leaves, without those of other posts in it, ascending
    author: str | None = None
    published: str | None = None  # in ISO 8601
    said_by: int = -1  # the leaf with its author, -1 without one
    said_at: int = -1  # the leaf with its date, -1 without one
    line: tuple[int, ...] = ()  # the leaves with author and date, and the words between them
    profile: tuple[int, ...] = ()  # the other leaves that tell of its author
    is_reply: bool = False  # whether its names say that it is a comment, a reply or an answer

    @property
    def is_signed(self) -> bool:
        """Whether it tells both author and date."""
        return self.author is not None and self.published is not None


@dataclass(frozen=True)
class Thread:
    """The posts of a page in document order; ``is_thread`` if they are what it is about, else they are comments."""

    posts: tuple[Post, ...] = ()
    is_thread: bool = False

    def opening(self, headline: int, moment: str | None) -> Post | None:
        """The post that began the thread; None without a thread, or if the page may have others before it.

        ``headline``: the leaf with the page's own heading, -1 without one: a reply with it is none. ``moment``: that of
        the publication of the page: nor is a reply of that moment.
        """
        first = self.posts[0] if self.is_thread else Post(is_reply=True)
        is_first = headline in first.leaves or (moment is not None and ":" in moment and first.published == moment)
        return None if first.is_reply and not is_first else first


NO_THREAD: Final = Thread()


def thread_of(page: Page, habits: Habits) -> Thread:
    """Find the posts of a thread or the comments of a page, by their names, types and numbers.

    A post counts if it tells its author or its date; one that only a link to itself tells, both. Dates in words that
    are in no order are those of something else, such as when the authors joined, and are left out.

    ``habits``: what the pages of the site tell alike.
    """
    rows = _rows(page, habits)
    types = (page.nodes.elements[row].get("itemtype") for row in rows) if page.microdata else repeat("")
    looks = (page.nodes.looks[look] for look in page.nodes.look[rows].tolist())
    names = {row: f"{look[1]} {look[2]} {kind}" for row, look, kind in zip(rows, looks, types, strict=False)}
    others = [row for row in rows if not _COMMENT.search(names[row])]
    is_thread = bool(rows) and (is_discussion(page) or _have_profiles(page.nodes, others))
    rows = rows if is_thread else [row for row in rows if _COMMENT.search(names[row])]
    cited = _cited(page) if not rows else []
    if not (rows or cited):
        return NO_THREAD
    opens = {number for number, row in enumerate(rows) if _OPENS.search(names[row])}
    in_reply = [i not in opens and bool(_IN_REPLY.search(names[row])) for i, row in enumerate(rows)]
    in_reply += [True] * len(cited)
    found = _Reader(page, habits).posts(rows or cited, in_reply, opens)
    found = [post for post in found if (post.is_signed if cited else post.author or post.published)]
    is_thread |= bool(cited) and is_discussion(page)
    return Thread(tuple(_in_order(found) if is_thread else found), is_thread and bool(found))


def _have_profiles(nodes: NodeTable, rows: Sequence[int]) -> bool:
    """Whether two posts or more show the profile of their author, as on forums alone."""
    profiles = rows_named(nodes, _PROFILE) if len(rows) > 1 else []
    places = np.searchsorted(profiles, rows), np.searchsorted(profiles, nodes.end[list(rows)])
    return int((places[0] < places[1]).sum()) > 1


def _rows(page: Page, habits: Habits) -> list[int]:
    nodes = page.nodes
    typed = {each for each in page.microdata if (each.get("itemtype") or "").rpartition("/")[2] in _TYPES}
    rows = {*rows_with(nodes, POST), *_rows_of(page, typed)} or {*_articles(page)} or {*_dated(page, habits)}
    return sorted(row for row in rows if nodes.first_leaf.item(row) < nodes.last_leaf.item(row))[:_MOST]


def _leaves_of(nodes: NodeTable, row: int) -> slice:
    """The leaves of a post; of the term of a list, which names the author, also those before the next term."""
    own, above = nodes.leaves_of(row), nodes.parent.item(row)
    if nodes.tag.item(row) != TAG["dt"]:
        return own
    terms = (each for each in nodes.children_of(above) if each > row and nodes.tag[each] == TAG["dt"])
    return slice(own.start, next(map(nodes.first_leaf.item, terms), nodes.last_leaf.item(above)))


def _articles(page: Page) -> Iterator[int]:
    """Rows of the ``article`` elements beside others, if people discuss something on the page."""
    rows = rows_tagged(page.nodes, TAG["article"])
    above = Counter(page.nodes.parent[rows].tolist())
    yield from (row for row in rows if above[page.nodes.parent.item(row)] > 1 and is_discussion(page))


def _dated(page: Page, habits: Habits) -> Iterator[int]:
    """Rows of the elements side by side that tell when they were posted, on forums that name none of them."""
    nodes = page.nodes
    strings = nodes.strings if _FORUM.search(page.url) else []
    may_be = (leaf for leaf, text in enumerate(strings) if "posted" in text[:_SAYS].lower() and dates.has_year(text))
    places = [nodes.leaves.item(leaf) for leaf in may_be if byline.dates_told(page, leaf, habits)]
    if len(places) < 2:
        return
    around = places[0]
    while around > 0 and nodes.end[around] <= places[-1]:
        around = nodes.parent.item(around)
    for row in places:
        while row > 0 and nodes.parent[row] != around:
            row = nodes.parent.item(row)
        if row > 0:
            yield row


def _authors(page: Page) -> set[etree._Element]:
    """The elements with the names of authors in microdata."""
    authors = {each for each in page.microdata if each.get("itemprop") == "author"}
    names = (each for each in page.microdata if each.get("itemprop") == "name") if authors else ()
    return {each for each in names if not authors.isdisjoint(islice(each.iterancestors(), _ABOVE))} or authors


def _rows_of(page: Page, elements: set[etree._Element]) -> list[int]:
    return [row for row, each in enumerate(page.nodes.elements) if each in elements] if elements else []


def _cited(page: Page) -> list[int]:
    """Rows of the elements with an id to which a link in them leads, as contributions have for those who cite them."""
    nodes, found = page.nodes, set[int]()
    is_signed = byline.called_author(nodes) or rows_named(nodes, _USER) or rows_with(nodes, COMMENTS)
    for link in having(nodes.links.href, "#") if is_signed else ():
        row, name = nodes.links.row.item(link), nodes.links.href[link].partition("#")[2]
        while name and row > 0 and nodes.looks[nodes.look.item(row)][1] != name:
            row = nodes.parent.item(row)
        found.add(max(row, 0) if name else 0)
    whole = up_to(_OF_PAGE[nodes.tag])  # "back to top" leads to what has the whole page
    own = (row for row in found - {0} if nodes.words_of(row) and whole[nodes.end[row]] == whole[row])
    return sorted(own)[:_MOST]


class _Reader:
    """Reads the posts of a page."""

    def __init__(self, page: Page, habits: Habits) -> None:
        self._page, self._habits, self._day_first, nodes = page, habits, habits.day_first(page), page.nodes
        self._in_profile = nodes.leaves_below((*rows_named(nodes, _PROFILE), *rows_with(nodes, SIGNATURE)))
        may_be = (leaf for leaf, text in enumerate(nodes.strings) if ":" in text and nodes.words.item(leaf) < _LONG)
        dated = [leaf for leaf in may_be if dates.has_year(nodes.strings[leaf])]
        joined = [leaf for leaf in dated if _JOINED.search(nodes.strings[leaf])]
        self._in_profile[joined if len(joined) > 1 else []] = True
        self._marked = nodes.leaves_below(_rows_of(page, _authors(page)))
        near = {leaf + step for leaf in dated for step in range(-_BESIDE, _BESIDE + 1)}
        cited = (row for row in rows_tagged(nodes, TAG["cite"]) if nodes.first_leaf.item(row) in near)
        self._names = nodes.leaves_below((*byline.called_author(nodes), *rows_named(nodes, _USER), *cited))
        self._dated = dict(self._machine_dates())
        self._quoted = nodes.leaves_below(rows_tagged(nodes, TAG["blockquote"]))
        self._called_dates = nodes.leaves_below(rows_named(nodes, _TIME))

    @cached_property
    def _linked(self) -> Bools:
        """(m,) leaves of links to pages of users."""
        return self._page.nodes.leaves_below(byline.users_of(self._page, range(len(self._page.nodes.leaves))))

    def posts(self, rows: Sequence[int], in_reply: Sequence[bool], opens: Set[int]) -> list[Post]:
        """The posts in some rows; what is divided between two elements, one in or behind the other, is one."""
        above, inside, owner = self._nested(self._with_heads(rows))
        order = np.argsort(owner, kind="stable")
        ends = np.searchsorted(owner[order], np.arange(-1, len(rows)), side="right").tolist()
        found = [self._read(Post(tuple(order[start:end].tolist()), is_reply=is_reply)) for (start, end), is_reply in
                 zip(pairwise(ends), in_reply, strict=True)]  # fmt: skip
        parts = [[number for number in inner if not found[number].is_signed] for inner in inside]
        for number in range(len(rows) - 1, -1, -1):
            other = found[parts[number][0]] if len(parts[number]) == 1 else Post()
            if other.leaves and not (found[number].is_signed and (other.author or other.published)):
                found[number] = self._joined(found[number], other)
                found[parts[number][0]] = Post()
            if _holds_posts(found[number], found, inside[number]):
                found[number] = Post()
        for number in range(1, len(rows)):
            one, other = found[number - 1], found[number]
            told = {(post.author is None, post.published is None) for post in (one, other)}
            are_halves = told == {(True, False), (False, True)}  # one has an author, the other a date
            if are_halves and above[number - 1] == above[number]:
                joined = self._joined(one, other)
                found[number - 1] = Post()
                found[number] = replace(joined, is_reply=one.is_reply and number not in opens)
        posts = [self._declared(row, post) for row, post in zip(rows, found, strict=True)] if self._unsaid else found
        each = zip(found, posts, inside, strict=True)
        return [Post() if _holds_posts(one, posts, inner) else post for one, post, inner in each]

    @cached_property
    def _unsaid(self) -> list[tuple[int, str, str]]:
        """The rows with authors and dates in microdata that no text tells, with the property and its value."""
        nodes = self._page.nodes
        named = {each: prop for each in self._page.microdata if (prop := each.get("itemprop") or "") in _PROPERTIES}
        rows = ((row, each) for row, each in enumerate(nodes.elements if named else ()) if each in named)
        silent = nodes.first_leaf == nodes.last_leaf
        return [(row, named[each], value_of(each)) for row, each in rows if silent[row]]

    def _declared(self, row: int, post: Post) -> Post:
        """A post with what the microdata in its element tells and its text does not."""
        first, end = (bisect_left(self._unsaid, (edge,)) for edge in (row, self._page.nodes.end.item(row)))
        told = self._unsaid[first:end] if post.leaves else []
        authors = (byline.name_in(value) for _, prop, value in told if prop == "author")
        moments = (dates.iso(value) for _, prop, value in told if prop != "author")
        author = post.author or next(filter(None, authors), None)
        return replace(post, author=author, published=post.published or next(filter(None, moments), None))

    def _with_heads(self, rows: Sequence[int]) -> list[int]:
        """The rows, but for texts without author and date those of the elements that begin with these."""
        nodes, names = self._page.nodes, self._names | self._linked
        tells = names.copy()
        tells[[*self._dated]] = True
        found = list[int]()
        for row, behind in zip_longest(rows, rows[1:], fillvalue=len(nodes)):
            around, leaves, before = row, _leaves_of(nodes, row), found[-1] if found else -1
            for _ in range(_HEADED if not tells[leaves].any() else 0):
                around = nodes.parent.item(around)
                head = slice(nodes.first_leaf.item(around), leaves.start)
                if around <= before or nodes.end[around] > behind or head.stop - head.start > _HEAD:
                    break
                row = around if tells[head].any() else row
                if names[head].any():
                    break
            found.append(row)
        return found

    def _nested(self, rows: Sequence[int]) -> tuple[list[int], list[list[int]], Ints]:
        """For each row the number of the one around it, -1 without one, and those right inside; (m,) the innermost."""
        nodes = self._page.nodes
        owner = np.full(len(nodes.leaves), -1)
        above, stack = list[int](), list[int]()
        inside: list[list[int]] = [[] for _ in rows]
        for number, row in enumerate(rows):
            while stack and nodes.end[rows[stack[-1]]] <= row:
                stack.pop()
            above.append(stack[-1] if stack else -1)
            if stack:
                inside[stack[-1]].append(number)
            if len(stack) < _DEEPEST:
                stack.append(number)
                owner[_leaves_of(nodes, row)] = number
        return above, inside, owner

    def _joined(self, one: Post, other: Post) -> Post:
        return self._read(Post(tuple(sorted(one.leaves + other.leaves)), is_reply=one.is_reply))

    def _read(self, post: Post) -> Post:
        """A post with what its first and last leaves tell."""
        words = self._page.nodes.words
        near = dict.fromkeys(post.leaves[:_FIRST] + post.leaves[-_LAST:])
        short = [leaf for leaf in near if words.item(leaf) < _LONG and not self._quoted[leaf]]
        said_at, published = self._date(short)
        said_by, author = self._author(short)
        if author is None and said_at >= 0:
            said_by, author = self._in_first_cell(post.leaves[0], said_at)
        if author and said_at >= 0:  # rather the name in the line of the date than that in the profile
            beside = range(said_at - _LINE, said_at + _LINE + 1)
            strings, own = self._page.nodes.strings, (leaf for leaf in short if not self._in_profile[leaf])
            said_by = next((leaf for leaf in own if leaf in beside and author in strings[leaf]), said_by)
        told = replace(post, author=author, published=published, said_by=said_by, said_at=said_at)
        told = replace(told, line=tuple(self._line(told)))
        return replace(told, profile=self._profile(told))

    def _author(self, leaves: Sequence[int]) -> tuple[int, str | None]:
        strings = self._page.nodes.strings
        marked = ((leaf, byline.name_in(strings[leaf])) for leaf in leaves if self._marked[leaf])
        names = (leaf for leaf in leaves if self._names[leaf] and not byline.announces(strings[leaf]))
        called = ((leaf, byline.name_in(strings[leaf])) for leaf in names)
        signed = ((leaf, byline.signed_name(strings[leaf])) for leaf in leaves)
        users = (leaf for leaf in leaves if self._linked[leaf] or byline.announces(strings[leaf - 1]))
        linked = ((leaf, byline.name_in(strings[leaf])) for leaf in users)
        named = ((leaf, name) for each in (marked, called, linked, signed) for leaf, name in each)
        # A letter stands where others have a picture.
        return next(((leaf, name) for leaf, name in named if name and len(name) > 1), (-1, None))

    def _in_first_cell(self, leaf: int, said_at: int) -> tuple[int, str | None]:
        """The name in bold that a post begins with, in another cell than that of its date, as on forums of tables."""
        nodes = self._page.nodes
        is_bold = nodes.tag[nodes.parent[nodes.leaves[leaf]]] in _BOLD
        name = byline.name_in(nodes.strings[leaf]) if is_bold and self._cell(leaf, said_at) else None
        return (leaf, name) if name else (-1, None)

    def _cell(self, leaf: int, said_at: int) -> range:
        """The leaves of the cell of a table with one leaf and without another one."""
        nodes = self._page.nodes
        row = nodes.parent.item(nodes.leaves.item(leaf)) if min(leaf, said_at) >= 0 else -1
        while row > 0 and nodes.tag[row] != TAG["td"]:
            row = nodes.parent.item(row)
        leaves = range(nodes.first_leaf.item(row), nodes.last_leaf.item(row)) if row > 0 else range(0)
        return leaves if said_at not in leaves else range(0)

    def _date(self, leaves: Sequence[int]) -> tuple[int, str | None]:
        """The first date that an attribute tells, else in words, else that a class calls one, else in a title."""
        strings = self._page.nodes.strings
        dated = [leaf for leaf in leaves if dates.has_year(strings[leaf])]
        machine = ((leaf, self._dated[leaf]) for leaf in leaves if leaf in self._dated)
        words = ((leaf, told) for leaf in dated for told, change in self._told(leaf) if not change)
        called = ((leaf, dates.find(strings[leaf], self._day_first)) for leaf in dated if self._called_dates[leaf])
        amid = ((leaf, told[0]) for leaf, told in called if told)  # "Reviewed in India on 4 May 2025"
        short = (leaf for leaf in leaves if self._page.nodes.words.item(leaf) <= _AGE)
        ages = ((leaf, told) for leaf in short for told, _ in self._told(leaf))
        found = (one for each in (machine, words, amid, ages) for one in each if not self._is_of_author(one[0]))
        return next(found, (-1, None))

    def _told(self, leaf: int) -> list[tuple[str, int]]:
        return byline.dates_told(self._page, leaf, self._habits)

    def _machine_dates(self) -> Iterator[tuple[int, str]]:
        """The dates of ``time`` and ``abbr`` elements, each with its first leaf, but for dates of a change."""
        nodes = self._page.nodes
        for row in (*rows_tagged(nodes, TAG["time"]), *rows_tagged(nodes, TAG["abbr"])):
            if (told := byline.machine_date(self._page, row)) and not told[1]:
                yield nodes.first_leaf.item(row), told[0]
        rows = [row for row in rows_named(nodes, _TIME) if nodes.leaves_of(row).start < nodes.leaves_of(row).stop]
        for row, title in zip(rows, attributes_at(nodes, rows, "title"), strict=True):
            match = dates.MOMENT.search(title)
            if moment := dates.iso(match[0] if match else title):
                yield nodes.first_leaf.item(row), moment

    def _is_of_author(self, leaf: int) -> bool:
        """Whether a date is that of something else, as the label before it or its place says."""
        nodes = self._page.nodes
        if "posted" in nodes.strings[leaf][:_SAYS].lower():
            return False
        label = nodes.strings[leaf - 1] if leaf and nodes.words.item(leaf - 1) <= _LABEL else ""
        return bool(self._in_profile[leaf]) and not _OF_POST.match(label)

    def _line(self, post: Post) -> Iterator[int]:
        first, last = sorted((post.said_by, post.said_at))
        yield from {first, last} - {-1}
        between = range(first + 1, last if first >= 0 and last - first <= _LINE else 0)
        strings = self._page.nodes.strings
        own = (leaf for leaf in between if not (self._in_profile[leaf] or NUMBERED.fullmatch(strings[leaf].strip())))
        words = {leaf for leaf in own if byline.is_between(strings[leaf])}
        # "in" may stand before the name of a forum.
        yield from (leaf for leaf in words if leaf + 1 in words or leaf + 1 == last)

    def _profile(self, post: Post) -> tuple[int, ...]:
        """What tells of the author, but for the name if it stands nowhere else; nothing if it is most of the post."""
        words, leaves = self._page.nodes.words, np.array(post.leaves, np.int64)
        inside = leaves[self._in_profile[leaves] | np.isin(leaves, self._cell(post.said_by, post.said_at))]
        if 2 * words[inside].sum() > words[leaves].sum():
            return ()
        return tuple(leaf for leaf in inside.tolist() if leaf not in post.line)


def _holds_posts(post: Post, found: Sequence[Post], inside: Sequence[int]) -> bool:
    """Whether a post is none, but holds some."""
    return not post.is_signed and sum(found[inner].is_signed for inner in inside) > 1


def _in_order(posts: list[Post]) -> list[Post]:
    """The posts of a thread, without their dates if those in words neither rise nor fall, answers in between aside."""
    spoken = {post: post.published for post in posts if post.published and len(post.published) == len("2024-05-01")}
    steps = [*pairwise(spoken.values())]
    against = min(sum(one > other for one, other in steps), sum(one < other for one, other in steps))
    if len(spoken) < _ENOUGH or against <= max(0, _UNORDERED * (len(steps) - _ENOUGH)):
        return posts
    return [replace(one, published=None, said_at=-1, line=(one.said_by,)) if one in spoken else one for one in posts]
