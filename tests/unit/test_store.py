"""Sites on disk: resumed, shared by crawls, bounded in memory; and the effects of a broken or full disk."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.model import AUTOMATIC, LABELLED, load
from scrapy_pagelets.evidence.evidence import CLASSIFIERS, keys_of
from scrapy_pagelets.evidence.site_counts import Observation, SiteCounts
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import MAX_ANSWERED, SiteStore, meaning, pack, unpack

FOLDER = Path(__file__).parents[1] / "site"


def small(name: str, site: str = "orchard.test") -> Page:
    text = f"Of {name} there is much to be said, and this is the {name} of it"
    menu = "<ul><li><a href=/>Home</a><li><a href=/a>Apples</a><li><a href=/b>Pears</a></ul>"
    return Page.parse(f"<body>{menu}<p class=text>{text}</p><div>Imprint</div>".encode(), f"http://{site}/{name}")


def names(number: int) -> Iterator[str]:
    for i in range(number):
        yield "".join(chr(97 + int(digit)) for digit in str(i))


@pytest.fixture(scope="module")
def bundled() -> list[Page]:
    files = sorted(FOLDER.rglob("*.html"))[:16]
    return [Page.parse(file.read_bytes(), f"http://tomcat.test/{file.relative_to(FOLDER)}") for file in files]


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[object]:
    """Open stores on one folder; the test fails if one of them reports an error."""
    opened: list[SiteStore] = []
    sentences: list[str] = []

    def one_more(folder: Path | None = tmp_path, model: str = LABELLED) -> SiteStore:
        opened.append(SiteStore(folder, load(model), sentences.append))
        return opened[-1]

    yield one_more
    for store in opened:
        store.close()
    assert sentences == []


def stored(store: SiteStore, name: str) -> SiteCounts:
    site = Site(name)
    store.load(site)
    return site.learnt


def assert_equal(one: SiteCounts, other: SiteCounts) -> None:
    """Compare counts regardless of the order of pages, apart from what depends on which page came first."""
    left, right = one.arrays(), other.arrays()
    assert left.keys() == right.keys()
    for name in (name for name in left if name.endswith("_keys")):
        first = [1, 3] if name == "path_keys" else []
        order = [np.argsort(arrays[name]) for arrays in (left, right)]
        assert (left[name][order[0]] == right[name][order[1]]).all(), name
        sums = [
            np.delete(arrays[name.replace("_keys", "_sums")], first, axis=1)[by]
            for arrays, by in zip((left, right), order, strict=True)
        ]
        assert sums[0] == pytest.approx(sums[1], abs=1e-3), name
    assert one.counts.pages == other.counts.pages
    assert sorted(left["seen"]) == sorted(right["seen"])
    assert sorted(left["bodies"]) == sorted(right["bodies"])
    assert one.links == other.links
    assert [(t.outline, t.pages) for t in one.classes] == [(t.outline, t.pages) for t in other.classes]


def test_what_is_written_is_read_again(bundled, open_store):
    sites = SiteCache(open_store())
    for page in bundled:
        sites.learn(page)
    sites.close()
    alone = Site("tomcat.test")
    for page in bundled:
        alone.learn(page)
    again = SiteCache(open_store())["tomcat.test"]
    assert_equal(again.learnt, alone.learnt)
    numbers = [again.learnt.seen.get(page.key) for page in bundled]
    assert None not in numbers
    assert numbers == [alone.learnt.seen.get(page.key) for page in bundled]
    assert (again.templateness(bundled[3]) == alone.templateness(bundled[3])).all()


def test_an_empty_site_and_a_page_of_one_node_survive(open_store):
    assert_equal(SiteCounts.from_arrays("x", unpack(pack(SiteCounts("x").arrays()))), SiteCounts("x"))
    sites = SiteCache(open_store())
    sites.learn(Page.parse(b"<html>", "http://orchard.test/"))
    sites.close()
    assert stored(open_store(), "orchard.test").counts.pages == 1


def test_two_crawls_at_once_add_up(bundled, open_store):
    """Each learns half of the pages and some of the other's, and writes after each page."""
    one, other = SiteCache(open_store()), SiteCache(open_store())
    half = len(bundled) // 2
    for left, right in zip(bundled[: half + 5], reversed(bundled[half - 5 :]), strict=False):
        for sites, page in ((one, left), (other, right)):
            sites.learn(page)
            sites.close()
    alone = Site("tomcat.test")
    for page in bundled:
        alone.learn(page)
    together = stored(open_store(), "tomcat.test")
    assert together.counts.pages == alone.pages == len(bundled)
    assert sorted(together.seen.items()[0]) == sorted(alone.learnt.seen.items()[0])
    left, right = together.counts.arrays(), alone.counts.arrays()
    for name in ("text", "placed", "path", "links", "target", "shape"):
        tables = [dict(zip(a[f"{name}_keys"].tolist(), a[f"{name}_sums"][:, 0], strict=True)) for a in (left, right)]
        assert tables[0] == tables[1], name
    # The last one to write has also what the other has learnt.
    assert other["tomcat.test"].pages >= half + 5


