"""Rendering by a real browser: the tree of a page as painted, and a layout with one row for each node."""

import asyncio
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

from scrapy_pagelets import segment
from scrapy_pagelets.page.looks import DISPLAY, POSITION
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.text import paths_of, plain
from scrapy_pagelets.rendering.browser import WIDTH, RenderError
from scrapy_pagelets.rendering.snapshot import Frame, page_of
from tests.browsing import URL, answering, kill_browser, rendered, with_browser

SITE = Path(__file__).parents[1] / "site"
START = (
    "<!DOCTYPE html><html><head><title>T</title><style>body{margin:0;font:16px/20px monospace}%s</style></head><body>"
)

#: Documents by name; all are rendered by one browser, because it takes a second to start.
CASES = {
    "boxes": START % "#a{position:absolute;left:100px;top:50px;width:200px;height:30px;font-size:20px;font-weight:700}"
    + "<div id=a style='color:rgb(1,2,3);background:rgba(255,0,0,.5)'>text</div><p id=b>other",
    "own boxes": START % ""
    + """<div id=contents style='display:contents'><p>in a box that is none</p></div>
<div id=floats style='height:0'><div id=float style='float:left;width:70px;height:40px'>floats</div></div>
<div id=empty style='height:0'></div>""",
    "seen": START % ""
    + """<p id=seen>seen</p><p id=none style='display:none'>x</p><p id=hidden style='visibility:hidden'>x<b id=shown
style='visibility:visible'>seen</b></p><p id=transparent style='opacity:0'>x</p>
<div style='opacity:.2'><p id=faint style='opacity:.2'>x</p></div>
<p id=left style='position:absolute;left:-5000px'>x</p><p id=above style='position:absolute;top:-500px'>x</p>
<div id=clipping style='overflow:hidden;width:100px;height:20px'>seen<p id=clipped style='margin-top:30px'>x</p>
<p id=escaped style='position:absolute;top:300px'>seen</p></div>
<p id=reader style='position:absolute;clip:rect(0,0,0,0);width:1px;height:1px;overflow:hidden'>x</p>
<div style='overflow:auto;height:20px'>seen<p id=scrolled style='margin-top:90px'>seen</p></div>
<details><summary id=summary>seen</summary><p id=closed>x</p>x</details><div style='content-visibility:hidden'>
<p id=skipped>x</p></div><p id=below style='margin-top:3000px'>seen</p>""",
    "layers": START % ""
    + """<div id=fixed style='position:fixed;top:0;z-index:7'>x</div>
<div id=sticky style='position:sticky;top:0'>x</div><div id=relative style='position:relative;z-index:-1'>x</div>
<div id=float style='float:right'>x</div>
<div id=flex style='display:flex'><i id=item>x</i></div><div id=grid style='display:grid'>x</div>
<table><tr id=row><td id=cell>x</td></tr></table><span id=inline>x</span><div id=picture
style='background:linear-gradient(red,blue)'>x</div><ruby id=other>x</ruby>""",
    "colours": START % "body{background:rgb(10,20,30)}"
    + """<div id=body>x</div><div id=half style='background:rgba(110,120,130,.5)'>x<b id=inner>x</b></div>
<p id=modern style='color:color(srgb 1 0 0 / .5);background:oklch(1 0 0)'>x</p>""",
    "text": "<p id=p>one<!-- a comment -->two<script>document.currentScript.after('three', 'four')</script> five<p>"
    "<pre id=pre> kept\n\n as it is</pre><textarea id=area>typed</textarea>",
    "nothing": "",
    "no text": "<div style='width:50px;height:50px'></div><img width=10 height=10>",
    "no root": "<p>x<script>document.documentElement.remove()</script>",
    "shadow": """<div id=host><template shadowrootmode=open><style>p{color:rgb(9,9,9)}</style><p id=inner>in the shadow
<slot></slot></p><slot name=second>fallback</slot></template>slotted</div><div id=closed><template
shadowrootmode=closed>x</template>lost</div>""",
    "frames": """<body style='margin:0'><iframe id=same style='border:5px solid;padding:3px;margin:10px' width=300
height=100 src=/frame></iframe><iframe id=other src=http://other.example/></iframe>
<iframe id=srcdoc srcdoc='<p>written'></iframe>
<iframe id=away src=http://nowhere.example/></iframe><p>after""",
    "odd names": """<o:p a"b=1 @click=2 xlink:href=3 xml:lang=de data-x='&lt;"&amp;'>odd</o:p><svg><foreignObject><p>svg
</p></foreignObject></svg><script>for (const name of ['p\\u00e4', 'xml-y']) { const e = document.createElement(name);
e.append('made', '\\ud800\\0\\x01'); document.body.append(e) }</script>""",
    "clobbered": "<form id=f><input name=childNodes><input name=attributes><input name=nodeType><input name=shadowRoot>"
    "<input name=getBoundingClientRect><p id=p>in a form</p></form>",
    "old libraries": "<script>Array.prototype.toJSON = String.prototype.toJSON = () => 'x'</script><p>text",
    "deep": "<p>x<script>let e = document.body; for (let i = 0; i < 1500; i++) {"
    "let d = document.createElement('div'); e.append(d); e = d} e.append('deep')</script>",
    "busy": """<p>text<script>alert(1); confirm(2); print(); onbeforeunload = () => 1;
for (let i = 0; i < 5; i++) open('/' + i);
setInterval(() => history.pushState(0, 0, '/' + Math.random()), 5)</script>""",
}
NAVIGATES = """<meta http-equiv=refresh content='0; url=/elsewhere'><p>text<script>location.href = '/elsewhere';
setInterval(() => location.reload(), 10)</script>"""
ELSEWHERE = {
    "http://example.com/frame": "<body style='margin:0'><p style='margin:0'>same <a href=x>link</a>"
    "<iframe src=http://other.example/></iframe>",
    "http://other.example/": "<p>other <a href=y>link</a><iframe srcdoc='<p>inmost'></iframe>",
    "http://example.com/elsewhere": "<p>elsewhere",
}


