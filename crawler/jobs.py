"""Scrapy's scheduler, disk queues and spider state, made robust against a full disk."""

import json
import os
import shutil
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import IO, Any, Final, Self

from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.extensions.spiderstate import SpiderState
from scrapy.squeues import PickleFifoDiskQueue, PickleLifoDiskQueue
from scrapy.utils.job import job_dir

from scrapy_pagelets.session.crawl_session import abort_crawl, session_of

_REMEDY: Final = "make room on the disk and crawl again, with a new job directory"
#: Scrapy's priority queues, and the JSON type of what they save in `_SAVED`.
_SAVED: Final = "requests.queue/active.json"
_TYPES: Final = {"scrapy.pqueues.DownloaderAwarePriorityQueue": dict, "scrapy.pqueues.ScrapyPriorityQueue": list}
_ANOTHER_QUEUE: Final = (
    "the job in {} cannot be continued: its queue was saved by another SCHEDULER_PRIORITY_QUEUE. PAGELETS_TOPIC and "
    "PAGELETS_TOPIC_PAGES select it: set them as in the earlier run, or crawl again with a new JOBDIR"
)


class JobScheduler(Scheduler):
    """Scrapy's scheduler, but requests that cannot be written to the job directory stay in memory.

    The first one is a warning, the stat ``pagelets/scheduler/in_memory`` counts all. If the crawl is interrupted, they
    are lost, and an ERROR line says so.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        job = job_dir(crawler.settings)
        if job and _saved_by_another_queue(Path(job), crawler.settings["SCHEDULER_PRIORITY_QUEUE"]):
            abort_crawl(crawler, _ANOTHER_QUEUE.format(job))
        return super().from_crawler(crawler)

    def enqueue_request(self, request: Request) -> bool:
        try:
            return super().enqueue_request(request)
        except OSError as error:
            assert self.crawler is not None
            session = session_of(self.crawler)
            sentence = "requests cannot be written to the job directory and stay in memory: %s"
            session.warn("scheduler/in_memory", sentence, error)
        self.mqs.push(request)
        session.stats.inc_value("scheduler/enqueued/memory")
        session.stats.inc_value("scheduler/enqueued")
        return True

    def close(self, reason: str) -> Any:
        left, in_memory = len(self), len(self.mqs) if self.dqs is not None else 0
        try:
            return super().close(reason)
        except OSError:
            in_memory = left
            with suppress(OSError):
                self.df.close(reason)
        finally:
            if in_memory:
                assert self.crawler is not None
                session_of(self.crawler).record_loss("requests could not be kept for the next run", _REMEDY, in_memory)
        return None


class WholeLifoQueue(PickleLifoDiskQueue):  # type: ignore[valid-type,misc]
    """Scrapy's default disk queue, but nothing is buffered: each request is written wholly, or raises an OSError."""

    f: IO[bytes]

    def __init__(self, crawler: Crawler, key: str) -> None:
        try:
            super().__init__(crawler, key)
            self.f.close()
        except OSError:
            with suppress(OSError):
                if not os.path.getsize(key):  # just created: an empty file could not be opened again
                    Path(key).unlink()
            raise
        self.f = _Unbuffered(key, "rb+")

    def push(self, request: Request) -> None:
        end = self.f.seek(0, os.SEEK_END)
        try:
            super().push(request)
        except OSError:
            self.f.truncate(end)
            raise


class WholeFifoQueue(PickleFifoDiskQueue):  # type: ignore[valid-type,misc]
    """Scrapy's default disk queue of start requests, but an empty one can be closed on a full disk."""

    def close(self) -> None:
        if len(self):
            super().close()
            return
        self.headf.close()
        self.tailf.close()
        shutil.rmtree(self.path, ignore_errors=True)


class JobState(SpiderState):
    """Scrapy's extension that saves ``spider.state``, but a state that cannot be read or saved is only reported."""

    def spider_opened(self, spider: Spider) -> None:
        try:
            super().spider_opened(spider)
        except Exception as error:  # unpickling a damaged file can raise anything
            spider.state = {}  # type: ignore[attr-defined]
            sentence = "%s cannot be read, the spider starts with an empty state: %r"
            session_of(spider.crawler).warn("store/failed", sentence, self.statefn, error)

    def spider_closed(self, spider: Spider) -> None:
        try:
            super().spider_closed(spider)
        except OSError as error:
            with suppress(OSError):
                Path(self.statefn).unlink()
            session = session_of(spider.crawler)
            session.warn("store/failed", "%s cannot be written: %s", self.statefn, error)
            if getattr(spider, "state", None):
                session.record_loss("state of the spider could not be kept for the next run", _REMEDY)


def _saved_by_another_queue(job: Path, queue: object) -> bool:
    """True if an earlier run has left requests in a queue that this class of Scrapy cannot read."""
    try:
        saved = json.loads((job / _SAVED).read_bytes())
    except (OSError, ValueError):
        return False
    return bool(saved) and queue in _TYPES and not isinstance(saved, _TYPES[str(queue)])


class _Unbuffered(FileIO):
    """A file whose ``write`` writes everything immediately."""

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        while rest:
            rest = rest[super().write(rest) :]
        return len(data)
