# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Corrections that most pages do not need, see `half_lines` and `corrections` of `scrapy_pagelets.decision`."""

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport pointer
from scrapy_pagelets.core.columns cimport Nodes, columns_of

cdef extern from "small_corrections.hpp" nogil:
    cppclass OfLists:
        vector[uint8_t] is_item
        double least, most, no_word, threshold, few_words
    cppclass Together:
        Together(const Nodes &nodes, const OfLists &limits)
        void decide(const double *told, double *found) except +
    void follow_words(const Nodes &nodes, int64_t line, const double *told, double *found)
    bint cpp_has_copies "has_copies"(
        const Nodes &nodes, const vector[uint8_t] &is_layout, int64_t least_runs, int64_t least_words
    ) except +
    bint cpp_has_lone_heading "has_lone_heading"(
        const Nodes &nodes, int64_t heading, int64_t text, const uint8_t *keep
    )

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef OfLists of_lists
cdef vector[uint8_t] is_layout


def decided_together(table, templateness):
    """(m,) templateness of the leaves; what is in doubt in short elements of one parent and look has their mean.

    Parameters
    ----------
    templateness : (m,) of each leaf by itself

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> nodes = Page.parse(b"<ul><li>Handlers<li>Parser<li>Registry</ul><p>Tags", "http://a/").nodes
    >>> decided_together(nodes, np.array([0.4, 0.7, 0.4, 0.7])).round(2).tolist()
    [0.5, 0.5, 0.5, 0.7]
    """
    if of_lists.is_item.empty():
        of_lists.least, of_lists.most = given["DOUBT"]
        of_lists.no_word, of_lists.few_words, of_lists.threshold = given["NO_WORD"], given["SHORT"], given["THRESHOLD"]
        of_lists.is_item = given["IS_ITEM"]
    cdef Nodes nodes = columns_of(table).nodes
    values = leaves_of(templateness, nodes)
    found = values.copy()
    cdef Together *together = new Together(nodes, of_lists)
    try:
        together.decide(<const double*>pointer(values), <double*>pointer(found))
    finally:
        del together
    return found


def signs_with_words(table, templateness):
    """(m,) templateness in which a run without words has that of the words before it in its line, or else behind it.

    Without its brackets, code is wrong; a comma without what it parts is none.

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> nodes = Page.parse(b"<p><i>template</i><b>&lt;</b><br><b>, </b><i>tea</i><p>-", "http://a/").nodes
    >>> signs_with_words(nodes, np.array([0.1, 0.6, 0.2, 0.7, 0.3])).tolist()
    [0.1, 0.1, 0.7, 0.7, 0.3]
    """
    cdef Nodes nodes = columns_of(table).nodes
    values = leaves_of(templateness, nodes)
    found = np.empty(nodes.m)
    follow_words(nodes, given["LINE"], <const double*>pointer(values), <double*>pointer(found))
    return found


def has_copies(table):
    """Whether one block of layout may have the text of another one behind it, see `corrections`: few pages have any."""
    global is_layout
    if is_layout.empty():
        is_layout = given["IS_LAYOUT"]
    return cpp_has_copies(columns_of(table).nodes, is_layout, given["RUNS"], given["WORDS"])


def has_lone_heading(table, keep):
    """Whether template follows a heading of content.

    Parameters
    ----------
    keep : (m,) the leaves that are content
    """
    cdef Nodes nodes = columns_of(table).nodes
    if <size_t>keep.nbytes != nodes.m:
        raise ValueError("the mask does not have a value for each leaf")
    return cpp_has_lone_heading(nodes, given["HEADING"], given["TEXT"], <const uint8_t*>pointer(keep))


cdef object leaves_of(column, const Nodes &nodes):
    """A column of floats with a value for each leaf."""
    values = np.ascontiguousarray(column, np.float64)
    if <size_t>values.size != nodes.m:
        raise ValueError("there is not a templateness for each leaf")
    return values
