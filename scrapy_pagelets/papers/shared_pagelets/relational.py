"""Template detection in portable SQL, for tables of any size.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2, Figures 4 and 5; statements are named after their tables and steps
(``docs/algorithms/pagelets-templates-2002.md``). Components are found by alternating large-star and small-star
operations, in O(log^2 n) rounds (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii 2014, *Connected Components in
MapReduce and Beyond*). The statements, plain SELECTs, read ``pages (page, sketch)``, in which duplicates have equal
sketches, ``sites (page, site)``, ``pagelets (page, pagelet, shingle)`` and ``links (src, dst)``.
"""

from typing import Final

Steps = tuple[tuple[str, str], ...]  # statements in order, each with the name of the table that it makes
#: Steps 1 and 2 of Figure 5, and all of Figure 4.
CANDIDATES: Final[Steps] = (
    ("originals", "SELECT page, MIN(page) OVER (PARTITION BY sketch) AS original FROM pages"),
    (
        "distinct_pagelets",
        """
        SELECT DISTINCT p.shingle, p.page FROM pagelets p
        JOIN originals o ON o.page = p.page AND o.original = p.page WHERE p.shingle <> 0
        """,
    ),
    ("template_shingles", "SELECT shingle FROM distinct_pagelets GROUP BY shingle HAVING COUNT(*) >= 2"),
    (
        "template_candidates",
        "SELECT d.shingle, d.page FROM distinct_pagelets d JOIN template_shingles t ON t.shingle = d.shingle",
    ),
)
#: Links of pages with candidates, a row for each candidate. This is a table of its own because an engine may otherwise
#: begin with all pairs of pages that have a shingle in common, whose number grows with the square of the pages.
CANDIDATE_LINKS: Final = """
    SELECT a.shingle, a.page AS p, t.original AS q FROM links l
    JOIN originals s ON s.page = l.src JOIN originals t ON t.page = l.dst
    JOIN template_candidates a ON a.page = s.original
"""
#: Step 3 of Figure 5: links, or a site, connect the pages with a shingle. In each pair, the greater page comes first.
TEMPLATE_LINKS: Final = """
    SELECT DISTINCT shingle, GREATEST(p, q) AS p, LEAST(p, q) AS q FROM (
        SELECT l.shingle, l.p, b.page AS q FROM candidate_links l
        JOIN template_candidates b ON b.page = l.q AND b.shingle = l.shingle
        UNION ALL
        SELECT c.shingle, c.page AS p, MIN(c.page) OVER (PARTITION BY c.shingle, s.site) AS q FROM template_candidates c
        JOIN originals o ON o.original = c.page JOIN sites s ON s.page = o.page
    ) pairs WHERE p <> q
"""
#: One round of steps 4 and 5, from ``stars`` to ``next_stars``. Rounds are repeated until the two are equal. Each page
#: is then connected to the first page of its component.
ROUND: Final[Steps] = (
    ("both_ways", "SELECT shingle, p, q FROM stars UNION ALL SELECT shingle, q AS p, p AS q FROM stars"),
    ("centres", "SELECT shingle, p, LEAST(p, MIN(q)) AS centre FROM both_ways GROUP BY shingle, p"),
    (
        "large_stars",
        """
        SELECT DISTINCT b.shingle, b.q AS p, c.centre AS q FROM both_ways b
        JOIN centres c ON c.shingle = b.shingle AND c.p = b.p WHERE b.q > b.p
        """,
    ),
    ("small_centres", "SELECT shingle, p, MIN(q) AS centre FROM large_stars GROUP BY shingle, p"),
    (
        "next_stars",
        """
        SELECT shingle, p, centre AS q FROM small_centres UNION
        SELECT s.shingle, s.q AS p, c.centre AS q FROM large_stars s
        JOIN small_centres c ON c.shingle = s.shingle AND c.p = s.p WHERE s.q <> c.centre
        """,
    ),
)
#: Number of the edges that a round has changed.
CHANGED: Final = """
    SELECT COUNT(*) FROM (
        (SELECT * FROM stars EXCEPT SELECT * FROM next_stars) UNION ALL
        (SELECT * FROM next_stars EXCEPT SELECT * FROM stars)
    ) changed
"""
#: In Figure 4, the pages of a shingle are one group; in Figure 5, each component is.
LOCAL_GROUPS: Final = (
    "SELECT shingle, page, MIN(page) OVER (PARTITION BY shingle) AS component FROM template_candidates"
)
GLOBAL_GROUPS: Final = "SELECT shingle, p AS page, q AS component FROM stars UNION SELECT shingle, q, q FROM stars"
