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
        ("<span class=day>3</span><span class=amount>14</span>", "3 14"),
        ("Seen<i class='fa fa-eye'></i>31", "Seen 31"),
        ("<span>Ina</span><span class=icon-clock></span><span>noon</span>", "Ina noon"),
        ("<span class=post-author>ina</span><span>berg</span>", "ina berg"),
        ("<span class=weight>2</span><span class=unit>kg</span>", "2 kg"),
        ("<span class=name>Bowl</span><span class=maker>Ina</span>", "Bowl Ina"),
        ("<span class=name>Maker:</span><span class=maker>ina</span>", "Maker: ina"),
        ("by ina<time>May 4</time>", "by ina May 4"),
        ("<time>noon</time><em>today</em>", "noon today"),
        ("<b>Maker:</b>Ina Berg, std::<b>Vector</b>", "Maker: Ina Berg, std::Vector"),
        ("<span>A day by the sea</span><span>Ina Berg was there</span>", "A day by the sea Ina Berg was there"),
        # links
        ("<a href=/i>By Ina Berg</a>May 4, 2021", "By Ina Berg May 4, 2021"),
        ("<a href=/i>By Ina Berg</a>4 May", "By Ina Berg 4 May"),
        ("<a href=/i>by ina</a><span class=source>berlin</span>", "by ina berlin"),
        ("written<span>by</span><a class=x href=/i>ina</a>", "writtenbyina"),
        # lines that a style sheet shows
        ("<span class=line>begin</span><span class=line>end</span>", "begin end"),
        ("<style>b, .verse { color: red; display: block }</style><em class=verse>one</em><em class=verse>two</em>", "one two"),
        ("<style>.verse { color: red }</style><em class=verse>one</em><em class=verse>two</em>", "onetwo"),
        # parts of a word
        ("<b>h</b>ello", "hello"),
        ("<span class=dropcap>T</span><span class=first-line>hey were</span>", "They were"),
        ("<span class=char>H</span><span class=char>i</span>", "Hi"),
        ("<a href=/i>word</a>s, <a href=/i>You</a>Tube", "words, YouTube"),
        ("H<sub>2</sub>O, 10<sup class=count>3</sup>, the 1<span class=label>st</span>", "H2O, 103, the 1st"),
        ("<span class=c1>the sam</span><span class=c4>e word</span>", "the same word"),
        ("<span class=c1>some</span><span class=c4>Case</span>", "someCase"),
        ("pro<wbr>Script <b>Java</b>Script <span class=red>face</span><span class=blue>book</span>", "proScript JavaScript facebook"),
        ("<code><span class=number>10</span><span class=value>px</span></code>", "10px"),
        ("<code class=date>x</code>y<!-- no element -->z", "xyz"),
        ("<span class=date>5月</span><span class=count>3日</span>", "5月3日"),
        ("<span class=name>東京</span><span class=date>五月</span>", "東京五月"),
    ],
)
def test_adjoining_texts(html, content):
    assert text(f"<p>{html}</p>") == content
