# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The node table: the walk over lxml's tree, see `scrapy_pagelets.page.flattening.flatten`.

No thread can change a tree while it is read here. Without the GIL no other thread runs Python code, so that it is enough
to hold it and to run none ourselves: `flatten` walks over a `Snapshot` that is made so. Where elements of lxml are made,
which may run Python code, the one that was just made keeps its node in memory, and all others are looked up again.
"""

from cython.operator cimport dereference
from cpython.unicode cimport PyUnicode_DecodeASCII, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, strcmp, strlen
from libcpp.memory cimport make_unique, unique_ptr
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector
from lxml.includes cimport tree
from lxml.includes.etreepublic cimport _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport xmlAttr, xmlNode

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.core.arrays cimport Integers, integers, pointer

import_lxml__etree()

cdef extern from "runs.hpp" nogil:
    cppclass Run:
        string text, key
        int64_t words
        bint has_controls, has_odd_white
        size_t begin, end
        bint fold(const uint8_t *, size_t)
    void fold_digits(string &)
    bint may_hide(const string &)


cdef extern from "snapshot.hpp" nogil:
    cppclass Snapshot:
        Snapshot(const xmlNode *element)
        xmlNode *root
        size_t elements, texts

cdef extern from "ranks.hpp" nogil:
    uint64_t mix(uint64_t)
    int64_t tuple_hash(int64_t, int64_t)
    int64_t tuple_hash(int64_t, int64_t, int64_t)
    cppclass Ranks:
        int64_t next(int64_t row, int64_t signature)
        void reserve(size_t most)

# As in `scrapy_pagelets.page.nodes`.
cdef enum:
    GLUED, SPACE, CELL, LINE, PARAGRAPH
cdef enum:
    TEXT = 1
cdef enum:  # traits of a look; the first three as in `scrapy_pagelets.page.nodes`
    UNSEEN = 1
    VERBATIM = 2
    LINKS = 4
    ANCHOR = 8
    BREAK = 16
    HEAD = 32
    FRAME = 64
    NOSCRIPT = 128
    TEMPLATE = 256
cdef enum:  # what is open around a row
    HIDDEN = 1
    LINKED = 2

cdef enum:
    NAMES = 64
#: Bytes of a look from which on its parts may have to be cut off.
cdef size_t LONG_LOOK = 10_000
#: Characters of a run of text that is folded without a list of its words.
cdef Py_ssize_t HUGE = 100_000

cdef struct Kind:
    int64_t signature, gap, traits, tag, signs, class_signature

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef object bounded, class_signature, fold, kind_of, readable, signs_of
cdef vector[string] laying_out  # parts of styles that say how an element is laid out
cdef object hides  # searches a style for what hides its element
cdef dict tag_numbers
cdef frozenset metadata
cdef int64_t room_of_looks
#: First and last characters of the ranges in which each character is a word.
cdef vector[Py_UCS4] by_character
#: Bytes of a look -> the look, its characters, and the members of its `Kind`; and about how many bytes all of them have.
cdef dict known_looks = {}
cdef size_t size_of_looks = 0, most_bytes = 0, BYTES_OF_ENTRY = 500


cdef int set_up() except -1:
    global laying_out, is_set_up, bounded, class_signature, fold, kind_of, readable, signs_of, hides, tag_numbers, metadata
    global most_bytes, room_of_looks
    cdef vector[Py_UCS4] found
    cdef str ranges
    if is_set_up:
        return 0
    ranges = given["BY_CHARACTER"]
    for first, last in zip(ranges[::3], ranges[2::3]):  # as in a regular expression
        found.push_back(ord(first))
        found.push_back(ord(last))
    by_character.swap(found)
    bounded, class_signature, fold = given["bounded"], given["class_signature"], given["fold"]
    kind_of, readable, signs_of = given["kind"], given["readable"], given["signs"]
    laying_out = [word.encode() for word in given["LAYING_OUT"]]
    hides, tag_numbers, metadata = given["HIDING_STYLE"].search, given["TAG"], given["METADATA"]
    most_bytes, room_of_looks = given["MOST_BYTES"], given["ROOM_OF_LOOKS"]
    is_set_up = True
    return 0


def path_hash(int64_t above, int64_t signature, int64_t rank):
    """The hash of a tuple, as Python's."""
    return tuple_hash(above, signature, rank)


