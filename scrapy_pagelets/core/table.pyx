# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The node table: the walk over lxml's tree, see `scrapy_pagelets.nodes.flatten`.

The walk holds the GIL, without which no other thread can change the tree.
"""

from cython.operator cimport dereference
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, strcmp, strlen
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector
from lxml.includes cimport tree
from lxml.includes.etreepublic cimport _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport xmlAttr, xmlNode

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.characters import is_readable

import_lxml__etree()

cdef extern from "ranks.hpp" nogil:
    uint64_t mix(uint64_t)
    int64_t tuple_hash(int64_t, int64_t)
    int64_t tuple_hash(int64_t, int64_t, int64_t)
    cppclass Ranks:
        int64_t next(int64_t row, int64_t signature)

# As in `scrapy_pagelets.nodes`.
cdef enum:
    GLUED, SPACE, CELL, LINE, PARAGRAPH
cdef enum:
    TEXT = 1
cdef enum:  # traits of a look; the first three as in `scrapy_pagelets.nodes`
    UNSEEN = 1
    VERBATIM = 2
    LINKS = 4
    ANCHOR = 8
    BREAK = 16
    HEAD = 32
    FRAME = 64
    NOSCRIPT = 128
cdef enum:  # what is open around a row
    HIDDEN = 1
    LINKED = 2

#: Bytes of a look from which on its parts may have to be cut off, and number of looks that are kept.
cdef size_t LONG_LOOK = 1000
cdef Py_ssize_t MOST_LOOKS = 65536

cdef struct Kind:
    int64_t signature, gap, traits, tag

#: The module that this one stands for. It imports this one, and so is imported when it is first needed.
cdef object in_python = None
#: Bytes of a look -> the look, and the members of its `Kind`.
cdef dict known_looks = {}


def path_hash(int64_t above, int64_t signature, int64_t rank):
    """The hash of a tuple, as Python's."""
    return tuple_hash(above, signature, rank)


if any(path_hash(*sample) != hash(sample) for sample in ((0, 2**62 + 3, 5), (-(2**63), -1, 2**61 - 1))):
    raise ImportError("this Python hashes tuples differently: the core has to be adapted")


def flatten(_Element root not None, noscript):
    """As `scrapy_pagelets.nodes.flatten`."""
    global in_python
    if in_python is None:
        from scrapy_pagelets import nodes as in_python
    cdef Walk walk = Walk(noscript)
    walk.run(root._c_node)
    # Control characters are rare, so that only one function knows what becomes of them.
    return in_python.flatten.in_python(root, noscript) if walk.odd else (walk.columns(), walk.links)


def elements(_Element root not None, const int64_t[::1] tag, const int64_t[::1] parent, const int64_t[::1] end):
    """As `scrapy_pagelets.nodes.elements`."""
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
    return found


cdef xmlNode *next_element(xmlNode *node) noexcept:
    while node != NULL and node.type != tree.XML_ELEMENT_NODE:
        node = node.next
    return node


