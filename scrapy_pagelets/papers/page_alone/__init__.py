"""Template detection by the page alone: isotonic smoothing of a classifier (Chakrabarti, Kumar, Punera 2007)."""
