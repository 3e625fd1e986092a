"""The settings of a project that was there before the plugin; one line was added."""

BOT_NAME = "manuals"
SPIDER_MODULES = ["manuals.spiders"]
ROBOTSTXT_OBEY = True
FEED_EXPORT_ENCODING = "utf-8"

ADDONS = {"scrapy_pagelets.Addon": 500}
