# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""What is decided from the roots of trees down: which rows of a page are those of a template, and its pagelets."""

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

from math import fsum

import numpy as np

from scrapy_pagelets.core.arrays cimport Integers, integers, pointer
from scrapy_pagelets.core.columns cimport Nodes, columns_of

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

cdef extern from "counter.hpp" nogil:
    cppclass Numbers:
        size_t add(int64_t key)

cdef struct Part:
    int64_t leaves, weight
    Py_ssize_t next  # where the index of its next leaf is written

cdef enum:  # as in `scrapy_pagelets.page.nodes`
    TEXT = 1
cdef enum:  # as many as there can be
    MOST_ROLES = 16
cdef enum:  # traits of a tag
    PROSE = 1
    INLINE = 2
    LINKING = 4
cdef enum:  # as in `scrapy_pagelets.evidence.partition`
    ANONYMOUS = -1
    PROSE_WORDS = 8
    RUN = 3

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
#: By number of the tag.
cdef vector[uint8_t] traits


cdef int set_up() except -1:
    cdef vector[uint8_t] found
    if traits.empty():
        found.resize(len(given["TAGS"]))
        for tags, trait in ((given["PROSE_TAGS"], PROSE), (given["INLINE"], INLINE), (given["LINKING"], LINKING)):
            for tag in tags.tolist():
                found[<size_t>tag] |= <uint8_t>trait
        traits.swap(found)
    return 0


def align_page(template, table):
    """(n,) row of the template for each row of a page, -1 for none: an equal top-down mapping from the roots down.

    Of the children of two rows that belong together, those of equal signature are paired if the same texts stand below
    them, then by the number of texts that both have, then in document order. Only texts that occur on both sides count.
    """
    cdef Nodes nodes = columns_of(table).nodes
    cdef Integers parent_ = integers(template.parent), end_ = integers(template.end)
    cdef Integers depth_ = integers(template.depth)
    cdef Integers label_ = integers(template.label), text_ = integers(template.text)
    cdef Py_ssize_t n = nodes.n, i
    found = np.full(n, -1)
    if parent_.size == 0:
        return found
    if not is_tree(parent_, end_, depth_) or not parent_.size == label_.size == text_.size:
        raise ValueError("the columns of the template are not those of a tree: learn its site again")
    cdef int64_t *out = <int64_t*>pointer(found)
    cdef vector[int64_t] label = vector[int64_t](n), text = vector[int64_t](n)
    for i in range(n):
        label[i] = TEXT if nodes.tag[i] == TEXT else nodes.signature[i]
    for i in range(<Py_ssize_t>nodes.m):
        text[nodes.leaves[i]] = nodes.text[i]
    cdef Tree page = Tree(n, nodes.parent, nodes.end, nodes.depth, label.data(), text.data())
    cdef Tree other = Tree(parent_.size, &parent_.at[0], &end_.at[0], &depth_.at[0], &label_.at[0], &text_.at[0])
    cdef Alignment *alignment = new Alignment(page, other, &out[0])
    try:
        with nogil:
            alignment.run()
    finally:
        del alignment
    return found


cdef bint is_tree(Integers parent, Integers end, Integers depth) noexcept:
    """Whether columns, which may come from a file, can be those of a tree in preorder."""
    cdef Py_ssize_t n = parent.size, row
    if end.size != n or depth.size != n or parent.at[0] != -1 or end.at[0] != n or depth.at[0] != 0:
        return False
    for row in range(1, n):
        if not 0 <= parent.at[row] < row < end.at[row] <= n or depth.at[row] != depth.at[parent.at[row]] + 1:
            return False
    return True


def partition(table, k=None, *, strict=False):
    """(m,) number of the pagelet of each leaf, from 0 in document order; every leaf has exactly one.

    Parameters
    ----------
    k : a node is divided if one of its children has this many hyperlinks or more
    strict : use the form of the paper: links in prose count, records are not merged, and inline elements are children
        like any others. Definition 2 leaves the text between the children of a divided node without a pagelet. In both
        forms here, such text makes anonymous pagelets; in the default form, these include inline elements

    Raises
    ------
    ValueError : if k < 1
    """
    set_up()
    cdef int64_t most = given["DEFAULT_K"] if k is None else k
    given["check"](most)
    cdef bint is_strict = strict
    cdef Nodes nodes = columns_of(table).nodes
    cdef Py_ssize_t n = nodes.n, m = nodes.m, row, number = 0
    labels = np.empty(m, np.int64)
    if not m:
        return labels
    cdef int64_t *out = <int64_t*>pointer(labels)
    cdef vector[uint8_t] divided = vector[uint8_t](n)
    cdef vector[int64_t] owner = vector[int64_t](n), numbers = vector[int64_t](n)
    divide(divided, nodes, table.links.href, most, is_strict)
    begin(owner, divided, nodes, is_strict)
    for row in range(1, n):
        if not divided[nodes.parent[row]]:
            owner[row] = owner[nodes.parent[row]]
    for row in range(m):
        numbers[owner[nodes.leaves[row]]] = 1
    for row in range(n):
        number += numbers[row]
        numbers[row] = number - 1
    for row in range(m):
        out[row] = numbers[owner[nodes.leaves[row]]]
    return labels


