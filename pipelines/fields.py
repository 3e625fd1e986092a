"""Writing to items of any kind."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter

from scrapy_pagelets.middlewares.state import State

logger = logging.getLogger(__name__)


class Fields:
    """Set fields of the feed on items of any type, under the names that ``PAGELETS_FIELDS`` gives them.

    An item type without the field is left as it is: a warning the first time, ``pagelets/fields/missing`` always.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._warned: set[tuple[type, str]] = set()

    def put(self, item: Any, name: str, value: Any, *, keep: bool = False) -> None:
        """Set a field.

        Parameters
        ----------
        keep : leave what the spider has put there
        """
        field = self.state.config.field_name(name)
        if field is None:
            return
        adapter = ItemAdapter(item)
        if keep and adapter.get(field) is not None:
            return
        try:
            adapter[field] = value
        except (KeyError, AttributeError):
            self._missing(item, field)

    def _missing(self, item: Any, field: str) -> None:
        self.state.count("fields/missing")
        if (type(item), field) not in self._warned:
            self._warned.add((type(item), field))
            logger.warning(
                "Items of type %s have no field %r: add it, or give it another name or None in PAGELETS_FIELDS", type(item).__name__, field
            )