def test_a_page_that_two_crawls_have_seen_counts_once(open_store):
    one, other = SiteCache(open_store()), SiteCache(open_store())
    for sites in (one, other):
        for name in ("plums", "pears"):
            sites.learn(small(name))
    other.learn(small("quinces"))
    one.close()
    other.close()
    assert other["orchard.test"].pages == stored(open_store(), "orchard.test").counts.pages == 3


def test_threads_and_stores_lose_nothing(open_store):
    """Three crawls with four threads each, on sites that do not fit into memory together."""
    crawls = [SiteCache(open_store(), capacity=1500) for _ in range(3)]
    pages = [small(name, f"{site}.test") for name in names(30) for site in "abcde"]
    with ThreadPoolExecutor(12) as threads:
        for _ in threads.map(lambda job: crawls[job[0] % 3].learn(job[1]), enumerate(pages * 2)):
            pass
    for sites in crawls:
        sites.close()
    store = open_store()
    assert [stored(store, f"{site}.test").counts.pages for site in "abcde"] == [30] * 5


def test_sites_that_were_not_used_leave_memory_and_come_back(open_store):
    sites = SiteCache(open_store(None), capacity=1000)
    largest = 0
    for name in names(6):
        for number in range(20):
            sites.learn(small(name, f"s{number}.test"))
            largest = max(largest, sum(site.size for site in sites._loaded.values()))
    assert largest < 2000  # the site in use may exceed the capacity
    assert len(sites._loaded) < 18
    assert [sites[f"s{number}.test"].pages for number in range(20)] == [6] * 20
    assert sorted(sites.summary()) == sorted((f"s{number}.test", 6, 1) for number in range(20))


def test_an_access_may_wait_for_the_disk_once_the_sites_fill_the_memory(open_store):
    sites = SiteCache(open_store(None), capacity=1000)
    sites.learn(small("plums", "a.test"))
    assert not sites.may_wait
    for number in range(20):
        sites.learn(small("plums", f"s{number}.test"))
    assert sites.may_wait
    assert SiteCache(open_store()).may_wait  # other processes read and lock it


def test_a_site_that_somebody_holds_is_never_there_twice(open_store):
    sites = SiteCache(open_store(None), capacity=1)
    sites.learn(small("plums", "a.test"))
    held = sites["a.test"]
    sites.learn(small("plums", "b.test"))
    assert "a.test" not in sites._loaded
    assert sites["a.test"] is held


def test_pages_are_written_while_the_crawl_goes_on(open_store):
    sites = SiteCache(open_store())
    for name in names(120):
        sites.learn(small(name))
    assert stored(open_store(), "orchard.test").counts.pages == 100


def test_a_killed_process_loses_what_was_not_written(tmp_path, open_store):
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from pathlib import Path
from tests.unit.test_store import LABELLED, SiteCache, SiteStore, load, names, small
sites = SiteCache(SiteStore(Path({str(tmp_path)!r}), load(LABELLED)))
for name in names(120):
    sites.learn(small(name))
