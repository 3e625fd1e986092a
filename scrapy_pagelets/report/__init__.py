"""The report on a feed: what was kept and stripped, by site and class of pages, and which pages are doubtful."""
