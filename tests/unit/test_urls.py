"""Normalised URLs, sites, files, and links with side effects."""

import re
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from scrapy_pagelets.evidence.menu_links import acts
from scrapy_pagelets.page.urls import host_of, is_page, key, normalise, resolve, same_host, site_of

LABELS = st.text("abcxyz09-_~.", min_size=1, max_size=4)
PATHS = st.lists(
    st.one_of(LABELS, st.sampled_from(["..", ".", "index.html", "ü", "%c3%bc", "a b", "a;b=c"])), max_size=4
)
CONTROL = "".join(map(chr, range(33)))
#: What parsers read in more than one way: a backslash, a control character, a user.
MISREAD = re.compile(r"[\\\x00-\x1f\x7f-\x9f]|^(?:\w+:)?//[^/?]*@")
HREFS = st.one_of(
    PATHS.map("/".join),
    PATHS.map(lambda parts: "/" + "/".join(parts)),
    st.builds("{}?{}#{}".format, PATHS.map("/".join), st.text("ab=&1%", max_size=6), st.text("ab/", max_size=3)),
    st.builds("http{}://{}/{}".format, st.sampled_from(["", "s"]), st.sampled_from(["h", "H:80", "o.org"]), LABELS),
    st.text(max_size=8),
)
BASES = st.sampled_from(
    "http://h http://h/ http://h/a http://h/a/ http://h/a/b.html http://h/a/?q=/c/d http://h/a/b?c#/d "
    "http://h:8000/a/b https://h:443/a/ file:///a/b http://h?x=/y".split()
)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://example.com", "http://example.com/"),
        ("https://example.com/", "http://example.com/"),
        ("HTTP://EXAMPLE.com/", "http://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("https://example.com:443/a", "http://example.com/a"),
        ("http://user:secret@example.com/a", "http://example.com/a"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com/a#top", "http://example.com/a"),
        ("http://example.com/a/index.html", "http://example.com/a/"),
        ("http://example.com/index.php?a=1", "http://example.com/?a=1"),
        ("http://example.com/Default.aspx", "http://example.com/"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://example.com/a?b=2&a=1", "http://example.com/a?a=1&b=2"),
        ("http://example.com/a?b=2&utm_source=x&utm_medium=y&PHPSESSID=z", "http://example.com/a?b=2"),
        ("http://example.com/a;jsessionid=0AF?b=1", "http://example.com/a?b=1"),
        ("http://example.com/a?b", "http://example.com/a?b="),
        ("http://example.com/ü", "http://example.com/%C3%BC"),
        ("http://example.com/%c3%bc", "http://example.com/%C3%BC"),
        ("http://example.com/%7Ejoe/", "http://example.com/~joe/"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2e/c", "http://example.com/c"),
        ("http://example.com/../a/..", "http://example.com/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://example.com:port/a", "http://example.com/a"),
    ],
)
def test_spellings_of_one_page(url, same):
    assert normalise(url) == same
    assert normalise(same) == same
    assert key(url) == key(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/a", "http://h/a/"),
        ("http://h/a", "http://h/A"),
        ("http://h/a", "http://h:8000/a"),
        ("http://h/?t=1&t=2", "http://h/?t=1&t=3"),
        ("http://h/?t=1&t=2", "http://h/?t=1"),
        ("http://h/a%2Fb", "http://h/a/b"),
        ("http://h/a?b=1", "http://h/a%3Fb=1"),
        ("http://[::1]:8000/", "http://[::1]:8001/"),
        ("http://h/myindex.html", "http://h/"),
        ("http://h/a;b=1", "http://h/a;b=2"),
        ("http://h//a", "http://h/a"),
    ],
)
def test_different_pages(one, other):
    assert normalise(one) != normalise(other)
    assert key(one) != key(other)


@given(BASES, HREFS)
def test_normal_form_is_normal(base, href):
    found, target = resolve(base, href)
    assert (found == 0) == (target == "")
    if target:
        assert normalise(target) == target
        assert found == key(target)
        assert 0 < found < 2**63


@given(BASES, HREFS)
def test_links_are_joined_as_by_the_standard_library(base, href):
    try:
        joined = urljoin(base, href.strip().strip("".join(map(chr, range(33)))))
        expected = normalise(joined) if joined.lower().startswith(("http://", "https://", "file://")) else ""
    except ValueError:
        expected = ""
    if expected.startswith("http:///") or MISREAD.search(href.strip().strip(CONTROL).partition("#")[0]):
        expected = ""
    assert resolve(base, href)[1] == expected


@pytest.mark.parametrize(
    "href",
    [r"\\o.org\x", r"/\o.org/x", r"a\b", r"http://o.org\@h/", "http://h@o.org/", "//u:p@o.org/", "a\tb", "a\x7f",
     "ht\ntp://o.org/x", "file:///etc/passwd", "FILE://h/etc/passwd", "ftp://h/x", "data:text/html,x", "http://[::1/"],
)  # fmt: skip
def test_what_may_be_misread_or_leads_away_from_the_web_is_no_link(href):
    assert resolve("http://h/a", href) == (0, "")


@given(BASES.filter(lambda base: not base.startswith("file:")), HREFS)
def test_no_link_of_a_web_page_leads_to_a_file(base, href):
    assert resolve(base, href)[1].startswith(("http://", "")[not resolve(base, href)[0]])
    assert resolve(base, f"file://h/{href}") == (0, "")


@given(st.lists(st.tuples(st.text("abcX_.-1", max_size=3), st.text("abc-_.9", max_size=3)), min_size=1))
def test_plain_queries_are_sorted_as_by_w3lib(pairs):
    url = "http://h/?" + "&".join(f"{name}={value}" for name, value in pairs)
    assert normalise(url) == canonicalize_url(url).rstrip("?")


@pytest.mark.parametrize(
    ("base", "href", "target"),
    [
        ("http://h/a/b.html", "", "http://h/a/b.html"),
        ("http://h/a/b.html", "#x", "http://h/a/b.html"),
        ("http://h/a/b.html", " #x ", "http://h/a/b.html"),
        ("http://h/a/b.html", "?q=1", "http://h/a/b.html?q=1"),
        ("http://h/a/b.html", "\n?q=1", "http://h/a/b.html?q=1"),
        ("http://h/a/b.html", "//other.org/x", "http://other.org/x"),
        ("http://h", "c.html", "http://h/c.html"),
        ("http://h/a/b", "HTTP://OTHER.org/X", "http://other.org/X"),
        ("https://h/a/b", "Http://h/X", "http://h/X"),
        ("http://h/a/b", "../../../x", "http://h/x"),
        ("file:///d/a.html", "b.html", "file:///d/b.html"),
        ("http://[broken/", "http://o.org/x", "http://o.org/x"),
    ],
)
def test_links(base, href, target):
    assert resolve(base, href) == (key(target), target)


@pytest.mark.parametrize(
    "href",
    [
        "javascript:void(0)",
        "JavaScript:void(0)",
        "java\nscript:void(0)",
        "mailto:a@b.c",
        "tel:123",
        "data:text/html,x",
        "ftp://h/x",
        "about:blank",
        "http://[broken",
        "https:///x",
        "x" * 3000,
    ],
)
def test_what_is_no_page(href):
    assert resolve("http://h/a/b.html", href) == (0, "")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://www.example.com/a", "example.com"),
        ("https://a.b.example.co.uk/", "example.co.uk"),
        ("https://alice.github.io/x", "alice.github.io"),
        ("https://bob.github.io/x", "bob.github.io"),
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("http://localhost:80/", "localhost"),
        ("http://INTRANET/", "intranet"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://user:secret@intranet:81/", "intranet:81"),
        ("http://bücher.de/", "xn--bcher-kva.de"),
        ("file:///a/b", ""),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_sites(url, site):
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.b:80/", "a.b"),
        ("https://a.b:8443/", "a.b:8443"),
        ("http://[::1]/", "[::1]"),
        ("http://[x", ""),
        ("x", ""),
    ],
)
def test_hosts(url, host):
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("http://h/a", "https://h/b", True),
        ("http://h/a", "http://www.h/b", True),
        ("http://h:80/a", "https://h:443/b", True),
        ("http://H/a", "http://u@h./b", True),
        ("http://[::1]:8000/", "http://[::1]:8000/x", True),
        ("http://h/a", "http://h:81/b", False),
        ("http://h/a", "http://g/b", False),
        ("http://www2.h/a", "http://h/b", False),
        ("http://[x", "http://[x", False),
        ("", "", False),
    ],
)
def test_same_host(url, other, same):
    assert same_host(url, other) == same_host(other, url) == same


