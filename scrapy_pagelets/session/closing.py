"""The beginning of a crawl's end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler


def before_closing(crawler: Crawler, callback: Callable[[], None]) -> None:
    """Call back as soon as a spider begins to close, whatever closes it.

    Scrapy waits for the responses on their way before it sends ``spider_closed``, and has no signal for what they may
    be waiting for. So the engine's public method is wrapped.
    """

    def spider_opened() -> None:
        engine: Any = crawler.engine
        close = engine.close_spider_async

        async def close_spider_async(**kwargs: Any) -> None:
            callback()
            await close(**kwargs)

        engine.close_spider_async = close_spider_async

    # A weak reference would end with this function.
    crawler.signals.connect(spider_opened, signals.spider_opened, weak=False)
