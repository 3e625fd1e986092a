"""What a crawl has learnt, in the log."""

from __future__ import annotations

import logging
from typing import Final, Self

from scrapy import signals
from scrapy.crawler import Crawler

from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.templates.detection.incremental import RepeatedPagelets

logger = logging.getLogger(__name__)

#: A line of progress each so many items.
_EVERY: Final = 500


class SiteReport:
    """A progress line each 500 items, and a line a site when the spider closes."""

    def __init__(self, crawler: Crawler) -> None:
        self.session = session_of(crawler)
        self._items = 0
        crawler.signals.connect(self.item_scraped, signals.item_scraped)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def item_scraped(self) -> None:
        self._items += 1
        if self._items % _EVERY == 0:
            logger.info("%d items, %d %% of the words were template", self._items, self._share())

    def spider_closed(self) -> None:
        sites = self.session.sites.about()
        for name, pages, templates in sites:
            logger.info("%s: %d pages, %d classes of pages", name, pages, templates)
            if pages == 1:
                sentence = "%s: one page alone does not tell its template, what was stripped is a guess"
                self.session.tell("sites/of_one_page", sentence, name)
        self.session.count("sites", len(sites))
        self.session.count("templates", sum(templates for _, _, templates in sites))
        if self.session.shared is not None:
            self._tell_of(self.session.shared)

    def _tell_of(self, shared: RepeatedPagelets) -> None:
        for shares in shared.about():
            logger.info("%s: of %d pagelets %d repeat on the site, %d on pages that link each other", *shares[:4])
            for name in ("pagelets", "local", "linked", "near"):
                self.session.count(f"detection/{name}", getattr(shares, name))
        for sisters in shared.sisters():
            logger.info("%s and %s link each other and have %d templates in common", *sisters)
            self.session.count("detection/sisters")
        if shared.full:
            self.session.tell(
                "detection/full", "There are more pagelets than can be counted: the last pages are missing"
            )

    def _share(self) -> int:
        stats = self.session.stats
        words = stats.get_value("pagelets/words", 0) if stats is not None else 0
        return round(100 * stats.get_value("pagelets/words/template", 0) / words) if stats is not None and words else 0
