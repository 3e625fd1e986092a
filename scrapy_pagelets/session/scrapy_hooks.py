"""All patches and private names of Scrapy, which has no signal, argument or public name for what we need.

Each function of the table wraps one attribute of the objects of a crawl; the last one is of the class, for the whole
process. All have been the same from Scrapy 2.14 to 2.19. The wrapped method is always called, as are patches of others.

| function | what is wrapped | what Scrapy would need instead |
|---|---|---|
| `wrap_items` | ``engine.scraper.start_itemproc_async`` | item pipelines that get the response |
| `after_responses` | ``engine.scraper.slot.finish_response`` | a signal when a response and its items are through |
| `after_requests` | ``engine._slot.remove_request`` | a signal when the engine is through with a request |
| `before_closing` | ``engine.close_spider_async`` | a signal before the engine waits for responses |
| `before_scraper_closes` | ``engine.scraper.close_spider_async`` | a signal before the pipelines close |
| `without_selector` | ``response._cached_selector`` | a selector that does not keep its response |
| `mark_failed` | ``crawler.spider`` | a way to end ``scrapy crawl`` with exit code 1 |
| `before_options_are_checked` | ``ScrapyCommand.process_options`` | add-ons that are loaded before ``-o`` is checked |

Scrapy's command imports this module at each start, so it imports nothing slow.
"""

import argparse
from collections.abc import Awaitable, Callable, Sized
from typing import Any

from scrapy import Request, signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import Crawler
from scrapy.utils.spider import DefaultSpider

ProcessItem = Callable[..., Awaitable[None]]  # ``await process(item, response=response)`` passes an item on


def wrap_items(crawler: Crawler, process: ProcessItem) -> ProcessItem:
    """Call a function in the place of the scraper's method for items, and return that method.

    Scrapy passes items to the pipelines without their response. Only the scraper knows it reliably: a task inherits the
    context variables of the response that led to its request, and items of errbacks pass no spider middleware.
    """
    scraper = _engine(crawler).scraper
    wrapped: ProcessItem = scraper.start_itemproc_async
    scraper.start_itemproc_async = process
    return wrapped


def after_responses(crawler: Crawler, callback: Callable[[Any], None]) -> None:
    """Call a function with each response, or failure, of which the spider has yielded everything."""
    _call_after(_engine(crawler).scraper.slot, "finish_response", callback)


def after_requests(crawler: Crawler, callback: Callable[[Request], None]) -> None:
    """Call a function with each request that the engine is through with: its callback and its items are."""
    _call_after(_engine(crawler)._slot, "remove_request", callback)


def _call_after(slot: Any, name: str, callback: Callable[[Any], None]) -> None:
    """Call a function after a method of a slot, with the first argument of that."""
    method = getattr(slot, name)

    def wrapping(first: Any, *rest: Any) -> None:
        method(first, *rest)
        callback(first)

    setattr(slot, name, wrapping)


def before_closing(crawler: Crawler, callback: Callable[[], None]) -> None:
    """Call a function as soon as a spider begins to close, before Scrapy waits for pending responses."""

    def spider_opened() -> None:
        engine = _engine(crawler)
        close = engine.close_spider_async

        async def close_spider_async(**kwargs: Any) -> None:
            callback()
            await close(**kwargs)

        engine.close_spider_async = close_spider_async

    # Scrapy's default is a weak reference, which would not outlive this function.
    crawler.signals.connect(spider_opened, signals.spider_opened, weak=False)


def before_scraper_closes(crawler: Crawler, callback: Callable[[], Awaitable[None]]) -> None:
    """Wait for a function before the scraper closes, and with it the pipelines: it waits for responses only."""
    scraper = _engine(crawler).scraper
    close = scraper.close_spider_async

    async def close_spider_async() -> None:
        try:
            await callback()
        finally:
            await close()

    scraper.close_spider_async = close_spider_async


def without_selector(response: Any) -> Any:
    """Take the selector from a response, which makes another one when asked: the two are a cycle."""
    selector, response._cached_selector = response._cached_selector, None
    return selector


def mark_failed(sender: Crawler) -> None:
    """Let ``scrapy crawl`` end with exit code 1, as for a crawler without a spider; a handler of ``engine_stopped``."""
    sender.spider = None


def before_options_are_checked(callback: Callable[[ScrapyCommand, argparse.Namespace], None]) -> None:
    """Call a function with any command and its options, all of them read, before Scrapy checks ``-o`` and ``-O``."""
    process = ScrapyCommand.process_options

    def process_options(command: ScrapyCommand, args: list[str], options: argparse.Namespace) -> None:
        process(command, args, options)
        callback(command, options)

    ScrapyCommand.process_options = process_options  # type: ignore[method-assign, assignment]


def is_for_single_pages(crawler: Crawler) -> bool:
    """True if a command shows or checks single pages, and runs no spider: ``shell``, ``fetch``, ``view`` etc."""
    spider = crawler.spider
    if spider is None or isinstance(spider, DefaultSpider):
        return True
    return type(spider).start.__module__.startswith("scrapy.commands.")


def look_for_work(crawler: Crawler) -> None:
    """Let the engine ask for requests now, not only at its next heartbeat: it may have room for some, or be idle."""
    if (slot := _engine(crawler)._slot) is not None:
        slot.nextcall.schedule()


def is_starting(crawler: Crawler) -> bool:
    """True until the engine has taken the last start request of the spider."""
    return _engine(crawler)._start is not None


def number_waiting(crawler: Crawler) -> int:
    """Count the requests in the scheduler; 0 if it cannot tell, or is not open."""
    scheduler = getattr(getattr(crawler.engine, "_slot", None), "scheduler", None)
    return len(scheduler) if isinstance(scheduler, Sized) else 0


def _engine(crawler: Crawler) -> Any:
    return crawler.engine
