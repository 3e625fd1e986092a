"""A spider with ``async def start``, an item loader and a Scrapy item; it loads no pages for a template."""

import scrapy
from scrapy.loader import ItemLoader


class Chapter(scrapy.Item):
    """A chapter of a manual."""

    url = scrapy.Field()
    name = scrapy.Field()
    text = scrapy.Field()
    pagelets = scrapy.Field()


class ByLoader(scrapy.Spider):
    """Load two chapters."""

    name = "by_loader"

    async def start(self):
        """Request pages whose addresses are known."""
        for name in ("quick", "workers"):
            yield scrapy.Request(f"{self.url}common_howto/{name}.html", meta={"pagelets_probe": False})

    def parse(self, response):
        """Fill an item."""
        loader = ItemLoader(Chapter(), response=response)
        loader.add_css("name", "#content h2::text")
        yield loader.load_item()
