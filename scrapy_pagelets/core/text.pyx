# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The texts and XPaths of leaves, see `scrapy_pagelets.page.text`, `scrapy_pagelets.feed.content_words`."""

from cpython.unicode cimport PyUnicode_Find, PyUnicode_Tailmatch
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from libcpp.string cimport string
from libcpp.vector cimport vector


import numpy as np


from scrapy_pagelets.core.arrays cimport Integers, integers, pointer
from scrapy_pagelets.core.columns cimport Columns, Nodes, columns_of

cdef extern from "Python.h":
    str PyUnicode_FromKindAndData(int kind, const void *characters, Py_ssize_t size)

# As in `scrapy_pagelets.page.nodes`.
cdef enum:
    GLUED, SPACE, CELL, LINE, PARAGRAPH
cdef enum:
    TEXT = 1

cdef tuple SEPARATORS = ("", " ", "\t", "\n", "\n\n")
cdef frozenset NO_ITEMS = frozenset()
#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef object xpath_name = None
cdef int64_t longest_heading = -1
cdef str marks_of_headings = "", marks = ""
#: By pattern, in which classes it is found; how many are remembered, and the characters of the longest.
cdef dict classes_named = {}
cdef enum:
    MOST_CLASSES = 2000
    LONGEST_CLASSES = 200
#: Where they are kept in the namespace of a node table.
cdef str KEPT = "_texts_of_core"


