"""Template detection: what the pages of a site share."""
