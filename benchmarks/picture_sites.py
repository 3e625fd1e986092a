"""Two small sites of our own, a shop and a newspaper, for pictures that may be shown: their licence is ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent
#: Pages that each page has links to.
_LINKS = 4


def write(folder: Path, name: str) -> str:
    """Write a site, and return the file name of a page to show.

    Parameters
    ----------
    folder : is made
    name : ``shop`` or ``news``
    """
    look = Template((FOLDER / f"picture_{name}.html").read_text(encoding="utf-8"))
    pages = json.loads((FOLDER / "picture_sites.json").read_text(encoding="utf-8"))[name]
    names = [page["name"] for page in pages]
    folder.mkdir()
    for number, page in enumerate(pages):
        written = look.substitute(page, others="\n".join(_links(names, number)))
        (folder / _file(page["name"])).write_text(written, encoding="utf-8")
    return _file(names[1])


def _links(names: Sequence[str], own: int) -> Iterator[str]:
    for step in range(1, _LINKS + 1):
        name = names[(own + step) % len(names)]
        yield f'<a href="{_file(name)}">{name}</a>'


def _file(name: str) -> str:
    return f"{name.lower().replace(',', '').replace(' ', '-')}.html"