cdef class Texts:
    """What the texts and paths of a node table are made of."""

    cdef const int64_t *parent
    cdef const int64_t *end
    cdef const int64_t *tag
    cdef const int64_t *look
    cdef const int64_t *leaves
    cdef const int64_t *first
    cdef const int64_t *last
    cdef const int64_t *gap
    cdef const int64_t *number
    cdef const int64_t *words
    cdef const int64_t *link_rows
    cdef const int64_t *link_keys
    cdef int64_t rows, size, link_count  # number of rows, of leaves, of links
    cdef Columns kept  # where the pointers lead into
    cdef list strings, looks, names
    cdef dict spaces
    cdef vector[int32_t] kind, rank, count, seen  # number of a look's name; ranks of rows among namesakes, from 1

    def __cinit__(self, table):
        self.kept = columns_of(table)
        cdef Nodes nodes = self.kept.nodes
        self.rows, self.size, self.link_count = nodes.n, nodes.m, nodes.links
        self.parent, self.end, self.tag, self.look = nodes.parent, nodes.end, nodes.tag, nodes.look
        self.first, self.last, self.leaves, self.gap = nodes.first_leaf, nodes.last_leaf, nodes.leaves, nodes.gap
        self.number, self.words, self.link_rows, self.link_keys = nodes.number, nodes.words, nodes.link_row, nodes.link_key
        self.strings, self.spaces, self.looks = table.strings, table.spaces, table.looks
        if len(self.strings) != self.size or len(self.looks) != <Py_ssize_t>nodes.looks:
            raise ValueError("there is not a text for each leaf, or not a look for each of the signs")

    def __reduce__(self):
        return type(None), ()  # the copy of a table makes its own

    cdef int check(self, Integers leaves) except -1:
        """Leaves are ascending, and there are so many: what follows does not look again."""
        cdef Py_ssize_t i
        cdef int64_t before = -1
        for i in range(leaves.size):
            if leaves.at[i] <= before or leaves.at[i] >= self.size:
                raise IndexError("the leaves are not ascending, or not those of this page")
            before = leaves.at[i]
        return 0

    cdef int64_t gap_before(self, Integers leaves, Py_ssize_t i) noexcept:
        """The gap between one of some leaves and the one before; with another between them, they are separate words."""
        cdef int64_t j, leaf = leaves.at[i], start = leaves.at[i - 1] + 1 if i else leaf
        cdef int64_t gap = SPACE if leaf > start else GLUED
        for j in range(start, leaf + 1):
            gap = max(gap, self.gap[j])
        return gap

    cdef str white_before(self, Integers leaves, Py_ssize_t i, int64_t gap):
        """The white space between the same two inside ``pre``; "" elsewhere."""
        cdef int64_t j, leaf = leaves.at[i], start = leaves.at[i - 1] + 1 if i and gap <= SPACE else leaf
        return "".join([self.spaces.get(j, "") for j in range(start, leaf + 1)]) if leaf in self.spaces else ""

    cdef list runs(self, Integers leaves):
        cdef list found = []
        cdef Py_ssize_t i
        cdef int64_t gap
        for i in range(leaves.size):
            gap = self.gap_before(leaves, i)
            found.append((leaves.at[i], gap, self.white_before(leaves, i, gap)))
        return found

    cdef str text(self, Integers leaves, frozenset items):
        cdef list pieces = []
        cdef Py_ssize_t i
        cdef int64_t leaf, gap
        cdef bint spaced = len(self.spaces) > 0, itemised = len(items) > 0
        cdef str white
        for i in range(leaves.size):
            leaf, gap = leaves.at[i], self.gap_before(leaves, i)
            white = self.white_before(leaves, i, gap) if spaced else ""
            if i == 0:
                pieces.append(white.rpartition("\n")[2])
            elif gap <= SPACE:
                pieces.append(white or SEPARATORS[gap])
            else:
                pieces.append(SEPARATORS[gap])
                if white:
                    pieces.append(white if gap == LINE else white.rpartition("\n")[2])
            if itemised and leaf in items:
                pieces.append("- ")
            pieces.append(self.strings[leaf])
        return "".join(pieces)

    cdef list links(self, Integers leaves):
        cdef list found = []
        cdef int64_t leaf, last = self.size - 1
        cdef Py_ssize_t i, low, high, middle
        for i in range(leaves.size):
            leaf = leaves.at[i]
            if i == 0 or leaf > leaves.at[i - 1] + 1:  # find the first link of the leaf
                low, high = 0, self.link_count
                while low < high:
                    middle = (low + high) // 2
                    if min(self.first[self.link_rows[middle]], last) < leaf:
                        low = middle + 1
                    else:
                        high = middle
            while low < self.link_count and min(self.first[self.link_rows[low]], last) == leaf:
                if self.link_keys[low] != 0:
                    found.append(low)
                low += 1
        return found

    cdef str anchor(self, int64_t row):
        """The text of a row, with its white space folded."""
        cdef int64_t leaf, first = self.first[row], last = self.last[row]
        if last == first + 1 and not self.spaces:
            return self.strings[first]
        cdef vector[int64_t] inside
        for leaf in range(first, last):
            inside.push_back(leaf)
        return " ".join(self.text(Integers(inside.data(), inside.size()), NO_ITEMS).split())

    cdef list roots(self, Integers leaves):
        cdef list tops = []
        cdef Py_ssize_t i = 0, j, size = leaves.size
        cdef int64_t leaf, end, row, above
        while i < size:
            j = i + 1
            while j < size and leaves.at[j] == leaves.at[j - 1] + 1:
                j += 1
            leaf, end = leaves.at[i], leaves.at[j - 1] + 1
            while leaf < end:
                row = self.leaves[leaf]
                above = self.parent[row]
                while above >= 0 and self.first[above] == leaf and self.last[above] <= end:
                    row, above = above, self.parent[above]
                tops.append(row)
                leaf = self.last[row]
            i = j
        return tops

    cdef str path(self, nodes, int64_t row):
        """The XPath of a row, as `NodeTable.xpath`."""
        cdef list below = []
        cdef dict paths = nodes.known_paths
        cdef str path
        cdef object known
        if self.tag[row] == TEXT:
            return f"{self.path(nodes, self.parent[row])}/text()[{self.number[self.first[row]]}]"
        known = paths.get(row)
        while known is None:
            below.append(row)
            row = self.parent[row]
            known = paths.get(row)
        path = known
        while below:
            row = below.pop()
            path = f"{path}/{self.step(nodes, row)}"
            paths[row] = path
        return path

    cdef int name_kinds(self) except -1:
        """Number the names of the looks."""
        cdef dict numbers = {}
        self.names = [None] * len(self.looks)
        for look in self.looks:
            self.kind.push_back(numbers.setdefault(look[0], len(numbers)))
        self.seen.assign(len(numbers), 0)
        self.rank.assign(self.rows, 0)
        self.count.assign(self.rows, 0)
        return 0

    cdef str step(self, nodes, int64_t row):
        if self.names is None:
            self.name_kinds()
        cdef int64_t look = self.look[row]
        cdef object name = self.names[look]
        if name is None:
            name = self.looks[look][0]
            if not xpath_name.fullmatch(name):
                return nodes.step(row)
            self.names[look] = name
        if self.count[row] == 0:
            self.rank_children(self.parent[row])
        return name if self.count[row] == 1 else f"{name}[{self.rank[row]}]"

    cdef int rank_children(self, int64_t parent) except -1:
        cdef int64_t child = parent + 1, end = self.end[parent]
        while child < end:
            if self.tag[child] != TEXT:
                self.seen[self.kind[self.look[child]]] += 1
                self.rank[child] = self.seen[self.kind[self.look[child]]]
            child = self.end[child]
        child = parent + 1
        while child < end:
            if self.tag[child] != TEXT:
                self.count[child] = self.seen[self.kind[self.look[child]]]
            child = self.end[child]
        child = parent + 1
        while child < end:
            self.seen[self.kind[self.look[child]]] = 0
            child = self.end[child]
        return 0