def partition_of_rows(table, k=None, *, strict=False):
    """(n,) number of the pagelet of each run of text, as `partition`; -1 for elements."""
    of_leaves = partition(table, k, strict=strict)
    cdef Nodes nodes = columns_of(table).nodes
    labels = np.empty(nodes.n, np.int64)
    cdef int64_t *out = <int64_t*>pointer(labels)
    cdef const int64_t *number = <const int64_t*>pointer(of_leaves)
    cdef size_t row, leaf
    for row in range(nodes.n):
        out[row] = -1
    for leaf in range(nodes.m):
        out[nodes.leaves[leaf]] = number[leaf]
    return labels


cdef int divide(vector[uint8_t] &divided, const Nodes &nodes, list hrefs, int64_t k, bint strict) except -1:
    """Whether each row is divided: a child has k links or more, and every ancestor is divided."""
    cdef Py_ssize_t n = nodes.n, m = nodes.m, i
    cdef vector[int64_t] links = vector[int64_t](n + 1), below = vector[int64_t](m + 1), linked = vector[int64_t](m + 1)
    cdef int64_t long, wide
    for i in range(<Py_ssize_t>nodes.links):
        if nodes.link_key[i] != 0 and traits[nodes.tag[nodes.link_row[i]]] & LINKING and leads_away(hrefs[i]):
            links[nodes.link_row[i] + 1] += 1
    for i in range(n):
        links[i + 1] += links[i]
    for i in range(m):
        below[i + 1] = below[i] + nodes.words[i]
        linked[i + 1] = linked[i] + (nodes.words[i] if nodes.anchor[nodes.leaves[i]] else 0)
    for i in range(1, n):
        if links[nodes.end[i]] - links[i] < k:
            continue
        if not strict and traits[nodes.tag[i]] & PROSE:
            long = below[nodes.last_leaf[i]] - below[nodes.first_leaf[i]]
            wide = linked[nodes.last_leaf[i]] - linked[nodes.first_leaf[i]]
            if long >= PROSE_WORDS and wide < 0.5 * long:
                continue
        divided[nodes.parent[i]] = True
    for i in range(1, n):
        divided[i] = divided[i] and divided[nodes.parent[i]]
    return 0


cdef bint leads_away(str href) except -1:
    """Whether a link does not lead to a place on the page."""
    cdef str start = href.lstrip()
    return len(start) > 0 and start[0] != "#"


cdef int begin(vector[int64_t] &starts, vector[uint8_t] &divided, const Nodes &nodes, bint strict) except -1:
    """For the children of divided rows, the sibling with which their pagelet begins; else the row itself."""
    cdef Py_ssize_t n = nodes.n, row, child, i
    cdef vector[uint8_t] nothing
    cdef vector[int64_t] run  # siblings of one kind
    cdef int64_t kind, last_kind = 0
    cdef bint is_inline
    cdef int64_t unseen = given["NOTHING"]
    for i in range(<Py_ssize_t>nodes.looks):
        nothing.push_back(0 if strict else (nodes.signs[i] & unseen) > 0)
    for row in range(n):
        starts[row] = row
    for row in range(n):
        if not divided[row]:
            continue
        run.clear()
        child = row + 1
        while child < nodes.end[row]:
            if not nothing[nodes.look[child]]:
                is_inline = nodes.tag[child] == TEXT if strict else traits[nodes.tag[child]] & INLINE
                kind = ANONYMOUS if is_inline else nodes.signature[child]
                if run.size() and (kind != last_kind or divided[child] or divided[run.back()]):
                    join(starts, run, last_kind, strict)
                run.push_back(child)
                last_kind = kind
            child = nodes.end[child]
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


