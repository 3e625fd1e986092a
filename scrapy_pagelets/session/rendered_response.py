"""The response of a page that was rendered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scrapy.http import HtmlResponse

from scrapy_pagelets.rendering.snapshot import Frame

#: Request meta: the frames of a handed-over page that was rendered when it was loaded for a template.
FRAMES: Final = "_pagelets_frames"


class RenderedResponse(HtmlResponse):
    """A response as it was received, with its rendered frames; copies keep them.

    Attributes
    ----------
    frames : rendered frames, see `scrapy_pagelets.rendering.snapshot.page_of`
    """

    attributes = (*HtmlResponse.attributes, "frames")

    def __init__(self, *args: Any, frames: Sequence[Frame] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.frames = tuple(frames)
