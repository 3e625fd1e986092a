"""The command ``pagelets duplicates``: near-duplicates in a feed, copied blocks, copied hosts, and excerpts."""

import argparse
from collections.abc import Iterator
from typing import Final

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.duplicates.band_index import BloomBands
from scrapy_pagelets.duplicates.groups import connected, mirrors, near_groups, near_pairs, on_several_hosts
from scrapy_pagelets.duplicates.shingles import shingles, word_hashes
from scrapy_pagelets.duplicates.sketch import Sketched, SketchError, Threshold, contained, lean_minhash, minhash
from scrapy_pagelets.feed.feed_reader import Feed, content_text
from scrapy_pagelets.page.urls import host_of, site_of
from scrapy_pagelets.session.config import Config

EXAMPLES: Final = ("pagelets duplicates pages.jsonl", "pagelets duplicates pages.jsonl --pagelets")
_COLUMNS: Final = ("text", "pagelets", "near_duplicate_of", "similarity")
_SKETCHED: Final = "crawl without PAGELETS_DUPLICATES=off and PAGELETS_FIELDS=lean"
_SHOWN: Final = 60  # texts of blocks are cut to this length


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), as the spiders write them")
    parser.add_argument("--pagelets", action="store_true", help="compare blocks; show those that are on several hosts")
    parser.add_argument(
        "--bloom", type=int, metavar="PAGES",
        help="for large feeds: fixed memory for so many pages; show only which resemble an earlier one, on any site",
    )  # fmt: skip
    parser.add_argument(
        "--contained", type=float, metavar="SHARE",
        help="show the pages of whose content at least this share stands on a larger page, as of excerpts, digests and "
        "print versions; the feed needs the field sketch",
    )  # fmt: skip
    within, across = Threshold().within, Threshold().across
    about = "similarity of near-duplicates within a site (default: %(default)s)"
    parser.add_argument("--threshold", type=float, default=within, help=about)
    parser.add_argument("--across", type=float, default=across, help="the same between sites (default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    feed = Feed(options.feed, _COLUMNS, ("text",), ("pagelets",) if options.pagelets else ("text", "pagelets"))
    Config(duplicates_threshold=options.threshold, duplicates_threshold_across=options.across)
    table = _blocks if options.pagelets else _groups
    if options.contained is not None:
        feed = Feed(options.feed, ("text", "pagelets", "sketch"), ("text",), ("sketch",), _SKETCHED)
        table = _excerpts
    elif options.bloom is not None:
        table = _repeated
    for line in table(feed, options):
        show(line)
    warn(feed.note)


def _groups(feed: Feed, options: argparse.Namespace) -> Iterator[str]:
    """A line for each page that has near-duplicates, by group; then the hosts that are copies."""
    urls, named, alike = list[str](), list[tuple[str, str, float]](), dict[str, float]()

    def texts() -> Iterator[tuple[str, str]]:
        for line in feed:
            if line.get("near_duplicate_of"):
                named.append((line["near_duplicate_of"], line["url"], line.get("similarity") or 0.0))
            urls.append(line["url"])
            yield site_of(line["url"]), content_text(line)

    found = list(near_pairs(texts(), Threshold(options.threshold, options.across)))
    pairs = [(urls[of], urls[n], s) for n, of, s in found] + named
    for of, url, similarity in pairs:
        for one in (of, url):
            alike[one] = max(similarity, alike.get(one, 0.0))
    groups = sorted(connected((of, url) for of, url, _ in pairs), key=len, reverse=True)
    yield f"{len(urls)} pages, {sum(map(len, groups)) - len(groups)} of them near-duplicates of another one"
    if groups:
        yield ""
        yield f"{'group':>5}  {'similarity':>10}  page"
    for number, group in enumerate(groups, 1):
        yield from (f"{number:>5}  {alike[url]:>10.3f}  {url}" for url in group)
    if copies := mirrors(groups, urls):
        yield ""
        yield f"{'pages':>5}  {'of its own':>10}  host that is a copy of another one"
        yield from (f"{m.pages:>5}  {m.share:>10.0%}  {m.host} of {m.of}" for m in copies)


def _blocks(feed: Feed, options: argparse.Namespace) -> Iterator[str]:
    urls = list[str]()

    def blocks() -> Iterator[tuple[str, str]]:
        for line in feed:
            for pagelet in line["pagelets"]:
                urls.append(line["url"])
                yield host_of(line["url"]), pagelet["text"]

    rows = on_several_hosts(near_groups(blocks(), Threshold(options.threshold, options.across)), urls)
    yield f"{len(urls)} pagelets, {len(rows)} blocks on several hosts"
    if rows:
        wanted = {block for block, _, _ in rows}
        found = enumerate(pagelet["text"] for line in feed for pagelet in line["pagelets"])
        texts = {i: " ".join(text[: 2 * _SHOWN].split())[:_SHOWN] for i, text in found if i in wanted}
        yield ""
        yield f"{'hosts':>5}  {'pages':>10}  text"
        yield from (f"{hosts:>5}  {on:>10}  {texts[block]}" for block, on, hosts in rows)


def _repeated(feed: Feed, options: argparse.Namespace) -> Iterator[str]:
    if options.bloom < 1:
        raise ConfigError(f"--bloom is {options.bloom}: give the number of pages, from 1")
    if options.pagelets:
        raise ConfigError("--bloom compares pages: leave out --pagelets")
    filters = BloomBands(options.bloom, options.threshold)
    for line in feed:
        hashes = shingles(word_hashes(content_text(line)))
        if len(hashes) and filters.add(minhash(hashes)[None])[0]:
            yield line["url"]


def _excerpts(feed: Feed, options: argparse.Namespace) -> Iterator[str]:
    if not 0 < options.contained <= 1:
        raise ConfigError(f"--contained is {options.contained}: give a share above 0 to 1, as 0.9")
    if options.pagelets or options.bloom is not None:
        raise ConfigError("--contained compares pages by their sketches: leave out --pagelets and --bloom")
    urls, texts = list[str](), list[Sketched]()
    try:
        for line in feed:
            if len(hashes := shingles(word_hashes(content_text(line)))):
                urls.append(line["url"])
                texts.append(Sketched(lean_minhash(line["sketch"]), hashes))
    except SketchError as error:
        raise feed.error(str(error)) from None
    if not texts:
        raise feed.error("its pages have sketches, but neither text nor pagelets: crawl with one of these fields")
    rows = sorted(contained(texts, options.contained), key=lambda row: (-row[2], row))
    yield f"{len(urls)} pages, {len(rows)} of them inside of a larger one"
    if rows:
        yield ""
        yield f"{'share':>10}  page"
    yield from (f"{share:>10.3f}  {urls[number]} in {urls[of]}" for number, of, share in rows)
