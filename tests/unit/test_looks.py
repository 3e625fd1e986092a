"""What the names of an element say of it."""

import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.page import looks

NAMES = [
    looks._HEADLINE, looks.CRUMBS_NAMED, looks._COMMENTS, looks._COMMENT, looks._REVIEWS, looks._AUTHOR, looks._HEARD,
    looks._RELATED, looks._BYLINE, looks._NEIGHBOURS, looks._SIGNATURE, looks._SOURCE,
]  # fmt: skip


@given(st.sampled_from(NAMES).flatmap(lambda name: st.from_regex(re.compile(name.pattern, name.flags))))
def test_no_name_that_says_something_is_passed_over(name):
    assert looks._NAMED.search(name)
