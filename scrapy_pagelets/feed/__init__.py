"""The feed: its schema, its reader, and the record of a page."""
