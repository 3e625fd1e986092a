"""The features of the page-level classifier in words."""

from __future__ import annotations

from typing import Final

from scrapy_pagelets.decision.page_features import NODE_FEATURES

#: Name of a feature -> what a node has whose value is below or above the mean of the page. Features of the page as a
#: whole are not among them: they are the same for all of its nodes.
IN_WORDS: Final = {
    "words": ("few words", "many words"),
    "link_density": ("little text in links", "much text in links"),
    "leaves": ("few runs of text", "many runs of text"),
    "words_per_leaf": ("short runs of text", "long runs of text"),
    "share_of_page": ("a small share of the page", "a large share of the page"),
    "headings": ("few headings", "many headings"),
    "prose": ("few sentences", "many sentences"),
    "first": ("it begins early on the page", "it begins late on the page"),
    "chars_per_word": ("short words", "long words"),
    "ends_sentence": ("few ends of sentences", "it ends like a sentence"),
    "starts_upper": ("small letters at the start", "capital letters at the start"),
    "digits": ("few digits", "digits"),
    "anchor": ("few links", "it is a link"),
    "hidden": ("it is not hidden", "it is hidden"),
    "depth": ("it is not deep in the tree", "it is deep in the tree"),
    "position": ("it stands early on the page", "it stands late on the page"),
    "word_position": ("little text before it", "much text before it"),
    "from_end": ("little text after it", "much text after it"),
    "gap": ("it follows other text closely", "it stands apart from the text before"),
    "same_shape": ("its form is rare on the page", "its form is frequent on the page"),
    "in_title": ("words that the title does not have", "words of the title"),
    "internal": ("few links within the site", "links within the site"),
    "fragment": ("few links within the page", "links within the page"),
    "same_target": ("no links that repeat others", "links that repeat others"),
    "prev_words": ("little text just before it", "long text just before it"),
    "next_words": ("little text just after it", "long text just after it"),
    "near_words": ("little text around it", "much text around it"),
    "heading": ("a heading typical of content above it", "a heading typical of template above it"),
    "heading_words": ("close to its heading", "far from a heading"),
    "lexicon_sum": ("classes and ids typical of content", "classes and ids typical of template"),
    "lexicon_min": ("a class or id typical of content", "no class or id typical of content"),
    "lexicon_max": ("no class or id typical of template", "a class or id typical of template"),
    "lexicon_near": ("a class or id typical of content close to it", "a class or id typical of template close to it"),
    "in_heading": ("it is no heading", "it is a heading"),
    "in_list": ("it is not in a list", "it is in a list"),
    "in_p": ("it is not in a paragraph", "it is in a paragraph"),
}


def in_words(number: int, *, more: bool) -> str:
    """What a feature says of a node.

    Parameters
    ----------
    number : of the feature in `page_features.NODE_FEATURES`
    more : whether its value is above the mean of the page

    Examples
    --------
    >>> in_words(1, more=True), in_words(NODE_FEATURES.index("in_nav"), more=False)
    ('much text in links', 'it is not inside <nav>')
    """
    name = NODE_FEATURES[number]
    if name in NODE_FEATURES[:number]:  # of a run of text, where the first is of the whole node
        name = f"{name}_per_leaf"
    if name in IN_WORDS:
        return IN_WORDS[name][more]
    return f"it is {'' if more else 'not '}inside <{name.removeprefix('in_')}>"
