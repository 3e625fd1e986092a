"""The cut of a page: leaves with log odds below it are content. This is the one place that draws the line.

One cut for all pages leaves nothing of an unclear page, and keeps lists of teasers on a clear one. So trees rate some
cuts of the page by the curve of kept words, and the mean of the good ones is taken. `PAGELETS_STRICT` moves this mean
by up to `_LEAN`. Then the log odds of the page are shifted so that the cut becomes 0, which is the templateness
`roles.THRESHOLD`. This method is ours.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import cut_features as cut_features
from scrapy_pagelets.core.features import mean_cut as mean_cut
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.decision.page_features import Feature, FeatureTable
from scrapy_pagelets.page.nodes import NodeTable

#: The cuts compared, in log odds of template.
CUTS: Final = np.array([-4, -3, -2.5, -2, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2.5])
CONTENT_AT: Final = sigmoid(-CUTS)  # probability of content at each cut
#: Difference of ratings, of an F-measure, by which a cut counts e times as much as another one.
_TEMPERATURE: Final = 0.03
_LEAN: Final = 2.0  # log odds by which the strictest setting lowers a cut
#: How much stricter the cut of an article of a known site is: what is in doubt there are teasers and remarks, and the
#: cuts are learnt from manuals. An article has a date or calls itself one; it sells nothing and is no thread.
OF_ARTICLE: Final = 0.375
#: The likeliest leaves are content in any case: those within this distance of the least log odds, up to the highest.
_MARGIN: Final = 0.1
_HIGHEST: Final = 3.9
#: Shares of the words of a page, and of its expected content, at which the log odds are read off.
_WORDS: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9)
_MASS: Final = (0.25, 0.5, 0.75, 0.9)

#: The features of a cut. Content and its words are expected values.
CUT: Final = FeatureTable((
    Feature("cut_cut", "The cut, in log odds."),
    Feature("cut_from_best", "Its distance from the cut of the best expected F1."),
    Feature("cut_kept", "Share of the words that are kept."),
    Feature("cut_kept_words", "Words that are kept, log."),
    Feature("cut_precision", "Share of content in what is kept."),
    Feature("cut_recall", "Share of the content that is kept."),
    Feature("cut_f1", "Expected F1."),
    Feature("cut_links", "Share of links in what is kept."),
    Feature("cut_prose", "Share of prose in what is kept."),
    Feature("cut_prose_kept", "Share of the prose that is kept."),
    Feature("cut_leaves", "Share of the leaves that are kept."),
    Feature("cut_runs", "Runs of leaves that are kept."),
    Feature("cut_runs_per_leaf", "Runs by leaf that is kept, log."),
    Feature("cut_span", "Share of the page from the first to the last leaf that is kept."),
    Feature("cut_longest_run", "Share of the longest run in what is kept."),
    Feature("cut_gap_above", "Distance to the next log odds above the cut."),
    Feature("cut_gap_below", "Distance to the next log odds below the cut."),
    Feature("cut_near", "Words within 0.5 of the cut, over the content."),
    Feature("cut_just_above", "Words up to 1 above the cut, over what is kept."),
    Feature("cut_just_below", "Words up to 1 below the cut, over what is kept."),
    Feature("cut_of_mean", "Probability of content at the cut, over its mean on the page."),
    Feature("page_words", "Words of the page, log."),
    Feature("page_leaves", "Leaves of the page, log."),
    Feature("page_share", "Share of content in the words."),
    Feature("page_mean", "Mean probability of content, by content."),
    Feature("page_mass", "Words of content, log."),
    Feature("page_links", "Share of links in the words."),
    Feature("page_prose", "Share of prose in the words."),
    Feature("page_sure", "Share of the words that are surely content."),
    Feature("page_unsure", "Share of the words in doubt."),
    Feature("page_unsure_of_mass", "Words in doubt, over the content."),
    Feature("page_best", "The cut of the best expected F1, in log odds."),
    Feature("page_best_f1", "The best expected F1."),
    *(Feature(f"page_words_{share}", f"Log odds up to which {share} of the words lie.") for share in _WORDS),
    *(Feature(f"page_mass_{share}", f"Log odds up to which {share} of the content lies.") for share in _MASS),
    Feature("page_hidden", "Share of the leaves that are hidden."),
    Feature("page_least", "The least log odds."),
    Feature("page_others", "Other pages of the site that are known, log."),
))  # fmt: skip
CUT_FEATURES: Final = CUT.names


def best_cut(rating: Trees, columns: NDArray[np.float32]) -> float:
    """The cut of a page in log odds of template: the mean of all, weighted by the exponential of their rating.

    Where two cuts are nearly as good, the best one may be the other one after a small change of the page. The mean of
    both changes little, and it lies between them, where the page has the fewest words.

    ``rating``: over ``CUT_FEATURES``: the expected F-measure of a cut, less that of the best cut of the page.
    ``columns``: (len(CUTS), len(CUT_FEATURES)) features of the cuts, see `cut_features`.
    """
    # A cut between two good ones is better than one beside a bad one.
    return mean_cut(rating(columns), _TEMPERATURE)


def shifted(rating: Trees, nodes: NodeTable, odds: Floats, others: int, strict: float = 0.0) -> Floats:
    """(m,) log odds of template minus the cut of the page: those of content are below 0.

    A cut below all leaves is raised above the least log odds, so that the likeliest leaves are content, but to
    `_HIGHEST` at most: a page of which all is surely template has no content.

    ``rating``: see `best_cut`. ``odds``: (m,) log odds of template. ``others``: number of other pages of the site that
    are known. ``strict``: -1 leans the cut to recall, 1 to precision.
    """
    if not len(odds):
        return odds
    cut = best_cut(rating, cut_features(nodes, odds, others)) - _LEAN * strict
    return odds - max(cut, min(float(odds.min()) + _MARGIN, _HIGHEST))


give("features", CUT=CUT, CUTS=CUTS, CONTENT_AT=CONTENT_AT)
