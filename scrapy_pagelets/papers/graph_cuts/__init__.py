"""Segmentation by graph cuts and by correlation clustering (Chakrabarti, Kumar, Punera 2008)."""
