"""Template detection on the pagelets that pages share."""
