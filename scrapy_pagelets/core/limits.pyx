# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""What is looked at in a text as a whole, see `scrapy_pagelets.page.limits` and `scrapy_pagelets.page.text`."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef extern from "Python.h":
    int PyUnicode_KIND(object)
    void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_FindChar(str text, Py_UCS4 character, Py_ssize_t start, Py_ssize_t end, int direction) except -2

cdef enum:
    BACKWARDS = -1
    FORWARDS = 1

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef str opening = "", separators = ""
cdef int tries


cdef int set_up() except -1:
    global is_set_up, opening, separators, tries
    if not is_set_up:
        opening, separators, tries = given["OPENING"], given["SEPARATORS"], given["TRIES"]
        is_set_up = True
    return 0


ctypedef fused Code:
    uint8_t
    uint16_t
    uint32_t


def without_nul(str text not None):
    r"""Remove the NUL characters of a text, which libxml2 takes for its end.

    >>> without_nul("<p>a\0b")
    '<p>ab'
    """
    cdef int kind = PyUnicode_KIND(text)
    cdef void *codes = PyUnicode_DATA(text)
    cdef bint found
    if kind == 1:
        found = has_nul(<const uint8_t*>codes, len(text))
    elif kind == 2:
        found = has_nul(<const uint16_t*>codes, len(text))
    else:
        found = has_nul(<const uint32_t*>codes, len(text))
    return text.replace("\0", "") if found else text


cdef bint has_nul(const Code *codes, Py_ssize_t count) noexcept:
    """Whether one of some characters is NUL; it looks at all, so that compilers make vector instructions of the loop."""
    cdef Py_ssize_t i
    cdef bint found = False
    for i in range(count):
        found |= codes[i] == 0
    return found


def may_have_long_tag(str text not None, Py_ssize_t most):
    """Return False if no tag of a text has more attributes than ``most``, whatever its comments and scripts look like.

    A ``>`` ends any tag that is open there, unless it is inside a quoted value. In that case the last quotation mark of
    the same kind before it follows an equals sign or white space. So it is enough to find one unquoted ``>`` in each
    stretch of twice as many characters; where there is none, the separators up to the next one are counted.
    """
    set_up()
    cdef Py_ssize_t at = 0, end
    while len(text) - at > 2 * most:
        end = last_tag_end(text, at, at + 2 * most)
        if end < 0:
            end = next_tag_end(text, at, at + 2 * most)
            if number_of_separators(text, at, end) > most:
                return True
        at = end
    return False


cdef Py_ssize_t last_tag_end(str text, Py_ssize_t start, Py_ssize_t end) except -2:
    cdef int i
    for i in range(tries):
        end = PyUnicode_FindChar(text, c">", start + 1, end, BACKWARDS)
        if end < 0 or ends_tag(text, start, end):
            return end
    return -1


cdef Py_ssize_t next_tag_end(str text, Py_ssize_t start, Py_ssize_t end) except -2:
    cdef int i
    end -= 1
    for i in range(tries):
        end = PyUnicode_FindChar(text, c">", end + 1, len(text), FORWARDS)
        if end < 0:
            return len(text)
        if ends_tag(text, start, end):
            return end
    return len(text)


cdef bint ends_tag(str text, Py_ssize_t start, Py_ssize_t end) except -1:
    cdef Py_ssize_t mark
    cdef Py_UCS4 quote
    for quote in "\"'":
        mark = PyUnicode_FindChar(text, quote, start, end, BACKWARDS)
        if mark == 0 or (mark > 0 and text[mark - 1] in opening):
            return False
    return True


cdef Py_ssize_t number_of_separators(str text, Py_ssize_t start, Py_ssize_t end) except -1:
    cdef Py_ssize_t count = 0, i
    for i in range(start, end):
        count += text[i] in separators
    return count


def is_composed(str text):
    """Whether a text surely is in Unicode's form NFC: it has nothing but Latin letters and usual marks."""
    cdef Py_UCS4 c
    for c in text:
        if c >= 0x300 and not 0x2010 <= c < 0x2060:
            return False
    return True
