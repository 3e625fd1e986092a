"""A connection to Redis that waits while the server is away, and what to repeat when the server was restarted."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from scrapy_pagelets.base.errors import ConfigError, PageletsError
from scrapy_pagelets.index.interface import shown

if TYPE_CHECKING:
    from redis import Redis

logger = logging.getLogger(__name__)
T = TypeVar("T")
#: Seconds after which a server that does not answer counts as away, and between two attempts to reach it.
_TIMEOUT: Final = 10.0
_PAUSES: Final = (0.1, 0.3, 1.0, 2.0)
_RUN: Final = re.compile(rb"^run_id:(\w+)", re.MULTILINE)
_OLDEST: Final = (7, 0)  # the first version of Redis whose scripts are refused as a whole when there is no memory left


class RedisProblem(PageletsError):
    """Raised if a server that has worked at the start of the crawl does not do what it is asked for."""


class RedisAway(RedisProblem):
    """Raised if the server cannot be reached and the crawl ends, so that waiting for it makes no sense."""


class RedisFull(RedisProblem):
    """Raised if the server has no memory, or no room on disk, for what is to be written."""


class Server:
    """A Redis server, and the keys of one crawl on it. Thread-safe; its methods wait, so use it in threads.

    ``url``: as redis-py reads it; ConfigError if the server cannot be used. ``key``: prefix of all keys of the crawl.
    ``warn``: called with the name of a stat, ``%s`` and a sentence when it cannot be reached or was restarted.
    """

    def __init__(self, url: str, key: str, warn: Callable[[str, str, str], None]) -> None:
        self.key = key
        self.name = shown(url).partition("://")[2]
        self._warn = warn
        self.closing = threading.Event()  # set when nobody waits for the server any more: `RedisAway` is raised then
        self._lock = threading.Lock()
        self._is_away = False
        self.interruptions = 0  # how often the server was away, or was restarted: a reply may be lost
        self.restarts = 0  # how often the server was restarted: what it has received in the last seconds may be lost
        self.run = ""  # the name that the server has given to its run; "" if it has none
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise ConfigError("PAGELETS_REDIS needs the library redis: pip install 'scrapy-pagelets[redis]'") from None
        timeouts = {"socket_timeout": _TIMEOUT, "socket_connect_timeout": _TIMEOUT}
        try:
            self._redis = Redis.from_url(url, retry=Retry(NoBackoff(), 0), redis_connect_func=self._greet, **timeouts)
        except ValueError as error:
            raise ConfigError(f"PAGELETS_REDIS cannot be used: {error}") from error
        _check(self._redis, self.name)

    def call(self, function: Callable[[Redis], T]) -> T:
        """Call a function with a client, again while the server is away.

        Raises RedisFull if the server has no room, RedisAway if it is away when the crawl closes.
        """
        from redis.exceptions import ConnectionError, OutOfMemoryError, ResponseError, TimeoutError

        attempt = 0
        while True:
            try:
                result = function(self._redis)
            except (ConnectionError, TimeoutError) as error:
                self._note_away(error)
                if self.closing.wait(_PAUSES[min(attempt, len(_PAUSES) - 1)]):
                    raise RedisAway(f"Redis at {self.name} cannot be reached") from error
                attempt += 1
            except ResponseError as error:
                if isinstance(error, OutOfMemoryError) or str(error).startswith("MISCONF"):
                    raise RedisFull(f"Redis at {self.name} is full ({error})") from error
                raise RedisProblem(f"Redis at {self.name} refuses a command ({error})") from error
            else:
                self._note_back()
                return result

    def script(self, name: str) -> Callable[[list[Any]], Any]:
        """Return a function that runs a script of this package with a list of arguments."""
        script = self._redis.register_script(files(__package__).joinpath(name).read_text(encoding="utf-8"))
        return lambda arguments: self.call(lambda _: script(keys=[self.key], args=arguments))

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def _greet(self, connection: Any) -> None:
        """Begin a connection; note whether it leads to another run of the server."""
        connection.on_connect()
        connection.send_command("INFO", "server")
        found = _RUN.search(connection.read_response(disable_decoding=True))
        run = found[1].decode() if found else ""
        with self._lock:
            if self.run not in ("", run):
                self.restarts += 1
                self.interruptions += 1
                sentence = f"Redis at {self.name} was restarted: this process repeats what it has told it last"
                self._warn("redis/restarted", "%s", sentence)
            self.run = run

    def _note_away(self, error: Exception) -> None:
        with self._lock:
            if not self._is_away:
                self._is_away = True
                self.interruptions += 1
                sentence = f"Redis at {self.name} cannot be reached, the crawl waits for it: {error}"
                self._warn("redis/away", "%s", sentence)

    def _note_back(self) -> None:
        with self._lock:
            if self._is_away:
                self._is_away = False
                logger.info("Redis at %s is back, the crawl goes on", self.name)


def _check(redis: Redis, name: str) -> None:
    """Refuse a server that is unusable, too old, or may throw away what a crawl needs."""
    from redis.exceptions import RedisError

    try:
        about: Any = redis.info()
    except RedisError as error:
        sentence = "start a server (redis-server), or correct the address in PAGELETS_REDIS"
        raise ConfigError(f"Redis at {name} cannot be used: {sentence} ({error})") from error
    version = tuple(int(part) for part in about["redis_version"].split(".")[:2])
    if version < _OLDEST:
        raise ConfigError(f"Redis at {name} has version {about['redis_version']}: a shared crawl needs 7.0 or later")
    policy = about.get("maxmemory_policy", "noeviction")
    if about.get("maxmemory") and policy != "noeviction":
        lost = "so pages of the crawl would be lost: set maxmemory-policy to noeviction"
        problem = f"Redis at {name} throws keys away when its memory is full (maxmemory-policy {policy})"
        raise ConfigError(f"{problem}, {lost}")


_SECONDS: Final = 5.0  # Redis writes its log to disk each second, and may take another one for it


class LastSeconds(Generic[T]):
    """Remember what was written in the last seconds, to write it again."""

    def __init__(self) -> None:
        self._written: deque[tuple[float, T]] = deque()

    def add(self, values: Iterable[T]) -> None:
        """Remember values that are written now."""
        now = time.monotonic()
        self._written.extend((now, value) for value in values)
        while self._written and self._written[0][0] < now - _SECONDS:
            self._written.popleft()

    def all(self) -> list[T]:
        """Return what was written in the last seconds, and perhaps a little before."""
        return [value for _, value in self._written]
