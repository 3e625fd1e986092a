"""Segmentation of pages into pagelets."""
