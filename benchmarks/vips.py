"""How well VIPS finds the parts of pages that people have marked.

Data: ``segments/random`` below ``--data .data``, scored by the referee (``--referee ../shared/bench``). Chromium
renders the pages once, without scripts, into ``--out out/vips``. The program prints B-cubed F1 over characters (B3),
adjusted Rand index and NMI of the leaves at each PDoC, for VIPS with and without a browser, in the current and in the
published form. ``top`` are the parts of the first level, ``inner`` the innermost ones.

    python -m benchmarks vips                                     # on the test split
    python -m benchmarks vips --split train,validation            # how PDoC was chosen
    python -m benchmarks vips --split train,validation --worst 6  # the worst pages, drawn over their screenshots
    python -m benchmarks vips --fit                               # weights of separators, from train and validation
    python -m benchmarks vips --times                             # milliseconds by number of nodes
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any, Final

import numpy as np
from lxml import html
from scipy.optimize import minimize

from benchmarks.tools import names, need, option_parser, referee, table
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.page.page import Page, decode
from scrapy_pagelets.page.text import paths_of
from scrapy_pagelets.papers.vips.vips import TOP_PDOC, guess_layout, vips
from scrapy_pagelets.papers.vips.vips_blocks import BlockTree, Pool, Strips
from scrapy_pagelets.papers.vips.vips_visual import WEIGHTS, Visual
from scrapy_pagelets.rendering.browser import Browser, launch_options
from scrapy_pagelets.rendering.snapshot import Frame, page_of

Lines = list[dict[str, Any]]
FORMS: Final[dict[str, Callable[[Page], BlockTree]]] = {
    "rendered": vips,
    "lite": lambda page: vips(page.source or page),
    "strict": lambda page: vips(page, strict=True),
    "strict lite": lambda page: vips(page.source or page, strict=True),
}
#: Strength of the penalty on large weights.
SHRINK: Final = 5.0
#: Cues that make a separator stronger according to the paper, and one that makes it weaker.
STRONGER: Final = frozenset(("gap", "background", "font"))
WEAKER: Final = frozenset(("same_look",))
#: No page of the data has these cues in a place that people have judged: their weights are set by hand.
BY_HAND: Final = frozenset(("ruler", "landmark"))
LEVELS: Final = ("top", "inner")
MEASURES: Final = ("b_cubed_chars", "adjusted_rand", "nmi")
SIZES: Final = (300, 1_000, 3_000, 10_000, 100_000)


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--out", type=Path, default=Path("out/vips"))
    parser.add_argument("--split", default="test", help="comma-separated splits (test)")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args(argv)
    if options.times:
        times()
        return
    root = need(
        options.data / "segments" / "random", "unpack the data of the benchmarks, or name its folder with --data"
    )
    score = referee(options.referee)
    gold = score.read(root / "gold.jsonl.gz")
    options.out.mkdir(parents=True, exist_ok=True)
    asyncio.run(render(gold, root, options.out))
    if options.fit:
        fit(score, [line for line in gold if line["split"] != "test"], root, options.out)
        return
    chosen = [line for line in gold if line["split"] in names(options.split)]
    if options.worst:
        worst(score, chosen, root, options.out, options.worst)
        return
    measure(score, chosen, root, options.out)


def measure(score: ModuleType, gold: Lines, root: Path, out: Path) -> None:
    """Print the scores of each form at each PDoC."""
    found = [pages(line, root, out) for line in gold]
    for form, cut in FORMS.items():
        trees = [cut(page) for page in found]
        rows = []
        for pdoc in range(1, 11):
            result = score.score_segments(
                [line_of(tree, page, pdoc) for tree, page in zip(trees, found, strict=True)], gold, root
            )
            rows.append([f"PDoC {pdoc}", *(result[f"{level}_{name}"] for level in LEVELS for name in MEASURES)])
        print(f"\n{form}, {len(gold)} pages")
        table(["", *(f"{level} {name}" for level in LEVELS for name in ("B3", "ARI", "NMI"))], rows)


def line_of(tree: BlockTree, page: Page, pdoc: int) -> dict[str, Any]:
    """A line of the feed with the segments of a page."""
    labels = tree.labels(pdoc)
    return {"url": page.url, "pagelets": [{"xpaths": xpaths(page, tree, labels == n)} for n in np.unique(labels)]}


def xpaths(page: Page, tree: BlockTree, mask: Any) -> list[str]:
    """Paths of a segment in the page as received."""
    index = np.flatnonzero(mask)
    if page.source is None or tree.nodes is not page.nodes:
        return paths_of(tree.nodes, index)
    received = page.received[index]
    return paths_of(page.source.nodes, received[received >= 0])


async def render(gold: Lines, root: Path, out: Path, *, screenshots: bool = True) -> None:
    """Render the pages that have not been rendered yet, and take screenshots of them."""
    todo = [line for line in gold if not stored(line, out).exists()]
    if not todo:
        return
    from playwright.async_api import async_playwright

    archive = Resources([str(root)], base="http://")

    async def lookup(url: str) -> tuple[str, bytes] | None:
        return archive.get(url)

    async with async_playwright() as driver:
        chromium = launch_options()
        browser = Browser(lambda: driver.chromium.launch(**chromium), scripts=False, timeout=120)

        async def one(line: dict[str, Any]) -> None:
            path, body = stored(line, out), (root / line["page"]).read_bytes()

            async def look(page: Any) -> None:
                await page.screenshot(path=path.with_suffix(".png"), full_page=True, timeout=100_000)

            frames = await browser.render(
                f"http://{line['page']}", decode(body), lookup, look=look if screenshots else None
            )
            path.write_text(json.dumps(frames), encoding="utf-8")

        await asyncio.gather(*map(one, todo))
        await browser.close()


def stored(line: dict[str, Any], out: Path) -> Path:
    """The file of a page's rendering."""
    return out / f"{str(line['page']).replace('/', '_')}.json"


