"""A spider that yields dicts. It has a field ``text`` of its own: the content of the page goes into ``content``."""

import scrapy


class ByHand(scrapy.Spider):
    """Follow each link of the menu."""

    name = "by_hand"

    def __init__(self, url, **options):
        super().__init__(**options)
        self.start_urls = [url]

    def parse(self, response):
        """Yield the page, and its links."""
        yield {"address": response.url, "text": response.css("#content h2::text").get()}
        yield from response.follow_all(css="nav a[href^='../']")
