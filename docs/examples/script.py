"""Crawl from a program: python script.py URL."""

import sys

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

settings = get_project_settings()  # of the project that scrapy.cfg names
settings["FEEDS"] = {"pages.jsonl": {"format": "jsonlines", "overwrite": True}}
settings["PAGELETS_FORMATS"] = "markdown"
settings["LOG_LEVEL"] = "WARNING"

process = AsyncCrawlerProcess(settings)
process.crawl("site", url=sys.argv[1], pages=10)
process.start()
