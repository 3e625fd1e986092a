"""Crawls with a browser: what is rendered, what is fetched, and what happens without one or with a bad page."""

import os
import subprocess
import sys
from typing import Any

import pytest
from warcio.warcwriter import WARCWriter

from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.papers.methods import METHODS
from scrapy_pagelets.rendering.browser import launch_options
from scrapy_pagelets.session.config import Config
from tests.browsing import LEAKS
from tests.crawl.test_security import REBINDING
from tests.crawling import ROOT, answer, crawl, menu_site, pages_asked_for, run_spider
from tests.server import PacketServer, Reply, SiteServer, redirect
from tests.unit.test_archives import response

STYLED = """<html><head><title>{name}</title><link rel=stylesheet href=/style.css></head><body>
<div class=menu>{menu}</div><p class=secret>hidden by the style sheet</p><p>{name} content</p><img src=/picture.png>
<script>document.body.append('added by a script')</script><script src=/script.js></script></body></html>"""
RENDER = {"PAGELETS_RENDER": 1, "PAGELETS_PROBE": 0, "PAGELETS_EXPORT": "all"}
#: Tells of each page whether it was rendered, and of each leaf whether it is seen.
SPIDER = """
from scrapy_pagelets.session.crawl_session import session_of
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        for path in self.paths.split():
            path, _, meta = path.partition("?")
            yield Request(self.base + path, meta={"pagelets_render": meta == "yes"} if meta else {})
    def parse(self, response):
        page = session_of(self.crawler).page(response)
        seen = page.layout is not None and page.layout.visible[page.nodes.leaves].tolist()
        yield {"url": response.url, "strings": page.nodes.strings, "seen": seen, "body": response.text}
"""


def styled_site(*names):
    menu = "".join(f"<a href=/{name}>{name}</a> " for name in names)
    routes = {f"/{name}": answer(STYLED.format(name=name, menu=menu)) for name in names}
    routes["/style.css"] = lambda path: Reply(200, {"Content-Type": "text/css"}, b".secret{display:none}")
    routes["/script.js"] = lambda path: Reply(200, {"Content-Type": "text/javascript"}, b"document.body.append('too')")
    routes["/robots.txt"] = lambda path: Reply(404)
    return routes


def by_name(found):
    return {line["url"].rpartition("/")[2]: line for line in found.lines}


def test_pages_are_rendered_and_fetched_once(tmp_path):
    with SiteServer(routes=styled_site("a", "b")) as server:
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a b", settings=RENDER)
        assert sorted(path for path in server.hits if path in ("/a", "/b")) == ["/a", "/b"]
        assert {"/style.css", "/script.js", "/picture.png"} <= set(server.hits)
        agent = server.headers["/a"]["User-Agent"]
        assert {name.lower(): value for name, value in server.headers["/style.css"].items()}["user-agent"] == agent
    for name, line in by_name(found).items():
        assert line["strings"] == [
            "a", "b", "hidden by the style sheet", f"{name} content", "added by a script", "too",
        ]  # fmt: skip
        assert line["seen"] == [True, True, False, True, True, True]
        assert line["body"].endswith("</html>")
        assert any("added by a script" in pagelet["text"] for pagelet in line["pagelets"])
    assert found.stat("render/pages") == 2
    assert found.stat("render/browsers") == 1
    assert found.log.count("without its sandbox") == (os.geteuid() == 0)
    assert found.errors == found.warnings == []


def test_what_pages_share_is_fetched_once(tmp_path):
    def secret(path):
        return Reply(200, {"Content-Type": "text/javascript", "Cache-Control": "no-store"}, b"")

    with SiteServer(routes=styled_site("a", "b", "c") | {"/script.js": secret}) as server:
        settings = RENDER | {"CONCURRENT_REQUESTS": 1}
        found = run_spider(tmp_path, SPIDER, base=f"http://localhost:{server.port}/", paths="a b c", settings=settings)
        assert server.hits.count("/style.css") == 1
        assert server.hits.count("/script.js") == 3  # must not be kept
    assert [line["seen"] for line in found.lines] == [[True, True, True, False, True, True]] * 3


