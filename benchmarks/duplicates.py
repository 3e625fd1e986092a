"""Near-duplicates: speed, size and accuracy.

    python -m benchmarks duplicates speed               # signatures and index, beside rensa, gaoya and datasketch
    python -m benchmarks duplicates sites --feeds DIR   # pairs within the sites of a folder of feeds, judged again
    python -m benchmarks duplicates search --feeds DIR  # excerpts and similar pages, beside comparisons of all pages
    python -m benchmarks duplicates twins --feed FEED   # the same texts in three templates; the table of the paper
    python -m benchmarks duplicates grafts              # the same texts in the templates of many sites, without a crawl

``speed`` uses texts of the sites of ``--data`` and random sketches; ``pip install rensa gaoya`` for the comparison.
Times are processor time; compare times of the same run only. ``sites`` and ``twins`` need the referee (``--referee``).
``sites`` applies the default settings to the texts of existing feeds (``python -m benchmarks sites``), and to gold and
full text. ``search`` takes all feeds for one, and compares what `pagelets duplicates --contained` and `pagelets
similar` find by datasketch with the exact answers, from the number of common shingles of each pair of texts (a product
of sparse matrices). ``grafts`` compares content whose words count the same with content that is weighed (`certainty`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.grafts import Graft, article_texts, grafts_of
from benchmarks.printed_segments import FORMS, parts
from benchmarks.tools import need, option_parser, referee, sites_below, table
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.band_index import BandIndex
from scrapy_pagelets.duplicates.content_store import ContentStore, PageText
from scrapy_pagelets.duplicates.groups import connected
from scrapy_pagelets.duplicates.shingles import SIZE, Hashes, shingles, word_hashes, word_weights
from scrapy_pagelets.duplicates.sketch import (
    LEAST,
    PERMUTATIONS,
    SCHEME,
    SEED,
    Sketched,
    band_keys,
    banding,
    contained,
    encode,
    lean_minhash,
    minhash,
    minhashes,
    most_similar,
)
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import is_template
from scrapy_pagelets.page.text import plain
from scrapy_pagelets.page.urls import key, site_of
from scrapy_pagelets.papers.graph_cuts.segment_weights import INNER, load
from tests.oracles.minima import largest, near, signature

THRESHOLD = 0.8
BLOCK = 10_000
#: Methods that are slow or need gigabytes are measured up to this number of documents.
SMALL = 100_000
#: Number of documents for measurements that sketch, look up and store whole texts.
FEW = 10_000
TEXTS = 400
#: Grafted texts, and the sites on which each is met at a time.
GRAFTED, AT_ONCE = 40, 3
#: For `search`: shares of a text on another page, pages that others are similar to, and how many of these are shown.
LEAST_SHARES, ASKED, SIMILAR = (0.9, 1.0), 100, 10
#: Segmenters whose largest segment is tried on the twins, beside CClus as printed.
CUTS = ("gcuts-strict", "gcuts", "gcuts-top", "cclus", "pagelets")
CCLUS = "CClus"
#: Pairs found and kept apart in the paper's Table 2.
PRINTED = {"full text": "30.9% 88.7%", "gcuts-strict": "61.7% 99.9%", CCLUS: "34.3% 94.9%"}


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("what", choices=("speed", "sites", "search", "twins", "grafts"))
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument(
        "--feeds", type=Path, default=Path("out/sites"), help="folder of feeds, for `sites` and `search`"
    )
    parser.add_argument("--feed", type=Path, help="output of `scrapy crawl archive` on the twins, for `twins`")
    parser.add_argument("--model", default=LABELLED, help="name or path of the model, for `grafts`")
    parser.add_argument("--sizes", default="100000,1000000", help="numbers of documents, for `speed`")
    args = parser.parse_args(argv)
    {"speed": speed, "sites": sites, "search": search, "twins": twins, "grafts": grafts}[args.what](args)


def speed(args: argparse.Namespace) -> None:
    signatures(texts_of(args.data))
    for size in map(int, args.sizes.split(",")):
        print()
        lookups(size)


def texts_of(data: Path) -> list[str]:
    """Gold content of some hundred pages of different sites."""
    found: list[str] = []
    for folder in sorted(sites_below(data).iterdir()):
        if (gold := folder / "gold.jsonl.gz").exists():
            with gzip.open(gold, "rt", encoding="utf-8") as file:
                found += [json.loads(line)["content"] for line in file][:10]
    return [text for text in found if len(words(text)) >= SIZE][:TEXTS]


def clock(run: Callable[[], Any], times: int = 3) -> float:
    """Processor seconds of the fastest run, because other programs may use the machine as well."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def strings_of(text: str) -> list[str]:
    found = words(text)
    return [" ".join(found[i : i + SIZE]) for i in range(len(found) - SIZE + 1)]


