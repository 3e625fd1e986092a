"""A callback for the moment when a spider begins to close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.spider import DefaultSpider


def before_closing(crawler: Crawler, callback: Callable[[], None]) -> None:
    """Call a function as soon as a spider begins to close, for whatever reason.

    Scrapy waits for pending responses before it sends ``spider_closed``, and has no earlier signal to release responses
    that are waiting themselves. Therefore this wraps the public method of the engine.
    """

    def spider_opened() -> None:
        engine: Any = crawler.engine
        close = engine.close_spider_async

        async def close_spider_async(**kwargs: Any) -> None:
            callback()
            await close(**kwargs)

        engine.close_spider_async = close_spider_async

    # Scrapy's default is a weak reference, which would not outlive this function.
    crawler.signals.connect(spider_opened, signals.spider_opened, weak=False)


_COMMANDS: Final = "scrapy.commands."


def is_for_single_pages(crawler: Crawler) -> bool:
    """Return True if a command shows or checks single pages: ``shell``, ``fetch``, ``view``, ``parse``, ``check``.

    These commands have no spider, or put their own requests in the place of those with which a spider starts.
    """
    spider = crawler.spider
    if spider is None or isinstance(spider, DefaultSpider):
        return True
    return type(spider).start.__module__.startswith(_COMMANDS)
