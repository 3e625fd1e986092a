"""Sites on which what repeats is content, or what varies is none: each page keeps what it is about."""

import pytest

from tests.crawling import crawl, letters

PAGES = 12
MENU = "<ul class=menu><li><a href=/>Start of the shop</a><li><a href=/all.html>All that we have</a></ul>"
FOOT = "<div class=foot><p>Prices include all taxes of the country. Delivery takes two days at most.</p></div>"
PROSE = (
    "Water of eighty degrees brings out what the first leaves of the year have to give, as growers of the hills know."
)


def prose(number):
    """Sentences of a page of its own."""
    return "".join(f"<p>{PROSE} Say {letters(str(number * 31 + part))} and they pour." for part in range(3))


def page(title, main, menu=MENU):
    return (
        f"<!doctype html><html lang=en><title>{title} - The shop</title><body>{menu}<div class=main><h1>{title}</h1>"
        f"{main}</div>{FOOT}</body></html>"
    )


def texts_of(tmp_path, pages):
    """The lines of the feed, by the name of the page."""
    site = tmp_path / "site"
    site.mkdir()
    for name, body in pages.items():
        (site / f"{name}.html").write_text(body)
    found = crawl(tmp_path, "archive", path=site, base="http://shop.test/").lines
    lines = {line["url"].rpartition("/")[2].removesuffix(".html"): line for line in found}
    assert lines.keys() == pages.keys()
    assert not any("all taxes" in line["text"] or "All that we have" in line["text"] for line in lines.values())
    return lines


def test_one_product_with_another_number_on_each_page(tmp_path):
    about = "A pump of cast iron for wells of up to nine metres, painted green, with a handle of ash and a brass valve."
    pages = {f"p{n}": page("Pump", f"<p>{about}</p><p>Number: <b>KX-{4100 + n * 7}</b></p>") for n in range(PAGES)}
    lines = texts_of(tmp_path, pages)
    assert all(f"KX-{4100 + n * 7}" in lines[f"p{n}"]["text"] for n in range(PAGES))


def test_two_templates_of_one_site(tmp_path):
    def row(n):
        return f"<table><tr><th>Price<td>{10 + n * 7}.{10 + n * 3}<tr><th>Weight<td>{n * 11 + 3} g</table>"

    articles = {f"a{n}": page(f"On tea {letters(str(n))}", prose(n), menu=f"<nav>{MENU}</nav>") for n in range(PAGES)}
    shop = {f"p{n}": page(f"Tin {letters(str(n))}", f"{row(n)}<p>Tin of {letters(str(n * 53))}.") for n in range(PAGES)}
    lines = texts_of(tmp_path, articles | shop)
    assert all(lines[f"a{n}"]["text"].count(PROSE) == 3 for n in range(PAGES))
    assert all(f"{10 + n * 7}.{10 + n * 3}" in lines[f"p{n}"]["text"] for n in range(PAGES))


def test_a_price_list_with_all_rows_on_one_page(tmp_path):
    rows = "".join(f"<tr><td>{letters(str(n * 37))}<td>{n % 5} kg<td>{3 + n % 7}.50" for n in range(80))
    pages = {f"p{n}": page(f"On tea {letters(str(n))}", prose(n)) for n in range(PAGES)}
    pages["prices"] = page("Prices", f"<table><tr><th>Name<th>Weight<th>Price{rows}</table>")
    text = texts_of(tmp_path, pages)["prices"]["text"]
    assert text.count(".50") == 80
    assert "Weight" in text


def test_comments_longer_than_the_article(tmp_path):
    def comment(n, part):
        return f"<li class=comment id=comment-{part}><p>{PROSE} {letters(str(n * 97 + part))}</p></li>"

    pages = {
        f"p{n}": page(
            f"On tea {letters(str(n))}",
            f"{prose(n)}<div id=comments><h2>Comments</h2><ol class=commentlist>"
            f"{''.join(comment(n, part) for part in range(30))}</ol></div>",
        )
        for n in range(PAGES)
    }
    lines = texts_of(tmp_path, pages)
    for n in range(PAGES):
        line = lines[f"p{n}"]
        assert letters(str(n * 31)) in line["text"], n
        assert letters(str(n * 97 + 7)) not in line["text"].split()
        assert line["comments"].count(PROSE) == 30


@pytest.mark.parametrize("word", ["Yes", "+1"])
def test_a_forum_whose_posts_are_one_word(tmp_path, word):
    def thread(n):
        posts = "".join(
            f"<div class=post><div class=author>{letters(str(n + part * 5))}</div><div class=body>{word}</div></div>"
            for part in range(6)
        )
        return f"<div class=post><div class=body>Is it {letters(str(n * 71))} that we drink today?</div></div>{posts}"

    pages = {f"viewtopic{n}": page(f"Thread {letters(str(n))}", thread(n)) for n in range(PAGES)}
    lines = texts_of(tmp_path, pages)
    asked = [f"Is it {letters(str(n * 71))} that we drink" in lines[f"viewtopic{n}"]["text"] for n in range(PAGES)]
    assert all(asked)


def test_an_article_about_menus(tmp_path):
    menus = (
        "<p>A menu of ours has these entries, in this order:<ul><li>Soups and salads<li>Dishes with rice<li>Sweets</ul>"
    )
    pages = {f"p{n}": page(f"On tea {letters(str(n))}", prose(n)) for n in range(PAGES)}
    pages["menus"] = page("How to write a menu", prose(99) + menus + prose(98))
    assert "Soups and salads" in texts_of(tmp_path, pages)["menus"]["text"]


def test_pages_that_differ_only_in_a_date(tmp_path):
    pages = {
        f"p{n}": page("Opening hours", f"<p>On <b>{1 + n} March 2024</b> we are open from nine to five.")
        for n in range(PAGES)
    }
    lines = texts_of(tmp_path, pages)
    assert all(f"{1 + n} March 2024" in lines[f"p{n}"]["text"] for n in range(PAGES))
