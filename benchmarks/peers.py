"""Other tools that extract the content of a page, as functions from the bytes of a page to its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


def trafilatura_markdown() -> Extract:
    """Return trafilatura with everything that its Markdown can have."""
    from trafilatura import extract

    return lambda body: (
        extract(
            body,
            output_format="markdown",
            include_formatting=True,
            include_links=True,
            include_images=True,
            include_tables=True,
            favor_recall=True,
        )
        or ""
    )


def markdownify() -> Extract:
    """Return markdownify, which converts the whole page."""
    from lxml import html
    from markdownify import markdownify as convert

    def content(body: bytes) -> str:
        tree = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8", huge_tree=True))
        for unseen in tree.xpath("//head|//script|//style|//noscript|//template"):
            unseen.drop_tree()
        return str(convert(html.tostring(tree, encoding="unicode"), heading_style="ATX"))

    return content


#: Functions that import a tool and return it, by name.
PEERS: dict[str, Callable[[], Extract]] = {"trafilatura": trafilatura, "resiliparse": resiliparse}
#: Those that write Markdown.
WRITERS: dict[str, Callable[[], Extract]] = {"trafilatura": trafilatura_markdown, "markdownify": markdownify}


def is_installed(name: str, among: Mapping[str, Callable[[], Extract]] = PEERS) -> bool:
    """Whether a tool can be imported; says so if it cannot."""
    try:
        among[name]()
    except ImportError as error:
        print(f"{name} is left out; install it to compare with it ({error})\n")
        return False
    return True
