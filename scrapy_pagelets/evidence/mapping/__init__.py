"""Equal top-down mappings: the part of the DOM that pages have in common (Alarte et al. 2014)."""
