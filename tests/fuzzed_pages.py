"""Mutated real pages, made-up ones and random bytes, each cleaned as the next page of one site.

    python -m tests.fuzzed_pages 300        # a hash of each page and of all that was made of it; always the same pages

A build with sanitizers ends at the first fault, after the page that caused it: ``fuzzed_page.html`` has its bytes.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scrapy_pagelets import Page, Site, markdown, segment
from tests.trees import soups

PAGES = [path.read_bytes() for path in sorted(Path(__file__).with_name("site").rglob("*.html"))]
LAST = Path("fuzzed_page.html")
#: What parsers and those who read trees stumble over.
SNAGS = [
    b"<table>", b"</div>", b"<p hidden>", b"<pre>\n", b"<!--", b"-->", b"<![CDATA[", b"<?x", b"&#0;", b"&#x110000;",
    b"&", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae", b"<a href='//[::1'>",
    b"<a href='http://\xc3'>",
    b"<base href='x:y'>", b"<svg><title>", b"<math><mi>", b"<template>", b"<noscript>", b"<iframe src=a>", b"<html>",
    b"<head>", b"<frameset>", b"<select><option>", b"<meta charset=utf-16>", b"<i class='" + b"x " * 3000 + b"'>",
    b"<b>" * 300, b"<li>" * 50, b"1 a " * 2000, b"<a href='" + b"a/../" * 500 + b"'>x</a>",
]  # fmt: skip

#: Where a mutation takes place and how much it concerns, as shares of the page; and what is put there.
places = st.tuples(st.floats(0, 1), st.floats(0, 0.1))
edits = st.one_of(
    st.tuples(st.just("cut"), places, st.just(b"")),
    st.tuples(st.just("repeat"), places, st.just(b"")),
    st.tuples(st.just("insert"), places, st.one_of(st.sampled_from(SNAGS), st.binary(max_size=20))),
)


def edited(page: bytes, changes: list[tuple[str, tuple[float, float], bytes]]) -> bytes:
    """A page after some changes."""
    for what, (place, share), inserted in changes:
        start = int(place * len(page))
        end = start + int(share * len(page))
        part = {"cut": b"", "repeat": page[start:end] * 2, "insert": inserted + page[start:end]}[what]
        page = page[:start] + part + page[end:]
    return page


bodies = st.one_of(
    st.builds(edited, st.sampled_from(PAGES), st.lists(edits, min_size=1, max_size=6)),
    st.builds(edited, soups.map(str.encode), st.lists(edits, max_size=3)),
    st.binary(max_size=400),
)


def made_of(page: Page, site: Site) -> list[object]:
    """All that is made of the next page of a site."""
    site.learn(page)
    templateness = site.templateness(page)
    nodes = page.nodes
    columns = [nodes.tag, nodes.parent, nodes.end, nodes.path, nodes.signature, nodes.shape, nodes.text, nodes.words]
    records = [pagelet.record() for pagelet in segment(page, templateness)]
    links = [page.key, page.canonical_url, page.title, page.language]
    return [[column.tolist() for column in columns], templateness.tolist(), records, links, markdown(page, site)]


def main(count: int) -> None:
    site = Site("example.com")

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(bodies)
    def clean(body: bytes) -> None:
        LAST.write_bytes(body)
        page = Page.parse(body, f"http://example.com/{site.pages}")
        print(blake2b(body, digest_size=8).hexdigest(), blake2b(repr(made_of(page, site)).encode()).hexdigest())

    clean()


if __name__ == "__main__":
    main(int(sys.argv[1]))
