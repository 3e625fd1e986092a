"""Databases that several processes open at once."""

import sqlite3

import pytest

from scrapy_pagelets.base.transactions import write_ahead


@pytest.fixture
def two(tmp_path):
    """Two connections with one database, of which the second is writing."""
    one, other = (sqlite3.connect(tmp_path / "x.sqlite", timeout=60, isolation_level=None) for _ in range(2))
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE pages (url)")
    yield one, other
    one.close()
    other.close()


def test_a_database_is_opened_as_soon_as_another_connection_has_written(two):
    one, other = two
    attempts = []

    def begun(statement):
        attempts.append(statement)
        if len(attempts) == 3:
            other.execute("COMMIT")

    one.set_trace_callback(begun)
    write_ahead(one, 60)
    assert len(attempts) == 3
    assert one.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert one.execute("SELECT name FROM sqlite_master").fetchall() == [("pages",)]


def test_patience_ends(two):
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        write_ahead(two[0], 0)


def test_other_errors_are_raised_at_once(tmp_path):
    (tmp_path / "x.sqlite").write_bytes(b"no database" * 100)
    base = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        write_ahead(base, 60)
    base.close()
