# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The dynamic program of isotonic smoothing, see `scrapy_pagelets.papers.page_level`.

Sums are taken in the same order as there, so that the scores are the same to the last bit.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

cdef enum:  # as there; it decides on the order of sums
    BLOCK = 1 << 14


def minimise(tree, const double[::1] values, const double[::1] scores, const double[::1] weights, double c):
    """Run the dynamic program over ascending values, in O(n k)."""
    cdef const int64_t[::1] order = tree.order, above = tree.above
    cdef vector[Py_ssize_t] starts = tree.starts
    cdef Py_ssize_t n = order.shape[0], k = values.shape[0], inner = starts.back(), i, row, j
    cdef vector[double] x = vector[double](n), w = vector[double](n)
    cdef vector[double] costs = vector[double](inner * k), jump = vector[double](n - inner)
    cdef vector[Py_ssize_t] level = vector[Py_ssize_t](n), nearest = vector[Py_ssize_t](n - inner)
    cdef vector[uint8_t] stays = vector[uint8_t](inner * k)
    smoothed = np.empty(n)
    cdef double[::1] y = smoothed
    with nogil:
        for i in range(n):
            x[i], w[i] = scores[order[i]], weights[order[i]]
        for i in range(inner):
            for j in range(k):
                costs[i * k + j] = fabs((values[j] - x[i]) * w[i])
        add_leaves(costs, nearest, jump, above, values, x, w, c)
        bottom_up(costs, stays, starts, above, k, c)
        level[0] = least(&costs[0], 0, k)
        for i in range(1, inner):
            j = level[above[i]]
            level[i] = j if stays[i * k + j] else least(&costs[i * k], j, k)
        for i in range(inner, n):
            j = level[above[i]]
            level[i] = nearest[i - inner] if w[i] * (x[i] - values[j]) > jump[i - inner] else j
        for i in range(n):
            y[order[i]] = values[level[i]]
    return smoothed


cdef void add_leaves(
    vector[double] &costs, vector[Py_ssize_t] &nearest, vector[double] &jump, const int64_t[::1] above,
    const double[::1] values, vector[double] &x, vector[double] &w, double c,
) noexcept nogil:  # fmt: skip
    """Add the costs of the leaves to those of their parents; find the level nearest to each, and the cost of a jump."""
    cdef Py_ssize_t k = values.shape[0], n = x.size(), inner = n - nearest.size(), block = max(1, BLOCK // k)
    cdef Py_ssize_t begin = inner, end, i, j, best
    cdef vector[double] distance = vector[double](k)
    cdef Sums sums
    while begin < n:
        end = min(begin + block, n)
        start(sums, above, begin, end, k)
        for i in range(begin, end):
            best = 0
            for j in range(k):
                distance[j] = (values[j] - x[i]) * w[i]
                if fabs(distance[j]) < fabs(distance[best]):
                    best = j
            nearest[i - inner] = best
            jump[i - inner] = c + fabs(distance[best])
            # Below x a leaf pays its distance or jumps; above x it pays its distance.
            for j in range(k):
                sums.of[(above[i] - sums.first) * k + j] += max(min(fabs(distance[j]), jump[i - inner]), distance[j])
        finish(costs, sums, k)
        begin = end


cdef void bottom_up(
    vector[double] &costs, vector[uint8_t] &stays, vector[Py_ssize_t] &starts, const int64_t[::1] above, Py_ssize_t k,
    double c,
) noexcept nogil:  # fmt: skip
    """Add the costs of its subtree to those of each row; find whether it keeps each level of its parent."""
    cdef Py_ssize_t depth, i, j
    cdef double lowest, own, passed
    cdef Sums sums
    for depth in range(<Py_ssize_t>starts.size() - 2, 0, -1):
        start(sums, above, starts[depth], starts[depth + 1], k)
        for i in range(starts[depth], starts[depth + 1]):
            lowest = costs[i * k + k - 1]
            for j in range(k - 1, -1, -1):
                own = costs[i * k + j]
                lowest = min(lowest, own)
                passed = lowest + c
                stays[i * k + j] = own <= passed
                sums.of[(above[i] - sums.first) * k + j] += min(own, passed)
        finish(costs, sums, k)


cdef struct Sums:
    Py_ssize_t first  # row of the first parent
    vector[double] of  # costs of the children by parent


cdef void start(Sums &sums, const int64_t[::1] above, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t k) noexcept nogil:
    """Begin the sums by parent of some rows."""
    cdef Py_ssize_t last = above[begin], i
    sums.first = above[begin]
    for i in range(begin, end):
        sums.first, last = min(sums.first, above[i]), max(last, above[i])
    sums.of.assign((last + 1 - sums.first) * k, 0)


cdef void finish(vector[double] &costs, Sums &sums, Py_ssize_t k) noexcept nogil:
    """Add the sums to the costs of the parents."""
    cdef size_t i
    for i in range(sums.of.size()):
        costs[sums.first * k + i] += sums.of[i]


cdef Py_ssize_t least(const double *costs, Py_ssize_t first, Py_ssize_t k) noexcept nogil:
    """The level of the lowest cost, from a level on."""
    cdef Py_ssize_t best = first, j
    for j in range(first + 1, k):
        if costs[j] < costs[best]:
            best = j
    return best