def test_the_request_decides_which_pages_are_rendered(tmp_path):
    with SiteServer(routes=styled_site("a", "b", "c")) as server:
        on = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a b?no", settings=RENDER)
    assert {name: bool(line["seen"]) for name, line in by_name(on).items()} == {"a": True, "b": False}
    (tmp_path / "feed.jsonl").unlink()
    with SiteServer(routes=styled_site("a", "b", "c")) as server:
        settings = RENDER | {"PAGELETS_RENDER": 0, "PAGELETS_RENDER_SCRIPTS": 0}
        off = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a b?yes", settings=settings)
        assert "/script.js" not in server.hits
    assert {name: bool(line["seen"]) for name, line in by_name(off).items()} == {"a": False, "b": True}
    assert by_name(off)["b"]["strings"][-1] == "b content"


def test_pages_loaded_for_a_template_and_held_back_are_rendered_once(tmp_path):
    routes = menu_site("home", *"abcdef", more=lambda name: "<script>document.write('<p>written</p>')</script>")
    with SiteServer(routes=routes) as server:
        settings = {"PAGELETS_RENDER": 1, "PAGELETS_EXPORT": "all"}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        assert sorted(pages_asked_for(server.hits)) == ["/", *(f"/{letter}" for letter in "abcdef")]
    assert len(found.lines) == found.stat("render/pages") == 7
    assert found.stat("probe/handed_over") == 3
    for line in found.lines:
        assert "slogan" not in line["text"]
        assert any("written" in pagelet["text"] for pagelet in line["pagelets"])
    assert found.errors == []


@pytest.mark.parametrize("kind", ["warc", "folder", "files"])
def test_archived_pages_are_rendered_with_what_the_archive_has(tmp_path, kind):
    with SiteServer() as server, PacketServer() as outside:  # would record every request
        site = styled_site("a.html", "b.html")
        site["/moved.css"] = lambda path: Reply(301, {"Location": "/style.css"})
        leaks = '<link rel=preconnect href="{0}"><link rel=prefetch href="{0}x"><script>fetch("{0}y");'
        leaks += 'new WebSocket("{1}")</script>'
        bodies = {name: bytes(route(name)[2]) for name, route in site.items()}
        extra = leaks.format(server.url(""), server.url("").replace("http", "ws")) + "<iframe src=/b.html></iframe>"
        bodies["/a.html"] = bodies["/a.html"].replace(b"/style.css", b"moved.css" if kind == "warc" else b"style.css")
        bodies["/a.html"] += extra.encode() + LEAKS.format(at=outside.address).encode()
        path = tmp_path / "archive"
        arguments: dict[str, Any] = {}
        if kind == "warc":
            path = tmp_path / "archive.warc.gz"
            write_archive(path, "http://example.com", bodies, site)
        else:
            path.mkdir()
            for name, body in bodies.items():
                # Nothing is served from the root of the file system.
                (path / name[1:]).write_bytes(body if kind == "folder" else body.replace(b"=/", b"="))
            arguments = {"base": "http://example.com/"} if kind == "folder" else {}
        found = crawl(tmp_path, "archive", path=path, settings=RENDER, **arguments)
        assert server.hits == outside.packets == []
    lines = by_name(found)
    assert sorted(lines) == ["a.html", "b.html"]
    text = "\n".join(pagelet["text"] for pagelet in lines["a.html"]["pagelets"])
    assert "added by a script" in text
    assert "too" in text
    assert "b.html content" in text  # of the frame
    assert found.stat("render/pages") == 2
    assert found.stats.get("downloader/request_count", 0) == 0
    assert found.errors == []


def write_archive(path, base, bodies, routes):
    with path.open("wb") as file:
        writer = WARCWriter(file)
        for name, body in bodies.items():
            status, headers, _, _ = routes[name](name)
            response(writer, base + name, body, list(headers.items()), f"{status} X")


WRITTEN = """<html><body><h1>{0}</h1><p>The {0} of this page stands on no other page, and {0} again.</p><script>
const menu = document.createElement("div"); document.body.append(menu);
for (const name of "alpha beta gamma delta epsilon zeta".split(" "))
  menu.insertAdjacentHTML("beforeend", `<div><a href=/${{name}}>written ${{name}}</a></div>`);
</script></body></html>"""
NAMES = "anteater buffalo cormorant dromedary elephant falcon gazelle".split()


