"""Priorities of requests, for single responses and in real crawls."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from scrapy import FormRequest, Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import Settings
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.test import get_crawler

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.addon import Addon
from scrapy_pagelets.feed import page_record
from scrapy_pagelets.middlewares.priority import PriorityMiddleware
from scrapy_pagelets.page.urls import key
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.session.config import Config
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import context_of
from scrapy_pagelets.session.raising import RaisingQueue, waiting_of
from tests.crawling import SITE, answer, crawl, letters, menu_site, page, pages_asked_for, run_spider, words
from tests.server import SiteServer

TOPIC = {"PAGELETS_TOPIC": "volcano glacier"}


def entries(text: str, *links: str) -> str:
    """Return paragraphs with enough links for a pagelet, and enough words to be content."""
    some = [f"<a href={link}>read on</a>" for link in links] + ["<a href=/more>more</a>"] * 6
    return "".join(
        f"<p>{text} is what they talked of on day {i}, and {text} it was. {link}</p>" for i, link in enumerate(some)
    )


BODY = (
    f"<div>{entries('A volcano below the glacier', '/fire')}</div><div>{entries('The price of cod', '/fish')}"
    "<p><a href=http://other/volcano>volcano glacier</a></p></div>"
)


class Passing:
    """The middleware of a crawl that does not run."""

    def __init__(self, **settings: Any) -> None:
        self.crawler = get_crawler(settings_dict=settings)
        self.middleware = PriorityMiddleware.from_crawler(self.crawler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for part in (self.middleware, session_of(self.crawler)):
            asyncio.run(part.spider_closed())

    def __call__(self, response: Response, *found: Any) -> list[Any]:
        """Return the output of the middleware for what the spider has yielded for a response."""

        async def results() -> AsyncIterator[Any]:
            for each in found:
                yield each

        async def run() -> list[Any]:
            return [each async for each in self.middleware.process_spider_output_async(response, results())]

        return asyncio.run(run())

    def priorities(self, response: Response, *urls: str, **options: Any) -> list[int]:
        return [request.priority for request in self(response, *(Request(url, **options) for url in urls))]

    def stat(self, name: str) -> Any:
        assert self.crawler.stats is not None
        return self.crawler.stats.get_value(f"pagelets/{name}", 0)


def response(body: str = BODY, url: str = "http://h/", **meta: Any) -> HtmlResponse:
    return HtmlResponse(url, body=body.encode(), request=Request(url, meta=meta))


@pytest.fixture
def passing() -> Iterator[Passing]:
    with Passing(**TOPIC) as found:
        yield found


def test_requests_near_the_topic_go_first(passing):
    fire, fish, other = passing.priorities(response(), "http://h/fire", "http://h/fish", "http://other/volcano")
    assert 0 < fish < fire <= 100
    assert fish < other <= 100  # because of its anchor
    assert (passing.stat("priority/pages"), passing.stat("priority/requests")) == (1, 3)


def test_the_priorities_of_the_spider_are_added_to(passing):
    plain = passing.priorities(response(), "http://h/fire", "http://h/fish")
    own = passing.priorities(response(), "http://h/fire", "http://h/fish", priority=-1000)
    assert own == [priority - 1000 for priority in plain]
    assert {type(priority) for priority in own} == {int}


def test_links_are_matched_by_their_normalised_url(passing):
    ways = ["http://h/fire", "https://h/fire#top", "http://H:80/fire?utm_source=x", "http://h/a/../fire"]
    assert len(set(passing.priorities(response(), *ways))) == 1
    assert passing.stat("priority/unmatched") == 0


def test_a_request_that_matches_no_link_inherits_from_its_page(passing):
    near, far = response(), response("<p>The price of cod", "http://h/fish")
    requests = [Request("http://h/api?page=2"), FormRequest("http://h/search", formdata={"q": "x"})]
    found = passing(near, *requests)
    assert {request.priority for request in found} == {found[0].priority}
    assert found[0].priority > passing.priorities(far, "http://h/api?page=2")[0] == 0
    assert passing.stat("priority/unmatched") == 3


def test_relevance_is_inherited_through_irrelevant_pages(passing):
    fire, fish = passing(response(), Request("http://h/fire"), Request("http://h/fish"))
    empty = "<p>This page says nothing of the topic, but it leads on to <a href=/next>another one</a> that may do so."
    near = passing.priorities(response(empty, "http://h/fire", **fire.meta), "http://h/next")
    none = passing.priorities(response(empty, "http://h/none"), "http://h/next")
    assert near[0] > none[0] == 0
    assert fire.meta == fish.meta


def test_items_pass_and_a_page_is_cut_only_for_requests(passing, monkeypatch):
    cut = []

    def counted(*args):
        cut.append(1)
        return labels_of(*args)

    monkeypatch.setattr(page_record, "labels_of", counted)
    item, here = {"url": "http://h/"}, response()
    assert passing(here, item, "text", 5) == [item, "text", 5]
    assert cut == []
    passing(here, item, Request("http://h/fire"), item, Request("http://h/fish"))
    shared = context_of(here, session_of(passing.crawler))
    assert shared is not None
    assert shared.record.cut()  # as in the pipelines
    assert cut == [1]


def test_older_versions_of_scrapy_call_synchronously(passing):
    late = [
        request.priority for request in passing.middleware.process_spider_output(response(), [Request("http://h/fire")])
    ]
    assert late == passing.priorities(response(), "http://h/fire")


def test_start_requests_come_before_links(passing):
    start = passing.middleware.get_processed_request(Request("http://h/", priority=1), None)
    assert start.priority == 101
    assert max(passing.priorities(response(), "http://h/fire")) <= 100


@pytest.mark.parametrize(
    "other",
    [
        Response("http://h/x.pdf", body=b"%PDF", request=Request("http://h/x.pdf")),
        TextResponse("http://h/x.json", body=b'{"a": "/fire"}', request=Request("http://h/x.json")),
        HtmlResponse("http://h/gone", status=404, body=BODY.encode(), request=Request("http://h/gone")),
        HtmlResponse("http://h/", body=BODY.encode(), request=Request("http://h/", meta={"pagelets_probe": False})),
    ],
)
def test_requests_of_other_responses_stay_unchanged(passing, other):
    [request] = passing(other, Request("http://h/fire", priority=7))
    assert (request.priority, request.meta) == (7, {})
    assert passing.stat("priority/pages") == 0


@pytest.mark.parametrize("body", ["", "<p>No link", "<base href='http://[half/'><a href=x>y</a>", "\0\xff"])
def test_pages_without_links(passing, body):
    assert passing.priorities(response(body), "http://h/x", "http://g/") == [0, 0]


def test_requests_of_a_page_that_cannot_be_cut_stay_unchanged(passing, monkeypatch, caplog):
    def labels_of(*_: object) -> None:
        raise RuntimeError("made up")

    monkeypatch.setattr(page_record, "labels_of", labels_of)
    assert passing.priorities(response(), "http://h/fire", "http://h/fish") == [0, 0]
    assert passing.stat("pages/failed") == 1
    assert "please report this" in caplog.text


def learnt(found: Passing, count: int = 8) -> list[HtmlResponse]:
    """Pages with one menu, all of them learnt; the contents of the first two have a common link."""
    menu = [f"/{i}" for i in range(count)]
    own = "<p>More of name{} than is said here is said on <a href=/own>another page</a></p>"
    pages = [
        response(page(f"name{i}", menu, more=own.format(i) if i < 2 else ""), f"http://h/{i}") for i in range(count)
    ]
    state = session_of(found.crawler)
    for each in pages:
        state.sites.learn(state.page(each))
    return pages


def test_links_of_a_template_lose_priority():
    with Passing(PAGELETS_PRIORITY=True) as passing:
        first, second, *_ = learnt(passing)
        links = ["http://h/5", "http://h/own", "http://h/new"]
        assert passing.priorities(first, *links, priority=3) == [-7, 3, 3]
        assert passing.priorities(second, *links, priority=3) == [-7, 3, 3]
        assert passing.stat("priority/template") == 2
        assert passing.middleware.topic is None
        start = passing.middleware.get_processed_request(Request("http://h/"), None)
        assert (start.priority, start.meta) == (0, {})


def test_template_links_do_not_inherit_the_relevance_of_their_page():
    with Passing(PAGELETS_TOPIC="nameaword1 nameaword2 nameaword3") as passing:
        first, second, *others = learnt(passing)
        imprint, own, form = passing(first, *map(Request, ("http://h/5", "http://h/own", "http://h/search")))
        assert own.priority > imprint.priority == 0
        assert own.meta == form.meta
        assert own.meta["_pagelets_inherited"] > imprint.meta["_pagelets_inherited"] == 0
        # So the page behind it is no more relevant than one that was reached by chance.
        [behind] = passing.priorities(response(others[3].text, others[3].url, **imprint.meta), "http://h/search")
        [after] = passing.priorities(response(second.text, second.url, **own.meta), "http://h/own")
        assert after > behind == 0


def test_it_is_off_without_a_topic():
    found: list[dict[str, Any]] = [{}, {"PAGELETS_TOPIC": "  "}, {"PAGELETS_TOPIC_PAGES": []}]
    for settings in found:
        with pytest.raises(NotConfigured):
            PriorityMiddleware.from_crawler(get_crawler(settings_dict=settings))


@pytest.mark.parametrize("topic", ["the and of", "?!", "-- a"])
def test_a_topic_of_stop_words_is_reported(topic, caplog):
    with Passing(PAGELETS_TOPIC=topic) as passing:
        assert passing.priorities(response(), "http://h/fire", "http://h/fish") == [0, 0]
        assert passing.stat("priority/no_topic") == 1
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        "the crawl has no topic (no word tells what it is about): set PAGELETS_TOPIC to other words"
    ]


def test_a_topic_of_ten_thousand_words():
    with Passing(PAGELETS_TOPIC=" ".join(["volcano", *(f"word{i}" for i in range(10_000))])) as passing:
        fire, fish = passing.priorities(response(), "http://h/fire", "http://h/fish")
        assert fire >= fish >= 0


def test_unusable_examples_are_reported(tmp_path, caplog):
    good, empty = tmp_path / "good.html", tmp_path / "empty.html"
    good.write_text("<p>volcano and glacier, a volcano below the glacier</p>", encoding="utf-8")
    empty.touch()
    with Passing(PAGELETS_TOPIC_PAGES=[str(empty), str(tmp_path / "missing.html"), str(good)]) as passing:
        fire, fish = passing.priorities(response(), "http://h/fire", "http://h/fish")
        assert fire > fish
        assert passing.stat("priority/examples_failed") == 2
    assert "empty.html has no words" in caplog.text
    with Passing(PAGELETS_TOPIC_PAGES=str(empty)) as passing:
        assert passing.middleware.topic is None
        assert passing.stat("priority/no_topic") == 1


def test_a_topic_is_one_string():
    with pytest.raises(ConfigError, match="PAGELETS_TOPIC is 5: give words"):
        Config.from_settings(Settings({"PAGELETS_TOPIC": 5}))


def test_word_counts_are_kept_for_the_next_run_of_a_job(tmp_path, caplog):
    job = {"JOBDIR": str(tmp_path), **TOPIC}
    with Passing(**job) as passing:
        passing.priorities(response(), "http://h/fire")
        assert passing.middleware.topic is not None
        assert passing.middleware.topic.pages == 1
    with Passing(**job) as passing:
        assert passing.middleware.topic is not None
        assert passing.middleware.topic.pages == 1
    (tmp_path / "pagelets-topic.npz").write_bytes(b"damaged")
    with Passing(**job) as passing:
        assert passing.middleware.topic is not None
        assert passing.middleware.topic.pages == 0
        assert passing.stat("store/failed") == 1
    assert "word counts start from zero" in caplog.text


@pytest.mark.parametrize(
    ("settings", "queue"),
    [
        ({}, "scrapy.pqueues.DownloaderAwarePriorityQueue"),
        ({"PAGELETS_PRIORITY": True}, "scrapy.pqueues.DownloaderAwarePriorityQueue"),
        (TOPIC, "scrapy.pqueues.ScrapyPriorityQueue"),
        ({**TOPIC, "SCHEDULER_PRIORITY_QUEUE": "mine"}, "mine"),
    ],
)
def test_priorities_count_across_sites_with_a_topic(settings, queue):
    found = Settings(settings)
    Addon().update_settings(found)
    assert found["SCHEDULER_PRIORITY_QUEUE"] == queue


class Queued:
    """Scrapy's memory queue with requests that can be raised."""

    def __init__(self, *requests: Request) -> None:
        self.crawler = get_crawler()
        self.queue = RaisingQueue.from_crawler(self.crawler, FifoMemoryQueue, "")
        self.waiting = waiting_of(self.crawler)
        for request in requests:
            self.waiting.add(request)
            self.queue.push(request)

    def raise_(self, url: str, priority: int) -> bool:
        copy = self.waiting.raised(key(url), priority)
        if copy is not None:
            assert copy.dont_filter
            self.queue.push(copy)
        return copy is not None

    def pop(self) -> str:
        request = self.queue.pop()
        return request.url[-1] if request is not None else ""