if any(path_hash(*sample) != hash(sample) for sample in ((0, 2**62 + 3, 5), (-(2**63), -1, 2**61 - 1))):
    raise ImportError("this Python hashes tuples differently: the core has to be adapted")


def flatten(_Element root not None, noscript):
    """Flatten a tree in one pass, without recursion; return the columns of its table by name, and those of its links.

    Those of the links are their rows, their addresses, and their relations in lower case.
    """
    set_up()
    cdef Walk walk = Walk(noscript)
    cdef unique_ptr[Snapshot] snapshot = make_unique[Snapshot](root._c_node)
    walk.reserve(dereference(snapshot).elements, dereference(snapshot).texts)
    walk.run(dereference(snapshot).root)
    return walk.columns(), (column(walk.link_rows), walk.hrefs, walk.rels)


def elements(_Element root not None, const int64_t[::1] tag, const int64_t[::1] parent, const int64_t[::1] end):
    """(n,) the lxml element of each row of a table, see `NodeTable`; for a run of text, its parent."""
    cdef list found = []
    cdef Py_ssize_t row = 0, rows = tag.shape[0]
    cdef xmlNode *node = root._c_node
    cdef xmlNode *child
    while node != NULL:
        while row < rows and tag[row] == TEXT:
            found.append(found[parent[row]])
            row += 1
        if row == rows:
            break
        found.append(elementFactory(root._doc, node))
        row += 1
        child = next_element(node.children) if end[row - 1] > row else NULL
        node = child if child != NULL else following(node, root._c_node)
    while row < rows and tag[row] == TEXT:
        found.append(found[parent[row]])
        row += 1
    if row < rows:
        raise RuntimeError("the tree has changed")
    return found


def elements_at(nodes, rows):
    """The lxml elements of some rows of elements, ascending; for a few rows, faster than ``nodes.elements``."""
    cdef _Element root = nodes.root
    cdef vector[xmlNode*] found = nodes_at(root, nodes, rows)
    cdef size_t i
    return [elementFactory(root._doc, found[i]) for i in range(found.size())]


def attributes_at(nodes, rows, str name):
    """The values of an attribute of some rows of elements, ascending; "" where there is none."""
    cdef bytes wanted = name.encode()
    cdef vector[xmlNode*] found = nodes_at(nodes.root, nodes, rows)
    cdef xmlAttr *attribute
    cdef list values = []
    cdef string value
    cdef size_t i
    for i in range(found.size()):
        attribute = found[i].properties
        while attribute != NULL and (attribute.ns != NULL or strcmp(<const char*>attribute.name, <const char*>wanted)):
            attribute = attribute.next
        value.clear()
        if attribute != NULL:
            read(attribute, value)
        values.append(decoded(value))
    return values


cdef vector[xmlNode*] nodes_at(_Element root, nodes, rows) except *:
    """The nodes of some rows of elements, ascending; valid as long as this thread holds the GIL."""
    cdef vector[xmlNode*] found
    cdef Integers tag = integers(nodes.tag), end = integers(nodes.end)
    cdef int64_t row = 0, element = 0, wanted
    cdef xmlNode *node = root._c_node
    cdef xmlNode *child
    for wanted in rows:
        if not row <= wanted < tag.size or tag.at[wanted] == TEXT:
            raise IndexError(f"{wanted} is not the row of an element behind the ones before")
        while row < wanted:
            row += 1
            if tag.at[row] != TEXT:
                child = next_element(node.children) if end.at[element] > row else NULL
                node = child if child != NULL else following(node, root._c_node)
                if node == NULL:
                    raise RuntimeError("the tree has changed")
                element = row
        found.push_back(node)
    return found


