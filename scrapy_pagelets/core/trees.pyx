# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Boosted symmetric trees, see `scrapy_pagelets.templates.trees`."""

from libc.stdint cimport int64_t

import numpy as np


cdef extern from "trees.hpp" nogil:
    struct Forest:
        const int64_t *feature
        const float *border
        const float *value
        size_t trees, depth
    void evaluate(const Forest &forest, const float *matrix, size_t rows, size_t features, double *sums)


def summed(const int64_t[:, ::1] feature, const float[:, ::1] border, const float[:, ::1] value, columns):
    """(m,) sum of the trees for the rows of an (m, features) matrix."""
    cdef const float[:, ::1] matrix = np.ascontiguousarray(columns, np.float32)
    cdef size_t rows = matrix.shape[0], features = matrix.shape[1], trees = feature.shape[0], depth = feature.shape[1]
    sums = np.zeros(rows)
    cdef double[::1] out = sums
    if rows == 0 or trees == 0 or features == 0:
        return sums
    if features <= max(np.max(feature), 0):
        raise IndexError("the trees compare a column that the matrix does not have")
    cdef Forest forest = Forest(&feature[0, 0], &border[0, 0], &value[0, 0], trees, depth)
    with nogil:
        evaluate(forest, &matrix[0, 0], rows, features, &out[0])
    return sums
