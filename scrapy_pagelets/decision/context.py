"""Features of the context of each leaf: what the decision before says of the leaves around it.

A decision that sees the log odds of neighbours, siblings and sections keeps a caption with its article and drops a
sentence in a list of teasers. Source of the idea: Tu 2008, "Auto-context and Its Application to High-level Vision
Tasks". The features are ours.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import context_features as context_features
from scrapy_pagelets.decision.page_features import Feature, FeatureTable
from scrapy_pagelets.page.nodes import TAG

#: Numbers of leaves before and after a leaf over which log odds are averaged.
_REACH: Final = (2, 6, 20)
#: Regions around a leaf whose siblings, and whose repetitions on the page, are looked at.
_LEVELS: Final = 4
#: Probabilities of content that a run of leaves must exceed on average, see `_run`.
_BARS: Final = (0.25, 0.5, 0.75)
#: Shares of the words of a page at which the log odds are read off.
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75)
_HEADING_LEVEL: Final = np.zeros(max(TAG.values()) + 1, np.int64)
for _level in range(1, 7):
    _HEADING_LEVEL[TAG[f"h{_level}"]] = _level


_RUN: Final = {
    "in": "whether it is inside",
    "from_start": "words from the start, log, with a sign",
    "from_end": "words to the end, log, with a sign",
    "share": "share of the words of the page",
    "purity": "share of content in its words",
    "mass": "share of the content of the page",
}
_SIBLING: Final = {
    "before": "mean log odds of the sibling with text before the region",
    "after": "mean log odds of the sibling with text after the region",
    "words_before": "words of the sibling before, log",
    "words_after": "words of the sibling after, log",
    "mean": "mean log odds of the region",
}
_SECTION: Final = {
    "mean": "mean log odds of the text",
    "words": "words of the text, log",
    "links": "share of the text in links",
    "heading": "mean log odds of the heading",
    "level": "level of the heading",
    "number": "place among the sections, 0 to 1",
    "before": "mean log odds of the section before",
    "after": "mean log odds of the next section",
}
_RECORD: Final = {
    "count": "their number, log",
    "content": "share of content in their words",
    "mass": "share of the content of the page",
}


#: The features of a leaf by its context. Content and its words are expected values.
CONTEXT: Final = FeatureTable((
    Feature("context_mean", "Mean probability of content, by content."),
    Feature("context_share", "Share of content in the words of the page."),
    Feature("context_mass", "Words of content of the page, log."),
    Feature("context_sure", "Share of the words that are surely content."),
    Feature("context_unsure", "Share of the words in doubt."),
    Feature("context_best", "The best expected F1 of a cut of the page."),
    Feature("context_prose", "Share of prose in the content."),
    *(Feature(f"context_quantile_{share}", f"Log odds up to which {share} of the words lie.") for share in _QUANTILES),
    Feature("context_odds", "Log odds of the leaf."),
    Feature("context_above", "Share of the content in leaves that are likelier content."),
    Feature("context_precision", "Share of content in these leaves and this one."),
    Feature("context_kept", "Their share of the words of the page."),
    Feature("context_expected", "Expected F1 if they are kept, over the best one."),
    Feature("context_from_best", "Log odds beyond the cut of the best expected F1."),
    *(Feature(f"run_{bar}_{name}", f"Run of leaves, bar {bar}: {about}.")
      for bar in _BARS for name, about in _RUN.items()),
    *(Feature(f"{side}_{reach}", f"Mean log odds of {reach} leaves {side} it, by words.")
      for reach in _REACH for side in ("before", "after")),
    *(Feature(f"sibling_{name}_{k}", f"Region {k}: {about}.")
      for k in range(_LEVELS) for name, about in _SIBLING.items()),
    *(Feature(f"region_mass_{k}", f"Share of region {k} in the content of the page.") for k in range(_LEVELS)),
    *(Feature(f"section_{name}", f"Section: {about}.") for name, about in _SECTION.items()),
    Feature("after_h1", "Words from the first heading of level 1, log, with a sign."),
    *(Feature(f"record_{name}_{k}", f"Regions of the shape of region {k}: {about}.")
      for k in range(1, _LEVELS) for name, about in _RECORD.items()),
))  # fmt: skip
CONTEXT_FEATURES: Final = CONTEXT.names

give("features", CONTEXT=CONTEXT, HEADING_LEVEL=_HEADING_LEVEL)
