"""Pages in a search index: pagelets are the units that are found, pages their groups."""
