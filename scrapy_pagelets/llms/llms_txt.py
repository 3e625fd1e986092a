"""Write a feed as ``llms.txt`` and ``llms-full.txt`` (https://llmstxt.org), one pair of files for each host."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from textwrap import shorten
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from scrapy_pagelets.base.characters import lazily, quoted, without_controls, words
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.document.blocks import Run, Style
from scrapy_pagelets.document.markdown import write_inline
from scrapy_pagelets.feed.feed_reader import Feed, Line, content_text
from scrapy_pagelets.page.urls import host_of, key, normalise

#: The fields that are read.
COLUMNS: Final = ("title", "headline", "description", "markdown", "text", "pagelets", "near_duplicate_of")
NEEDED: Final = ("markdown", "text", "pagelets")
LIST, FULL = "llms.txt", "llms-full.txt"
_LONGEST: Final = 200  # characters of a description, and of a name
_SHORTEST: Final = 8  # words of a paragraph that says what a page is about; shorter ones are headings and labels
_PAGES: Final = "Pages"  # the section of pages that are in no folder, or alone in theirs
_NO_HOST: Final = "no-host"  # the folder of pages whose URL has no host that can be read
_HEADING: Final = lazily(r"#[ \t]+(.*)")


@dataclass(frozen=True)
class _Entry:
    url: str
    name: str
    title: str
    about: str

    @property
    def folders(self) -> list[str]:
        return urlsplit(self.url).path.split("/")[1:-1]

    @property
    def line(self) -> str:
        link = write_inline([Run(self.name, Style(href=self.url))], one_line=True)
        return f"- {link}" + (f": {_inline(self.about)}" if self.about else "")


@dataclass
class Outline:
    """The pages of a feed that are written, by host, and how many are not."""

    hosts: dict[str, dict[int, _Entry]] = field(default_factory=dict)  # host -> number of the line -> the page
    #: empty, copies, earlier: pages without content, near-duplicates, and lines with a later one of the same page
    empty: int = 0
    copies: int = 0
    earlier: int = 0
    without_markdown: int = 0  # pages of which the feed has the text only

    def notes(self) -> Iterator[str]:
        """Sentences about what is not written, or not as one might expect."""
        if self.without_markdown:
            advice = "crawl with -s PAGELETS_FORMATS=text,markdown"
            yield f"{counted(self.without_markdown, 'page')} without Markdown: the text is written; {advice}"
        for number, what in (
            (self.empty, "without content"),
            (self.copies, "with nearly the content of another page of the host"),
            (self.earlier, "that a later line has again"),
        ):
            if number:
                yield f"{counted(number, 'page')} {what}: left out"
        if len(self.hosts) > 1:
            yield f"{len(self.hosts)} hosts: the files of each are in a folder of its name"


def outline_of(feed: Feed) -> Outline:
    """Read a feed for the list of its pages. Raise FeedError if it is none, or no line of it can have content."""
    outline, places = Outline(), dict[int, tuple[str, int]]()
    for number, line in enumerate(feed):
        host = host_of(line["url"])
        if not _content(line).strip():
            outline.empty += 1
        elif (copied := line.get("near_duplicate_of")) is not None and host_of(copied) == host:
            outline.copies += 1
        else:
            page = key(line["url"])
            if page in places:
                outline.earlier += 1
                former, place = places[page]
                del outline.hosts[former][place]
            places[page] = host, number
            outline.hosts.setdefault(host, {})[number] = _entry(line)
            outline.without_markdown += line.get("markdown") is None
    outline.hosts = {host: pages for host, pages in outline.hosts.items() if pages}
    return outline


def write(feed: Feed, outline: Outline, folder: Path) -> list[Path]:
    """Write the files, each as a whole, and return the folders that have them; OSError if one cannot be written."""
    several = len(outline.hosts) > 1
    folders = {host: folder / (quote(host, safe=":[]") or _NO_HOST) if several else folder for host in outline.hosts}
    with ExitStack() as stack:
        files: dict[str, Path] = {}
        for host, pages in outline.hosts.items():
            folders[host].mkdir(parents=True, exist_ok=True)
            listed, files[host] = (stack.enter_context(whole_file(folders[host] / name)) for name in (LIST, FULL))
            listed.write_text(_list(host, list(pages.values())), encoding="utf-8", errors="replace")
            files[host].write_text("", encoding="utf-8")
        for number, line in enumerate(feed):
            host = host_of(line["url"])
            if (entry := outline.hosts.get(host, {}).get(number)) is not None:
                # Opened for each page: a feed may have more hosts than a process may have files.
                with files[host].open("a", encoding="utf-8", errors="replace") as file:
                    file.write(_page(line, entry))
    return list(folders.values())


def _entry(line: Line) -> _Entry:
    url = quoted(line["url"])
    names = (line.get("headline"), line.get("title"), unquote(url.partition("//")[2].partition("/")[2]), url)
    name = next(name for text in names if (name := _plain(text or "")))
    return _Entry(url, name, _plain(line.get("title") or ""), _plain(line.get("description") or _beginning(line, name)))


def _beginning(line: Line, name: str) -> str:
    """The first paragraph of a page that is not its name, "" if all of them are short."""
    paragraphs = re.split(r"\n\s*\n", content_text(line))
    return next((part for part in paragraphs if len(words(part)) >= _SHORTEST and _plain(part) != name), "")


def _plain(text: str) -> str:
    return shorten(without_controls(text), _LONGEST, placeholder=" ...")


def _inline(text: str) -> str:
    return write_inline([Run(text)], one_line=True)


def _content(line: Line) -> str:
    return str(line["markdown"]) if line.get("markdown") is not None else content_text(line)


def _page(line: Line, entry: _Entry) -> str:
    content = _content(line).strip()
    first, _, rest = content.partition("\n")
    heading = first if _HEADING.fullmatch(first) else f"# {_inline(entry.name)}"
    return f"{heading}\n\nSource: <{entry.url}>\n\n{(rest if heading == first else content).strip()}\n\n"


def _list(host: str, pages: list[_Entry]) -> str:
    """The list of the pages of a host: its name, what it is about, and sections by folder."""
    root = next((page for page in pages if urlsplit(normalise(page.url)).path == "/"), None)
    about = root.about if root and root.about else f"{counted(len(pages), 'page')} of {host}"
    lines = [f"# {_inline(root.title or root.name if root else host)}", "", f"> {_inline(about)}"]
    for name, section in _sections(pages):
        lines += ["", f"## {_inline(name)}", "", *(page.line for page in section)]
    return "\n".join(lines) + "\n"


def _sections(pages: list[_Entry]) -> Iterator[tuple[str, list[_Entry]]]:
    """The pages by the first folder that they do not all have in common; first those alone in theirs, or in none."""
    levels = zip(*(page.folders for page in pages), strict=False)
    depth = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    names = [page.folders[depth] if len(page.folders) > depth else "" for page in pages]
    count = Counter(names)
    sections: dict[str, list[_Entry]] = {"": []}
    for name, page in zip(names, pages, strict=True):
        sections.setdefault(name if count[name] > 1 else "", []).append(page)
    for name, section in sections.items():
        if section:
            yield _plain(re.sub(r"[-_+\s]+", " ", unquote(name)).strip().capitalize()) or _PAGES, section