def test_archived_pages_are_learnt_as_they_are_shown(tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.html").write_text(WRITTEN.format(name))
    settings = {"PAGELETS_RENDER": 1, "PAGELETS_EXPORT": "all"}
    found = crawl(tmp_path, "archive", path=folder, base="http://example.com/", settings=settings)
    assert sorted(by_name(found)) == [f"{name}.html" for name in NAMES]
    assert found.stat("render/pages") == len(NAMES)  # once each
    for line in found.lines:
        assert line["template"]["pages"] == len(NAMES)
        assert "stands on no other page" in line["text"]
        [menu] = [p for p in line["pagelets"] if "written gamma" in p["text"]]
        assert menu["role"] in ("navigation", "contents")
        assert menu["templateness"] > 0.9  # the pages as received lack it, so by the page alone it is 0.67
    assert found.errors == found.warnings == []


def test_an_archived_page_that_breaks_the_browser_is_rendered_once(tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "breaks.html").write_text(BAD["breaks"][0])
    (folder / "good.html").write_text("<p>good")
    found = crawl(tmp_path, "archive", path=folder, base="http://example.com/", settings=RENDER)
    assert {line["url"]: line["text"] for line in found.lines} == {
        "http://example.com/breaks.html": "breaks",
        "http://example.com/good.html": "good",
    }
    assert (found.stat("render/pages"), found.stat("render/failed/failed")) == (1, 1)
    assert found.errors == []


def test_nothing_outside_of_a_folder_is_given_out(tmp_path):
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.css").write_text("secret")
    (folder / "own.css").write_text("own")
    (folder / "style.css?v=1").write_text("versioned")
    (folder / "sub" / "index.html").write_text("<p>index")
    os.symlink(tmp_path / "secret.css", folder / "link.css")
    resources = Resources([str(folder)], "http://example.com/")
    assert resources.get("http://example.com/own.css?x=2#y") == ("text/css", b"own")
    assert resources.get("http://example.com/style.css?v=1") == ("text/css", b"versioned")
    assert resources.get("http://example.com/sub/") == ("text/html", b"<p>index")
    for path in ("../secret.css", "%2e%2e/secret.css", "link.css", "sub/../../secret.css", "none.css", "a%00b", "sub"):
        found = resources.get("http://example.com/" + path)
        assert found is None or b"secret" not in found[1]
    assert resources.get("http://other.com/own.css") is None
    files = Resources([str(folder)])
    assert files.get((folder / "own.css").as_uri()) == ("text/css", b"own")
    assert files.get((tmp_path / "secret.css").as_uri()) is None
    assert files.get("file:///etc/passwd") is None


BAD = {
    "hangs": ("<p>hangs<script>while (1);</script>", "slow"),
    "allocates": ("<p>allocates<script>let a = []; for (;;) a.push(new Array(1e6).fill(1.5))</script>", "crashed"),
    "breaks": ("<p>breaks<script>window.Map = 0</script>", "failed"),
}


# On a busy machine any page may be slow. So the one that is bound to be has a crawl of its own, the others have time.
@pytest.mark.parametrize(("bad", "timeout"), [(["hangs"], 5), (["allocates", "breaks"], 150)])
def test_pages_that_cannot_be_rendered_are_cleaned_without_layout(tmp_path, bad, timeout):
    with SiteServer(routes={f"/{name}": answer(BAD[name][0]) for name in bad} | styled_site("good")) as server:
        settings = RENDER | {"PAGELETS_RENDER_TIMEOUT": timeout}
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths=" ".join([*bad, "good"]), settings=settings)
    lines = by_name(found)
    assert {name: line["strings"][0] for name, line in lines.items()} == {name: name for name in [*bad, "good"]}
    assert not any(lines[name]["seen"] for name in bad)
    for name in bad:
        assert found.stat(f"render/failed/{BAD[name][1]}") >= 1
    assert lines["good"]["seen"] or timeout == 5
    assert len([w for w in found.warnings if "is cleaned without layout" in w]) >= len(bad)
    assert found.errors == []


KILLER = (
    SPIDER
    + """
        if response.url.endswith("a"):
            import sys
            sys.path.append(self.root)
            from tests.browsing import kill_browser
            kill_browser()
            yield Request(self.base + "b")
"""
)


def test_the_crawl_goes_on_when_the_browser_dies(tmp_path):
    with SiteServer(routes=styled_site("a", "b")) as server:
        found = run_spider(tmp_path, KILLER, base=server.url(""), paths="a", root=ROOT, settings=RENDER)
    assert {name: bool(line["seen"]) for name, line in by_name(found).items()} == {"a": True, "b": True}
    assert found.stat("render/browsers") == 2
    assert found.errors == []


@pytest.fixture
def no_chromium(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))


SENTENCE = "rendering needs Chromium: install it with `apt-get install chromium` or `playwright install chromium`"


def test_a_missing_browser_calls_the_crawl_off(tmp_path, no_chromium):
    with SiteServer(routes=styled_site("a")) as server:
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a", settings=RENDER, code=1)
        assert server.hits == []
    assert found.errors == [f"PAGELETS_RENDER is on, but {SENTENCE}"]