cdef Texts texts_of(nodes):
    """What the texts of a table are made of, kept with it."""
    global xpath_name
    if xpath_name is None:
        xpath_name = given["XPATH_NAME"]
    cdef Texts columns = nodes.__dict__.get(KEPT)
    if columns is None:
        columns = nodes.__dict__[KEPT] = Texts(nodes)
    return columns


def rows_with(nodes, int64_t sign):
    """Rows of the elements whose look has a sign, see `looks.signs`, in document order."""
    cdef Texts columns = texts_of(nodes)
    cdef const int64_t *signs = columns.kept.nodes.signs
    cdef list found = []
    cdef int64_t row, all_signs = 0
    for row in range(<int64_t>columns.kept.nodes.looks):
        all_signs |= signs[row]
    if all_signs & sign:
        for row in range(columns.rows):
            if signs[columns.look[row]] & sign and columns.tag[row] != TEXT:
                found.append(row)
    return found


def rows_tagged(nodes, int64_t tag):
    """Rows with a tag, in document order."""
    cdef Texts columns = texts_of(nodes)
    cdef int64_t row
    return [row for row in range(columns.rows) if columns.tag[row] == tag]


def rows_named(nodes, names):
    """Rows of the elements in whose classes a pattern is found, in document order."""
    cdef Texts columns = texts_of(nodes)
    cdef dict known = classes_named.setdefault(names, {})
    cdef vector[uint8_t] named
    cdef bint any_named = False
    cdef int64_t row
    if len(known) >= MOST_CLASSES:
        known.clear()
    for look in columns.looks:
        classes = (<tuple>look)[2]
        is_named = known.get(classes)
        if is_named is None:
            is_named = names.search(classes) is not None
            if len(<str>classes) <= LONGEST_CLASSES and len(known) < MOST_CLASSES:
                known[classes] = is_named
        named.push_back(is_named is True)
        any_named |= is_named is True
    return [row for row in range(columns.rows) if named[columns.look[row]] and columns.tag[row] != TEXT] if any_named else []


def leaves_beginning(nodes, characters):
    """The leaves whose text has one of some characters at each place of its beginning; "" stands for any character."""
    cdef list strings = nodes.strings, found = [], wanted = list(characters)
    cdef Py_ssize_t leaf
    for leaf in range(len(strings)):
        if begins(strings[leaf], wanted):
            found.append(leaf)
    return found


def beginning(list strings, str start):
    """The places of the strings that begin with one."""
    cdef list found = []
    cdef Py_ssize_t i
    for i in range(len(strings)):
        if PyUnicode_Tailmatch(strings[i], start, 0, len(<str>strings[i]), -1):
            found.append(i)
    return found


def having(list strings, str part):
    """The places of the strings that have one in them."""
    cdef list found = []
    cdef Py_ssize_t i
    for i in range(len(strings)):
        if PyUnicode_Find(strings[i], part, 0, len(<str>strings[i]), 1) >= 0:
            found.append(i)
    return found


cdef bint begins(str text, list characters) except -1:
    cdef Py_ssize_t i
    cdef str known
    if len(text) < len(characters):
        return False
    for i in range(len(characters)):
        known = characters[i]
        if len(known) and text[i] not in known:
            return False
    return True


