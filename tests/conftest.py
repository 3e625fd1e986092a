"""A PostgreSQL server for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.postgres import PostgresServer

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
