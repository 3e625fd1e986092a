"""Probing: loading pages of a menu for a template, before the spider requests them."""
