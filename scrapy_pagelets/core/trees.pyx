# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Boosted symmetric trees, see `scrapy_pagelets.templates.trees`."""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport pointer


cdef extern from "trees.hpp" nogil:
    const size_t MOST_LEVELS
    struct Forest:
        const int64_t *feature
        const float *border
        const float *value
        size_t trees, depth
    void evaluate(const Forest &forest, const vector[const float *] &columns, size_t rows, double *sums) except +


def summed(trees, parts):
    """As `scrapy_pagelets.templates.trees.summed`."""
    cdef size_t rows = parts[0].shape[0], j
    cdef Forest forest
    forest.trees, forest.depth = trees.feature.shape
    if rows == 0 or trees.feature.size == 0:
        return np.zeros(rows)
    if forest.depth > MOST_LEVELS or trees.value.shape != (forest.trees, 1 << forest.depth):
        raise ValueError(f"trees with {forest.depth} levels have values of the shape {trees.value.shape}")
    feature = np.ascontiguousarray(trees.feature, np.int64)
    border, value = np.ascontiguousarray(trees.border, np.float32), np.ascontiguousarray(trees.value, np.float32)
    forest.feature, forest.border = <const int64_t*>pointer(feature), <const float*>pointer(border)
    forest.value = <const float*>pointer(value)
    cdef vector[const float *] columns
    cdef const float *first
    transposed = [np.ascontiguousarray(part.T, np.float32) for part in parts]
    for part in transposed:
        if part.shape[1] != rows:
            raise ValueError(f"the parts of a matrix have {rows} and {part.shape[1]} rows")
        first = <const float*>pointer(part)
        for j in range(part.shape[0]):
            columns.push_back(first + j * rows)
    if not is_within(forest, columns.size()):
        raise IndexError("the trees compare a column that the matrix does not have")
    sums = np.empty(rows)
    cdef double *out = <double*>pointer(sums)
    with nogil:
        evaluate(forest, columns, rows, out)
    return sums


cdef bint is_within(const Forest &forest, size_t features) noexcept nogil:
    """Whether all columns that the trees compare exist."""
    cdef size_t split
    for split in range(forest.trees * forest.depth):
        if not 0 <= forest.feature[split] < <int64_t>features:
            return False
    return True
