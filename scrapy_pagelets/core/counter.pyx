# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""What a site learns from a page, and what it tells of one, see `scrapy_pagelets.evidence.evidence`.

A table is touched under the lock of its site alone, and the GIL is held.
"""

from libc.math cimport NAN, rint
from libc.stdint cimport int8_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport sort, unique
from libcpp.vector cimport vector

import os

import numpy as np

from scrapy_pagelets.core.arrays cimport Integers, integers, pointer
from scrapy_pagelets.core.columns cimport Nodes, columns_of

cdef extern from "ranks.hpp" nogil:
    uint64_t mix(uint64_t)

cdef extern from "counter.hpp" nogil:
    uint64_t multiplier
    void plus(float &sum, double value)
    cppclass Numbers:
        Numbers()
        Numbers(size_t most)
        size_t size()
        size_t find(int64_t key)
        size_t add(int64_t key)
    cppclass Counter:
        void begin(size_t width, size_t most)
        size_t width()
        size_t most()
        size_t size()
        size_t bytes()
        int64_t key(size_t number)
        size_t find(int64_t key)
        const float *of(int64_t key)
        const float *of_number(size_t number)
        float *add(int64_t key)
        float *add_once(int64_t key)
        float *add_once(int64_t key, size_t known)
        void shrink()

cdef extern from "recent_keys.hpp" nogil:
    cppclass Recent "RecentKeys":
        void begin(size_t limit)
        size_t size()
        size_t bytes()
        int find(int64_t key)
        void add(int64_t key, int8_t number)
        int64_t key(size_t time)
        int8_t number(size_t time)

# As in `scrapy_pagelets.page.nodes` and `scrapy_pagelets.evidence.evidence`.
cdef enum:
    TEXT = 1
cdef enum:
    CLASSIFIERS = 2
    CLASSES = 8
cdef enum:  # columns of the table of paths; after those of the classifiers come those of the classes
    PAGES, VARIED, LINKED, NEW, WORDS, VALUE, SQUARE, ODDS
cdef enum:  # of `site_counts`
    OUTLINE_DEPTH = 4
cdef enum:  # of `recent_keys`
    LARGEST = 127

multiplier = int.from_bytes(os.urandom(8), "little") | 1

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}


cdef struct Shapes:
    vector[size_t] at  # where the sums of the shape of each row begin; 0 for a row that does not count
    vector[double] sums  # rows, and sums of log odds, of each shape


cdef class Table:
    """The hash table of a `LossyCounter`."""

    cdef Counter counter

    def __init__(self, size_t width, capacity=None):
        self.counter.begin(width, given["CAPACITY"] if capacity is None else capacity)

    def __len__(self):
        return self.counter.size()

    def __sizeof__(self):
        return object.__sizeof__(self) + self.counter.bytes()

    def __getitem__(self, keys):
        own_keys = np.ascontiguousarray(keys, np.int64)
        cdef Integers asked = integers(own_keys)
        cdef size_t width = self.counter.width()
        cdef Py_ssize_t i
        sums = np.empty((asked.size, width), np.float32)
        cdef float *out = <float*>pointer(sums)
        for i in range(asked.size):
            memcpy(out + i * width, self.counter.of(asked.at[i]), width * sizeof(float))
        return sums

    def pages(self, keys):
        """(k,) the first column of some keys: on how many pages each of them is."""
        cdef Integers asked = integers(keys)
        cdef Py_ssize_t i
        found = np.empty(asked.size, np.float32)
        cdef float *out = <float*>pointer(found)
        for i in range(asked.size):
            out[i] = self.counter.of(asked.at[i])[0]
        return found

    def has(self, keys):
        cdef const int64_t[::1] asked = np.ascontiguousarray(keys, np.int64)
        cdef Py_ssize_t i
        found = np.empty(asked.shape[0], np.bool_)
        cdef uint8_t[::1] out = found.view(np.uint8)
        for i in range(asked.shape[0]):
            out[i] = self.counter.find(asked[i]) != 0
        return found

    def add(self, keys, values):
        cdef const int64_t[::1] added = np.ascontiguousarray(keys, np.int64)
        cdef size_t width = self.counter.width(), j
        cdef const double[:, :] summed = np.broadcast_to(np.asarray(values, np.float64), (added.shape[0], width))
        cdef float *sums
        cdef Py_ssize_t i
        for i in range(added.shape[0]):
            sums = self.counter.add(added[i])
            for j in range(width):
                plus(sums[j], summed[i, j])
        self.counter.shrink()

    def items(self):
        cdef size_t count = self.counter.size(), width = self.counter.width(), number
        keys, sums = np.empty(count, np.int64), np.empty((count, width), np.float32)
        cdef int64_t[::1] key = keys
        cdef float[:, ::1] out = sums
        for number in range(1, count + 1):
            key[number - 1] = self.counter.key(number)
            memcpy(&out[number - 1, 0], self.counter.of_number(number), width * sizeof(float))
        return keys, sums


class LossyCounter(Table):
    """Sums by key: a dictionary maps each key to a row of a NumPy array.

    The first column counts pages. Beyond the capacity, the keys with the smallest counts are dropped.
    Source: Manku & Motwani 2002, *Approximate Frequency Counts over Data Streams* (lossy counting).

    Parameters
    ----------
    width : number of columns
    capacity : number of keys

    Examples
    --------
    >>> table = LossyCounter(2)
    >>> table.add(np.array([7, 8]), np.array([[1, 0.5], [1, 2]]))
    >>> table.add(np.array([7]), np.array([[1, 0.5]]))
    >>> table[np.array([8, 7, 9])].tolist()
    [[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]]
    """

    __slots__ = ()


cdef class RecentTable:
    """The hash table of `RecentKeys`."""

    cdef Recent recent

    def __init__(self, size_t most):
        self.recent.begin(most)

    def __len__(self):
        return self.recent.size()

    def __sizeof__(self):
        return object.__sizeof__(self) + self.recent.bytes()

    def __contains__(self, int64_t key):
        return self.recent.find(key) >= 0

    def get(self, int64_t key):
        cdef int number = self.recent.find(key)
        return None if number < 0 else number

    def add(self, int64_t key, Py_ssize_t number=0):
        if not 0 <= number <= LARGEST:
            raise ValueError(f"{number} is not a number from 0 to {LARGEST}")
        cdef bint is_new = self.recent.find(key) < 0
        self.recent.add(key, <int8_t>number)
        return is_new

    def extend(self, keys, numbers):
        for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
            self.add(key, number)

    def items(self):
        cdef size_t count = self.recent.size(), i
        keys, numbers = np.empty(count, np.int64), np.empty(count, np.int8)
        cdef int64_t[::1] key = keys
        cdef int8_t[::1] number = numbers
        for i in range(count):
            key[i], number[i] = self.recent.key(i), self.recent.number(i)
        return keys, numbers


class RecentKeys(RecentTable):
    """The 64-bit keys that were added last, each with a small number; the oldest are forgotten first.

    `add` returns whether the key was not known.

    In the compiled core a key takes 20 to 30 bytes, a quarter of what it takes in a dictionary, and none of it is an
    object of its own: objects that stay, among those of pages that come and go, keep memory from being freed.

    Parameters
    ----------
    most : number of keys that are remembered

    Examples
    --------
    >>> recent = RecentKeys(2)
    >>> [recent.add(key, number) for key, number in ((11, 1), (12, 0), (11, 5), (13, 2))]
    [True, True, False, True]
    >>> 11 in recent, recent.get(11), recent.get(13), len(recent)
    (False, None, 2, 2)
    >>> [column.tolist() for column in recent.items()]
    [[12, 13], [0, 2]]
    """

    __slots__ = ()


def keys_of(page):
    """Hash the fragments of a page."""
    table = page.nodes
    cdef Nodes nodes = columns_of(table).nodes
    cdef int64_t own = page.key
    cdef size_t i
    cdef uint64_t digits
    cdef Py_UCS4 character
    cdef str string
    text = np.empty(nodes.m, np.int64)
    cdef int64_t *text_out = <int64_t*>pointer(text)
    placed, exact, target = np.empty(nodes.m, np.int64), np.empty(nodes.n, np.int64), np.empty(nodes.links, np.int64)
    value = np.empty(nodes.m)
    cdef double *value_out = <double*>pointer(value)
    cdef int64_t *placed_out = <int64_t*>pointer(placed)
    cdef int64_t *exact_out = <int64_t*>pointer(exact)
    cdef int64_t *target_out = <int64_t*>pointer(target)
    cdef vector[uint64_t] before = vector[uint64_t](nodes.m + 1)
    for i in range(nodes.m):
        placed_out[i] = mix(<uint64_t>nodes.path[nodes.leaves[i]] * 31 + <uint64_t>nodes.text[i])
        before[i + 1] = before[i] + mix(nodes.text[i])
        string, digits = table.strings[i], 0
        for character in string:
            if c'0' <= character <= c'9':
                digits = digits * 31 + <uint64_t>character
        text_out[i] = mix(<uint64_t>nodes.text[i] * 31 + digits)
        value_out[i] = <double>(<uint64_t>text_out[i] >> 11) * 2.0**-52 - 1
    for i in range(nodes.n):
        exact_out[i] = before[nodes.last_leaf[i]] - before[nodes.first_leaf[i]]
    for i in range(nodes.links):
        target_out[i] = 0 if nodes.link_key[i] == own else nodes.link_key[i]
    return given["Keys"](
        text=text,
        placed=placed,
        value=value,
        path=table.path,
        shape=table.shape,
        exact=exact,
        links=link_sets(table, table.links.key),
        target=target,
    )


def link_sets(table, targets):
    """(n,) hash of the link targets below each row, independent of their order: the sum of their scrambled keys."""
    cdef Nodes nodes = columns_of(table).nodes
    cdef Integers keys = integers(targets)
    cdef size_t i
    # Sums over the rows before each one.
    cdef vector[uint64_t] summed = vector[uint64_t](nodes.n + 1)
    cdef vector[int64_t] count = vector[int64_t](nodes.n + 1)
    if <size_t>keys.size != nodes.links:
        raise ValueError("there is not a target for each link")
    sets = np.empty(nodes.n, np.int64)
    cdef int64_t *out = <int64_t*>pointer(sets)
    for i in range(nodes.links):
        if keys.at[i] != 0:
            summed[nodes.link_row[i] + 1], count[nodes.link_row[i] + 1] = mix(keys.at[i]), 1
    for i in range(nodes.n):
        summed[i + 1] += summed[i]
        count[i + 1] += count[i]
    for i in range(nodes.n):
        out[i] = summed[nodes.end[i]] - summed[i] if count[nodes.end[i]] - count[i] >= 2 else 0
    return sets


def mostly_links(table):
    """(n,) whether more than three quarters of the row's words are link text."""
    cdef Nodes nodes = columns_of(table).nodes
    cdef size_t i
    cdef vector[int64_t] below = vector[int64_t](nodes.m + 1), linked = vector[int64_t](nodes.m + 1)
    found = np.empty(nodes.n, np.bool_)
    cdef uint8_t *out = <uint8_t*>pointer(found)
    for i in range(nodes.m):
        below[i + 1] = below[i] + nodes.words[i]
        linked[i + 1] = linked[i] + (nodes.words[i] if nodes.anchor[nodes.leaves[i]] else 0)
    for i in range(nodes.n):
        out[i] = (
            linked[nodes.last_leaf[i]] - linked[nodes.first_leaf[i]]
            > 0.75 * (below[nodes.last_leaf[i]] - below[nodes.first_leaf[i]])
        )
    return found


