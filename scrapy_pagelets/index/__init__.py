"""Search indexes: a query matches single pagelets, and the results are grouped by page."""
