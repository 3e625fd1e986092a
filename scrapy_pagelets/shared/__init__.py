"""What many processes that crawl together share through Redis; no Scrapy, no Twisted."""
