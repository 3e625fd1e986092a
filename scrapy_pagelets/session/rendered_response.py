"""The response of a page that was rendered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scrapy.http import HtmlResponse

from scrapy_pagelets.rendering.snapshot import Frame

#: Request meta: what a browser has made of a page that is handed over already.
FRAMES: Final = "_pagelets_frames"


class RenderedResponse(HtmlResponse):
    """A response as it was received, with what a browser has made of it: copies of it keep that.

    Attributes
    ----------
    frames : for `scrapy_pagelets.rendering.snapshot.page_of`
    """

    attributes = (*HtmlResponse.attributes, "frames")

    def __init__(self, *args: Any, frames: Sequence[Frame] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.frames = tuple(frames)
