# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The words, shingles and sketch of a text, see `scrapy_pagelets.duplicates`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport pointer

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL

cdef extern from "contents.hpp" nogil:
    const size_t PERMUTATIONS
    void add_words[Code](const Code *, size_t, const uint8_t *, const uint64_t *, vector[uint64_t] &) except +
    size_t count_words[Code](const Code *, size_t, const uint8_t *)
    void write_windows(const uint64_t *words, size_t count, size_t size, uint64_t *out)
    void add_weights(const double *weights, size_t count, size_t size, uint64_t *hashes)
    void write_sketch(
        const uint32_t *shingles, size_t count, const uint32_t *factor, const uint32_t *summand, uint32_t *out
    )

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
#: The kinds of all characters and the weights of places, the permutations, and what keeps them in memory.
cdef const uint8_t *kinds
cdef const uint64_t *places
cdef const uint32_t *factor
cdef const uint32_t *summand
cdef tuple kept = (), kept_permutations = ()
cdef object caseless
#: The characters of an ASCII text in lower case.
cdef uint8_t lower[128]


cdef int set_up() except -1:
    global kinds, places, kept, caseless
    cdef uint8_t code
    if not kept:
        for code in range(128):
            lower[code] = code + 32 if c"A" <= code <= c"Z" else code
        arrays = given["kinds"](), given["WEIGHTS"]
        kinds, places = <uint8_t*>pointer(arrays[0]), <uint64_t*>pointer(arrays[1])
        caseless, kept = given["caseless"], arrays
    return 0


cdef int set_up_permutations() except -1:
    global factor, summand, kept_permutations
    if not kept_permutations:
        arrays = tuple(map(np.ascontiguousarray, given["permutations"]()))
        factor, summand = <uint32_t*>pointer(arrays[0]), <uint32_t*>pointer(arrays[1])
        kept_permutations = arrays
    return 0


