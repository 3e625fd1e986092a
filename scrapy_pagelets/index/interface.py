"""The interface of all indexes: pages that they take, made from lines of the feed, matches that they give, and terms.

Terms are the words of `scrapy_pagelets.base.characters`, except that they include combining marks and end at an
underscore, as in the tokenizers of search engines. In scripts without spaces each character is a term, and a query for
a word is a query for consecutive characters.
"""

import errno
import json
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache, reduce
from itertools import pairwise
from operator import attrgetter, getitem
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from xxhash import xxh3_128_hexdigest

from scrapy_pagelets.base.characters import BY_CHARACTER, caseless, lazily, normalised
from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.page.roles import ROLES
from scrapy_pagelets.page.urls import site_of

#: Accents of Latin, Greek and Cyrillic letters. Marks of other scripts distinguish words and stay.
_ACCENTS: Final = lazily("[\u0300-\u036f]+")
_LONGEST: Final = 64  # longer terms are truncated: hardly any word is that long, and databases refuse them
_LETTERS: Final = "0-9A-Za-zÀ-ÖØ-Þà-öø-ıĴ-ľŁ-ňŊ-ž"  # letters that every Unicode tokenizer classifies as we do
_BETWEEN: Final = "\\0-/:-@\\[-`{-\x7f\xa0-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf×÷\u2010-\u2027\u2030-\u205e€"
_PLAIN: Final = lazily(f"(?:[{_LETTERS}]{{1,{_LONGEST}}}+(?![{_LETTERS}])|[{_BETWEEN}]++)*+")


def terms(text: str) -> list[str]:
    """Return the terms of a text in order: words in compatibility form, without case and accents."""
    return [term[:_LONGEST] for term in _expression().findall(folded(text))]


def phrases(query: str) -> list[list[str]]:
    """Return the distinct phrases of a query: single terms, or consecutive characters of a script without spaces."""
    matches = list(_expression().finditer(folded(query)))
    groups = [[match] for match in matches[:1]]
    for before, match in pairwise(matches):
        adjacent = before.end() == match.start() and _is_alone(before[0]) and _is_alone(match[0])
        groups[-1].append(match) if adjacent else groups.append([match])
    return [list(phrase) for phrase in dict.fromkeys(tuple(m[0][:_LONGEST] for m in group) for group in groups)]


def is_plain(text: str) -> bool:
    """True if any tokenizer that removes case and accents splits a text into the same terms."""
    return _PLAIN.fullmatch(text) is not None


def folded(text: str) -> str:
    """Return a text in compatibility form (NFKC), without case and accents."""
    if text.isascii():
        return text.lower()
    return caseless(_ACCENTS.sub("", normalised("NFKD", text)))


def _is_alone(term: str) -> bool:
    return len(term) == 1 and re.match(f"[{BY_CHARACTER}]", term) is not None


@cache
def _expression() -> re.Pattern[str]:
    r"""The pattern of a term in a folded text. Python's ``\w`` lacks combining marks, which Indic words contain."""
    codes = [chr(code) for code in range(0x10000)]
    alone = re.compile(f"[{BY_CHARACTER}]")
    marks = "".join(one for one in codes if unicodedata.category(one)[0] == "M" and not alone.match(one))
    signs = "".join(one for one in codes if alone.match(one) and unicodedata.category(one)[0] not in "LMN")
    return re.compile(rf"(?![{signs}])[{BY_CHARACTER}]|(?:[^\W_{BY_CHARACTER}]|[{marks}])+")


#: Version of the schema. An index of another version is refused.
VERSION: Final = 1
QUERY_TERMS: Final = 1024  # maximal number of terms in a query; further ones are ignored
TITLE: Final = "title"  # role of the pagelet that holds the title of a page
TITLE_NUMBER: Final = -1  # its number
UNSEARCHED: Final = ROLES[1:]  # roles of pagelets that are stored but not searched
#: Errors of a path that can hold no index, because of what stands there, or of who may write there.
_FOR_GOOD: Final = {errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS}
_OPTIONAL: Final = ("language", "fetched_at", "near_duplicate_of")  # fields of a page that can be None
_UNSTORABLE: Final = lazily("[\0\ud800-\udfff]")  # NUL and lone surrogates, which databases do not accept


class IndexUnusable(PageletsError, ValueError):
    """Raised for an index that can never be used; the message is a sentence that says what to do."""


class IndexAway(PageletsError, ConnectionError):
    """Raised when an index is unavailable or locked: the same call may succeed later."""


@contextmanager
def errors_of_files(path: Path) -> Iterator[None]:
    """Raise the error of an index in files: for good if none can be at its path, else for now, as on a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno in _FOR_GOOD:
            problem = f"{path} cannot be used ({error.strerror}): name another file or folder."
            raise IndexUnusable(problem) from error
        raise IndexAway(f"{path} cannot be used now: {error.strerror or error}") from error


class PageRefused(PageletsError, ValueError):
    """Raised when an index can never accept a page."""


@dataclass(frozen=True)
class IndexedPagelet:
    """A pagelet; ``docs/feed.md`` explains the fields. ``number`` is the feed's ``id``."""

    number: int
    role: str
    templateness: float
    text: str
    words: int
    xpaths: tuple[str, ...] = ()
    links: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class IndexedPage:
    """A page and its pagelets; ``docs/feed.md`` explains the fields."""

    url: str
    site: str
    title: str
    language: str | None
    fetched_at: str | None
    crawled: str  # when the page was last seen, in the format of `now`; old pages can be purged
    near_duplicate_of: str | None
    words: int  # number of words in all its pagelets
    #: in document order; the title, if there is one, comes first, with the role ``title`` and the number -1
    pagelets: tuple[IndexedPagelet, ...]

    @property
    def columns(self) -> tuple[object, ...]:
        """The fields of the page alone, in their order."""
        return tuple(value for name, value in vars(self).items() if name != "pagelets")


