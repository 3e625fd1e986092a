"""Ranking of pages and pagelets, and pseudo-relevance feedback by segments."""