def countable_parts(table):
    """(n,) whether each row counts, see `countable`; (links,) whether each link does."""
    cdef Nodes nodes = columns_of(table).nodes
    cdef int64_t n = nodes.n, giant = given["GIANT"], i
    seen, links = np.empty(nodes.n, np.bool_), np.empty(nodes.links, np.bool_)
    cdef uint8_t *out = <uint8_t*>pointer(seen)
    cdef uint8_t *of_links = <uint8_t*>pointer(links)
    for i in range(n):
        out[i] = n <= giant or i < giant or nodes.end[i] > n - giant
    for i in range(<int64_t>nodes.links):
        of_links[i] = out[nodes.link_row[i]]
    return seen, links


def outline(table):
    """Hashes of the paths of the first levels by tag and class, without ranks and ids, which a page class shares."""
    cdef Nodes nodes = columns_of(table).nodes
    cdef list found = []
    cdef int64_t paths[OUTLINE_DEPTH + 1]
    cdef int64_t row = 0, n = nodes.n, level
    while row < n:
        level = nodes.depth[row]
        if level > OUTLINE_DEPTH:  # with all its siblings
            row = nodes.end[nodes.parent[row]]
            continue
        if nodes.tag[row] != TEXT:
            paths[level] = nodes.class_signature[nodes.look[row]]
            if level:
                paths[level] = mix(<uint64_t>paths[level - 1] * 31 + <uint64_t>paths[level])
            found.append(paths[level])
        row += 1
    return frozenset(found)


