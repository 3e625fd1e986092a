"""VIPS: segmentation by what a page looks like (Cai, Yu, Wen, Ma 2003)."""
