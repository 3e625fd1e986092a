"""The data of NumPy arrays, at a tenth of the cost of a typed memoryview."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer


cdef inline void *pointer(array) except? NULL:
    """The data of a contiguous array, which the caller keeps alive."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    cdef void *data = view.buf
    PyBuffer_Release(&view)
    return data
