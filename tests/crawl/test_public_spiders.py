"""Spiders from Scrapy's tutorial and documentation: their items are the same with and without the add-on.

The site has the markup of the one that the tutorial crawls, and sayings of its own.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, answer, run_spider
from tests.server import Reply, Route, SiteServer, html, redirect

#: Makes the routes of a server.
Site = Callable[[SiteServer], dict[str, Route]]

AUTHORS = ("Ada Stone", "Bela Novak", "Carl Oduya", "Dora Lindqvist", "Emil Castellanos", "Fay Underhill")
TAGS = ("bridges", "weather", "bread", "rivers", "patience", "lanterns", "gardens")
_STARTS = ("A quiet harbour", "The oldest stair", "Nobody's umbrella", "Every second Tuesday", "A borrowed ladder")
_MIDDLES = ("teaches the baker", "forgives the carpenter", "outlives a proud mayor", "reminds two strangers", "asks")
_ENDS = ("what the tide keeps.", "where the road bends.", "how slowly cheese ripens.", "why bells are heavy.")
_PAGES, _SAYINGS = 10, 10


def saying(number: int) -> str:
    """Return a sentence that is different for each number."""
    start, rest = number % 5, number // 5
    return f"“{_STARTS[start]} {_MIDDLES[rest % 5]} {_ENDS[rest // 5 % 4]}”"


def author(number: int) -> str:
    return AUTHORS[number % len(AUTHORS)]


def tags(number: int) -> list[str]:
    """Some sayings have no tag."""
    return [TAGS[(number + step) % len(TAGS)] for step in range(number % 4)]


def layout(content: str, *, user: bool = False) -> str:
    """A page of the site; each page shows whether the user is logged in."""
    door = '<a href="/logout">Logout</a>' if user else '<a href="/login">Login</a>'
    top = "".join(f'<span class="tag-item"><a class="tag" href="/tag/{tag}/">{tag}</a></span>' for tag in TAGS)
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>Sayings to Collect</title></head>
<body><div class="container"><div class="row header-box">
<div class="col-md-8"><h1><a href="/">Sayings to Collect</a></h1></div><div class="col-md-4"><p>{door}</p></div></div>
<div class="row"><div class="col-md-8">{content}</div>
<div class="col-md-4 tags-box"><h2>Top Ten tags</h2>{top}</div></div></div>
<footer class="footer"><div class="container"><p class="text-muted">Sayings by people who never lived</p>
<p class="copyright">Made for the tests of this project</p></div></footer></body></html>"""


def quote(number: int) -> str:
    name = author(number)
    some = "".join(f'<a class="tag" href="/tag/{tag}/page/1/">{tag}</a>' for tag in tags(number))
    return f"""<div class="quote" itemscope><span class="text" itemprop="text">{saying(number)}</span>
<span>by <small class="author" itemprop="author">{name}</small> <a href="/author/{slug(name)}">(about)</a></span>
<div class="tags">Tags: <meta class="keywords" content="{",".join(tags(number))}">{some}</div></div>"""


def slug(name: str) -> str:
    return name.replace(" ", "-")


def listing(numbers: Iterable[int], after: str = "", *, user: bool = False) -> str:
    pager = f'<nav><ul class="pager"><li class="next"><a href="{after}">Next</a></li></ul></nav>' if after else ""
    return layout("".join(map(quote, numbers)) + pager, user=user)


def about(name: str, number: int) -> str:
    return layout(f"""<div class="author-details"><h3 class="author-title">{name}</h3>
<p><strong>Born:</strong> <span class="author-born-date">May {number + 1}, 19{number + 10}</span>
<span class="author-born-location">in a town by the river {TAGS[number]}</span></p>
<div class="author-description">  {name} never wrote a book about {TAGS[number]}. {saying(number * 7)[1:-1]}
{" ".join(saying(number * 13 + more)[1:-1] for more in range(6))}  </div></div>""")


def sayings() -> dict[str, Route]:
    """A hundred sayings on ten pages, with pages for six authors and seven tags."""
    paths = ["/", *(f"/page/{page}/" for page in range(2, _PAGES + 1)), ""]
    routes = {
        path: answer(listing(range(page * _SAYINGS, (page + 1) * _SAYINGS), after))
        for page, (path, after) in enumerate(pairwise(paths))
    }
    routes |= {f"/author/{slug(name)}": answer(about(name, number)) for number, name in enumerate(AUTHORS)}
    for tag in TAGS:
        found = [number for number in range(_PAGES * _SAYINGS) if tag in tags(number)]
        routes |= dict.fromkeys((f"/tag/{tag}/", f"/tag/{tag}/page/1/"), answer(listing(found[:_SAYINGS])))
    return routes | {"/login": answer(layout("<p>Nobody can log in here.</p>"))}


