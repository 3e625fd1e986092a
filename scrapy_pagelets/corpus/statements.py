"""The statements of the corpus job in portable SQL, which DuckDB and Spark both run.

Each is a plain SELECT over the tables that came before; the engines store its result.
"""

from __future__ import annotations

from typing import Final

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
    SELECT s.site, s.part, s.page, r.url, r.content_type, r.body FROM sample s
    JOIN raw r ON r.page = s.page AND r.site = s.site
"""
#: Pages of small sites in some buckets, and those of some chunks of large sites; the first page of a chunk brings what
#: was learnt of its site.
SMALL: Final = """
    SELECT r.site, CAST(0 AS BIGINT) AS chunk, r.page, r.url, r.fetched_at, r.content_type, r.body,
           CAST(NULL AS {binary}) AS counts
    FROM raw r LEFT JOIN large_sites l ON l.site = r.site
    WHERE l.site IS NULL AND r.bucket BETWEEN {first} AND {last}
"""
LARGE: Final = """
    SELECT p.site, p.chunk, p.page, r.url, r.fetched_at, r.content_type, r.body, c.counts
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
#: Step 3 of Figure 5: pages are connected by links, and by their site.
CANDIDATE_LINKS: Final = relational.CANDIDATE_LINKS
GLOBAL_EDGES: Final = relational.TEMPLATE_LINKS
#: One round of large-star and small-star as one statement.
ROUND: Final = (
    f"WITH {', '.join(f'{name} AS ({select})' for name, select in relational.ROUND[:-1])} {relational.ROUND[-1][1]}"
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
