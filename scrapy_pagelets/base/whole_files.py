"""Files that are there as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: Path, suffix: str = ".new") -> Iterator[Path]:
    """Give a path to write to; the file gets its name at the end, and is removed if an exception comes first.

    Parameters
    ----------
    suffix : of the name until then; if several processes write the file, each needs one of its own
    """
    new = path.with_name(path.name + suffix)
    try:
        yield new
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
