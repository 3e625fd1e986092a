"""The code of the guides that need a browser or a database does what they say."""

from tests.crawling import ROOT
from tests.documents import run

GUIDES = ROOT / "docs" / "how-to"


def test_the_guide_to_rendered_pages(tmp_path):
    run(GUIDES / "playwright.md", tmp_path)


def test_the_guide_to_search_servers(tmp_path, database):
    run(GUIDES / "search-servers.md", tmp_path, {"postgresql://localhost/search": database})
