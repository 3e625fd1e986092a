"""The one line that switches everything on."""

from __future__ import annotations

from typing import Final

from scrapy.settings import BaseSettings

_COMPONENTS: Final = {
    "DOWNLOADER_MIDDLEWARES": {
        # Before robots.txt, throttle and cache have their say: what is handed over has been through them.
        "scrapy_pagelets.middlewares.handover.HandoverMiddleware": 10,
        # Nearer to the engine than retries, redirects and decompression: it sees pages as the spider does.
        "scrapy_pagelets.middlewares.subdigraph.MenuSubdigraphMiddleware": 545,
    },
    "SPIDER_MIDDLEWARES": {"scrapy_pagelets.middlewares.visit.VisitMiddleware": 50},
    "ITEM_PIPELINES": {
        "scrapy_pagelets.pipelines.segment.SegmentPipeline": 100,
        "scrapy_pagelets.pipelines.strip.StripPipeline": 200,
    },
    "EXTENSIONS": {"scrapy_pagelets.crawler.report.SiteReport": 500},
}


class Addon:
    """Scrapy add-on: ``ADDONS = {"scrapy_pagelets.Addon": 500}`` in a project's settings.

    Any part is switched off by ``None`` as its priority in the project's own component dictionary.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Put the components in place, as defaults: the project's own settings win."""
        from scrapy.utils.misc import load_object

        for setting, components in _COMPONENTS.items():
            for path, priority in components.items():
                settings.setdefault_in_component_priority_dict(setting, load_object(path), priority)
        exporters = settings.getdict("FEED_EXPORTERS")
        exporters.setdefault("parquet", "scrapy_pagelets.crawler.exporters.ParquetItemExporter")
        settings.set("FEED_EXPORTERS", exporters, settings.getpriority("FEED_EXPORTERS") or 0)
