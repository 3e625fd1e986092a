"""Failed requests, explained in a sentence."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from scrapy_pagelets.session.outgoing import ForbiddenAddress


def why(failure: Failure) -> str:
    """Return a sentence that tells the user why the start page failed."""
    error, url = failure.value, failure.request.url  # type: ignore[attr-defined]
    if isinstance(error, HttpError):
        return f"{url} returned status {error.response.status}: nothing to crawl; check the URL"
    if not isinstance(error, IgnoreRequest):
        return f"{url} cannot be loaded: {_message(error)}; check the URL and whether the site is up"
    if isinstance(error, ForbiddenAddress):
        return f"{error}"
    reason = str(error).lower()
    if "robots.txt" in reason:
        return f"robots.txt of {urlsplit(url).netloc} forbids {url}: nothing to crawl (ROBOTSTXT_OBEY)"
    if "redirection" in reason:
        return f"{url} redirects in a loop: nothing to crawl; check the URL"
    return f"{url} was not loaded: {reason or 'the request was refused'}"


def reason(failure: Failure) -> str:
    """Return the last part of the stat that counts the failure."""
    error = failure.value
    if isinstance(error, HttpError):
        return str(error.response.status)
    if not isinstance(error, IgnoreRequest):
        return type(error).__name__
    if isinstance(error, ForbiddenAddress):
        return "private"
    return "forbidden" if "robots.txt" in str(error) else "ignored"


def _message(error: BaseException | None) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__


def mute(*loggers: str) -> None:
    """Log the errors of other loggers at INFO level without tracebacks: the spider reports failed pages itself."""
    for logger in loggers:
        logging.getLogger(logger).addFilter(_muted)


def _muted(record: logging.LogRecord) -> bool:
    record.exc_info = None
    if record.levelno > logging.INFO:
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True
