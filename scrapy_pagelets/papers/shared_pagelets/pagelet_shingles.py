"""Shingles of pagelets: hashes that are equal if two pages have the same pagelet, exactly or nearly.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2: the pagelets of a template have one shingle, ``s(p) = s(T)``; we use
two, see ``docs/algorithms/pagelets-templates-2002.md``. Sketches follow Broder et al. 1997, with one permutation (Li,
Owen, Zhang 2012) and densification (Shrivastava 2017).
"""

from dataclasses import dataclass
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, band_hashes, mix
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import UNSPACED, caseless, lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.shingles import word_tokens as word_tokens
from scrapy_pagelets.page.nodes import TAGS, TEXT, NodeTable
from scrapy_pagelets.page.page import Page

#: Number of words of a sequence that is hashed, of values of a sketch, and of values of a super-shingle.
WINDOW: Final = 4
VALUES: Final = 16
SUPER: Final = 4
#: Two pagelets are nearly equal if their sketches estimate a resemblance (Jaccard coefficient) of at least this.
NEAR: Final = 0.8
#: A pagelet needs this many words or link targets, so that "Read more" is not a template.
LEAST_TOKENS: Final = 4
LEAST_TARGETS: Final = 2
# Words are not those of `scrapy_pagelets.base.characters`: a single character of a script without spaces says too
# little, so such scripts give runs of three characters.
# Vowel signs and accents of Hebrew, Arabic and Indic scripts are part of a word, although they are not letters.
_COMBINING: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_WORD: Final = lazily(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])[\\w{_COMBINING}])+")
_UNSPACED_WORD: Final = lazily(f"[{UNSPACED}]")
_NUMBER: Final = lazily(r"\d+")
_LONGEST_WORD: Final = 15  # a longer word is a text without spaces in another script, or not a word
_GRAM: Final = 3
_TAG_TOKENS: Final = np.array([xxh3_64_intdigest(f"<{tag}>".encode()) >> 1 for tag in TAGS], np.int64)
_SELF: Final = xxh3_64_intdigest(b"<link to its own page>") >> 1
_NO_PAGE: Final = xxh3_64_intdigest(b"<link to no page>") >> 1
_POSITION: Final = np.int64(0x2545F4914F6CDD1D)
_EMPTY: Final = np.int64(1 << 60)  # greater than any value of a sketch, because the upper bits select the bin
#: (16, 16) the order in which each bin searches the bins for a value: its own first, then the others in a fixed order.
_PROBES: Final = np.argsort(
    np.where(np.eye(VALUES), -1, mix(np.arange(VALUES**2).reshape(VALUES, -1)) >> 1 & 0xFFFF), axis=1
)


@dataclass(frozen=True, kw_only=True)
class Shingles:
    """Hashes of the pagelets of a page, one row for each."""

    #: (p,) hash of the words, tags and link paths in order, with each number replaced by 0; 0 if there are none
    exact: Ints
    #: (p, 16) sketch of the words, see ``resemblance``; all 0 if there are no words, or if it was not asked for
    near: Ints
    #: tokens, targets: (p,) number of words, and of distinct linked pages other than the page itself
    tokens: Ints
    targets: Ints

    @property
    def candidates(self) -> Bools:
        """(p,) whether the pagelet is large enough to be a template."""
        return (self.tokens >= LEAST_TOKENS) | (self.targets >= LEAST_TARGETS)


def shingles(page: Page, pagelet: Ints, *, sketch: bool = True) -> Shingles:
    """Compute the shingles of the pagelets of a page.

    Only the content of a pagelet counts, not its position, nor the elements that contain all of it. ``pagelet``: (m,)
    number of the pagelet of each leaf, from 0; zeros make a pagelet of the whole page; ValueError if one is missing or
    negative. ``sketch``: compute ``near``, which takes most of the time.
    """
    nodes = page.nodes
    if pagelet.shape != nodes.leaves.shape or pagelet.min(initial=0) < 0:
        advice = f"give each of {len(nodes.leaves)} leaves a number from 0"
        raise ValueError(f"pagelet has the shape {pagelet.shape}: {advice}")
    p = int(pagelet.max(initial=-1)) + 1
    leaf, token = word_tokens(nodes.strings)
    owner, whole = _owners(nodes, pagelet)
    return Shingles(
        exact=_exact(page, owner, whole, nodes.leaves[leaf], token, p),
        near=_sketches(token, pagelet[leaf], p) if sketch else np.zeros((p, VALUES), np.int64),
        tokens=np.bincount(pagelet[leaf], minlength=p),
        targets=_targets(page, owner, p),
    )


def token_hashes(text: str) -> Ints:
    """Hashes of the words of a text, normalised (NFKC) and case-folded, with each number replaced by 0.

    Each run of characters in a script without spaces gives its runs of three, so that an edit changes no other tokens.
    The core asks for those of texts that are not ASCII.
    """
    words = chain.from_iterable(map(_grams, _WORD.findall(caseless(text))))
    return np.fromiter(map(_token, words), np.int64)


def _grams(word: str) -> list[str]:
    """Return the word, or its runs of three characters if it is a text without spaces."""
    if len(word) <= _GRAM or (len(word) <= _LONGEST_WORD and not _UNSPACED_WORD.match(word)):
        return [word]
    word = _NUMBER.sub("0", word)
    return [word[i : i + _GRAM] for i in range(max(1, len(word) - _GRAM + 1))]


