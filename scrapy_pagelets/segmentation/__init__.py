"""Segmentation: a page to its pagelets."""