def pages(line: dict[str, Any], root: Path, out: Path) -> Page:
    """A page with its layout."""
    source = Page.parse((root / line["page"]).read_bytes(), f"http://{line['page']}")
    frames = [Frame(*frame) for frame in json.loads(stored(line, out).read_text(encoding="utf-8"))]
    return page_of(frames, source.url, source)


class Observed(Visual):
    """A page that records its separators with their cues."""

    def structure(self) -> BlockTree:
        self.seen: list[tuple[Pool, Strips, Floats]] = []
        return super().structure()

    def weigh(self, pool: Pool, strips: Strips, *, horizontal: bool) -> Floats:
        self.seen.append((pool, strips, self.cues(pool, strips, horizontal=horizontal)))
        return super().weigh(pool, strips, horizontal=horizontal)


def fit(score: ModuleType, gold: Lines, root: Path, out: Path) -> None:
    """Learn from the cues of a separator how likely its sides belong to different parts, top or inner."""
    samples = [sample for line in gold for sample in samples_of(score, line, root, out)]
    cues, apart, mass = (np.array(column) for column in zip(*samples, strict=True))
    free = [i for i, name in enumerate(WEIGHTS) if name not in BY_HAND]
    by_hand = cues @ np.array([WEIGHTS[name] if name in BY_HAND else 0.0 for name in WEIGHTS])
    found = logistic(cues[:, free], apart, mass / mass.mean(), by_hand, [list(WEIGHTS)[i] for i in free])
    weights = WEIGHTS | {list(WEIGHTS)[i]: round(float(weight), 2) for i, weight in zip(free, found, strict=True)}
    print(f"{len(samples)} separators of {len(gold)} pages")
    print(", ".join(f'"{name}": {weight}' for name, weight in weights.items()))


def samples_of(score: ModuleType, line: dict[str, Any], root: Path, out: Path) -> Iterator[tuple[Floats, float, float]]:
    """For each separator its cues, the share of letter pairs across it that people have separated, and its weight."""
    page = pages(line, root, out)
    page_of_separators = Observed(page.nodes, page.layout)  # type: ignore[arg-type]
    page_of_separators.structure()
    letters = np.array([len(string) for string in page.nodes.strings], np.float64)
    for truth in truths(score, line, page, root):
        for pool, strips, cues in page_of_separators.seen:
            sides = [leaves_of(page, pool, strips.side == side) for side in range(len(strips.start) + 1)]
            for number, (one, other) in enumerate(pairwise(sides)):
                a, b = (shares(truth[leaves], letters[leaves]) for leaves in (one, other))
                if a and b:
                    same = sum(a[part] * b.get(part, 0) for part in a)
                    total = sum(a.values()) * sum(b.values())
                    mass = np.sqrt(min(sum(a.values()), sum(b.values())) / letters.sum())
                    yield cues[number], 1 - same / total, mass


def truths(score: ModuleType, line: dict[str, Any], page: Page, root: Path) -> Iterator[Ints]:
    """(m,) for each level, the part that each leaf is in; -1 for none."""
    parser = html.HTMLParser(encoding="utf-8")
    document = html.document_fromstring((root / line["page"]).read_bytes(), parser=parser)
    source = page.source or page
    leaf = np.array(score.labels(document, [[source.nodes.xpath(row)] for row in source.nodes.leaves.tolist()]))
    for deepest in (1, 2):
        parts = score.labels(document, [[b["xpath"]] for b in line["blocks"] if b["level"] <= deepest])
        truth = np.full(len(source.nodes.leaves) + 1, -1)
        truth[leaf[leaf >= 0]] = np.array(parts)[leaf >= 0]
        yield truth[page.received]  # -1 picks the last entry, which is no part