def left_over(nodes):
    """(m,) whether a leaf is alone on its line and has only marks."""
    cdef Texts columns = texts_of(nodes)
    cdef int64_t leaf
    cdef str left_over_marks = given["LEFT_OVER"]
    found = np.zeros(columns.size, np.bool_)
    cdef uint8_t *out = <uint8_t*>pointer(found)
    for leaf in range(columns.size):
        if columns.words[leaf] == 0 and columns.gap[leaf] >= LINE:
            if leaf + 1 == columns.size or columns.gap[leaf + 1] >= LINE:
                out[leaf] = leaf not in columns.spaces and not columns.strings[leaf].strip(left_over_marks)
    return found


def written_leaves(nodes, keep):
    """(k,) the leaves to keep, but for those that are `left_over`."""
    cdef Texts columns = texts_of(nodes)
    left = left_over(nodes)
    cdef const uint8_t[::1] kept = keep.view("uint8")
    cdef const uint8_t *is_left = <const uint8_t*>pointer(left)
    cdef vector[int64_t] found
    cdef int64_t leaf
    if kept.shape[0] != columns.size:
        raise IndexError("the mask does not have a value for each leaf")
    for leaf in range(columns.size):
        if kept[leaf] and not is_left[leaf]:
            found.push_back(leaf)
    leaves = np.empty(found.size(), np.int64)
    if found.size():
        memcpy(pointer(leaves), found.data(), found.size() * sizeof(int64_t))
    return leaves


def told_of(nodes, parts, bint with_paths):
    """What the record of each pagelet tells: its XPaths, its text, the number of its words, and its links.

    Parameters
    ----------
    parts : for each pagelet the indices of its leaves, ascending
    with_paths : whether XPaths are asked for, else there are none
    """
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted
    cdef int64_t words, row
    cdef Py_ssize_t i
    cdef list told = []
    for leaves in parts:
        wanted = integers(leaves)
        columns.check(wanted)
        words = 0
        for i in range(wanted.size):
            words += columns.words[wanted.at[i]]
        paths = [columns.path(nodes, row) for row in columns.roots(wanted)] if with_paths else []
        told.append((paths, columns.text(wanted, NO_ITEMS), words, columns.links(wanted)))
    return told


def without_invisible(str text):
    """A text without characters that no reader sees."""
    cdef Py_UCS4 c
    cdef list pieces = []
    cdef Py_ssize_t i, begin = 0
    if text.isascii():
        return text
    for i, c in enumerate(text):
        if c > 127 and not c.isprintable() and given["is_invisible"](c):
            pieces.append(text[begin:i])
            begin = i + 1
    return "".join(pieces) + text[begin:] if begin else text


def words_in(nodes, leaves):
    """Number of the words of some leaves."""
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    cdef int64_t words = 0
    cdef Py_ssize_t i
    columns.check(wanted)
    for i in range(wanted.size):
        words += columns.words[wanted.at[i]]
    return words


def first_of_items(nodes, leaves):
    """Those of some leaves, in ascending order, with which an item of a list begins."""
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    cdef int64_t row, low, high, middle, item = given["ITEMS"]
    cdef list found = []
    columns.check(wanted)
    for row in range(columns.rows):
        if columns.tag[row] == item:
            low, high = 0, wanted.size
            while low < high:
                middle = (low + high) // 2
                if wanted.at[middle] < columns.first[row]:
                    low = middle + 1
                else:
                    high = middle
            if low < wanted.size and wanted.at[low] < columns.last[row]:
                found.append(wanted.at[low])
    return frozenset(found)


def text_of(nodes, leaves, items=frozenset()):
    """Text of some leaves, in time that depends on their number and not on the size of the page.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    items : leaves that get a hyphen, because an item begins with them
    """
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    columns.check(wanted)
    return columns.text(wanted, items)


def runs_of(nodes, leaves):
    """Each of some leaves with its gap to the one before and, inside ``pre``, the white space between them.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    """
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    columns.check(wanted)
    return columns.runs(wanted)


def roots(nodes, leaves):
    """Rows of the maximal subtrees that have no other leaves, in document order; a single leaf counts as a subtree.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    """
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    columns.check(wanted)
    return columns.roots(wanted)


def path_of(nodes, int64_t row):
    """The XPath of a row, see `NodeTable.xpath`."""
    cdef Texts columns = texts_of(nodes)
    if not 0 <= row < columns.rows:
        raise IndexError(f"the page has no row {row}")
    return columns.path(nodes, row)