@cached
def _token(word: str) -> int:
    return xxh3_64_intdigest(_NUMBER.sub("0", word).encode("utf-8", "replace")) >> 1


@cached
def _path_token(target: str) -> int:
    """Hash of the path of a link target, without the host: sister sites share a template on several hosts."""
    return _token(urlsplit(target).path) if target else _NO_PAGE


def resemblance(one: Ints, other: Ints) -> Floats:
    """Estimate the Jaccard coefficient of 4-word sequences by (..., 16) sketches of pagelets; 0 without words."""
    return np.asarray(((one == other) & (one != 0)).mean(-1))


def super_shingles(near: Ints) -> Ints:
    """(p, 4) hashes of groups of four values of the sketches, (p, 16); 0 without words.

    Each agrees with probability ``J ** 4`` for a resemblance of ``J``, and one at least if the estimate is ``NEAR`` or
    more, because at most three of the 16 values differ then.
    """
    bands = VALUES // SUPER
    with_words = near.reshape(len(near), bands, SUPER).any(2)
    return band_hashes(near, bands, SUPER, np.arange(1, bands + 1) * with_words)


def _owners(nodes: NodeTable, pagelet: Ints) -> tuple[Ints, Bools]:
    """(n,) pagelet of each row, -1 for several, its parent's if it has no text; whether it has all of a pagelet."""
    if not len(pagelet):
        return np.full(len(nodes), -1), np.zeros(len(nodes), np.bool_)
    first, last = nodes.first_leaf, nodes.last_leaf
    empty = first == last
    first = np.minimum(first, len(pagelet) - 1)
    changes = np.concatenate(([0], np.cumsum(pagelet[1:] != pagelet[:-1])))
    owner = np.where(changes[first] == changes[last - 1], pagelet[first], -1)
    whole = ~empty & (owner >= 0) & (last - first == np.bincount(pagelet)[pagelet[first]])
    above = np.where(empty, nodes.parent, np.arange(len(nodes)))
    while empty[above].any():
        above = above[above]
    return owner[above], whole


def _exact(page: Page, owner: Ints, whole: Bools, row: Ints, word: Ints, p: int) -> Ints:
    """(p,) hash of the tokens of each pagelet with their positions; in each row tags, then link paths, then words."""
    nodes = page.nodes
    tags = np.flatnonzero((nodes.tag != TEXT) & (owner >= 0) & ~whole)
    links = np.flatnonzero(owner[nodes.links.row] >= 0)
    rows = np.concatenate((tags, nodes.links.row[links], row))
    token = np.concatenate((_TAG_TOKENS[nodes.tag[tags]], _link_tokens(page)[links], word))
    order = np.lexsort((rows, owner[rows]))
    owners = owner[rows][order]
    starts = np.searchsorted(owners, np.arange(p + 1))
    position = np.arange(len(order)) - starts[owners]
    sums = np.concatenate(([0], np.cumsum(mix(token[order] + position * _POSITION))))
    return mix(sums[starts[1:]] - sums[starts[:-1]])


def _link_tokens(page: Page) -> Ints:
    """(links,) hash of the path of each link; links within the page (``#top``) have the same hash on every page."""
    links = page.nodes.links
    own = (href.lstrip()[:1] in ("", "#") for href in links.href)
    tokens = (_SELF if same else _path_token(target) for same, target in zip(own, links.target, strict=True))
    return np.fromiter(tokens, np.int64, len(links.row))


def _targets(page: Page, owner: Ints, p: int) -> Ints:
    """(p,) number of distinct pages other than this one to which each pagelet links."""
    links = page.nodes.links
    real = np.flatnonzero((links.key != 0) & (links.key != page.key) & (owner[links.row] >= 0))
    owners, _ = np.unique((owner[links.row[real]], links.key[real]), axis=1)
    return np.bincount(owners, minlength=p)


def _sketches(token: Ints, pagelet: Ints, p: int) -> Ints:
    """(p, 16) the smallest hash in each of 16 bins, over the hashes of the 4-word sequences."""
    order = np.argsort(pagelet, kind="stable")
    token, pagelet = token[order], pagelet[order]
    t = len(token)
    start = np.ones(t, np.bool_)
    start[1:] = pagelet[1:] != pagelet[:-1]
    hashes, complete = mix(token), np.zeros(t, np.bool_)
    for step in range(1, WINDOW):
        inside = np.zeros(t, np.bool_)
        inside[: max(0, t - step)] = pagelet[step:] == pagelet[: max(0, t - step)]
        hashes = mix(hashes * 31 + np.where(inside, np.roll(token, -step), 0))
        complete = inside
    # A pagelet with fewer words than a window has one window.
    kept = complete | start
    hashes = hashes[kept]
    bins = (hashes >> 60) & (VALUES - 1)
    table = np.full((p, VALUES), _EMPTY)
    np.minimum.at(table.reshape(-1), pagelet[kept] * VALUES + bins, hashes & (_EMPTY - 1))
    lender = _PROBES[np.arange(VALUES), (table != _EMPTY)[:, _PROBES].argmax(2)]
    return np.take_along_axis(table, lender, 1) % _EMPTY


give("shingles", LONGEST_WORD=_LONGEST_WORD, GRAM=_GRAM, token_hashes=token_hashes)