def values_at(list elements, names):
    """The values of some attributes of each element, in the order of the names; "" where there is none."""
    cdef list wanted = [name.encode() for name in names], found = [], values
    cdef vector[string] read_values = vector[string](len(wanted))
    cdef _Element element
    cdef xmlAttr *attribute
    cdef size_t i
    for element in elements:
        for i in range(read_values.size()):
            read_values[i].clear()
        attribute = element._c_node.properties
        while attribute != NULL:  # no Python code runs before all values are read
            for i in range(read_values.size()):
                if attribute.ns == NULL and strcmp(<const char*>attribute.name, <const char*><bytes>wanted[i]) == 0:
                    read(attribute, read_values[i])
            attribute = attribute.next
        values = [decoded(read_values[i]) for i in range(read_values.size())]
        found.append(tuple(values))
    return found


def declarations(_Element root not None):
    """The elements by which a page tells of itself, in document order: those in ``DECLARING`` by tag, and microdata."""
    cdef dict found = {tag: [] for tag in given["DECLARING"]}
    cdef list marked = [], listed
    cdef xmlNode *node = root._c_node
    cdef xmlNode *child
    while node != NULL:
        if is_declaring(<const char*>node.name) and node.ns == NULL:
            found[(<bytes>(<const char*>node.name)).decode()].append(elementFactory(root._doc, node))
        if node != root._c_node and is_marked(node):
            marked.append(elementFactory(root._doc, node))
        child = next_element(node.children)
        node = child if child != NULL else following(node, root._c_node)
    return found, marked


cdef bint is_declaring(const char *name) noexcept nogil:
    if name[0] == c"b":
        return strcmp(name, "base") == 0
    if name[0] == c"l":
        return strcmp(name, "link") == 0
    if name[0] == c"m":
        return strcmp(name, "meta") == 0
    if name[0] == c"s":
        return strcmp(name, "script") == 0
    return name[0] == c"t" and strcmp(name, "title") == 0


cdef bint is_marked(xmlNode *node) noexcept nogil:
    cdef xmlAttr *attribute = node.properties
    while attribute != NULL:
        if attribute.name[0] == c"i" and attribute.ns == NULL and (
            strcmp(<const char*>attribute.name, "itemprop") == 0 or strcmp(<const char*>attribute.name, "itemtype") == 0
        ):
            return True
        attribute = attribute.next
    return False


cdef xmlNode *next_element(xmlNode *node) noexcept:
    while node != NULL and node.type != tree.XML_ELEMENT_NODE:
        node = node.next
    return node


cdef xmlNode *following(xmlNode *node, xmlNode *root) noexcept:
    """The next element in document order that is not below this one."""
    cdef xmlNode *found
    while node != NULL and node != root:  # NULL: another thread has taken it out of the tree
        found = next_element(node.next)
        if found != NULL:
            return found
        node = node.parent
    return NULL


