"""What a reader sees as one word, and as several: adjoining elements, readings, encoded addresses, shadow roots."""

import pytest

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import plain
from tests.trees import every

URL = "http://example.com/a/"


def text(html):
    found = Page.parse(html.encode(), URL)
    return plain(found.nodes, every(found))


@pytest.mark.parametrize(
    ("html", "content"),
    [
        # a date and a count, fields, icons
        ("<span>12.04.2021</span><span class=replies-count>7</span>", "12.04.2021 7"),
        ("<a href=x class=t-lines><b>start</b><b>cstart</b></a> <p class=lines>a<b>b</b>", "start cstart\n\nab"),
        ("<span class=day>3</span><span class=amount>14</span>", "3 14"),
        ("<b class=status-lozenge>DONE</b><b class=status-lozenge>LATE</b>", "DONE LATE"),
        ("Seen<i class='fa fa-eye'></i>31", "Seen 31"),
        ("<span>Ina</span><span class=icon-clock></span><span>noon</span>", "Ina noon"),
        ("<span class=post-author>ina</span><span>berg</span>", "ina berg"),
        ("<span class=weight>2</span><span class=unit>kg</span>", "2 kg"),
        ("<span class=name>Bowl</span><span class=maker>Ina</span>", "Bowl Ina"),
        ("<span class=name>Maker:</span><span class=maker>ina</span>", "Maker: ina"),
        ("by ina<time>May 4</time>", "by ina May 4"),
        ("<time>noon</time><em>today</em>", "noon today"),
        ("<b>ina1</b><i>13.05.2013 9:23</i>, Comments<b>1</b>, ABC<b>1</b>", "ina1 13.05.2013 9:23, Comments 1, ABC1"),
        ("<span class=label>1.</span><cite>Ina</cite>, <b class=in>a.</b><b class=of>b</b>", "1. Ina, a.b"),
        ("<b>Maker:</b>Ina Berg, std::<b>Vector</b>", "Maker: Ina Berg, std::Vector"),
        ("<span>A day by the sea</span><span>Ina Berg was there</span>", "A day by the sea Ina Berg was there"),
        # links
        ("<a href=/i>By Ina Berg</a>May 4, 2021", "By Ina Berg May 4, 2021"),
        ("<a href=/i>By Ina Berg</a>4 May", "By Ina Berg 4 May"),
        ("<a href=/i>by ina</a><span class=source>berlin</span>", "by ina berlin"),
        ("written<span>by</span><a class=x href=/i>ina</a>", "writtenbyina"),
        # lines that a style sheet shows
        ("<span class=line>begin</span><span class=line>end</span>", "begin end"),
        (
            "<style>b, .verse { color: red; display: block }</style><em class=verse>one</em><em class=verse>two</em>",
            "one two",
        ),
        ("<style>.verse { color: red }</style><em class=verse>one</em><em class=verse>two</em>", "onetwo"),
        # a number, and what there are so many of
        (
            "<li><span>3</span><span>rooms</span><li><b>2</b><b>kg</b> <span>1</span><span>st</span>",
            "- 3 rooms\n- 2kg 1st",
        ),
        ("<p><i class=d>Mon</i><i class=h>9:00-12:00</i>", "Mon 9:00-12:00"),
        ("<time><span>5h ago</span><span>13.03 GMT</span></time>", "5h ago 13.03 GMT"),
        (
            "<dl><dt><b>size</b><span class=classifier>int</span><dt><b>a</b><i class=classifier>int</i></dl>",
            "size int\na int",
        ),
        ("<span class=label>Ticket</span><span class=value>£12</span>", "Ticket £12"),
        ("<span>Chapter 4</span>Bread", "Chapter 4 Bread"),
        ("A kiln at night.<span class=credit>Jo Kay</span>", "A kiln at night. Jo Kay"),
        # parts of a word
        ("<span>Chapter 4</span>B", "Chapter 4B"),
        ("the first U.<b>S.</b> kiln", "the first U.S. kiln"),
        ("of class tea.cup.<a href=/u>Uji</a>", "of class tea.cup.Uji"),
        ("<b>h</b>ello", "hello"),
        ("<span class=dropcap>T</span><span class=first-line>hey were</span>", "They were"),
        ("<span class=char>H</span><span class=char>i</span>", "Hi"),
        ("<a href=/i>word</a>s, <a href=/i>You</a>Tube", "words, YouTube"),
        ("H<sub>2</sub>O, 10<sup class=count>3</sup>, the 1<span class=label>st</span>", "H2O, 103, the 1st"),
        ("<span class=c1>the sam</span><span class=c4>e word</span>", "the same word"),
        ("<span class=c1>some</span><span class=c4>Case</span>", "someCase"),
        (
            "pro<wbr>Script <b>Java</b>Script <span class=red>face</span><span class=blue>book</span>",
            "proScript JavaScript facebook",
        ),
        ("<code><span class=number>10</span><span class=value>px</span></code>", "10px"),
        ("<code class=date>x</code>y<!-- no element -->z", "xyz"),
        ("<span class=date>5月</span><span class=count>3日</span>", "5月3日"),
        ("<span class=name>東京</span><span class=date>五月</span>", "東京五月"),
    ],
)
def test_adjoining_texts(html, content):
    assert text(f"<p>{html}</p>") == content


