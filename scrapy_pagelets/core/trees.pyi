from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.classifiers import Trees

def summed(trees: Trees, parts: Sequence[NDArray[np.float32]]) -> Floats: ...
def chosen(rivals: Sequence[Trees], parts: Sequence[NDArray[np.float32]], rows: Ints) -> Ints: ...
