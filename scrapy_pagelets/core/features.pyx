# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""The features of a page, see `scrapy_pagelets.decision.page_features` and `cut`.

C++ measures and writes the columns without the GIL. NumPy takes the logarithms and exponentials in between, since its
routines and those of the C library differ in the last bit.
"""

from cython.operator cimport dereference
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBUF_WRITE, PyBuffer_IsContiguous, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport (
    PyUnicode_AsUTF8AndSize, PyUnicode_DATA, PyUnicode_KIND, PyUnicode_READ, PyUnicode_Tailmatch,
)
from libc.stdint cimport int64_t, uint8_t
from libcpp.list cimport list as cpp_list
from libcpp.string cimport npos, string
from libcpp.utility cimport pair
from libcpp.vector cimport vector

import numpy as np


from scrapy_pagelets.core.arrays cimport pointer
from scrapy_pagelets.core.columns cimport Nodes, columns_of

cdef extern from "nodes.hpp" nogil:
    cppclass Written "Columns":
        Written()
        Written(float *matrix, size_t count, const vector[string] &names) except +
        void add_equal(const string &name, double value)
        vector[size_t] absent() except +
    vector[int64_t] inherited_by_look(const Nodes &nodes, const int64_t *of_look) except +
    vector[int64_t] inherited_by_tag(const Nodes &nodes, const int64_t *of_tag) except +

cdef extern from "page_features.hpp" nogil:
    enum: ENDS, UPPER, DIGITS, IN_TITLE, INSIDE, WITHIN
    cppclass Look:
        int64_t landmarks, own_tokens
        double odds
    cppclass Link:
        int64_t row, key
        uint8_t leads
    cppclass Inherited:
        vector[int64_t] landmarks
        void inherit(const Nodes &nodes, const vector[Look] &looks, const vector[Link] &links, int64_t text) except +
    cppclass RegionFeatures:
        vector[double] &measure(const Nodes &nodes, const int64_t *is_heading) except +
        void write(const Nodes &nodes, Written &out) except +
    cppclass Regions:
        const float *matrix
        const vector[string] *names
    cppclass PageFeatures:
        Inherited inherited
        Regions of_regions
        vector[double] heading_odds
        vector[int64_t] lengths, headings
        vector[uint8_t] traits
        int64_t heading, main, article
        vector[pair[string, int64_t]] landmarks
        void measure(const Nodes &nodes) except +
        vector[double] &arguments()
        void write(const Nodes &nodes, Written &out) except +
    cppclass Logistic:
        size_t features
        const double *weight
        const double *bias
        const double *low
        const double *high
    void judge_nodes(
        const Nodes &nodes, const Regions &of_regions, const float *columns, const double *first_odds,
        const Logistic &model, double *odds,
    ) except +

cdef extern from "site_features.hpp" nogil:
    enum: CLASSIFIERS
    cppclass Evidence:
        double pages, of_class
        const double *text
        const double *placed
        const double *variants
        const double *values
        const double *class_text
        const double *path
        const double *exact
        const double *links
        const double *class_path
        const double *linked
        const double *fresh
        const double *mass
        const double *odds
        const double *path_odds
        const double *shape_odds
        const double *target
        const int64_t *link_rows
        size_t link_count
    cppclass SiteFeatures:
        void measure(const Nodes &nodes, const Evidence &of_site) except +
        vector[double] &log_arguments()
        vector[double] &exp_arguments()
        void write(const Nodes &nodes, Written &out) except +

cdef extern from "context.hpp" nogil:
    cppclass ContextFeatures:
        vector[double] &clip(const double *values, size_t m) except +
        vector[double] &measure(
            const Nodes &nodes, const vector[int64_t] &heading_leaves, const vector[int64_t] &levels
        ) except +
        void write(const Nodes &nodes, const vector[int64_t] &levels, Written &out) except +

cdef extern from "cut.hpp" nogil:
    cppclass CutFeatures:
        vector[double] &read(const double *values, size_t m) except +
        vector[double] &measure(const Nodes &nodes, const double *at, size_t count, double others) except +
        void write(const Nodes &nodes, const double *at, const double *content_at, Written &out) except +

ctypedef cpp_list[vector[double]] list_of_vectors
cdef object log1p = np.log1p, exp = np.exp, frombuffer = np.frombuffer
#: Where a node table keeps the features of its regions, and a table of features its names.
cdef str KEPT = "_of_core"

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef bint is_set_up = False
cdef int64_t text_tag, heading, main, article, all_landmarks
cdef object facts_of, odds_of_heading
cdef vector[pair[string, int64_t]] named_landmarks
#: Lexicon, own_tokens, what they say of a look, and the odds of a heading.
cdef tuple known = (None, (), {}, {})
#: About how many bytes they have, how many they may have, and characters of a heading.
cdef Py_ssize_t size_of_known = 0, most_bytes = 0, BYTES_OF_ENTRY = 500, LONG_HEADING = 60


cdef int set_up() except -1:
    global is_set_up, text_tag, heading, main, article, all_landmarks
    global facts_of, odds_of_heading, most_bytes
    if not is_set_up:
        landmarks = given["LANDMARKS"]
        heading, main, article = landmarks["heading"], landmarks["main"], landmarks["article"]
        text_tag, all_landmarks = given["TEXT"], given["ALL_LANDMARKS"]
        facts_of, odds_of_heading, most_bytes = given["facts_of"], given["heading_odds"], given["MOST_BYTES"]
        for name, bit in landmarks.items():
            named_landmarks.push_back(pair[string, int64_t](f"in_{name}".encode(), bit))
        is_set_up = True
    return 0


def page_features(page, lexicon, own_tokens=()):
    """(m, len(PAGE_FEATURES)) features of each leaf that need the page alone.

    Parameters
    ----------
    lexicon : log odds by hash of a token
    own_tokens : hashes of at most ``OWN_TOKENS`` class, id and role tokens whose meaning depends on the kind of page:
        each gives a feature, whether the leaf is inside such an element
    """
    set_up()
    table = page.nodes
    cdef Nodes nodes = columns_of(table).nodes
    cdef PageFeatures features
    features.heading, features.main, features.article = heading, main, article
    cdef dict of_look, of_heading
    of_look, of_heading = kept(lexicon, tuple(own_tokens))
    cdef vector[Look] looks = looks_of(table, nodes, of_look, lexicon, own_tokens)
    cdef vector[Link] links = links_of(page, nodes)
    read_strings(table.strings, page.title.casefold(), features)
    cdef Matrix of_regions = regions_of(table, nodes)
    features.of_regions, features.landmarks = of_regions.columns(), named_landmarks
    with nogil:
        features.inherited.inherit(nodes, looks, links, text_tag)
        features.measure(nodes)
    take_logarithms(features.arguments())
    read_headings(table.strings, of_heading, lexicon, features)
    cdef Matrix matrix = Matrix(given["PAGE"], nodes.m)
    with nogil:
        features.write(nodes, matrix.written)
    for kind, is_declared in given["declared"](page).items():
        matrix.written.add_equal(f"declared_{kind}".encode(), is_declared)
    return matrix.completed()


def region_features(nodes):
    """(n, len(REGION.rows)) features of the subtree of each row of a page."""
    return regions_of(nodes, columns_of(nodes).nodes).array.T


def node_odds(page, columns, first, classifier):
    """(n, 2) log odds that each node of a page is template: mean of those of its leaves, and by the classifier.

    Parameters
    ----------
    columns : (m, len(PAGE_FEATURES)) `page_features` of the page
    first : (m,) log odds of the leaves
    classifier : over ``NODE_FEATURES``
    """
    set_up()
    cdef Nodes nodes = columns_of(page.nodes).nodes
    transposed, own = np.ascontiguousarray(columns.T, np.float32), floats(first)
    cdef const double *first_odds = of_size(own, nodes.m)
    arrays = [floats(column) for column in (classifier.weight, classifier.bias, classifier.low, classifier.high)]
    if classifier.weight.shape[1] != given["OF_NODE"]:
        raise ValueError("the classifier was trained on other features")
    cdef const float *matrix = <const float*>pointer(transposed)
    cdef Logistic model
    model.features = classifier.weight.shape[1]
    model.weight, model.bias = <const double*>pointer(arrays[0]), <const double*>pointer(arrays[1])
    model.low, model.high = <const double*>pointer(arrays[2]), <const double*>pointer(arrays[3])
    cdef Regions of_regions = regions_of(page.nodes, nodes).columns()
    odds = np.empty((nodes.n, 2))
    cdef double *out = <double*>pointer(odds)
    with nogil:
        judge_nodes(nodes, of_regions, matrix, first_odds, model, out)
    return odds


def site_features(page, evidence, odds, of_class):
    """(m, len(SITE_FEATURES)) features of each leaf from the evidence of the other pages of the site.

    Parameters
    ----------
    evidence : the evidence, see `Counts.evidence`
    odds : (n, CLASSIFIERS) log odds of the page-level classifiers
    of_class : number of other pages of the page's class
    """
    cdef Nodes nodes = columns_of(page.nodes).nodes
    cdef Evidence site
    site.pages, site.of_class = evidence.pages, of_class
    site.link_rows, site.link_count = nodes.link_row, nodes.links
    cdef Doubles columns = Doubles()
    site.text, site.placed = columns.of(evidence.text, nodes.m), columns.of(evidence.placed, nodes.m)
    site.variants, site.values = columns.of(evidence.variants, nodes.m), columns.of(evidence.values, nodes.m)
    site.class_text = columns.of(evidence.class_text, nodes.m)
    site.path, site.exact = columns.of(evidence.path, nodes.n), columns.of(evidence.exact, nodes.n)
    site.links, site.class_path = columns.of(evidence.links, nodes.n), columns.of(evidence.class_path, nodes.n)
    site.linked, site.fresh = columns.of(evidence.linked, nodes.n), columns.of(evidence.fresh, nodes.n)
    site.mass = columns.of(evidence.mass, nodes.n)
    site.odds = columns.of(odds, nodes.n * CLASSIFIERS)
    site.path_odds = columns.of(evidence.odds, nodes.n * CLASSIFIERS)
    site.shape_odds = columns.of(evidence.shape_odds, nodes.n * CLASSIFIERS)
    site.target = columns.of(evidence.target, site.link_count)
    cdef SiteFeatures features
    with nogil:
        features.measure(nodes, site)
    take_logarithms(features.log_arguments())
    take_exponentials(features.exp_arguments())
    cdef Matrix matrix = Matrix(given["SITE"], nodes.m)
    with nogil:
        features.write(nodes, matrix.written)
    return matrix.completed()


def context_features(table, odds):
    """(m, len(CONTEXT_FEATURES)) features of each leaf.

    Parameters
    ----------
    odds : (m,) log odds of template by the decision before
    """
    set_up()
    cdef Nodes nodes = columns_of(table).nodes
    cdef Matrix matrix = Matrix(given["CONTEXT"], nodes.m)
    if nodes.m == 0:
        return matrix.array.T
    values = floats(odds)
    cdef const double *of_leaves = of_size(values, nodes.m)
    cdef ContextFeatures features
    take_exponentials(features.clip(of_leaves, nodes.m))
    cdef vector[int64_t] headings = heading_leaves(nodes)
    cdef vector[int64_t] levels = heading_levels(nodes)
    cdef vector[double] *arguments
    with nogil:
        arguments = &features.measure(nodes, headings, levels)
    take_logarithms(dereference(arguments))
    with nogil:
        features.write(nodes, levels, matrix.written)
    return matrix.completed()


def cut_features(table, odds, others):
    """(len(CUTS), len(CUT_FEATURES)) features of each cut of a page.

    Parameters
    ----------
    odds : (m,) log odds of template
    others : number of other pages of the site that are known
    """
    cdef Nodes nodes = columns_of(table).nodes
    if nodes.m == 0:
        raise ValueError("a page without leaves has no cut")
    values = floats(odds)
    at, content_at = given["CUTS"], given["CONTENT_AT"]
    cdef const double *cut = <const double*>pointer(at)
    cdef const double *content = <const double*>pointer(content_at)
    cdef size_t count = len(at)
    cdef CutFeatures features
    cdef double number = others
    cdef vector[double] *arguments
    take_exponentials(features.read(of_size(values, nodes.m), nodes.m))
    with nogil:
        arguments = &features.measure(nodes, cut, count, number)
    take_logarithms(dereference(arguments))
    cdef Matrix matrix = Matrix(given["CUT"], count)
    with nogil:
        features.write(nodes, cut, content, matrix.written)
    return matrix.completed()


def mean_cut(ratings, double temperature):
    """The mean of the cuts, weighted by the exponential of their ratings, each with half of those beside it.

    Parameters
    ----------
    ratings : (len(CUTS),)
    temperature : the difference of ratings by which a cut counts e times as much
    """
    own, at = floats(ratings), given["CUTS"]
    cdef size_t count = len(at), i
    cdef const double *rating = of_size(own, count)
    cdef const double *cut = <const double*>pointer(at)
    cdef vector[double] weights = vector[double](count)
    cdef double greatest, summed = 0, total = 0
    for i in range(count):
        weights[i] = (rating[max(i, <size_t>1) - 1] + 2 * rating[i] + rating[min(i + 1, count - 1)]) / 4
    greatest = weights[0]
    for i in range(count):
        greatest = max(greatest, weights[i])
    for i in range(count):
        weights[i] = (weights[i] - greatest) / temperature
    take_exponentials(weights)
    for i in range(count):
        summed += weights[i] * cut[i]
        total += weights[i]
    return summed / total


cdef class Names:
    """The names of the columns of a table of features."""

    cdef vector[string] names


cdef class Matrix:
    """The columns of a table of features."""

    cdef Written written
    cdef Names names
    cdef object table, array

    def __cinit__(self, table, size_t count):
        cdef dict namespace = table.__dict__
        self.table, self.array, self.names = table, np.empty((len(table.rows), count), np.float32), namespace.get(KEPT)
        if self.names is None:
            self.names = namespace[KEPT] = Names()
            for name in table.names:
                self.names.names.push_back(name.encode())
        self.written = Written(<float*>pointer(self.array), count, self.names.names)

    def completed(self):
        """(count, columns) the matrix, when C++ has written all of its columns."""
        cdef vector[size_t] absent = self.written.absent()
        if absent.size():
            raise LookupError(f"the compiled core does not compute the feature {self.table.names[absent[0]]}")
        return self.array.T

    cdef Regions columns(self):
        cdef Regions found
        found.matrix, found.names = <const float*>pointer(self.array), &self.names.names
        return found

    def __reduce__(self):
        return type(None), ()  # a node table keeps one: its copy measures its own


cdef Matrix regions_of(table, const Nodes &nodes):
    """The features of the subtrees of a table, kept with it: all leaves and all nodes are judged by them."""
    cdef dict namespace = table.__dict__
    cdef Matrix found = namespace.get(KEPT)
    cdef RegionFeatures features
    cdef vector[int64_t] headings
    cdef vector[double] *arguments
    if found is None:
        headings = heading_leaves(nodes)
        found = Matrix(given["REGION"], nodes.n)
        with nogil:
            arguments = &features.measure(nodes, headings.data())
        take_logarithms(dereference(arguments))
        with nogil:
            features.write(nodes, found.written)
        found.completed()
        namespace[KEPT] = found
    return found


cdef class Doubles:
    """Columns of floats in double precision; those of NumPy cost microseconds each, which small pages feel."""

    cdef list alive
    cdef list_of_vectors converted

    def __cinit__(self):
        self.alive = []

    cdef const double *of(self, column, size_t size) except? NULL:
        """The data of a column, which this object keeps alive, if it has a size."""
        cdef Py_buffer view
        PyObject_GetBuffer(column, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
        cdef bint plain = PyBuffer_IsContiguous(&view, c"C")
        cdef bint is_single = plain and view.itemsize == 4 and view.format[0] == c"f"
        cdef bint is_double = plain and view.itemsize == 8 and view.format[0] == c"d"
        cdef size_t count = view.len // view.itemsize
        cdef void *data = view.buf
        PyBuffer_Release(&view)
        if count != size:
            raise ValueError(f"a column has {count} values instead of {size}")
        if not is_single and not is_double:
            column = floats(column)
            data = pointer(column)
        self.alive.append(column)
        return self.converted_from(<const float*>data, size) if is_single else <const double*>data

    cdef const double *converted_from(self, const float *single, size_t size) except? NULL:
        self.converted.push_back(vector[double]())
        self.converted.back().assign(single, single + size)
        return self.converted.back().data()


cdef inline object floats(column):
    return np.ascontiguousarray(column, np.float64)


cdef const double *of_size(array, size_t size) except? NULL:
    """The data of an array of floats, if it has a size."""
    if <size_t>array.size != size:
        raise ValueError(f"a column has {array.size} values instead of {size}")
    return <const double*>pointer(array)


cdef object numbers(vector[double] &values):
    """An array over the values, which must be kept alive."""
    memory = PyMemoryView_FromMemory(<char*>values.data(), values.size() * sizeof(double), PyBUF_WRITE)
    return frombuffer(memory)


cdef int take_logarithms(vector[double] &values) except -1:
    """Replace each value x by log(1 + x)."""
    if values.size():
        array = numbers(values)
        log1p(array, array)
    return 0


cdef int take_exponentials(vector[double] &values) except -1:
    """Replace each value x by exp(x)."""
    if values.size():
        array = numbers(values)
        exp(array, array)
    return 0


cdef tuple kept(lexicon, tuple own_tokens):
    """What lexicon and own_tokens say of the looks and headings that they were asked for."""
    global known, size_of_known
    if known[0] is not lexicon or known[1] != own_tokens or size_of_known > most_bytes:
        known, size_of_known = (lexicon, own_tokens, {}, {}), 0
    return known[2:]


cdef int keep(dict facts_of, key, Py_ssize_t characters, facts) except -1:
    """Keep what is said of a look or a heading, unless there is no more room on this page."""
    global size_of_known
    size_of_known += BYTES_OF_ENTRY + 4 * characters
    if size_of_known <= most_bytes:
        facts_of[key] = facts
    return 0


cdef vector[Look] looks_of(table, const Nodes &nodes, dict of_look, lexicon, own_tokens):
    """What lexicon and own_tokens say of each look."""
    cdef vector[Look] found
    cdef Look one
    for look in table.looks:
        facts = of_look.get(look)
        if facts is None:
            facts = facts_of(look, lexicon, own_tokens)
            keep(of_look, look, sum(map(len, look)), facts)
        one.landmarks = nodes.signs[found.size()] & all_landmarks
        one.odds, one.own_tokens = facts
        found.push_back(one)
    return found


cdef int read_headings(list strings, dict of_heading, lexicon, PageFeatures &features) except -1:
    """Note the odds of the leaves in headings."""
    cdef size_t i
    features.heading_odds.resize(features.headings.size())
    for i in range(features.headings.size()):
        if features.headings[i]:
            odds = of_heading.get(strings[i])
            if odds is None:
                odds = odds_of_heading(strings[i], lexicon)
                if len(strings[i]) <= LONG_HEADING:
                    keep(of_heading, strings[i], len(strings[i]), odds)
            features.heading_odds[i] = odds
    return 0


cdef vector[Link] links_of(page, const Nodes &nodes):
    """Where each link of a page leads."""
    links = page.nodes.links
    cdef list target = links.target, href = links.href
    cdef str host = page.base.split("/")[2] if page.base.count("/") > 1 else ""
    cdef vector[Link] found
    cdef Link one
    cdef Py_ssize_t i
    if <size_t>len(target) != nodes.links or <size_t>len(href) != nodes.links:
        raise ValueError("the columns of the links do not have the same length")
    for i in range(len(target)):
        one.row, one.key = nodes.link_row[i], nodes.link_key[i]
        one.leads = INSIDE * leads_to(target[i], host) | WITHIN * is_fragment(href[i])
        found.push_back(one)
    return found


cdef bint leads_to(str target, str host) except -1:
    """Whether a normalised URL is that of a page of a host."""
    cdef Py_ssize_t start, end
    if not target:
        return False
    start = target.find("/", target.find("/") + 1) + 1
    end = start + len(host)
    return PyUnicode_Tailmatch(target, host, start, end, -1) and (end == len(target) or target[end] == "/")


cdef bint is_fragment(str href) except -1:
    cdef Py_UCS4 c
    for c in href:
        if not c.isspace():
            return c == "#"
    return False


cdef bint is_in(str text, str title, const string &plain_title) except -1:
    """Whether a text is part of a title in lower case; the title in ASCII is for texts in ASCII, for speed."""
    cdef char folded[256]
    cdef const char *characters
    cdef Py_ssize_t length, i
    if not text.isascii() or len(text) > 256:
        return text.casefold() in title
    characters = PyUnicode_AsUTF8AndSize(text, &length)
    for i in range(length):
        folded[i] = characters[i] + 32 if c"A" <= characters[i] <= c"Z" else characters[i]
    return plain_title.find(folded, 0, length) != npos


cdef int read_strings(list strings, str title, PageFeatures &features) except -1:
    """Note length and traits of each run of text."""
    cdef str text
    cdef Py_ssize_t length, i, longest = len(title)
    cdef Py_UCS4 c
    cdef int kind
    cdef void *characters
    cdef uint8_t traits
    cdef string plain_title
    for c in title:
        plain_title.push_back(c if c < 128 else 0)  # no text has this character
    for text in strings:
        length, kind, characters = len(text), PyUnicode_KIND(text), PyUnicode_DATA(text)
        traits = ENDS * (PyUnicode_READ(kind, characters, length - 1) in ".!?…。！？:;")
        traits |= UPPER * PyUnicode_READ(kind, characters, 0).isupper()
        for i in range(min(length, 40)):
            c = PyUnicode_READ(kind, characters, i)
            if c"0" <= c <= c"9" or c >= 128 and c.isdecimal():
                traits |= DIGITS
                break
        if 3 < length <= longest and is_in(text, title, plain_title):
            traits |= IN_TITLE
        features.lengths.push_back(length)
        features.traits.push_back(traits)
    return 0


cdef vector[int64_t] heading_leaves(const Nodes &nodes):
    """Whether each leaf is inside a heading."""
    cdef vector[int64_t] of_look
    cdef size_t i
    for i in range(nodes.looks):
        of_look.push_back((nodes.signs[i] & heading) > 0)
    return inherited_by_look(nodes, of_look.data())


cdef vector[int64_t] heading_levels(const Nodes &nodes):
    """Level of the heading around each leaf, 0 for none."""
    of_tag = given["HEADING_LEVEL"]
    return inherited_by_tag(nodes, <const int64_t*>pointer(of_tag))