def test_a_raised_request_overtakes_others_and_is_served_once():
    queued = Queued(*(Request(f"http://h/{name}") for name in "abc"))
    assert queued.raise_("http://h/c", 8)
    assert not queued.raise_("http://h/c", 9)  # only once
    assert not queued.raise_("http://h/b", 0)  # not higher
    assert not queued.raise_("http://h/d", 8)  # does not wait
    assert [queued.pop() for _ in range(4)] == ["c", "a", "b", ""]


def test_the_priority_of_the_spider_is_kept_when_a_request_is_raised():
    waiting = Queued().waiting
    waiting.add(Request("http://h/a", priority=-996), 4)
    copy = waiting.raised(key("http://h/a"), 20)
    assert copy is not None
    assert copy.priority == -980


def test_a_request_that_has_left_the_queue_is_not_raised():
    queued = Queued(Request("http://h/a"), Request("http://h/b"))
    assert queued.pop() == "a"
    assert not queued.raise_("http://h/a", 8)
    queued.waiting.add(Request("http://h/a"))  # a second link to it
    assert not queued.raise_("http://h/a", 8)


def test_a_request_that_the_dupefilter_drops_is_not_raised():
    for dropped, is_raised in ((Request("http://h/a"), True), (None, False)):
        queued, request = Queued(), Request("http://h/a")
        queued.waiting.add(request)
        queued.crawler.signals.send_catch_log(signals.request_dropped, request=dropped or request, spider=None)
        assert queued.raise_("http://h/a", 8) is is_raised


