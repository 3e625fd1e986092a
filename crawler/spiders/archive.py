"""The spider ``archive``, which cleans pages of an earlier crawl."""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, Self, TypeVar

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_pagelets.archives.reader import BROKEN, ArchiveError, Reader, Record, expand, parts, records
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.spiders import start_pages
from scrapy_pagelets.crawler.spiders.archive_job import NUMBER, ArchiveJob
from scrapy_pagelets.evidence.complete_subdigraph import KnownSubdigraphs, LinkedPages
from scrapy_pagelets.middlewares.rendering import RenderingMiddleware
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import ETDM, FUSED
from scrapy_pagelets.session.crawl_session import abort_crawl, session_of
from scrapy_pagelets.session.page_context import context_of
from scrapy_pagelets.session.scrapy_hooks import before_scraper_closes, mark_failed
from scrapy_pagelets.session.threads import in_thread, in_thread_if_long, let_go

logger = logging.getLogger(__name__)

T = TypeVar("T")
_CUT: Final = "%s ends early, its body in the archive is cut off: what there is of it is cleaned"
_BATCH: Final = 32  # records read by one call in a thread
#: Bytes of the bodies of pages that stay in memory until they are cleaned; parsed, a page takes twenty times as much.
_KEPT: Final = 4_000_000
_RENDERING: Final = 8  # pages rendered at the same time


