"""The spiders: site and archive."""
