"""Grafts: the same texts placed in the pages of many sites, to see what is recognised in templates of every kind."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lxml.html
from lxml.etree import XPath
from lxml.html import HtmlElement

from scrapy_pagelets.base.characters import words

#: Words of a text, at least and at most.
SHORTEST, LONGEST = 40, 400
#: Share of the words that a copy loses, as in the twins.
LOST = 0.01


class Graft(NamedTuple):
    """A page of a site with the text of another one.

    Attributes
    ----------
    url : on a host that is named after the site
    text : number of the text
    site : name of the site whose template it has
    body : the page
    """

    url: str
    text: int
    site: str
    body: bytes


def article_texts(gold: Path, count: int) -> list[str]:
    """Some of the gold contents of a collection of articles, one paragraph on a line."""
    with gzip.open(gold, "rt", encoding="utf-8") as file:
        found = [line["content"] for line in map(json.loads, file) if line.get("type") == "article"]
    found = [text for text in dict.fromkeys(found) if SHORTEST <= len(words(text)) <= LONGEST]
    return random.Random(0).sample(found, count)


def grafts_of(folder: Path, site: dict[str, Any], texts: dict[int, str]) -> Iterator[Graft]:
    """Yield each text in a page of a site; no text if the gold content of the site is not in a container of its own.

    The pages take turns. What the gold content leaves out of the container (comments, links to the next page) stays.

    Parameters
    ----------
    folder : the pages of the site, with ``gold.jsonl.gz``
    site : its entry in ``sites.json``
    texts : by their numbers
    """
    with gzip.open(folder / "gold.jsonl.gz", "rt", encoding="utf-8") as file:
        paths = [json.loads(line)["path"] for line in file]
    paths = [path for path in paths if _container(_parse(folder / path), site) is not None]
    for turn, (number, text) in enumerate(texts.items() if paths else ()):
        path = paths[turn % len(paths)]
        body = _grafted(_parse(folder / path), site, _copy(text, f"{site['name']} {number}"))
        yield Graft(f"http://{site['name']}.grafts.example/{number}/{path}", number, site["name"], body)


def _parse(path: Path) -> HtmlElement:
    return lxml.html.document_fromstring(path.read_bytes(), parser=lxml.html.HTMLParser(encoding="utf-8"))


def _copy(text: str, seed: str) -> str:
    """A text without a hundredth of its words."""
    lost = random.Random(seed)
    return "\n".join(" ".join(w for w in line.split() if lost.random() >= LOST) for line in text.splitlines())


def _containers(page: HtmlElement, site: dict[str, Any]) -> list[HtmlElement]:
    path = site.get("content_xpath")
    return list(XPath(path)(page) if path else page.cssselect(site["content_css"]))


def _container(page: HtmlElement, site: dict[str, Any]) -> HtmlElement | None:
    """The largest of the elements that hold the content; None if that is the whole page."""
    found = [element for element in _containers(page, site) if element.tag != "body"]
    return max(found, key=lambda element: len(element.text_content()), default=None)


def _grafted(page: HtmlElement, site: dict[str, Any], text: str) -> bytes:
    container = _container(page, site)
    assert container is not None
    left_out = container.cssselect(site["exclude_css"]) if site["exclude_css"] else []
    kept = [element for element in left_out if not set(element.iterancestors()) & set(left_out)]
    for other in _containers(page, site):
        if other is not container and container not in other.iterancestors() and other not in container.iterancestors():
            other.drop_tree()
    everything = list(container.iter())
    middle = len(everything) / 2
    before = [element for element in kept if everything.index(element) < middle]
    for element in kept:
        element.tail = None
    for child in list(container):
        container.remove(child)
    container.text = None
    container.extend([*before, *_paragraphs(text), *(element for element in kept if element not in before)])
    return lxml.html.tostring(page, encoding="utf-8", doctype="<!DOCTYPE html>")


def _paragraphs(text: str) -> Iterator[HtmlElement]:
    for number, line in enumerate(filter(None, text.splitlines())):
        element = lxml.html.Element("p" if number else "h1")
        element.text = line
        yield element
