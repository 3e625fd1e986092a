"""Ask a feed in Parquet with DuckDB, and read it with pandas: python tables.py FEED."""

import sys

import duckdb
import pandas as pd

feed = sys.argv[1]
print(
    duckdb.sql(
        f"""SELECT headline, round(template.share, 2) AS template, len(string_split(text, ' ')) AS words
        FROM '{feed}' ORDER BY template.share DESC, url LIMIT 3"""
    )
)
print(
    duckdb.sql(
        f"""SELECT link.url AS target, count(*) AS links
        FROM (SELECT unnest(pagelet.links) AS link FROM (SELECT unnest(pagelets) AS pagelet FROM '{feed}'))
        WHERE link.url LIKE '%/reference/%' GROUP BY target ORDER BY links DESC, target LIMIT 3"""
    )
)

pages = pd.read_parquet(feed, columns=["url", "language", "text"])
print(pages.groupby("language").url.count().to_string())