def divided(table, labels, templateness, roles):
    """Divide the leaves by label and by the decision what is template, in the order of the first leaf of each part.

    Parameters
    ----------
    labels : (n,) of the rows
    templateness : (m,) of the leaves
    roles : (m,) of the leaves, see `page.roles.role_of`

    Returns
    -------
    For each part its leaves, its mean templateness by words, and its role
    """
    cdef Nodes nodes = columns_of(table).nodes
    own_labels, own_roles = np.ascontiguousarray(labels, np.int64), np.ascontiguousarray(roles, np.int64)
    own_templateness = np.ascontiguousarray(templateness, np.float64)
    cdef Integers label = integers(own_labels), role = integers(own_roles)
    cdef const double *of_leaf = <const double*>pointer(own_templateness)
    cdef Py_ssize_t m = nodes.m, i, part
    if label.size != <Py_ssize_t>nodes.n or own_templateness.shape != (m,) or role.size != m:
        raise ValueError("there is not a label for each row, or not a templateness and a role for each leaf")
    cdef double threshold = given["THRESHOLD"]
    cdef Numbers numbers
    cdef vector[size_t] parts = vector[size_t](m)
    cdef vector[Part] found
    for i in range(m):
        parts[i] = numbers.add(label.at[nodes.leaves[i]] * 2 + (of_leaf[i] >= threshold)) - 1
        if parts[i] == found.size():
            found.push_back(Part(0, 0, 0))
        found[parts[i]].leaves += 1
        found[parts[i]].weight += max(nodes.words[i], 1)
    order = np.empty(m, np.int64)
    cdef int64_t *ordered = <int64_t*>pointer(order)
    cdef Py_ssize_t start = 0
    for part in range(<Py_ssize_t>found.size()):
        found[part].next = start
        start += found[part].leaves
    for i in range(m):
        ordered[found[parts[i]].next] = i
        found[parts[i]].next += 1
    cdef list result = []
    start = 0
    for part in range(<Py_ssize_t>found.size()):
        weighted = [of_leaf[ordered[i]] * max(nodes.words[ordered[i]], 1) for i in range(start, found[part].next)]
        mean = fsum(weighted) / found[part].weight
        name = given["CONTENT"]
        if of_leaf[ordered[start]] >= threshold:
            name = role_of_template(nodes, ordered + start, found[part].leaves, role.at)
        result.append((order[start : found[part].next], mean, name))
        start = found[part].next
    return result


def role_of(table, leaves, double templateness, roles):
    """Return the role of some leaves of a page, which is that of most of their words.

    Parameters
    ----------
    leaves : (k,) indices of the leaves
    templateness : of all of them together, 0 to 1
    roles : (m,) of each leaf of the page the index of its role in ``ROLES``; 0 also for template of which nobody knows
    """
    if templateness < given["THRESHOLD"]:
        return given["CONTENT"]
    cdef Nodes nodes = columns_of(table).nodes
    own_leaves, own_roles = np.ascontiguousarray(leaves, np.int64), np.ascontiguousarray(roles, np.int64)
    cdef Integers wanted = integers(own_leaves), role = integers(own_roles)
    cdef Py_ssize_t i, m = nodes.m
    if role.size != m:
        raise ValueError("there is not a role for each leaf")
    for i in range(wanted.size):
        if not 0 <= wanted.at[i] < m:
            raise IndexError(f"the page has no leaf {wanted.at[i]}")
    return role_of_template(nodes, wanted.at, wanted.size, role.at)


cdef object role_of_template(const Nodes &nodes, const int64_t *leaves, Py_ssize_t size, const int64_t *roles):
    """The role of some leaves that are template."""
    cdef tuple names = given["ROLES"]
    cdef int64_t votes[MOST_ROLES]
    cdef int64_t words = 0, linked = 0, known = 0
    cdef Py_ssize_t i, role, best = 1, count = len(names)
    if count > MOST_ROLES:
        raise ValueError(f"there are {count} roles")
    for role in range(count):
        votes[role] = 0
    for i in range(size):
        if not 0 <= roles[leaves[i]] < count:
            raise IndexError(f"there is no role {roles[leaves[i]]}")
        votes[roles[leaves[i]]] += max(nodes.words[leaves[i]], 1)
        words += nodes.words[leaves[i]]
        linked += nodes.words[leaves[i]] if nodes.anchor[nodes.leaves[leaves[i]]] else 0
    for role in range(1, count):
        known += votes[role]
        if votes[role] > votes[best]:
            best = role
    if known >= votes[0]:
        return names[best]
    return given["NAVIGATION"] if linked > <double>given["LINKED"] * words else given["TEMPLATE"]
