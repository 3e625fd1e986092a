"""Focused crawling: how relevant pages and links are to a topic, and the good hubs of a crawl that is going on.

Source of the distiller: FOCUS (Chakrabarti, van den Berg & Dom 1999), with pagelets as hubs as in Bar-Yossef &
Rajagopalan 2002, Section 4, case 2.
"""

import re
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from zipfile import BadZipFile

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.feed.cleaning import clean
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.feed.pagelet import Pagelet
from scrapy_pagelets.links.clever import hits
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.page.urls import key as key_of

#: Weights of the parts of a link's relevance: its pagelet, its anchor, and what it inherits from the pages before it.
_PAGELET: Final = 0.2
_ANCHOR: Final = 0.2
_INHERITED: Final = 0.6
#: Factor by which inherited relevance decays from page to page (Hersovici et al. 1998).
_DECAY: Final = 0.8
_HASHES: Final = 2**18  # number of word hashes, the dimension of the vectors
_MAX_EXAMPLES: Final = 1000  # examples read from one file
_TAG: Final = re.compile(rb"<[a-zA-Z!]")
_HUBS: Final = 10  # best hubs, whose links are followed
_MOST: Final = 2000  # pagelets that are remembered
_VISITED: Final = 20_000  # pages that are remembered


class Link(NamedTuple):
    """A link of a page: its relevance, 0 to 1, and whether it occurs in template pagelets only."""

    relevance: float
    template: bool


class PageScores(NamedTuple):
    """The scores of a page in a focused crawl."""

    relevance: float  # relevance of its content, 0 to 1
    inherited: float  # relevance that its links inherit from it and from the pages before it, 0 to 1
    links: dict[int, Link]  # by the key of their target: the most relevant link, template if all are
    lists: list[list[int]]  # for each pagelet of the content, the keys of the distinct pages that it links to
    ignored: frozenset[int] = frozenset()  # keys of targets of ignored links only


