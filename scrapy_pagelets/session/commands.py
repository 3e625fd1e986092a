"""Commands of Scrapy that load single pages."""

from __future__ import annotations

from typing import Final

from scrapy.crawler import Crawler
from scrapy.utils.spider import DefaultSpider

_COMMANDS: Final = "scrapy.commands."


def is_for_single_pages(crawler: Crawler) -> bool:
    """Return True if a command shows or checks single pages: ``shell``, ``fetch``, ``view``, ``parse``, ``check``.

    These commands have no spider, or put their own requests in the place of those with which a spider starts.
    """
    spider = crawler.spider
    if spider is None or isinstance(spider, DefaultSpider):
        return True
    return type(spider).start.__module__.startswith(_COMMANDS)
