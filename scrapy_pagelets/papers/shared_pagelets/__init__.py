"""Template detection by the pagelets that pages share."""
