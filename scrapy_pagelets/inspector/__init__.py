"""The inspector: one HTML file that shows a page, what is stripped from it, and why."""
