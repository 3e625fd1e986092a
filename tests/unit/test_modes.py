"""The tables of the papers' modes over whole sites."""

from benchmarks.modes import FULL_TEXT, SEGMENTERS, by_kind, texts_of
from scrapy_pagelets import Page, Site
from scrapy_pagelets.papers.methods import FUSED

MENU = "<ul class=menu><li><a href=/a>Plums</a><li><a href=/b>Pears</a><li><a href=/c>Figs</a></ul>"


def test_a_star_is_at_what_is_worse_than_no_cleaning():
    found = {
        FULL_TEXT: {"one": {"f1": 0.5}, "two": {"f1": 0.9}, "three": {"f1": 0.8}},
        "a mode": {"one": {"f1": 1.0}, "two": {"f1": 0.8}, "three": {"f1": 0.8}},
    }
    assert list(by_kind(found, {"one": "shop", "two": "manual", "three": "manual"}, "f1")) == [
        ["manual", 2, "0.850 ", "0.800*"],
        ["shop", 1, "0.500 ", "1.000 "],
        ["all", 3, "0.733 ", "0.867 "],
        ["sites with *", 3, 0, 1],
    ]


def test_each_segmenter_has_the_text_of_its_pagelets_of_content():
    pages = [
        Page.parse(f"{MENU}<div><h1>Fruit {n}</h1><p>{f'Word{n} of a text. ' * 30}</div>".encode(), f"http://h/{n}")
        for n in "abcde"
    ]
    site = Site("h")
    for page in pages:
        site.learn(page)
    texts = texts_of(pages[0], site)
    assert texts.keys() == {FUSED, *SEGMENTERS}
    assert "Plums" not in texts[FUSED]
    for text in texts.values():
        assert text.count("Worda of a text.") == 30
