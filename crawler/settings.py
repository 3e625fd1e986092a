"""Settings of the project in which ``scrapy crawl site`` and ``scrapy crawl archive`` run."""

BOT_NAME = "scrapy-pagelets"
USER_AGENT = "scrapy-pagelets (+https://github.com/scrapy-pagelets/scrapy-pagelets)"
SPIDER_MODULES = ["scrapy_pagelets.crawler.spiders"]
ADDONS = {"scrapy_pagelets.Addon": 500}

ROBOTSTXT_OBEY = True
# As fast as the site answers and no faster: delays follow its latency.
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 0.2
AUTOTHROTTLE_TARGET_CONCURRENCY = 4.0
CONCURRENT_REQUESTS_PER_DOMAIN = 8
DOWNLOAD_DELAY = 0
DOWNLOAD_WARNSIZE = 0  # CrawlSession already warns about large pages

REQUEST_FINGERPRINTER_CLASS = "scrapy_pagelets.session.requests.PageFingerprinter"
FEED_EXPORTERS = dict.fromkeys(("jsonlines", "jsonl", "jl"), "scrapy_pagelets.crawler.exporters.JsonLinesExporter")
FEED_EXPORT_ENCODING = "utf-8"
LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