class Match(NamedTuple):
    """A pagelet that matches a query."""

    url: str
    title: str
    near_duplicate_of: str | None
    number: int
    role: str
    text: str
    score: float


class Hit(NamedTuple):
    """A page that matches a query, with the score of its best pagelet; the matching pagelets, the best first."""

    url: str
    title: str
    score: float
    pagelets: tuple[Match, ...]


class Index(ABC):
    """An index of pages and pagelets, open from its creation on; also a context manager.

    Raises IndexUnusable for an index of another version, a file that is not an index, or a missing library; IndexAway
    if the index is unavailable; all methods raise it.
    """

    @abstractmethod
    def upsert(self, pages: Sequence[IndexedPage]) -> None:
        """Write pages, all or none; each replaces that of its URL, unless seen later. PageRefused for a bad one."""

    @abstractmethod
    def purge(self, before: str, sites: Collection[str]) -> int:
        """Delete the pages of some sites that were last seen before a time (see `now`); return their number."""

    def search(self, query: str, limit: int = 10) -> list[Hit]:
        """Return the pages with terms of a query, the best first; of a group of near-duplicates only the best page."""
        wanted = phrases(query)[:QUERY_TERMS]
        return hits_of(self.find(wanted, limit), limit) if wanted else []

    @abstractmethod
    def find(self, wanted: Sequence[Sequence[str]], limit: int) -> list[Match]:
        """Return the pagelets with some phrases (see `phrases`), the best first, of at least that many pages."""

    def close(self) -> None:  # noqa: B027  # some are open only while they write
        """Close the index."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def check_version(name: str, version: object) -> None:
    """Refuse an index of another version. Raise IndexUnusable if the version is another one."""
    if version != str(VERSION):
        problem = f"{name} is an index of version {version}, not {VERSION}"
        raise IndexUnusable(f"{problem}: create a new one, under another name.")


def version_in(path: Path, *keys: str) -> str | None:
    """Return the version that a JSON file has under some keys, None if it has none."""
    try:
        return str(reduce(getitem, keys, json.loads(path.read_bytes())))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def latest(pages: Iterable[IndexedPage]) -> list[IndexedPage]:
    """Return pages sorted by URL, with only the latest page for each URL."""
    by_url = {page.url: page for page in sorted(pages, key=attrgetter("crawled"))}
    return [by_url[url] for url in sorted(by_url)]


def hits_of(matches: Iterable[Match], limit: int) -> list[Hit]:
    """Group matches, the best first, by page in the same order; of near-duplicates only the first page stays."""
    groups: dict[str, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.url, []).append(match)
    first: dict[str, Hit] = {}
    for url, pagelets in groups.items():
        hit = Hit(url, pagelets[0].title, pagelets[0].score, tuple(pagelets))
        first.setdefault(pagelets[0].near_duplicate_of or url, hit)
    return list(first.values())[:limit]


def shown(target: str) -> str:
    """Return the name of an index without user and password, for logs."""
    if "://" not in target:
        return target
    scheme, _, rest = target.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def now() -> str:
    """Return the current time like ``2026-11-20T10:00:00.123Z``; later strings are greater."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def page_of(line: Mapping[str, Any], crawled: str | None = None) -> IndexedPage:
    r"""Make a page from a line of the feed.

    ``line``: has at least ``url`` and ``pagelets``. ``crawled``: when the page was seen, see `now`; None to take it
    from the line. Raise ValueError if the line is not a page of the feed; the message says why.
    """
    try:
        url, title = storable(line["url"]), storable(line.get("title") or "")
        pagelets = tuple(_pagelet_of(pagelet) for pagelet in line.get("pagelets") or ())
        head = (IndexedPagelet(TITLE_NUMBER, TITLE, 0.0, title, len(terms(title))),) if title else ()
        return IndexedPage(
            url=url,
            site=site_of(url),
            title=title,
            **{name: None if line.get(name) is None else storable(line[name]) for name in _OPTIONAL},
            crawled=crawled or line["crawled"],
            words=sum(pagelet.words for pagelet in pagelets),
            pagelets=head + pagelets,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"it is not a page of the feed ({type(error).__name__}: {error})") from error


def _pagelet_of(line: Mapping[str, Any]) -> IndexedPagelet:
    return IndexedPagelet(
        int(line["id"]),
        storable(line["role"]),
        float(line["templateness"]),
        storable(line["text"]),
        int(line["words"]),
        tuple(map(storable, line.get("xpaths") or ())),
        tuple({key: storable(value) for key, value in link.items()} for link in line.get("links") or ()),
    )


def line_of(page: IndexedPage) -> dict[str, Any]:
    """Return a page as a line, from which `page_of` makes the same page."""
    line = asdict(page)
    line["pagelets"] = [{"id": one.pop("number"), **one} for one in line["pagelets"] if one["role"] != TITLE]
    return line


def milliseconds(moment: str) -> int:
    """Return a time as milliseconds since 1970."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def to_json(value: object) -> str:
    """Write JSON in one line, in as few characters as possible."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def key_of(url: str) -> str:
    """Return an identifier of limited length for a page: a 128-bit hash of its URL in hexadecimal digits."""
    return xxh3_128_hexdigest(url.encode())


def storable(text: str) -> str:
    """Replace NUL and lone surrogates, which databases do not accept, by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)
