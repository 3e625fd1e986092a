"""Other tools that extract the content of a page, as functions from the bytes of a page to its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from w3lib.encoding import html_to_unicode

Extract = Callable[[bytes], str]
#: URL and body of each page of a site.
Pages = Sequence[tuple[str, bytes]]
_ADDRESS = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s[^()]*)?\)")


def trafilatura() -> Extract:
    """Return trafilatura with its default settings."""
    from trafilatura import extract

    return lambda body: extract(body) or ""


def trafilatura_fast() -> Extract:
    """Return trafilatura without its fallbacks."""
    from trafilatura import extract

    return lambda body: extract(body, fast=True) or ""


def readability() -> Extract:
    """Return readability-lxml, which gives HTML; its text is that of the elements."""
    from lxml import html
    from readability import Document

    return lambda body: " ".join(html.fromstring(Document(body).summary() or "<p/>").itertext())


def justext() -> Extract:
    """Return jusText with the stop words of English."""
    from justext import get_stoplist
    from justext import justext as paragraphs_of

    stop_words = get_stoplist("English")
    return lambda body: "\n".join(p.text for p in paragraphs_of(body, stop_words) if not p.is_boilerplate)


def boilerpy() -> Extract:
    """Return BoilerPy3 with the extractor for articles."""
    from boilerpy3.extractors import ArticleExtractor

    extractor = ArticleExtractor(raise_on_failure=False)
    return lambda body: str(extractor.get_content(body.decode("utf-8", "replace")))


def turbohtml() -> Extract:
    """Return the article extractor of turbohtml."""
    from turbohtml import parse

    def content(body: bytes) -> str:
        article = parse(body).article()
        return str(article.text or "") if article else ""

    return content


def resiliparse() -> Extract:
    """Return Resiliparse, which extracts the main content only."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import detect_encoding
    from resiliparse.parse.html import HTMLTree

    def content(body: bytes) -> str:
        tree = HTMLTree.parse_from_bytes(body, detect_encoding(body, from_html_meta=True))
        return str(extract_plain_text(tree, main_content=True))

    return content


def deboiler(pages: Pages = ()) -> Extract:
    """Return deboiler, which removes the elements that pages of a site share, fitted to the pages of a site."""
    from deboiler import Deboiler
    from deboiler.dataset import ListDataset
    from deboiler.models.page import RawPage

    records = [{"url": url, "content": body} for url, body in pages]
    tool = Deboiler(verbose=False)
    tool.fit(ListDataset(records, status_key=None, content_type_key=None, verbose=False))
    return lambda body: str(tool.transform_parsed_page(RawPage("", body).parse()).cleaned_text)


def rdtextract(pages: Pages = ()) -> Extract:
    """Return RDTextract, which removes what the pages of a site repeat from their Markdown."""
    from rdtextract import extract_site

    texts = extract_site([unicode(body) for _, body in pages])
    return _by_body(pages, texts)


def winnow(pages: Pages = ()) -> Extract:
    """Return html-to-markdown with winnow-md, which removes template from the Markdown of the pages of a site."""
    from html_to_markdown import convert
    from winnow import Winnow

    written = [(convert(unicode(body)).content or "", url) for url, body in pages]
    return _by_body(pages, [result.markdown for result in Winnow().clean_many(written)])


def unicode(body: bytes) -> str:
    """Decode a page as browsers do."""
    return str(html_to_unicode(None, body)[1])


def _by_body(pages: Pages, written: Sequence[str]) -> Extract:
    """Return the Markdown of a page, without the addresses of its links."""
    texts = {body: _ADDRESS.sub("]", text) for (_, body), text in zip(pages, written, strict=True)}
    return texts.__getitem__


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


def html_to_markdown() -> Extract:
    """Return html-to-markdown with its strongest cleaning of the page."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, PreprocessingPreset, convert

    cleaning = PreprocessingOptions(enabled=True, preset=PreprocessingPreset.AGGRESSIVE, remove_navigation=True)
    options = ConversionOptions(preprocessing=cleaning)
    return lambda body: str(convert(body.decode("utf-8", "replace"), options).content)


#: Functions that import a tool and return it, by name.
PEERS: dict[str, Callable[[], Extract]] = {"trafilatura": trafilatura, "resiliparse": resiliparse}
#: Those whose speed is compared.
FAST_AND_SLOW: dict[str, Callable[[], Extract]] = {
    **PEERS,
    "trafilatura, fast": trafilatura_fast,
    "readability-lxml": readability,
    "jusText": justext,
    "BoilerPy3": boilerpy,
    "turbohtml": turbohtml,
}
#: Those that learn the pages of a site first.
OF_SITES: dict[str, Callable[[Pages], Extract]] = {
    "deboiler": deboiler,
    "RDTextract": rdtextract,
    "winnow-md": winnow,
}
#: Those that write Markdown.
WRITERS: dict[str, Callable[[], Extract]] = {
    "trafilatura": trafilatura_markdown,
    "html-to-markdown": html_to_markdown,
    "markdownify": markdownify,
}


def is_installed(name: str, among: Mapping[str, Callable[..., Extract]] = PEERS) -> bool:
    """Whether a tool can be imported; says so if it cannot."""
    try:
        among[name]()
    except ImportError as error:
        print(f"{name} is left out; install it to compare with it ({error})\n")
        return False
    return True
