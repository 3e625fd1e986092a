"""The statements of the corpus job in portable SQL: plain SELECTs over the tables before, for DuckDB and Spark.

Near-duplicates are found as in a crawl (`duplicates.content_store`): a page belongs to the group of the earlier page
that it resembles most, and is a near-duplicate of the first page of the group, or of that page if the first one differs
too much. A crawl asks its index for the contents with the most bands in common; here each page meets, for each of its
bands, the ``NEIGHBOURS`` pages before it that have the band, and the first one. Pages that declare another one as
canonical come last, because ``LAST`` is added to their numbers.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from scrapy_pagelets.corpus.engines import PAIRS, rows_of
from scrapy_pagelets.duplicates.shingles import resemblance
from scrapy_pagelets.duplicates.sketch import Threshold
from scrapy_pagelets.papers.shared_pagelets import relational

#: Sites with more pages than a task takes, and the number of their pages.
LARGE_SITES: Final = """
    SELECT site, COUNT(*) AS pages, MIN(bucket) AS bucket FROM raw WHERE site IS NOT NULL
    GROUP BY site HAVING COUNT(*) > {part}
"""
#: The pages of large sites: which chunk of its site each page is in, and which page of that it is.
PLACES: Final = """
    SELECT page, site, key, CAST(FLOOR((place - 1) / {part}) AS BIGINT) AS chunk, (place - 1) % {part} AS nth FROM (
        SELECT r.page, r.site, r.key, ROW_NUMBER() OVER (PARTITION BY r.site ORDER BY r.page) AS place
        FROM raw r JOIN large_sites l ON l.site = r.site
    ) numbered
"""
#: The pages that large sites are learnt from: those with the smallest hashes of their URLs, each URL once. Pages are
#: ranked within the chunks of a site first, so that the ranking of the largest site has few rows.
SAMPLE: Final = """
    SELECT page, site, CAST(FLOOR((ROW_NUMBER() OVER (PARTITION BY site ORDER BY page) - 1) / {part}) AS BIGINT) AS part
    FROM (
        SELECT page, site, ROW_NUMBER() OVER (PARTITION BY site ORDER BY key, page) AS place FROM (
            SELECT MIN(page) AS page, site, key FROM (
                SELECT page, site, key, ROW_NUMBER() OVER (PARTITION BY site, chunk ORDER BY key, page) AS place
                FROM places
            ) in_chunks WHERE place <= {sample} GROUP BY site, key
        ) distinct_urls
    ) ranked WHERE place <= {sample}
"""
SAMPLED: Final = """
    SELECT s.site, s.part, s.page, r.url, r.content_type, r.link, r.robots, r.body FROM sample s
    JOIN raw r ON r.page = s.page AND r.site = s.site
"""
#: Pages of small sites in some buckets, and of some chunks of large sites, whose first page brings what was learnt.
SMALL: Final = """
    SELECT r.site, CAST(0 AS BIGINT) AS chunk, r.page, r.url, r.fetched_at, r.content_type, r.link, r.robots, r.body,
           CAST(NULL AS {binary}) AS counts
    FROM raw r LEFT JOIN large_sites l ON l.site = r.site
    WHERE l.site IS NULL AND r.bucket BETWEEN {first} AND {last}
"""
LARGE: Final = """
    SELECT p.site, p.chunk, p.page, r.url, r.fetched_at, r.content_type, r.link, r.robots, r.body, c.counts
    FROM places p JOIN raw r ON r.page = p.page AND r.site = p.site
    LEFT JOIN site_counts c ON c.site = p.site AND p.nth = 0
    WHERE p.chunk BETWEEN {first} AND {last} AND r.bucket IN ({buckets})
"""
SMALL_SIZES: Final = """
    SELECT r.bucket, COUNT(*) FROM raw r LEFT JOIN large_sites l ON l.site = r.site
    WHERE l.site IS NULL AND r.site IS NOT NULL GROUP BY r.bucket ORDER BY r.bucket
"""
CHUNK_SIZES: Final = "SELECT chunk, COUNT(*) FROM places GROUP BY chunk ORDER BY chunk"
#: LINKS: the links of all pagelets; ``target`` is the page that a link leads to, if it is in the corpus.
LINKS: Final = """
    SELECT l.page, l.url, l.pagelet, l.role, l.target_url, l.anchor, t.page AS target FROM found_links l
    LEFT JOIN (SELECT key, MIN(page) AS page FROM origins GROUP BY key) t ON t.key = l.key AND l.key <> 0
