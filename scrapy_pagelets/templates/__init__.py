"""Templates: what the pages of a site share."""
