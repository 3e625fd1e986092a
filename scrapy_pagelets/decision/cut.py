"""The cut of a page: leaves with log odds below it are content. This is the one place that draws the line.

One cut for all pages leaves nothing of an unclear page, and keeps lists of teasers on a clear one. So trees rate some
cuts of the page by the curve of kept words, and the mean of the good ones is taken. `PAGELETS_STRICT` moves this mean
by up to `_LEAN`. Then the log odds of the page are shifted so that the cut becomes 0, which is the templateness
`roles.THRESHOLD`. This method is ours.
"""

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import cut_features as cut_features
from scrapy_pagelets.core.features import mean_cut as mean_cut
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.decision.page_features import table
from scrapy_pagelets.page.nodes import NodeTable

#: The cuts compared, in log odds of template.
CUTS: Final = np.array([-4, -3, -2.5, -2, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2.5])
CONTENT_AT: Final = sigmoid(-CUTS)  # probability of content at each cut
#: Difference of ratings, of an F-measure, by which a cut counts e times as much as another one.
TEMPERATURE: Final = 0.03
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
CUT: Final = table(
    "cut_cut",  # the cut, in log odds
    "cut_from_best",  # its distance from the cut of the best expected F1
    "cut_kept",  # share of the words that are kept
    "cut_kept_words",  # words that are kept, log
    "cut_precision",  # share of content in what is kept
    "cut_recall",  # share of the content that is kept
    "cut_f1",  # expected F1
    "cut_links",  # share of links in what is kept
    "cut_prose",  # share of prose in what is kept
    "cut_prose_kept",  # share of the prose that is kept
    "cut_leaves",  # share of the leaves that are kept
    "cut_runs",  # runs of leaves that are kept
    "cut_runs_per_leaf",  # runs by leaf that is kept, log
    "cut_span",  # share of the page from the first to the last leaf that is kept
    "cut_longest_run",  # share of the longest run in what is kept
    "cut_gap_above",  # distance to the next log odds above the cut
    "cut_gap_below",  # distance to the next log odds below the cut
    "cut_near",  # words within 0.5 of the cut, over the content
    "cut_just_above",  # words up to 1 above the cut, over what is kept
    "cut_just_below",  # words up to 1 below the cut, over what is kept
    "cut_of_mean",  # probability of content at the cut, over its mean on the page
    "page_words",  # words of the page, log
    "page_leaves",  # leaves of the page, log
    "page_share",  # share of content in the words
    "page_mean",  # mean probability of content, by content
    "page_mass",  # words of content, log
    "page_links",  # share of links in the words
    "page_prose",  # share of prose in the words
    "page_sure",  # share of the words that are surely content
    "page_unsure",  # share of the words in doubt
    "page_unsure_of_mass",  # words in doubt, over the content
    "page_best",  # the cut of the best expected F1, in log odds
    "page_best_f1",  # the best expected F1
    *(f"page_words_{share}" for share in _WORDS),  # log odds up to which this share of the words lie
    *(f"page_mass_{share}" for share in _MASS),  # log odds up to which this share of the content lies
    "page_hidden",  # share of the leaves that are hidden
    "page_least",  # the least log odds
    "page_others",  # other pages of the site that are known, log
)
CUT_FEATURES: Final = CUT.names


def shifted(rating: Trees, nodes: NodeTable, odds: Floats, others: int, strict: float = 0.0) -> Floats:
    """(m,) log odds of template minus the cut of the page: those of content are below 0.

    The cut is the mean of all, weighted by the exponential of their rating. Where two are nearly as good, the best one
    may be the other one after a small change of the page. Their mean changes little, and it lies between them, where
    the page has the fewest words. A cut below all leaves is raised above the least log odds, so that the likeliest
    leaves are content, but to `_HIGHEST` at most: a page of which all is surely template has no content.

    ``rating``: over ``CUT_FEATURES``: the expected F-measure of a cut, less that of the best cut of the page. ``odds``:
    (m,) log odds of template. ``others``: number of other pages of the site that are known. ``strict``: -1 leans the
    cut to recall, 1 to precision.
    """
    if not len(odds):
        return odds
    cut = mean_cut(rating(cut_features(nodes, odds, others)), TEMPERATURE) - _LEAN * strict
    return odds - max(cut, min(float(odds.min()) + _MARGIN, _HIGHEST))


give("features", CUT=CUT, CUTS=CUTS, CONTENT_AT=CONTENT_AT)