class ArchiveSpider(Spider):
    """Read pages from WARC files or folders: learn a site, then pass each of its pages on as an item.

    Sites that follow each other in the archive are cleaned one by one, others together, and so are all if pages are
    rendered or a method compares sites. Pages that do not stay in memory meanwhile are parsed twice; rendered ones are
    stored on disk. Nothing is fetched: resources come from the archive as well. Items come in its order, but pages
    whose canonical links lead to others come last. With ``JOBDIR``, a journal records each page whose line is written.
    Arguments (``-a name=value``): ``path``, a WARC file (plain, gzip or zstd), a glob, or a folder of WARC or HTML
    files; ``base``, which precedes the paths of HTML files below the folder in their URLs (default: ``file://``).
    """

    name = "archive"
    yields_blanks = True  # the pipelines fill blank fields of its items
    holds_first_pages = True  # a page is cleaned when all pages of its site are known
    job: ArchiveJob

    def __init__(self, path: str = "", base: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not path:
            raise ValueError("the spider archive needs a path: -a path=FILE, a glob in quotes, or a folder")
        start_pages.warn_of_unknown(kwargs, "path and base")
        self.path, self.base = path, start_pages.beginning("base", base)
        self.sources = expand(path)
        #: Number of pages, once all are learnt; bytes of the WARC files.
        self._pages = 0
        self._bytes = sum(map(_size, self.sources))
        self._is_closing = False
        self._passing: asyncio.Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        if not is_asyncio_available():
            abort_crawl(crawler, "the spider archive needs the asyncio reactor: leave TWISTED_REACTOR at its default")
        try:
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.job = ArchiveJob(crawler)
        except ValueError as error:
            abort_crawl(crawler, error)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.session = session_of(self.crawler)
        self.session.resources = Resources(self.sources, self.base)
        before_scraper_closes(self.crawler, self._end)
        config = self.session.config
        self._subdigraphs = KnownSubdigraphs(config.probe) if config.detection == ETDM else None
        self._kept: dict[tuple[str, int], HtmlResponse] = {}
        self._kept_bytes = 0
        self._copies: set[tuple[str, int]] = set()
        self._skipped: Counter[str] = Counter()
        if config.detection == FUSED and not config.render:
            await self._clean_by_parts()
        else:
            pages = await self._learn(self._records("learning", self._skipped))
            if self._subdigraphs is not None:
                await self._learn_subdigraphs(self._subdigraphs)
            if self._has_read(pages):
                await self._clean(self._copies_last(self._numbered()))
        if False:  # Scrapy wants an iterator
            yield

    def _has_read(self, pages: int) -> bool:
        """Tell what the archive has, now that it was read once; False if the crawl ends here."""
        if self._is_closing:
            return False
        self._pages = pages
        for reason, count in self._skipped.items():
            self.session.count(f"archive/skipped/{reason}", count)
        if not pages:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self._skipped.items()) or "it is empty"
            return self._refuse(f"{self.path} has no HTML page: {reasons}")
        if broken := sum(self._skipped[reason] for reason in BROKEN):
            self.session.record_loss("places of the archive are broken", "get its files again", broken)
        logger.info("%s in %s; cleaning them", counted(pages, "page"), counted(len(self.sources), "source"))
        try:
            self.job.begin()
        except ConfigError as error:
            return self._refuse(str(error))
        return True

    def _refuse(self, problem: str) -> bool:
        """End the crawl with an ERROR line and exit code 1."""
        self.session.count("start/failed")
        logger.error("%s", problem)
        self.crawler.signals.connect(mark_failed, signals.engine_stopped)
        return False

    async def _clean_by_parts(self) -> None:
        """Learn a part of the archive and clean it, then the next: what is known of other sites makes no difference."""
        sites = [urls.site_of(record.url) async for record in self._records("reading", self._skipped)]
        if not self._has_read(len(sites)):
            return
        lengths = parts(sites)
        learning = self._records("learning" if len(lengths) == 1 else None)
        cleaning = self._numbered()
        start = 0
        for length in lengths:
            if self.job.has(start, length):
                async for _ in _first(learning, length):
                    pass
            else:
                await self._learn(_first(learning, length))
            await self._clean(self._copies_last(_first(cleaning, length)))
            start += length

    async def _numbered(self) -> AsyncIterator[tuple[int, Record]]:
        number = 0
        async for record in self._records("cleaning"):
            yield number, record
            number += 1

    async def _copies_last(self, numbered: AsyncIterator[tuple[int, Record]]) -> AsyncIterator[tuple[int, Record]]:
        """The pages as they are compared: one with a canonical link to another is a copy of it, so it comes later."""
        last = []
        async for number, record in numbered:
            if (place := (record.source, record.offset)) in self._copies:
                self._copies.discard(place)
                last.append((number, *place))
            else:
                yield number, record
        with Reader(self.session.resources) as reader:
            for number, source, offset in last:
                try:
                    record = await in_thread(reader.read, source, offset, self.base)
                except ArchiveError as error:
                    self.session.warn("archive/skipped/unreadable", "%s", error)
                    self.session.record_loss("pages could not be read again", "clean the archive again")
                else:
                    yield number, record

    async def _end(self) -> None:
        """Read no further page, and wait for the item in the pipelines: the scraper does not know its response."""
        self._is_closing = True
        if self._passing is not None:
            await asyncio.wait({self._passing})

    async def _clean(self, numbered: AsyncIterator[tuple[int, Record]]) -> None:
        """Pass the pages to the pipelines one by one: scheduler and downloader would cost more than to clean them."""
        async for number, record in numbered:
            if self._is_closing:
                break
            if not self.job.has(number):
                await self._pass_on(await in_thread_if_long(len(record.body), self._cut, number, record))

    def _cut(self, number: int, record: Record) -> HtmlResponse | None:
        """The response of a page, which is cut for the pipelines; None if Scrapy does not accept its URL."""
        stored: Response | None = self._kept.pop((record.source, record.offset), None)
        if stored is not None:
            self._kept_bytes -= len(record.body)
        elif self.session.config.render:
            stored = self.session.responses.take(_token(record))
        response = stored if isinstance(stored, HtmlResponse) else _response(record)
        try:
            response.request = _request(record, number)
        except ValueError as error:
            self.session.warn("archive/skipped/no_url", "%s is skipped, its URL is invalid: %s", record.url, error)
            return None
        context = context_of(response, self.session)
        assert context is not None
        with suppress(Exception):  # the pipelines will meet it again, and report it
            context.record.cut()
        return response

    async def _pass_on(self, response: HtmlResponse | None) -> None:
        """Pass a page to the pipelines, and wait until they are done, even if the crawl is stopped meanwhile."""
        if response is None or self._is_closing:
            return
        self.crawler.signals.send_catch_log(
            signals.response_received, response=response, request=response.request, spider=self
        )
        item = self.session.config.blank_item(response.url)
        scraper = self.crawler.engine.scraper
        self._passing = asyncio.ensure_future(scraper.start_itemproc_async(item, response=response))
        await asyncio.shield(self._passing)
        let_go(response)

    async def _learn(self, all_records: AsyncIterator[Record]) -> int:
        """Learn every page, so that the first one is cleaned as well as the last; return the number of pages."""
        pages = 0
        rendering: set[asyncio.Task[None]] = set()
        while batch := [record async for record in _first(all_records, _BATCH)]:
            pages += len(batch)
            if not self.session.config.render:
                await in_thread(self._learn_pages, batch)
                continue
            for record in batch:
                rendering.add(asyncio.create_task(self._render(record)))
                if len(rendering) >= _RENDERING:
                    _, rendering = await asyncio.wait(rendering, return_when=asyncio.FIRST_COMPLETED)
        if rendering:
            await asyncio.wait(rendering)
        return pages

    def _learn_pages(self, batch: list[Record]) -> None:
        for record in batch:
            response = _response(record)
            try:
                self._learn_parsed(self.session.page(response), record)
            except Exception:
                self.session.failed(record.url)
                continue
            if self._kept_bytes + len(record.body) <= _KEPT:
                self._kept_bytes += len(record.body)
                self._kept[record.source, record.offset] = response

    def _learn_parsed(self, page: Page, record: Record) -> None:
        page_class = self.session.sites.learn(page)
        if self.session.config.duplicates != "off" and page.is_declared_copy:
            self._copies.add((record.source, record.offset))
        if self._subdigraphs is not None:
            self._subdigraphs.add(page, page_class)

    async def _learn_subdigraphs(self, subdigraphs: KnownSubdigraphs) -> None:
        waiting: dict[int, list[LinkedPages]] = {}
        for linked in await in_thread(list, subdigraphs.found()):
            for key in linked.missing:
                waiting.setdefault(key, []).append(linked)
        async for record in self._records(None):
            if sets := waiting.pop(urls.key(record.url), []):
                await in_thread(self._add_to_sets, record, sets)

    def _add_to_sets(self, record: Record, sets: Iterable[LinkedPages]) -> None:
        """Read a page again for some sets, and learn those that are complete with it."""
        page = None
        with suppress(Exception):  # it could not be learnt then: that was reported
            response = self.session.responses.read(_token(record)) if self.session.config.render else _response(record)
            assert isinstance(response, HtmlResponse)
            page = self.session.page(response)
        for linked in sets:
            if page is None or page.key not in linked.missing:
                linked.pages.clear()  # the set stays incomplete
                continue
            linked.missing.remove(page.key)
            linked.pages[page.key] = page
            if not linked.missing:
                key_page = linked.pages.pop(linked.key_page)
                others = list(linked.pages.values())
                self.session.sites.learn_set(key_page, others)
                self.session.progress.found(key_page.site, [page.url for page in (key_page, *others)])

    async def _render(self, record: Record) -> None:
        response: Response = _response(record)
        try:
            if (middleware := self.crawler.get_downloader_middleware(RenderingMiddleware)) is not None:
                response = await middleware.process_response(_request(record), response)
            assert isinstance(response, HtmlResponse)
            await in_thread(self._store_rendered, response, record)
        except ValueError:
            pass  # reported when it is cleaned
        except Exception:
            self.session.failed(record.url)

    def _store_rendered(self, response: HtmlResponse, record: Record) -> None:
        self.session.responses.put(_token(record), response)
        self._learn_parsed(self.session.page(response), record)

    async def _records(self, step: str | None, skipped: Counter[str] | None = None) -> AsyncIterator[Record]:
        """The pages of the archive in order, while the crawl goes on; ``skipped`` is None when they are read again."""
        done = bytes_before = 0
        for source in self.sources:
            log = logger.warning if skipped is not None else logger.debug
            all_records = records(source, self.base, skipped, log, self.session.resources)
            while not self._is_closing and (batch := await in_thread(list, islice(all_records, _BATCH))):
                for record in batch:
                    if skipped is not None:  # the first time that the archive is read
                        self.job.read(record)
                        if record.cut:
                            self.session.warn("pages/truncated", _CUT, record.url)
                    yield record
                done += len(batch)
                if step is not None:
                    read, whole = bytes_before + batch[-1].offset, self._bytes
                    share = done / self._pages if self._pages else read / whole if whole else None
                    self.session.progress.advance(step, done, share)
            bytes_before += _size(source)


async def _first(values: AsyncIterator[T], count: int) -> AsyncIterator[T]:
    while count and (value := await anext(values, None)) is not None:
        count -= 1
        yield value


def _response(record: Record) -> HtmlResponse:
    return HtmlResponse(record.url, headers=record.headers, body=record.body)


def _request(record: Record, number: int | None = None) -> Request:
    return Request(record.url, meta={"pagelets_fetched_at": record.fetched_at, NUMBER: number})


def _token(record: Record) -> str:
    return f"archived-{blake2b(f'{record.source}:{record.offset}'.encode(), digest_size=16).hexdigest()}"


def _size(source: str) -> int:
    """Bytes of a WARC file; 0 for a folder, whose files are not counted beforehand."""
    return os.path.getsize(source) if os.path.isfile(source) else 0
