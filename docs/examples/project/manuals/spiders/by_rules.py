"""A spider by rules, with a dataclass. It gets the fields that it declares, and no others."""

from dataclasses import dataclass

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


@dataclass
class Page:
    """A page of a manual."""

    url: str
    markdown: str | None = None
    headline: str | None = None


class ByRules(CrawlSpider):
    """Follow links into the reference."""

    name = "by_rules"
    custom_settings = {"PAGELETS_FORMATS": "markdown"}
    rules = (Rule(LinkExtractor(allow="/reference/"), callback="parse_page", follow=True),)

    def __init__(self, url, **options):
        super().__init__(**options)
        self.start_urls = [url]

    def parse_page(self, response):
        """Yield the page."""
        return Page(response.url)
