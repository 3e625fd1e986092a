"""What a page tells of itself: author, dates, canonical address, description, picture, tags and breadcrumbs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.characters import lazily, quoted, readable
from scrapy_pagelets.metadata import breadcrumbs, byline, dates
from scrapy_pagelets.metadata.dates import NOTHING_KNOWN, PICTURES, Habits
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.metadata.posts import NO_THREAD, Post, Thread, thread_of
from scrapy_pagelets.metadata.product_markup import is_here, product_of
from scrapy_pagelets.page import structured_data as data
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.looks import COMMENT, COMMENTS, ENTRY, RELATED
from scrapy_pagelets.page.nodes import OF_TAG, TAG, rows_named, rows_related, rows_tagged, rows_with
from scrapy_pagelets.page.page import Meta, Page


def _class(names: str) -> re.Pattern[str]:
    return lazily(rf"(?:^|\s)(?:{names})(?:$|\s)", re.IGNORECASE)


_PUBLISHED_CLASS: Final = _class("published|dt-published")
_UPDATED_CLASS: Final = _class("updated|dt-updated")
_AUTHOR_CLASS: Final = _class("(?:(?:entry|post)-)?author|p-author")
_TAGS_CLASS: Final = _class(
    r"(?:[a-z]{1,4}-){,2}(?:block-)?(?:post|entry|article|item|topic|question|photo|recipe|video|view)[-_]{1,2}(?:tags?|terms)(?:[-_](?:list|links))?|field-{1,2}name-field-tags"
)
_NAME_CLASS: Final = _class("fn|p-name")
_LEAVES: Final = 5  # runs of text of a mark
_MARKS: Final = 20  # marks that are looked at


class Entry:
    """What the entry with the heading of a page tells, or its one entry; nothing in a list of entries."""

    def __init__(self, page: Page, headline: Headline | None) -> None:
        self._page = page
        self._headline = headline

    @cached_property
    def author(self) -> str | None:
        """The one name that it tells."""
        names = {self._name(row) for row in self._rows(_AUTHOR_CLASS)} - {None}
        return names.pop() if len(names) == 1 else None

    @cached_property
    def published(self) -> str | None:
        """The first date of publication; hAtom demands a date of change, even of what was never changed."""
        return self._date(_PUBLISHED_CLASS) or self._date(_UPDATED_CLASS)

    @property
    def modified(self) -> str | None:
        """The first date of a change, if it has one of publication."""
        return self._date(_UPDATED_CLASS) if self._date(_PUBLISHED_CLASS) else None

    @cached_property
    def _span(self) -> tuple[int, int] | None:
        return self._one_of(rows_with(self._page.nodes, ENTRY))

    def _one_of(self, rows: Sequence[int]) -> tuple[int, int] | None:
        """The first row of the one of some elements that is the entry, and the row behind it."""
        spans = [(row, self._page.nodes.end.item(row)) for row in rows[: 2 * _MARKS]]
        if self._headline is not None:  # the one entry of a tag, say, stands below the heading of the page
            spans = [(row, end) for row, end in spans if row < self._headline.row < end]
        return spans[0] if len(spans) == 1 else None

    @property
    def tags(self) -> Iterator[str]:
        """The texts of its links to what it calls its tags, those of its categories among them.

        Else those of the links in the one element of the page that is named the tags of a post.
        """
        nodes = self._page.nodes
        rows = rows_related(nodes, OF_TAG)
        span = self._span or self._one_of(rows_tagged(nodes, TAG["article"])) if rows else None
        found = self._inside(span, rows)
        lists = nodes.outermost(rows_named(nodes, _TAGS_CLASS)) if not found else []
        for row in nodes.links.row[nodes.links_in(lists[0])].tolist() if len(lists) == 1 else found:
            yield " ".join(nodes.strings[nodes.leaves_of(row)]).removeprefix("#").lstrip()

    def _rows(self, names: re.Pattern[str]) -> list[int]:
        """The rows of its marks of some names."""
        return self._inside(self._span, rows_named(self._page.nodes, names)) if self._span else []

    def _inside(self, span: tuple[int, int] | None, rows: Sequence[int]) -> list[int]:
        """Those of some rows that are in the entry, without those of comments and of related posts."""
        if span is None:
            return []
        nodes, (first, end) = self._page.nodes, span
        found = [row for row in rows if first < row < end]
        others = [(row, nodes.end.item(row)) for row in rows_with(nodes, COMMENTS | COMMENT | RELATED) if row > first]
        return [row for row in found if not any(start <= row < stop for start, stop in others[:_MARKS])][:_MARKS]

    def _date(self, names: re.Pattern[str]) -> str | None:
        told = (byline.machine_date(self._page, row) for row in self._rows(names))
        return next((date for date, _ in filter(None, told)), None)

    def _name(self, row: int) -> str | None:
        """The name in a mark: of hCard, or all that it has."""
        nodes = self._page.nodes
        inner = next((each for each in rows_named(nodes, _NAME_CLASS) if row <= each < nodes.end.item(row)), row)
        leaves = nodes.leaves_of(inner)
        return byline.name_in(" ".join(nodes.strings[leaves])) if leaves.stop - leaves.start <= _LEAVES else None


#: The names of the fields.
TOLD: Final = ("author", "published", "modified", "canonical", "description", "image", "tags", "breadcrumbs", "product")
#: Names of ``<meta>`` elements in the order of precedence, in lower case.
_AUTHOR: Final = (
    "author article:author parsely-author sailthru.author dable:author dc.creator dcterms.creator "
    "eprints.creators_name citation_author byl"
).split()
#: A name as libraries sort it: "Bo, Ana", "van der Bo, Ana M.".
_SORTED: Final = lazily(r"\s*(?:[a-z]\S*\s)*[^\s,]+,\s*[^\s,]+(?:\s[^\s,]+){,2}\s*")
_PUBLISHED: Final = (
    "article:published_time og:published_time og:article:published_time datepublished parsely-pub-date sailthru.date "
    "dc.date.issued dcterms.issued dcterms.created dcterms.date dc.date dc.date.created citation_date "
    "citation_publication_date citation_online_date pubdate publishdate publish-date publish_date publication_date date"
).split()
_MODIFIED: Final = (
    "article:modified_time og:modified_time og:article:modified_time og:updated_time datemodified dcterms.modified "
    "dc.date.modified last-modified lastmod revised"
).split()
_DESCRIPTION: Final = "description og:description twitter:description dc.description dcterms.description".split()
_TAG: Final = "article:tag"
_PRICE: Final = "product:price:amount og:price:amount".split()
_MOST_OFFERS: Final = 20  # offers and media that are looked at
_MOST: Final = 1000  # ``<meta>`` elements that are looked at
_LONGEST: Final = 5000  # characters of a value; longer ones are cut off
_MOST_AUTHORS: Final = 10  # names of authors
_MOST_TAGS: Final = 50
_LONGEST_NAME: Final = 200  # characters of the name of an author or of a tag


@dataclass(frozen=True, eq=False)
class Metadata:
    """What a page tells of itself."""

    #: ``author`` (names, separated by commas), ``published`` and ``modified`` (ISO 8601, as exact as the page tells
    #: them), ``canonical``, ``description``, ``image``, ``tags``, ``breadcrumbs`` and ``product``, by their names in
    #: the feed; None, or no tags or breadcrumbs, if the page does not tell
    fields: dict[str, Any]
    trail: Bools  # (m,) the leaves that surely show the breadcrumbs
    #: of the article or product: its own name and those of its authors, and what it costs
    names: tuple[str, ...] = ()
    prices: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()  # numbers and brands of the product
    thread: Thread = NO_THREAD


def metadata_of(page: Page, headline: Headline | None, habits: Habits = NOTHING_KNOWN) -> Metadata:
    """Read the metadata of a page: its JSON-LD, ``<meta>`` elements, microdata, and the texts around its heading.

    What one of them says of the page's article or product precedes what is said of the page as such. Broken or hostile
    values count as not told.

    ``headline``: the page's own heading; None if it has none, and with it no byline. ``habits``: what the pages of its
    site tell alike.
    """
    told = _Told(page, habits)
    thread = thread_of(page, habits)
    product, facts = product_of(page, headline, told.metas)
    declared = told.date("datePublished", _PUBLISHED)
    opening = thread.opening(page.nodes.leaves_of(headline.row).start if headline else -1, declared)
    first = opening or Post()
    posts = {leaf for post in thread.posts for leaf in post.leaves} if thread.is_thread else set[int]()
    beside = byline.Byline(page, headline if opening is None else None, habits, posts, sells=product is not None)
    entry = Entry(page, headline)
    names, trail = _trail(page, headline)
    costs = [str(product["price"])] if product and product["price"] else []
    author = told.author or _cleaned(first.author or entry.author or beside.author or "") or None
    if author and first.author in author.split(", "):  # the microdata of a thread names who wrote the other posts, too
        author = first.author
    # Software writes the name of the site, or that of an account.
    if told.author and beside.author and _is_no_person(page, told.author):
        author = beside.author
    published = declared or told.posted or first.published or entry.published
    if not published and (shown := beside.published):
        begins = any(str(each.get("startDate"))[:10] == shown[:10] for each in page.objects)  # an event
        published = None if begins else shown
    fields = {
        "author": author if told.author or headline is None or author != headline.text else None,
        "published": published,
        "modified": told.date("dateModified", _MODIFIED) or entry.modified or beside.modified,
        "canonical": _web_address(page, page.declared_canonical_url or ""),
        "description": told.text("description", _DESCRIPTION),
        "image": told.image(),
        "tags": _distinct((*told.tags(), *entry.tags)),
        "breadcrumbs": names,
        "product": product,
    }
    declared_names = (*(author or "").split(", "),) if told.author else ()
    return Metadata(fields, trail, (*declared_names, *told.names()), (*told.prices(), *costs), facts, thread)


class _Told:
    """The values of a page's properties, best first."""

    def __init__(self, page: Page, habits: Habits) -> None:
        self._page, self._habits, objects = page, habits, page.objects
        self._ids = data.by_id(objects)
        self._work = _one([each for each in objects if any(map(data.is_work, data.types_of(each)))], page)
        self._media = next((each for each in objects[:_MOST_OFFERS] if _is_shown(each, page.title)), {})
        self._about = _one([each for each in objects if any(map(data.is_page, data.types_of(each)))], page)
        self.metas = _metas(page.metas)
        self._properties = data.properties_of(page.microdata)

    def date(self, name: str, metas: Sequence[str]) -> str | None:
        """The first date, of a property or of metas; else the first month of these."""
        for value in self._values(name, metas):
            if isinstance(value, str) and (told := dates.iso(value)):
                return told
        months = (dates.MONTH.fullmatch(value.strip()) for value in self._meta_values(metas))
        return next(("-".join(month.groups()) for month in months if month), None)

    @property
    def posted(self) -> str | None:
        """The date of the first job that it declares, or of the video that it shows."""
        jobs = (each.get("datePosted") for each in self._page.objects if "JobPosting" in data.types_of(each))
        told = (value for each in (*jobs, self._media.get("uploadDate")) for value in data.values_of(each))
        return next(filter(None, (dates.iso(value) for value in told if isinstance(value, str))), None)

    def text(self, name: str, metas: Sequence[str]) -> str | None:
        """The first text. The metas come first: search engines show them."""
        for value in self._meta_values(metas) + self._values(name, ()):
            if isinstance(value, str) and (text := _cleaned(value)):
                return text
        return None

    def names(self) -> Iterator[str]:
        """The names of the work."""
        names = data.values_of((self._work or {}).get("name"))
        yield from (_cleaned(value) for value in names if isinstance(value, str))

    def tags(self) -> Iterator[str]:
        """The keywords of the work, else what metas call its tags; one text names several, separated by commas."""
        values = data.values_of(self._work.get("keywords")) if self._work else []
        values = values or (self._metas_named(_TAG) if _TAG in self.metas else [])
        names = [self._part(value, "name") if isinstance(value, dict) else value for value in values[:_MOST_TAGS]]
        texts = [name[:_LONGEST] for name in names if isinstance(name, str)]
        yield from texts[0].split(",") if len(texts) == 1 else texts

    def prices(self) -> Iterator[str]:
        """What the work costs, by each of its offers."""
        yield from self._meta_values(_PRICE)
        for offer in data.values_of((self._work or {}).get("offers"))[:_MOST_OFFERS]:
            for name in ("price", "lowPrice", "highPrice") if isinstance(offer, dict) else ():
                yield from (str(value)[:_LONGEST_NAME] for value in data.values_of(offer.get(name)))

    def image(self) -> str | None:
        """The first address of a picture of its own."""
        for value in self._meta_values(PICTURES) + self._values("image", ()) + self._values("thumbnailUrl", ()):
            if isinstance(value, dict):
                value = self._part(value, "url") or self._part(value, "contentUrl")
            address = value if isinstance(value, str) else ""
            keeps_place = self._habits.is_default(address) or urls.PLACEHOLDER.search(address)
            if not keeps_place and (found := _web_address(self._page, address)):
                return found
        return None

    @cached_property
    def author(self) -> str | None:
        """The names of the first property that has any."""
        structured: Iterable[list[Any]] = (
            [self._work.get("author") or self._work.get("creator")] if self._work else [],
            *(self._metas_named(name) for name in _AUTHOR if name in self.metas),
            self._of_microdata("author") or self._of_microdata("creator"),
            [self._about.get("author")] if self._about else [],
            [self._media.get("author")],
        )
        for values in structured:
            if names := list(dict.fromkeys(self._names(values)))[:_MOST_AUTHORS]:
                return ", ".join(names)
        return None

    def _values(self, name: str, metas: Sequence[str]) -> list[Any]:
        """Values of the work, of metas, of microdata, and of the page as such."""
        found = data.values_of(self._work.get(name)) if self._work else []
        found += self._meta_values(metas)
        found += self._of_microdata(name)
        return found + data.values_of(self._about.get(name)) if self._about else found

    def _meta_values(self, names: Sequence[str]) -> list[str]:
        return [self.metas[name] for name in names if name in self.metas]

    def _metas_named(self, name: str) -> list[str]:
        """All values of a name: several authors have a ``<meta>`` each."""
        metas = islice(self._page.metas, _MOST)
        values = [meta.content for meta in metas if (meta.property or meta.name).strip().lower() == name]
        may_be_sorted = name.startswith(("dc", "eprints")) and all(map(_SORTED.fullmatch, values))
        is_sorted = name == "citation_author" or may_be_sorted
        return [_turned(value) for value in values] if is_sorted else values

    def _of_microdata(self, name: str) -> list[str]:
        return [data.value_of(element)[:_LONGEST] for element in self._properties.get(name, [])[:_MOST_AUTHORS]]

    def _names(self, values: Iterable[Any]) -> Iterator[str]:
        for value in (each for outer in values for each in data.values_of(outer)[:_MOST_AUTHORS]):
            if isinstance(value, dict):
                family, given, value = (self._part(value, part) for part in ("familyName", "givenName", "name"))
                value = _turned(value) if value == f"{family}, {given}" else value
            name = byline.spoken(_unsigned(_cleaned(value[:_LONGEST_NAME]))) if isinstance(value, str) else ""
            if byline.is_name(name) and "://" not in name and not name.startswith(("@", "www.")):
                yield name

    def _part(self, value: data.Object, name: str) -> Any:
        """The first value of a property of an object, or of the one that it refers to; None without one."""
        reference = value.get("@id")
        if not value.get(name) and isinstance(reference, str):
            value = self._ids.get(reference, {})
        return next(iter(data.values_of(value.get(name))), None)


