"""A spider whose item is made by a page object; the content comes from the plugin."""

import attrs
import scrapy
from web_poet import WebPage, field, handle_urls


@attrs.define
class Article:
    """What the project wants to know of a page."""

    url: str
    name: str
    text: str | None = None
    headline: str | None = None


@handle_urls("")
class ArticlePage(WebPage[Article]):
    """Says where a page has it."""

    @field
    def url(self):
        """The address of the page."""
        return str(self.response.url)

    @field
    def name(self):
        """The title, up to the first dash."""
        return self.css("title::text").get().partition(" - ")[0]


class ArticleSpider(scrapy.Spider):
    """Follow all links of the site."""

    name = "articles"
    custom_settings = {"ADDONS": {"scrapy_poet.Addon": 300, "scrapy_pagelets.Addon": 500}}

    async def start(self):
        """Request the start page."""
        yield scrapy.Request(self.url)

    def parse(self, response, article: Article):
        """Yield what the page object found."""
        yield article
        yield from response.follow_all(css="nav a[href$='.html']:not([href^='http'])")
