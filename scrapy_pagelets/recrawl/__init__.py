"""Recrawls: whether the content of a page is new, the same or changed since an earlier crawl."""
