"""Writing to items of any kind."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter

from scrapy_pagelets.middlewares.state import State

logger = logging.getLogger(__name__)


class Fields:
    """Set fields of the feed on items of any type, under the names that ``PAGELETS_FIELDS`` gives them.

    An item without the field is left as it is, and counted in ``pagelets/fields/missing``; a value of the spider that
    is replaced is counted in ``pagelets/fields/replaced``. The first case of each is a warning.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._warned: set[tuple[str, type, str]] = set()

    def put(self, item: Any, name: str, value: Any, *, keep: bool = False) -> None:
        """Set a field.

        Parameters
        ----------
        keep : leave what the spider has put there
        """
        field = self.state.config.field_name(name)
        if field is None:
            return
        if not ItemAdapter.is_item(item):
            self._tell("missing", item, field, "is no item for Scrapy: yield a dict, dataclass, attrs class or Item")
            return
        adapter = ItemAdapter(item)
        before = adapter.get(field)
        if keep and before not in (None, ""):
            return
        try:
            adapter[field] = value
        except (KeyError, AttributeError, TypeError, ValueError):
            self._tell("missing", item, field, "has no such field, or does not take what we have: change it")
            return
        if before and before != value:
            self._tell("replaced", item, field, "had a value there, which was replaced: name its field otherwise")

    def _tell(self, case: str, item: Any, field: str, what: str) -> None:
        self.state.count(f"fields/{case}")
        kind = type(item)
        if (case, kind, field) not in self._warned:
            self._warned.add((case, kind, field))
            logger.warning(
                "Field %r: %s %s, or give ours another name or None in PAGELETS_FIELDS", field, kind.__name__, what
            )
