# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""What is decided from the roots of trees down: which rows of a page are those of a template, and its pagelets."""

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport pointer

cdef extern from "alignment.hpp" nogil:
    struct Tree:
        size_t size
        const int64_t *parent
        const int64_t *end
        const int64_t *depth
        const int64_t *label
        const int64_t *text
    cppclass Alignment:
        Alignment(const Tree &page, const Tree &other, int64_t *found) except +
        void run() except +

cdef enum:  # as in `scrapy_pagelets.nodes`
    TEXT = 1
cdef enum:  # traits of a tag
    PROSE = 1
    INLINE = 2
    LINKING = 4
cdef enum:  # as in `scrapy_pagelets.templates.partition`
    ANONYMOUS = -1
    PROSE_WORDS = 8
    RUN = 3

#: The module of `partition`. It imports this one, and so is imported when it is first needed.
cdef object in_python = None
#: By number of the tag.
cdef vector[uint8_t] traits


cdef int load_python() except -1:
    global in_python
    if in_python is None:
        from scrapy_pagelets.nodes import TAGS
        from scrapy_pagelets.templates import partition as module
        traits.resize(len(TAGS))
        for tags, trait in ((module._PROSE_TAGS, PROSE), (module._INLINE, INLINE), (module._LINKING, LINKING)):
            for tag in tags.tolist():
                traits[<size_t>tag] |= <uint8_t>trait
        in_python = module
    return 0


def align(template, nodes):
    """As `scrapy_pagelets.templates.mapping.template_tree.align`."""
    cdef const int64_t[::1] parent = nodes.parent, end = nodes.end, depth = nodes.depth, tag = nodes.tag
    cdef const int64_t[::1] signature = nodes.signature, leaves = nodes.leaves, keys = nodes.text
    cdef const int64_t[::1] parent_ = template.parent, end_ = template.end, depth_ = template.depth
    cdef const int64_t[::1] label_ = template.label, text_ = template.text
    cdef Py_ssize_t n = parent.shape[0], i
    found = np.full(n, -1)
    if parent_.shape[0] == 0:
        return found
    if not is_tree(parent_, end_, depth_) or not parent_.shape[0] == label_.shape[0] == text_.shape[0]:
        raise ValueError("the columns of the template are not those of a tree: learn its site again")
    cdef int64_t[::1] out = found
    cdef vector[int64_t] label = vector[int64_t](n), text = vector[int64_t](n)
    for i in range(n):
        label[i] = TEXT if tag[i] == TEXT else signature[i]
    for i in range(leaves.shape[0]):
        text[leaves[i]] = keys[i]
    cdef Tree page = Tree(n, &parent[0], &end[0], &depth[0], label.data(), text.data())
    cdef Tree other = Tree(parent_.shape[0], &parent_[0], &end_[0], &depth_[0], &label_[0], &text_[0])
    cdef Alignment *alignment = new Alignment(page, other, &out[0])
    try:
        with nogil:
            alignment.run()
    finally:
        del alignment
    return found


cdef bint is_tree(const int64_t[::1] parent, const int64_t[::1] end, const int64_t[::1] depth) noexcept:
    """Whether columns, which may come from a file, can be those of a tree in preorder."""
    cdef Py_ssize_t n = parent.shape[0], row
    if end.shape[0] != n or depth.shape[0] != n or parent[0] != -1 or end[0] != n or depth[0] != 0:
        return False
    for row in range(1, n):
        if not 0 <= parent[row] < row < end[row] <= n or depth[row] != depth[parent[row]] + 1:
            return False
    return True


def partition(nodes, k=None, *, strict=False):
    """As `scrapy_pagelets.templates.partition.partition`."""
    load_python()
    cdef int64_t most = in_python.DEFAULT_K if k is None else k
    in_python._check(most)
    cdef bint is_strict = strict
    cdef const int64_t[::1] parent = nodes.parent, end = nodes.end, leaves = nodes.leaves
    cdef Py_ssize_t n = parent.shape[0], m = leaves.shape[0], row, number = 0
    labels = np.empty(m, np.int64)
    if not m:
        return labels
    cdef int64_t[::1] out = labels
    cdef vector[uint8_t] divided = vector[uint8_t](n)
    cdef vector[int64_t] owner = vector[int64_t](n), numbers = vector[int64_t](n)
    divide(divided, nodes, most, is_strict)
    begin(owner, divided, nodes, is_strict)
    for row in range(1, n):
        if not divided[parent[row]]:
            owner[row] = owner[parent[row]]
    for row in range(m):
        numbers[owner[leaves[row]]] = 1
    for row in range(n):
        number += numbers[row]
        numbers[row] = number - 1
    for row in range(m):
        out[row] = numbers[owner[leaves[row]]]
    return labels


