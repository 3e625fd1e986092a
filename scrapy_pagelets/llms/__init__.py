"""What language models read: llms.txt and llms-full.txt of a feed, and an index as tools of an MCP server."""