cdef class Walk:
    """The columns of a node table while the tree is walked."""

    cdef vector[int64_t] parent, end, depth, look, path, shape, signature, tag, first, last
    cdef vector[int64_t] leaves, keys, words, gaps, numbers
    cdef vector[uint8_t] anchor, hidden
    cdef vector[int64_t] stack, runs  # rows of the open elements; runs of text of each row
    cdef vector[uint8_t] opened  # what each open element opens: HIDDEN, LINKED
    cdef vector[Kind] kinds  # by number of the look
    cdef unordered_map[string, int64_t] look_ids
    cdef Ranks ranks
    cdef list looks, strings
    cdef vector[int64_t] link_rows
    cdef list hrefs, rels
    cdef dict spaces, labels, relations, styles
    cdef string name, classes, role, href, rel, key, joined
    cdef Run run_of_text
    cdef str white
    cdef int64_t row, pending, verbatim, linked, hiding, last_anchor, room
    cdef bint noscript
    cdef const char *bare_names[NAMES]  # names of elements without id, class and role, and their looks
    cdef int64_t bare_looks[NAMES]

    def __cinit__(self, bint noscript):
        self.looks, self.strings, self.hrefs, self.rels, self.spaces, self.white = [], [], [], [], {}, ""
        self.labels, self.relations, self.styles = {}, {}, {}
        self.row, self.pending, self.last_anchor, self.noscript = -1, PARAGRAPH, -1, noscript
        self.room = room_of_looks

    cdef int reserve(self, size_t elements, size_t texts) except -1:
        """Make room for the rows of all elements and of all runs of text, of which some are blank."""
        cdef size_t rows = elements + texts
        self.parent.reserve(rows)
        self.end.reserve(rows)
        self.depth.reserve(rows)
        self.look.reserve(rows)
        self.path.reserve(rows)
        self.shape.reserve(rows)
        self.signature.reserve(rows)
        self.tag.reserve(rows)
        self.first.reserve(rows)
        self.last.reserve(rows)
        self.runs.reserve(rows)
        self.anchor.reserve(rows)
        self.hidden.reserve(rows)
        self.ranks.reserve(elements)
        return 0

    cdef int run(self, xmlNode *root) except -1:
        """Walk a tree in document order, without recursion."""
        cdef xmlNode *node = root
        cdef xmlNode *child = self.start(root)
        while True:
            while child == NULL:  # the element ends
                self.close()
                if node == root:
                    return 0
                self.text(node.next)
                child = next_node(node.next)
                node = node.parent
            node = child
            if node.type == tree.XML_ELEMENT_NODE:
                child = self.start(node)
                continue
            self.text(node.next)  # after a comment or a processing instruction
            child = next_node(node.next)
            node = node.parent
        return 0

    cdef xmlNode *start(self, xmlNode *node) except? NULL:
        """Add the row of an element; return its first child, NULL if it has none or if readers see none."""
        cdef int64_t row = self.parent.size(), look_id
        cdef uint8_t opens = self.attributes(node)
        look_id = self.look_id(node)
        cdef Kind kind = self.kinds[look_id]
        cdef int64_t rank = self.ranks.next(self.row + 1, kind.signature)
        cdef int64_t above = self.path[self.row] if row else 0
        self.add(look_id, kind.tag, tuple_hash(above, kind.signature, rank), kind.signature)
        self.stack.push_back(row)
        self.row = row
        if kind.traits & LINKS and not self.href.empty():
            self.link_rows.push_back(row)
            self.hrefs.append(decoded(self.href))
            self.rels.append(decoded(self.rel).lower() if self.rel.size() else "")
            if kind.traits & ANCHOR:
                if self.pending == GLUED and self.ends_in_link():
                    self.pending = SPACE  # style sheets put space between adjacent links
                self.last_anchor = row
                opens |= LINKED
        self.opened.push_back(opens)
        self.hiding += opens & HIDDEN
        self.linked += opens & LINKED
        self.hidden[row], self.anchor[row] = self.hiding > 0, self.linked > 0
        if kind.gap > self.pending:
            self.pending = kind.gap
        elif self.pending == LINE and kind.traits & BREAK:  # an empty line
            self.pending = PARAGRAPH
        if kind.traits & UNSEEN and is_unseen(node, kind.traits) and not (self.noscript and kind.traits & NOSCRIPT):
            return NULL
        if kind.traits & VERBATIM:
            self.verbatim += 1
            self.white = ""
        elif self.verbatim and kind.gap >= LINE:
            self.white = ""
        self.text(node.children)
        return next_node(node.children)

    cdef int close(self) except -1:
        cdef Kind kind = self.kinds[self.look[self.row]]
        cdef uint8_t opened = self.opened.back()
        self.end[self.row], self.last[self.row] = self.parent.size(), self.leaves.size()
        self.hiding -= opened & HIDDEN
        self.linked -= opened & LINKED
        self.opened.pop_back()
        self.stack.pop_back()
        self.row = self.stack.back() if not self.stack.empty() else -1
        if kind.gap > self.pending:
            self.pending = kind.gap
        if self.verbatim:
            if kind.gap >= LINE:
                self.white = ""
            if kind.traits & VERBATIM:
                self.verbatim -= 1
        return 0

    cdef bint ends_in_link(self):
        """Whether the last run of text is in the last link."""
        if self.last_anchor < 0 or self.leaves.empty():
            return False
        return self.last_anchor < self.leaves.back() < self.end[self.last_anchor]

    cdef int add(self, int64_t look_id, int64_t tag, int64_t path, int64_t own) except -1:
        """Add a row below the innermost open element; its subtree ends later."""
        cdef int64_t above = self.shape[self.row] if self.row >= 0 else 0
        self.parent.push_back(self.row)
        self.end.push_back(0)
        self.depth.push_back(self.stack.size())
        self.look.push_back(look_id)
        self.tag.push_back(tag)
        self.path.push_back(path)
        self.signature.push_back(self.kinds[look_id].signature)
        self.shape.push_back(<int64_t>mix(<uint64_t>above * 31 + <uint64_t>own))
        self.first.push_back(self.leaves.size())
        self.last.push_back(0)
        self.hidden.push_back(self.hiding > 0)
        self.anchor.push_back(self.linked > 0)
        self.runs.push_back(0)
        return 0

    cdef int attributes(self, xmlNode *node) except -1:
        """Read the attributes of an element that count; return whether they hide it."""
        cdef xmlAttr *attribute = node.properties
        cdef const char *name
        cdef int hidden = 0
        self.name.clear()
        self.classes.clear()
        self.role.clear()
        self.href.clear()
        self.rel.clear()
        while attribute != NULL:
            name = <const char*>attribute.name
            if attribute.ns != NULL:
                pass
            elif strcmp(name, "class") == 0:
                read(attribute, self.classes)
            elif strcmp(name, "href") == 0 or (strcmp(name, "src") == 0 and is_frame(node)):
                read(attribute, self.href)
            elif strcmp(name, "id") == 0:
                read(attribute, self.name)
            elif strcmp(name, "role") == 0:
                read(attribute, self.role)
            elif strcmp(name, "rel") == 0:
                read(attribute, self.rel)
                self.relations[self.parent.size()] = decoded(self.rel)
            elif strcmp(name, "aria-label") == 0:
                read(attribute, self.key)
                self.labels[self.parent.size()] = decoded(self.key)
            elif strcmp(name, "hidden") == 0:
                hidden = HIDDEN
            elif strcmp(name, "style") == 0:
                read(attribute, self.key)
                if may_hide(self.key) and hides(decoded(self.key)):
                    hidden = HIDDEN
                if lays_out(self.key):
                    self.styles[self.parent.size()] = decoded(self.key)
            attribute = attribute.next
        return hidden

    cdef int64_t look_id(self, xmlNode *node) except -1:
        """The number of the look of an element on this page."""
        cdef bint bare = node.ns == NULL and self.name.empty() and self.classes.empty() and self.role.empty()
        cdef size_t place = (<size_t>node.name >> 3) % NAMES
        if bare and self.bare_names[place] == <const char*>node.name:
            return self.bare_looks[place]
        cdef int64_t number = self.any_look_id(node)
        if bare:  # names of elements are kept once in a document
            self.bare_names[place], self.bare_looks[place] = <const char*>node.name, number
        return number

    cdef int64_t any_look_id(self, xmlNode *node) except -1:
        self.key.clear()
        if node.ns != NULL and node.ns.href != NULL:
            self.key.append(b"{").append(<const char*>node.ns.href).append(b"}")
        self.key.append(<const char*>node.name)
        self.key.push_back(0)
        self.key.append(self.name)
        self.key.push_back(0)
        self.key.append(self.classes)
        self.key.push_back(0)
        self.key.append(self.role)
        found = self.look_ids.find(self.key)
        if found != self.look_ids.end():
            return dereference(found).second
        cdef bytes key = self.key
        if self.room <= 0:
            key = key[: key.index(b"\0")] + b"\0\0\0"
        elif self.key.size() > LONG_LOOK:
            key = "\0".join(bounded(look_of(key))).encode("utf-8", "replace")
        if <size_t>len(key) != self.key.size():
            self.key = key
            found = self.look_ids.find(self.key)
            if found != self.look_ids.end():
                return dereference(found).second
        cdef int64_t number = len(self.looks)
        look, characters, signature, gap, traits, tag, signs, class_signature = described(key)
        self.look_ids[self.key] = number
        self.looks.append(look)
        self.room -= <int64_t>characters
        self.kinds.push_back(Kind(signature, gap, traits, tag, signs, class_signature))
        return number

    cdef int text(self, xmlNode *node) except -1:
        """Add the run of text that begins at a node, if there is one."""
        cdef const char *start = NULL
        cdef size_t length = 0
        if self.row < 0 or node == NULL:
            return 0
        self.joined.clear()
        while node != NULL:
            if node.type == tree.XML_TEXT_NODE or node.type == tree.XML_CDATA_SECTION_NODE:
                if node.content != NULL and start == NULL:
                    start = <const char*>node.content
                elif node.content != NULL:
                    if self.joined.empty():
                        self.joined.append(start)
                    self.joined.append(<const char*>node.content)
            elif node.type != tree.XML_XINCLUDE_START and node.type != tree.XML_XINCLUDE_END:
                break
            node = node.next
        if start == NULL:
            return 0
        if self.joined.empty():
            length = strlen(start)
        else:
            start, length = self.joined.data(), self.joined.size()
        if length == 0:
            return 0
        self.runs[self.row] += 1
        cdef bint plain = self.run_of_text.fold(<const uint8_t*>start, length) and not self.run_of_text.has_controls
        if plain and not (self.verbatim and self.run_of_text.has_odd_white):
            self.ascii_run(start, length)
        else:
            self.unicode_run(PyUnicode_DecodeUTF8(start, length, "replace"))
        return 0

    cdef int ascii_run(self, const char *text, size_t length) except -1:
        """Add the run of ASCII text that has been folded."""
        cdef Run *run = &self.run_of_text
        if run.text.empty():
            self.blank(PyUnicode_DecodeASCII(text, length, NULL) if self.verbatim else "")
            return 0
        if self.verbatim:
            self.spaces[len(self.strings)] = self.white + PyUnicode_DecodeASCII(text, run.begin, NULL)
            string = PyUnicode_DecodeASCII(text + run.begin, run.end - run.begin, NULL)
            self.white = PyUnicode_DecodeASCII(text + run.end, length - run.end, NULL)
        else:
            string = PyUnicode_DecodeASCII(run.text.data(), run.text.size(), NULL)
            self.white = ""
        if run.begin > 0:
            self.pending = max(self.pending, SPACE)
        self.add_run(string, key_of(run.key), run.words)
        self.pending = SPACE if run.end < length else GLUED
        return 0

    cdef int unicode_run(self, str text) except -1:
        """Add any run of text, without its control characters."""
        cdef str folded, string
        cdef Py_ssize_t begin
        if has_controls(text):
            text = readable(text)
            if not text:
                return 0
        if text.isspace():
            self.blank(text)
            return 0
        folded = " ".join(text.split()) if len(text) < HUGE else fold(text)
        string = folded
        if self.verbatim:
            string = text.strip()
            begin = text.find(string)
            self.spaces[len(self.strings)] = self.white + text[:begin]
            self.white = text[begin + len(string) :]
        else:
            self.white = ""
        if text[0].isspace():
            self.pending = max(self.pending, SPACE)
        self.key = folded.casefold().encode("utf-8", "replace")
        fold_digits(self.key)
        self.add_run(string, key_of(self.key), number_of_words(folded))
        self.pending = SPACE if text[len(text) - 1].isspace() else GLUED
        return 0

    cdef int blank(self, str text) except -1:
        """Remember white space between runs."""
        self.pending = max(self.pending, SPACE)
        if self.verbatim:
            self.white += text
        return 0

    cdef int add_run(self, object string, int64_t key, int64_t count) except -1:
        cdef int64_t number = self.runs[self.row], row = self.parent.size(), above = self.path[self.row]
        self.leaves.push_back(row)
        self.strings.append(string)
        self.keys.push_back(key)
        self.words.push_back(count)
        self.gaps.push_back(self.pending)
        self.numbers.push_back(number)
        self.add(self.look[self.row], TEXT, tuple_hash(above, number), 1)
        self.first[row] = self.leaves.size() - 1
        self.last[row] = self.leaves.size()
        self.end[row] = row + 1
        return 0

    def columns(self):
        """The columns of the table, by name."""
        cdef vector[int64_t] signs, class_signature
        cdef Kind kind
        for kind in self.kinds:
            signs.push_back(kind.signs)
            class_signature.push_back(kind.class_signature)
        return {
            "tag": column(self.tag), "parent": column(self.parent), "end": column(self.end),
            "depth": column(self.depth), "look": column(self.look), "path": column(self.path),
            "signature": column(self.signature), "shape": column(self.shape), "looks": self.looks,
            "signs": column(signs), "class_signature": column(class_signature),
            "first_leaf": column(self.first), "last_leaf": column(self.last), "leaves": column(self.leaves),
            "strings": self.strings, "spaces": self.spaces, "text": column(self.keys), "words": column(self.words),
            "gap": column(self.gaps), "number": column(self.numbers), "anchor": mask(self.anchor),
            "hidden": mask(self.hidden), "labels": self.labels, "relations": self.relations,
            "styles": self.styles,
        }  # fmt: skip


