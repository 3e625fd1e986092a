"""The fields of the feed that follow from a page and the decision about it, in crawls as in the corpus job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scrapy_pagelets.decision.decision import Decision
from scrapy_pagelets.document.blocks import ALL, Block, Switches
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunking import chunk_records
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.evidence.site_counts import PageClass
from scrapy_pagelets.feed.content_words import content_hash, content_of
from scrapy_pagelets.feed.pagelet import Pagelet
from scrapy_pagelets.page import text
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import CONTENT


def told(page: Page, decision: Decision, fetched_at: str) -> dict[str, Any]:
    """URL, title, heading, language, time of fetching, and what the page tells of itself."""
    return {
        "url": page.url,
        "title": page.title,
        "headline": decision.headline.text if decision.headline else None,
        "language": page.language,
        "fetched_at": fetched_at,
        **decision.metadata.fields,
    }


@dataclass(frozen=True, eq=False)
class PageContent:
    """What is left of a page, in the forms of the feed; the document is built once, when a form needs it.

    Attributes
    ----------
    page : the page
    decision : what of it is template
    switches : what the Markdown has beside text
    """

    page: Page
    decision: Decision
    switches: Switches = ALL

    @property
    def words(self) -> int:
        """Number of the words of the page."""
        return int(self.page.nodes.words.sum())

    @cached_property
    def kept(self) -> int:
        """Number of the words of the content."""
        return int(self.page.nodes.words[self.decision.content].sum())

    @cached_property
    def text(self) -> str:
        """The content as text."""
        return text.plain(self.page.nodes, self.decision.content)

    @cached_property
    def _document(self) -> Block:
        return document_of(self.page, self.decision.content, self.decision.headline, self.switches)

    def form(self, name: str) -> str:
        """The content as ``text``, ``markdown`` or ``html``."""
        match name:
            case "text":
                return self.text
            case "markdown":
                return markdown_of(self._document)
            case "html":
                return text.cleaned(self.page, self.decision.content)
        raise ValueError(f"there is no form {name!r}")

    def chunks(self, most: int, overlap: int, pagelets: Iterable[Pagelet]) -> list[dict[str, Any]]:
        """The chunks of the content, as records of the feed.

        Parameters
        ----------
        most, overlap : words of a chunk, and words that it has in common with the one before
        pagelets : of the page
        """
        number = {leaf: one.id for one in pagelets if one.role == CONTENT for leaf in one.index.tolist()}
        return chunk_records(self.page, self._document, self.decision.templateness, most, overlap, number)

    def template(self, page_class: PageClass | None) -> dict[str, Any] | None:
        """What was stripped, as a record of the feed; None for a page without a class."""
        if page_class is None:
            return None
        share = round((self.words - self.kept) / self.words, 3) if self.words else 0.0
        return {"id": page_class.id, "pages": page_class.pages, "share": share}

    @property
    def hash(self) -> str | None:
        """The field ``content_hash``; None without content."""
        return content_hash(content_of(self.page.nodes, self.decision.content))