@cache
def all_pages():
    return dict(zip(CASES, rendered(*CASES.values(), site=ELSEWHERE, source=True), strict=True))


def page(name):
    return all_pages()[name]


def row(of, name):
    """Row of the element with an id."""
    return next(i for i, e in enumerate(of.nodes.elements) if of.nodes.tag[i] != TEXT and e.get("id") == name)


def box(of, i):
    layout = of.layout
    return tuple(float(column[i]) for column in (layout.x, layout.y, layout.width, layout.height))


def seen(of):
    """Visibility of the elements that have an id."""
    return {
        e.get("id"): bool(of.layout.visible[i])
        for i, e in enumerate(of.nodes.elements)
        if of.nodes.tag[i] != TEXT and e.get("id")
    }


@pytest.mark.parametrize("name", CASES)
def test_the_layout_has_a_row_for_each_node(name):
    of = page(name)
    for column in vars_of(of.layout):
        assert len(column) == len(of.nodes)
    assert np.isfinite(np.stack([of.layout.x, of.layout.y, of.layout.width, of.layout.height])).all()
    assert (of.layout.width >= 0).all()
    assert (of.layout.height >= 0).all()
    # The ancestors of a visible node are visible.
    parents = of.nodes.parent[1:]
    assert (of.layout.visible[parents] >= of.layout.visible[1:]).all()


def vars_of(layout):
    return [value for name, value in vars(layout).items() if not name.startswith("page_")]


def test_boxes_fonts_and_colours_are_those_of_the_style_sheet():
    of = page("boxes")
    a = row(of, "a")
    assert box(of, a) == (100, 50, 200, 30)
    assert (of.layout.font_size[a], of.layout.font_weight[a]) == (20, 700)
    assert of.layout.color[a] == 0x010203FF
    assert of.layout.background[a] == 0xFF8080FF
    assert of.layout.background[row(of, "b")] == 0xFFFFFFFF
    assert of.layout.page_width == WIDTH
    assert of.layout.page_height == 768