cdef bint lays_out(const string &style):
    """Whether an inline style has one of `scrapy_pagelets.page.flattening.LAYING_OUT`."""
    cdef string word
    for word in laying_out:
        if style.find(word) < style.size():
            return True
    return False


cdef int64_t key_of(const string &text) except -1:
    """The hash of a run of text; without the lowest bit of the digest, so that it is not negative."""
    cdef uint64_t digest = xxh3_64_intdigest(text.data()[: text.size()])
    return <int64_t>(digest >> 1)


def text_key(str text):
    """Hash and number of words of a run of text whose white space is folded.

    The hash ignores case and treats all digits alike. The words of an ASCII text are separated by white space, those of
    other texts are those of `scrapy_pagelets.base.characters`.
    """
    set_up()
    cdef string key = text.casefold().encode("utf-8", "replace")
    fold_digits(key)
    return key_of(key), number_of_words(text)


cdef tuple look_of(bytes key):
    return tuple(key.decode("utf-8", "replace").split("\0"))


cdef tuple described(bytes key):
    """The look behind its bytes, its characters, and the members of its `Kind`."""
    global size_of_looks
    found = known_looks.get(key)
    if found is None:
        look = look_of(key)
        tag = look[0]
        _, signature, gap, traits = kind_of(look, 0)
        names = {"a": ANCHOR, "br": BREAK, "head": HEAD, "iframe": FRAME, "noscript": NOSCRIPT, "template": TEMPLATE}
        own_traits, number = traits | names.get(tag, 0), tag_numbers.get(tag, 0)
        found = look, sum(map(len, look)), signature, gap, own_traits, number, signs_of(look), class_signature(look)
        size_of_looks += BYTES_OF_ENTRY + 3 * len(key)  # the look may have more bytes than its key in UTF-8
        if size_of_looks > most_bytes:
            known_looks.clear()
            size_of_looks = 0
        else:
            known_looks[key] = found
    return found


