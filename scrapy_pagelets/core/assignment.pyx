# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""Assignments of largest weight: SciPy, which has them as well, is large and slow to import in each crawl."""

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np


cdef extern from "assignment.hpp" nogil:
    cppclass Edge:
        int64_t group, left, right
        double weight
        size_t at

    void assign_edges "assign"(vector[Edge] &edges, double order, uint8_t *chosen)


def assign(
    const int64_t[::1] group, const int64_t[::1] left, const int64_t[::1] right, const double[::1] weight, double order
):
    """(k,) the edges of an assignment of largest weight in each group; ties prefer the k-th with the k-th.

    Parameters
    ----------
    group : (k,) number of the graph that an edge belongs to
    left, right : (k,) the ends of the edges; no node belongs to two groups
    weight : (k,) weights above 0
    order : what all preferences for the k-th with the k-th together may weigh
    """
    cdef size_t k = group.shape[0], i
    if not k == <size_t>left.shape[0] == <size_t>right.shape[0] == <size_t>weight.shape[0]:
        raise ValueError("edges need two ends, a group and a weight each")
    chosen = np.zeros(k, np.bool_)
    if not k:
        return chosen
    cdef uint8_t[::1] marks = chosen.view(np.uint8)
    cdef vector[Edge] edges
    with nogil:
        edges.resize(k)
        for i in range(k):
            edges[i].group, edges[i].left, edges[i].right = group[i], left[i], right[i]
            edges[i].weight, edges[i].at = weight[i], i
        assign_edges(edges, order, &marks[0])
    return chosen
