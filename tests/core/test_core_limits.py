"""What the compiled core finds in a text before it is parsed: the same as without it."""

from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.core import in_python
from scrapy_pagelets.page.limits import may_have_long_tag, without_nul
from tests.scale.test_limits import PIECES

#: Characters of one, two and four bytes.
texts = st.text(st.sampled_from("ab\0\n\xe9\u20ac\U0001f600"))


@given(texts)
@example("\0")
def test_the_same_characters_are_left(text):
    assert without_nul(text) == in_python(without_nul)(text)


@given(st.lists(PIECES | st.sampled_from(["\xe9", "\u20ac", " a" * 9]), max_size=80).map("".join), st.integers(1, 12))
@example("", 1)
@example("<p " + "a " * 40 + ">" * 150, 3)
@example("<p " + '=">' * 150, 3)
def test_the_same_texts_may_have_long_tags(text, most):
    assert may_have_long_tag(text, most) == in_python(may_have_long_tag)(text, most)