"""
#: The feed, with what was found of near-duplicates.
FEED: Final = """
    SELECT {columns} FROM cleaned_pages p
    LEFT JOIN verdicts v ON v.page % {last} = p.page LEFT JOIN contents d ON d.page = v.duplicate_of {where}
"""
#: Problems with sources, as JSON, and pages that could not be cleaned.
SKIPPED: Final = "SELECT skipped FROM raw WHERE skipped IS NOT NULL ORDER BY page"
FAILURES: Final = "SELECT reason, COUNT(*), MIN(url) FROM failures GROUP BY reason ORDER BY reason"
#: The tables that ``relational`` reads, for local templates (the shingles of a site apart from those of others) and
#: for global ones. Pages of one site are connected by the site, so only links between sites have to be followed.
LOCAL: Final = (
    ("pages", "SELECT page, body_of_site AS sketch FROM origins"),
    ("pagelets", "SELECT page, pagelet, of_site AS shingle FROM shingles"),
)
GLOBAL: Final = (
    ("pages", "SELECT page, body AS sketch FROM origins"),
    ("sites", "SELECT page, site FROM origins"),
    ("pagelets", "SELECT page, pagelet, shingle FROM shingles"),
    (
        "links",
        """
        SELECT DISTINCT l.page AS src, l.target AS dst FROM linked l
        JOIN origins a ON a.page = l.page JOIN origins b ON b.page = l.target WHERE a.site <> b.site
        """,
    ),
)
#: Steps 1 and 2 of Figure 5, and one round of large-star and small-star, each as one statement.
TEMPLATE_CANDIDATES, ROUND = (
    f"WITH {', '.join(f'{name} AS ({select})' for name, select in steps[:-1])} {steps[-1][1]}"
    for steps in (relational.CANDIDATES, relational.ROUND)
)
#: TEMPLATES: one row for each group of pages with a pagelet.
TEMPLATES: Final = """
    SELECT '{form}' AS detection, x.shingle, t.pages, t.sites, o.site, o.url AS first_url, x.text FROM (
        SELECT g.shingle, g.component, COUNT(DISTINCT g.page) AS pages, COUNT(DISTINCT o.site) AS sites,
               MIN(g.page) AS page
        FROM page_groups_{form} g JOIN origins o ON o.page = g.page GROUP BY g.shingle, g.component
        HAVING COUNT(DISTINCT g.page) >= 2
    ) t JOIN origins o ON o.page = t.page
    JOIN (
        SELECT page, {column} AS own, MIN(shingle) AS shingle, MIN(text) AS text FROM shingles GROUP BY page, {column}
    ) x ON x.page = t.page AND x.own = t.shingle
"""
LAST: Final = 1 << 62  # more than any number of a page
#: Number of earlier pages with a band that a page meets, and of those with the most bands that it is compared with.
NEIGHBOURS: Final = 8
VERIFIED: Final = 8
#: Pages, each with the first page that has the same words in the same order.
ORIGINALS: Final = "SELECT page, MIN(page) OVER (PARTITION BY exact) AS original FROM contents"
#: Pages by band; ``place`` numbers those with the same band.
BAND_PLACES: Final = """
    SELECT b.key, b.page, ROW_NUMBER() OVER (PARTITION BY b.key ORDER BY b.page) AS place FROM bands b
    JOIN copies o ON o.page = b.page AND o.original = b.page
"""
#: A row for each band that two pages have in common: by equality of band and place, so no band is too common.
_PAIRED: Final = """
    SELECT a.page, b.page AS earlier FROM band_places a JOIN band_places b ON b.key = a.key AND b.place =
"""
_MEETINGS: Final = " UNION ALL ".join(
    [
        *(f"{_PAIRED} a.place - {step}" for step in range(1, NEIGHBOURS + 1)),
        f"{_PAIRED} 1 WHERE a.place > {NEIGHBOURS + 1}",
    ]
)
#: The earlier page with the same canonical address is a candidate as well, whatever its bands.
_CANONICAL: Final = """
    SELECT c.page, f.earlier FROM contents c JOIN copies o ON o.page = c.page AND o.original = c.page
    JOIN (SELECT x.address, MIN(p.original) AS earlier, MIN(x.page) AS page FROM contents x
          JOIN copies p ON p.page = x.page GROUP BY x.address) f
    ON f.address = c.address AND f.earlier < c.page