def signatures(texts: list[str]) -> None:
    """Print millions of shingles per second, from texts and from existing shingles."""
    from datasketch import MinHash

    strings = list(map(strings_of, texts))
    total = sum(map(len, strings))
    hashes = [shingles(word_hashes(text)) for text in texts]
    rows: list[tuple[str, Callable[[str], Any] | None, Callable[[int], Any]]] = [
        ("scrapy-pagelets", lambda text: minhash(shingles(word_hashes(text))), lambda i: minhash(hashes[i]))
    ]
    if find_spec("rensa"):
        from rensa import RMinHash

        def by_rensa(found: list[str]) -> Any:
            sketch = RMinHash(num_perm=PERMUTATIONS, seed=SEED)
            sketch.update(found)
            return sketch.digest()

        rows.append(("rensa", lambda text: by_rensa(strings_of(text)), lambda i: by_rensa(strings[i])))
    if find_spec("gaoya"):
        index = gaoya_index()
        rows.append(("gaoya (words by white space)", index.query, None))  # type: ignore[arg-type]

    def by_datasketch(found: list[str]) -> Any:
        sketch = MinHash(PERMUTATIONS, SEED, scheme=SCHEME)
        sketch.update_batch([shingle.encode("utf-8", "replace") for shingle in found])
        return sketch

    rows.append(("datasketch", lambda text: by_datasketch(strings_of(text)), lambda i: by_datasketch(strings[i])))
    at_once: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "scrapy-pagelets, texts at once": (
            lambda: minhashes([shingles(word_hashes(text)) for text in texts]),
            lambda: minhashes(hashes),
        )
    }
    print(f"Signatures of {PERMUTATIONS} values, {len(texts)} texts, {total} shingles; million shingles per second\n")
    found = [[name, *(total / clock(run) / 1e6 for run in runs)] for name, runs in at_once.items()]
    for name, of_text, of_shingles in rows:
        slow = total / clock(lambda f=of_text: [f(text) for text in texts]) / 1e6  # type: ignore[misc]
        fast = None
        if of_shingles is not None:
            fast = total / clock(lambda f=of_shingles: [f(i) for i in range(len(texts))]) / 1e6  # type: ignore[misc]
        found.append([name, slow, fast])
    table(["", "from texts", "from shingles"], found)


def gaoya_index() -> Any:
    from gaoya.minhash import MinHashStringIndex

    bands, rows = banding(THRESHOLD)
    return MinHashStringIndex(
        hash_size=32, jaccard_threshold=THRESHOLD, num_bands=bands, band_size=rows, num_hashes=bands * rows,
        analyzer="word", lowercase=True, ngram_range=(SIZE, SIZE),
    )  # fmt: skip


