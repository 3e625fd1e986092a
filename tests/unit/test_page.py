"""Parsing pages from bytes: charsets, broken, deep and huge bodies, base, frames, XHTML."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.page.page import MAX_DEPTH, Page, decode
from scrapy_pagelets.page.text import cleaned, paths_of, plain
from tests.trees import URL, every, soups

JAPANESE = "日本語のウェブページです。これは文字コードの判定を試すための文章です。東京は今日も晴れています。"
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. Это обычный русский текст для проверки кодировки."
CHINESE = "这是一个用来测试字符编码检测的中文网页。今天北京的天气很好，我们去公园散步。"
TAIWANESE = "這是一個用來測試字元編碼偵測的中文網頁。今天台北的天氣很好，我們去公園散步。"
KOREAN = "이것은 문자 인코딩 감지를 시험하기 위한 한국어 웹 페이지입니다. 오늘 서울은 날씨가 맑습니다."
GREEK = "Αυτό είναι ένα απλό κείμενο στα ελληνικά για να δοκιμάσουμε την ανίχνευση κωδικοποίησης."
HEBREW = "זהו טקסט פשוט בעברית לבדיקת זיהוי קידוד התווים של הדף. היום יום יפה מאוד בירושלים."
ARABIC = "هذا نص عربي بسيط لاختبار كشف ترميز الأحرف في الصفحة. الطقس جميل اليوم في القاهرة."
TURKISH = "Bu sayfa kodlamanın algılanmasını sınamak için yazılmıştır. Güneş bugün çok güzel doğdu, şimdi ığdır."
POLISH = "Zażółć gęślą jaźń. To jest zwykły tekst po polsku, który służy do sprawdzenia wykrywania kodowania znaków."
FRENCH = "Le déjeuner était délicieux à la forêt, où les élèves français ont reçu des gâteaux. Ça marche très bien."
ENGLISH = "This page tells of the office and of the people who work there. "
SCRIPT = "<script>var english = 'words that tell nothing of the text'; function f(a, b) { return a < b }</script>" * 50


def text(body, content_type=None):
    found = Page.parse(body, URL, content_type)
    return plain(found.nodes, every(found))


# charsets


@pytest.mark.parametrize(
    ("content", "charset"),
    [
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (RUSSIAN, "windows-1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "iso8859-5"),
        (RUSSIAN, "cp866"),
        (CHINESE, "gbk"),
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5"),
        (KOREAN, "euc_kr"),
        (GREEK, "windows-1253"),
        (HEBREW, "windows-1255"),
        (ARABIC, "windows-1256"),
        (TURKISH, "windows-1254"),
        (POLISH, "windows-1250"),
        (FRENCH, "windows-1252"),
        *((content, "utf-8") for content in (JAPANESE, RUSSIAN, KOREAN, FRENCH)),
        *((content, "utf-16-le") for content in (JAPANESE, RUSSIAN, FRENCH)),
        *((content, "utf-16-be") for content in (JAPANESE, RUSSIAN, FRENCH)),
        *((content, "utf-16") for content in (JAPANESE, RUSSIAN, FRENCH)),
        *((content, "utf-32") for content in (JAPANESE, RUSSIAN, FRENCH)),
        *((content, "utf-8-sig") for content in (JAPANESE, RUSSIAN, FRENCH)),
    ],
)
def test_a_charset_that_is_not_declared(content, charset):
    head = f"<html><head><title>x</title>{SCRIPT}</head><body class='home page'>"
    html = f"{head}<a href='/index.html'>{content}</a></body></html>"
    assert text(html.encode(charset)) == content


@pytest.mark.parametrize(
    "content",
    [
        "© 2020 Company",
        "café",
        "it’s",
        "“quoted” – dash",
        "30 € or £20, that’s it™ ©",
        "5\u00b0C",
        "naïve Müller",
        "x \u00b7 y",
        "México niño",
        "• item",
    ],
)
def test_a_few_odd_bytes_are_western(content):
    assert text(f"<p>{ENGLISH * 20}<p>{content}".encode("cp1252")).endswith("\n\n" + content)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (f"<p>{RUSSIAN}".encode("cp1251"), "text/html; charset=windows-1251"),
        (f"<p>{RUSSIAN}".encode("cp1251"), 'text/html;charset="Windows-1251"'),
        (f"<meta charset=windows-1251><p>{RUSSIAN}".encode("cp1251"), None),
        (f"<meta charset=windows-1251><p>{RUSSIAN}".encode("cp1251"), "text/html"),
        (f"<meta http-equiv=Content-Type content='text/html; charset=cp1251'><p>{RUSSIAN}".encode("cp1251"), None),
        (f"<?xml version='1.0' encoding='windows-1251'?><html><p>{RUSSIAN}</p></html>".encode("cp1251"), None),
        (f"<meta charset=koi8-r><p>{RUSSIAN}".encode("cp1251"), "text/html; charset=windows-1251"),
        (f"<meta charset=koi8-r><p>{RUSSIAN}".encode("utf-16"), "text/html; charset=windows-1251"),
        (f"<meta charset=koi8-r><p>{RUSSIAN}".encode("utf-8-sig"), "text/html; charset=windows-1251"),
        (f"<meta charset=windows-1251><p>{RUSSIAN}".encode("cp1251"), "text/html; charset=no-such"),
    ],
    ids="header quoted meta header-without http-equiv xml header-first bom16 bom8 unknown".split(),
)
def test_a_declared_charset(body, content_type):
    assert text(body, content_type) == RUSSIAN


@pytest.mark.parametrize(
    ("content", "declared"),
    [
        *((c, d) for c in (RUSSIAN, JAPANESE, FRENCH) for d in ("shift_jis", "gbk", "big5", "euc_kr", "euc_jp")),
        # In these charsets a few bytes are enough; in the others, few bytes are ambiguous.
        *(
            (c, d)
            for c in (RUSSIAN, JAPANESE, FRENCH, "one é", "“x”")
            for d in ("iso-8859-1", "windows-1251", "ascii", "koi8-r", "utf-16", "utf-32")
        ),
    ],
)
@pytest.mark.parametrize("where", ["header", "meta"])
def test_utf8_that_is_declared_as_something_else(content, declared, where):
    meta = f"<meta charset={declared}>" if where == "meta" else ""
    body = f"{meta}<p>{content * 3}".encode()
    assert text(body, f"text/html; charset={declared}" if where == "header" else None) == content * 3


@pytest.mark.parametrize(("content", "charset"), [(RUSSIAN, "cp1251"), (JAPANESE, "shift_jis"), (FRENCH, "cp1252")])
@pytest.mark.parametrize(
    "content_type", ["text/html; charset=utf-8", "text/html; charset=utf-16", "text/html; charset=base64"]
)
def test_what_is_declared_and_cannot_be(content, charset, content_type):
    assert text(f"<p>{content}".encode(charset), content_type) == content
    # The declaration in the page is right, the one of the server is wrong.
    assert text(f"<meta charset={charset}><p>{content}".encode(charset), content_type) == content


def test_a_chinese_character_that_reads_as_utf8():
    assert "陌".encode("gbk").decode() == "\u0130"
    assert text("<p>陌".encode("gbk"), "text/html; charset=gb2312") == "陌"


def test_a_stray_byte_does_not_spoil_a_page():
    assert text("<meta charset=utf-8><p>Größe: ça va".encode() + b" caf\xe9 5\x80") == "Größe: ça va café 5€"
    assert (
        text("<p>Größe: Straße, Füße, schön, älter ".encode() + b"caf\xe9.")
        == "Größe: Straße, Füße, schön, älter café."
    )


@pytest.mark.parametrize(
    "codec",
    "base64 hex bz2 zlib rot13 idna punycode unicode_escape raw_unicode_escape undefined utf-7 cp037 cp500".split(),
)
def test_codecs_that_are_no_charsets(codec):
    for body in (b"<p>a \\n +ADw-b", "<p>Größe".encode(), b"\xff\x00\x80<p>"):
        assert decode(body, f"text/html; charset={codec}") == decode(body)


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_page_cut_in_a_character(cut):
    body = f"<p>{RUSSIAN} 𝄞".encode()
    assert text(body[:-cut]).rstrip("\ufffd ") == RUSSIAN
    assert text(body[:-cut], "text/html; charset=iso-8859-1").rstrip("\ufffd ") == RUSSIAN
    assert text(b"<p>plain \xf0\x9d\x84\x9e"[:-cut]).startswith("plain")


@given(
    st.binary(max_size=300),
    st.sampled_from([None, "text/html", "text/html; charset=utf-8", "x; charset=euc-jp", ";;="]),
)
def test_any_bytes_make_a_page(body, content_type):
    found = Page.parse(body, URL, content_type)
    keep = every(found)
    assert plain(found.nodes, keep).split() == " ".join(plain(found.nodes, keep).split()).split()
    assert isinstance(cleaned(found, keep), str)
    assert len(found.nodes) >= 1
    assert found.title == found.title.strip()
    assert found.language is None or found.language.isalpha()


@given(st.text(max_size=200), st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "utf-32"]))
def test_no_character_is_lost(content, charset):
    head = "<meta charset=utf-8>" if charset == "utf-8" else "<p>"
    body = (head + content).encode(charset, "replace")
    assert decode(body) == body.decode(charset)


# bodies


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b" \r\n\t ",
        b"\0",
        b"\0" * 1000,
        b" \0 \0",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xff\xfe\0\0",
        b"<!-- x -->",
        b"<!doctype html>",
        b"<?xml version='1.0'?>",
        b"<html>",
        b"<html/>",
        b"<",
        b"<a",
        b"<a href='",
        b"<!--",
        b"</",
    ],
)
def test_next_to_nothing(body):
    found = Page.parse(body, URL)
    assert found.root.tag == "html"
    assert plain(found.nodes, every(found)) == ("" if body not in (b"<", b"</") else body.decode())
    assert found.title == ""
    assert found.language is None
    assert not found.truncated


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (b"<p>a</p><p>b", "a\n\nb"),
        (b"<p>a<p", "a"),
        (b"<p>a<p class", "a"),
        (b"<p>a<p class='x y", "a"),
        (b"<p>a<!-- b", "a"),
        (b"<p>a<script>b", "a"),
        (b"<p>a<textarea>b", "a b"),
        (b"<p>a &am", "a &am"),
        (b"<p>a</", "a</"),
        (b"<table><tr><td>a<td>b", "a\tb"),
        (b"<title>a", ""),
    ],
)
def test_cut_off(body, content):
    assert text(body) == content


def test_nul_bytes_are_dropped():
    assert text(b"<p>a\0b\0</p>\0<p>c" + b"d" * 50) == "ab\n\nc" + "d" * 50


def test_a_png_and_json():
    png = Page.parse(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 40, URL, "image/png")
    assert len(png.nodes) < 200
    assert paths_of(png.nodes, np.flatnonzero(every(png))) == ["/html"]
    assert text(b'{"a": "1 < 2", "b": [1, 2]}', "application/json") == '{"a": "1 < 2", "b": [1, 2]}'
    assert Page.parse(os.urandom(100_000), URL).root.tag == "html"


def test_nesting_that_lxml_keeps():
    levels = MAX_DEPTH - 2
    found = Page.parse(b"".join(b"<div>%d " % i for i in range(levels)) + b"</div>" * levels + b"end", URL)
    assert plain(found.nodes, every(found)).split() == [*map(str, range(levels)), "end"]
    assert not found.truncated


@pytest.mark.parametrize("closed", [True, False])
def test_nesting_that_lxml_does_not_keep(closed):
    body = b"<h1>top</h1>" + b"".join(b"<div>%d " % i for i in range(5000)) + b"</div>" * 5000 * closed + b"end"
    found = Page.parse(body, URL)
    kept = plain(found.nodes, every(found)).split()
    assert found.truncated
    assert kept[:1] == ["top"]
    assert kept[1:] == [str(i) for i in range(len(kept) - 1)]
    assert len(kept) > 2000
    assert len(paths_of(found.nodes, np.flatnonzero(every(found)))) == 1
    assert cleaned(found, every(found)).count("<div>") == len(kept) - 1


def test_a_tree_that_is_deeper_than_any_parser_makes():
    root = etree.Element("html")
    node = etree.SubElement(root, "body")
    for level in range(5000):
        node = etree.SubElement(node, "div")
        node.text = str(level)
    found = Page.from_root(root, URL)
    assert found.truncated
    assert found.nodes.strings == [str(level) for level in range(5000)]
    assert found.nodes.depth.max() == 5002
    [path] = paths_of(found.nodes, np.flatnonzero(np.arange(5000) == 4999))
    assert root.getroottree().xpath(path) == [node]


def test_thirty_megabytes():
    line = (
        b"<p class=x>Some words of a long page, <a href='/page?n=%d'>a link</a>, and so on. " + b"word " * 150 + b"</p>"
    )
    body = b"".join(line % i for i in range(36_000))
    assert len(body) > 30_000_000
    found = Page.parse(body, URL)
    assert len(found.nodes.links.href) == 36_000
    assert int(found.nodes.words.sum()) == 36_000 * 162
    assert not found.truncated


@pytest.mark.parametrize(
    "body",
    [
        b"<p>" + b"word " * 3_000_000,
        b"<p title='" + b"x" * 15_000_000 + b"'>a",
        b"<p>a<!--" + b"x" * 15_000_000,
        b"<" * 3_000_000,
        b"&amp;" * 3_000_000,
        b"\xe9<" * 3_000_000,
        b"<script>" + b"<" * 15_000_000,
        b"\0<" * 5_000_000,
    ],
    ids=["text", "attribute", "comment", "opening", "entities", "no-utf8", "script", "wide"],
)
def test_one_huge_thing(body):
    found = Page.parse(body, URL)
    assert len(found.nodes) <= 5


# base, frames, XHTML, title, language


@pytest.mark.parametrize(
    ("head", "target"),
    [
        ("", "http://example.com/a/x.html"),
        ("<base href='/c/'>", "http://example.com/c/x.html"),
        ("<base href='c/d.html'>", "http://example.com/a/c/x.html"),
        ("<base href='//other.org/'>", "http://other.org/x.html"),
        ("<base href='https://other.org'>", "http://other.org/x.html"),
        ("<base href=' /c/ '>", "http://example.com/c/x.html"),
        ("<base href=''>", "http://example.com/a/x.html"),
        ("<base target=_top>", "http://example.com/a/x.html"),
        ("<base target=_top><base href='/c/'><base href='/d/'>", "http://example.com/c/x.html"),
        ("<base href='http://[broken'>", "http://example.com/a/x.html"),
        ("<base href='about:blank'>", "http://example.com/a/x.html"),
        ("<base href='javascript:void(0)'>", "http://example.com/a/x.html"),
        ("<base href='data:text/html,x'>", "http://example.com/a/x.html"),
    ],
)
def test_base(head, target):
    found = Page.parse(f"<head>{head}</head><a href=x.html>x</a><a href='http://abs.org/'>y</a>".encode(), URL)
    assert found.nodes.links.target == [target, "http://abs.org/"]


@pytest.mark.parametrize(
    ("head", "canonical"),
    [
        ("", "http://h/a/b"),
        ("<link rel=canonical href=/page?utm_source=x#top>", "http://h/page?utm_source=x#top"),
        ("<link rel='alternate CANONICAL' href=' page '>", "http://h/a/page"),
        ("<base href=http://other/x/><link rel=canonical href=page>", "http://other/x/page"),
        ("<link rel=canonical href=''><link rel=canonical href='http://[half'>", "http://h/a/b"),
        ("<link rel=canonical><link rel=stylesheet href=/style><link href=/nothing>", "http://h/a/b"),
    ],
)
def test_the_canonical_url(head, canonical):
    assert Page.parse(f"<head>{head}</head>text".encode(), "http://h/a/b").canonical_url == canonical


def test_frames():
    found = Page.parse(
        b"<html><head><title>t</title></head><frameset cols='*,*'><frame src=menu.html name=m><frameset>"
        b"<frame src='/main'></frameset><noframes><body>Your browser <a href=no.html>is old</a></body></noframes>"
        b"</frameset></html>",
        URL,
    )
    assert found.nodes.links.target == ["http://example.com/a/menu.html", "http://example.com/main"]
    assert plain(found.nodes, every(found)) == ""
    assert found.title == "t"
    inline = Page.parse(b"a<iframe src='/f'>no <a href=/no>frames</a></iframe>b<map><area href='/m'></map>", URL)
    assert inline.nodes.links.target == ["http://example.com/f", "http://example.com/m"]
    assert plain(inline.nodes, every(inline)) == "a b"


def test_xhtml():
    body = (
        "<?xml version='1.0' encoding='%s'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x.dtd'>\n"
        "<html xmlns='http://www.w3.org/1999/xhtml' xml:lang='de-AT'><head><title>Größe</title>"
        "<script type='text/javascript'>//<![CDATA[\nif (a < b) {}\n//]]></script></head>"
        "<body><p>ä<br/>b</p><div/>c<svg xmlns='http://www.w3.org/2000/svg' "
        "xmlns:xlink='http://www.w3.org/1999/xlink'><a xlink:href='#x'><text>d</text></a></svg></body></html>"
    )
    for charset in ("utf-8", "iso-8859-1", "utf-16"):
        found = Page.parse((body % charset).encode(charset), URL, "application/xhtml+xml")
        assert plain(found.nodes, every(found)) == "ä\nb\n\nc\nd"
        assert (found.title, found.language) == ("Größe", "de")
        assert paths_of(found.nodes, np.flatnonzero(every(found))) == ["/html"]
    # XSLT processors write this at the beginning of UTF-8 output.
    assert "ä\nb" in text((body % "utf-16").encode())


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> a\n b &amp; c </title>", "a b & c"),
        ("<head><title>a</title><title>b</title>", "a"),
        ("<body><p>x<title>a</title>", "a"),
        ("<p>x<svg><title>tip</title></svg>", ""),
        ("<p>x<svg><g><title>tip</title></g></svg><title>a</title>", "a"),
        ("<title></title>", ""),
        ("x", ""),
    ],
)
def test_title(html, title):
    assert Page.parse(html.encode(), URL).title == title


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ("<html lang=en>", "en"),
        ("<html lang='EN-us'>", "en"),
        ("<html lang=' pt_BR '>", "pt"),
        ("<html xml:lang=fr>", "fr"),
        ("<html><body lang=gsw>x", "gsw"),
        ("<html lang=''><body lang=de>x", "de"),
        ("<html lang='{{ lang }}'>", None),
        ("<html lang=english>", None),
        ("<html lang=x-klingon>", None),
        ("<html lang=\u00e9\u00e9>", None),
        ("x", None),
    ],
)
def test_language(html, language):
    assert Page.parse(html.encode(), URL).language == language


@pytest.mark.parametrize(
    "url", ["http://[broken/", "http://example.com", "about:blank", "", "x.html", "http://h:port/a"]
)
def test_odd_urls(url):
    found = Page.parse(b"<base href=c/><a href=x>x</a><a href='http://h/y'>y</a>", url)
    assert found.nodes.links.target[1] == "http://h/y"
    assert isinstance(found.key, int)
    assert isinstance(found.site, str)


@given(soups)
def test_a_page_is_itself_only(html):
    one, other = (Page.parse(html.encode("utf-8", "replace"), URL) for _ in range(2))
    assert one != other
    assert len({one, other}) == 2
    assert one.nodes.path.tolist() == other.nodes.path.tolist()


FORUM = "<html><head><title>t</title></head><body><div id=app>%s</div><noscript><nav>Home</nav><article>%s</article>%s"


def test_a_page_that_scripts_build_shows_what_it_has_for_robots():
    posts = "A post of the forum that says what it has to say. " * 9
    page = Page.parse((FORUM % ("", posts, "<a href=/next>next</a>")).encode(), "http://forum.test/t/1")
    assert page.nodes.strings == ["Home", posts.strip(), "next"]
    assert page.nodes.xpath(page.nodes.leaves[0]) == "/html/body/noscript/nav/text()[1]"
    assert page.root.xpath("/html/body/noscript/nav")[0].text == "Home"
    assert page.nodes.links.target == ["http://forum.test/next"]


def test_a_request_to_switch_scripts_on_is_not_shown():
    page = Page.parse((FORUM % ("", "Please enable JavaScript to see this page.", "")).encode(), "http://forum.test/")
    assert page.nodes.strings == []


def test_a_page_with_text_of_its_own_shows_no_plain_form():
    body = FORUM % ("Much of its own. " * 30, "Another form of the same. " * 30, "")
    page = Page.parse(body.encode(), "http://forum.test/")
    assert len(page.nodes.strings) == 1
