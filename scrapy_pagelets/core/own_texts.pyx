# cython: boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""What a page alone says amid its content, see `scrapy_pagelets.decision.own_texts`."""

from libc.stdint cimport int64_t, uint8_t
from libcpp.vector cimport vector

import numpy as np

from scrapy_pagelets.core.arrays cimport integers, pointer
from scrapy_pagelets.core.columns cimport Nodes, columns_of

cdef extern from "own_texts.hpp" nogil:
    cppclass OfOwnTexts:
        double threshold, most_of_value, most_behind, often, nearly_all, most_of_list, mostly, linked
        double most_of_table
        int64_t sentence, paragraphs, note, amid, behind, label, value, near, far, code, definition, table, heading, no_note
        vector[uint8_t] is_paragraph, is_value, is_list, is_inline, is_no_data, is_cell
    cppclass Span:
        int64_t first, last
    cppclass OwnTexts:
        vector[uint8_t] found
        OwnTexts(
            const Nodes &nodes, const OfOwnTexts &of, const double *told, const int64_t *alike, double others,
            int64_t own_end
        ) except +
        bint is_content(int64_t leaf)
        bint add_sentences(const vector[int64_t] &captions)
        void add_paragraphs() except +
        vector[int64_t] links_lost() except +
        vector[int64_t] links_near() except +
        void add_stretches(const vector[int64_t] &contacts) except +
        void add_link(int64_t link, bint is_elsewhere, bint is_file)
        void add_code() except +
        void add_values() except +
        void add_notes(const vector[int64_t] &links, const vector[int64_t] &looks) except +
        Span facts_below(int64_t heading)
        void add_facts(Span facts)
        void add_boxes(const vector[int64_t] &boxes)
        void add_between() except +
    cppclass DataTables:
        DataTables(const Nodes &nodes, const OfOwnTexts &of) except +
        void mark(int64_t behind, const double *told, const int64_t *alike, double pages, uint8_t *out)

#: What Python modules hand over, see `scrapy_pagelets.core.give`.
given = {}
cdef OfOwnTexts limits
cdef int64_t known
cdef tuple contacts
cdef object captions_of, boxes_of, has_year, host_of, is_page


cdef int set_up() except -1:
    global known, contacts, captions_of, boxes_of, has_year, host_of, is_page
    if not limits.is_value.empty():
        return 0
    limits.threshold, limits.most_of_value = given["THRESHOLD"], given["MOST_OF_VALUE"]
    limits.most_behind = given["MOST_BEHIND"]
    limits.often, limits.nearly_all, limits.mostly = given["OFTEN"], given["NEARLY_ALL"], given["MOSTLY"]
    limits.most_of_list, limits.sentence, limits.note = given["MOST_OF_LIST"], given["SENTENCE"], given["NOTE"]
    limits.amid, limits.behind, limits.near, limits.far = given["AMID"], given["BEHIND"], given["NEAR"], given["FAR"]
    limits.label, limits.value = given["LABEL"], given["VALUE"]
    limits.code, limits.definition, limits.no_note = given["CODE"], given["DEFINITION"], given["NO_NOTE"]
    limits.is_list, limits.is_inline, limits.is_no_data = given["IS_LIST"], given["IS_INLINE"], given["IS_NO_DATA"]
    limits.heading = given["HEADING"]
    limits.table, limits.is_cell = given["TABLE"], given["IS_CELL"]
    limits.linked, limits.most_of_table = given["LINKED"], given["MOST_OF_TABLE"]
    limits.paragraphs, limits.is_paragraph = given["PARAGRAPHS"], given["IS_PARAGRAPH"]
    known, contacts = given["KNOWN"], given["CONTACTS"]
    captions_of, boxes_of, has_year = given["captions_of"], given["boxes_of"], given["has_year"]
    host_of, is_page = given["host_of"], given["is_page"]
    limits.is_value = given["IS_VALUE"]
    return 0


def own_texts(page, headline, templateness, alike, int64_t others):
    """(m,) leaves of template that are content, as the page alone has them amid its content or right behind it.

    A stretch amid content of texts that no other page has may be as long as it is. Right behind content, links count as
    template unless they lead to files: many pages end with their own address. A few words without links between content
    are content unless nearly all pages have them there. So is what has neither link nor year between the heading and
    content. Of a page whose site is hardly known, only paragraphs are looked at: they stay where most of their kind do.

    Parameters
    ----------
    headline : the page's own heading, None without one
    templateness : (m,) as the model sees it
    alike : (m,) number of other pages with the same text at the same place, see `Site.pages_alike`
    others : number of other pages of the site that are known
    """
    set_up()
    table = page.nodes
    cdef Nodes nodes = columns_of(table).nodes
    mask = np.zeros(nodes.m, np.bool_)
    if nodes.m == 0:
        return mask
    told, pages = np.ascontiguousarray(templateness, np.float64), np.ascontiguousarray(alike, np.int64)
    if <size_t>told.size != nodes.m or <size_t>integers(pages).size != nodes.m or <size_t>len(table.strings) != nodes.m:
        raise ValueError("there is not a text, a templateness and a number of pages for each leaf")
    cdef int64_t heading = -1 if headline is None else headline.row
    if headline is not None and not 0 <= heading < <int64_t>nodes.n:
        raise IndexError(f"the page has no row {heading}")
    cdef int64_t own_end = nodes.last_leaf[heading] if heading >= 0 else 0
    cdef const double *seen = <const double*>pointer(told)
    cdef OwnTexts *texts = new OwnTexts(nodes, limits, seen, integers(pages).at, others, own_end)
    try:
        if others < known:
            texts.add_paragraphs()
        else:
            fill(texts, page, table, nodes, heading)
        write(texts, nodes, <uint8_t*>pointer(mask))
    finally:
        del texts
    return mask