QUOTES = """
class QuotesSpider(scrapy.Spider):
    name = "quotes"

    async def start(self):
        yield Request(self.base)

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {
                "text": quote.css("span.text::text").get(),
                "author": quote.css("small.author::text").get(),
                "tags": quote.css("div.tags a.tag::text").getall(),
            }
        next_page = response.css("li.next a::attr(href)").get()
        if next_page is not None:
            yield response.follow(next_page, callback=self.parse)
"""
AUTHOR = """
class AuthorSpider(scrapy.Spider):
    name = "author"

    async def start(self):
        yield Request(self.base)

    def parse(self, response):
        author_page_links = response.css(".author + a")
        yield from response.follow_all(author_page_links, self.parse_author)
        pagination_links = response.css("li.next a")
        yield from response.follow_all(pagination_links, self.parse)

    def parse_author(self, response):
        def extract_with_css(query):
            return response.css(query).get(default="").strip()

        yield {
            "name": extract_with_css("h3.author-title::text"),
            "birthdate": extract_with_css(".author-born-date::text"),
            "bio": extract_with_css(".author-description::text"),
        }
"""
#: The example of the documentation; it calls a deprecated function that is still in use.
LOGIN = """
import warnings
from scrapy import FormRequest
from scrapy.exceptions import ScrapyDeprecationWarning

def authentication_failed(response):
    return "Logout" not in response.text

class LoginSpider(scrapy.Spider):
    name = "login"

    async def start(self):
        yield Request(self.base + "login")

    def parse(self, response):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)
            return FormRequest.from_response(
                response, formdata={"username": "john", "password": "secret"}, callback=self.after_login
            )

    def after_login(self, response):
        if authentication_failed(response):
            self.logger.error("Login failed")
            return
        for text in response.css("div.quote span.text::text").getall():
            yield {"text": text, "page": response.url, "member": not authentication_failed(response)}
        yield from response.follow_all(css="li.next a", callback=self.after_login)
"""
FORM = """<form action="/login" method="post"><input type="hidden" name="csrf_token" value="a1b2c3"/>
<label>Username</label> <input type="text" name="username"/>
<label>Password</label> <input type="password" name="password"/>
<input type="submit" value="Login"/></form>"""


def members(server: SiteServer) -> dict[str, Route]:
    """Ten pages with one saying each for visitors, and all sayings for logged-in users."""

    def is_member(path: str) -> bool:
        return "user=john" in server.headers[path].get("Cookie", "")

    def login(path: str) -> Reply:
        cookie = server.headers[path].get("Cookie", "")
        if "Content-Type" not in server.headers[path]:  # a GET request for the form, not a POST
            return html(layout(FORM), Set_Cookie="session=open; Path=/")
        if "session=open" not in cookie:
            return html(layout("<p>Who are you?</p>"), status=403)
        return redirect("/")._replace(headers={"Location": "/", "Set-Cookie": "user=john; Path=/"})

    def page(path: str) -> Reply:
        number = 0 if path == "/" else int(path.split("/")[2]) - 1
        first, member = number * _SAYINGS, is_member(path)
        after = f"/page/{number + 2}/" if number + 1 < _PAGES else ""
        return html(listing(range(first, first + (_SAYINGS if member else 1)), after, user=member))

    return sayings() | {"/": page, "/page/*": page, "/login": login} | dict.fromkeys(
        (f"/page/{number}/" for number in range(2, _PAGES + 1)), page
    )  # fmt: skip


#: Spiders whose callbacks receive page objects from scrapy-poet.
PAGES = """
from dataclasses import dataclass
import attrs
from web_poet import Returns, WebPage, field

@attrs.define
class Author:
    name: str
    text: str = ""
    born: str | None = None

@dataclass
class Saying:
    text: str
    author: str

@attrs.define
class AuthorPage(WebPage[Author]):
    @field
    def name(self):
        return self.css("h3.author-title::text").get()

    @field
    def text(self):
        return self.css(".author-description::text").get().strip()

class ListPage(WebPage):
    def links(self):
        return self.css(".author + a::attr(href), li.next a::attr(href)").getall()

    def to_items(self):
        for quote in self.css("div.quote"):
            yield Saying(quote.css("span.text::text").get(), quote.css("small.author::text").get())

class PoetSpider(scrapy.Spider):
    name = "poet"

    async def start(self):
        yield Request(self.base)

    def parse(self, response, page: ListPage):
        yield from page.to_items()
        for link in page.links():
            yield response.follow(link, self.parse_author if "/author/" in link else self.parse)

    async def parse_author(self, response, page: AuthorPage):
        yield await page.to_item()
"""


