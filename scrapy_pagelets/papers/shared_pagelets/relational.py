"""Template detection in portable SQL, here on DuckDB, with the same results as ``batch``, for tables of any size.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2, Figures 4 and 5. The statements are named after their tables and
steps (``docs/algorithms/pagelets-templates-2002.md``). Components are found by alternating large-star and small-star
operations, in O(log^2 n) rounds (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii 2014, *Connected Components in
MapReduce and Beyond*).

The statements read the tables ``pages (page, sketch)``, in which duplicates have equal sketches, ``sites (page,
site)``, ``pagelets (page, pagelet, shingle)`` and ``links (src, dst)``. They are plain SELECTs, so that any engine can
store their results as tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Final

from scrapy_pagelets.papers.shared_pagelets.global_templates import Authority, RepeatedPagelet, check, check_least
from scrapy_pagelets.papers.shared_pagelets.pagelet_tables import Key, Links, Pagelets, columns, read

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Statements in order, each with the name of the table that it makes.
Steps = tuple[tuple[str, str], ...]
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
CANDIDATE_LINKS: Final[Steps] = (
    (
        "candidate_links",
        """
        SELECT a.shingle, a.page AS p, t.original AS q FROM links l
        JOIN originals s ON s.page = l.src JOIN originals t ON t.page = l.dst
        JOIN template_candidates a ON a.page = s.original
        """,
    ),
)
_BY_LINKS: Final = """
    SELECT l.shingle, l.p, b.page AS q FROM candidate_links l
    JOIN template_candidates b ON b.page = l.q AND b.shingle = l.shingle
"""
_BY_SITE: Final = """
    SELECT c.shingle, c.page AS p, MIN(c.page) OVER (PARTITION BY c.shingle, s.site) AS q FROM template_candidates c
    JOIN originals o ON o.original = c.page JOIN sites s ON s.page = o.page
"""
#: Step 3 of Figure 5 by authority: TEMPLATE_LINKS, in each pair the greater page first.
TEMPLATE_LINKS: Final[Mapping[str, str]] = {
    authority: f"SELECT DISTINCT shingle, GREATEST(p, q) AS p, LEAST(p, q) AS q FROM ({pairs}) pairs WHERE p <> q"
    for authority, pairs in (
        ("links", _BY_LINKS),
        ("domain", _BY_SITE),
        ("either", f"{_BY_LINKS} UNION ALL {_BY_SITE}"),
    )
}
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
#: The result, one row for each pagelet of a template; ``{least}`` is the minimum number of pages of a template.
TEMPLATES: Final = """
    SELECT DISTINCT p.shingle, g.component, p.page, p.pagelet FROM pagelets p
    JOIN page_groups g ON g.shingle = p.shingle AND g.page = p.page
    JOIN (SELECT shingle, component FROM page_groups GROUP BY shingle, component HAVING COUNT(*) >= {least}) t
    ON t.shingle = g.shingle AND t.component = g.component
    ORDER BY p.shingle, g.component, p.page, p.pagelet
"""


def local_templates(
    pagelets: Pagelets, *, sketches: Mapping[Key, int] | None = None, least: int = 2
) -> list[RepeatedPagelet]:
    """``batch.local_templates`` on DuckDB.

    Raises
    ------
    ImportError : if DuckDB is not installed
    """
    with _loaded(pagelets, sketches) as connection:
        run(connection, CANDIDATES)
        run(connection, (("page_groups", LOCAL_GROUPS),))
        return templates(connection, check_least(least))


def global_templates(
    pagelets: Pagelets,
    links: Links,
    *,
    authority: Authority = "links",
    sites: Mapping[Key, Hashable] | None = None,
    sketches: Mapping[Key, int] | None = None,
    least: int = 2,
) -> list[RepeatedPagelet]:
    """``batch.global_templates`` on DuckDB.

    Raises
    ------
    ImportError : if DuckDB is not installed
    """
    with _loaded(pagelets, sketches or {}, links, sites, check(authority)) as connection:
        run(connection, CANDIDATES)
        run(connection, CANDIDATE_LINKS)
        run(connection, (("stars", TEMPLATE_LINKS[authority]),))
        connect(connection)
        run(connection, (("page_groups", GLOBAL_GROUPS),))
        return templates(connection, check_least(least))


def run(connection: DuckDBPyConnection, steps: Steps) -> None:
    """Create the table of each step."""
    for name, select in steps:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {select}")


def connect(connection: DuckDBPyConnection) -> None:
    """Turn ``stars``, edges (shingle, p, q) with p > q, into stars: p a page, q the first page of its component."""
    changed = 1
    while changed:
        run(connection, ROUND)
        changed = connection.sql(CHANGED).fetchall()[0][0]
        run(connection, (("stars", "SELECT * FROM next_stars"),))


def templates(connection: DuckDBPyConnection, least: int) -> list[RepeatedPagelet]:
    """Read the result as templates."""
    rows = connection.sql(TEMPLATES.format(least=int(least))).fetchall()
    return [
        RepeatedPagelet(shingle, tuple((page, pagelet) for _, _, page, pagelet in group))
        for (shingle, _), group in groupby(rows, lambda row: row[:2])
    ]


@contextmanager
def _loaded(
    pagelets: Pagelets,
    sketches: Mapping[Key, int] | None,
    links: Links = (),
    sites: Mapping[Key, Hashable] | None = None,
    authority: Authority = "links",
) -> Iterator[DuckDBPyConnection]:
    """Open an in-memory database with the tables."""
    try:
        import duckdb
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            "the relational form of template detection needs DuckDB: pip install 'scrapy-pagelets[corpus]'"
        ) from error
    table = read(pagelets, sketches)
    key = pa.string() if table.pages and isinstance(table.pages[0], str) else pa.int64()
    sources, targets = columns(links, 2, "LINKS have two columns, source and target")
    known = set(table.pages)
    inside = [i for i, ends in enumerate(zip(sources, targets, strict=True)) if known.issuperset(ends)]
    owned = [] if authority == "links" else table.sites(sites)
    number = {site: i for i, site in enumerate(dict.fromkeys(owned))}
    content = {
        "pages": {"page": pa.array(table.pages, key), "sketch": table.mark},
        "sites": {
            "page": pa.array(table.pages[: len(owned)], key),
            "site": pa.array(map(number.get, owned), pa.int64()),
        },
        "pagelets": {
            "page": pa.array([table.pages[i] for i in table.page], key),
            "pagelet": table.pagelet,
            "shingle": table.shingle,
        },
        "links": {
            "src": pa.array([sources[i] for i in inside], key),
            "dst": pa.array([targets[i] for i in inside], key),
        },
    }
    with duckdb.connect(":memory:") as connection:
        for name, columns_of in content.items():
            connection.register(name, pa.table(columns_of))
        yield connection