cdef bint has_controls(str text):
    """Whether `scrapy_pagelets.base.characters.readable` would change a text."""
    cdef Py_UCS4 c
    for c in text:
        if c < 32:
            if c != 9 and c != 10:
                return True
        elif 127 <= c and (c < 160 or c == 0x2028 or c == 0x2029 or 0xD800 <= c < 0xE000 or c == 0xFFFE or c == 0xFFFF):
            return True
    return False


cdef int64_t number_of_words(str text):
    """As `scrapy_pagelets.page.flattening.text_key` counts them."""
    cdef int64_t count = 0
    cdef bint inside = False, alone
    cdef Py_UCS4 c
    cdef size_t i
    if len(text) > 3 and text.isascii():
        return text.count(" ") + 1
    for c in text:
        alone = False
        if c >= by_character[0]:
            for i in range(0, by_character.size(), 2):
                alone |= by_character[i] <= c <= by_character[i + 1]
        if alone:
            count += 1
            inside = False
        elif c.isalnum() or c == 95:
            count += not inside
            inside = True
        else:
            inside = False
    return count


cdef inline bint is_frame(xmlNode *node) noexcept nogil:
    return named(node, "frame") or named(node, "iframe")


cdef inline bint named(xmlNode *node, const char *name) noexcept nogil:
    return strcmp(<const char*>node.name, name) == 0