def count_page(dict tables, fragments, Py_ssize_t number):
    """Count a page, see `Counts.add`. New keys are added in the order of the page."""
    keys = fragments.keys
    cdef Table texts = tables["text"], paths = tables["path"], placed = tables["placed"], shapes = tables["shape"]
    cdef Integers text = integers(keys.text), text_placed = integers(keys.placed)
    cdef Integers path = integers(keys.path), shape = integers(keys.shape)
    of_values = np.ascontiguousarray(keys.value, np.float64)
    cdef const double *value = <const double*>pointer(of_values)
    cdef Integers words = integers(fragments.words), first = integers(fragments.first)
    cdef Integers last = integers(fragments.last), leaves = integers(fragments.leaves)
    cdef const uint8_t *seen = <const uint8_t*>pointer(fragments.seen)
    cdef const uint8_t *linked = <const uint8_t*>pointer(fragments.linked)
    of_rows = np.ascontiguousarray(fragments.odds, np.float64)
    cdef const double *odds = <const double*>pointer(of_rows)
    if of_values.size != text.size or of_rows.size != keys.path.size * CLASSIFIERS:
        raise ValueError("there are not values of each leaf, or not log odds of each classifier for each row")
    cdef Py_ssize_t n = path.size, m = text.size, i, j
    cdef size_t at
    cdef vector[int64_t] new = vector[int64_t](m + 1), below = vector[int64_t](m + 1)
    cdef vector[uint8_t] varied = vector[uint8_t](n)
    cdef vector[double] values = vector[double](n)
    cdef vector[size_t] known_texts = vector[size_t](m), known_placed = vector[size_t](m)  # their numbers
    cdef Shapes known_shapes
    cdef float *sums
    for i in range(m):
        known_texts[i], known_placed[i] = texts.counter.find(text.at[i]), placed.counter.find(text_placed.at[i])
        new[i + 1] = new[i] + (0 if known_texts[i] else words.at[i])
        below[i + 1] = below[i] + words.at[i]
        varied[leaves.at[i]], values[leaves.at[i]] = known_placed[i] == 0, value[i]
    for i in range(n):
        if not seen[i]:
            continue
        sums = paths.counter.add_once(path.at[i])
        if sums == NULL:
            continue
        plus(sums[PAGES], 1)
        plus(sums[VARIED], varied[i])
        plus(sums[LINKED], linked[i])
        plus(sums[VALUE], values[i])
        plus(sums[SQUARE], values[i] * values[i])
        plus(sums[NEW], new[last.at[i]] - new[first.at[i]])
        plus(sums[WORDS], below[last.at[i]] - below[first.at[i]])
        for j in range(CLASSIFIERS):
            plus(sums[ODDS + j], odds[i * CLASSIFIERS + j])
        plus(sums[ODDS + CLASSIFIERS + number], 1)
    paths.counter.shrink()
    for i in range(m):
        if not seen[leaves.at[i]]:
            continue
        sums = texts.counter.add_once(text.at[i], known_texts[i])
        if sums != NULL:
            plus(sums[0], 1)
            plus(sums[1 + number], 1)
        sums = placed.counter.add_once(text_placed.at[i], known_placed[i])
        if sums != NULL:
            plus(sums[0], 1)
    texts.counter.shrink()
    placed.counter.shrink()
    count_once(tables["exact"], integers(keys.exact), seen)
    count_once(tables["links"], integers(keys.links), seen)
    count_once(tables["target"], integers(keys.target), <const uint8_t*>pointer(fragments.links))
    sum_shapes(known_shapes, shape, odds, seen)
    for i in range(n):
        at = known_shapes.at[i]
        if known_shapes.sums[at] > 0:
            sums = shapes.counter.add(shape.at[i])
            for j in range(1 + CLASSIFIERS):
                plus(sums[j], known_shapes.sums[at + j])
            known_shapes.sums[at] = 0  # each shape is added once
    shapes.counter.shrink()