def test_the_hubs_of_many_sites_are_not_all_remembered(passing):
    middleware = passing.middleware
    middleware._distillers.limit = 2
    first = middleware._distiller_of("a.example")
    middleware._distiller_of("b.example")
    assert middleware._distiller_of("a.example") is first
    middleware._distiller_of("c.example")
    assert [*middleware._distillers] == ["a.example", "c.example"]


def test_an_original_that_leaves_the_queue_first_is_served_in_the_place_of_its_copy():
    queued = Queued(Request("http://h/a"), Request("http://h/b"))
    copy = queued.waiting.raised(key("http://h/b"), 8)
    assert copy is not None
    assert [queued.pop(), queued.pop()] == ["a", "b"]
    queued.queue.push(copy)
    assert queued.pop() == ""


def test_repetitions_and_other_requests_for_a_raised_page_are_served():
    queued = Queued(Request("http://h/a"), Request("http://h/b"))
    assert queued.raise_("http://h/b", 8)
    queued.queue.push(FormRequest("http://h/b", formdata={"q": "x"}))
    assert [queued.pop() for _ in range(4)] == ["b", "a", "b", ""]
    queued.queue.push(Request("http://h/b", dont_filter=True))
    assert queued.pop() == "b"


def test_a_retry_of_a_raised_request_is_served():
    """Also before its original leaves the queue, which is dropped."""
    queued = Queued(Request("http://h/a", priority=5), Request("http://h/b"))
    copy = queued.waiting.raised(key("http://h/b"), 8)
    assert copy is not None
    queued.queue.push(copy)
    served = queued.queue.pop()
    assert served is not None
    for priority in (7, -1):
        queued.queue.push(served.replace(priority=priority, dont_filter=True, meta={**served.meta, "retry_times": 1}))
    assert [queued.pop() for _ in range(4)] == ["b", "a", "b", ""]


