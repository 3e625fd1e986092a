"""Rules of the user: what to keep, to strip and to ignore on the pages of some hosts."""
