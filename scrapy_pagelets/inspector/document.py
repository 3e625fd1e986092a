"""Write the inspector: one HTML file that loads nothing and runs nothing but its own script."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any, Final

#: Only the script and the style sheet of this file, by their hashes, and pictures that are in it.
_POLICY: Final = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
)


def document(contents: dict[str, Any], picture: bytes = b"") -> str:
    """The HTML file.

    Nothing in ``contents`` is written as HTML: it is JSON in an element that browsers do not run, from which the script
    makes texts.

    Parameters
    ----------
    contents : see `contents.contents`
    picture : the page as a browser shows it, JPEG; empty if it was not rendered
    """
    style, script = (_file(name) for name in ("inspector.css", "inspector.js"))
    return Template(_file("inspector.html")).substitute(
        policy=_POLICY.format(style=_hash(style), script=_hash(script)),
        style=style,
        script=script,
        data=_json(contents),
        picture=f"data:image/jpeg;base64,{b64encode(picture).decode()}" if picture else "",
    )


def _json(value: dict[str, Any]) -> str:
    """JSON that contains no tag, comment or entity for a parser of HTML."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return files("scrapy_pagelets.inspector").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
