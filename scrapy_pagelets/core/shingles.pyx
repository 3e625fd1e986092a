# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Hashes of words, see `scrapy_pagelets.papers.shared_pagelets.pagelet_shingles`: of ASCII texts here, of others there."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.core.arrays cimport pointer

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef size_t longest, gram
#: The hash of each word; empty again when it is full.
cdef unordered_map[string, int64_t] known
cdef size_t most_known = 65536


cdef int set_up() except -1:
    global is_set_up, longest, gram
    if not is_set_up:
        longest, gram = given["LONGEST_WORD"], given["GRAM"]
        is_set_up = True
    return 0


cdef class Words:
    """The words of some texts: the number of the text, and the hash, of each."""

    cdef vector[int64_t] texts, hashes
    cdef string word  # in lower case, with each number replaced by 0
    cdef size_t size  # of the word as it is written

    def __cinit__(self):
        self.size = 0

    cdef int add_text(self, int64_t number, const char *text, Py_ssize_t size) except -1:
        cdef char c
        cdef Py_ssize_t i
        for i in range(size):
            c = text[i]
            if c"A" <= c <= c"Z":
                c += 32
            if c"0" <= c <= c"9":
                if self.size == 0 or not c"0" <= text[i - 1] <= c"9":
                    self.word.push_back(c"0")
            elif c"a" <= c <= c"z" or c == c"_" or c == 0:
                self.word.push_back(c)
            else:
                self.end_word(number)
                continue
            self.size += 1
        self.end_word(number)
        return 0

    cdef int end_word(self, int64_t number) except -1:
        cdef size_t i
        if self.size > longest and self.word.size() > gram:
            for i in range(self.word.size() - gram + 1):
                self.add(number, self.word.substr(i, gram))
        elif self.size:
            self.add(number, self.word)
        self.word.clear()
        self.size = 0
        return 0

    cdef int add(self, int64_t number, const string &word) except -1:
        if known.size() >= most_known:
            known.clear()
        cdef int64_t token = known[word]
        if token == 0:  # the word is new
            token = known[word] = xxh3_64_intdigest(word.data()[: word.size()]) >> 1
        self.texts.push_back(number)
        self.hashes.push_back(token)
        return 0


cdef array_of(const vector[int64_t] &values):
    array = np.empty(values.size(), np.int64)
    if values.size():
        memcpy(pointer(array), values.data(), values.size() * sizeof(int64_t))
    return array


def word_tokens(list strings):
    """(t,) number of the text, and (t,) hash, of each word of some texts, in their order; hashes as in `token_hashes`.

    >>> texts, hashes = word_tokens(["two words", "", "words"])
    >>> texts.tolist(), bool(hashes[1] == hashes[2])
    ([0, 0, 2], True)
    """
    set_up()
    cdef Words words = Words()
    cdef list others = []
    cdef Py_ssize_t size = 0
    cdef const char *characters
    cdef int64_t number
    cdef str text
    for number in range(len(strings)):
        text = strings[number]
        if text.isascii():
            characters = PyUnicode_AsUTF8AndSize(text, &size)
            words.add_text(number, characters, size)
        else:
            others.append(number)
    texts, tokens = array_of(words.texts), array_of(words.hashes)
    if not others:
        return texts, tokens
    more = [given["token_hashes"](strings[number]) for number in others]
    texts = np.concatenate((texts, np.repeat(others, list(map(len, more)))))
    order = np.argsort(texts, kind="stable")
    return texts[order], np.concatenate((tokens, *more))[order]
