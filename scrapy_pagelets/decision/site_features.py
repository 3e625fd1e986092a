"""Features of the leaves of a page from the other pages of its site."""

from __future__ import annotations

from typing import Final

from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import site_features as site_features
from scrapy_pagelets.decision.page_features import LEVELS, Feature, FeatureTable

#: The page-level classifiers, in the order of the columns of their log odds, see `evidence.CLASSIFIERS`.
_CLASSIFIERS: Final = ("trees", "classifier")
#: What log odds of a classifier there are: of the page itself, of the same node of other pages, of nodes of its shape.
_ODDS: Final = {
    "odds": "by the page itself",
    "odds_path": "of the same node on other pages",
    "odds_shape": "of nodes of its shape on other pages",
}
_AROUND: Final = {
    "rank": "rank among the leaves",
    "prev": "log odds of the leaf before",
    "next": "log odds of the next leaf",
    "near": "mean log odds of seven leaves around it",
}
_CONTAINER: Final = {
    "inside": "whether it is inside of the container",
    "above": "levels from the container up to the ancestor that both share",
    "branch": "content minus template words, over all words, of the branch of that ancestor with the leaf",
    "margin": "content minus template words of the container, over those of all content leaves",
    "share": "share of the container in all words",
}


def _by_odds(prefix: str) -> tuple[Feature, ...]:
    return tuple(
        Feature(f"{prefix}{classifier}_{kind}", f"Log odds by {classifier}, {about}.")
        for classifier in _CLASSIFIERS
        for kind, about in _ODDS.items()
    )


#: Features of the leaf. Shares are of the other pages of the site, or of the page's class.
_LEAF: Final = (
    Feature("site_pages", "Other pages of the site, log."),
    Feature("site_class_pages", "Other pages of the class, log."),
    Feature("site_text", "Share of the pages with the text."),
    Feature("site_placed", "Share with the text at its path."),
    Feature("site_path", "Share with the path."),
    Feature("site_variants", "Different texts at the path, by page."),
    Feature("site_values", "How likely two pages differ in the text at the path, digits as they are."),
    Feature("site_prev_values", "The same of the leaf before."),
    Feature("site_next_values", "The same of the next leaf."),
    Feature("site_target", "Share of the pages with a link to the target of its link."),
    Feature("site_prev_text", "Share of the pages with the text of the leaf before; of the last one for the first."),
    Feature("site_next_text", "Share of the pages with the text of the next leaf; of the first one for the last."),
    Feature("site_page_text", "Mean share of the pages with a text, over the words of the page."),
    Feature("site_class_text", "Share of the class with the text."),
    Feature("site_class_path", "Share of the class with the path."),
)  # fmt: skip
#: Features of a region.
_REGION: Final = (
    *_by_odds(""),
    Feature("text", "Mean share of the pages with a text, by words."),
    Feature("path", "Share of the pages with the path."),
    Feature("exact", "Share with all of its text."),
    Feature("links", "Share with its set of links."),
    Feature("linked", "Share of the pages with the node on which it is mostly links."),
    Feature("target", "Mean share of the pages with a link to a target."),
    Feature("class_text", "Mean share of the class with a text, by words."),
    Feature("class_path", "Share of the class with the path."),
    Feature("fresh", "Share of its words that are new on a page."),
    Feature("mass", "New words of a page, log."),
    Feature("mass_share", "Its share of the new words of the page."),
)  # fmt: skip
#: The features of a leaf by the other pages of its site.
SITE: Final = FeatureTable((
    *_LEAF,
    *_by_odds("site_"),
    *(Feature(f"site_{classifier}_{by}_{name}", f"By the log odds of {classifier}, {by}: {about}.")
      for classifier in _CLASSIFIERS for by in ("page", "pooled") for name, about in (_AROUND | _CONTAINER).items()),
    *(Feature(f"site_{row.name}_{level}", row.about) for level in range(LEVELS) for row in _REGION),
))  # fmt: skip
SITE_FEATURES: Final = SITE.names


give("features", SITE=SITE)
