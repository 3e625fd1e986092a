"""A PostgreSQL server and a Redis server for all tests of services in a process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.postgres import PostgresServer
from tests.redis_server import RedisServer

_numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server that runs; whoever stops it starts it again."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """A new database on it, as a target of `open_index`."""
    return postgres.database(f"test{next(_numbers)}")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A server that runs; whoever stops it starts it again."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def empty_redis(redis_server: RedisServer) -> RedisServer:
    """The same without data."""
    redis_server.client.flushall()
    return redis_server
