"""Errors that a user may see. Each message is a sentence that says what is wrong and what to do."""

from typing import Final

#: Where the documents are that a message names.
DOCS: Final = "https://github.com/scrapy-pagelets/scrapy-pagelets/tree/main/docs"


class PageletsError(Exception):
    """Base class of these errors."""


class ConfigError(PageletsError, ValueError):
    """Raised for a setting whose value cannot be used; the message names the setting and says what it takes."""


class QueryError(PageletsError, ValueError):
    """Raised for a query without a word."""


class StoreError(PageletsError, ValueError):
    """Raised for a file that is damaged, or no store of this version; the message says what is wrong."""


class DiskError(StoreError):
    """Raised if the disk is full or not writable; the file itself may be intact."""


class CommandError(PageletsError):
    """Raised by a command that cannot do what is asked; `run_command` prints the message and exits with code 1."""
