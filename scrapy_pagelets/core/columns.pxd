"""The columns of a node table, taken once for all that ask for them."""

from libc.stdint cimport int64_t, uint8_t

cdef extern from "columns.hpp" nogil:
    cppclass Nodes:
        size_t n, m, links, looks
        const int64_t *parent
        const int64_t *end
        const int64_t *depth
        const int64_t *tag
        const int64_t *look
        const int64_t *path
        const int64_t *signature
        const int64_t *shape
        const int64_t *first_leaf
        const int64_t *last_leaf
        const uint8_t *anchor
        const uint8_t *hidden
        const int64_t *leaves
        const int64_t *text
        const int64_t *words
        const int64_t *gap
        const int64_t *number
        const int64_t *link_row
        const int64_t *link_key
        const int64_t *signs
        const int64_t *class_signature


cdef class Columns:
    """The data of the columns of a table, whose arrays it keeps alive."""

    cdef Nodes nodes
    cdef list alive

    cdef const int64_t *integers(self, array, size_t size) except? NULL
    cdef const uint8_t *mask(self, array, size_t size) except? NULL


cdef Columns columns_of(table)