def test_a_missing_browser_is_told_of_when_a_request_asks_for_it(tmp_path, no_chromium):
    settings = RENDER | {"PAGELETS_RENDER": 0}
    with SiteServer(routes=styled_site("a", "b")) as server:
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a?yes b?yes", settings=settings)
    assert {name: bool(line["seen"]) for name, line in by_name(found).items()} == {"a": False, "b": False}
    assert found.stat("render/failed/no_browser") == 2
    [warning] = found.warnings
    assert warning.endswith(SENTENCE)


#: A module that is None there cannot be imported.
WITHOUT_MAXFLOW = "import sys\nsys.modules['maxflow'] = None\n" + SPIDER
FLOWS = "gcuts-strict needs PyMaxflow for rendered pages: pip install 'scrapy-pagelets[render]'"


def test_a_segmenter_that_lacks_its_library_calls_the_crawl_off(tmp_path):
    settings = RENDER | {"PAGELETS_SEGMENTER": "gcuts-strict"}
    with SiteServer(routes=styled_site("a")) as server:
        found = run_spider(tmp_path, WITHOUT_MAXFLOW, base=server.url(""), paths="a", settings=settings, code=1)
        assert server.hits == []
    assert found.errors == [f"PAGELETS_RENDER is on, but {FLOWS}"]


def test_a_segmenter_that_lacks_its_library_cuts_the_page_as_received(tmp_path):
    settings = RENDER | {"PAGELETS_RENDER": 0, "PAGELETS_SEGMENTER": "gcuts-strict"}
    with SiteServer(routes=styled_site("a", "b")) as server:
        found = run_spider(tmp_path, WITHOUT_MAXFLOW, base=server.url(""), paths="a?yes b", settings=settings)
    assert {name: bool(line["seen"]) for name, line in by_name(found).items()} == {"a": False, "b": False}
    assert all(line["pagelets"] for line in found.lines)
    assert found.stat("render/failed/no_browser") == 1
    assert found.errors == []
    [warning] = found.warnings
    assert warning.endswith(FLOWS)


@pytest.mark.parametrize("segmenter", [name for name, method in METHODS.items() if method.needs_maxflow])
def test_what_a_segmenter_needs_is_asked_for_only_where_it_is_used(monkeypatch, segmenter):
    assert Config(render=True, segmenter=segmenter).segmenter == segmenter
    monkeypatch.setitem(sys.modules, "maxflow", None)
    with pytest.raises(ConfigError, match=rf"PAGELETS_RENDER is on, but {segmenter} needs PyMaxflow"):
        Config(render=True, segmenter=segmenter)
    assert not Config(segmenter=segmenter).render
    assert Config(render=True, segmenter="gcuts").render


def test_another_reactor_calls_the_crawl_off(tmp_path):
    settings = RENDER | {"TWISTED_REACTOR": "twisted.internet.epollreactor.EPollReactor"}
    with SiteServer(routes=styled_site("a")) as server:
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a", settings=settings, code=1, traceback=True)
        assert server.hits == []
    assert "rendering needs the asyncio reactor" in found.errors[0]


def test_the_browser_is_that_of_scrapy_playwrights_settings(tmp_path):
    options = {"executable_path": "/nowhere/chromium"}
    with SiteServer(routes=styled_site("a")) as server:
        settings = RENDER | {"PLAYWRIGHT_LAUNCH_OPTIONS": options}
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a", settings=settings)
    assert by_name(found)["a"]["seen"] is False
    assert found.stat("render/failed/failed") == 1
    assert "/nowhere/chromium" in found.warnings[0]


def test_the_options_of_a_project_do_not_give_the_browser_a_network():
    ours = launch_options()
    own = {"executable_path": ours["executable_path"], "args": ["--lang=de"], "slow_mo": 1}
    merged = launch_options(own)
    assert merged == ours | own | {"args": [*ours["args"], "--lang=de"]}
    assert launch_options({"channel": "chrome"}) == {"args": ours["args"], "channel": "chrome"}
    assert launch_options({"chromium_sandbox": True})["chromium_sandbox"] is True


AS_NOBODY = """
import os, subprocess
from scrapy_pagelets.rendering.browser import launch_options
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
print(launch_options()["chromium_sandbox"], not subprocess.call(["unshare", "--user", "--map-root-user", "true"]))
"""


