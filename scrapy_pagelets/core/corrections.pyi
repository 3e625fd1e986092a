from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.nodes import NodeTable

def corrected(nodes: NodeTable, templateness: Floats, headline: Headline | None) -> Floats: ...
