"""The state that the components of one crawl share."""
