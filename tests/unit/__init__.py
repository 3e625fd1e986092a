"""Tests of functions and classes: no crawl, no service, no browser."""
