"""What a notebook shows: the HTML that IPython asks objects for, in a real browser."""

from axe_playwright_python.async_playwright import Axe

from scrapy_pagelets import Page, Site, segment
from tests.browsing import in_tab
from tests.crawling import SITE
from tests.services.test_inspector import HOSTILE

URL = "http://example.com/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E?\"><script>document.title='hacked'</script>"


def opened(html):
    """The text, the title and the violations of accessibility of a page with some HTML; it asks for nothing."""

    async def run(tab):
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        await tab.set_content(
            f"<!DOCTYPE html><html lang=en><title>Notebook</title><main><h1>Notebook</h1>{html}</main>"
        )
        active = await tab.locator("script, img, iframe, a, svg, link, style, form, meta").count()
        text, title = await tab.inner_text("body"), await tab.title()
        violations = [one["id"] for one in (await Axe().run(tab)).response["violations"]]
        assert asked == []
        assert active == 0
        return text, title, violations

    return in_tab(run, bypass_csp=True)


def test_nothing_of_a_hostile_page_runs_or_loads():
    page = Page.parse(HOSTILE.encode(), URL)
    site = Site("<script>document.title='hacked'</script>")
    site.learn(page)
    found = segment(page, site.templateness(page))
    text, title, violations = opened("".join(one._repr_html_() for one in (page, found, found[0], site)))
    assert title == "Notebook"
    assert "document.title='hacked'" in text
    assert "${picture} $data The end." in text
    assert violations == []


def test_a_segmentation_says_what_is_kept_and_stripped():
    folder = SITE / "news"
    pages = [Page.parse(file.read_bytes(), f"http://example.com/{file.name}") for file in sorted(folder.glob("*.html"))]
    site = Site("example.com")
    for page in pages:
        site.learn(page)
    found = segment(pages[-1], site.templateness(pages[-1]))
    text, _, violations = opened(found._repr_html_())
    for pagelet in found:
        assert f"{pagelet.id} {pagelet.role}, {'kept' if pagelet.role == 'content' else 'stripped'}" in text
        assert f"{pagelet.templateness:.2f}" in text
    kept = sum(pagelet.words for pagelet in found if pagelet.role == "content")
    assert f"Words kept: {kept:,}, stripped: {int(pages[-1].nodes.words.sum()) - kept:,}." in text
    assert violations == []
    assert f"Pages known: {len(pages)}." in site._repr_html_()
    assert pages[-1].title in opened(pages[-1]._repr_html_())[0]


def test_large_and_empty_pages_stay_small():
    menus = [f"<ul>{''.join(f'<li><a href=/{n}/{k}>Entry {n} {k}</a>' for k in range(20))}</ul>" for n in range(200)]
    page = Page.parse(f"<p>{'words ' * 4000}".join(menus).encode(), "http://example.com/")
    found = segment(page, method="pagelets-strict")
    assert len(found) > 100
    assert len(found._repr_html_()) < 200_000
    assert f"Pagelets: {len(found)}." in found._repr_html_()
    assert "The first 100 pagelets are shown." in found._repr_html_()
    assert len(page._repr_html_()) < 2_000
    assert "no text" in segment(Page.parse(b"", "http://example.com/"))._repr_html_()
