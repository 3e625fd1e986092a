"""The methods that decide what is template: the default, and those of the papers by themselves."""

from __future__ import annotations

from typing import Final

#: All evidence of page and site (default); the complete subdigraph (2014); pagelets that pages of a site share, or that
#: linked pages share (2002, Figures 4 and 5); the classifier of the page alone (2007).
FUSED, ETDM, LOCAL, GLOBAL, CLASSIFIER = "fused", "etdm", "local", "global", "classifier"
DETECTIONS: Final = (FUSED, ETDM, LOCAL, GLOBAL, CLASSIFIER)
#: The shipped file of the classifier of the page alone.
PAGE_LEVEL: Final = "page_level"
#: Those that count the pagelets of all pages.
COUNTED: Final = (LOCAL, GLOBAL)