print("learnt", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "learnt\n"
        process.send_signal(signal.SIGKILL)
    assert stored(open_store(), "orchard.test").counts.pages == 100


def test_a_store_of_another_version_is_left_alone_with_one_warning(tmp_path, open_store, caplog):
    sites = SiteCache(open_store(model=AUTOMATIC), AUTOMATIC)
    sites.learn(small("plums"))
    sites.close()
    assert meaning(load(AUTOMATIC)) != meaning(load(LABELLED))
    assert stored(open_store(), "orchard.test").counts.pages == 0
    [record] = caplog.records
    assert "is of another version or model: it is left unchanged, and the sites are learnt again" in record.getMessage()
    open_store()  # its own file is there now
    assert len(caplog.records) == 1
    assert stored(open_store(model=AUTOMATIC), "orchard.test").counts.pages == 1


def test_the_name_of_the_file_changes_with_the_meaning_of_a_hash(monkeypatch):
    before = meaning(load(LABELLED))
    assert before == meaning(load(LABELLED))
    hashed = "scrapy_pagelets.sites.site_store.keys_of"
    monkeypatch.setattr(hashed, lambda page: replace(keys_of(page), exact=keys_of(page).exact + 1))
    assert meaning(load(LABELLED)) != before


def test_a_file_that_is_no_database_is_put_aside(tmp_path):
    path = tmp_path / f"pagelets-sites-{meaning(load(LABELLED))}.sqlite"
    path.write_bytes(b"no database" * 100)
    sentences: list[str] = []
    store = SiteStore(tmp_path, load(LABELLED), sentences.append)
    sites = SiteCache(store)
    sites.learn(small("plums"))
    sites.close()
    assert stored(store, "orchard.test").counts.pages == 1
    store.close()
    assert len(sentences) == 1
    assert "it is renamed to *.broken, and the sites are learnt again" in sentences[0]
    assert path.with_name(path.name + ".broken").read_bytes().startswith(b"no database")


def test_a_damaged_site_is_learnt_again_and_the_others_are_not(tmp_path):
    sentences: list[str] = []
    store = SiteStore(tmp_path, load(LABELLED), sentences.append)
    sites = SiteCache(store)
    for site in ("a.test", "b.test"):
        sites.learn(small("plums", site))
    sites.close()
    store._db.execute("UPDATE sites SET learnt = substr(learnt, 1, 100) WHERE name = 'a.test'")
    again = SiteCache(store)
    for site in ("a.test", "b.test"):
        again.learn(small("pears", site))
    again.close()
    assert len(sentences) == 1
    assert sentences[0].startswith("the stored data of a.test cannot be read, the site is learnt again: ")
    assert [stored(store, site).counts.pages for site in ("a.test", "b.test")] == [1, 2]
    store.close()


def test_a_folder_that_cannot_be_made_costs_a_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    sentences: list[str] = []
    store = SiteStore(tmp_path / "file" / "store", load(LABELLED), sentences.append)
    assert len(sentences) == 1
    assert "cannot be used, what the crawl learns about sites is lost when it ends" in sentences[0]
    sites = SiteCache(store, capacity=1)
    for site in ("a.test", "b.test", "a.test", "b.test"):
        sites.learn(small("plums", site))
    assert sites["a.test"].pages == 1
    store.close()
    assert len(sentences) == 1


FULL = """
import resource, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.unit.test_store import LABELLED, SiteCache, SiteStore, load, names, small
sentences = []
store = SiteStore(Path({folder!r}), load(LABELLED), sentences.append)
sites = SiteCache(store, capacity={capacity})
for number, name in enumerate(names(400)):
    sites.learn(small(name, f"s{{number % 4}}.test"))
    if number == 9:
        sites.close()
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))  # as if the disk were full
sites.close()
print(len(sentences), [sites[f"s{{n}}.test"].pages for n in range(4)])
print(sentences[0])
store.close()
"""


def test_a_full_disk_costs_a_sentence_and_the_crawl_goes_on_in_memory(tmp_path, open_store):
    program = FULL.format(root=str(Path(__file__).resolve().parents[2]), folder=str(tmp_path), capacity=10_000_000)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    numbers, sentence = found.stdout.splitlines()
    assert numbers.endswith(" [100, 100, 100, 100]")
    assert int(numbers.split()[0]) > 0
    assert "cannot be written, the crawl goes on with what is in memory: " in sentence
    # Earlier data are intact.
    assert 0 < sum(stored(open_store(), f"s{n}.test").counts.pages for n in range(4)) < 400


def test_answered_requests_are_those_of_the_job_and_bounded(open_store):
    store = open_store()
    store.add_answered("one", ["a", "b"])
    store.add_answered("one", ["b", "c"])
    store.add_answered("other", ["d"])
    assert store.answered("one") == ["a", "b", "c"]
    assert store.answered("other") == ["d"]
    store.add_answered("many", map(str, range(MAX_ANSWERED + 10)))
    assert store.answered("many") == [str(i) for i in range(10, MAX_ANSWERED + 10)]
    assert store.answered("many")[0] == "10"


def test_copies_of_a_page_count_once_and_cost_no_memory(open_store):
    sites = SiteCache(open_store(None))
    body = b"<body><ul><li><a href=/>Home</a><li><a href=/x>All</a></ul><p>The one text that this site has to give.</p>"
    first = Page.parse(body, "http://copies.test/first")
    sites.learn(first)
    site = sites["copies.test"]
    alone = site.templateness(first)
    size = site.counts.size
    for number in range(2_000):
        sites.learn(Page.parse(body, f"http://copies.test/{number}"))
    assert site.pages == site.classes[0].pages == 1
    assert site.counts.size == size
    assert site.size < size + 2_000 * 5  # URLs
    copy = Page.parse(body, "http://copies.test/unseen")
    assert (site.templateness(copy) == alone).all()  # only the page itself is known, so no template is inferred


def test_a_copy_changes_nothing_for_the_other_pages(bundled):
    site, copied = Site("tomcat.test"), Site("tomcat.test")
    for page in bundled[:8]:
        site.learn(page)
        copied.learn(page)
    for number in count():
        if number == 20:
            break
        body = (FOLDER / bundled[2].url.removeprefix("http://tomcat.test/")).read_bytes()
        copied.learn(Page.parse(body, f"http://tomcat.test/copy/{number}"))
    for page in bundled[:8]:
        assert (site.templateness(page) == copied.templateness(page)).all()


def test_an_observation_has_all_that_is_learnt_from_a_page(bundled):
    page = bundled[0]
    odds = np.zeros((len(page.nodes), CLASSIFIERS))
    direct, observed = Site("tomcat.test"), SiteCounts("tomcat.test")
    direct.count(page, odds)
    observed.count(Observation.of(page, odds))
    assert_equal(direct.learnt, observed)
    observed.count_new([Observation.of(page, odds)])
    assert_equal(direct.learnt, observed)