def paths_of(nodes, leaves):
    """XPaths of the fewest nodes with exactly some leaves: elements, and ``text()[k]`` for single runs of text.

    The time depends on the number of leaves and not on the size of the page.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    """
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    cdef int64_t row
    columns.check(wanted)
    return [columns.path(nodes, row) for row in columns.roots(wanted)]


def anchors_of(nodes, list links):
    """The text of some links, with its white space folded."""
    cdef Texts columns = texts_of(nodes)
    cdef list found = []
    cdef int64_t link
    for link in links:
        if not 0 <= link < columns.link_count:
            raise IndexError(f"the page has no link {link}")
        found.append(columns.anchor(columns.link_rows[link]))
    return found


cdef int set_up_headings() except -1:
    global longest_heading, marks_of_headings
    if longest_heading < 0:
        marks_of_headings, longest_heading = given["MARKS_OF_HEADINGS"], given["LONGEST_HEADING"]
    return 0


def heading_text(nodes, int64_t row):
    """Text of a heading without the marks of permalinks; "" if it is too long."""
    set_up_headings()
    cdef Texts columns = texts_of(nodes)
    if not 0 <= row < columns.rows:
        raise IndexError(f"the page has no row {row}")
    cdef int64_t leaf, words = 0, first = columns.first[row], last = columns.last[row]
    cdef str text
    if last - first > longest_heading:
        return ""
    for leaf in range(first, last):
        words += columns.words[leaf]
    if words > longest_heading:
        return ""
    if last == first + 1:
        text = columns.strings[first]
    else:
        text = "".join([
            part for leaf in range(first, last) for part in (" " if columns.gap[leaf] else "", columns.strings[leaf])
        ])  # fmt: skip
    return " ".join(text.strip(marks_of_headings).split())


def naming(nodes, list rows, list titles):
    """Those of some headings that are of the first level, begin with a word of a title, or have its first word."""
    cdef Texts columns = texts_of(nodes)
    cdef int64_t row, first_level = given["FIRST_LEVEL"]
    cdef vector[string] known, first
    cdef list found = [], title
    cdef str word, text
    for title in titles:
        if not title:
            raise IndexError("a title has no words")
        first.push_back(encoded(title[0]))
        for word in title:
            known.push_back(encoded(word))
    for row in rows:
        text = heading_text(nodes, row)
        if columns.tag[row] == first_level or shares_word(text, known, first):
            found.append(row)
    return found


cdef string encoded(str word) except *:
    return word.encode("utf-8", "replace")


cdef bint is_among(const string &word, const vector[string] &words) noexcept:
    cdef size_t i
    for i in range(words.size()):
        if words[i] == word:
            return True
    return False


cdef bint shares_word(str text, const vector[string] &known, const vector[string] &first) except -1:
    """Whether a text begins with one of some words, or has one of others."""
    cdef Py_UCS4 character
    cdef int c
    cdef string word
    cdef bint begins = True
    if not text.isascii():
        for each in given["words_of_heading"](text):
            word = encoded(each)
            if (begins and is_among(word, known)) or is_among(word, first):
                return True
            begins = False
        return False
    for character in text + " ":
        c = <int>character
        if c"0" <= c <= c"9" or c"a" <= c <= c"z":
            word.push_back(<char>c)
        elif c"A" <= c <= c"Z":
            word.push_back(<char>(c + 32))
        elif not word.empty():
            if (begins and is_among(word, known)) or is_among(word, first):
                return True
            begins = False
            word.clear()
    return False


def content_of(nodes, keep):
    """The words of the leaves to keep, in document order, separated by single spaces; no Markdown is added.

    Parameters
    ----------
    keep : (m,) a mask of the leaves

    Examples
    --------
    >>> from scrapy_pagelets.page.page import Page
    >>> nodes = Page.parse(b"<ol><li>On<b>e</b> item<li>Two</ol>", "http://a/").nodes
    >>> content_of(nodes, np.ones(4, np.bool_))
    'One item Two'
    """
    cdef Texts columns = texts_of(nodes)
    cdef const uint8_t[::1] kept = keep.view("uint8")
    cdef list pieces = []
    cdef int64_t leaf, before = -2
    cdef bint spaced = len(columns.spaces) > 0
    if kept.shape[0] != columns.size:
        raise IndexError("the mask does not have a value for each leaf")
    for leaf in range(kept.shape[0]):
        if kept[leaf]:
            if columns.gap[leaf] >= SPACE or leaf > before + 1 or (spaced and columns.spaces.get(leaf)):
                pieces.append(" ")
            pieces.append(columns.strings[leaf])
            before = leaf
    return folded("".join(pieces))


