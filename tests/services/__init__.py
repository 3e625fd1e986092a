"""Tests that need a browser, Redis, PostgreSQL or an object store."""
