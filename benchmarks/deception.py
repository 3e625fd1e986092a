"""Sites that mislead the comparison of pages: content that other pages repeat, and a template that changes.

    python -m benchmarks deception

Hostile: the content of one page is posted on further pages of its site; measured is how much of it is lost on the first
page. Relaunch: 30 pages of one site, then 30 of another under the same host, each cleaned when it comes; measured is
how much template is left, and how much content is lost, compared with the second site alone. Data: a folder of sites
(``--data .data``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.tools import option_parser, sites_below, table
from scrapy_pagelets.archives.reader import expand, records
from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.page.page import Page

_VICTIMS = "hexo tomcat10 django pelican-blog yard".split()
_RELAUNCHES = [("hexo", "tomcat10"), ("tomcat10", "hexo"), ("django", "pelican-blog"), ("yard", "django")]
_MARKS = "abcdefghij"
_COPIES = (1, 3, 10)


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    folder = sites_below(parser.parse_args(argv).data)
    table(("hostile: site", "pages of it", "hostile pages", "lost, mean", "lost, worst"), hostile(folder))
    print()
    table(("relaunch", "template left", "content lost"), relaunch(folder))


def hostile(folder: Path) -> Iterator[tuple[object, ...]]:
    """Repeat the content of pages of sites of several sizes."""
    for name in _VICTIMS:
        found = bodies(folder / name)
        for size in (5, 20, 60):
            lost = [losses(found[:size], victim) for victim in range(1, 5)]
            for copies, shares in zip(_COPIES, zip(*lost, strict=True), strict=True):
                yield name, size, copies, sum(shares) / len(shares), max(shares)


def losses(found: list[tuple[bytes, str]], victim: int) -> list[float]:
    """Return the shares of the victim's content words that are lost when it is posted on 1, 3 and 10 further pages."""
    site = learnt(found)
    page = Page.parse(*found[victim])
    before = content(site, page)
    text = "".join(f"<p>{text}" for text, kept in zip(page.nodes.strings, before, strict=True) if kept)
    lost = []
    for number, mark in enumerate(_MARKS, 1):
        body = found[0][0].replace(b"</body>", f"{text}<p>{mark}</body>".encode())
        site.learn(Page.parse(body, f"{found[0][1]}?{mark}"))
        if number in _COPIES:
            lost.append(share(page, before & ~content(site, page), before))
    return lost


def relaunch(folder: Path) -> Iterator[tuple[object, ...]]:
    """Let one site follow another under the same host."""
    for before, after in _RELAUNCHES:
        site = learnt([(body, "http://host.example/old/" + url) for body, url in bodies(folder / before)[:30]])
        alone = Site("host.example")
        left, lost = [], []
        for body, url in bodies(folder / after)[:30]:
            page = Page.parse(body, "http://host.example/new/" + url)
            site.learn(page)
            alone.learn(page)
            kept, wanted = content(site, page), content(alone, page)
            left.append(share(page, kept & ~wanted, ~wanted))
            lost.append(share(page, wanted & ~kept, wanted))
        yield f"{before}, then {after}", sum(left) / len(left), sum(lost) / len(lost)


def bodies(folder: Path) -> list[tuple[bytes, str]]:
    """Read the pages of a site."""
    return [
        (record.body, record.url)
        for source in expand(str(folder))
        for record in records(source, f"http://{folder.name}.example/")
    ]


def learnt(found: list[tuple[bytes, str]]) -> Site:
    """Return a site that has learnt these pages."""
    site = Site("host.example")
    for body, url in found:
        site.learn(Page.parse(body, url))
    return site


def content(site: Site, page: Page) -> Bools:
    """Return a mask of the leaves that are content."""
    return site.templateness(page) < 0.5


def share(page: Page, part: Bools, whole: Bools) -> float:
    """Return the words of a part over those of the whole."""
    return float(page.nodes.words[part].sum() / max(1, page.nodes.words[whole].sum()))
