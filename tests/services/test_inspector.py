"""The inspector in a real browser: what it shows, how it is used, and that nothing of the page runs or loads."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page as Tab

from scrapy_pagelets.inspector.inspection import compare_texts
from tests.browsing import in_tab
from tests.crawling import SITE, answer, scrapy
from tests.server import SiteServer

HOSTILE = """<html><head><title></title></iframe></script><script>alert(1)</script></title>
<meta http-equiv=refresh content="0;url=http://evil.example/"><style>@import url(//evil.example/x.css);
p { background: url(http://evil.example/b.png) }</style></head>
<body onload="document.title='hacked'"><div id="a&quot;]{}</style><script>" class="x\\22 }*{display:none"><p>
&lt;/script&gt;&lt;script&gt;document.title='hacked'&lt;/script&gt;&lt;!-- &lt;![CDATA[ </p></div>
<img src=x onerror="document.title='hacked'"><a href="javascript:document.title='hacked'">Click here</a>
<iframe srcdoc="<script>parent.document.title='hacked'</script>"></iframe>
<p>${picture} $data The end.</p></body></html>"""

TABLES = """<title>Tea</title><table><tr><td><a href=/a>Black tea</a> <a href=/b>Cups</a> <a href=/c>Pots</a></table>
<table><tr><td><h1>Tea</h1><p>All that there is to say of tea, its leaves, its water and its cups.</table>
<table class=foot><tr><td>Imprint</table>"""


def inspect(path: Path, act: Callable[[Tab], Awaitable[Any]], **options: Any) -> Any:
    """Open a file in Chromium, act, and check that it has neither failed nor asked for anything."""

    async def run(tab: Tab) -> Any:
        asked: list[str] = []
        failed: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("pageerror", lambda error: failed.append(str(error)))
        tab.on("console", lambda message: failed.append(message.text))
        await tab.goto(path.as_uri())
        result = await act(tab)
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
        assert failed == []
        return result

    return in_tab(run, **options)


def view(folder, *arguments):
    done = scrapy("pagelets", "view", *arguments, "--out", "x.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "x.html"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The inspector of a rendered page."""
    return view(tmp_path_factory.mktemp("view"), str(SITE / "index.html"))


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    """A feed with all pagelets of the bundled site, and the store of the crawl."""
    folder = tmp_path_factory.mktemp("feed")
    out, store = folder / "all.jsonl", f"PAGELETS_STORE={folder / 'store'}"
    arguments = ("-a", f"path={SITE}", "-a", "base=http://x.example/", "-O", str(out))
    done = scrapy("crawl", "archive", *arguments, "-s", "PAGELETS_EXPORT=all", "-s", store)
    assert done.returncode == 0, done.stderr
    return out


def test_choosing_in_the_list_and_on_the_page(shown):
    async def act(tab):
        entries = tab.locator("#list button")
        await entries.nth(1).click()
        assert await entries.nth(1).get_attribute("aria-pressed") == "true"
        assert await tab.locator(".box.chosen").count() == 1
        about = await tab.locator("#about").inner_text()
        box = tab.locator(".box").nth(5)
        number = int(await box.get_attribute("data-group"))
        await box.click(position={"x": 4, "y": 4})
        assert await entries.nth(number).get_attribute("aria-pressed") == "true"
        return about

    about = inspect(shown, act)
    assert "1 · navigation · " in about
    assert "No other page of the site is known" in about
    assert "By the page alone, the classifier says" in about
    assert "/html/body/div" in about
    assert "To keep it: a rule for rules.toml" in about


def test_the_keyboard_is_enough(shown):
    async def act(tab):
        await tab.locator("#list button").first.focus()
        await tab.keyboard.press("Tab")
        return await tab.locator("#about h2").first.inner_text(), await tab.evaluate(
            "document.activeElement.dataset.group"
        )

    assert inspect(shown, act)[1] == "1"


def test_the_sliders_change_the_segments(shown):
    async def act(tab):
        counts = {}
        for name in ("vips", "gcuts"):
            await tab.select_option("#outline", name)
            for value in ("0", "8"):
                await tab.fill("#slider", value)
                counts[name, value] = await tab.locator("#list li").count(), await tab.inner_text("#value")
        return counts

    counts = inspect(shown, act)
    assert counts["vips", "0"] == (1, "1")
    assert counts["vips", "8"][0] > 10
    assert counts["vips", "8"][1] == "9"
    assert counts["gcuts", "0"] != counts["gcuts", "8"]


def test_texts_before_and_after(shown):
    async def act(tab):
        await tab.select_option("#view", "plain")
        plain = await tab.locator("pre").all_inner_texts()
        await tab.select_option("#view", "markdown")
        return plain, await tab.locator("#shown pre").all_inner_texts()

    plain, markdown = inspect(shown, act)
    assert "Docs Home" in plain[0]
    assert "Docs Home" not in plain[1]
    assert "The supported web servers are:" in plain[1]
    assert markdown[1].startswith("# ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("outline", ["pagelets", "vips"])
def test_no_violation_of_accessibility(shown, scheme, outline):
    async def act(tab):
        found = []
        for choice in ("picture", "text", "markdown"):
            await tab.select_option("#view", choice)
            await tab.select_option("#outline", outline)
            await tab.locator("#list button").nth(2).click()
            results = await Axe().run(tab)
            found += [one["id"] for one in results.response["violations"]]
        return found

    assert inspect(shown, act, color_scheme=scheme, bypass_csp=True) == []


def test_a_telephone_shows_all_without_sideways_scrolling(shown):
    async def act(tab):
        await tab.select_option("#view", "text")
        return await tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")

    width, room = inspect(shown, act, viewport={"width": 360, "height": 700})
    assert width <= room


@pytest.mark.parametrize("arguments", [["--no-picture"], []])
def test_nothing_of_a_hostile_page_runs_or_loads(tmp_path, arguments):
    (tmp_path / "page.html").write_text(HOSTILE)
    path = view(tmp_path, "page.html", "--no-scripts", *arguments)

    async def act(tab):
        for choice in ("text", "plain", "markdown"):
            await tab.select_option("#view", choice)
        await tab.select_option("#view", "text")
        for number in range(await tab.locator("#list button").count()):
            await tab.locator("#list button").nth(number).click()
        return await tab.title(), await tab.inner_text("#shown"), await tab.locator("a, iframe, #shown script").count()

    title, text, active = inspect(path, act)
    assert title.endswith("– pagelets")
    assert "document.title='hacked'" in text
    assert "${picture} $data The end." in text
    assert active == 0


def test_a_feed_shows_the_decision_of_its_crawl(feed):
    lines = [json.loads(line) for line in feed.read_text().splitlines()]
    line = next(line for line in lines if line["url"].endswith("/index.html"))
    path = view(feed.parent, str(feed), "--page", line["url"], "--source", str(SITE / "index.html"), "--no-picture")

    async def act(tab):
        return (
            await tab.locator("#list button").all_inner_texts(),
            await tab.inner_text("#decided"),
            await tab.inner_text("#notes"),
        )

    entries, decided, notes = inspect(path, act)
    assert [entry.splitlines()[0] for entry in entries] == [
        f"{p['id']} · {p['role']} · {p['templateness']:.2f}" for p in line["pagelets"]
    ]
    assert "with 35 pages like it known" in decided
    assert notes == ""


def test_a_store_tells_how_many_pages_have_it(feed):
    lines = [json.loads(line) for line in feed.read_text().splitlines()]
    url = next(line["url"] for line in lines if line["url"].endswith("/index.html"))
    store = ("--store", str(feed.parent / "store"))
    path = view(feed.parent, str(feed), "--page", url, "--source", str(SITE / "index.html"), "--no-picture", *store)

    async def act(tab):
        await tab.locator("#list button", has_text="navigation").first.click()
        return await tab.inner_text("#about")

    assert "stands at the same place on 34 of the 34 other pages" in inspect(path, act)


def test_a_page_that_is_gone_is_shown_as_the_feed_has_it(tmp_path):
    pagelets = [
        {
            "id": 3,
            "xpaths": ["/html/body/p"],
            "role": "content",
            "templateness": 0.1,
            "text": "Left\x00 of it.",
            "words": 3,
        }
    ]
    line = {"url": "http://127.0.0.1:9/gone", "title": "Gone", "pagelets": pagelets}
    (tmp_path / "feed.jsonl").write_text(json.dumps(line) + "\n")
    path = view(tmp_path, "feed.jsonl")

    async def act(tab):
        await tab.locator("#list button").click()
        return await tab.inner_text("#notes"), await tab.inner_text("#about"), await tab.inner_text("#shown")

    notes, about, text = inspect(path, act)
    assert notes.startswith("The page cannot be fetched any more")
    assert "/html/body/p" in about
    assert "rule" not in about
    assert "Left of it." in text


def test_a_page_that_has_changed_is_said(tmp_path, feed):
    (tmp_path / "new.html").write_text("<p>Another page now.")
    url = json.loads(feed.read_text().splitlines()[0])["url"]
    path = view(tmp_path, str(feed), "--page", url, "--source", "new.html", "--no-picture")

    async def act(tab):
        return await tab.inner_text("#notes")

    assert "of the feed differ: the page has changed since the crawl." in inspect(path, act)


def test_a_rendered_page_with_tables_shows_the_decision_of_a_crawl_that_did_not_render(tmp_path):
    """Browsers add ``tbody``, which the XPaths of the feed do not have."""
    with SiteServer(routes={"/": answer(TABLES)}) as server:
        alone = ("-s", "PAGELETS_PROBE=0", "-s", "PAGELETS_FIRST_PAGES=1", "-s", "PAGELETS_EXPORT=all")
        site = ("-a", f"url={server.url('')}", "-a", "pages=1")
        done = scrapy("crawl", "site", *site, *alone, "-O", f"{tmp_path}/f.jsonl")
        assert done.returncode == 0, done.stderr
        path = view(tmp_path, "f.jsonl")

    async def act(tab):
        return await tab.locator("#list button").all_inner_texts(), await tab.inner_text("#notes")

    entries, notes = inspect(path, act)
    line = json.loads((tmp_path / "f.jsonl").read_text())
    assert len(line["pagelets"]) > 1
    assert [entry.splitlines()[0] for entry in entries] == [
        f"{p['id']} · {p['role']} · {p['templateness']:.2f}" for p in line["pagelets"]
    ]
    assert notes == ""


def test_boxes_are_where_the_page_has_them_though_its_picture_is_cut_off(tmp_path):
    (tmp_path / "page.html").write_text(
        "<style>body,h1,p{margin:0}</style><h1 style='height:100px'>Top of the page</h1><p style='height:15900px'>"
        "All there is to say.<div style='height:20000px'>The end of it all.</div>"
    )
    path = view(tmp_path, "page.html", "--method", "vips", "--whole")

    async def act(tab):
        image = await tab.locator(".picture img").bounding_box()
        boxes = [await box.bounding_box() for box in await tab.locator(".box").all()]
        return await tab.inner_text("#notes"), image, boxes

    notes, image, boxes = inspect(path, act)
    assert "The picture shows the first 16,000 of the 36,000 pixels" in notes
    scale = image["width"] / 1366
    assert image["height"] == pytest.approx(16_000 * scale, rel=0.01)
    assert 100 * scale == pytest.approx(sorted(b["y"] - image["y"] for b in boxes)[1], abs=2)
    assert max(box["y"] + box["height"] for box in boxes) <= image["y"] + image["height"] + 1


def test_near_duplicates_stand_side_by_side(tmp_path):
    twins = [
        {"url": "http://127.0.0.1:9/a", "text": "We open at nine <b>.", "near_duplicate_of": "http://127.0.0.1:9/b"},
        {"url": "http://127.0.0.1:9/b", "text": "We open at ten <b>."},
    ]
    (tmp_path / "feed.jsonl").write_text("\n".join(map(json.dumps, twins)))
    path = view(tmp_path, "feed.jsonl", "--page", "http://127.0.0.1:9/a", "--no-picture")

    async def act(tab):
        await tab.select_option("#view", "twin")
        assert await tab.inner_text("#shown > p") == "One difference is marked."
        return await tab.inner_text("del"), await tab.inner_text("ins"), await tab.locator("pre").all_inner_texts()

    assert inspect(path, act) == ("nine", "ten", ["We open at nine <b>.", "We open at ten <b>."])


def test_long_near_duplicates_are_cut_off_and_that_is_said():
    found = compare_texts("http://a.example/b", "word " * 20_000, "word " * 20_000)
    assert (found["whole"], len(found["parts"])) == (False, 1)
    assert compare_texts("http://a.example/b", "one", "two")["whole"]


def test_the_offered_rule_does_what_it_says(tmp_path, shown):
    async def act(tab):
        await tab.locator("#list button", has_text="navigation").first.click()
        return await tab.inner_text("#about pre")

    (tmp_path / "rules.toml").write_text(str(inspect(shown, act)))
    path = view(tmp_path, str(SITE / "index.html"), "--rules", "rules.toml", "--no-picture")

    async def kept(tab):
        await tab.locator("#list button", has_text="Docs Home").first.click()
        return await tab.inner_text("#about")

    about = inspect(path, kept)
    assert "· content · 0.00" in about
    assert "The rule keep for * names all of it." in about


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("", ["feed.jsonl"], "feed.jsonl cannot be used: it has no pages\n"),
        ('{"a": 1}\n', ["feed.jsonl"], "line 1 is not a page, it has no url, but only a"),
        ('{"url": "http://a.example/", "text": "x"}\n{"url": "http', ["feed.jsonl"], "line 2 is not a page"),
        ('{"url": "http://a.example/", "text": "x"}\n' * 2, ["feed.jsonl"], "choose one with --page"),
        (
            '{"url": "http://a.example/", "text": "x"}\n',
            ["feed.jsonl", "--page", "x"],
            "the feed has no page x; it has http://a",
        ),
        ('{"url": "http://a.example/", "text": "x"}\n', ["feed.jsonl", "--source", "none"], "none"),
        ('{"url": "http://a.example/", "pagelets": [{"text": "x", "role": "content"}]}', ["feed.jsonl"], "has no id"),
        ('{"adresse": "http://a.example/", "texte": "x"}', ["feed.jsonl"], "it has no url, but only adresse, texte"),
        ("", ["."], ". cannot be shown: it is a folder"),
        ("", ["page.html", "--source", "feed.jsonl"], "are for feeds"),
        ("", ["http://a.example/"], "--no-picture loads no page: save it first"),
        ("", ["feed.jsonl", "--rules", "none.toml"], "none.toml cannot be read"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tmp_path, content, arguments, sentence):
    (tmp_path / "feed.jsonl").write_text(content)
    (tmp_path / "page.html").write_text("<p>Hello.")
    done = scrapy("pagelets", "view", *arguments, "--no-picture", cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
    assert done.stderr.count(" cannot be ") <= 1


def test_the_rendered_page_is_fetched_once(tmp_path):
    with SiteServer(routes={"/": answer("<p>Hello.")}) as server:
        view(tmp_path, server.url(""))
        assert server.hits.count("/") == 1


def notes_of(folder, *arguments):
    written = view(folder, *arguments).read_text(encoding="utf-8")
    return "\n".join(json.loads(written.partition('id="data">')[2].partition("</script>")[0])["notes"])


@pytest.mark.parametrize(
    ("rules", "note"),
    [
        ("[[rule]]\nhosts = ['*']\nstrip = ['*']", "Nothing of this page is kept."),
        ("[[rule]]\nhosts = ['*']\nstrip = ['#none']", "These selectors match nothing on this page: #none (line 3)."),
        ("[[rule]]\nhosts = ['a.example']\nkeep = ['p']", "These rules are for other hosts: a.example (line 1)."),
    ],
)
def test_rules_that_do_nothing_or_all_are_said(tmp_path, rules, note):
    (tmp_path / "rules.toml").write_text(rules)
    assert notes_of(tmp_path, str(SITE / "index.html"), "--no-picture", "--rules", "rules.toml") == note


def test_an_error_page_is_no_page(tmp_path):
    with SiteServer(routes={"/": answer("<p>Hello.")}) as server:
        line = {"url": server.url("gone"), "text": "What there was."}
        (tmp_path / "feed.jsonl").write_text(json.dumps(line))
        assert "cannot be fetched any more (the server answers 404)" in notes_of(tmp_path, "feed.jsonl")


def test_a_folder_that_had_a_base_is_found_with_it(feed):
    path = json.loads(feed.read_text().splitlines()[0])["url"]
    arguments = ("--page", path, "--source", str(SITE), "--no-picture")
    assert notes_of(feed.parent, str(feed), *arguments, "--base", "http://x.example/") == ""
    done = scrapy("pagelets", "view", str(feed), *arguments, cwd=feed.parent)
    assert "if the spider archive had a base, give it with --base" in done.stderr


def test_what_is_left_out_of_a_large_page_is_said(tmp_path):
    runs = "".join(f"<p>Part {n}" for n in range(20_001))
    (tmp_path / "page.html").write_text(f"{runs}<p>{'word ' * 110_000}")
    path = view(tmp_path, "page.html", "--no-picture")

    async def act(tab):
        notes = await tab.inner_text("#notes")
        await tab.select_option("#view", "plain")
        return notes, await tab.locator("#shown pre").first.inner_text()

    notes, text = inspect(path, act)
    assert "The page has 20,002 runs of text: the sliders of VIPS and GCuts are left out above 4,000." in notes
    assert "The text by pagelet ends after the first 20,000 runs of text." in notes
    assert text.endswith(" more characters)")
    assert path.stat().st_size < 10_000_000


def test_what_was_clicked_stays_while_the_pointer_moves_on(shown):
    """Without that, nobody could move the pointer to the rule and copy it."""

    async def act(tab):
        boxes, entries = tab.locator(".box"), tab.locator("#list button")
        numbers = [int(await boxes.nth(number).get_attribute("data-group")) for number in (5, 3, 4)]
        found: list[int] = []
        for step in ("hover", "click", "hover", "Escape", "hover"):
            if step == "Escape":
                await tab.keyboard.press(step)
                continue
            box = boxes.nth(5 if step == "click" or not found else 3)
            await getattr(box, step)(position={"x": 4, "y": 4})
            pressed = [await entries.nth(number).get_attribute("aria-pressed") == "true" for number in numbers]
            found.append(pressed.index(True))
            if step == "hover":
                await tab.mouse.move(0, 0)
        return found

    assert inspect(shown, act, viewport={"width": 1400, "height": 2000}) == [0, 0, 0, 1]


def test_the_list_shows_what_is_chosen(shown):
    async def act(tab):
        last = tab.locator("#list button").nth(3)
        await last.click()
        box, around = await last.bounding_box(), await tab.locator("#list").bounding_box()
        return around["y"] <= box["y"], box["y"] + box["height"] <= around["y"] + around["height"] + 1

    assert inspect(shown, act, viewport={"width": 1300, "height": 620}) == (True, True)


def test_segments_have_no_legend_of_templateness(shown):
    async def act(tab):
        seen = []
        for name in ("pagelets", "vips", "gcuts"):
            await tab.select_option("#outline", name)
            seen.append(
                (await tab.locator("#legend, #dimming").filter(visible=True).count(), await tab.inner_text("#scale"))
            )
        return seen

    assert inspect(shown, act)[1:] == [(0, "degree of coherence (PDoC)"), (0, "penalty (lambda)")]


def test_arabic_is_written_from_right_to_left(tmp_path):
    (tmp_path / "page.html").write_text(
        "<meta charset=utf-8><title>أخبار</title><h1>أخبار</h1><p>كتب الناس كثيرا عن الشاي، وعن الماء والكؤوس."
        "<a style='position:absolute;top:-30px' href=#x>تخط</a>",
        encoding="utf-8",
    )
    path = view(tmp_path, "page.html")

    async def act(tab):
        clipped = await tab.evaluate("getComputedStyle(document.querySelector('.picture')).overflowY")
        await tab.select_option("#view", "text")
        end = "(() => { const all = document.querySelectorAll('.run'), text = all[1].firstChild, range = new Range();"
        end += "range.setStart(text, text.length - 1); range.setEnd(text, text.length);"
        end += "const mark = range.getBoundingClientRect(), run = all[1].getBoundingClientRect();"
        end += "return mark.left - run.left < run.width / 2; })()"
        return clipped, await tab.evaluate(end), await tab.locator("#list bdi").count() > 0

    assert inspect(path, act) == ("clip", True, True)