class Topic:
    """The topic of a crawl as a vector: the mean of the tf-idf vectors of a query, or of examples (Rocchio 1971).

    The relevance of a text is the cosine of its vector and the topic. Document frequencies are counted on the pages of
    the crawl as they arrive. Thread-safe. ValueError if the texts have no words other than stop words.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, HashingVectorizer

        def terms(text: str) -> list[str]:
            return [word for word in words(text) if word not in ENGLISH_STOP_WORDS]

        self._vectorizer = HashingVectorizer(n_features=_HASHES, analyzer=terms, alternate_sign=False, norm=None)
        self._examples = self.vectors(list(texts))
        if not self._examples.nnz:
            raise ValueError("no word tells what it is about")
        #: (_HASHES,) number of pages with each word; and the number of all pages.
        self.frequency = np.zeros(_HASHES, np.int32)
        self.pages = 0
        self._lock = Lock()

    def vectors(self, texts: Sequence[str]) -> Any:
        """(n, _HASHES) word counts of the texts, a sparse matrix."""
        return self._vectorizer.transform(texts)

    def learn(self, vector: Any) -> None:
        """Count the words of a page."""
        with self._lock:
            self.frequency[np.unique(vector.indices)] += 1
            self.pages += 1

    def relevance(self, vectors: Any) -> Floats:
        """(n,) relevance of texts to the topic, 0 to 1."""
        from sklearn.preprocessing import normalize

        mean = np.asarray(normalize(self._tf_idf(self._examples)).mean(axis=0))
        return np.asarray(np.clip(normalize(self._tf_idf(vectors)) @ normalize(mean)[0], 0.0, 1.0))

    def save(self, path: Path) -> None:
        """Write the document frequencies to a file."""
        with self._lock:
            occurring = np.flatnonzero(self.frequency)
            pages, frequency = np.array(self.pages), self.frequency[occurring]
        with whole_file(path) as new, new.open("wb") as file:
            np.savez_compressed(file, pages=pages, words=occurring, frequency=frequency)

    def load(self, path: Path) -> None:
        """Read the document frequencies that `save` has written. Raise ValueError if the file cannot be read."""
        frequency = np.zeros(_HASHES, np.int32)
        try:
            with np.load(path) as arrays:
                frequency[arrays["words"]] = arrays["frequency"]
                self.pages = int(arrays["pages"])
        except (OSError, ValueError, LookupError, EOFError, BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} cannot be read ({error})") from None
        self.frequency = frequency

    def _tf_idf(self, counts: Any) -> Any:
        """Tf-idf weights of word counts, with logarithmic term frequencies."""
        weights = counts.copy()
        rarity = np.log((1 + self.pages) / (1 + self.frequency[weights.indices])) + 1
        weights.data = (1 + np.log(weights.data)) * rarity
        return weights


def score(pagelets: Sequence[Pagelet], topic: Topic | None = None, inherited: float = 0.0) -> PageScores:
    """Score a page and its links against a topic, and count the words of the page in the topic's document frequencies.

    A link's relevance combines that of its pagelet and of its anchor with a share inherited from the page (shark
    search, Hersovici et al. 1998, with pagelets instead of windows of words). A link in templates only has that of its
    anchor alone: a template is no evidence for its page (Bar-Yossef & Rajagopalan 2002, Section 4, case 2).
    """
    from scipy.sparse import csr_array

    numbered = [(number, link) for number, pagelet in enumerate(pagelets) for link in pagelet.links]
    own, content = np.zeros(len(numbered)), 0.0
    if topic is not None and pagelets:
        vectors = topic.vectors([pagelet.text for pagelet in pagelets])
        kept = np.array([pagelet.role == CONTENT for pagelet in pagelets], np.float64)
        body = csr_array(kept[np.newaxis]) @ csr_array(vectors)  # the sum of the content
        topic.learn(body)
        content = float(topic.relevance(body)[0])
        if numbered:
            where = [number for number, _ in numbered]
            anchors = topic.relevance(topic.vectors([link["anchor"] for _, link in numbered]))
            own = _PAGELET * (topic.relevance(vectors) * kept)[where] + _ANCHOR * anchors
    passed_on = max(content, _DECAY * inherited)
    links: dict[int, Link] = {}
    lists: dict[int, dict[int, None]] = {}
    for (number, link), relevance in zip(numbered, own.tolist(), strict=True):
        template = pagelets[number].role != CONTENT
        scored = Link(relevance + (0.0 if template else _INHERITED * passed_on), template)
        before = links.get(key := key_of(link["url"]), scored)
        links[key] = Link(max(before.relevance, scored.relevance), before.template and scored.template)
        if not template:
            lists.setdefault(number, {})[key] = None
    return PageScores(content, passed_on, links, [list(keys) for keys in lists.values()])


def examples(path: Path) -> list[str]:
    """Read example texts: the content of an HTML page, or the text of each line of a feed; ValueError says why not."""
    try:
        if path.suffix == ".jsonl":
            texts = [line["text"] for line in islice(Feed(str(path), ("text",), one_of=("text",)), _MAX_EXAMPLES)]
        else:
            body = path.read_bytes()
            if body.strip() and (b"\0" in body or not _TAG.search(body)):
                raise ValueError(f"{path} is not HTML: give an HTML page, or a feed that ends in .jsonl")
            texts = [clean(body, path.absolute().as_uri()).text]
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    if not any(map(words, texts)):
        raise ValueError(f"{path} has no words: give an HTML page, or a feed with text")
    return texts


class Distiller:
    """The last pagelets of a site with links, at ``most``, and the relevance of the pages visited. Thread-safe."""

    def __init__(self, most: int = _MOST) -> None:
        self.added = 0  # number of pages that were added
        self._relevance: dict[int, float] = {}
        self._lists: deque[Sequence[int]] = deque(maxlen=most)
        self._lock = Lock()

    def add(self, page: int, relevance: float, lists: Iterable[Sequence[int]]) -> None:
        """Add a visited page, its relevance, 0 to 1, and what each of its content pagelets links to; pages by key."""
        with self._lock:
            self.added += 1
            self._relevance[page] = relevance
            if len(self._relevance) > _VISITED:
                del self._relevance[next(iter(self._relevance))]
            self._lists.extend(links for links in lists if len(links) > 1)

    def expected(self) -> dict[int, float]:
        """Relevance to expect of each unvisited page that one of the ten best hubs links to.

        Hubs are scored by HITS, where an edge counts for its hub as much as its page is relevant, 0 if that was not
        visited. A page is expected to be as relevant as those that the hub has led to, on average, with one irrelevant
        page added, so that a single page proves little.
        """
        from scipy.sparse import csr_array

        with self._lock:
            relevances, lists = dict(self._relevance), list(self._lists)
        if not lists:
            return {}
        pages, target = np.unique(np.fromiter((key for links in lists for key in links), np.int64), return_inverse=True)
        ends = np.cumsum([0, *map(len, lists)])
        shape = len(lists), len(pages)
        visited = np.array([page in relevances for page in pages.tolist()])
        relevance = np.array([relevances.get(page, 0.0) for page in pages.tolist()])
        found = csr_array((relevance[target], target, ends), shape)
        hubs, _ = hits(csr_array((np.ones(len(target)), target, ends), shape), found)
        seen = csr_array((visited[target].astype(float), target, ends), shape).sum(axis=1)
        value = found.sum(axis=1) / (seen + 1)
        expected: dict[int, float] = {}
        for hub in np.argsort(-hubs, kind="stable")[:_HUBS].tolist():
            for place in target[ends[hub] : ends[hub + 1]].tolist() if hubs[hub] > 0 else ():
                if not visited[place]:
                    page = int(pages[place])
                    expected[page] = max(expected.get(page, 0.0), float(value[hub]))
        return expected
