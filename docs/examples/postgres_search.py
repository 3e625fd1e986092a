"""Search an index in PostgreSQL: python postgres_search.py TARGET WORD."""

import sys

import psycopg

from scrapy_pagelets.index.targets import open_index

target, word = sys.argv[1:]
with open_index(target) as index:  # the same for each kind of index
    for hit in list(index.search(word))[:3]:
        print(hit.url)

with psycopg.connect(target) as connection:  # or in SQL, with whatever else the database has
    rows = connection.execute(
        """SELECT count(DISTINCT page) FROM pagelets.terms WHERE terms @@ %s::tsquery""", [f"'{word}'"]
    )
    print("pages with it:", rows.fetchone()[0])