def sketches(size: int) -> Iterator[np.ndarray[Any, Any]]:
    """Random sketches in blocks; every tenth is a near-duplicate of the one before."""
    generator = np.random.default_rng(0)
    for _ in range(0, size, BLOCK):
        block = generator.integers(0, 2**32, (min(BLOCK, size), PERMUTATIONS), np.uint32)
        copied = np.where(generator.random((len(block) // 10, PERMUTATIONS)) < 0.9, block[0::10], block[1::10])
        block[1::10] = copied
        yield block


def lookups(size: int) -> None:
    """Print inserts with queries per second, and bytes per document, for an index of ``size`` sketches."""
    rows = [ours(size, BLOCK)]
    if size <= SMALL:
        rows += [ours(size, 1), plain_datasketch(size)]
    if find_spec("rensa"):
        rows.append(by_rensa(size))
    rows.append(stored(FEW))
    if find_spec("gaoya"):
        rows.append(by_gaoya(FEW))
    print(f"{size} sketches, each added and looked up; a tenth are near-duplicates\n")
    table(["", "documents per second", "bytes each", "candidates"], rows)


def ours(size: int, step: int) -> list[Any]:
    index, seconds, found = BandIndex(THRESHOLD), 0.0, 0
    for block in sketches(size):
        start = time.process_time()
        for i in range(0, len(block), step):
            keys = band_keys(block[i : i + step], THRESHOLD)
            first = index.add(keys)
            row, number, _ = index.query(keys)
            found += int((number < row + first).sum())
        seconds += time.process_time() - start
    name = f"BandIndex, {step} at once" if step > 1 else "BandIndex, one by one"
    return [name, round(size / seconds), round(index.nbytes / size), found]


def stored(size: int) -> list[Any]:
    """All steps of a crawl, on texts of 100 words: tokens, sketch, candidates, verification, SQLite."""
    path = Path("out/duplicates.sqlite")
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    store, found, seconds = ContentStore(path), 0, 0.0
    for number, text in enumerate(made_up(size)):
        start = time.process_time()
        found += store.add(PageText(f"http://example.com/{number}", text, number, "example.com"))[0] is not None
        seconds += time.process_time() - start
    store.close()
    each = round(path.stat().st_size / size)
    path.unlink()
    return [f"ContentStore, {size} texts of 100 words", round(size / seconds), each, found]


def made_up(size: int) -> Iterator[str]:
    """Texts of 100 words; every tenth is a near-duplicate of the one before."""
    generator = np.random.default_rng(0)
    vocabulary, text = [f"word{i}" for i in range(50_000)], ""
    for number in range(size):
        if number % 10 == 1:
            text += " and more"
        else:
            text = " ".join(vocabulary[i] for i in generator.integers(0, len(vocabulary), 100))
        yield text


def by_gaoya(size: int) -> list[Any]:
    index, seconds, found = gaoya_index(), 0.0, 0
    for number, text in enumerate(made_up(size)):
        start = time.process_time()
        found += len(index.query(text))
        index.insert_document(number, text)
        seconds += time.process_time() - start
    return [f"gaoya, {size} texts of 100 words", round(size / seconds), None, found]


def plain_datasketch(size: int) -> list[Any]:
    from datasketch import MinHash, MinHashLSH

    lsh, seconds, found = MinHashLSH(num_perm=PERMUTATIONS, params=banding(THRESHOLD)), 0.0, 0
    resident = memory()
    for number, block in enumerate(sketches(size)):
        made = [MinHash(seed=SEED, hashvalues=row, scheme=SCHEME) for row in block]
        start = time.process_time()
        for i, sketch in enumerate(made):
            found += len(lsh.query(sketch))
            lsh.insert(number * BLOCK + i, sketch)
        seconds += time.process_time() - start
    return ["datasketch MinHashLSH", round(size / seconds), round((memory() - resident) / size), found]


def by_rensa(size: int) -> list[Any]:
    from rensa import RMinHash, RMinHashLSH

    lsh, seconds = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=16), 0.0
    resident = memory()
    for number, block in enumerate(sketches(size)):
        made = []
        for row in block:
            sketch = RMinHash(num_perm=PERMUTATIONS, seed=SEED)
            sketch.update([str(value) for value in row[:16]])
            made.append(sketch)
        start = time.process_time()
        for i, sketch in enumerate(made):
            lsh.query(sketch)
            lsh.insert(number * BLOCK + i, sketch)
        seconds += time.process_time() - start
    return ["rensa RMinHashLSH, 16 bands", round(size / seconds), round((memory() - resident) / size), None]


def memory() -> int:
    """Resident memory of this process, in bytes."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def judged(pages: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Lines of a feed for URLs and texts, judged with the default settings."""
    return judged_documents(PageText(url, text, key(url), site_of(url)) for url, text in pages)


def judged_documents(documents: Iterable[PageText]) -> list[dict[str, Any]]:
    store = ContentStore(None)
    lines = []
    for document in documents:
        verdict, _ = store.add(document)
        lines.append({"url": document.url, "near_duplicate_of": verdict.url if verdict else None})
    store.close()
    return lines


def sites(args: argparse.Namespace) -> None:
    """Print pairs within sites: the flagged ones against those whose gold contents resemble each other by 0.8."""
    score = referee(args.referee)
    feeds = sorted(need(args.feeds, "name a folder of feeds with --feeds").glob("*.jsonl"))
    kinds = ("cleaned text", "gold", "full text")
    sums = {kind: np.zeros(3, np.int64) for kind in kinds}
    wrong = []
    for path in feeds:
        gold = score.read(need(sites_below(args.data) / path.stem / "gold.jsonl.gz", "feeds are named after sites"))
        feed = score.read(path)
        got = score.by_path(feed, [g["path"] for g in gold])
        there = [(got[g["path"]]["url"], g) for g in gold if got[g["path"]]]
        pages = {
            "cleaned text": [(line["url"], line["text"] or "") for line in feed],
            "gold": [(url, g["content"]) for url, g in there],
            "full text": [(url, g["full"]) for url, g in there],
        }
        for kind in kinds:
            pairs = score.score_pairs(judged(pages[kind]), gold)
            counts = [pairs[name] for name in ("true_pairs", "flagged_pairs", "right")]
            sums[kind] += counts
            if kind == "cleaned text" and len(set(counts)) > 1:
                wrong.append([path.stem, *counts])
    print(f"Pairs of near-duplicates within {len(feeds)} sites\n")
    rows = [[kind, *map(int, n), n[2] / max(n[1], 1), n[2] / max(n[0], 1)] for kind, n in sums.items()]
    table(["", "true", "flagged", "right", "precision", "recall"], rows)
    if wrong:
        print("\nSites with errors on cleaned text\n")
        table(["site", "true", "flagged", "right"], wrong)


def search(args: argparse.Namespace) -> None:
    """Print what the search of datasketch finds of the exact answers, and the times of both."""
    feeds = sorted(need(args.feeds, "name a folder of feeds with --feeds").glob("*.jsonl"))
    contents = [line["text"] or "" for feed in feeds for line in map(json.loads, feed.open(encoding="utf-8"))]
    sets = [shingles(tokens) for text in contents if len(tokens := word_hashes(text)) >= SIZE]
    texts = [Sketched(lean_minhash(encode(minhash(found))), found) for found in sets]
    sizes = np.array(list(map(len, sets)))
    start = time.process_time()
    common = in_common(sets)
    together = time.process_time() - start
    rows: list[list[Any]] = []
    for least in LEAST_SHARES:
        start = time.process_time()
        found = {number: share for number, _, share in contained(texts, least)}
        middle = time.process_time()
        exact = on_larger(common, sizes, least)
        seconds = middle - start, together + time.process_time() - middle
        rows.append([f"stand on another page, {least}", len(exact), len(found.keys() & exact), *seconds])
    minhashes_ = [text.minhash for text in texts]
    asked = random.Random(0).sample(range(len(texts)), min(ASKED, len(texts)))
    start = time.process_time()
    lists = [{other for other, _ in most_similar(minhashes_, number, SIMILAR)} for number in asked]
    middle = time.process_time()
    best = [nearest(common, sizes, number) for number in asked]
    seconds = (middle - start) / len(asked), (time.process_time() - middle) / len(asked)
    hits = sum(len(one & other) for one, other in zip(lists, best, strict=True))
    rows.append([f"the {SIMILAR} most similar to one page", sum(map(len, best)), hits, *seconds])
    print(f"{len(texts)} texts of {len(feeds)} sites; {together:.2f} s to count the common shingles of all pairs\n")
    table(["", "exact", "found of these", "seconds", "seconds of the exact answer"], rows)


def in_common(sets: Sequence[Hashes]) -> csr_array:
    """(n, n) the number of shingles that two texts have in common."""
    found, columns = np.unique(np.concatenate(sets), return_inverse=True)
    starts = np.cumsum([0, *map(len, sets)])
    matrix = csr_array((np.ones(len(columns), np.int32), columns, starts), (len(sets), len(found)))
    return csr_array(matrix @ matrix.T)


def on_larger(common: csr_array, sizes: np.ndarray, least: float) -> set[int]:
    """The texts of which at least this share of the shingles is in a larger text; of equal texts, the later ones."""
    pairs = common.tocoo()
    inner, outer = pairs.coords
    larger = (sizes[outer] > sizes[inner]) | ((sizes[outer] == sizes[inner]) & (outer < inner))
    return set(inner[larger & (pairs.data >= least * sizes[inner])].tolist())


def nearest(common: csr_array, sizes: np.ndarray, number: int) -> set[int]:
    """The texts that resemble one most, of those that a sketch can tell from none."""
    row = common[[number]].tocoo()
    others, counts = row.coords[1], row.data
    resemblance = np.where(others == number, 0, counts / (sizes[others] + sizes[number] - counts))
    best = np.lexsort((others, -resemblance))[:SIMILAR]
    return set(others[best[resemblance[best] >= LEAST]].tolist())


def twins(args: argparse.Namespace) -> None:
    """Print the table of the paper for the twins: pairs of the same text found, pairs of different texts kept apart."""
    score = referee(args.referee)
    folder = args.data / "duplicates"
    gold = score.read(need(folder / "twins.gold.jsonl.gz", "the benchmark needs the data of the twins"))
    texts = segments(folder / "twins.warc")
    if args.feed:
        feed = score.read(args.feed)
        texts["cleaned text"] = {line["url"]: line["text"] or "" for line in feed}
    rows = []
    for kind, found in texts.items():
        default = score.score_twins(judged((g["url"], found.get(g["url"], "")) for g in gold), gold)
        shares = default["duplicates_found"], default["non_duplicates_kept_apart"]
        rows.append([kind, *minima(gold, found), PRINTED.get(kind), *shares])
    if args.feed:
        flagged = score.score_twins(feed, gold)
        shares = flagged["duplicates_found"], flagged["non_duplicates_kept_apart"]
        rows.append(["cleaned text, weighed", None, None, None, *shares])
    print("Twins: pairs of the same text found, of two texts in one template kept apart. All text is compared,")
    print("or the largest segment. 8 minima as in the paper, beside its Table 2; then our defaults\n")
    table(["", "8 minima: found", "kept apart", "the paper", "defaults: found", "kept apart"], rows)


def grafts(args: argparse.Namespace) -> None:
    """Print the shares of pairs of the same text that are found, by template, and of other pairs kept apart."""
    gold = need(args.data / "content" / "wcxb-dev.gold.jsonl.gz", "the benchmark needs texts to place in templates")
    texts = dict(enumerate(article_texts(gold, GRAFTED)))
    for folder in (sites_below(args.data), need(args.data / "sites2", "the benchmark needs the second set of sites")):
        about = json.loads((folder / "sites.json").read_text(encoding="utf-8"))
        pages = [
            page
            for site in about
            for page in documents(list(grafts_of(folder / site["name"], site, texts)), args.model)
        ]
        found, apart = zip(*(pairs_found(pages, weighed=weighed) for weighed in (False, True)), strict=True)
        print(
            f"\n{GRAFTED} texts in {len(found[0])} templates of {folder}: pairs found, with equal words and weighed\n"
        )
        rows = [[name, *(float(np.mean(of[name])) for of in found)] for name in found[0]]
        table(["", "equal", "weighed"], sorted(rows, key=lambda row: row[1]))
        means = [float(np.mean([np.mean(shares) for shares in of.values()])) for of in found]
        table(["all", "equal", "weighed"], [["found", *means], ["other pairs kept apart", *apart]])


def documents(grafts: list[Graft], model: str) -> list[tuple[Graft, PageText]]:
    """The contents of the grafts of a site, which is learnt from all of them."""
    pages = [Page.parse(graft.body, graft.url, "text/html; charset=utf-8") for graft in grafts]
    site = Site(grafts[0].site if grafts else "", model)
    for page in pages:
        site.learn(page)
    found = []
    for graft, page in zip(grafts, pages, strict=True):
        templateness = site.templateness(page)
        keep = ~is_template(templateness)
        weights = word_weights(page.nodes, keep, templateness)
        text = plain(page.nodes, keep)
        found.append((graft, PageText(graft.url, text, key(graft.url), graft.site, weights)))
    return found


def pairs_found(pages: list[tuple[Graft, PageText]], *, weighed: bool) -> tuple[dict[str, list[bool]], float]:
    """For each template, whether its pairs of the same text are found; the share of other pairs that are kept apart."""
    found, apart = defaultdict[str, list[bool]](list), []
    for crawl in crawls(pages):
        lines = judged_documents(document if weighed else replace(document, weights=None) for _, document in crawl)
        groups = connected((line["near_duplicate_of"] or line["url"], line["url"]) for line in lines)
        group = {url: number for number, urls in enumerate(groups) for url in urls}
        for (a, _), (b, _) in combinations(crawl, 2):
            together = group.get(a.url, a.url) == group.get(b.url, b.url)
            if a.text != b.text:
                apart.append(not together)
            else:
                found[a.site].append(together)
                found[b.site].append(together)
    return found, float(np.mean(apart))


def crawls(pages: list[tuple[Graft, PageText]]) -> list[list[tuple[Graft, PageText]]]:
    """The pages, distributed so that each text is met on some sites at a time."""
    by_text = defaultdict(list)
    for page in pages:
        by_text[page[0].text].append(page)
    found = defaultdict(list)
    for number, copies in by_text.items():
        random.Random(number).shuffle(copies)
        for place, page in enumerate(copies):
            found[place // AT_ONCE].append(page)
    return list(found.values())


def segments(warc: Path) -> dict[str, dict[str, str]]:
    """For each part of a page that is compared, its text by URL."""
    weights, printed = load(INNER), FORMS[CCLUS]
    texts: dict[str, dict[str, str]] = {name: {} for name in ("full text", CUTS[0], CCLUS, *CUTS[1:])}
    for record in records(str(warc), ""):
        page = Page.parse(record.body, record.url, record.headers.get("Content-Type", [""])[0])
        texts["full text"][record.url] = " ".join(page.nodes.strings)
        texts[CCLUS][record.url] = largest(parts(page, printed.costed, weights, weights.penalties[printed.method]))
        for name in CUTS:
            texts[name][record.url] = largest(segment(page, None, name))
    return texts


def minima(gold: list[dict[str, Any]], texts: dict[str, str]) -> tuple[str, str]:
    """Pairs that the paper's process judges correctly: of the same text, and of two texts in one template."""
    marks = {g["url"]: signature(texts.get(g["url"], "")) for g in gold}
    same, other = [], []
    for a, b in combinations(gold, 2):
        if a["text_id"] == b["text_id"]:
            same.append(near(marks[a["url"]], marks[b["url"]]))
        elif a["template"] == b["template"]:
            other.append(not near(marks[a["url"]], marks[b["url"]]))
    found, apart = (f"{sum(right)} of {len(right)} ({np.mean(right):.1%})" for right in (same, other))
    return found, apart
