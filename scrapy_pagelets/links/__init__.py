"""The links of a crawl by page and by pagelet: hubs and authorities, PageRank, co-citation."""
