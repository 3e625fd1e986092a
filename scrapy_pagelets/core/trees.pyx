# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Boosted symmetric trees, see `scrapy_pagelets.decision.classifiers`."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint16_t
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport Integers, integers, pointer


cdef extern from "trees.hpp" nogil:
    const size_t MOST_LEVELS
    struct Forest:
        const uint16_t *feature
        const float *border
        const float *value
        size_t trees, depth
    void evaluate(
        const Forest &forest, const vector[uint16_t] &used, const vector[const float *] &columns, size_t rows, double *sums
    ) except +
    cppclass Rivals:
        vector[Forest] forests
        vector[double] bias
        vector[uint16_t] used
        size_t width
    void choose(
        const Rivals &rivals, const vector[const float *] &columns, const int64_t *rows, size_t size, int64_t *chosen
    ) except +

cdef enum:
    MOST_FEATURES = 65536
#: Where the trees in the form of the core are kept in the namespace of `Trees`, and rivals in that of the first one.
cdef str KEPT = "_trees_of_core", KEPT_CONTEST = "_rivals_of_core"


cdef class Prepared:
    """Trees that were checked once, in little memory: a page finds the processor's cache full of other things."""

    cdef Forest forest
    cdef vector[uint16_t] feature, used
    cdef size_t features  # that the trees compare
    cdef object border, value

    def __cinit__(self, trees):
        cdef size_t count, depth
        cdef int64_t one
        count, depth = trees.feature.shape
        if depth > MOST_LEVELS or trees.value.shape != (count, 1 << depth) or trees.border.shape != (count, depth):
            raise ValueError(f"trees with {depth} levels have values of the shape {trees.value.shape}")
        for one in trees.feature.ravel().tolist():
            if not 0 <= one < MOST_FEATURES:
                raise IndexError(f"trees compare the column {one}")
            self.feature.push_back(<uint16_t>one)
            self.features = max(self.features, <size_t>one + 1)
        self.used = sorted(set(self.feature))
        self.border = np.ascontiguousarray(trees.border, np.float32)
        self.value = np.ascontiguousarray(trees.value, np.float32)
        self.forest.trees, self.forest.depth, self.forest.feature = count, depth, self.feature.data()
        if count and depth:
            self.forest.border, self.forest.value = <float*>pointer(self.border), <float*>pointer(self.value)

    def __reduce__(self):
        return type(None), ()  # a copy of the trees prepares them again


cdef Prepared prepared_of(trees):
    """The trees in the form of the core, kept with them."""
    cdef dict namespace = trees.__dict__
    cdef Prepared prepared = namespace.get(KEPT)
    if prepared is None:
        prepared = namespace[KEPT] = Prepared(trees)
    return prepared


cdef list columns_of(parts, size_t rows, vector[const float *] &columns):
    """Note where each column of a matrix in parts begins; return what keeps it alive."""
    cdef Py_buffer view
    cdef bint by_column
    cdef list alive = []
    cdef Py_ssize_t j, step, count
    cdef const char *first
    for part in parts:
        if part.shape[0] != rows:
            raise ValueError(f"the parts of a matrix have {rows} and {part.shape[0]} rows")
        PyObject_GetBuffer(part, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
        by_column = view.itemsize == 4 and view.format[0] == c"f" and view.strides[0] == 4
        first, count, step = <const char*>view.buf, view.shape[1], view.strides[1]
        PyBuffer_Release(&view)
        if not by_column:
            part = np.ascontiguousarray(part.T, np.float32)
            first, step = <const char*>pointer(part), 4 * rows
        alive.append(part)
        for j in range(count):
            columns.push_back(<const float*>(first + j * step))
    return alive


def summed(trees, parts):
    """(m,) sum of the values of the trees, and the bias, for the rows of a matrix in parts."""
    cdef size_t rows = parts[0].shape[0], j
    cdef double bias = trees.bias
    cdef Prepared prepared = prepared_of(trees)
    if rows == 0 or prepared.feature.empty():
        return np.full(rows, bias)
    cdef vector[const float *] columns
    alive = columns_of(parts, rows, columns)
    if columns.size() < prepared.features:
        raise IndexError("the trees compare a column that the matrix does not have")
    sums = np.empty(rows)
    cdef double *out = <double*>pointer(sums)
    with nogil:
        evaluate(prepared.forest, prepared.used, columns, rows, out)
        for j in range(rows):
            out[j] += bias
    return sums


cdef class Contest:
    """Some trees that are compared, prepared once."""

    cdef Rivals rivals
    cdef object trees

    def __cinit__(self, trees):
        cdef Prepared prepared
        self.trees, used = trees, set()
        for one in trees:
            prepared = prepared_of(one)
            self.rivals.forests.push_back(prepared.forest)
            self.rivals.bias.push_back(one.bias)
            self.rivals.width = max(self.rivals.width, prepared.features)
            used.update(prepared.used)
        self.rivals.used = sorted(used)

    def __reduce__(self):
        return type(None), ()  # a copy of the trees prepares them again


def chosen(rivals, parts, rows):
    """(k,) the number of the trees with the greatest sum, for some rows of a matrix in parts.

    Parameters
    ----------
    rivals : one or more trees
    parts : (m, features) as of `summed`
    rows : (k,) of the matrix
    """
    cdef dict namespace = rivals[0].__dict__
    cdef Contest contest = namespace.get(KEPT_CONTEST)
    if contest is None or contest.trees is not rivals:
        contest = namespace[KEPT_CONTEST] = Contest(rivals)
    cdef Integers wanted = integers(rows)
    cdef int64_t count = parts[0].shape[0]
    cdef Py_ssize_t i
    cdef vector[const float *] columns
    alive = columns_of(parts, count, columns)
    if columns.size() < contest.rivals.width:
        raise IndexError("the trees compare a column that the matrix does not have")
    for i in range(wanted.size):
        if not 0 <= wanted.at[i] < count:
            raise IndexError(f"the matrix has no row {wanted.at[i]}")
    found = np.empty(wanted.size, np.int64)
    cdef int64_t *out = <int64_t*>pointer(found)
    with nogil:
        choose(contest.rivals, columns, wanted.at, wanted.size, out)
    return found