def hub(count: int = 24) -> tuple[dict[str, Any], list[str]]:
    """A page with two lists that do not say what they are about, and with two pages of the list about the topic."""
    links = "".join(
        "<p>Whoever wants to know more of what people have said at all times may read, on a long evening, "
        f"<a href={path}>this</a> as well."
        for path in ("/x", "/y", "/y0", "/y1")
    )
    routes = {"/": answer(f"<p>{words('start')}{links}")}
    lists = {f"/{name}": [f"/{name}{i}" for i in range(count)] for name in "xy"}
    for (list_, entries_), about in zip(lists.items(), ABOUT.values(), strict=True):
        items = "".join(f"<li>{words(path, 8)} <a href={path}>{words(f'{path}.', 2)}</a>" for path in entries_)
        routes[list_] = answer(f"<p>{words(list_)}</p><ul>{items}</ul>")
        for path in entries_:
            said = " ".join(f"{about} {word}" for word in words(path, 10).split())
            routes[path] = answer(f"<p>{said}</p><p><a href=/>back</a></p>")
    return routes, lists["/y"]


@pytest.mark.parametrize("raising", [True, False])
def test_links_of_a_hub_that_has_led_to_the_topic_are_raised(tmp_path, raising):
    routes, about = hub()
    queue = {"SCHEDULER_PRIORITY_QUEUE": "scrapy_pagelets.session.raising.RaisingQueue"} if raising else {}
    order = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
    with SiteServer(routes=routes) as server:
        settings = {**ONE_BY_ONE, **TOPIC, **order, **queue, "DEPTH_PRIORITY": 0, "PAGELETS_PROBE": 0}
        found = run_spider(tmp_path, FOLLOW, base=server.url(""), settings=settings)
        asked = pages_asked_for(server.hits)
    assert sorted(asked) == sorted(routes)  # none twice
    last = asked.index(about[-1]) + 1
    assert (last < 0.8 * len(asked)) is raising
    assert bool(found.stat("priority/raised")) is raising


