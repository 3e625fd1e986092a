"""What the pages of a site share: counts, classes, mappings, menus."""
