"""The quality gate of facts: price, number and publisher of each page of a shop are kept, however alike its pages are.

The shops are made for these tests; no model has learnt from them. Floors are shares of pages that keep the fact.
"""

import pytest

from tests.crawling import crawl, letters

PAGES = 24
FLOOR = 0.95
STEMS = "amber birch cedar delta ember fjord grove heron inlet jetty krill larch".split()


def words(number, count):
    """Text of a page of its own."""
    return " ".join(f"{STEMS[(number * 7 + i * 5) % 12]}{letters(str(number * 31 + i))}" for i in range(count))


def facts(number):
    return {
        "price": f"{10 + number * 7 % 80}.{10 + number * 13 % 90}",
        "isbn": f"978-3-{100 + number * 37 % 900}-{10000 + number * 911 % 90000}-{number % 10}",
        "publisher": ("Harbour Press", "Alder & Sons", "North House")[number % 3],
        "number": f"AB-{1000 + number * 57}",
        "date": f"{1 + number % 28} March {1980 + number}",
    }


def table(of):
    rows = "".join(f"<tr><th>{name.title()}<td>{value}" for name, value in of.items())
    return f"<table class=data>{rows}</table><p>%s</p>"


def definitions(of):
    rows = "".join(f"<dt>{name.title()}<dd>{value}" for name, value in of.items())
    return f"<p>%s</p><dl>{rows}</dl>"


def below_actions(of):
    """The facts stand below what can be done with the page, in a list like that."""
    actions = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("E-mail", "Print", "Share", "Remember"))
    rows = "".join(f"<li>{name.title()}: <span>{value}</span>" for name, value in of.items())
    return f"<ul class=actions>{actions}</ul><ul>{rows}</ul><p>%s</p>"


def lines(of):
    rows = "".join(f"<div>{name.title()}: {value}</div>" for name, value in of.items())
    return f"<p>%s</p><div class=info>{rows}</div>"


def shop(folder, layout):
    menu = "".join(f"<li><a href=/{name}.html>{name.title()} of the shop</a>" for name in STEMS[:6])
    for number in range(PAGES):
        others = "".join(
            f"<li><a href=/p{other % PAGES}.html>{words(other % PAGES, 3)}</a> {facts(other % PAGES)['price']}"
            for other in range(number + 1, number + 5)
        )
        title, main = words(number, 3).title(), layout(facts(number)) % words(number, 40)
        (folder / f"p{number}.html").write_text(
            f"<!doctype html><html lang=en><title>{title} - The shop</title><body><div class=top><p>Cart ({number % 4})"
            f"</p><ul>{menu}</ul></div><div class=main><h1>{title}</h1>{main}</div>"
            f"<div class=others><h2>Others bought</h2><ul>{others}</ul></div>"
            f"<div class=foot><p>All prices with tax. Delivery takes two days. {number * 3} visitors today.</p></div>"
        )
    return folder


@pytest.mark.parametrize("layout", [table, definitions, below_actions, lines])
def test_no_fact_of_a_page_is_lost(tmp_path, layout):
    site = tmp_path / "site"
    site.mkdir()
    found = crawl(tmp_path, "archive", path=shop(site, layout), base="http://shop.test/").lines
    assert len(found) == PAGES
    texts = {int(line["url"].rpartition("/p")[2].removesuffix(".html")): line["text"] for line in found}
    kept = {name: sum(facts(number)[name] in text for number, text in texts.items()) / PAGES for name in facts(0)}
    print(layout.__name__, kept)
    assert {name: share for name, share in kept.items() if share < FLOOR} == {}
    assert not any("All prices with tax" in text or "of the shop" in text for text in texts.values())
    assert sum("visitors today" in text for text in texts.values()) == 0
