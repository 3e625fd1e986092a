"""The one line that switches everything on."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_pagelets.session.config import focused

_COMPONENTS: Final = {
    "DOWNLOADER_MIDDLEWARES": {
        # Before anybody who could send them out.
        "scrapy_pagelets.middlewares.archived.ArchivedMiddleware": 10,
        # Nearer to the engine than retries, redirects and decompression: they see pages as the spider does.
        "scrapy_pagelets.middlewares.subdigraph.MenuSubdigraphMiddleware": 545,
        # Before the subdigraph sees them.
        "scrapy_pagelets.middlewares.rendering.RenderingMiddleware": 546,
        # Before robots.txt of a forbidden address is asked for.
        "scrapy_pagelets.middlewares.addresses.AddressMiddleware": 90,
        # Behind all that change a request, before those that count it or answer it from a cache.
        "scrapy_pagelets.middlewares.handover.HandoverMiddleware": 845,
    },
    # Nearer to the engine than what drops requests: links are weighed for those that are left.
    "SPIDER_MIDDLEWARES": {"scrapy_pagelets.middlewares.priority.PriorityMiddleware": 75},
    "ITEM_PIPELINES": {
        "scrapy_pagelets.pipelines.segment.SegmentPipeline": 100,
        "scrapy_pagelets.pipelines.strip.StripPipeline": 200,
        "scrapy_pagelets.pipelines.duplicates.DuplicatesPipeline": 300,
        "scrapy_pagelets.pipelines.index.IndexPipeline": 400,
    },
    "EXTENSIONS": {"scrapy_pagelets.crawler.extensions.SiteReport": 500},
}
#: Of all requests the first one by priority. Scrapy's default lets sites take turns, whatever their requests are worth.
_QUEUE: Final = "scrapy.pqueues.ScrapyPriorityQueue"
#: Scrapy's extensions that write feeds and the state of a spider, and those that say what they could not write.
_EXTENSIONS: Final = {
    "scrapy.extensions.feedexport.FeedExporter": "scrapy_pagelets.crawler.feed_export.Feeds",
    "scrapy.extensions.spiderstate.SpiderState": "scrapy_pagelets.crawler.jobs.JobState",
}
#: Scrapy's scheduler and its queues on disk, and those that do with a full disk.
_JOBS: Final = {
    "SCHEDULER": ("scrapy.core.scheduler.Scheduler", "scrapy_pagelets.crawler.jobs.JobScheduler"),
    "SCHEDULER_START_DISK_QUEUE": (
        "scrapy.squeues.PickleFifoDiskQueue",
        "scrapy_pagelets.crawler.jobs.WholeFifoQueue",
    ),
    "SCHEDULER_DISK_QUEUE": ("scrapy.squeues.PickleLifoDiskQueue", "scrapy_pagelets.crawler.jobs.WholeLifoQueue"),
}
_PARQUET: Final = "scrapy_pagelets.crawler.exporters.ParquetItemExporter"


class Addon:
    """Scrapy add-on: ``ADDONS = {"scrapy_pagelets.Addon": 500}`` in a project's settings.

    Any part is switched off by ``None`` as its priority in the project's own component dictionary.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Put the components in place, as defaults: the project's own settings win."""
        for setting, components in _COMPONENTS.items():
            for path, priority in components.items():
                settings.setdefault_in_component_priority_dict(setting, load_object(path), priority)
        given = set(map(load_object, settings.getdict("EXTENSIONS")))
        for theirs, ours in _EXTENSIONS.items():
            if (extension := load_object(theirs)) not in given:  # else the project has its own mind about it
                with suppress(KeyError):
                    settings.replace_in_component_priority_dict("EXTENSIONS_BASE", extension, load_object(ours))
        if settings.get("JOBDIR"):
            for setting, (theirs, ours) in _JOBS.items():
                if settings.get(setting) == theirs:
                    settings.set(setting, ours, "addon")
        if focused(settings):
            settings.set("SCHEDULER_PRIORITY_QUEUE", _QUEUE, "addon")
        exporters = settings.getdict("FEED_EXPORTERS")
        exporters.setdefault("parquet", _PARQUET)
        settings.set("FEED_EXPORTERS", exporters, settings.getpriority("FEED_EXPORTERS") or 0)
