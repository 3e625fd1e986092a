"""Near-duplicates of a corpus in portable SQL: candidates by bands, groups by connected components.

The decision is that of a crawl (`duplicates.content_store`): each page is compared with earlier ones only, belongs to
the group of the one that it resembles most, and is called a near-duplicate of the first page of the group, or of that
one if it does not resemble the first enough. A crawl asks its index for the contents with the most bands in common;
here each page meets, for each of its bands, the ``NEIGHBOURS`` pages before it that have the band, and the first one.
Pages are in the order of their numbers, but those that declare another page as the canonical one come last: ``LAST`` is
added to their numbers.
Components come from the large-star and small-star operations of ``templates.detection.relational``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scrapy_pagelets.corpus.schemas import PAIRS
from scrapy_pagelets.corpus.site_learning import rows_of
from scrapy_pagelets.duplicates.shingles import jaccard, weighted_jaccard
from scrapy_pagelets.duplicates.threshold import Threshold

#: More than any number of a page.
LAST: Final = 1 << 62
#: Earlier pages with the same band that a page is compared with, and pages with the most common bands of all those.
NEIGHBOURS: Final = 8
VERIFIED: Final = 8

#: Contents, of which the first page with the same words in the same order counts.
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
#: What `Compare` needs to know of the two pages of a pair; another version of a page is no duplicate of it. The rows
#: are not sorted: with the shingles of both pages, they have many times the bytes of all contents.
COMPARED: Final = """
    SELECT a.page, b.page AS earlier, p.canonical, a.site, b.site AS earlier_site, a.shingles, a.weights,
           b.shingles AS earlier_shingles, b.weights AS earlier_weights
    FROM {pairs} p JOIN contents a ON a.page = p.page JOIN contents b ON b.page = p.earlier WHERE a.url <> b.url
"""
#: The page that each page resembles most: the one at its canonical address, if that is near; of equals the first.
BEST: Final = """
    SELECT page, earlier, similarity FROM (
        SELECT page, earlier, similarity, ROW_NUMBER() OVER (
            PARTITION BY page ORDER BY CASE WHEN canonical THEN 0 ELSE 1 END, similarity DESC, earlier
        ) AS place FROM near
    ) ranked WHERE place = 1
"""
#: Edges of the groups, for `relational.ROUND`, which has one graph for each shingle.
EDGES: Final = "SELECT CAST(0 AS BIGINT) AS shingle, page AS p, earlier AS q FROM best"
#: Pages with the first page of their group, if that is not the one that they resemble most.
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


class Compare:
    """Compute the resemblance of pairs of contents; keep those from the threshold on."""

    def __init__(self, threshold: Threshold) -> None:
        self._threshold = threshold

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield tables of the schema ``PAIRS``."""
        kept = []
        for row in rows_of(table):
            similarity = _resemblance(row)
            if similarity >= self._threshold.between(row["site"], row["earlier_site"]):
                kept.append({name: row[name] for name in ("page", "earlier", "canonical")})
                kept[-1]["similarity"] = similarity
        yield pa.Table.from_pylist(kept, PAIRS)


def _resemblance(row: dict[str, Any]) -> float:
    """As a crawl compares contents: by weights if the sites differ."""
    one, other = (np.frombuffer(row[name], np.uint32) for name in ("shingles", "earlier_shingles"))
    if row["site"] == row["earlier_site"] or row["weights"] is None or row["earlier_weights"] is None:
        return jaccard(one, other)
    weights, others = (np.frombuffer(row[name], np.uint8) for name in ("weights", "earlier_weights"))
    return weighted_jaccard(one, weights, other, others)
