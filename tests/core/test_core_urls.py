"""The addresses of links in the compiled core: every one is the same as without the core, and none is let through."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import (
    LONGEST,
    ROOM,
    absolute,
    files_among,
    host_of,
    is_page,
    pages_of_host,
    same_host,
    targets_of,
    written_addresses,
)
from tests.oracles import addresses

SITE = Path(__file__).parents[1] / "site"
#: What links are made of, plain and hostile; any of them may follow any other.
PIECES = (
    "http://", "HTTPS://", "https:", "//", "/", "///", "\\", "@", ":", ":80", ":443", ":0", ":00080", ":65536",
    ":8000", ":65535", ":99999", "?", "#", "&", "=", ";", "%",
    "%2e", "%2E%2E", "%2f", "%3f", "%41", "%7e", "%e4%b8", "%C3%A9", "%80",
    "%zz", "%8", ".", "..", "...", "./", "../", "/..", "/.", "index.html", "Default.ASPX", "index.xhtm", "index.php",
    ".index", "a", "B", "c.html", "d_e~f-g", "example.com", "Example.COM.", "www.example.com",
    "xn--bcher-kva.example", "bücher.example", "東京", "user", "user:pw@", "[::1]", "[", "]", "127.0.0.1",
    "utm_source=x", "PHPSESSID=1", ";jsessionid=9", "x=1", "x=", "=x", "b=2&a=1&a=0", "q=a+b", "q=%20", "mailto:",
    "javascript:", "JavaScript:alert(1)", "java\nscript:", "tel:1", "data:,x", "file:///etc/passwd", "ftp://h/",
    "#東京", "#x\u3000", "\t", "\n", "\r", "\0", "\x1f", "\x7f", "\x85", "\u00a0", "\u2028", " ", "\ud800", "İ", "ſ",
    "K", ",", "!", "(x)", "*", "'", '"', "<", ">", "|", "^", "`", "{", "}", "$", "+", "~", "Special:Log", "a:b",
    "www.",
)  # fmt: skip
hrefs = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=20)
bases = (
    st.sampled_from(
        (
            "http://example.com/a/b.html", "https://www.example.com", "http://h/a/?x=/y#z",
            "HTTP://H:80/A/index.html", "http://h/a;b/c", "http://h//a/", "http://h/%7ea/", "http://h/../a/b",
            "http://user@h/a/", "file:///srv/a/b.html", "", "http://h./", "http://bücher.example/a/", "http://h/ü/",
            "http://h/a\\b/", "data:,x", "http://h/a/b?", "http://h#x",
            "http://127.0.0.1:45123/a/b.html",
        )
    )
    | hrefs
)  # fmt: skip


def outcome(function, *arguments):
    """What a function returns, or the class of what it raises."""
    try:
        return function(*arguments)
    except ValueError as error:
        return type(error)


def assert_equal(base, links):
    targets, keys, beyond = targets_of(base, links)
    expected, expected_keys, expected_beyond = addresses.targets_of(base, links)
    assert targets == expected
    assert beyond == expected_beyond
    assert keys.dtype == expected_keys.dtype
    assert keys.tolist() == expected_keys.tolist()
    for link in links:
        assert outcome(absolute, base, link) == outcome(addresses.absolute, base, link), (base, link)
        written = outcome(addresses.written_addresses, base, [link])
        assert outcome(written_addresses, base, [link]) == written, (base, link)
    for url in (base, *targets):
        assert pages_of_host(targets, url) == addresses.pages_of_host(targets, url)


@settings(max_examples=4 * settings().max_examples)
@given(bases, st.lists(hrefs, max_size=12))
@example(
    "http://h/a/b.html",
    ["../c.html#x", "../../..", "..", ".", "./", "d/", "d/index.html?b=2&a", "?", "?a=b", "#", "", " "],
)
@example(
    "http://h/a/b.html",
    ["http://h:81/../x", "https://h:443", "//k", "//k:80/?", "http://a@h/", "http://h\\k/", "http://"],
)
@example(
    "http://h/a/b.html",
    ["/%e4%b8%ad", "/a%2fb", "/%41", "/a:b", "/x@y", "/a,b!(c)*$+=&", "/.a", "/a//b", "/a;b", "a:b/c"],
)
@example("http://h/a?x=y", ["?z=1", "#x", "b", "/b"])
def test_all_addresses_are_equal(base, links):
    assert_equal(base, links)


@given(bases, hrefs, hrefs)
def test_addresses_of_any_length(base, link, other):
    """Around the longest address that counts, of links and of what they are joined to."""
    long = "x" * (LONGEST - len(link) - 1)
    assert_equal(base, [f"{link}/{long}", f"{long}/{link}", f"{link}#{long}", f"/{long}/{link}", f"{other}?{long}"])
    assert_equal(f"http://h/{long}/", [link, other])


def test_a_link_of_megabytes():
    assert_equal(
        "http://h/",
        ["x" * 2_000_000, "#" + "x" * 2_000_000, " " * 2_000_000 + "x", "http://h/" + "a/../" * 400_000],
    )


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "?q={}&b&a",
        pytest.param("{} é", id="long-accents"),
        pytest.param("?q={}" + "&a=b c" * 4, id="long-query"),
        pytest.param("http://{}.bücher.example/", id="long-host"),
    ],
)
def test_the_addresses_of_a_page_have_a_bound(form):
    """A long base would make a long address of each of a hundred thousand short links."""
    base, links = f"http://h/{'b/' * 1000}", list(map(form.format, range(13_000)))
    targets, keys, beyond = targets_of(base, links)
    assert 0 < beyond < len(links)
    assert sum(map(len, targets)) <= ROOM + LONGEST
    assert all(targets[:-beyond])
    assert all(keys[:-beyond])
    assert not any(targets[-beyond:])
    assert not any(keys[-beyond:])
    expected, _, expected_beyond = addresses.targets_of(base, links)
    assert (targets, beyond) == (expected, expected_beyond)


@given(st.lists(hrefs, max_size=5), hrefs)
def test_pages_of_a_host(urls, url):
    """Also for addresses that are not normalised."""
    assert pages_of_host(urls, url) == addresses.pages_of_host(urls, url)
    assert all(same_host(urls[i], url) for i in pages_of_host(urls, url))
    assert pages_of_host(urls, url) == [] or host_of(url) != ""


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    page = Page.parse(path.read_bytes(), f"http://example.com/{path.relative_to(SITE)}")
    assert_equal(page.base, page.nodes.links.href)


@given(
    st.lists(hrefs | st.sampled_from(("/a.PDF", "a.html?b.pdf", "a.pdf#b", "b.zip/c", "http://[half.pdf", "a.pdf\n")))
)
def test_files_among_links_are_the_same(links):
    assert files_among(links).tolist() == [not is_page(link) for link in links]
