# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Which tables hold data, see `scrapy_pagelets.page.data_tables.is_data`."""

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

from scrapy_pagelets.core.columns cimport Nodes, columns_of

#: What a tag is to a table.
cdef enum:
    IN_LAYOUT = 1
    SELDOM = 2
    IS_CELL = 4
    IS_HEAD = 8

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef vector[uint8_t] kinds  # by tag
cdef double layout, layout_with_head
cdef tuple no_data = ()


cdef int set_up() except -1:
    global is_set_up, layout, layout_with_head, no_data
    if is_set_up:
        return 0
    kinds.assign(len(given["TAGS"]), 0)
    for kind, tags in (
        (IN_LAYOUT, given["IN_LAYOUT"]), (SELDOM, given["SELDOM"]), (IS_CELL, given["CELLS"]), (IS_HEAD, [given["HEAD"]]),
    ):  # fmt: skip
        for tag in tags:
            kinds[<size_t>tag] |= <uint8_t>kind
    layout, layout_with_head, no_data = given["LAYOUT"], given["LAYOUT_WITH_HEAD"], given["NO_DATA"]
    is_set_up = True
    return 0


def is_data(table, int64_t row):
    """Whether a table holds data: at least two lines, one of them with text in two cells, and few cells with blocks in them.

    A table whose role says that it has no data needs header cells before others.

    Parameters
    ----------
    table : row of the element
    """
    set_up()
    cdef Nodes nodes = columns_of(table).nodes
    if not 0 <= row < <int64_t>nodes.n:
        raise IndexError(f"the page has no row {row}")
    cdef bint may_be = (<tuple>table.looks[nodes.look[row]])[3] not in no_data
    cdef int64_t inner
    cdef vector[int64_t] cells
    for inner in range(row + 1, nodes.end[row]):
        if kinds[nodes.tag[inner]] & IN_LAYOUT:
            return False
        if kinds[nodes.tag[inner]] & IS_CELL:
            if cells.size() and kinds[nodes.tag[cells.back()]] & IS_HEAD and not kinds[nodes.tag[inner]] & IS_HEAD:
                may_be = True  # whatever its role
            cells.push_back(inner)
    return may_be and have_data(nodes, cells)


def holds_data(table, int64_t row, cells):
    """Whether an element with some cells holds data, as `is_data`.

    Parameters
    ----------
    table : row of the element
    cells : rows of its cells, ascending; it may be a cell itself
    """
    set_up()
    cdef Nodes nodes = columns_of(table).nodes
    cdef vector[int64_t] rows = cells
    cdef int64_t inner
    if not 0 <= row < <int64_t>nodes.n or (rows.size() and not row <= rows.front() <= rows.back() < nodes.end[row]):
        raise IndexError(f"the page has no row {row} with these cells")
    for inner in range(row + 1, nodes.end[row]):
        if kinds[nodes.tag[inner]] & IN_LAYOUT:
            return False
    return bool(have_data(nodes, rows))


cdef bint have_data(const Nodes &nodes, const vector[int64_t] &cells) noexcept:
    cdef size_t begin = 0, end, i, lines = 0, widest = 0, with_blocks = 0, shown = 0, before
    cdef bint has_head = True
    while begin < cells.size():
        end, before = begin + 1, shown
        while end < cells.size() and nodes.parent[cells[end]] == nodes.parent[cells[begin]]:
            end += 1
        for i in range(begin, end):
            shown += nodes.first_leaf[cells[i]] < nodes.last_leaf[cells[i]]
            if lines == 0 and not kinds[nodes.tag[cells[i]]] & IS_HEAD:
                has_head = False
            if end - begin > 1:  # a cell alone divides the table
                with_blocks += has_block(nodes, cells[i])
        lines += 1
        widest = max(widest, shown - before)
        begin = end
    if lines < 2 or widest < 2:
        return False
    return <double>with_blocks < (layout_with_head if has_head else layout) * <double>max(<size_t>1, shown)


cdef bint has_block(const Nodes &nodes, int64_t cell) noexcept:
    cdef int64_t row
    for row in range(cell, nodes.end[cell]):
        if kinds[nodes.tag[row]] & SELDOM:
            return True
    return False
