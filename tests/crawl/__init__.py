"""Tests that crawl a site on loopback or run a command."""
