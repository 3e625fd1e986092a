"""How near pages, and the links on them, are to the topic of a crawl."""

from __future__ import annotations

import json
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from zipfile import BadZipFile

import numpy as np

from scrapy_pagelets.nodes import Floats
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.pagelet import CONTENT, Pagelet, segment
from scrapy_pagelets.templates.site import Site
from scrapy_pagelets.urls import key as key_of
from scrapy_pagelets.words import words

#: What the relevance of a link is made of: its pagelet, its anchor, what the page and the pages before it hand down.
_PAGELET: Final = 0.2
_ANCHOR: Final = 0.2
_INHERITED: Final = 0.6
#: What is left of the relevance of a page where the next one has none (Hersovici et al. 1998).
_DECAY: Final = 0.8
#: Words are told apart by so many hashes.
_HASHES: Final = 2**18
#: Examples that are taken from one file.
_MAX_EXAMPLES: Final = 1000
#: Links of templates that are remembered, of all sites.
_MAX_SEEN: Final = 500_000
_TAG: Final = re.compile(rb"<[a-zA-Z!]")


class Link(NamedTuple):
    """A link of a page: its relevance, 0 to 1, and whether it stands in nothing but template."""

    relevance: float
    template: bool


class Weighed(NamedTuple):
    """A page as a focused crawl sees it.

    Attributes
    ----------
    relevance : of its content, 0 to 1
    inherited : what the links of its content get from it and from the pages on the way to it, 0 to 1
    links : by the key of their targets; of several links to one page the most relevant; template if all of
        them are
    """

    relevance: float
    inherited: float
    links: dict[int, Link]


class Topic:
    """What a crawl is about, as a direction in the space of words: the mean of some texts (Rocchio 1971).

    Texts are compared by the cosine of their words, weighed by tf-idf. How rare a word is, is counted on the pages of
    the crawl, as they come. Safe for several threads.

    Parameters
    ----------
    texts : a query, contents of pages that are about the topic, or both

    Raises
    ------
    ValueError : if no text has a word that tells anything

    Examples
    --------
    >>> topic = Topic(["volcanoes in Iceland"])
    >>> near, far = topic.relevance(topic.vectors(["Volcanoes and glaciers", "The price of fish"]))
    >>> bool(near > 0.3), float(far)
    (True, 0.0)
    """

    def __init__(self, texts: Iterable[str]) -> None:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, HashingVectorizer

        self._stop_words = ENGLISH_STOP_WORDS
        self._vectorizer = HashingVectorizer(n_features=_HASHES, analyzer=self._terms, alternate_sign=False, norm=None)
        self._examples = self.vectors(list(texts))
        if not self._examples.nnz:
            raise ValueError("no word tells what it is about")
        #: (_HASHES,) on how many pages each word stands, and the number of pages.
        self.frequency = np.zeros(_HASHES, np.int32)
        self.pages = 0
        self._lock = Lock()

    def _terms(self, text: str) -> list[str]:
        return [word for word in words(text) if word not in self._stop_words]

    def vectors(self, texts: Sequence[str]) -> Any:
        """(n, _HASHES) how often each text has each word, a sparse matrix."""
        return self._vectorizer.transform(texts)

    def learn(self, vector: Any) -> None:
        """Count the words of a page."""
        with self._lock:
            self.frequency[np.unique(vector.indices)] += 1
            self.pages += 1

    def relevance(self, vectors: Any) -> Floats:
        """(n,) how near texts are to the topic, 0 to 1."""
        from sklearn.preprocessing import normalize

        mean = np.asarray(normalize(self._weighed(self._examples)).mean(axis=0))
        near: Floats = np.clip(normalize(self._weighed(vectors)) @ normalize(mean)[0], 0.0, 1.0)
        return near

    def save(self, path: Path) -> None:
        """Write how rare words are."""
        with self._lock:
            words_met = np.flatnonzero(self.frequency)
            pages, frequency = np.array(self.pages), self.frequency[words_met]
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            np.savez_compressed(file, pages=pages, words=words_met, frequency=frequency)
        new.replace(path)

    def load(self, path: Path) -> None:
        """Go on from what was written.

        Raises
        ------
        ValueError : if the file cannot be read
        """
        frequency = np.zeros(_HASHES, np.int32)
        try:
            with np.load(path) as arrays:
                frequency[arrays["words"]] = arrays["frequency"]
                self.pages = int(arrays["pages"])
        except (OSError, ValueError, LookupError, EOFError, BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} cannot be read ({error})") from None
        self.frequency = frequency

    def _weighed(self, counts: Any) -> Any:
        """Tf-idf of counts, both on a log scale."""
        found = counts.copy()
        rarity = np.log((1 + self.pages) / (1 + self.frequency[found.indices])) + 1
        found.data = (1 + np.log(found.data)) * rarity
        return found