@given(st.text(max_size=30))
def test_any_text_has_a_key_and_a_site(url):
    assert isinstance(key(url), int)
    assert isinstance(site_of(url), str)
    assert isinstance(resolve("http://h/", url)[1], str)


@pytest.mark.parametrize("name", "a a/ a.html a.php a.PDFs pdf a.pdf/b index.aspx v1.2 a.b.c zip?a.html".split())
def test_pages(name):
    assert is_page(f"http://h/{name}")


@pytest.mark.parametrize(
    "name", "a.pdf a.PDF?b=1 a.tar.gz a.tgz a.jpeg a.svg a.mp4 a.css a.js a.json a.xml a.docx a.txt".split()
)
def test_files(name):
    assert not is_page(f"http://h/{name}")


@pytest.mark.parametrize(
    "path",
    """logout /logout.php user/logout/ Logout log-out log_out ?logout ?action=logout&x=1 Special:UserLogout doLogout
    index.php?title=Special:UserLogout signout sign-out SignOff logoff account/delete ?delete=4 ?do=delete&id=4 edit
    deletePost?id=4 removeItem cart/remove/5 unsubscribe?u=1 vote?id=3 ?vote=up post/4/edit add-to-cart/5 checkout
    revert/7 ?action=purge user/4/kick reindex index/rebuild licence/renew ?do=decline post/4/hide cache/expire
    mail/4/resend plan/downgrade kick.html""".split(),
)
def test_links_that_act(path):
    assert acts(f"http://h/{path}")


@pytest.mark.parametrize(
    "path",
    """ blog/ blogging login catalog/ additions.html address editions editorial reporters dropout about layout logo
    design voters deleted-scenes removal signs/ addition?x=address undelete checkouts
    sql-reindex.html expire.htm kicker renewable hidden-gems""".split(),
)
def test_links_that_do_not_act(path):
    assert not acts(f"http://h/{path}")
