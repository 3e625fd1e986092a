"""The document: what a reader gets of a page's content."""