cdef int count_once(Table table, Integers keys, const uint8_t *seen) except -1:
    """Count each key of the rows that count."""
    cdef Py_ssize_t i
    cdef float *sums
    for i in range(keys.size):
        # Many rows have the key of their parent.
        if seen[i] and (i == 0 or not seen[i - 1] or keys.at[i] != keys.at[i - 1]):
            sums = table.counter.add_once(keys.at[i])
            if sums != NULL:
                plus(sums[0], 1)
    table.counter.shrink()
    return 0


cdef int sum_shapes(
    Shapes &shapes, Integers shape, const double *odds, const uint8_t *seen
) except -1:
    """For each shape, the number of rows that count, and the sums of their log odds, in the order of the rows."""
    cdef Py_ssize_t n = shape.size, i, j
    cdef size_t number, at
    cdef Numbers numbers = Numbers(n)
    cdef bint all_rows = seen == NULL
    shapes.at.resize(n)
    shapes.sums.resize(1 + CLASSIFIERS)
    for i in range(n):
        if all_rows or seen[i]:
            number = numbers.add(shape.at[i])
            at = shapes.at[i] = number * (1 + CLASSIFIERS)
            if at == shapes.sums.size():
                shapes.sums.resize(at + 1 + CLASSIFIERS)
            shapes.sums[at] += 1
            for j in range(CLASSIFIERS):
                shapes.sums[at + 1 + j] += odds[i * CLASSIFIERS + j]
    return 0


