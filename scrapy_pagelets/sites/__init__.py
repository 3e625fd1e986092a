"""The sites of a crawl: in memory, and on disk."""