def leaves_of(page: Page, pool: Pool, mask: Any) -> Ints:
    """Indices of the leaves of some blocks."""
    first = np.append(page.nodes.first_leaf, len(page.nodes.leaves))
    return np.concatenate([np.arange(first[start], first[end]) for start, end in pool.spans[mask].tolist()])


def shares(parts: Ints, letters: Floats) -> dict[int, float]:
    """Number of letters in each part."""
    return {int(part): float(letters[parts == part].sum()) for part in np.unique(parts[parts >= 0])}


def logistic(x: Floats, y: Floats, weight: Floats, offset: Floats, cues: list[str]) -> Floats:
    """Logistic regression with a ridge penalty and the signs of the paper."""
    scale = np.append(1, x[:, 1:].std(axis=0) + 1e-9)
    z = x / scale

    def loss(b: Floats) -> tuple[float, Floats]:
        logits = z @ b + offset
        cost = weight @ (np.logaddexp(0, logits) - y * logits) + SHRINK * (b[1:] @ b[1:])
        slope = z.T @ (weight * (1 / (1 + np.exp(-logits)) - y)) + 2 * SHRINK * np.append(0, b[1:])
        return float(cost), slope

    bounds = [(0 if cue in STRONGER else None, 0 if cue in WEAKER else None) for cue in cues]
    return np.asarray(minimize(loss, np.zeros(len(scale)), jac=True, bounds=bounds).x / scale)


def worst(score: ModuleType, gold: Lines, root: Path, out: Path, count: int) -> None:
    """Draw the pages with the lowest scores at the top level: our parts in red, the marked parts in green."""
    from PIL import Image, ImageDraw

    ranked = []
    for line in gold:
        page = pages(line, root, out)
        tree = vips(page)
        result = score.score_segments([line_of(tree, page, TOP_PDOC)], [line], root)
        ranked.append((result["top_b_cubed_chars"], line, page, tree.labels(TOP_PDOC)))
    for value, line, page, labels in sorted(ranked, key=lambda entry: entry[0])[:count]:
        picture = Image.open(stored(line, out).with_suffix(".png")).convert("RGB")
        draw = ImageDraw.Draw(picture)
        for parts, color, width in ((next(truths(score, line, page, root)), (0, 170, 0), 8), (labels, (220, 0, 0), 3)):
            for part in np.unique(parts[parts >= 0]):
                if (box := around(page, np.flatnonzero(parts == part))) is not None:
                    draw.rectangle(box, outline=color, width=width)
        path = stored(line, out).with_suffix(".worst.png")
        picture.save(path)
        print(f"{value:.3f}  {path}")


def around(page: Page, leaves: Ints) -> tuple[float, float, float, float] | None:
    """The box around the visible nodes of some leaves."""
    layout, rows = page.layout, page.nodes.leaves[leaves]
    assert layout is not None
    rows = rows[layout.visible[rows]]
    if not len(rows):
        return None
    x, y = layout.x[rows], layout.y[rows]
    right, bottom = (x + layout.width[rows]).max(), (y + layout.height[rows]).max()
    return float(x.min()), float(y.min()), float(right), float(bottom)


def times() -> None:
    """Print processor milliseconds without rendering, on pages with a menu, cards and a footer."""
    rows = []
    for size in SIZES:
        page = made(size)
        rendered = replace(page, layout=guess_layout(page.nodes))
        forms = (partial(vips, rendered), partial(vips, page), partial(vips, rendered, strict=True))
        rows.append([f"{len(page.nodes):,} nodes", *(f"{least(form):.1f}" for form in forms)])
    table(["ms", "rendered", "lite", "strict"], rows)


def made(nodes: int) -> Page:
    """A page of about that many nodes."""
    card = "<div class=card><h3><a href=/c>Title</a></h3><p>Some <b>bold</b> words that say something.</p></div>"
    rows = "".join(f"<div class=row>{card * 4}</div>" for _ in range(max(1, nodes // 41)))
    menu = "<ul>" + "<li><a href=/m>Entry</a></li>" * 8 + "</ul>"
    return Page.parse(
        f"<nav>{menu}</nav><main>{rows}</main><footer>All rights</footer>".encode(), "http://made.example/"
    )


def least(work: Callable[[], object], repeat: int = 3) -> float:
    """Processor milliseconds of the fastest run."""
    found = []
    for _ in range(repeat):
        start = process_time()
        work()
        found.append((process_time() - start) * 1000)
    return min(found)