def _is_shown(value: data.Object, title: str) -> bool:
    """Whether an object is a video whose name begins the title of the page."""
    name = value.get("name") if "VideoObject" in data.types_of(value) else None
    return isinstance(name, str) and bool(name) and title.startswith(name)


def _turned(name: str) -> str:
    """A name as it is spoken: "Bo, Ana" is how libraries sort it."""
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma and first.strip() and "," not in first else name


def _unsigned(name: str) -> str:
    """A name without "by" before it; one with a capital may be a part of it: "Di Maria"."""
    is_word = name[:1].islower() or name[:3] == "By "
    return (byline.signed_name(name) or name) if is_word else name


def _is_no_person(page: Page, name: str) -> bool:
    """Whether a title ends in a mark and a name, or the address of a user in one in lower case."""
    is_of_site = page.title.endswith(name) and page.title.removesuffix(name).rstrip()[-1:] in tuple("|-–—·•»_")
    users = (href.rstrip("/") for href in page.nodes.links.href if byline.OF_USER.search(href))
    return is_of_site or (name.islower() and any(href.endswith(f"/{name}") for href in users))


def _one(candidates: Sequence[data.Object], page: Page) -> data.Object | None:
    """The object that describes the page: the only one, or the one with the page's address; None in a list."""
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    return next((each for each in candidates[:50] if is_here(each, page)), None)


