"""What the names of an element say of it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.base.characters import may_have
from scrapy_pagelets.metadata import product_values
from scrapy_pagelets.page import looks

NAMES = [
    looks._HEADLINE, looks.CRUMBS_NAMED, looks._COMMENTS, looks._COMMENT, looks._PART, looks._REVIEWS, looks._AUTHOR,
    looks._HEARD, looks._RELATED, looks._SELLING, looks._BYLINE, looks._NEIGHBOURS, looks._SIGNATURE, looks._SOURCE,
    looks._PAGER, looks._ENCODED, looks._ENTRY, looks._POST,
]  # fmt: skip


def some_of(patterns):
    """Texts that one of some patterns matches."""
    return st.sampled_from(patterns).flatmap(lambda name: st.from_regex(re.compile(name.pattern, name.flags)))


@given(some_of(NAMES))
def test_no_name_that_says_something_is_passed_over(name):
    assert may_have(name, looks._NAMED) or looks._OF_POST.search(name)


@given(some_of([*looks._TOKENS.values()]))
def test_no_class_that_says_how_an_element_is_placed_is_passed_over(token):
    assert may_have(token, looks._ANY)


@given(some_of([product_values._NAMED]))
def test_no_name_of_a_price_is_passed_over(name):
    assert may_have(name, looks._OFFERED)