def evidence_of(
    dict tables, int64_t pages, table, keys, odds, Py_ssize_t number, int64_t of_class, bint known, *, bint separate
):
    """The evidence of the other pages about a page, see `Counts.evidence`.

    Parameters
    ----------
    pages : number of pages of the page's family
    separate : whether the site has other pages
    """
    cdef Table texts = tables["text"], paths = tables["path"], placed = tables["placed"], exact = tables["exact"]
    cdef Table links = tables["links"], shapes = tables["shape"], targets = tables["target"]
    cdef Integers text = integers(keys.text), text_placed = integers(keys.placed)
    cdef Integers path = integers(keys.path), shape = integers(keys.shape)
    cdef Integers text_exact = integers(keys.exact), link_set = integers(keys.links), target = integers(keys.target)
    cdef Nodes nodes = columns_of(table).nodes
    of_page = np.ascontiguousarray(odds, np.float64)
    of_values = np.ascontiguousarray(keys.value, np.float64)
    cdef const double *value = <const double*>pointer(of_values)
    cdef const double *own_odds = <const double*>pointer(of_page)
    if of_values.size != text.size or of_page.size != keys.path.size * CLASSIFIERS:
        raise ValueError("there are not values of each leaf, or not log odds of each classifier for each row")
    cdef Py_ssize_t n = path.size, m = text.size, i, j
    of_leaves, of_rows = np.empty((3, m), np.float32), np.empty((4, n), np.float32)
    of_paths, of_links = np.empty((3, n)), np.empty(target.size, np.float32)
    variants, values = np.empty(m), np.empty(m)
    mean_odds, shape_odds = np.empty((n, CLASSIFIERS)), np.empty((n, CLASSIFIERS))
    cdef float *leaf_out = <float*>pointer(of_leaves)
    cdef float *row_out = <float*>pointer(of_rows)
    cdef double *path_out = <double*>pointer(of_paths)
    cdef double *mean_out = <double*>pointer(mean_odds)
    cdef double *shape_out = <double*>pointer(shape_odds)
    cdef double *variants_out = <double*>pointer(variants)
    cdef double *values_out = <double*>pointer(values)
    cdef float *target_out = <float*>pointer(of_links)
    cdef vector[double] varied = vector[double](n)
    cdef Shapes known_shapes
    cdef const float *sums
    cdef const double *alike
    cdef double having, mass, most = 0
    cdef float others = max(1, pages - known), classmates = max(1, of_class - known), self = known

    for i in range(m):
        sums = texts.counter.of(text.at[i])
        leaf_out[i] = share(sums[0], self, others)
        leaf_out[m + i] = share(placed.counter.of(text_placed.at[i])[0], self, others)
        leaf_out[2 * m + i] = share(sums[1 + number], self, classmates)

    sum_shapes(known_shapes, shape, own_odds, NULL)
    for i in range(n):
        sums = paths.counter.of(path.at[i])
        having = max(1, <double>sums[PAGES])
        mass = <double>sums[NEW] / max(1, <double>pages)
        if separate and sums[PAGES] <= pages:
            most = max(most, mass)
        varied[i] = <double>sums[VARIED] / having
        row_out[i] = share(sums[ODDS + CLASSIFIERS + number] if separate else sums[PAGES], self, others)
        row_out[n + i] = share(sums[ODDS + CLASSIFIERS + number], self, classmates)
        path_out[i] = <double>sums[LINKED] / having
        path_out[n + i] = <double>sums[NEW] / max(1e-9, <double>sums[WORDS])
        # Negative: a row that the page shares with the rest of the site, such as the root.
        path_out[2 * n + i] = -1 if separate and sums[PAGES] > pages else mass
        row_out[2 * n + i] = share(exact.counter.of(text_exact.at[i])[0], self, others)
        row_out[3 * n + i] = share(links.counter.of(link_set.at[i])[0], self, others) if link_set.at[i] else 0
        for j in range(CLASSIFIERS):
            mean_out[i * CLASSIFIERS + j] = mean(<double>sums[PAGES] - known, <double>sums[ODDS + j] - own_odds[i * CLASSIFIERS + j] * known)
        sums = shapes.counter.of(shape.at[i])
        alike = &known_shapes.sums[known_shapes.at[i]]
        for j in range(CLASSIFIERS):
            shape_out[i * CLASSIFIERS + j] = mean(sums[0] - alike[0] * known, sums[1 + j] - alike[1 + j] * known)
    if separate:
        for i in range(n):
            if path_out[2 * n + i] < 0:
                path_out[2 * n + i] = most
    for i in range(m):
        variants_out[i] = varied[nodes.leaves[i]]
        values_out[i] = difference(paths.counter.of(path.at[nodes.leaves[i]]), value[i], known)
    for i in range(target.size):
        target_out[i] = share(targets.counter.of(target.at[i])[0], self, others) if target.at[i] else 0

    text_share, placed_share, class_text = of_leaves
    path_share, class_path, exact_share, link_share = of_rows
    linked, fresh, masses = of_paths
    return given["SiteEvidence"](
        pages=pages - known,
        text=text_share,
        class_text=class_text,
        placed=placed_share,
        variants=variants,
        values=values,
        path=path_share,
        class_path=class_path,
        exact=exact_share,
        links=link_share,
        linked=linked,
        fresh=fresh,
        mass=masses,
        odds=mean_odds,
        shape_odds=shape_odds,
        target=of_links,
    )


