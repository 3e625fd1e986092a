"""The Scrapy add-on that enables all components. Scrapy's command imports this module at each start."""

import argparse
from contextlib import suppress
from typing import Final

from scrapy.commands import ScrapyCommand
from scrapy.settings import BaseSettings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

_COMPONENTS: Final = {
    "DOWNLOADER_MIDDLEWARES": {
        # Closer to the engine than retries, redirects and decompression: both see pages as the spider does.
        "scrapy_pagelets.middlewares.subdigraph.MenuSubdigraphMiddleware": 545,
        # Renders responses before MenuSubdigraphMiddleware sees them.
        "scrapy_pagelets.middlewares.rendering.RenderingMiddleware": 546,
        # Before Scrapy downloads the robots.txt of a forbidden address.
        "scrapy_pagelets.middlewares.addresses.AddressMiddleware": 90,
        "scrapy_pagelets.middlewares.conditional.ConditionalMiddleware": 840,
        # After the middlewares that change requests, before those that count them or answer them from a cache.
        "scrapy_pagelets.middlewares.handover.HandoverMiddleware": 845,
    },
    # Closer to the engine than the middlewares that drop requests: only the remaining requests are scored.
    "SPIDER_MIDDLEWARES": {"scrapy_pagelets.middlewares.priority.PriorityMiddleware": 75},
    "ITEM_PIPELINES": {
        "scrapy_pagelets.pipelines.segment.SegmentPipeline": 100,
        "scrapy_pagelets.pipelines.strip.StripPipeline": 200,
        # Before near-duplicates are dropped: what becomes of their pages is kept as well.
        "scrapy_pagelets.pipelines.templates.TemplatesPipeline": 210,
        "scrapy_pagelets.pipelines.recrawl.RecrawlPipeline": 220,
        "scrapy_pagelets.pipelines.duplicates.DuplicatesPipeline": 300,
        "scrapy_pagelets.pipelines.index.IndexPipeline": 400,
    },
    "EXTENSIONS": {
        "scrapy_pagelets.crawler.extensions.SiteReport": 500,
        "scrapy_pagelets.crawler.extensions.Preparation": 500,
        "scrapy_pagelets.crawler.extensions.CrawlReport": 800,
        "scrapy_pagelets.crawler.extensions.MetricsFile": 850,
        # The last to begin and to end: it tells what the others did.
        "scrapy_pagelets.crawler.progress_log.ProgressLog": 900,
    },
}
#: Scrapy's extensions that write feeds and the spider state -> our subclasses, which report what they could not write.
_EXTENSIONS: Final = {
    "scrapy.extensions.feedexport.FeedExporter": "scrapy_pagelets.crawler.feed_export.Feeds",
    "scrapy.extensions.spiderstate.SpiderState": "scrapy_pagelets.crawler.jobs.JobState",
}
#: Setting -> Scrapy's class, and our subclass of it, which shortens our fields, or copes with a full disk in a job.
_CLASSES: Final = {
    "LOG_FORMATTER": ("scrapy.logformatter.LogFormatter", "scrapy_pagelets.crawler.progress_log.ShortFields"),
    "SCHEDULER": ("scrapy.core.scheduler.Scheduler", "scrapy_pagelets.crawler.jobs.JobScheduler"),
    "SCHEDULER_START_DISK_QUEUE": ("scrapy.squeues.PickleFifoDiskQueue", "scrapy_pagelets.crawler.jobs.WholeFifoQueue"),
    "SCHEDULER_DISK_QUEUE": ("scrapy.squeues.PickleLifoDiskQueue", "scrapy_pagelets.crawler.jobs.WholeLifoQueue"),
}


def add_parquet(settings: BaseSettings) -> None:
    """Add the format ``parquet`` to those of a project, unless it has one of this name."""
    exporters = settings.getdict("FEED_EXPORTERS")
    exporters.setdefault("parquet", "scrapy_pagelets.crawler.exporters.ParquetItemExporter")
    settings.set("FEED_EXPORTERS", exporters, settings.getpriority("FEED_EXPORTERS") or 0)


def add_parquet_for_options(command: ScrapyCommand, options: argparse.Namespace) -> None:
    """Let ``-o`` and ``-O`` know the format in a project with the add-on, which Scrapy loads only later."""
    settings = command.settings
    has_feed = getattr(options, "output", None) or getattr(options, "overwrite_output", None)
    if settings is not None and has_feed and Addon in map(load_object, build_component_list(settings["ADDONS"])):
        add_parquet(settings)


class Addon:
    """Enable all components with ``ADDONS = {"scrapy_pagelets.Addon": 500}`` in the settings of a project.

    To disable a component, set its priority to ``None`` in the component dictionary of the project.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components as defaults; the settings of the project take precedence."""
        for setting, components in _COMPONENTS.items():
            for path, priority in components.items():
                settings.setdefault_in_component_priority_dict(setting, load_object(path), priority)
        configured = set(map(load_object, settings.getdict("EXTENSIONS")))
        for theirs, ours in _EXTENSIONS.items():
            if (extension := load_object(theirs)) not in configured:  # do not override a choice of the project
                with suppress(KeyError):
                    settings.replace_in_component_priority_dict("EXTENSIONS_BASE", extension, load_object(ours))
        is_job = settings.get("JOBDIR") and not settings.get("PAGELETS_REDIS")
        for setting, (theirs, ours) in _CLASSES.items():
            if settings.get(setting) == theirs and (is_job or setting == "LOG_FORMATTER"):
                settings.set(setting, ours, "addon")
        if settings.get("PAGELETS_REDIS"):
            settings.set("SCHEDULER", "scrapy_pagelets.crawler.shared_scheduler.SharedScheduler", "addon")
        from scrapy_pagelets.session.config import focused

        if focused(settings):  # Scrapy's default queue alternates between sites regardless of priority
            settings.set("SCHEDULER_PRIORITY_QUEUE", "scrapy.pqueues.ScrapyPriorityQueue", "addon")
        add_parquet(settings)