def both(tmp_path: Path, source: str, site: Site, **settings: Any) -> tuple[Crawl, Crawl]:
    """Run a spider without the add-on and with it, each with a separate server."""
    found = []
    for addons in ({}, {"scrapy_pagelets.Addon": 500}):
        folder = tmp_path / ("with" if addons else "without")
        folder.mkdir()
        with SiteServer() as server:
            server.routes |= site(server)
            given = {"ADDONS": addons | settings.get("ADDONS", {})}
            found.append(run_spider(folder, source, settings=settings | given, base=server.url("")))
    return found[0], found[1]


def of_the_spider(items: Iterable[dict[str, Any]], names: Iterable[str]) -> list[str]:
    """Return the values of the spider's own fields, in any order and for any port of the site."""
    some = [{name: item[name] for name in names if name in item} for item in items]
    return sorted(re.sub(r"http://127\.0\.0\.1:\d+/", "http://site/", json.dumps(item)) for item in some)


def assert_same_items(without: Crawl, found: Crawl, number: int) -> None:
    assert len(without.lines) == number
    names = {name for line in without.lines for name in line}
    assert of_the_spider(found.lines, names) == of_the_spider(without.lines, names)
    assert without.errors == found.errors == []


def listed(server: SiteServer) -> dict[str, Route]:
    return sayings()


@pytest.mark.parametrize(
    ("source", "site", "number"),
    [(QUOTES, listed, 100), (AUTHOR, listed, 6), (LOGIN, members, 100)],
    ids=["quotes", "author", "login"],
)
def test_the_items_are_the_same_with_and_without_the_add_on(tmp_path, source, site, number):
    assert_same_items(*both(tmp_path, source, site), number)


def test_the_items_of_page_objects_are_the_same(tmp_path):
    without, found = both(tmp_path, PAGES, listed, ADDONS={"scrapy_poet.Addon": 300})
    authors = [line for line in without.lines if "name" in line]
    assert len(authors) == len(AUTHORS)
    assert_same_items(without, found, 100 + len(AUTHORS))


@pytest.fixture(scope="module")
def quotes(tmp_path_factory):
    """The tutorial's spider, with an index and with near-duplicates dropped."""
    path = tmp_path_factory.mktemp("quotes")
    settings = {"PAGELETS_INDEX": str(path / "pages.sqlite"), "PAGELETS_DUPLICATES": "drop"}
    without, found = both(path, QUOTES, listed, **settings)
    return without, found, path / "pages.sqlite"


def test_items_of_one_page_are_not_near_duplicates_of_each_other(quotes):
    without, found, _ = quotes
    assert_same_items(without, found, 100)
    assert found.stat("duplicates") == 0
    assert {line["near_duplicate_of"] for line in found.lines} == {None}
    assert len({line["sketch"] for line in found.lines}) == _PAGES


def test_the_content_of_the_page_goes_under_another_name(quotes):
    _, found, _ = quotes
    assert found.stat("fields/renamed") == 100
    assert found.stat("fields/missing") == 0
    for line in found.lines:
        assert line["text"] in line["content"]
        assert line["content"].count("“") == _SAYINGS
        assert "people who never lived" not in line["content"]
    assert found.warnings == [
        "Field 'text' of dict: the spider's value stays, ours goes into 'content'; "
        "PAGELETS_FIELDS can give it another name"
    ]


def test_the_index_has_each_page_once_with_its_content(quotes):
    _, found, index = quotes
    with closing(sqlite3.connect(index)) as base:
        pages = dict(base.execute("SELECT url, title FROM pages"))
        query = "SELECT pages.url, text FROM pagelets JOIN pages ON page = pages.id WHERE role = 'content'"
        indexed = set(base.execute(query))
    assert found.stat("index/pages") == len(pages) == _PAGES
    assert set(pages.values()) == {"Sayings to Collect"}
    assert indexed == {(line["url"], pagelet["text"]) for line in found.lines for pagelet in line["pagelets"]}