cdef str folded(str text):
    """A text with its white space folded, without a list of its words."""
    cdef vector[Py_UCS4] out
    cdef bint gap = False
    cdef Py_UCS4 c
    out.reserve(len(text))
    for c in text:
        if c.isspace():
            gap = True
            continue
        if gap and not out.empty():
            out.push_back(32)
        gap = False
        out.push_back(c)
    return PyUnicode_FromKindAndData(4, out.data(), out.size())


def visible_words(str text):
    """A text in composed form without white space, invisible characters, and punctuation that stands alone."""
    global marks
    if not marks:
        marks = given["MARKS"]
    if not text.isascii():
        text = given["normalised"]("NFC", text)
    if not text.isprintable() or "\ufffd" in text:
        text = given["INVISIBLE"].sub("", text)
    cdef vector[Py_UCS4] out
    cdef size_t begin = 0
    cdef bint only_marks = True  # in the word so far
    cdef Py_UCS4 c
    for c in text:
        if c.isspace():
            if only_marks:
                out.resize(begin)
            begin, only_marks = out.size(), True
        else:
            out.push_back(c)
            only_marks = only_marks and c in marks
    if only_marks:
        out.resize(begin)
    return PyUnicode_FromKindAndData(4, out.data(), out.size())


def permalinks(nodes):
    """(m,) leaves of links that are only there to copy the address of a heading: ``¶``, ``#``."""
    cdef Texts columns = texts_of(nodes)
    cdef list hrefs = nodes.links.href
    cdef int64_t link, row, leaf, most = given["RUNS_OF_PERMALINK"]
    cdef str href
    found = np.zeros(columns.size, np.bool_)
    cdef uint8_t *out = <uint8_t*>pointer(found)
    if <int64_t>len(hrefs) != columns.link_count:
        raise ValueError("the columns of the links do not have the same length")
    for link in range(columns.link_count):
        href, row = hrefs[link], columns.link_rows[link]
        if columns.last[row] - columns.first[row] <= most and "#" in href:
            if not any_has_word(columns.strings, columns.first[row], columns.last[row]):
                for leaf in range(columns.first[row], columns.last[row]):
                    out[leaf] = True
    return found


cdef bint any_has_word(list strings, int64_t first, int64_t last) except -1:
    """Whether one of some runs of text has a letter, a digit, an underscore or a mark of a footnote: ``*``, daggers."""
    cdef int64_t leaf
    cdef Py_UCS4 c
    for leaf in range(first, last):
        for c in <str>strings[leaf]:
            if c == 95 or c == 42 or c == 0x2020 or c == 0x2021 or c.isalnum():
                return True
    return False


def runs_of_words(nodes, leaves, templateness):
    """The texts of the runs of some leaves that share no word with another run, and (runs,) their largest templateness.

    Characters that no reader sees are left out.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    templateness : (m,) of each leaf
    """
    cdef Texts columns = texts_of(nodes)
    cdef Integers wanted = integers(leaves)
    cdef const double[::1] of_leaves = templateness
    cdef list found = [], run = []
    cdef vector[double] greatest
    cdef Py_ssize_t i
    cdef int64_t leaf, before = -2
    columns.check(wanted)
    if of_leaves.shape[0] != columns.size:
        raise IndexError("there is not a templateness for each leaf")
    for i in range(wanted.size):
        leaf = wanted.at[i]
        if columns.gap[leaf] > GLUED or leaf > before + 1 or columns.spaces.get(leaf):
            if run:
                found.append(visible(run))
            run = []
            greatest.push_back(of_leaves[leaf])
        run.append(columns.strings[leaf])
        greatest[greatest.size() - 1] = max(greatest.back(), of_leaves[leaf])
        before = leaf
    if run:
        found.append(visible(run))
    result = np.empty(greatest.size())
    if greatest.size():
        memcpy(pointer(result), greatest.data(), greatest.size() * sizeof(double))
    return found, result


cdef str visible(list run):
    """The text of a run, without characters that no reader sees."""
    cdef str text = run[0] if len(run) == 1 else "".join(run)
    return without_invisible(text)
