# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Corrections of what is content, see `scrapy_pagelets.decision.content`."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport pointer
from scrapy_pagelets.core.columns cimport Nodes, columns_of

cdef extern from "corrections.hpp" nogil:
    cppclass Limits:
        int64_t cell, line, text, heading
        double threshold, of_line, whole, announcing, most, certain, byline, in_doubt
        double of_blocks, least, half, linked
        vector[uint8_t] is_list, is_item, is_heading, is_block
    cppclass Corrections:
        vector[double] found
        vector[int64_t] announced
        Corrections(const Nodes &nodes, const Limits &limits, const double *templateness) except +
        void set(size_t row, double value)
        void keep_lines()
        void keep_items() except +
        void fill_holes() except +
        void keep_headings(const vector[uint8_t] &is_label, const uint8_t *marks) except +
        void keep_lists(const uint8_t *marks) except +

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef Limits limits
cdef tuple colons = ()


cdef int set_up() except -1:
    global is_set_up, colons
    if is_set_up:
        return 0
    limits.cell, limits.line, limits.text, limits.heading = given["CELL"], given["LINE"], given["TEXT"], given["HEADING"]
    limits.threshold, limits.of_line = given["THRESHOLD"], given["OF_LINE"]
    limits.whole, limits.announcing, limits.most = given["WHOLE"], given["ANNOUNCING"], given["MOST"]
    limits.certain = given["CERTAIN"]
    limits.byline = given["BYLINE"]
    limits.in_doubt = given["IN_DOUBT"]
    limits.is_list, limits.is_item, limits.is_heading = given["IS_LIST"], given["IS_ITEM"], given["IS_HEADING"]
    limits.of_blocks, limits.least = given["SHARE"], given["LEAST"]
    limits.half, limits.linked, limits.is_block = given["HALF"], given["LINKS"], given["IS_BLOCK"]
    colons = given["COLONS"]
    is_set_up = True
    return 0


def corrected(table, templateness, headline):
    """(m,) templateness of the leaves: 0 in the own heading, headings and lists of content, 1 in permalinks.

    What is template in a line that is content on average has the average.

    If the page has an own heading, what stands above it as the name of the site is template, also where the cut of the
    page is in doubt.

    Parameters
    ----------
    templateness : (m,) as the site knows it
    headline : the page's own heading, if it has one
    """
    set_up()
    cdef Nodes nodes = columns_of(table).nodes
    values = np.ascontiguousarray(templateness, np.float64)
    if <size_t>values.size != nodes.m or <size_t>len(table.strings) != nodes.m or <size_t>len(table.looks) != nodes.looks:
        raise ValueError("there is not a text and a templateness for each leaf, or not a look for each of the signs")
    if nodes.m == 0:
        return values.copy()
    cdef Corrections *corrections = new Corrections(nodes, limits, <const double*>pointer(values))
    try:
        corrections.keep_lines()
        corrections.keep_items()
        announce(corrections, table.strings, nodes)
        corrections.fill_holes()
        if headline is not None:
            set_rows(corrections, nodes, (headline.row,), 0)
            set_rows(corrections, nodes, headline.banners, 1)
        return finished(corrections, table, nodes)
    finally:
        del corrections


cdef int announce(Corrections *corrections, list strings, const Nodes &nodes) except -1:
    """Keep the lists behind lines that end in a colon."""
    cdef int64_t row
    cdef str text
    for row in corrections.announced:
        text = strings[nodes.first_leaf[row] - 1]
        if text.rstrip().endswith(colons):
            corrections.set(row, 0)
    return 0


cdef int set_rows(Corrections *corrections, const Nodes &nodes, rows, double value) except -1:
    cdef int64_t row
    for row in rows:
        if not 0 <= row < <int64_t>nodes.n:
            raise IndexError(f"the page has no row {row}")
        corrections.set(row, value)
    return 0


cdef object finished(Corrections *corrections, table, const Nodes &nodes):
    """The templateness, without permalinks, and with what belongs to headings."""
    cdef size_t i
    cdef vector[uint8_t] labels
    marks, is_label = given["permalinks"](table), given["is_label"]
    cdef const uint8_t *is_mark = <const uint8_t*>pointer(marks)
    for i in range(nodes.m):
        if is_mark[i]:
            corrections.found[i] = 1
    for look in table.looks:
        classes = (<tuple>look)[2]
        labels.push_back(is_label(classes) if classes else False)
    corrections.keep_headings(labels, is_mark)
    corrections.keep_lists(is_mark)
    result = np.empty(nodes.m)
    memcpy(pointer(result), corrections.found.data(), nodes.m * sizeof(double))
    return result
