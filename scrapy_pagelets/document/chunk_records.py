"""The chunks of a page as records of the feed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.document.chunks import Chunk, chunks_of, tokens_of
from scrapy_pagelets.document.fragments import NamedPlaces
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import paths_of


def chunk_records(
    page: Page,
    document: Block,
    templateness: Floats,
    most: int,
    overlap: int = 0,
    pagelet: Mapping[int, int] | None = None,
) -> list[dict[str, Any]]:
    """Cut the document of a page into chunks, and write each as a record of the feed.

    Parameters
    ----------
    document, most, overlap, pagelet : as of `chunks_of`
    templateness : (m,) of each leaf of the page, 0 to 1

    Examples
    --------
    >>> from scrapy_pagelets.document.builder import document_of
    >>> page = Page.parse(b"<h1>Tea</h1><p>Boil it.<h2 id=milk>Milk</h2><p>Add it.", "http://example.com/")
    >>> document = document_of(page, np.ones(4, np.bool_))
    >>> for chunk in chunk_records(page, document, np.zeros(4), most=3):
    ...     print(chunk["url"], chunk["headings"], chunk["words"])
    http://example.com/ ['Tea'] 3
    http://example.com/#milk ['Tea', 'Milk'] 3
    """
    places = NamedPlaces(page, document)
    return [
        _record(page, number, chunk, templateness, places)
        for number, chunk in enumerate(chunks_of(document, most, overlap, pagelet))
    ]


def _record(page: Page, number: int, chunk: Chunk, templateness: Floats, places: NamedPlaces) -> dict[str, Any]:
    leaves = np.array(chunk.leaves, np.int64)
    markdown = chunk.markdown
    return {
        "id": number,
        "url": places.url(chunk.first),
        "headings": list(chunk.headings),
        "markdown": markdown,
        "xpaths": _xpaths(page, leaves),
        "words": chunk.words,
        "tokens": tokens_of(markdown),
        "templateness": round(_mean(page, leaves, templateness), 3),
    }


def _xpaths(page: Page, leaves: Ints) -> list[str]:
    """Paths of the fewest nodes with exactly these leaves; of a rendered page, in the page as received."""
    if page.source is None:
        return paths_of(page.nodes, leaves)
    received = page.received[leaves]
    return paths_of(page.source.nodes, received[received >= 0])


def _mean(page: Page, leaves: Ints, templateness: Floats) -> float:
    """Mean over the words of some leaves; 0 for pictures alone."""
    weights = np.maximum(page.nodes.words[leaves], 1)
    return float(np.average(templateness[leaves], weights=weights)) if len(leaves) else 0.0