#: Two sections; the second one is about the topic.
ABOUT = {"cod": "cod trawler", "volcano": "volcano glacier"}
SECTIONS = {section: [f"/{section}{i}" for i in range(8)] for section in ABOUT}
FOLLOW = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        yield Request(self.base)
    def parse(self, response):
        yield {"url": response.url, "priority": response.request.priority}
        yield from response.follow_all(css="a")
"""
# Links of a page are scored in a thread. Without a delay, a busy machine fetches many pages meanwhile.
ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "PAGELETS_PROBE": 0, "DEPTH_PRIORITY": 1, "DOWNLOAD_DELAY": 0.1}


def sections() -> dict[str, Any]:
    """A start page that links to two sections, each of which links to its eight pages."""

    def text(name: str, section: str) -> str:
        said = " ".join(f"{ABOUT[section]} {word}" for word in words(name, 10).split())
        return f"<h1>{letters(name)}</h1><p>{said}</p>"

    links = "".join(
        f"<p>This is what people have said of a {name} at all times, as far as it was written down, in the words of "
        f"those who were there: <a href=/{name}>{name}</a>."
        for name in SECTIONS
    )
    start = f"<p>{words('start')}{links}"
    routes = {"/": answer(start)}
    for section, paths in SECTIONS.items():
        items = "".join(
            f"<p>{ABOUT[section]} was what they talked of on that day, and nothing else, until it was late: "
            f"<a href={path}>read on</a> if you like."
            for path in paths
        )
        routes[f"/{section}"] = answer(f"{text(section, section)}{items}")
        routes |= {path: answer(text(path[1:], section)) for path in paths}
    return routes


def assert_focused(asked: list[str]) -> None:
    """Assert that pages of the topic were fetched first; a few others may precede them while pages are scored."""
    assert sorted(asked) == sorted(sections())
    assert asked[:2] == ["/", "/volcano"]
    last = max(asked.index(path) for path in SECTIONS["volcano"])
    assert sum(asked.index(path) < last for path in SECTIONS["cod"]) <= 4, asked


def test_a_crawl_fetches_pages_of_the_topic_first(tmp_path):
    with SiteServer(routes=sections()) as server:
        found = run_spider(tmp_path, FOLLOW, base=server.url(""), settings={**ONE_BY_ONE, **TOPIC})
        asked = pages_asked_for(server.hits)
    assert_focused(asked)
    assert found.stat("priority/pages") == 3  # the other pages have no links
    assert 0 < found.stat("priority/relevance") < 1
    assert found.log.count("scored the links of 3 pages") == 1
    assert all(line["text"] for line in found.lines)
    assert found.errors == found.warnings == []


def test_without_a_topic_the_middleware_is_disabled(tmp_path):
    with SiteServer(routes=sections()) as server:
        found = run_spider(tmp_path, FOLLOW, base=server.url(""), settings=ONE_BY_ONE)
    assert len(found.lines) == 19
    assert {line["priority"] for line in found.lines} == {0, -1, -2}
    assert "PriorityMiddleware" not in found.log
    assert not any(name.startswith("pagelets/priority") for name in found.stats)


def articles(count: int = 6) -> tuple[dict[str, Any], list[str], list[str]]:
    """A page that links to articles, with the same menu below each page; the paths of the menu and of the articles."""
    menu, own = [f"/menu{i}" for i in range(count)], [f"/article{i}" for i in range(count)]
    entries = "".join(f"<li><a href={path}>{path[1:]}</a></li>" for path in menu)
    footer = f"<footer><nav><ul>{entries}</ul></nav></footer>"
    said = {path: f"<p>{words(path, 40)}</p>" for path in ["/", *own, *menu]}
    said["/"] += "".join(f"<p>{words(path, 20)} <a href={path}>read on</a> {words(path, 15)}</p>" for path in own)
    return (
        {path: answer(f"<main><h1>{letters(path)}</h1>{text}</main>{footer}") for path, text in said.items()},
        menu,
        own,
    )


@pytest.mark.parametrize("priority", [False, True])
def test_a_server_is_asked_for_links_of_content_before_those_of_the_template(tmp_path, priority):
    """Without the setting, Scrapy takes the last links of a page first, which are those of the menu."""
    routes, menu, own = articles()
    with SiteServer(routes=routes) as server:
        settings = {**ONE_BY_ONE, "DEPTH_PRIORITY": 0, "PAGELETS_PRIORITY": priority}
        found = run_spider(tmp_path, FOLLOW, base=server.url(""), settings=settings)
        asked = pages_asked_for(server.hits)
    assert sorted(asked) == sorted(routes)
    last = max(map(asked.index, own))
    assert (last < min(map(asked.index, menu))) is priority
    assert (last > max(map(asked.index, menu))) is not priority
    assert bool(found.stat("priority/template")) is priority


def test_a_continued_job_keeps_its_priorities(tmp_path):
    settings = {**ONE_BY_ONE, **TOPIC, "JOBDIR": str(tmp_path / "job")}
    with SiteServer(routes=sections()) as server:
        run_spider(tmp_path, FOLLOW, base=server.url(""), settings={**settings, "CLOSESPIDER_PAGECOUNT": 4})
        before = len(server.hits)
        found = run_spider(tmp_path, FOLLOW, base=server.url(""), settings=settings)
        asked = pages_asked_for(server.hits)
    assert 4 <= before < 9
    assert_focused(asked)
    assert found.errors == []


def test_pages_loaded_for_a_template_are_handed_over_with_priorities_too(tmp_path):
    names = ["home", *"abcdef"]
    with SiteServer(routes=menu_site(*names)) as server:
        found = run_spider(tmp_path, FOLLOW, base=server.url(""), settings={"PAGELETS_TOPIC": "slogan cword1"})
    assert len(found.lines) == len(names)
    assert sorted(pages_asked_for(server.hits)) == sorted(server.routes)
    assert found.stat("probe/loaded") == found.stat("probe/handed_over") == 3


def test_spiders_with_rules_and_the_spider_site(tmp_path):
    rules = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
class Spider(CrawlSpider):
    name = "stranger"
    rules = [Rule(LinkExtractor(), callback="parse_page", follow=True)]
    async def start(self):
        yield Request(self.base)
    def parse_page(self, response):
        yield {"url": response.url}
"""
    with SiteServer(routes=sections()) as server:
        found = run_spider(tmp_path, rules, base=server.url(""), settings={**ONE_BY_ONE, **TOPIC})
        assert_focused(pages_asked_for(server.hits))
        assert len(found.lines) == 18
        server.hits.clear()
        (tmp_path / "site").mkdir()
        found = crawl(tmp_path / "site", "site", url=server.url(""), settings={**ONE_BY_ONE, **TOPIC})
        assert_focused(pages_asked_for(server.hits))
        assert len(found.lines) == 19


def test_examples_of_a_real_site(tmp_path):
    """With example pages, start requests go first, and links inherit the relevance of their pages."""
    files = [str(path) for path in sorted((SITE / "news").glob("*.html"))[:2]]
    assert all(Path(file).is_file() for file in files)
    with SiteServer(SITE) as server:
        spider = FOLLOW.replace('    name = "stranger"', '    name = "stranger"\n    allowed_domains = ["127.0.0.1"]')
        settings = {**ONE_BY_ONE, "PAGELETS_TOPIC_PAGES": ",".join(files)}
        found = run_spider(tmp_path, spider, base=server.url("index.html"), settings=settings)
    priority = {line["url"].split("/", 3)[3]: line["priority"] for line in found.lines}
    assert priority["index.html"] == 100
    assert len(priority) == len(found.lines)
    assert found.stat("priority/requests") > len(found.lines) / 2
