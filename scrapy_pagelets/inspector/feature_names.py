"""The features of the page-level classifier in words."""

from __future__ import annotations

from typing import Final

#: Name of a feature -> what it is about; of the node, its text, or the page around it.
IN_WORDS: Final = {
    "words": "number of words",
    "link_density": "share of link text",
    "leaves": "number of runs of text",
    "words_per_leaf": "words in each run of text",
    "share_of_page": "share of the page's words",
    "headings": "headings",
    "prose": "sentences",
    "first": "place of its beginning on the page",
    "chars_per_word": "length of words",
    "ends_sentence": "end of a sentence",
    "starts_upper": "capital letter at the start",
    "digits": "digits",
    "anchor": "link text",
    "hidden": "hidden text",
    "depth": "depth in the tree",
    "position": "place on the page",
    "word_position": "words before it",
    "from_end": "words after it",
    "gap": "distance from the text before",
    "same_shape": "nodes of the same form",
    "in_title": "words of the title",
    "internal": "links within the site",
    "fragment": "links within the page",
    "same_target": "links to the same target",
    "prev_words": "length of the text before",
    "next_words": "length of the text after",
    "near_words": "length of the texts around",
    "heading": "words of the last heading",
    "heading_words": "length of the last heading",
    "lexicon_sum": "names of classes and ids",
    "lexicon_min": "the name of a class or id most typical of content",
    "lexicon_max": "the name of a class or id most typical of template",
    "lexicon_near": "names of classes and ids close to it",
    "page_words": "words of the page",
    "page_link_density": "share of link text of the page",
    "page_leaves": "runs of text of the page",
    "has_main": "a main element on the page",
    "has_article": "an article element on the page",
    "page_depth": "depth of the page",
}


def in_words(name: str) -> str:
    """What a feature of ``page_features.NODE_FEATURES`` is about."""
    return IN_WORDS.get(name) or f"place in {name.removeprefix('in_')}"
