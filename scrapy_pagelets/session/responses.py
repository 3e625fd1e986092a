"""Responses: which of them are pages."""

from __future__ import annotations

from typing import TypeGuard

from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.archives.sniffing import other_type


def is_html(response: Response) -> TypeGuard[HtmlResponse]:
    """Return True for a response that is labelled HTML and is not something else by its first bytes."""
    return isinstance(response, HtmlResponse) and not other_type(response.body)
