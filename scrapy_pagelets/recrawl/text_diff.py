"""The changes between two versions of a text, in short lines for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from scrapy_pagelets.base.characters import WORD
from scrapy_pagelets.base.display import shortened

#: Lines of each version that are compared. With more, the first of those that differ are.
_MOST_LINES: Final = 2_000
#: Words, marks and spaces of two passages that are compared one by one; the time grows with the cube at worst.
_MOST_PIECES: Final = 600
#: Passages that have less in common than this are shown one after the other.
_ALIKE: Final = 0.4
#: Lines are cut to this length, and what two passages have in common to this length on either side of a change.
_SHOWN: Final = 160
_CONTEXT: Final = 30
_PIECE: Final = re.compile(rf"{WORD.pattern}|\s+|.")


def changes(old: str, new: str) -> Iterator[str]:
    r"""Yield the passages that differ: ``- `` what is gone, ``+ `` what is new, ``~ `` what has changed within.

    White space does not count, except that each line is compared by itself.

    >>> old, new = "Opening hours\n\nWe open at nine.", "Opening hours\n\nWe open at ten.\n\nCome in!"
    >>> print("\n".join(changes(old, new)))
    ~ We open at [-nine-]{+ten+}.
    + Come in!
    """
    one, other = _lines(old), _lines(new)
    start, end = common_ends(one, other)
    one, other = one[start : len(one) - end][:_MOST_LINES], other[start : len(other) - end][:_MOST_LINES]
    for kind, a, b, c, d in SequenceMatcher(None, one, other).get_opcodes():
        if kind != "equal":
            yield from _passage(one[a:b], other[c:d])


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def common_ends(one: list[str], other: list[str]) -> tuple[int, int]:
    """Return how many elements two lists have in common at their beginning, and at the end of the rest."""
    shorter = min(len(one), len(other))
    start = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    end = next((i for i in range(shorter - start) if one[-1 - i] != other[-1 - i]), shorter - start)
    return start, end


def _passage(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the changes of some lines that others have replaced: in pairs, as far as these are alike."""
    pairs = min(len(old), len(new))
    for before, after in zip(old[:pairs], new[:pairs], strict=True):
        yield from _line(before, after)
    yield from (f"- {shortened(line, _SHOWN)}" for line in old[pairs:])
    yield from (f"+ {shortened(line, _SHOWN)}" for line in new[pairs:])


def _line(old: str, new: str) -> Iterator[str]:
    one, other = _PIECE.findall(old), _PIECE.findall(new)
    start, end = common_ends(one, other)
    middle, changed = one[start : len(one) - end], other[start : len(other) - end]
    if len(middle) + len(changed) <= _MOST_PIECES:
        found = SequenceMatcher(None, middle, changed, autojunk=False)
        common = start + end + sum(block.size for block in found.get_matching_blocks())
        if 2 * common >= _ALIKE * (len(one) + len(other)):
            before, after = "".join(one[:start]), "".join(one[len(one) - end :])
            yield f"~ {_context(before, first=True)}{_marked(found, middle, changed)}{_context(after, last=True)}"
            return
    yield f"- {shortened(old, _SHOWN)}"
    yield f"+ {shortened(new, _SHOWN)}"


def _marked(found: SequenceMatcher[str], old: list[str], new: list[str]) -> str:
    """What has changed within a line, and a part of what has not."""
    parts = []
    for kind, a, b, c, d in found.get_opcodes():
        gone, added = "".join(old[a:b]), "".join(new[c:d])
        if kind == "equal":
            parts.append(_context(gone))
        else:
            parts += (
                f"[-{shortened(gone, _SHOWN)}-]" if gone else "",
                f"{{+{shortened(added, _SHOWN)}+}}" if added else "",
            )
    return "".join(parts)


def _context(text: str, *, first: bool = False, last: bool = False) -> str:
    before, after = text[: 0 if first else _CONTEXT], text[len(text) if last else max(0, len(text) - _CONTEXT) :]
    return text if len(before) + len(after) >= len(text) else f"{before}...{after}"
