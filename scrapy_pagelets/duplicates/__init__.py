"""Near-duplicates: shingles, sketches, and the search for texts that resemble each other."""
