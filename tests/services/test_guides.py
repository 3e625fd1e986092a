"""The code of the documents that need a browser, a database, Redis or archives does what they say."""

import gzip
import shutil

from tests.corpora import RangeServer, cdxj, offsets, warc
from tests.corpora import site as pages_of
from tests.crawling import ROOT, pagelets
from tests.documents import run, small_site

DOCS = ROOT / "docs"
GUIDES = DOCS / "how-to"
RULES = """[[rule]]
hosts = ["*"]
strip = [".plain-footer"]
"""


def test_the_guide_to_rendered_pages(tmp_path):
    run(GUIDES / "playwright.md", tmp_path)


def test_the_guide_to_search_servers(tmp_path, database):
    run(GUIDES / "search-servers.md", tmp_path, {"postgresql://localhost/search": database})


def test_the_page_of_the_inspector(tmp_path):
    """A browser draws the first page and one of the pictures: it is the same for all."""
    mirror = small_site(tmp_path / "mirror")
    warc(tmp_path / "crawl.warc.gz", pages_of("tea.example", ["green", "black"]))
    assert pagelets("clean", "crawl.warc.gz", "-o", "archive.jsonl", cwd=tmp_path).returncode == 0
    shutil.copy(mirror / "index.html", tmp_path / "page.html")
    faster = {name: f"--no-picture {name}" for name in ("--page", "--rules")}
    run(DOCS / "inspector.md", tmp_path, faster, files={"rules.toml": RULES}, site=mirror)
    assert (tmp_path / "quick-vips-top.jpg").stat().st_size > 10_000


def test_the_page_of_shared_crawls(tmp_path, empty_redis):
    site = small_site(tmp_path / "site")
    run(DOCS / "shared-crawl.md", tmp_path, {"redis://localhost:6379/0": empty_redis.url}, site=site)
    assert len((tmp_path / "cleaned.jsonl").read_text(encoding="utf-8").splitlines()) == 3


def test_the_page_of_the_corpus_job(tmp_path):
    """What is on the internet there is on loopback here."""
    (tmp_path / "crawl").mkdir()
    archive = warc(tmp_path / "crawl" / "tea.warc.gz", pages_of("tea.example", ["green", "black", "white"]))
    (tmp_path / "warc.paths.gz").write_bytes(gzip.compress(b"tea.warc.gz\n"))
    cdxj(tmp_path / "example.cdxj", list(offsets(archive))[:2])
    with RangeServer(tmp_path / "crawl") as server:
        places = dict.fromkeys(("https://data.commoncrawl.org/", "s3://commoncrawl/"), server.url(""))
        run(DOCS / "corpus.md", tmp_path, places)
