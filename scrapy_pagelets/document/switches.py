"""What Markdown has beside text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Switches:
    """What the Markdown has beside text: ``PAGELETS_MARKDOWN``.

    Attributes
    ----------
    links, images, tables : whether they are written; the text of links and cells is in any case
    titles : whether links have their tooltips
    """

    links: bool = True
    images: bool = True
    tables: bool = True
    titles: bool = False


ALL: Final = Switches()