@pytest.mark.parametrize(
    ("html", "content"),
    [
        ("<ruby>山<rt>やま</rt></ruby>へ", "山（やま）へ"),
        ("<ruby>山<rp></rp><rt>やま</rt></ruby>", "山（やま）"),
        ("<ruby>山<rp>(</rp><rt>やま</rt><rp>)</rp></ruby>", "山(やま)"),
        ("<ruby>山<rp>(<rt>やま<rp>)</ruby>へ", "山(やま)へ"),  # end tags that may be left out
        ("<ruby>山<rt>やま</rt>川<rt>かわ</rt></ruby>", "山（やま）川（かわ）"),
        ("<ruby><rb>山</rb><rb>川</rb><rt>やま</rt><rt>かわ</rt></ruby>", "山川（やまかわ）"),
        ("<ruby>山<rt><b>や</b><i>ま</i></rt></ruby>", "山（やま）"),
        ("<ruby>北<rtc><rt>běi</rt></rtc></ruby>", "北 (běi)"),
        ("<ruby>北<rtc>north</rtc></ruby>", "北 (north)"),
        ("<ruby>WHO<rt>World Health Organization</rt></ruby>.", "WHO (World Health Organization)."),
        ("<ruby>山<rt>（やま）</rt></ruby>", "山（やま）"),
        ("<ruby>a<rt>b<ruby>c<rt>d</rt></ruby></rt></ruby>", "a (bcd)"),
        ("<ruby>a<rt> </rt></ruby>b", "a b"),
    ],
)
def test_readings(html, content):
    assert text(f"<p>{html}") == content


def xored(address, key=0x2A):
    return bytes([key, *(byte ^ key for byte in address.encode())]).hex()


JOOMLA = """<span id="cloak9f3a">Protected.</span><script>document.getElementById('cloak9f3a').innerHTML = '';
var addy9f3a = '&#105;na' + '&#64;'; addy9f3a = addy9f3a + 'mill' + '&#46;' + 't&#101;st';
var addy_text9f3a = %s;document.getElementById('cloak9f3a').innerHTML += addy_text9f3a;</script>"""


