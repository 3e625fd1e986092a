"""Content to shingles, sketches and near-duplicates."""
