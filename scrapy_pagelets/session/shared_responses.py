"""Responses that one process of a shared crawl has loaded for a template, until any process requests their pages."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from typing import Any

from scrapy.http import Response

from scrapy_pagelets.session.response_store import packed, page_of_token, unpacked
from scrapy_pagelets.shared.server import RedisProblem, Server

logger = logging.getLogger(__name__)


class SharedResponses:
    """Responses in Redis, by token; the counterpart of `ResponseStore` for pages that are loaded for a template.

    Parameters
    ----------
    failed : called with a sentence if a response cannot be written, or is damaged; its page will be fetched again
    """

    def __init__(self, server: Server, failed: Callable[[str], None]) -> None:
        self._server = server
        self._failed = failed
        #: Fingerprints of requests in this process whose responses may be stored.
        self._expected: set[str] = set()

    def expect(self, page: str) -> None:
        """Note that the response of a request may be stored: `has` does not ask Redis, the reactor calls it."""
        self._expected.add(page)

    def has(self, token: str) -> bool:
        """True if the response may be stored."""
        return page_of_token(token) in self._expected

    def put(self, token: str, response: Response) -> None:
        """Store a response."""
        key, content = self._server.key, zlib.compress(packed(response), 1)

        def put(redis: Any) -> None:
            with redis.pipeline() as pipe:
                pipe.hset(key + "responses", token, content)
                pipe.sadd(key + "probed", page_of_token(token))
                pipe.execute()

        try:
            self._server.call(put)
        except RedisProblem as error:
            self._failed(f"a page that was loaded for a template cannot be stored and will be fetched again: {error}")

    def take(self, token: str) -> Response | None:
        """Remove and return a response, None if there is none."""
        key = self._server.key
        self._expected.discard(page_of_token(token))

        def take(redis: Any) -> Any:
            # No transaction: Redis refuses those when it is full. No other process asks for this response.
            content = redis.hget(key + "responses", token)
            redis.hdel(key + "responses", token)
            return content

        try:
            content = self._server.call(take)
        except RedisProblem as error:  # the crawl is closing, or stops for this
            logger.warning("the stored page %s cannot be read: %s", token, error)
            return None
        try:
            return None if content is None else unpacked(zlib.decompress(content))
        except Exception as error:  # damaged: what is made of it can raise anything
            self._failed(f"the stored page {token} cannot be read and will be fetched again: {error!r}")
            return None