def data_tables(table, headline, templateness, alike, int64_t others):
    """(m,) the leaves of tables of data below the own heading, but for those of other pages, and those surely template.

    Their cells are short, and each of them alone looks like template. A table of data has two cells or more in its
    rows, hardly a link, and neither a table nor anything to fill in inside.

    Parameters
    ----------
    headline, templateness, alike, others : as of `own_texts`
    """
    set_up()
    cdef Nodes nodes = columns_of(table).nodes
    mask = np.zeros(nodes.m, np.bool_)
    if headline is None or not has_table(nodes):
        return mask
    told, pages = np.ascontiguousarray(templateness, np.float64), np.ascontiguousarray(alike, np.int64)
    if <size_t>told.size != nodes.m or <size_t>integers(pages).size != nodes.m or not 0 <= headline.row < nodes.n:
        raise ValueError("there is not a templateness and a number of pages for each leaf, or not a row of the heading")
    cdef int64_t behind = nodes.last_leaf[<int64_t>headline.row]
    cdef DataTables *tables = new DataTables(nodes, limits)
    tables.mark(behind, <const double*>pointer(told), integers(pages).at, others, <uint8_t*>pointer(mask))
    del tables
    return mask


cdef bint has_table(const Nodes &nodes):
    cdef size_t row
    for row in range(nodes.n):
        if nodes.tag[row] == limits.table:
            return True
    return False


cdef int fill(OwnTexts *texts, page, table, const Nodes &nodes, int64_t heading) except -1:
    """Add all that is content, in its order: what stands between content comes last."""
    cdef list hrefs = table.links.href
    cdef Span facts
    if <size_t>len(hrefs) != nodes.links:
        raise ValueError("there is not an address for each link")
    if texts.add_sentences(captions_of(table)):
        texts.add_stretches(those_of(texts.links_lost(), hrefs))
    add_links(texts, page.url, hrefs)
    texts.add_code()
    texts.add_values()
    add_notes(texts, table.looks, hrefs)
    if heading >= 0:
        facts = texts.facts_below(heading)
        if facts.first < facts.last and not any(map(has_year, table.strings[facts.first:facts.last])):
            texts.add_facts(facts)
    texts.add_boxes(boxes_of(table))
    texts.add_between()
    return 0


cdef vector[int64_t] those_of(vector[int64_t] links, list hrefs) except *:
    """Those of some links that lead to mail addresses and telephone numbers."""
    cdef vector[int64_t] found
    cdef int64_t link
    for link in links:
        if (<str>hrefs[link])[:7].lower().startswith(contacts):
            found.push_back(link)
    return found


cdef int add_links(OwnTexts *texts, url, list hrefs) except -1:
    """Add the links to other hosts, and to files."""
    cdef int64_t link
    cdef str href
    host = None
    for link in texts.links_near():
        href = hrefs[link]
        host = host_of(url) if host is None else host
        is_elsewhere = href[:4].lower() == "http" and host_of(href) != host
        texts.add_link(link, is_elsewhere, not is_page(href))
    return 0


cdef int add_notes(OwnTexts *texts, list looks, list hrefs) except -1:
    """Add the notes and sources that content refers to by links to places below it."""
    cdef vector[int64_t] links, places
    cdef int64_t link
    cdef dict numbers = {}
    for link in range(len(hrefs)):
        if (<str>hrefs[link]).startswith("#"):
            numbers = numbers or {(<tuple>look)[1]: number for number, look in enumerate(looks) if (<tuple>look)[1]}
            number = numbers.get((<str>hrefs[link])[1:])
            if number is not None:
                links.push_back(link)
                places.push_back(number)
    if links.size():
        texts.add_notes(links, places)
    return 0


cdef int write(OwnTexts *texts, const Nodes &nodes, uint8_t *out) except -1:
    """Write down what is found and is no content yet."""
    cdef size_t i
    for i in range(nodes.m):
        out[i] = texts.found[i] and not texts.is_content(i)
    return 0
