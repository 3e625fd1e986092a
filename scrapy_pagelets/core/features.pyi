from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifiers import Classifier
from scrapy_pagelets.decision.lexicon import Lexicon
from scrapy_pagelets.evidence.evidence import SiteEvidence
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

def node_odds(page: Page, columns: NDArray[np.float32], first: Floats, classifier: Classifier) -> Floats: ...
def context_features(nodes: NodeTable, odds: Floats) -> NDArray[np.float32]: ...
def cut_features(nodes: NodeTable, odds: Floats, others: int) -> NDArray[np.float32]: ...
def page_features(page: Page, lexicon: Lexicon, own_tokens: Sequence[int] = ()) -> NDArray[np.float32]: ...
def site_features(page: Page, evidence: SiteEvidence, odds: Floats, of_class: int) -> NDArray[np.float32]: ...