def pages_alike(dict tables, table, keys, bint known):
    """(m,) number of other pages with the text of each leaf at its path, see `Site.pages_alike`."""
    cdef Table paths = tables["path"], placed = tables["placed"]
    cdef Integers text = integers(keys.text), text_placed = integers(keys.placed)
    cdef Nodes nodes = columns_of(table).nodes
    of_values = np.ascontiguousarray(keys.value, np.float64)
    cdef const double *value = <const double*>pointer(of_values)
    cdef Py_ssize_t m = nodes.m, i
    if text.size != m or text_placed.size != m or of_values.size != m:
        raise ValueError("there are not keys of each leaf")
    found = np.empty(m, np.int64)
    cdef int64_t *out = <int64_t*>pointer(found)
    cdef double same, pages
    for i in range(m):
        pages = max(placed.counter.of(text_placed.at[i])[0] - known, <float>0)
        same = 1
        if pages > 0 and text.at[i] != <int64_t>mix(<uint64_t>nodes.text[i] * 31):  # it has digits
            same -= difference(paths.counter.of(nodes.path[nodes.leaves[i]]), value[i], known)
        out[i] = <int64_t>rint(pages * same)
    return found


def differing(Table paths, table, keys, bint known):
    """(m,) how likely two other pages differ in the text at the path of each leaf, see `Site.differing`."""
    cdef Nodes nodes = columns_of(table).nodes
    of_values = np.ascontiguousarray(keys.value, np.float64)
    cdef const double *value = <const double*>pointer(of_values)
    cdef Py_ssize_t m = nodes.m, i
    if of_values.size != m:
        raise ValueError("there are not values of each leaf")
    found = np.empty(m)
    cdef double *out = <double*>pointer(found)
    for i in range(m):
        out[i] = difference(paths.counter.of(nodes.path[nodes.leaves[i]]), value[i], known)
    return found


