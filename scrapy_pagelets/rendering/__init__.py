"""Render pages in a browser."""
