"""The page-level system of 2007 with a browser: what it learns from appearance, a crawl judges by appearance."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.crawling import answer, crawl, letters, scrapy
from tests.server import Reply, SiteServer

#: One of two blocks, which are alike but for their words, stands in a narrow column at the right.
ASIDE = "div:nth-of-type({}){{position:absolute;left:1100px;top:0;width:150px}}body{{width:900px}}"
SHEETS = {f"{number}.css": ASIDE.format(number) for number in (1, 2)}
WORDS = np.array([letters(str(number)) for number in range(500)])


def block(seed: int) -> str:
    """Forty words."""
    return " ".join(np.random.default_rng(seed).choice(WORDS, 40))


def page(aside: int, *blocks: str) -> str:
    """A page of two blocks; ``aside`` is the one in the narrow column, 1 or 2."""
    return f"<link rel=stylesheet href={aside}.css>" + "".join(f"<div><p>{words}</p></div>" for words in blocks)


def site_of_pages(folder, site):
    """On five pages the block in the narrow column is the same; on every other site it stands first."""
    folder.mkdir(parents=True)
    for name, text in SHEETS.items():
        folder.joinpath(name).write_text(text)
    for number in range(5):
        blocks = [block(site), block(1000 + 10 * site + number)]
        made = page(1, *blocks) if site % 2 else page(2, *reversed(blocks))
        folder.joinpath(f"{number}.html").write_text(made)


def test_a_page_of_which_only_the_placement_differs_is_judged_by_it(tmp_path):
    for site in range(8):
        site_of_pages(tmp_path / "pages" / f"s{site}.test", site)
    model = tmp_path / "model.npz"
    trained = scrapy("pagelets", "train", "pages", "--page-level", "--render", "--out", str(model), cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    settings = {
        "PAGELETS_RENDER": 1, "PAGELETS_DETECTION": "classifier", "PAGELETS_CLASSIFIER": str(model),
        "PAGELETS_EXPORT": "all", "PAGELETS_PROBE": 0,
    }  # fmt: skip
    blocks = block(2001), block(2002)
    routes = {f"/p{aside}": answer(page(aside, *blocks)) for aside in (1, 2)}
    routes |= {f"/{name}": partial(css, text) for name, text in SHEETS.items()}
    found = {}
    with SiteServer(routes=routes) as server:
        for aside in (1, 2):
            feed = f"{aside}.jsonl"
            crawled = crawl(tmp_path, "site", url=server.url(f"p{aside}"), feed=feed, settings=settings, pages=1)
            assert crawled.errors == []
            [line] = crawled.lines
            found[aside] = [templateness_of(line, words) for words in blocks]
    assert found[1][0] > found[2][0] + 0.2
    assert found[2][1] > found[1][1] + 0.2


def css(text: str, _: str) -> Reply:
    return Reply(200, {"Content-Type": "text/css"}, text.encode())


def templateness_of(line, words):
    """That of the pagelet with these words."""
    return next(part["templateness"] for part in line["pagelets"] if words in part["text"])
