"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, name: str) -> str:
    """A number of things, in figures that are easy to read.

    Examples
    --------
    >>> counted(1, "page"), counted(31072, "page")
    ('1 page', '31,072 pages')
    """
    return f"{number:,} {name}{'' if number == 1 else 's'}"
