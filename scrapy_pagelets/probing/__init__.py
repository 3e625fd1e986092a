"""Pages that are loaded for a template, ahead of the spider."""