cdef int divide(vector[uint8_t] &divided, nodes, int64_t k, bint strict) except -1:
    """Whether each row is divided: a child has k links or more, and every ancestor is divided."""
    cdef const int64_t[::1] parent = nodes.parent, end = nodes.end, tag = nodes.tag, leaves = nodes.leaves
    cdef const int64_t[::1] first = nodes.first_leaf, last = nodes.last_leaf, words = nodes.words
    cdef const int64_t[::1] link_rows = nodes.links.row, keys = nodes.links.key
    cdef const uint8_t[::1] anchor = nodes.anchor.view(np.uint8)
    cdef list hrefs = nodes.links.href
    cdef Py_ssize_t n = parent.shape[0], m = leaves.shape[0], i
    cdef vector[int64_t] links = vector[int64_t](n + 1), below = vector[int64_t](m + 1), linked = vector[int64_t](m + 1)
    cdef int64_t long, wide
    for i in range(keys.shape[0]):
        if keys[i] != 0 and traits[tag[link_rows[i]]] & LINKING and leads_away(hrefs[i]):
            links[link_rows[i] + 1] += 1
    for i in range(n):
        links[i + 1] += links[i]
    for i in range(m):
        below[i + 1] = below[i] + words[i]
        linked[i + 1] = linked[i] + (words[i] if anchor[leaves[i]] else 0)
    for i in range(1, n):
        if links[end[i]] - links[i] < k:
            continue
        if not strict and traits[tag[i]] & PROSE:
            long, wide = below[last[i]] - below[first[i]], linked[last[i]] - linked[first[i]]
            if long >= PROSE_WORDS and wide < 0.5 * long:
                continue
        divided[parent[i]] = True
    for i in range(1, n):
        divided[i] = divided[i] and divided[parent[i]]
    return 0


cdef bint leads_away(str href) except -1:
    """Whether a link does not lead to a place on the page."""
    cdef str start = href.lstrip()
    return len(start) > 0 and start[0] != "#"


cdef int begin(vector[int64_t] &starts, vector[uint8_t] &divided, nodes, bint strict) except -1:
    """For the children of divided rows, the sibling with which their pagelet begins; else the row itself."""
    cdef const int64_t[::1] end = nodes.end, tag = nodes.tag, look = nodes.look, signature = nodes.signature
    cdef Py_ssize_t n = end.shape[0], row, child, i
    cdef vector[uint8_t] nothing
    cdef vector[int64_t] run  # siblings of one kind
    cdef int64_t kind, last_kind = 0
    cdef bint is_inline
    cdef int64_t unseen = in_python.NOTHING
    signs = nodes.signs
    cdef const int64_t *sign = <const int64_t*>pointer(signs)
    for i in range(len(signs)):
        nothing.push_back(0 if strict else (sign[i] & unseen) > 0)
    for row in range(n):
        starts[row] = row
    for row in range(n):
        if not divided[row]:
            continue
        run.clear()
        child = row + 1
        while child < end[row]:
            if not nothing[look[child]]:
                is_inline = tag[child] == TEXT if strict else traits[tag[child]] & INLINE
                kind = ANONYMOUS if is_inline else signature[child]
                if run.size() and (kind != last_kind or divided[child] or divided[run.back()]):
                    join(starts, run, last_kind, strict)
                run.push_back(child)
                last_kind = kind
            child = end[child]
        join(starts, run, last_kind, strict)
    return 0


cdef int join(vector[int64_t] &starts, vector[int64_t] &run, int64_t kind, bint strict) except -1:
    """Let the rows of a run begin with its first one, if they are one pagelet; clear the run."""
    cdef size_t i
    if kind == ANONYMOUS or (not strict and run.size() >= RUN):
        for i in range(run.size()):
            starts[run[i]] = run[0]
    run.clear()
    return 0
