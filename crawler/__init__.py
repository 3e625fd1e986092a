"""The runnable parts: the add-on, the spiders, the commands and the feed exports."""
