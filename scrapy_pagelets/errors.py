"""The errors that a user may see: the message of each is a sentence that says what is wrong and what to do."""

from __future__ import annotations


class PageletsError(Exception):
    """Base class of all of them."""


class ConfigError(PageletsError, ValueError):
    """Raised for a setting whose value cannot be used; the message names the setting and says what it takes."""


class QueryError(PageletsError, ValueError):
    """Raised for a query that says nothing: no word of it is in the collection."""


class CommandError(PageletsError):
    """Raised by a command for what it cannot do; `PageletsCommand` prints the message and ends with the exit code 1."""
