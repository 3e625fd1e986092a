"""The decision what of a page is template: features, passes, cut, site."""
