# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The columns of a node table: to ask NumPy for them costs more than most functions of the core do with a small page."""

from libc.stdint cimport int64_t, uint8_t

from scrapy_pagelets.core.arrays cimport Integers, integers, pointer

#: Where the columns are kept in the namespace of a node table.
cdef str KEPT = "_columns_of_core"


cdef class Columns:
    def __cinit__(self, table):
        links = table.links
        self.alive = []
        self.nodes.n, self.nodes.m = len(table.parent), len(table.leaves)
        self.nodes.links, self.nodes.looks = len(links.row), len(table.signs)
        cdef size_t n = self.nodes.n, m = self.nodes.m
        self.nodes.parent, self.nodes.end = self.integers(table.parent, n), self.integers(table.end, n)
        self.nodes.depth, self.nodes.tag = self.integers(table.depth, n), self.integers(table.tag, n)
        self.nodes.look, self.nodes.path = self.integers(table.look, n), self.integers(table.path, n)
        self.nodes.signature, self.nodes.shape = self.integers(table.signature, n), self.integers(table.shape, n)
        self.nodes.first_leaf = self.integers(table.first_leaf, n)
        self.nodes.last_leaf = self.integers(table.last_leaf, n)
        self.nodes.anchor, self.nodes.hidden = self.mask(table.anchor, n), self.mask(table.hidden, n)
        self.nodes.leaves, self.nodes.text = self.integers(table.leaves, m), self.integers(table.text, m)
        self.nodes.words, self.nodes.gap = self.integers(table.words, m), self.integers(table.gap, m)
        self.nodes.number = self.integers(table.number, m)
        self.nodes.link_row = self.integers(links.row, self.nodes.links)
        self.nodes.link_key = self.integers(links.key, self.nodes.links)
        self.nodes.signs = self.integers(table.signs, self.nodes.looks)
        self.nodes.class_signature = self.integers(table.class_signature, self.nodes.looks)

    cdef const int64_t *integers(self, array, size_t size) except? NULL:
        """The data of a column of integers, if it has a size."""
        cdef Integers found = integers(array)
        if <size_t>found.size != size:
            raise ValueError(f"a column has {found.size} values instead of {size}")
        self.alive.append(array)
        return found.at

    cdef const uint8_t *mask(self, array, size_t size) except? NULL:
        if <size_t>array.nbytes != size:
            raise ValueError(f"a mask has {array.nbytes} bytes instead of {size}")
        self.alive.append(array)
        return <const uint8_t*>pointer(array)

    def __reduce__(self):
        return type(None), ()  # the copy of a table has other arrays


cdef Columns columns_of(table):
    """The columns of a table, kept with it."""
    cdef dict namespace = table.__dict__
    columns = namespace.get(KEPT)
    if columns is None:
        columns = namespace[KEPT] = Columns(table)
    return columns
