"""The report: what it counts, and the file in a real browser."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page as Tab

from scrapy_pagelets.crawler.commands.report import most_stripped
from scrapy_pagelets.report.html_report import html_file
from scrapy_pagelets.report.summary import Frequent, Summary, summary_of
from tests.browsing import in_tab
from tests.crawling import scrapy


def name_of(number: int) -> str:
    """A word for a number, because digits in texts are all alike."""
    return str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def line(number: int, *, kept: int = 100, stripped: int = 50, site: str = "a.example", **more: Any) -> dict[str, Any]:
    pagelets = [
        {"id": 0, "role": "navigation", "templateness": 0.99, "text": "Home <b> About", "words": stripped},
        {"id": 1, "role": "content", "templateness": 0.01, "text": f"the text of {name_of(number)}", "words": kept},
    ]
    share = stripped / (kept + stripped)
    return {
        "url": f"http://{site}/{number}", "template": {"id": f"{site}#1", "pages": 20, "share": share},
        "pagelets": pagelets, **more,
    }  # fmt: skip


def of(*lines: dict[str, Any]) -> Summary:
    return summary_of(lines)


def test_words_and_pages_are_counted_by_site_and_class():
    summary = of(line(1), line(2, kept=0), line(3, site="b.example", near_duplicate_of="http://a.example/1"))
    assert (summary.pages, summary.kept, summary.stripped, summary.empty, summary.duplicates) == (3, 200, 150, 1, 1)
    assert summary.share == pytest.approx(150 / 350)
    assert summary.sites["a.example"].classes["a.example#1"].pages == 2
    assert summary.sites["a.example"].classes["a.example#1"].texts.top(1) == [("Home <b> About", 2)]
    assert summary.groups == [("http://a.example/1", 1, ["http://b.example/3"])]


def test_files_without_a_site_have_a_name():
    """The spider archive reads folders without ``base``, and gives pages the URLs of their files."""
    summary = of(line(1) | {"url": "file:///srv/a.html"})
    assert list(summary.sites) == ["no site"]


def test_a_feed_of_content_only_has_the_same_totals():
    whole = [line(number, kept=100 * number) for number in (1, 2, 3)]
    content = [one | {"pagelets": one["pagelets"][1:]} for one in whole]
    assert of(*content).stripped == of(*whole).stripped == 150
    assert (of(*content).all_pagelets, of(*whole).all_pagelets) == (False, True)


@pytest.mark.parametrize("pages", ["many", None, float("nan"), -1, [3]])
def test_a_number_of_pages_that_is_none_is_not_shown(pages):
    page = line(1)
    page["template"]["pages"] = pages
    assert of(page).sites["a.example"].classes["a.example#1"].known == 0


def test_duplicates_of_duplicates_are_one_group():
    lines = [line(n, near_duplicate_of=f"http://a.example/{n - 1}" if n else None) for n in range(4)]
    assert [(url, size) for url, size, _ in of(*lines).groups] == [("http://a.example/0", 3)]


def test_doubtful_pages_come_with_the_gravest_reason_first():
    unsure = line(98)
    unsure["pagelets"][1]["templateness"] = 0.45
    lines = [
        *map(line, range(30)),
        unsure,
        line(99, kept=2, stripped=3),
        line(100, kept=40, stripped=900),
        line(101, kept=0),
    ]
    found = {page.url.rpartition("/")[2]: page.reason for page in of(*lines).doubtful}
    assert list(found) == ["101", "99", "98", "100"]
    assert found["101"] == "Nothing is left of it."
    assert found["99"].startswith("Only 2 words are left; others like it have 95 on average.")
    assert found["98"].startswith("67%")
    assert found["100"].startswith("96% of it was stripped, unlike")


def test_the_order_of_the_pages_does_not_matter_to_which_are_doubtful():
    lines = [*map(line, range(30)), line(98, kept=40, stripped=900), line(99, kept=2, stripped=3)]
    assert of(*lines).doubtful == of(*reversed(lines)).doubtful != []


def test_content_that_repeats_is_found():
    """Three of ten pages have a notice, one of them twice; short texts do not count."""
    lines = [line(number) for number in range(10)]
    for number, notices in (
        (3, ["We use cookies 12"]),
        (5, ["We use cookies 77", "we USE cookies 30"]),
        (7, ["We use cookies 10"]),
    ):
        lines[number]["pagelets"] += [
            {"id": 9, "role": "content", "templateness": 0.1, "text": text, "words": 4} for text in notices
        ]
    for one in lines:
        one["pagelets"].append({"id": 8, "role": "content", "templateness": 0.1, "text": "Read more", "words": 2})
    assert [count for _, count in of(*lines).sites["a.example"].repeated] == [3]


def test_curves_keep_few_points_of_equal_numbers_of_pages():
    summary = of(*map(line, range(1000)))
    assert len(summary.curve) <= 50
    assert sum(point.pages for point in summary.curve) == 1000
    assert len({point.pages for point in summary.curve[:-1]}) == 1


def test_frequent_texts_are_counted_nearly_exactly_in_little_memory():
    numbers = random.Random(0)
    counts, exact = Frequent(50), 0
    for _ in range(5000):
        counts.add(f"rare {numbers.random()}")
        if numbers.random() < 0.2:
            counts.add("often")
            exact += 1
    assert counts.top(1) == [("often", exact)]


def read(path: Path, **options: Any) -> Any:
    """Open a report in Chromium: its text, its requests, errors and violations of accessibility."""

    async def run(tab: Tab) -> dict[str, Any]:
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        await tab.goto(path.as_uri())
        await tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        return {
            "text": await tab.inner_text("main"),
            "asked": asked,
            "title": await tab.title(),
            "width": await tab.evaluate("document.documentElement.scrollWidth"),
            "violations": [one["id"] for one in (await Axe().run(tab)).response["violations"]],
        }

    return in_tab(run, **options)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_file_is_accessible_and_runs_nothing(tmp_path, scheme):
    hostile = "</style><script>document.title='hacked'</script><img src=http://evil.example/ onerror=alert(1)>"
    lines = [line(number, site=f"s{number % 3}.example", title=hostile) for number in range(40)]
    lines[3]["pagelets"][0]["text"] = hostile
    lines[4]["template"]["id"] = hostile
    lines[5]["near_duplicate_of"] = hostile
    lines.append(line(99, kept=0) | {"url": f"http://a.example/{hostile}"})
    path = tmp_path / "report.html"
    path.write_text(html_file(of(*lines), "feed.jsonl"), encoding="utf-8")
    found = read(path, color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 700})
    assert found["violations"] == []
    assert found["asked"] == [path.as_uri()]
    assert found["title"] == "Report on feed.jsonl"
    assert found["width"] <= 360
    assert "What was stripped most, with the number of pages:" in found["text"]
    assert found["text"].count("<img src=http://evil.example/ onerror=alert(1)>") >= 4


def test_ten_thousand_pages_of_many_sites_make_a_small_file(tmp_path):
    names = [f"site{number}.example" for number in range(2000)]
    lines = (
        line(number, kept=number % 300, site=names[number % 2000], near_duplicate_of=f"http://a.example/{number % 999}")
        for number in range(10_000)
    )
    path = tmp_path / "report.html"
    path.write_text(html_file(summary_of(lines), "feed.jsonl"), encoding="utf-8")
    assert path.stat().st_size < 5_000_000
    assert opened(path, "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") < 2000
    text = read(path)["text"]
    assert "10,000" in text
    assert "and 1,800 sites with fewer pages." in text


def test_the_command_writes_both_forms(tmp_path):
    feed = tmp_path / "feed.jsonl"
    feed.write_text("".join(json.dumps(line(number)) + "\n" for number in range(12)))
    done = scrapy("pagelets", "report", str(feed), "--html", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "written: report.html"
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    refused = scrapy("pagelets", "report", str(feed), "--html", "none/report.html", cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (
        1,
        "none/report.html cannot be written: No such file or directory\n",
    )


def test_a_cut_off_last_line_is_named(tmp_path):
    feed = tmp_path / "feed.jsonl"
    feed.write_text(json.dumps(line(1)) + '\n{"url": "http')
    done = scrapy("pagelets", "report", str(feed), cwd=tmp_path)
    assert done.returncode == 1
    assert "line 2 is not a page" in done.stderr


def test_doubtful_pages_are_linked_to_what_the_feed_has_of_them(tmp_path):
    pagelets = [one | {"xpaths": ["/html/body/p"]} for one in line(1)["pagelets"]]
    feed = tmp_path / "feed.jsonl"
    feed.write_text("".join(json.dumps(one) + "\n" for one in [line(1, kept=0) | {"pagelets": pagelets[:1]}, line(2)]))
    assert scrapy("pagelets", "report", str(feed), "--inspect").stderr.startswith("--inspect writes pages beside")
    # A page without the fields of the inspector is named.
    assert "xpaths" in scrapy("pagelets", "report", str(feed), "--html", str(tmp_path / "r.html"), "--inspect").stderr
    whole = line(1, kept=0) | {"pagelets": pagelets[:1]}
    feed.write_text(json.dumps(whole) + "\n")
    done = scrapy("pagelets", "report", str(feed), "--html", str(tmp_path / "r.html"), "--inspect")
    assert done.returncode == 0, done.stderr

    async def clicked(tab: Tab) -> str:
        await tab.goto((tmp_path / "r.html").as_uri())
        await tab.click("text=http://a.example/1")
        return await tab.inner_text("body")

    assert "Home <b> About" in in_tab(clicked)


def opened(path: Path, script: str, **options: Any) -> Any:
    """What a script finds in a report in Chromium."""

    async def run(tab: Tab) -> Any:
        await tab.goto(path.as_uri())
        return await tab.evaluate(script)

    return in_tab(run, **options)


def test_a_telephone_shows_numbers_and_curves_that_can_be_read(tmp_path):
    path = tmp_path / "report.html"
    lines = [line(n, kept=1000, near_duplicate_of="http://a.example/0" if n % 2 else None) for n in range(30)]
    path.write_text(html_file(of(*lines), "feed.jsonl"), encoding="utf-8")
    script = """[
        Math.max(...[...document.querySelectorAll('td, th')].map(cell => cell.getBoundingClientRect().height)),
        [...document.querySelectorAll('.curves svg')].map(svg => svg.getBoundingClientRect().width),
        new Set([...document.querySelectorAll('svg text')].map(text => getComputedStyle(text).fill)).size,
        getComputedStyle(document.querySelector('svg text')).fill === getComputedStyle(document.body).color,
        document.querySelector('details').open,
    ]"""
    paper = "const all = document.querySelector('.scroll'); all.scrollWidth <= all.clientWidth"
    assert opened(path, paper, viewport={"width": 700, "height": 1000})
    height, widths, colors, readable, is_open = opened(
        path, script, color_scheme="dark", viewport={"width": 390, "height": 800}
    )
    assert height < 60  # two lines at most
    assert len(widths) == 2
    assert min(widths) > 300
    assert (colors, readable) == (1, True)
    assert is_open


def test_the_terminal_tells_what_was_stripped_in_its_words():
    found = list(most_stripped(of(*map(line, range(3)), line(4, site="b.example")), 30))
    assert found == ["stripped most from a.example#1, on how many of its 3 pages:", "      3  Home <b> About"]
    content = [line(1) | {"pagelets": line(1)["pagelets"][1:]}]
    assert "PAGELETS_EXPORT=all" in next(most_stripped(of(*content), 30))


def test_long_texts_end_with_a_mark_and_keep_their_order():
    one = line(1)
    one["pagelets"][:0] = [
        {"id": n, "role": "template", "templateness": 1.0, "text": text, "words": 40}
        for n, text in enumerate(["word " * 40, "Zebra", "Apple", "Search"])
    ]
    texts = [text for text, _ in of(one).sites["a.example"].classes["a.example#1"].texts.top(9)]
    assert texts[0] == "word " * 32 + "..."
    assert texts[1:] == ["Zebra", "Apple", "Search", "Home <b> About"]
