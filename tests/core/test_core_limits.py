"""What the compiled core finds in a text before it is parsed; `tests.scale.test_limits` compares it with a parser."""

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.page.limits import may_have_long_tag, without_nul
from scrapy_pagelets.page.text import is_composed

#: Characters of one, two and four bytes.
texts = st.text(st.sampled_from("ab\0\n\xe9\u20ac\U0001f600"))


@given(texts)
@example("\0")
def test_the_same_characters_are_left(text):
    assert without_nul(text) == text.replace("\0", "")


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("", 1, False),
        ("<p a a>" * 40, 3, False),
        ("<p " + "a " * 40 + ">" * 150, 3, True),
        ("<p " + "\xe9 " * 40 + ">", 3, True),
        ("<p " + "\u20ac " * 40 + ">", 80, False),
        ("<p " + '=">' * 150, 3, True),
        ("<p " + '=">' * 90 + "'>" * 90, 3, True),
    ],
)
def test_texts_that_may_have_a_long_tag(text, most, expected):
    assert may_have_long_tag(text, most) is expected


@given(st.text() | st.text(st.characters(max_codepoint=0x2100)))
@example("é’–€")
@example("e\u0301")
@example("\u2000")
@example("\u2126")
def test_what_surely_is_in_form_nfc_is_in_it(text):
    assert not is_composed(text) or normalize("NFC", text) == text


@pytest.mark.parametrize("text", ["Café naïve", "“Tea” – 5…", ""])
def test_texts_in_latin_letters_are_in_form_nfc(text):
    assert is_composed(text)
