"""Pages as compressed HTML, to be compared with pages that come later."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Self

from lxml import etree

from scrapy_pagelets.page.page import Page


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page that can be stored and parsed again.

    Attributes
    ----------
    url : its URL
    markup : its tree as compressed HTML
    """

    url: str
    markup: bytes = field(repr=False)

    @classmethod
    def of(cls, page: Page) -> Self:
        """Compress a page."""
        markup: bytes = etree.tostring(page.root, encoding="utf-8", method="html")
        return cls(page.url, zlib.compress(markup, 1))

    def page(self) -> Page:
        """Parse the page again."""
        return Page.parse(zlib.decompress(self.markup), self.url, "text/html; charset=utf-8")