def _metas(metas: Iterable[Meta]) -> dict[str, str]:
    """The first value of each ``<meta>`` by its name in lower case; values that are blank do not count."""
    found: dict[str, str] = {}
    for meta in islice(metas, _MOST):
        name = (meta.property or meta.name or meta.http_equiv).strip().lower()
        content = meta.content[:_LONGEST]
        if name and name not in found and content.strip():
            found[name] = content
    return found


def _distinct(names: Iterable[str]) -> list[str]:
    """The first of some names, cleaned, of those that differ in case only the first one."""
    found: dict[str, str] = {}
    for name in map(_cleaned, islice(names, _MOST_TAGS)):
        if name and len(name) <= _LONGEST_NAME:
            found.setdefault(name.casefold(), name)
    return [*found.values()]


def _cleaned(text: str) -> str:
    """Text without control characters, with white space folded; some software escapes it twice."""
    text = readable(text[:_LONGEST])
    return " ".join((readable(unescape(text)) if "&" in text else text).split())


def _web_address(page: Page, address: str) -> str | None:
    """An address made absolute; None if it is not one of the web."""
    address = address.strip()
    if not address or len(address) > urls.LONGEST:
        return None
    try:
        found = urls.absolute(page.base, address)
        return quoted(found) if urlsplit(found).scheme in ("http", "https") and urlsplit(found).netloc else None
    except ValueError:  # "http://[broken"
        return None


def _trail(page: Page, headline: Headline | None) -> tuple[list[str], Bools]:
    """The breadcrumbs of JSON-LD, or those shown if they are more than one and JSON-LD tells less; and their leaves."""
    declared = breadcrumbs.declared_names(page.objects)
    shown, leaves = breadcrumbs.shown(page, headline)
    best = declared if len(declared) >= 2 or len(declared) >= len(shown) else shown
    if not best:
        best, unnamed = breadcrumbs.unnamed(page, headline)
        leaves[unnamed] = True
    names = [name for each in best if (name := _cleaned(each))]
    return names, leaves | breadcrumbs.leaves_of(page, declared) if declared else leaves