cdef class Characters:
    """The characters of a text without differences between upper and lower case."""

    cdef vector[uint8_t] ascii
    cdef bytes others  # of a text that is not ASCII, 32 bits each

    def __cinit__(self, str text not None):
        cdef Py_ssize_t size = 0, i
        cdef const char *characters
        if PyUnicode_IS_ASCII(text):
            characters = PyUnicode_AsUTF8AndSize(text, &size)
            self.ascii.resize(size)
            for i in range(size):
                self.ascii[i] = lower[<uint8_t>characters[i]]
        else:
            self.others = caseless(text).encode("utf-32-le", "surrogatepass")

    cdef int add_to(self, vector[uint64_t] &words) except -1:
        if self.others is None:
            add_words(self.ascii.data(), self.ascii.size(), kinds, places, words)
        else:
            add_words(<const uint32_t*><const char*>self.others, len(self.others) // 4, kinds, places, words)
        return 0

    cdef size_t words(self):
        if self.others is None:
            return count_words(self.ascii.data(), self.ascii.size(), kinds)
        return count_words(<const uint32_t*><const char*>self.others, len(self.others) // 4, kinds)


def word_hashes(text):
    """(w,) hashes of the words of a text, case folded and in compatibility form (NFKC).

    Vectorised multilinear hashing: the sum of the characters of a word, weighted by position, is mixed.

    Examples
    --------
    >>> one, other = word_hashes("Café n° 5"), word_hashes("CAFE\u0301, No. 5")
    >>> (one == other).tolist(), len(word_hashes("東京タワー"))
    ([True, False, True], 5)
    """
    set_up()
    cdef vector[uint64_t] words
    cdef Characters characters = Characters(text)
    characters.add_to(words)
    found = np.empty(words.size(), np.uint64)
    if words.size():
        memcpy(pointer(found), words.data(), words.size() * sizeof(uint64_t))
    return found


def runs_of_tokens(runs):
    """(w,) for each word of some runs of text, the number of its run.

    Parameters
    ----------
    runs : texts that have no word in common with the next one

    Examples
    --------
    >>> runs_of_tokens(["two words", "", "3"]).tolist()
    [0, 0, 2]
    """
    set_up()
    cdef Characters characters
    cdef vector[int64_t] found
    cdef Py_ssize_t number
    for number in range(len(runs)):
        characters = Characters(runs[number])
        found.resize(found.size() + characters.words(), number)
    of_words = np.empty(found.size(), np.int64)
    if found.size():
        memcpy(pointer(of_words), found.data(), found.size() * sizeof(int64_t))
    return of_words


cdef windows(token, Py_ssize_t size):
    """The hashes of the shingles, in the order of the text."""
    cdef Py_ssize_t count = len(token)
    if size < 1:
        raise ValueError(f"a shingle of {size} words cannot be")
    hashes = np.empty(max(0, count - size + 1), np.uint64)
    words = np.ascontiguousarray(token, np.uint64)
    if len(hashes):
        write_windows(<uint64_t*>pointer(words), count, size, <uint64_t*>pointer(hashes))
    return hashes


def shingles(token, size=5):
    """(s,) distinct hashes of the n-grams of ``size`` words, ascending; none if there are fewer words.

    Parameters
    ----------
    token : (w,) hashes of words, see `word_hashes`

    Examples
    --------
    >>> one, other = word_hashes("a rose is a rose is a rose"), word_hashes("A rose is a rose!")
    >>> len(shingles(one, 4)), np.isin(shingles(other, 4), shingles(one, 4)).all()
    (3, np.True_)
    """
    hashes = windows(token, size).astype(np.uint32)
    hashes.sort()
    cdef Py_ssize_t count = len(hashes), distinct = 0, i
    if count == 0:
        return hashes
    cdef uint32_t *value = <uint32_t*>pointer(hashes)
    for i in range(count):
        if i == 0 or value[i] != value[distinct - 1]:
            value[distinct] = value[i]
            distinct += 1
    return hashes[:distinct].copy()


def weighted_shingles(token, weight, size=5):
    """(s,) the same hashes as `shingles`, and (s,) their weights from 1 to 255: that of the least of their words.

    A shingle that occurs several times has its largest weight.

    Parameters
    ----------
    token : (w,) hashes of words, see `word_hashes`
    weight : (w,) weights of the words, 0 to 1

    Examples
    --------
    >>> weighted_shingles(word_hashes("a b c a b"), np.array([1, 1, 0.5, 0, 1]), 2)[1].tolist()
    [1, 255, 128]
    """
    hashes = windows(token, size)
    cdef Py_ssize_t count = len(hashes), distinct = 0, i
    if count == 0:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    weights = np.ascontiguousarray(weight, np.float64)
    if len(weights) != len(token):
        raise ValueError(f"there are {len(weights)} weights for {len(token)} words")
    cdef uint64_t *both = <uint64_t*>pointer(hashes)
    add_weights(<double*>pointer(weights), len(weights), size, both)
    hashes.sort()
    found, levels = np.empty(count, np.uint32), np.empty(count, np.uint8)
    cdef uint32_t *value = <uint32_t*>pointer(found)
    cdef uint8_t *level = <uint8_t*>pointer(levels)
    for i in range(count):
        if i == 0 or both[i] >> 8 != both[i - 1] >> 8:
            value[distinct], level[distinct] = both[i] >> 8, 255 - <uint8_t>both[i]
            distinct += 1
    return found[:distinct].copy(), levels[:distinct].copy()


def minhash(shingles):
    """(128,) the least value of the shingles under each permutation; the highest 32-bit value if there are none.

    Parameters
    ----------
    shingles : (s,) hashes in any order, each any number of times

    Examples
    --------
    >>> one, other = np.arange(1000, dtype=np.uint32), np.arange(100, 1000, dtype=np.uint32)
    >>> float((minhash(one) == minhash(other)).mean())
    0.90625
    """
    set_up_permutations()
    values = np.ascontiguousarray(shingles, np.uint32)
    least = np.empty(PERMUTATIONS, np.uint32)
    cdef size_t count = len(values)
    write_sketch(<uint32_t*>pointer(values), count, factor, summand, <uint32_t*>pointer(least))
    return least


def minhashes(texts):
    """(n, 128) the sketches of several texts, see `minhash`; three times as fast as one by one.

    Each permutation is applied to the shingles of many texts at once, because long rows are processed faster.

    Parameters
    ----------
    texts : the shingles of each

    Examples
    --------
    >>> one, none = np.arange(1000, dtype=np.uint32), np.zeros(0, np.uint32)
    >>> (minhashes([one, none, one]) == [minhash(one), minhash(none), minhash(one)]).all()
    np.True_
    """
    return np.array([minhash(text) for text in texts], np.uint32).reshape(-1, PERMUTATIONS)
