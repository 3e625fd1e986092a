"""Item pipelines: segment pages, strip templates, find near-duplicates, write to a search index."""