"""
CANDIDATES: Final = f"""
    SELECT page, earlier, FALSE AS canonical FROM (
        SELECT page, earlier, ROW_NUMBER() OVER (PARTITION BY page ORDER BY common DESC, earlier) AS place FROM (
            SELECT page, earlier, COUNT(*) AS common FROM ({_MEETINGS}) meetings GROUP BY page, earlier
        ) counted
    ) ranked WHERE place <= {VERIFIED}
    UNION ALL SELECT page, earlier, TRUE AS canonical FROM ({_CANONICAL}) addresses
"""
#: What `compare` needs to know of the two pages of a pair; another version of a page is no duplicate of it. The rows
#: are not sorted: with the shingles of both pages, they have many times the bytes of all contents.
COMPARED: Final = """
    SELECT a.page, b.page AS earlier, p.canonical, a.site, b.site AS earlier_site, a.shingles, a.weights,
           b.shingles AS earlier_shingles, b.weights AS earlier_weights
    FROM {pairs} p JOIN contents a ON a.page = p.page JOIN contents b ON b.page = p.earlier WHERE a.url <> b.url
"""
#: The page that each page resembles most: the page at its canonical address if that is near; of equals the first.
BEST: Final = """
    SELECT page, earlier, similarity FROM (
        SELECT page, earlier, similarity, ROW_NUMBER() OVER (
            PARTITION BY page ORDER BY CASE WHEN canonical THEN 0 ELSE 1 END, similarity DESC, earlier
        ) AS place FROM near
    ) ranked WHERE place = 1
"""
#: Edges of the groups, for `relational.ROUND`, which has one graph for each shingle.
EDGES: Final = "SELECT CAST(0 AS BIGINT) AS shingle, page AS p, earlier AS q FROM best"
#: Pages that resemble another page more than the first page of their group, with that first page.
HEADS: Final = """
    SELECT s.p AS page, s.q AS earlier, FALSE AS canonical FROM group_stars s
    JOIN best b ON b.page = s.p WHERE b.earlier <> s.q
"""
#: For each page, and each copy of it, the page that it is a near-duplicate of; ``head`` is the first page of its group.
VERDICTS: Final = """
    SELECT c.page, o.original,
           CASE WHEN h.page IS NOT NULL THEN h.earlier WHEN b.page IS NOT NULL THEN b.earlier
                WHEN o.original <> c.page THEN o.original END AS duplicate_of,
           CASE WHEN h.page IS NOT NULL THEN h.similarity WHEN b.page IS NOT NULL THEN b.similarity
                WHEN o.original <> c.page THEN CAST(1 AS DOUBLE) END AS similarity,
           COALESCE(s.q, o.original) AS head
    FROM contents c JOIN copies o ON o.page = c.page
    LEFT JOIN best b ON b.page = o.original
    LEFT JOIN near_heads h ON h.page = o.original
    LEFT JOIN group_stars s ON s.p = o.original
"""
#: DUPLICATES: all pages of the groups with two pages or more.
DUPLICATES: Final = f"""
    SELECT h.url AS head_url, v.page % {LAST} AS page, c.url,
           d.url AS duplicate_of, ROUND(v.similarity, 4) AS similarity
    FROM (SELECT page, duplicate_of, similarity, head, COUNT(*) OVER (PARTITION BY head) AS members FROM verdicts) v
    JOIN contents c ON c.page = v.page JOIN contents h ON h.page = v.head
    LEFT JOIN contents d ON d.page = v.duplicate_of WHERE v.members > 1
"""


def compare(table: pa.Table, threshold: Threshold) -> Iterator[pa.Table]:
    """Compute the resemblance of pairs of contents; yield a table of the schema ``PAIRS`` with those that are near."""
    kept = []
    for row in rows_of(table):
        one, other = (
            (np.frombuffer(row[hashes], np.uint32), row[weights] and np.frombuffer(row[weights], np.uint8))
            for hashes, weights in (("shingles", "weights"), ("earlier_shingles", "earlier_weights"))
        )
        similarity = resemblance(one, other, one_site=row["site"] == row["earlier_site"])
        if similarity >= threshold.between(row["site"], row["earlier_site"]):
            kept.append({name: row[name] for name in ("page", "earlier", "canonical")} | {"similarity": similarity})
    yield pa.Table.from_pylist(kept, PAIRS)
