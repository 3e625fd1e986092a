"""Other tools that extract the content of a page, as functions from the bytes of a page to its text."""

from __future__ import annotations

from collections.abc import Callable

Extract = Callable[[bytes], str]


def trafilatura() -> Extract:
    """Return trafilatura with its default settings."""
    from trafilatura import extract

    return lambda body: extract(body) or ""


def resiliparse() -> Extract:
    """Return Resiliparse, which extracts the main content only."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import detect_encoding
    from resiliparse.parse.html import HTMLTree

    def content(body: bytes) -> str:
        tree = HTMLTree.parse_from_bytes(body, detect_encoding(body, from_html_meta=True))
        return str(extract_plain_text(tree, main_content=True))

    return content


#: Functions that import a tool and return it, by name.
PEERS: dict[str, Callable[[], Extract]] = {"trafilatura": trafilatura, "resiliparse": resiliparse}


def is_installed(name: str) -> bool:
    """Whether a tool can be imported; says so if it cannot."""
    try:
        PEERS[name]()
    except ImportError as error:
        print(f"{name} is left out; install it to compare with it ({error})\n")
        return False
    return True