def test_a_run_of_text_has_the_box_of_its_lines_and_the_font_of_its_parent():
    of = page("boxes")
    a = row(of, "a")
    assert of.nodes.tag[a + 1] == TEXT
    x, y, width, height = box(of, a + 1)
    assert (x, width) == (100, pytest.approx(4 * 12, abs=1))  # four letters, each 0.6 of 20 pixels
    assert 45 <= y < y + height <= 85
    assert (of.layout.font_size[a + 1], of.layout.font_weight[a + 1]) == (20, 700)
    assert (of.layout.color[a + 1], of.layout.background[a + 1]) == (0x010203FF, 0xFF8080FF)
    assert of.layout.display[a + 1] == DISPLAY["inline"]
    assert of.layout.position[a + 1] == POSITION["static"]


def test_what_has_no_box_has_the_box_around_its_children():
    of = page("own boxes")
    contents = row(of, "contents")
    assert of.layout.display[contents] == DISPLAY["contents"]
    assert box(of, contents) == box(of, contents + 1)
    assert box(of, contents)[2] == WIDTH
    assert box(of, row(of, "floats")) == box(of, row(of, "float")) != (0, 0, 0, 0)
    assert box(of, row(of, "empty")) == (0, 0, 0, 0)
    assert not of.layout.visible[row(of, "empty")]


def test_nodes_that_a_reader_cannot_see_are_not_visible():
    of = page("seen")
    assert [name for name, visible in seen(of).items() if visible] == [
        "seen", "hidden", "shown", "clipping", "escaped", "scrolled", "summary", "below",
    ]  # fmt: skip
    visible = of.layout.visible[of.nodes.leaves]
    assert {string for string, v in zip(of.nodes.strings, visible, strict=True) if v} == {"seen"}
    assert {string for string, v in zip(of.nodes.strings, visible, strict=True) if not v} == {"x"}
    assert of.layout.page_height > 3000


def test_the_layout_has_layers_and_display():
    of = page("layers")
    layout, at = of.layout, {name: row(of, name) for name in seen(of)}
    for name in ("fixed", "sticky", "relative"):
        assert layout.position[at[name]] == POSITION[name]
    assert layout.floating[at["float"]]
    assert layout.floating.sum() == 1
    for name, display in {"row": "table-row", "cell": "table-cell", "item": "block"}.items():
        assert layout.display[at[name]] == DISPLAY[display]
    for name in ("flex", "grid", "inline", "other"):
        assert layout.display[at[name]] == DISPLAY[name]
    assert np.flatnonzero(layout.picture).tolist() == [at["picture"]]


def test_backgrounds_shine_through():
    of = page("colours")
    assert of.layout.background[row(of, "body")] == 0x0A141EFF
    assert of.layout.background[row(of, "half")] == of.layout.background[row(of, "inner")] == 0x3C4650FF
    modern = row(of, "modern")
    assert of.layout.color[modern] == 0xFF000080
    assert of.layout.background[modern] == 0xFFFFFFFF


def test_runs_of_text_are_those_between_elements_and_comments():
    of = page("text")
    assert of.nodes.strings[:4] == ["one", "two", "threefour five", " kept\n\n as it is"[1:]]
    assert paths_of(of.nodes, np.array([1])) == ["/html/body/p[1]/text()[2]"]
    assert (of.layout.width[of.nodes.leaves[:4]] > 0).all()
    one, two = of.nodes.leaves[:2]
    assert of.layout.x[two] == pytest.approx(of.layout.x[one] + of.layout.width[one], abs=0.1)


def test_pages_without_text_have_a_layout():
    assert page("nothing").nodes.strings == page("no text").nodes.strings == page("no root").nodes.strings == []
    of = page("no text")
    assert of.layout.visible.sum() == 4  # html, body, div, img


def test_shadow_trees_are_inside_their_hosts():
    of = page("shadow")
    assert of.nodes.strings == ["in the shadow", "slotted", "fallback", "lost"]
    inner = row(of, "inner")
    assert of.nodes.parent[inner] == row(of, "host")
    assert of.layout.color[inner] == 0x090909FF
    assert of.layout.visible[of.nodes.leaves].tolist() == [True, True, True, False]