@pytest.mark.parametrize(
    ("html", "content"),
    [
        (
            f"<a href=/cdn-cgi/l/email-protection class=__cf_email__ data-cfemail={xored('ina@mill.test')}>x</a>!",
            "ina@mill.test!",
        ),
        (f"x<span class=__cf_email__ data-cfemail={xored('@é')}>[email&#160;protected]</span>", "x@é"),
        ("<span class=__cf_email__ data-cfemail=zz>[email]</span>", "[email]"),
        ("<span class=__cf_email__ data-cfemail=2a2a2b>a</span>", "a"),  # control characters
        (JOOMLA % "'ina' + '&#64;' + 'mill.test'", "ina@mill.test"),
        (JOOMLA % "'Write to us'", "Write to us"),
        ("<span id=cloak9f3a>Protected.</span><p>x", "Protected.\n\nx"),
        ("<joomla-hidden-mail text='aW5hQG1pbGwudGVzdA=='>Protected.</joomla-hidden-mail>", "ina@mill.test"),
        ("<joomla-hidden-mail text='!'>Protected.</joomla-hidden-mail>", "Protected."),
        (
            "<span class=spamspan><span class=u>ina</span> [at] <span class=d>mill [dot] test</span></span>",
            "ina@mill.test",
        ),
        ("<a class=mail-link data-enc-email='van[at]zvyy.grfg'>*protected*</a>", "ina@mill.test"),
    ],
)
def test_addresses_that_a_script_decodes(html, content):
    assert text(f"<p>{html}") == content


def test_a_link_to_an_encoded_address_leads_to_it():
    html = f"<p><a href='/cdn-cgi/l/email-protection#{xored('ina@mill.test')}'>Write</a>"
    assert Page.parse(html.encode(), URL).nodes.links.href == ["mailto:ina@mill.test"]


def test_texts_are_decoded_where_they_stand():
    html = f"<p><ruby>山<rt>やま</rt></ruby> <b>x</b> <span class=__cf_email__ data-cfemail={xored('a@b.c')}>y</span> z"
    nodes = Page.parse(html.encode(), URL).nodes
    paths = {nodes.strings[leaf]: nodes.xpath(row) for leaf, row in enumerate(nodes.leaves.tolist())}
    assert paths["（やま）"] == "/html/body/p/ruby/rt/text()[1]"
    assert paths["a@b.c"] == "/html/body/p/span/text()[1]"
    assert paths["z"] == "/html/body/p/text()[3]"


@pytest.mark.parametrize(
    ("html", "content"),
    [
        ("<div><template shadowrootmode=open><p>in<slot></slot></template>light</div>", "in\n\nlight"),
        ("<div><template shadowroot=closed>in</template></div>", "in"),
        (
            "<b><template shadowrootmode=open><i><template shadowrootmode=open>deep</template></i></template></b>",
            "deep",
        ),
        ("x<template shadowrootmode=open><template>no</template>in</template>", "xin"),
        ("x<template><p>no</template><template shadowrootmode=none>no</template>", "x"),
    ],
)
def test_shadow_roots(html, content):
    assert text(html) == content


XHTML = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body>%s</body></html>"


@pytest.mark.parametrize(
    ("html", "content"),
    [
        ("<p>a <![CDATA[<b> & c]]> d</p>", "a <b> & c d"),
        ("<script>//<![CDATA[\nx < y\n//]]></script><p>a <![CDATA[b]]><![CDATA[c]]></p>", "a bc"),
        ("<style>/*<![CDATA[*/ p {} /*]]>*/</style><p>a</p>", "a"),
        ("<p>a</p><![CDATA[b", "a"),
    ],
)
def test_sections_of_xhtml(html, content):
    assert text(XHTML % html) == content


def test_a_section_is_a_comment_in_html():
    assert text("<p>a <![CDATA[b]]> c") == "a c"


@pytest.mark.parametrize(
    "html",
    [
        "<ruby>" * 1000 + "a<rt>" * 900 + "b",
        "<ruby>a<rt>b</rt></ruby>" * 20_000,
        "<div><template shadowrootmode=open>" * 900 + "in",
        "<template>" + "<p>x" * 50_000 + "</template>x",
        "<span class=date>1</span><i class=fa></i>" * 20_000,
        f"<span class=__cf_email__ data-cfemail={'2a' * 100_000}>x</span>",
        f"<span id=cloak123>x</span><script>{'addy' * 200_000}</script>",
        XHTML % ("<![CDATA[<<]]>" * 50_000),
    ],
)
def test_hostile_words(html):
    assert text(html)