def commonest(Table table, keys, words):
    """(k,) number of pages with each distinct key of the leaves that have words, the most common one first."""
    cdef Integers key = integers(keys), count = integers(words)
    cdef vector[int64_t] distinct
    cdef Py_ssize_t i, size
    if key.size != count.size:
        raise ValueError("there are not words of each key")
    for i in range(key.size):
        if count.at[i] > 0:
            distinct.push_back(key.at[i])
    sort(distinct.begin(), distinct.end())
    size = unique(distinct.begin(), distinct.end()) - distinct.begin()
    found = np.empty(size, np.float32)
    cdef float *out = <float*>pointer(found)
    for i in range(size):
        out[i] = -table.counter.of(distinct[i])[0]
    sort(out, out + size)
    for i in range(size):
        out[i] = -out[i]
    return found


cdef inline float share(float count, float known, float pages) noexcept nogil:
    """The share of the other pages, in single precision as the counts."""
    return min(max(count - known, <float>0) / pages, <float>1)


cdef inline double difference(const float *sums, double value, bint known) noexcept nogil:
    """How likely two other pages differ in a text: three times the variance of its values, without this page's."""
    cdef double count = <double>sums[PAGES] - known
    if count <= 1:
        return 0
    value = value if known else 0
    cdef double mean = (<double>sums[VALUE] - value) / count, square = (<double>sums[SQUARE] - value * value) / count
    return min(max(3 * (square - mean * mean) * count / (count - 1), 0.0), 1.0)


cdef inline double mean(double count, double summed) noexcept nogil:
    return summed / max(1, count) if count > 0 else NAN