def test_documents_of_frames_are_inside_their_frames_with_boxes_of_the_page():
    of = page("frames")
    assert of.nodes.strings == [
        "same",
        "link",
        "other",
        "link",
        "inmost",
        "other",
        "link",
        "inmost",
        "written",
        "after",
    ]
    same = row(of, "same")
    left, top, across, _ = box(of, same)
    document = same + 1
    assert of.nodes.elements[document].tag == "html"
    assert box(of, document)[:2] == (left + 5 + 3, top + 5 + 3)
    first = int(of.nodes.leaves[0])
    assert box(of, first)[0] == left + 8
    inmost = of.nodes.leaves[of.nodes.strings.index("inmost")]
    x, y, width, height = box(of, inmost)
    assert left < x < x + width < left + across
    assert top < y < y + height
    assert of.layout.visible[of.nodes.leaves].all()
    assert [link.rstrip("/") for link in of.nodes.links.target if link] == [
        "http://example.com/frame", "http://example.com/x", "http://other.example", "http://other.example/y",
        "http://other.example", "http://other.example/y", "http://nowhere.example",
    ]  # fmt: skip


def test_names_that_xml_forbids_do_no_harm():
    of = page("odd names")
    assert of.nodes.strings == ["odd", "svg", "made�", "made�"]
    odd = of.nodes.elements[int(of.nodes.parent[of.nodes.leaves[0]])]
    assert odd.tag == "o:p"
    assert dict(odd.attrib) == {"lang": "de", "data-x": '<"&'}


def test_forms_and_old_libraries_do_not_get_in_the_way():
    of = page("clobbered")
    assert of.nodes.strings == ["in a form"]
    assert of.layout.visible[row(of, "p")]
    assert of.nodes.parent[row(of, "p")] == row(of, "f")
    assert page("old libraries").nodes.strings == ["text"]


def test_deep_nesting_is_kept():
    of = page("deep")
    assert of.nodes.strings == ["x", "deep"]
    assert of.nodes.depth.max() > 1500


def test_a_page_that_wants_attention_or_away_is_rendered_as_it_came():
    assert page("busy").nodes.strings == ["text"]
    # It never ends to load, which is waited for during a third of the time limit.
    [of] = rendered(NAVIGATES, site=ELSEWHERE, timeout=30)
    assert of.nodes.strings == ["text"]


def test_too_deep_nesting_is_reported_as_for_other_pages():
    walked = json.dumps(
        {"element": {n: [0.0] * 2000 for n in ("x", "y", "width", "height")} | {"style": [-1] * 2000},
         "text": {"x": [], "y": [], "width": [], "height": [], "parent": []},
         "styles": [], "frames": [], "width": 1, "height": 1}
    )  # fmt: skip
    of = page_of([Frame(-1, 0, walked + "\n" + "<div>" * 2000 + "</div>" * 2000)], URL)
    assert len(of.nodes) == 2000


PROSE = """<html><body><div class=menu><a href=a>A</a> <a href=b>B</a></div>
<table><tr><td><p>first<p>second</td></tr></table><div><p>third</p>%s<p>fourth</div><noscript>unseen</noscript></body></html>"""


def test_xpaths_of_a_rendered_page_lead_to_the_text_in_the_page_as_received():
    script = "<script>document.currentScript.after('added')</script>"
    document = PROSE % script
    [of] = rendered(document, source=True)
    assert "tbody" in {look[0] for look in of.nodes.looks}  # by the browser
    assert "added" in of.nodes.strings
    root = etree.fromstring(document, etree.HTMLParser())
    texts = []
    for pagelet in segment(of):
        for path in pagelet.xpaths:
            for node in root.xpath(path):
                texts.append(str(node).strip() if isinstance(node, str) else "".join(node.itertext()).strip())
    together = " ".join(texts).replace(script, "")
    assert "tbody" not in str([p.xpaths for p in segment(of)])
    assert all(word in together for word in ("A", "B", "first", "second", "third", "fourth"))
    assert of.received.tolist() == [0, 1, 2, 3, 4, -1, 5]


def test_pictures_and_controls_of_a_rendered_page_are_found_in_the_page_as_received():
    added = "<script>document.currentScript.after(document.createElement('img'))</script>"
    [of] = rendered(f"<table><tr><td><img class=a><input>text<img class=b></table>{added}<hr><p>end", source=True)
    pairs = [(row, there) for row, there in enumerate(of.received_rows.tolist()) if there >= 0]
    looks = [(of.nodes.looks[of.nodes.look[i]], of.source.nodes.looks[of.source.nodes.look[j]]) for i, j in pairs]
    assert [ours[0] for ours, _ in looks] == [
        "img",
        "input",
        "td",
        "img",
        "hr",
        "p",
    ]  # texts have the look of their parents
    assert all(ours == theirs for ours, theirs in looks)


