from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.papers.page_level import _Tree

def minimise(tree: _Tree, values: Floats, x: Floats, w: Floats, c: float) -> Floats: ...
