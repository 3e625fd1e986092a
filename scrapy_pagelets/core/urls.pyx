# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The addresses of links, see `scrapy_pagelets.page.urls`: plain ones here, all others in Python."""

from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport count
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.core.arrays cimport pointer

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL

cdef extern from "urls.hpp" nogil:
    cppclass Text:
        Text()
        Text(const char *, size_t)
        const char *data()
        size_t size()
        char operator[](size_t)
    cppclass Base:
        Base(Text)
    enum Answer:
        ODD, NOWHERE, PLAIN
    Answer cpp_resolve "resolve"(const Base &, Text, const vector[string] &, size_t, string &)
    Answer cpp_absolute "absolute"(const Base &, Text, string &)
    bint is_written(Text)
    Answer cpp_leads_to_page "leads_to_page"(Text, Text)
    bint ends_like_page(Text)

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef vector[string] tracking
cdef size_t longest
cdef int64_t room, cost
cdef object resolve, quoted, host_of, is_page_of_host, cost_of


cdef int set_up() except -1:
    global is_set_up, longest, room, cost, resolve, quoted, host_of, is_page_of_host, cost_of
    cdef str name
    cdef vector[string] names
    if not is_set_up:
        for name in given["TRACKING"]:
            names.push_back(name.encode())
        tracking.swap(names)
        longest, room, cost = given["LONGEST"], given["ROOM"], given["COST"]
        resolve, quoted, cost_of = given["resolve"], given["quoted"], given["cost_of"]
        host_of, is_page_of_host = given["host_of"], given["is_page_of_host"]
        is_set_up = True
    return 0


cdef inline bint is_control(char c) noexcept nogil:
    return 0 <= c <= 32


cdef inline bint is_white(char c) noexcept nogil:
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31


cdef Text text_of(object value) except *:
    """The characters of an ASCII text; none of another one."""
    if not isinstance(value, str) or not PyUnicode_IS_ASCII(value):
        return Text()
    cdef Py_ssize_t size = 0
    cdef const char *characters = PyUnicode_AsUTF8AndSize(value, &size)
    return Text(characters, size)


def targets_of(base, hrefs):
    """Normalised URLs of the links of a page, "" for those that lead to no page, and (links,) their hashes, or 0.

    Also the number of the last links that are left out, as if they led to no page, because the addresses before have
    `ROOM` characters.
    """
    set_up()
    cdef list targets = []
    keys = np.zeros(len(hrefs), np.int64)
    cdef int64_t[::1] key = keys
    cdef Base *from_base = new Base(text_of(base))
    cdef string out
    cdef Text text, link
    cdef size_t start, end
    cdef Py_ssize_t i
    cdef Answer answer
    cdef uint64_t digest
    cdef object inside = None
    cdef int64_t left = room, beyond = 0
    try:
        for i in range(len(hrefs)):
            href = hrefs[i]
            text = text_of(href)
            if text.size() == 0:
                left -= <int64_t>cost_of(href)
            else:
                left -= cost * count(text.data(), text.data() + text.size(), <char>c"&")
            if left <= 0:
                beyond += 1
                targets.append("")
                continue
            if text.size() == 0 and <size_t>(len(base) + len(href)) <= longest:  # what a fragment says makes no difference
                head, fragment, _ = href.partition("#")
                head += fragment
                text = text_of(head if fragment else "")
            start, end = 0, text.size()
            while start < end and is_control(text[start]):
                start += 1
            while end > start and is_control(text[end - 1]):
                end -= 1
            link = Text(text.data() + start, end - start)
            answer = NOWHERE if link.size() > longest else cpp_resolve(from_base[0], link, tracking, longest, out)
            if answer == PLAIN:
                targets.append(PyUnicode_DecodeASCII(out.data(), out.size(), NULL))
                left -= out.size()
                digest = xxh3_64_intdigest(<bytes>out)
                key[i] = <int64_t>(digest >> 1)
            elif answer == NOWHERE:
                targets.append("")
            else:
                if link.size() and link[0] == c"#" and link.size() + <size_t>len(base) <= longest:
                    # All links into the page lead to the page.
                    if inside is None:
                        inside = resolve(base, "#")
                    found = inside
                else:
                    found = resolve(base, href)
                key[i] = found[0]
                targets.append(found[1])
                left -= len(found[1])
    finally:
        del from_base
    return targets, keys, beyond


def absolute(base, href):
    """Make a link absolute and leave its spelling as it is.

    Raises
    ------
    ValueError : if the link, or the base that it needs, cannot be parsed

    >>> absolute("http://h/a/b.html", " ../C.html#top "), absolute("http://[half/", "HTTP://h/?")
    ('http://h/C.html#top', 'HTTP://h/?')
    """
    set_up()
    cdef string out
    cdef Base *from_base = new Base(text_of(base))
    try:
        if cpp_absolute(from_base[0], without_white(text_of(href)), out) == PLAIN:
            return PyUnicode_DecodeASCII(out.data(), out.size(), NULL)
    finally:
        del from_base
    return given["joined"](base, href)


def written_addresses(base, hrefs):
    """Links made absolute for a feed: their spelling as it is, but for control characters, see `quoted`.

    Raises
    ------
    ValueError : as `absolute`
    """
    set_up()
    cdef list found = []
    cdef string out
    cdef Text link
    cdef Base *from_base = new Base(text_of(base))
    try:
        for href in hrefs:
            link = without_white(text_of(href))
            if is_written(link):
                found.append(PyUnicode_DecodeASCII(link.data(), link.size(), NULL))
            elif cpp_absolute(from_base[0], link, out) == PLAIN:
                found.append(PyUnicode_DecodeASCII(out.data(), out.size(), NULL))
            else:
                found.append(quoted(given["joined"](base, href)))
    finally:
        del from_base
    return found


cdef Text without_white(Text text) noexcept:
    """An ASCII text without white space around it."""
    cdef size_t start = 0, end = text.size()
    while start < end and is_white(text[start]):
        start += 1
    while end > start and is_white(text[end - 1]):
        end -= 1
    return Text(text.data() + start, end - start)


def files_among(hrefs):
    """(links,) whether each of some links ends like a file that is no page, see `is_page`.

    >>> files_among(["/tea", "tea.pdf", "http://a.b/tea.html?c.pdf"]).tolist()
    [False, True, False]
    """
    set_up()
    is_page = given["is_page"]
    found = np.zeros(len(hrefs), np.bool_)
    cdef uint8_t *out = <uint8_t*>pointer(found)
    cdef Py_ssize_t i
    for i in range(len(hrefs)):
        href = hrefs[i]
        if not ends_like_page(text_of(href)):
            out[i] = not is_page(href)
    return found


def pages_of_host(targets, url):
    """Indices of those of some normalised URLs, or "", that lead to a page of the host of a URL, as `same_host`.

    >>> pages_of_host(["http://a/b", "", "http://www.a/c.pdf", "http://www.a/"], "https://a/")
    [0, 3]
    """
    set_up()
    cdef str host = host_of(url).removeprefix("www.")
    if not host:
        return []
    cdef bytes encoded = host.encode("ascii", "replace")
    cdef Text own = Text(<const char*>encoded, len(encoded))
    cdef list found = []
    cdef Answer answer
    cdef Py_ssize_t i
    for i in range(len(targets)):
        target = targets[i]
        if not target:
            continue
        answer = cpp_leads_to_page(text_of(target), own)
        if answer == PLAIN or (answer == ODD and is_page_of_host(target, host)):
            found.append(i)
    return found