def test_the_pages_of_a_site_have_the_text_that_their_source_has():
    paths = [SITE / name for name in ("index.html", "reference/apache.html", "news/20041100.html")]
    documents = [path.read_text(encoding="utf-8") for path in paths]
    for of in rendered(*documents, source=True, scripts=False):
        everything = np.ones(len(of.nodes.leaves), np.bool_)
        source = of.source.nodes
        assert plain(of.nodes, everything).split() == plain(source, np.ones(len(source.leaves), np.bool_)).split()
        assert (of.received >= 0).mean() > 0.99


def test_scripts_run_only_if_allowed():
    document = "<p>text<script>document.body.append('added')</script>"
    assert rendered(document)[0].nodes.strings == ["text", "added"]
    assert rendered(document, scripts=False)[0].nodes.strings == ["text"]


HANGS = [
    "<p>x<script>while (1);</script>",
    "<p>x<script>setTimeout(() => {while (1);}, 10)</script>",
    "<p>x<script>for (;;) document.body.append(document.createElement('p'))</script>",
]


def test_pages_that_hang_only_take_their_time_limit():
    async def use(browser):
        rendering = [browser.render(URL, document, answering({})) for document in HANGS]
        failed = await asyncio.gather(*rendering, return_exceptions=True)
        return failed, await browser.render(URL, "<p>next", answering({}))

    failed, frames = with_browser(use, timeout=15)
    assert [(type(error), error.reason) for error in failed] == [(RenderError, "slow")] * 3
    assert page_of(frames, URL).nodes.strings == ["next"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<p>x<script>let a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))</script>", "crashed"),
        ("<p>x<script>window.Map = null</script>", "failed"),
    ],
)
def test_a_page_that_breaks_says_why_and_the_next_one_is_rendered(document, reason):
    async def use(browser):
        with pytest.raises(RenderError) as caught:
            await browser.render(URL, document, answering({}))
        return caught.value.reason, await browser.render(URL, "<p>next", answering({}))

    actual, frames = with_browser(use, timeout=60)
    assert actual == reason
    assert page_of(frames, URL).nodes.strings == ["next"]


def test_the_browser_is_started_again_after_it_has_crashed():
    async def crash(page):
        kill_browser()
        await page.wait_for_event("close")
        await page.title()

    async def use(browser):
        with pytest.raises(RenderError) as caught:
            await browser.render(URL, "<p>x", answering({}), look=crash)
        return caught.value.reason, await browser.render(URL, "<p>next", answering({})), browser.launched

    reason, frames, launched = with_browser(use, timeout=60)
    assert (reason, launched) == ("crashed", 3)  # the page got a second chance
    assert page_of(frames, URL).nodes.strings == ["next"]


def test_a_page_whose_neighbour_takes_the_browser_with_it_is_rendered_all_the_same():
    here, waiting = asyncio.Event(), asyncio.Event()

    async def slowly(url):
        here.set()
        await waiting.wait()

    async def crash(page):
        if not waiting.is_set():
            await here.wait()
            kill_browser()
            waiting.set()
            await page.wait_for_event("close")
            await page.title()

    async def use(browser):
        pages = (("<p>neighbour<img src=slow.png>", slowly, None), ("<p>text", answering({}), crash))
        rendering = (browser.render(URL, document, lookup, look=look) for document, lookup, look in pages)
        return [page_of(frames, URL).nodes.strings for frames in await asyncio.gather(*rendering)], browser.launched

    assert with_browser(use, timeout=60) == ([["neighbour"], ["text"]], 2)


def test_a_picture_that_never_comes_is_not_waited_for():
    coming = asyncio.Event()

    async def never(url):
        await coming.wait()

    async def use(browser):
        frames = await browser.render(URL, "<p>text<img src=never.png>", never)
        coming.set()
        return page_of(frames, URL).nodes.strings

    assert with_browser(use, timeout=60) == ["text"]
