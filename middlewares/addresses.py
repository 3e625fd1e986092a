"""The downloader middleware that keeps links from leading to this machine and its private network."""

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.reactor import is_reactor_installed

from scrapy_pagelets.page.urls import host_of
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.requests import FOLLOWED, ForbiddenAddress, install, is_forbidden


class AddressMiddleware(Component):
    """Refuse links to loopback, link-local and private addresses, also after each redirect.

    This concerns pages that are loaded for templates and links that the spider `site` follows, but not the hosts on
    which the crawl was started, nor, behind a proxy that resolves names itself, names.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if self.session.config.private_addresses:
            raise NotConfigured

    async def process_request(self, request: Request) -> None:
        if is_reactor_installed():
            install()
        # A robots.txt may redirect as well: nobody but us sees where to.
        redirects = request.meta.get("redirect_urls", ()) if request.callback is NO_CALLBACK else ()
        if FOLLOWED not in request.meta and not redirects:
            return
        if host_of(request.url) in {*self.session.start_hosts, *map(host_of, redirects[:1])}:
            return
        name = urlparse_cached(request).hostname or ""
        if await is_forbidden(name, resolve="proxy" not in request.meta):
            sentence = "%s leads to a private address and is not followed: set PAGELETS_PRIVATE_ADDRESSES to follow it"
            self.session.warn("links/private", sentence, request.url)
            raise ForbiddenAddress(sentence % request.url)
