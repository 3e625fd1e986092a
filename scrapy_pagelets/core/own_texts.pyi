from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

def own_texts(page: Page, headline: Headline | None, templateness: Floats, alike: Ints, others: int) -> Bools: ...
def data_tables(
    nodes: NodeTable, headline: Headline | None, templateness: Floats, alike: Ints, others: int
) -> Bools: ...