def weigh(pagelets: Sequence[Pagelet], topic: Topic | None = None, inherited: float = 0.0) -> Weighed:
    """What a page and its links have to do with a topic; the page becomes part of what the topic knows of words.

    A link has the relevance of its pagelet and of its anchor, and inherits some from the page (shark search, Hersovici
    et al. 1998, with pagelets in the place of windows of words). A link that stands in nothing but template has the
    relevance of its anchor alone: a page does not speak for what each page of its site links to (Bar-Yossef &
    Rajagopalan 2002, Section 4, case 2).

    Parameters
    ----------
    inherited : of the page, from the one that links to it

    Examples
    --------
    >>> page = Page.parse(b"<p>Eruptions: <a href=hekla>Hekla</a><p>Cod: <a href=cod>more</a>", "http://h/")
    >>> weighed = weigh(segment(page), Topic(["hekla"]))
    >>> hekla, cod = weighed.links.values()
    >>> hekla.relevance > cod.relevance, cod.template
    (True, False)
    """
    stands = [(number, link) for number, pagelet in enumerate(pagelets) for link in pagelet.links]
    own, content = np.zeros(len(stands)), 0.0
    if topic is not None and pagelets:
        vectors = topic.vectors([pagelet.text for pagelet in pagelets])
        kept = np.array([pagelet.role == CONTENT for pagelet in pagelets], np.float64)
        body = _sum(vectors, kept)
        topic.learn(body)
        content = float(topic.relevance(body)[0])
        if stands:
            where = [number for number, _ in stands]
            anchors = topic.relevance(topic.vectors([link["anchor"] for _, link in stands]))
            own = _PAGELET * (topic.relevance(vectors) * kept)[where] + _ANCHOR * anchors
    handed = max(content, _DECAY * inherited)
    links: dict[int, Link] = {}
    for (number, link), relevance in zip(stands, own.tolist(), strict=True):
        template = pagelets[number].role != CONTENT
        found = Link(relevance + (0.0 if template else _INHERITED * handed), template)
        before = links.get(key := key_of(link["url"]), found)
        links[key] = Link(max(before.relevance, found.relevance), before.template and found.template)
    return Weighed(content, handed, links)


def _sum(vectors: Any, rows: Floats) -> Any:
    """(1, _HASHES) the sum of some rows."""
    from scipy.sparse import csr_array

    return csr_array(rows[np.newaxis]) @ csr_array(vectors)


class Seen:
    """Which links of templates a site has shown before: the first time a menu leads somewhere new."""

    def __init__(self, most: int = _MAX_SEEN) -> None:
        self._seen: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._most = most

    def again(self, site: str, links: Iterable[int]) -> set[int]:
        """Those of some links, by key, that were seen on the site before; from now on all of them were.

        >>> seen = Seen()
        >>> seen.again("a", [1, 2]), seen.again("a", [2, 3]), seen.again("b", [3])
        (set(), {2}, set())
        """
        keys = [(site, link) for link in links]
        found = {key[1] for key in keys if key in self._seen}
        self._seen.update(dict.fromkeys(keys))
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)
        return found


def examples(path: Path) -> list[str]:
    """The contents of the pages of a file: of an HTML page, or of each line of a feed (``.jsonl``).

    Raises
    ------
    ValueError : if there is nothing to learn from in the file; the message says why
    """
    try:
        texts = list(_of_feed(path)) if path.suffix == ".jsonl" else [_of_page(path)]
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    if not any(map(words, texts)):
        raise ValueError(f"{path} has no words: give an HTML page, or a feed with text")
    return texts


def _of_feed(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(islice(filter(str.strip, file), _MAX_EXAMPLES), 1):
            try:
                text = json.loads(line)["text"]
            except (ValueError, TypeError, KeyError):
                raise ValueError(f"{path} is no feed: its line {number} has no text") from None
            if isinstance(text, str):
                yield text


def _of_page(path: Path) -> str:
    body = path.read_bytes()
    if body.strip() and (b"\0" in body or not _TAG.search(body)):
        raise ValueError(f"{path} is not HTML: give an HTML page, or a feed that ends in .jsonl")
    page = Page.parse(body, f"file://{path.absolute()}")
    site = Site("")
    site.learn(page)
    kept = [part.text for part in segment(page, site.templateness(page)) if part.role == CONTENT]
    return "\n\n".join(kept)