def test_chromium_has_its_sandbox_wherever_it_can():
    done = subprocess.run([sys.executable, "-c", AS_NOBODY], capture_output=True, text=True, check=True)
    has, can = done.stdout.split()
    assert has == can


@pytest.mark.parametrize("seconds", [0, -1, 4000])
def test_a_time_that_cannot_be_used_is_refused(seconds):
    with pytest.raises(ConfigError, match=r"PAGELETS_RENDER_TIMEOUT is .*: give seconds, from 1 to 3600"):
        Config(render_timeout=seconds)


def test_a_rendered_page_loads_nothing_from_private_addresses(tmp_path):
    """Not by a redirect of its own host, a frame, a script or a socket either; resources of its own host are loaded."""
    with SiteServer(host="127.0.0.2") as internal, SiteServer(routes=styled_site()) as server, PacketServer() as port:
        inside = internal.url("x")
        internal.routes["*"] = answer("<p>the text of an internal service</p>")
        body = f"""<html><body><p>content</p><link rel=stylesheet href=/style.css><img src="{inside}">
        <iframe src="{inside}"></iframe><iframe src="/there"></iframe><link rel=stylesheet href="{inside}">
        <iframe src="http://localhost:{internal.port}/"></iframe><video src="{inside}"></video>
        <script src="{inside}"></script><script>fetch("{inside}", {{mode: "no-cors"}}).catch(() => 0);
        new WebSocket("ws://127.0.0.2:{internal.port}/x"); navigator.sendBeacon("{inside}");</script>
        {LEAKS.format(at=port.address)}</body></html>"""
        server.routes |= {"/a": answer(body), "/there": lambda path: redirect(inside)}
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a", settings=RENDER)
        assert {"/a", "/style.css", "/there"} <= set(server.hits)
    assert internal.hits == port.packets == []
    assert found.stat("render/pages") == 1
    assert found.stat("render/private") >= 4
    assert "internal service" not in " ".join(found.lines[0]["strings"])


def test_a_rendered_page_loads_nothing_from_a_name_that_leads_to_a_private_address_later(tmp_path):
    with SiteServer() as internal, SiteServer() as server:
        server.routes["/a"] = answer(f"<p>content<img src='http://localhost:{internal.port}/x'>")
        settings = RENDER | {"DNSCACHE_ENABLED": 0}
        found = run_spider(tmp_path, REBINDING + SPIDER, base=server.url(""), paths="a", settings=settings)
    assert internal.hits == []
    assert (found.stat("render/pages"), found.errors) == (1, [])


def test_a_rendered_page_does_not_load_a_huge_resource(tmp_path):
    """The size of a style sheet is declared, a comment of 20 MB comes before its rule."""
    style = b"/*" + b"x" * (20 << 20) + b"*/.secret{display:none}"
    routes = styled_site("a") | {"/style.css": lambda path: Reply(200, {"Content-Type": "text/css"}, style)}
    with SiteServer(routes=routes) as server:
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="a", settings=RENDER)
        assert "/style.css" in server.hits
    assert found.stat("render/pages") == 1
    assert found.lines[0]["seen"] == [True] * 5


def test_a_page_that_was_rendered_for_a_template_is_rendered_once(tmp_path):
    source = """
    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base)
        def parse(self, response):
            yield {"url": response.url}
            yield from response.follow_all(css="a", callback=self.parse_page)
        def parse_page(self, response):
            yield {"url": response.url}
    """
    settings = {"PAGELETS_RENDER": 1, "PAGELETS_PROBE": 3}
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        found = run_spider(tmp_path, source, base=server.url(""), settings=settings)
    assert found.stat("probe/handed_over") == 2
    assert found.stat("render/pages") == len(found.lines) == 5


def test_only_shells_are_rendered(tmp_path):
    shell = (
        "<title>{0}</title><div id=app></div><script>document.getElementById('app').append('{0} was added')</script>"
    )
    routes = styled_site("page") | {"/shell": answer(shell.format("shell"))}
    routes["/page"] = answer(STYLED.format(name="page " * 60, menu=""))
    with SiteServer(routes=routes) as server:
        settings = RENDER | {"PAGELETS_RENDER": "auto"}
        found = run_spider(tmp_path, SPIDER, base=server.url(""), paths="page shell", settings=settings)
    lines = by_name(found)
    assert lines["shell"]["strings"] == ["shell was added"]
    assert "added by a script" not in lines["page"]["strings"]
    assert found.stat("render/pages") == 1
    assert found.stat("pages/shells") == 0
    assert found.errors == found.warnings == []
