"""The data of NumPy arrays, at a tenth of the cost of a typed memoryview."""

from cpython.buffer cimport PyBUF_ND, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t


cdef inline void *pointer(array) except? NULL:
    """The data of a contiguous array, which the caller keeps alive."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    cdef void *data = view.buf
    PyBuffer_Release(&view)
    return data


cdef struct Integers:
    const int64_t *at
    Py_ssize_t size


cdef inline Integers integers(array) except *:
    """A contiguous column of integers, which the caller keeps alive."""
    cdef Py_buffer view
    cdef Integers found
    PyObject_GetBuffer(array, &view, PyBUF_ND)
    found.at, found.size = <const int64_t*>view.buf, view.len // 8
    cdef bint fits = view.ndim == 1 and view.itemsize == 8
    PyBuffer_Release(&view)
    if not fits:
        raise ValueError("a column of integers of 64 bits is needed")
    return found