cdef xmlNode *following(xmlNode *node, xmlNode *root) noexcept:
    """The next element in document order that is not below this one."""
    cdef xmlNode *found
    while node != root:
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
    cdef readonly list links
    cdef dict spaces
    cdef string name, classes, role, href, rel, key, joined
    cdef object white
    cdef int64_t row, pending, verbatim, linked, hiding, last_anchor
    cdef bint noscript
    cdef readonly bint odd

    def __cinit__(self, bint noscript):
        self.looks, self.strings, self.links, self.spaces, self.white = [], [], [], {}, ""
        self.row, self.pending, self.last_anchor, self.noscript = -1, PARAGRAPH, -1, noscript

    cdef int run(self, xmlNode *root) except -1:
        """Walk a tree in document order, without recursion; stop at a control character."""
        cdef xmlNode *node = root
        cdef xmlNode *child = self.start(root)
        while not self.odd:
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
            self.links.append((row, decoded(self.href), decoded(self.rel)))
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
        cdef bint frame = named(node, "frame") or named(node, "iframe")
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
            elif strcmp(name, "href") == 0 or (frame and strcmp(name, "src") == 0):
                read(attribute, self.href)
            elif strcmp(name, "id") == 0:
                read(attribute, self.name)
            elif strcmp(name, "role") == 0:
                read(attribute, self.role)
            elif strcmp(name, "rel") == 0:
                read(attribute, self.rel)
            elif strcmp(name, "hidden") == 0:
                hidden = HIDDEN
            elif strcmp(name, "style") == 0:
                read(attribute, self.key)
                if in_python._HIDING_STYLE.search(decoded(self.key)):
                    hidden = HIDDEN
            attribute = attribute.next
        return hidden

    cdef int64_t look_id(self, xmlNode *node) except -1:
        """The number of the look of an element on this page."""
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
        if self.key.size() > LONG_LOOK:
            key = "\0".join(in_python._bounded(look_of(key))).encode("utf-8", "replace")
            self.key = key
            found = self.look_ids.find(self.key)
            if found != self.look_ids.end():
                return dereference(found).second
        cdef int64_t number = len(self.looks)
        look, signature, gap, traits, tag = described(key)
        self.look_ids[self.key] = number
        self.looks.append(look)
        self.kinds.push_back(Kind(signature, gap, traits, tag))
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
        if self.verbatim or not self.ascii_run(<const uint8_t*>start, length):
            self.any_run(PyUnicode_DecodeUTF8(start, length, "replace"))
        return 0

    cdef bint ascii_run(self, const uint8_t *text, size_t length) except -1:
        """Add a run of ASCII text with its white space folded; return False if it has other characters."""
        cdef size_t i, begin
        cdef int64_t count
        cdef uint8_t c
        self.key.clear()
        for i in range(length):
            c = text[i]
            if c >= 128:
                return False
            if not is_space(c):
                self.odd |= c < 32 or c == 127
                if i and is_space(text[i - 1]) and not self.key.empty():
                    self.key.push_back(32)
                self.key.push_back(c)
        if self.key.empty():
            self.pending = max(self.pending, SPACE)
            return True
        string = self.key.decode("ascii")
        count = fold_case(self.key)
        if is_space(text[0]):
            self.pending = max(self.pending, SPACE)
        self.add_run(string, xxh3_64_intdigest(<bytes>self.key) >> 1, count)
        self.white = ""
        self.pending = SPACE if is_space(text[length - 1]) else GLUED
        return True

    cdef int any_run(self, str text) except -1:
        """Add any run of text, as `scrapy_pagelets.nodes.flatten` does."""
        if text.isspace():
            self.pending = max(self.pending, SPACE)
            if self.verbatim:
                self.white += text
            return 0
        folded = in_python.fold(text)
        string = folded
        if self.verbatim:
            string = text.strip()
            begin = text.find(string)
            white = self.white + text[:begin]
            self.spaces[len(self.strings)] = white
            self.white = text[begin + len(string) :]
            self.odd |= not is_readable((white,))
        else:
            self.white = ""
        self.odd |= not is_readable((string,))
        if text[0].isspace():
            self.pending = max(self.pending, SPACE)
        key, count = in_python.text_key(folded)
        self.add_run(string, key, count)
        self.pending = SPACE if text[len(text) - 1].isspace() else GLUED
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
        return {
            "tag": column(self.tag), "parent": column(self.parent), "end": column(self.end),
            "depth": column(self.depth), "look": column(self.look), "path": column(self.path),
            "signature": column(self.signature), "shape": column(self.shape), "looks": self.looks,
            "first_leaf": column(self.first), "last_leaf": column(self.last), "leaves": column(self.leaves),
            "strings": self.strings, "spaces": self.spaces, "text": column(self.keys), "words": column(self.words),
            "gap": column(self.gaps), "number": column(self.numbers), "anchor": mask(self.anchor),
            "hidden": mask(self.hidden),
        }  # fmt: skip


cdef tuple look_of(bytes key):
    return tuple(key.decode("utf-8", "replace").split("\0"))


cdef tuple described(bytes key):
    """The look behind its bytes, and the members of its `Kind`."""
    found = known_looks.get(key)
    if found is None:
        look = look_of(key)
        tag = look[0]
        _, signature, gap, traits = in_python._kind(look, 0)
        names = {"a": ANCHOR, "br": BREAK, "head": HEAD, "iframe": FRAME, "noscript": NOSCRIPT}
        found = look, signature, gap, traits | names.get(tag, 0), in_python.TAG.get(tag, 0)
        if len(known_looks) >= MOST_LOOKS:
            known_looks.clear()
        if len(key) <= LONG_LOOK:
            known_looks[key] = found
    return found


cdef int64_t fold_case(string &text):
    """Make a text lower case with all digits alike; return the number of its words."""
    cdef int64_t spaces = 0, runs = 0
    cdef bint inside = False, part
    cdef char c
    cdef size_t i
    for i in range(text.size()):
        c = text[i]
        if c"A" <= c <= c"Z":
            c += 32
        elif c"1" <= c <= c"9":
            c = c"0"
        spaces += c == c" "
        part = c"a" <= c <= c"z" or c == c"0" or c == c"_"
        runs += part and not inside
        inside = part
        text[i] = c
    return spaces + 1 if text.size() > 3 else runs


cdef inline bint is_space(uint8_t c) noexcept nogil:
    """Whether `str.isspace` says so of an ASCII character."""
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31


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


cdef bint is_unseen(xmlNode *node, int64_t traits) except -1:
    """As `scrapy_pagelets.nodes._is_unseen`."""
    cdef xmlNode *child = node.children
    while child != NULL:
        if child.type == tree.XML_ELEMENT_NODE:
            if traits & FRAME and named(child, "html"):
                return False
            if traits & HEAD and (<bytes>(<const char*>child.name)).decode() not in in_python._METADATA:
                return False
        child = child.next
    return True


cdef str decoded(const string &text):
    return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace")


cdef object column(const vector[int64_t] &values):
    result = np.empty(values.size(), np.int64)
    cdef int64_t[::1] view = result
    if values.size():
        memcpy(&view[0], values.data(), values.size() * sizeof(int64_t))
    return result


cdef object mask(const vector[uint8_t] &values):
    result = np.empty(values.size(), np.bool_)
    cdef uint8_t[::1] view = result.view(np.uint8)
    if values.size():
        memcpy(&view[0], values.data(), values.size())
    return result


