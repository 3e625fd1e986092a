"""Items of one list and cells of one row are decided together where the passes are in doubt."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.core import give
from scrapy_pagelets.core.small_corrections import decided_together as decided_together
from scrapy_pagelets.page.nodes import TAG, TAGS
from scrapy_pagelets.page.roles import THRESHOLD

#: Elements of text. Those of layout stand beside each other and have nothing in common: a text, and what is beside it.
_NAMES: Final = "li tr td th dt dd a span b i em strong code label small option time".split()
_IS_ITEM: Final = np.isin(np.arange(len(TAGS)), [TAG[name] for name in _NAMES if name in TAG])
#: Words of such an element, on average; longer ones have something to say of their own.
_SHORT: Final = 20
#: What a text without words weighs, such as a bullet.
_NO_WORD: Final = 0.01
#: Templateness between which a text is in doubt. What is lost weighs more than what is kept.
_DOUBT: Final = (0.3, 0.9)

give("small_corrections", IS_ITEM=_IS_ITEM, SHORT=_SHORT, NO_WORD=_NO_WORD, DOUBT=_DOUBT, THRESHOLD=THRESHOLD)
