"""Pages are cleaned in three lines, without Scrapy; what README and docs/python.md say of it works."""

import re
from pathlib import Path

import pytest

import scrapy_pagelets
from scrapy_pagelets import CleanPage, Page, Site, clean, markdown
from tests.crawling import page, words

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "tests" / "site"
REPOSITORY = "https://github.com/scrapy-pagelets/scrapy-pagelets"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def pages():
    files = sorted(SITE.rglob("*.html"))[:12]
    return [(file.read_bytes(), f"http://example.com/{file.relative_to(SITE)}") for file in files]


def test_a_known_site_is_cleaned_better_than_a_page_alone():
    parcels = "We send parcels on every day but Sunday, and what you send back is free for thirty days."
    names = "amber birch cedar dahlia elder fennel ginger hazel".split()
    made = [(page(name, ["/", "/a"], more=f"<p>{parcels}</p>"), f"http://h/{name}") for name in names]
    alone, known = clean(*made[0]), Site.of(made).clean(*made[0])
    assert parcels in alone.text
    assert parcels not in known.text
    assert words("amber") in known.text


def test_a_clean_page_has_what_the_feed_has():
    tea = clean("<html lang=en><title>Tea | Shop</title><h1>Tea</h1><p>All about <i>green</i> tea.", "http://h/")
    assert (tea.url, tea.title, tea.headline, tea.language) == ("http://h/", "Tea | Shop", "Tea", "en")
    assert str(tea) == tea.markdown == "# Tea\n\nAll about *green* tea."
    assert tea.text == "Tea\n\nAll about green tea."
    assert "<h1>Tea</h1>" in tea.html
    assert [one.role for one in tea.pagelets] == ["content"]
    fields = tea.fields
    assert (fields["url"], fields["headline"], fields["text"]) == (tea.url, tea.headline, tea.text)
    assert fields["pagelets"][0]["text"] == tea.text


def test_text_is_read_as_text_whatever_charset_the_page_declares():
    assert clean("<meta charset=latin-1><p>Größe 5 \ud800").text.startswith("Größe 5")
    assert clean("<meta charset=latin-1><p>Größe 5".encode("latin-1")).text == "Größe 5"


def test_what_only_the_data_say_and_what_the_page_asks_of_robots_is_told():
    story = "The ferry waits for the last letter, and the keeper of the light counts the ships that pass by night."
    data = f'{{"props": {{"story": {{"title": "A slow boat", "body": "<p>{story}</p><h2>Why</h2><p>{story}</p>"}}}}}}'
    shell = f'<div id=__next><p>Loading</div><script id=__NEXT_DATA__ type="application/json">{data}</script>'
    found = clean(f"<meta name=robots content=noindex>{shell}", "http://h/")
    assert story in found.text
    assert "## Why" in found.markdown
    assert found.fields["robots"] == ["noindex"]


def test_without_an_address_links_stay_relative():
    assert (
        clean("<p>See <a href=/a>the other page</a>, it is long.").markdown == "See [the other page](/a), it is long."
    )


def test_it_is_what_the_other_functions_say():
    site = Site.of(pages())
    body, url = pages()[3]
    assert site.clean(body, url).markdown == markdown(Page.parse(body, url), site)
    assert site.pages == len(pages())


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((Path("page.html"),), TypeError, "the HTML is a PosixPath: give its text or bytes, such as path.read_"),
        (("<p>", None), TypeError, "the URL is a NoneType: give a string"),
        (
            ("https://example.com/",),
            ValueError,
            "is an address, not HTML: load the page first and give clean(html, url)",
        ),
    ],
)
def test_errors_say_what_to_give(arguments, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        clean(*arguments)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [([], "there is no page to learn from"), (["<p>a"], "a page is a str: Site.of takes pairs (html, url)")],
)
def test_a_site_says_what_it_learns_from(given, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Site.of(given)


def test_public_names_are_there_and_typed():
    assert all(getattr(scrapy_pagelets, name) for name in scrapy_pagelets.__all__)
    assert set(scrapy_pagelets.__all__) <= set(dir(scrapy_pagelets))  # which notebooks complete names by
    assert isinstance(clean("<p>a"), CleanPage)


def test_the_readme_is_short_and_can_be_read_anywhere():
    assert len(README.splitlines()) <= 150
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert link.startswith("https://"), link
        if own := re.match(rf"{REPOSITORY}/(?:blob|tree)/main/([^#]+)", link):
            assert (ROOT / own[1]).exists(), link
        elif "githubusercontent" in link:
            assert (ROOT / link.partition("/main/")[2]).is_file(), link
