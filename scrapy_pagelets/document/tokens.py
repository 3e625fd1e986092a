"""Tokens of language models: the limit on a chunk, and how they are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pkgutil import resolve_name
from typing import Final

from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.document.markdown import markdown_of

#: Counts the tokens of a text.
Tokenizer = Callable[[str], int]
#: The smallest limit: a chunk needs some tokens for the marks of lists, quotes and fences around its text.
LEAST_TOKENS: Final = 50
#: Bytes of a token, see `tokens_of`.
_BYTES: Final = 3


def tokens_of(text: str) -> int:
    """Estimate the number of tokens of a language model: bytes in UTF-8, divided by three and rounded up.

    >>> tokens_of("chunks"), tokens_of("東京")
    (2, 2)
    """
    return -(-len(text.encode("utf-8", "replace")) // _BYTES)


@cache
def tokenizer_of(name: str) -> Tokenizer:
    """Import a function that counts tokens by its name, ``package.module:function``; "" is `tokens_of`.

    Raises
    ------
    ValueError : if there is no such function, or if it does not return a whole number

    Examples
    --------
    >>> tokenizer_of("builtins:len")("tea")
    3
    """
    if not name:
        return tokens_of
    try:
        function = resolve_name(name)
        number = function("tea")
    except Exception as error:  # a module of the user may raise anything
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not isinstance(number, int):
        raise ValueError(f"it returns {type(number).__name__}, not a whole number")
    return function  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Limit:
    """How long a chunk may be."""

    words: int  # number of words, which a block that cannot be cut well may exceed
    tokens: int = 0  # number of tokens, which nothing exceeds; 0 for no limit
    tokenizer: Tokenizer = tokens_of

    def size(self, block: Block, above: tuple[Block, ...], words: int) -> int:
        """Return the number of words that a block counts for: more than its own if it has too many tokens for them.

        Sizes of blocks add up to at least the size of all of them together.
        """
        if not self.tokens:
            return words
        for outer in reversed(above):
            block = replace(outer, children=[block])
        text = markdown_of(Block("document", children=[block])) + f"\n{'> ' * len(above)}\n"
        return max(words, -(-self.tokenizer(text) * self.words // self.tokens))
