"""Why pages lose content or keep template: words lost and kept wrongly by cause, and the worst pages of each set.

Pages, models and sets are those of ``quality.py``: no model has seen the family of a page. Each run of text that is
decided wrongly, by the labels that training would give it, has a cause: the function that the
names of the elements around it tell (comments, captions, bylines ...), else its form (links, prose, table). Nothing of
this is known to the decision.

First comes the F1 of each set, and what it would be if each page had the cut that suits it best: the difference is what
the choice of the cut costs, the rest is what the order of the texts costs. Then there is a row for each cause. *Gained*
is by how much the mean F1 of the runs of text would rise if all texts of the cause were decided rightly. *Lost* and
*kept* are its shares of all words of content that are lost, and of all words of template that are kept. Last come the
worst pages, with the causes of most of their faults.

``--pictures`` also renders the worst pages, without scripts and without any network, with style sheets from the folder
of the site if they are there: what is kept wrongly is red, what is lost is blue. It needs Chromium and the extra
``render``.

    python -m benchmarks worst --every 3
    python -m benchmarks worst --sets sites2 --every 3 --worst 20 --pictures out/worst
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lxml import etree

from benchmarks.page_sets import SETS, Entry, Job, add_options, jobs_of, read_pages
from benchmarks.quality import BATCH, WORKERS, check_models
from benchmarks.role_labels import by_roles, the_referee
from benchmarks.tools import names, option_parser, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.archives.reader import Reader
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision.decision import Decision, decided
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.rendering.browser import Browser, RenderError, launch_options
from scrapy_pagelets.training.training_tables import CONTENT, TEMPLATE, UNKNOWN, by_gold

#: Words of tag, id, class and role that tell what an element is for; the innermost element with such a word decides,
#: but what stands in comments belongs to them.
NAMED = {
    "comments": "comment comments respond reply replies disqus commentlist discussion guestbook kommentar kommentare "
    "commentaire commentaires comentario comentarios trackback pingback reviews review",
    "captions": "caption captions figcaption credit photo-credit imagecaption",
    "bylines, dates": "byline author authors meta date time timestamp posted published postmeta dateline postinfo "
    "postmetadata pubdate fecha datum postdate",
    "tags, categories": "tag tags tagcloud category categories cat topics labels keywords",
    "related, recent, teasers": "related recent popular teaser teasers recommended recommendations similar latest more "
    "readmore mostread trending promo headlines also prevnext archive archives excerpt relatedposts linked",
    "sharing, forms": "share sharing social addthis sharedaddy subscribe newsletter form button select input label "
    "textarea search signup login print email tools rating",
    "tables of contents": "toc contents tableofcontents localtoc index sommaire",
    "navigation": "nav navigation menu navbar breadcrumb breadcrumbs pager pagination navi submenu sitemap skip "
    "navlinks nextprev navigationheader navigationfooter",
    "advertisements, notices": "ad ads advert advertisement sponsor sponsored banner cookie cookies consent notice",
    "footers": "footer copyright legal contentinfo foot colophon disclaimer",
    "headers": "header masthead branding logo site-title tagline",
    "columns": "sidebar aside widget widgets rail column sidecolumn secondary complementary infobox",
}
BY_FORM = ("headings", "hidden text", "code", "tables", "lists of links", "links", "prose", "short texts")
CAUSES = (*NAMED, *BY_FORM)
_COMMENTS = CAUSES.index("comments")
_BY_WORD = {word: number for number, words in enumerate(NAMED.values()) for word in words.split()}
#: Share of link text from which on a block is a list of links, and the words of a text that is prose.
LINKS, PROSE = 0.6, 10
RED, BLUE = "background:#f88!important", "background:#8af!important"
#: Seconds that a browser has for a page.
TIMEOUT = 60.0


@dataclass(frozen=True)
class Judged:
    """A cleaned page.

    Attributes
    ----------
    label : the set
    by_site : whether means are taken over sites
    page : where it is
    f1 : of the words of its labelled runs of text
    best : F1 with the cut of templateness that suits the page best
    lost, kept : (len(CAUSES),) words of content lost and of template kept, by cause
    gained : (len(CAUSES),) what F1 gains if the texts of the cause are decided rightly
    wrong : (m,) CONTENT where content is lost, TEMPLATE where template is kept, else -1
    """

    label: str
    site: str
    by_site: bool
    page: Entry
    f1: float
    best: float
    lost: Ints
    kept: Ints
    gained: Floats
    wrong: Ints


def main(argv: Sequence[str]) -> None:
    args = options(argv)
    jobs = list(jobs_of(args, the_referee(args.referee)))
    check_models({job.model for job in jobs})
    with ProcessPoolExecutor(WORKERS) as pool:
        found = [page for part in pool.map(judged, jobs, chunksize=BATCH) for page in part]
    sets: dict[str, list[Judged]] = defaultdict(list)
    for page in found:
        sets[page.label].append(page)
    print_causes(sets)
    for label, pages in sets.items():
        worst = sorted(pages, key=lambda page: page.f1)[: args.worst]
        print_worst(label, len(pages), worst)
        if args.pictures:
            asyncio.run(draw(worst, args.pictures / label.replace(", ", "-").replace(" ", "-")))


def options(argv: Sequence[str]) -> argparse.Namespace:
    parser = option_parser(__name__, __doc__)
    add_options(parser)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names of sets; default: %(default)s")
    parser.add_argument("--only", default="", help="comma-separated names of sites, or domains in sets of pages")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="judge only every N-th page of a set or site")
    parser.add_argument("--worst", type=int, default=20, metavar="N", help="print the worst N pages of each set (20)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="render the worst pages")
    args = parser.parse_args(argv)
    if unknown := sorted(names(args.sets) - set(SETS)):
        parser.error(f"--sets takes {', '.join(SETS)}, not {', '.join(unknown)}")
    if args.every < 1:
        parser.error("--every must be at least 1")
    return args


def judged(job: Job) -> list[Judged]:
    """Clean the pages of a job, and say of those with gold what is wrong."""
    pages, _ = read_pages(job)
    site = Site(job.site, job.model, job.strict)
    for page in pages:
        site.learn(page)
    return [
        judge(job, entry, page, decided(page, site)) for entry, page in zip(job.pages, pages, strict=True) if entry.gold
    ]


def judge(job: Job, entry: Entry, page: Page, decision: Decision) -> Judged:
    """Compare what is template with the labels of a page."""
    assert entry.gold
    template = ~decision.content
    runs = entry.gold.get("runs")
    labels = by_gold(page, entry.gold["content"]) if runs is None else by_roles(page, runs)
    nodes, cause = page.nodes, causes(page.nodes)
    lost, kept = template & (labels == CONTENT), ~template & (labels == TEMPLATE)

    def words(mask: Bools) -> Ints:
        return np.bincount(cause[mask], nodes.words[mask], len(CAUSES)).astype(np.int64)

    hit = nodes.words[~template & (labels == CONTENT)].sum()
    losses, keeps = words(lost), words(kept)
    both = 2 * hit + losses.sum() + keeps.sum()
    f1 = 2 * hit / both if both else 1.0
    rest = both - keeps + losses  # lost words become hits, which count twice
    gained = np.where(rest > 0, 2 * (hit + losses) / np.maximum(1, rest), 1.0) - f1
    wrong = np.select([lost, kept], [CONTENT, TEMPLATE], -1)
    best = best_f1(np.where(labels == UNKNOWN, 0, nodes.words), labels == CONTENT, decision.templateness)
    return Judged(job.label, job.site, job.by_site, entry, float(f1), best, losses, keeps, gained, wrong)


def best_f1(words: Ints, content: Bools, templateness: Floats) -> float:
    """F1 of the words of content if the likeliest leaves are kept, as many as suit the page best."""
    order = np.argsort(templateness, kind="stable")
    hit, kept = np.cumsum((words * content)[order]), np.cumsum(words[order])
    both = kept + (words * content).sum()
    return float((2 * hit / np.maximum(1, both)).max(initial=0)) if both.any() else 1.0


def causes(nodes: NodeTable) -> Ints:
    """(m,) number of the cause that a fault in each leaf has, see ``CAUSES``."""
    of_look = np.array([named(look) for look in nodes.looks])
    named_by = of_look[nodes.look]
    heading = np.array([re.fullmatch("h[1-6]", look[0]) is not None for look in nodes.looks])[nodes.look]
    inside = {tag: np.array([look[0] in tags for look in nodes.looks])[nodes.look]
              for tag, tags in (("code", ("pre", "code")), ("tables", ("td", "th")))}  # fmt: skip
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        outer = (named_by[rows] < 0) | (named_by[above] == _COMMENTS)
        named_by[rows] = np.where(outer, named_by[above], named_by[rows])
        for mask in (heading, *inside.values()):
            mask[rows] |= mask[above]
    leaves = nodes.leaves
    linked = nodes.anchor[leaves]
    form = np.select(
        [heading[leaves], nodes.hidden[leaves], inside["code"][leaves], inside["tables"][leaves],
         linked & (dense(nodes) > LINKS), linked, nodes.words >= PROSE],
        [len(NAMED) + i for i in range(len(BY_FORM) - 1)], len(CAUSES) - 1,
    )  # fmt: skip
    return np.where(named_by[leaves] >= 0, named_by[leaves], form)


def named(look: tuple[str, str, str, str]) -> int:
    """The number of the function that the words of an element tell, -1 for none."""
    if look[0] in ("body", "html"):  # their classes tell the kind of the page
        return -1
    tokens = " ".join(look).casefold()
    parts = [*tokens.split(), *re.findall(r"[^\W\d_]+", tokens)]
    return min((_BY_WORD[part] for part in parts if part in _BY_WORD), default=-1)


def dense(nodes: NodeTable) -> Floats:
    """(m,) share of link text in the smallest region around each leaf that has three leaves or more."""
    words = nodes.total(nodes.spread(nodes.words)).astype(np.float64)
    linked = nodes.total(nodes.spread(nodes.words * nodes.anchor[nodes.leaves]))
    row = nodes.leaves.copy()
    for _ in range(int(nodes.depth.max(initial=0))):
        small = (nodes.last_leaf[row] - nodes.first_leaf[row] < 3) & (nodes.parent[row] >= 0)
        if not small.any():
            break
        row = np.where(small, nodes.parent[row], row)
    share: Floats = linked[row] / np.maximum(1, words[row])
    return share


def print_causes(sets: dict[str, list[Judged]]) -> None:
    """Print what each cause costs in each set: a table of what is gained, and two of shares of words."""
    columns: dict[str, list[Floats]] = {"gained": [], "lost": [], "kept": []}
    for label, pages in sets.items():
        weights = np.array(list(weighted(pages)))
        f1, best = weights @ np.array([(page.f1, page.best) for page in pages])
        print(f"{label}: {len(pages)} pages, F1 of runs of text {f1:.3f}, with the best cut of each page {best:.3f}")
        columns["gained"].append(weights @ np.stack([page.gained for page in pages]))
        for name in ("lost", "kept"):
            words = np.sum([getattr(page, name) for page in pages], axis=0)
            columns[name].append(words / max(1, words.sum()))
    order = np.argsort(-np.mean(columns["gained"], axis=0)).tolist()
    for name, of_set in columns.items():
        print()
        table([name, *sets], [[CAUSES[i], *(float(column[i]) for column in of_set)] for i in order])


def weighted(pages: Sequence[Judged]) -> Iterator[float]:
    """Weight of each page in the mean of its set."""
    count = Counter(page.site for page in pages)
    for page in pages:
        yield 1 / count[page.site] / len(count) if page.by_site else 1 / len(pages)


def print_worst(label: str, count: int, worst: Iterable[Judged]) -> None:
    """Print the worst pages of a set, each with the causes of most of its faults."""
    print(f"\nThe worst of {count} pages of {label}: F1, words lost and kept wrongly, causes, URL")
    for page in worst:
        print(f"  {page.f1:.3f}  {page.lost.sum():5d}  {page.kept.sum():5d}  {why(page):60s}  {page.page.url}")


def why(page: Judged) -> str:
    """The causes of most faults of a page."""
    faults = [(page.lost[i], "lost", cause) for i, cause in enumerate(CAUSES)]
    faults += [(page.kept[i], "kept", cause) for i, cause in enumerate(CAUSES)]
    faults = sorted((fault for fault in faults if fault[0]), reverse=True)[:2]
    if page.page.gold and not page.page.gold["content"].strip():
        return "no content by its gold"
    return "; ".join(f"{words} {what}: {cause}" for words, what, cause in faults)


async def draw(pages: Sequence[Judged], folder: Path) -> None:
    """Render pages without a network, with their faults marked, as PNG files."""
    from playwright.async_api import Page as Shown
    from playwright.async_api import async_playwright

    folder.mkdir(parents=True, exist_ok=True)
    options = launch_options()
    async with async_playwright() as driver:
        browser = Browser(lambda: driver.chromium.launch(**options), scripts=False, timeout=TIMEOUT)

        async def picture(number: int, one: Judged) -> None:
            async def look(shown: Shown) -> None:
                size = await shown.evaluate("document.documentElement.scrollHeight")
                clip = {"x": 0, "y": 0, "width": 1366, "height": min(int(size), 6000)}
                await shown.screenshot(path=folder / f"{number:02d}.png", full_page=True, clip=clip)  # type: ignore[arg-type]

            resources = Resources([one.page.source], one.page.base)

            async def lookup(url: str) -> tuple[str, bytes] | None:
                return await asyncio.to_thread(resources.get, url)

            try:
                await browser.render(one.page.url, marked(one), lookup, look=look)
            except RenderError as error:
                print(f"{one.page.url} is not drawn: {error}")

        await asyncio.gather(*(picture(number, one) for number, one in enumerate(pages, 1)))
        await browser.close()


def marked(one: Judged) -> str:
    """The HTML of a page with its faults in colour."""
    with Reader() as reader:
        found = reader.read(one.page.source, one.page.offset, one.page.base)
    page = Page.parse(found.body, found.url, next(iter(found.headers.get("Content-Type") or ()), None))
    for label, style in ((TEMPLATE, RED), (CONTENT, BLUE)):
        for row in page.nodes.leaves[one.wrong == label].tolist():
            element = page.nodes.elements[row]
            element.set("style", f"{element.get('style') or ''};{style}")
    return etree.tostring(page.root, method="html", encoding="unicode")
