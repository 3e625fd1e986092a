"""The template of a class of pages: votes, complete subdigraphs, inserted siblings, storage."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from lxml import etree

from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.evidence.class_template import ClassTemplate, from_arrays, to_arrays
from scrapy_pagelets.evidence.menu_links import link_targets
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore
from tests.oracles.template_by_votes import template_nodes

HOST = "http://site.example"
MENU = "<div class=bar><a href=/a>Alpha</a> <a href=/b>Beta</a> <a href=/c>Gamma</a></div>"
FOOT = "<div><p>Imprint and privacy</p></div>"


def page(name, before="", foot=FOOT):
    markup = f"<html><body>{before}{MENU}<div><h1>On {name}</h1><p>What only {name} says</p></div>{foot}</body></html>"
    return Page.parse(markup.encode(), f"{HOST}/{name}")


def texts(one, rows):
    return [text for text, row in zip(one.nodes.strings, one.nodes.leaves, strict=True) if rows[row]]


def template_of(site):
    template = site.classes[0].template
    assert template is not None
    return template


TEMPLATE = ["Alpha", "Beta", "Gamma", "Imprint and privacy"]


@pytest.mark.parametrize("before", ["", "<div>An advertisement</div>", "<div><p>Two</p></div><div class=x>Three</div>"])
def test_an_inserted_sibling_leaves_the_template_as_it_is(before):
    site = Site("site.example")
    for name in "abcde":
        site.learn(page(name))
    one = page("f", before)
    assert texts(one, template_nodes(site, one)) == TEMPLATE


def test_votes_of_another_class_do_not_count():
    """One page of a class has a footer that all pages of another class have at the same path."""
    site = Site("site.example")
    foot = "<footer><p>Of the others</p></footer>"
    for number in range(10):
        other = f"<html><body><center><table><tr><td>Row {number}</table></center>{foot}</body></html>"
        site.learn(Page.parse(other.encode(), f"{HOST}/other/{number}"))
    for name in "abcd":
        site.learn(page(name))
    one = page("e", foot=FOOT + foot)
    site.learn(one)
    assert len(site.classes) == 2
    assert texts(one, template_nodes(site, one)) == TEMPLATE


def test_every_page_of_a_set_must_have_the_template():
    site = Site("site.example")
    other = "<html><body><table><tr><td>Quite another page</table></body></html>"
    linked = [page("b"), Page.parse(other.encode(), f"{HOST}/c")]
    page_class = site.learn_set(page("a"), linked)
    assert [one.pages for one in site.classes] == [2, 1]
    assert page_class.template is not None
    assert page_class.template.voters == 3
    # Nothing below the body is on all three pages.
    assert texts(page("d"), template_of(site).rows_of(page("d"))) == []


def test_the_set_decides_and_no_later_page_votes():
    site = Site("site.example")
    site.learn_set(page("a"), [page("b"), page("c")])
    for name in "defghi":
        site.learn(page(name, foot=""))
    one = page("z")
    assert np.flatnonzero(site.in_subdigraph_template(one)).size == len(TEMPLATE)
    assert texts(one, template_of(site).rows_of(one)) == TEMPLATE


def test_without_a_set_the_subdigraph_has_no_template():
    site = Site("site.example")
    for name in "abc":
        site.learn(page(name))
    assert not site.in_subdigraph_template(page("d")).any()
    assert not Site("other.example").in_subdigraph_template(page("d")).any()


def test_a_page_of_a_class_without_a_set_has_the_template_of_another():
    site = Site("site.example")
    site.learn_set(page("a"), [page("b"), page("c")])
    markup = f"<html><body><ul><li>1</li><li>2</li></ul><dl><dt>x</dt></dl>{MENU}</body></html>"
    stranger = Page.parse(markup.encode(), f"{HOST}/stranger")
    site.learn(stranger)
    assert len(site.classes) == 2
    assert site.in_subdigraph_template(stranger).sum() == 3


def test_only_the_first_pages_vote():
    template = ClassTemplate.of_page(page("a"))
    for number in range(40):
        template.count(page(f"p{number}"))
    assert template.voters == template.votes.max() == 16
    assert texts(page("x"), template.rows_of(page("x"))) == TEMPLATE


def test_templates_survive_the_store():
    learnt = SiteCounts("site.example")
    site = Site("site.example")
    site.learn_set(page("a"), [page("b")])
    site.learn(Page.parse(b"<table><tr><td>Another class</table>", f"{HOST}/t"))
    restored = SiteCounts.from_arrays("site.example", site.arrays())
    for one, again in zip(site.classes, restored.classes, strict=True):
        assert one.template is not None
        assert again.template is not None
        assert (one.template.rows_of(page("z")) == again.template.rows_of(page("z"))).all()
        assert again.template.source == one.template.source
        assert again.template.settled == one.template.settled
    learnt.adopt_templates(restored)
    assert learnt.classes == []
    assert from_arrays(to_arrays([None])) == [None]
    assert from_arrays(to_arrays([])) == []


def test_the_first_pages_of_a_class_are_kept_for_sets_that_are_found_later():
    site = Site("site.example")
    site.record()
    first = [page(f"p{number}") for number in range(10)]
    for one in (*first, Page.parse(b"<table><tr><td>Another class</table>", f"{HOST}/t")):
        site.learn(one, keep=True)
    site.learn(page("not kept"))
    merged = SiteCounts("site.example")  # as another process of a shared crawl does
    merged.count_new(site.hand_over())
    for counts in (site.learnt, merged, SiteCounts.from_arrays("site.example", site.arrays())):
        assert [source.url for source in counts.kept.values()] == [*(one.url for one in first[:8]), f"{HOST}/t"]
    for one in first[:8]:
        known = site.known(one.key)
        assert known is not None
        links, page_class, source = known
        assert (links, page_class.number) == (link_targets(one), 0)
        assert source.page().nodes.strings == one.nodes.strings
    assert site.known(first[8].key) is None


def test_copies_of_the_key_page_define_no_template():
    """They have their content in common as well."""
    site = Site("site.example")
    copies = [Page.parse(etree.tostring(page("a").root), f"{HOST}/copy{number}") for number in range(3)]
    page_class = site.learn_set(page("a"), copies)
    assert page_class.subdigraph_template is None
    page_class = site.learn_set(page("a"), [*copies, page("b"), page("c")])
    assert page_class.template is not None
    assert page_class.template.voters == 3
    assert texts(page("a"), page_class.template.rows_of(page("a"))) == TEMPLATE


def test_of_two_processes_the_template_of_more_pages_is_kept(tmp_path):
    store = [SiteStore(tmp_path, load(LABELLED)) for _ in range(2)]
    one, other = (SiteCache(each) for each in store)
    one.learn(page("first"))
    for name in "abcdefgh":
        other.learn(page(name))
    one.close()
    other.close()
    again = SiteCache(store[0])["site.example"]
    assert again.pages == 9
    assert template_of(again).voters == 8
    for each in store:
        each.close()


def test_pages_that_could_not_be_written_are_written_with_those_of_another_process(tmp_path):
    said: list[str] = []
    store = [SiteStore(tmp_path, load(LABELLED), said.append) for _ in range(2)]
    one, other = (SiteCache(each) for each in store)
    one.learn(page("first"))
    [path] = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE sites RENAME TO away")
    one.close()
    assert any("cannot be written" in sentence for sentence in said)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE away RENAME TO sites")
    other.learn(page("second"))
    other.close()
    one.learn(page("third"))
    one.close()
    assert one["site.example"].pages == 3
    for each in store:
        each.close()


def test_a_damaged_site_is_learnt_again(tmp_path):
    store = SiteStore(tmp_path, load(LABELLED))
    sites = SiteCache(store)
    sites.learn(page("a"))
    sites.close()
    store.close()
    [path] = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as db, db:
        [content] = db.execute("SELECT learnt FROM sites").fetchone()
        end = content.rindex(b"PK\x01\x02")
        db.execute("UPDATE sites SET learnt = ?", (content[: end + 10] + b"\x63" + content[end + 11 :],))
    said: list[str] = []
    store = SiteStore(tmp_path, load(LABELLED), said.append)
    assert SiteCache(store)["site.example"].pages == 0
    assert len(said) == 1
    assert "the site is learnt again" in said[0]
    store.close()