cdef inline xmlNode *next_node(xmlNode *node) noexcept nogil:
    """The next element, comment or processing instruction among siblings."""
    while node != NULL and node.type not in (tree.XML_ELEMENT_NODE, tree.XML_COMMENT_NODE, tree.XML_PI_NODE):
        node = node.next
    return node


cdef int read(xmlAttr *attribute, string &value) except -1:
    """Read the value of an attribute."""
    cdef xmlNode *part = attribute.children
    value.clear()
    while part != NULL:
        if part.content != NULL:
            value.append(<const char*>part.content)
        part = part.next
    return 0


cdef bint has_shadow_root(xmlNode *node) except -1:
    """Whether a ``template`` is shown, as browsers make a shadow root of it."""
    cdef xmlAttr *attribute = node.properties
    cdef const char *name
    cdef string value
    while attribute != NULL:
        name = <const char*>attribute.name
        if attribute.ns == NULL and (strcmp(name, "shadowrootmode") == 0 or strcmp(name, "shadowroot") == 0):
            read(attribute, value)
            if strcmp(value.c_str(), "open") == 0 or strcmp(value.c_str(), "closed") == 0:
                return True
        attribute = attribute.next
    return False


cdef bint is_unseen(xmlNode *node, int64_t traits) except -1:
    """Whether readers see nothing of an element, as in `scrapy_pagelets.page.flattening.flatten`."""
    cdef xmlNode *child = node.children
    if traits & TEMPLATE and has_shadow_root(node):
        return False
    while child != NULL:
        if child.type == tree.XML_ELEMENT_NODE:
            if traits & FRAME and named(child, "html"):
                return False
            if traits & HEAD and (<bytes>(<const char*>child.name)).decode() not in metadata:
                return False
        child = child.next
    return True


cdef str decoded(const string &text):
    return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace")


cdef object column(const vector[int64_t] &values):
    result = np.empty(values.size(), np.int64)
    if values.size():
        memcpy(pointer(result), values.data(), values.size() * sizeof(int64_t))
    return result


cdef object mask(const vector[uint8_t] &values):
    result = np.empty(values.size(), np.bool_)
    if values.size():
        memcpy(pointer(result), values.data(), values.size())
    return result


