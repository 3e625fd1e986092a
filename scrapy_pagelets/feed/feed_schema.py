"""The schema of the feed, version 1: one table for the code and for ``docs/feed.md``.

Settings, blank items, columns of Parquet, and the checks of commands follow from it. The value of a field is the
attribute of `page_record.PageRecord` with its name. Fields may be added, but none is renamed or given another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

VERSION: Final = "1"
#: The item pipelines that set the fields; of `PAGE`, `SegmentPipeline` sets those that the spider has not set.
PAGE, SEGMENT, STRIP, DUPLICATES, RECRAWL = "page", "segment", "strip", "duplicates", "recrawl"


@dataclass(frozen=True)
class FeedField:
    """A field of the feed, or of the objects in it."""

    name: str
    meaning: str  # what it says, as in ``docs/feed.md``
    kind: str = "string"  # ``string``, ``integer``, ``number`` or ``object``; of a list, the kind of its values
    listed: bool = False  # True if it is a list
    nullable: bool = False  # True if it can be null
    parts: tuple[FeedField, ...] = ()  # the fields of an object, or of each object in a list
    setting: str = ""  # the setting that switches it on or off; "" if there is none
    optional: bool = False  # True if it is missing when its setting is off; others are in all items
    step: str = ""  # of a field of `FEED`, the pipeline that sets it, ``PAGE`` to ``RECRAWL``

    def is_on(self, settings: object) -> bool:
        """Whether ``settings``, a `Config`, ask for it: a list must name it, another value must not be 0 or empty."""
        if not self.setting:
            return True
        value = getattr(settings, self.setting.removeprefix("PAGELETS_").lower())
        return self.name in value if isinstance(value, tuple) else bool(value)


#: Fields that can be null, and lists.
_nullable = partial(FeedField, nullable=True)
_list = partial(FeedField, listed=True)


def _set_by(step: str, fields: tuple[FeedField, ...]) -> tuple[FeedField, ...]:
    return tuple(replace(field, step=step) for field in fields)


LINK: Final = (FeedField("url", "absolute URL"), FeedField("anchor", "text of the link"))  # made by ``Pagelet.links``
PAGELET: Final = (  # made by ``Pagelet.record``
    FeedField(
        "id",
        "number of the pagelet on its page, from 0 in document order; pagelets that are not exported leave gaps",
        "integer",
    ),
    _list("xpaths", "paths of the smallest set of nodes that hold exactly its text"),
    FeedField(
        "role",
        "what most of its words are, see below: `content`, `comments`, `metadata`, `contents`, `navigation`, `forms`, "
        "`template`; more roles may be added",
    ),
    FeedField("templateness", "0 to 1, the mean over its words; content is below 0.5", "number"),
    FeedField("text", "its text"),
    FeedField("words", "number of its words; Han, kana, hangul and Thai count by character", "integer"),
    _list("links", "its hyperlinks in document order, see below", "object", parts=LINK),
)
CHUNK: Final = (  # made by `chunk_records`
    FeedField("id", "number of the chunk on its page, from 0", "integer"),
    FeedField("url", "URL of the page, with the nearest name in the page at or above the chunk as fragment"),
    _list(
        "headings",
        "the headings above the chunk, from the page's own to the nearest; a heading at its beginning is the last",
    ),
    FeedField("markdown", "the chunk as Markdown"),
    _list("xpaths", "paths, as in pagelets, to its text"),
    FeedField("words", "number of its words, those of alternative texts of pictures among them", "integer"),
    FeedField(
        "tokens",
        "tokens of `markdown` by `PAGELETS_TOKENIZER`; without one, an estimate: its bytes in UTF-8 / 3, rounded up",
        "integer",
    ),
    FeedField("templateness", "0 to 1, the mean over its words", "number"),
)
POST: Final = (  # made by ``PageRecord.posts``
    _nullable("author", "who wrote it, as the page says"),
    _nullable("published", "when, as `published` of the page"),
    FeedField("role", "what it is: `content` or `comments`"),
    _list("xpaths", "paths, as in pagelets, to its text"),
)
TEMPLATE: Final = (  # made by ``PageRecord.template``
    FeedField("id", "site and number of the class of pages, `example.com#1`; the numbers belong to one crawl"),
    FeedField("pages", "number of pages of this class that were known when the page was cleaned", "integer"),
    FeedField("share", "the chrome ratio: words of the template divided by all words of the page, 0 to 1", "number"),
)
#: Made by `StrippedClass.record`, as is a line of the file ``PAGELETS_TEMPLATES``.
TEMPLATE_LINK: Final = (
    *LINK,
    FeedField("pages", "number of cleaned pages of the class that have the link in their template", "integer"),
)
TEMPLATES: Final = (
    FeedField("id", "site and number of the class, as in `template` of its pages"),
    FeedField("site", "the site: its registrable domain, or host and port if it has none"),
    FeedField("pages", "number of pages of this class that were known when the last one was cleaned", "integer"),
    FeedField("text", "the texts of the template in document order, with blank lines between blocks"),
    _list("links", "its hyperlinks in document order, see below", "object", parts=TEMPLATE_LINK),
)
PRODUCT: Final = (  # made by `product_markup.product_of`
    _nullable("name", "what it is called"),
    _nullable(
        "price",
        "what it costs now; of several prices, as of sizes, the one that the page shows, else the lowest",
        "number",
    ),
    _nullable("highest_price", "the highest price if there are several", "number"),
    _nullable("currency", "code of the currency (ISO 4217), `EUR`; null for a `$` that no country explains"),
    _nullable("availability", "as schema.org calls it: `InStock`, `OutOfStock`, `PreOrder` and others"),
    _nullable("sku", "the number by which the shop knows it"),
    _nullable("gtin", "GTIN, EAN, UPC or ISBN-13 with a check digit that is right"),
    _nullable("brand", "name of its brand or maker"),
)
_OF_PAGE: Final = (
    FeedField("url", "URL of the response, after redirects"),
    FeedField("title", 'text of `<title>`, white space collapsed, 5,000 characters at most; `""` if there is none'),
    _nullable(
        "headline",
        "the page's own heading: the one that its title or its JSON-LD names, its only `h1`, or one with the text of a "
        "link to the page itself; null if there is none",
    ),
    _nullable(
        "language", "primary language subtag that the page declares (`lang` of `html` or `body`), in lower case: `en`"
    ),
    FeedField(
        "fetched_at",
        "when the page was fetched, `2026-11-20T10:00:00Z`: from the WARC record, else from the `Date` header, else "
        "the time of the crawl",
    ),
    _nullable("author", "who wrote the page, as it says; several names are separated by commas"),
    _nullable(
        "published", "when it was published, `2026-11-20` or `2026-11-20T10:00:00+01:00`, as exactly as the page says"
    ),
    _nullable("modified", "when it was last changed, likewise"),
    _nullable("canonical", "absolute URL of its canonical link"),
    _nullable("description", "what it is about, from its metadata"),
    _nullable("image", "absolute URL of the picture that its metadata names"),
    _list("tags", "names of its tags and categories, as it declares or links them; `[]` if there is none"),
    _list("breadcrumbs", "names of the trail that leads to it; `[]` if there is none"),
    _nullable(
        "product",
        "the product that the page is about, see below; null if there is none, or several as on a list",
        "object",
        parts=PRODUCT,
    ),
    _list("robots", "what the page asks of robots, see below: `noindex`; `[]` if it asks nothing"),
)
_form = partial(FeedField, setting="PAGELETS_FORMATS")
_OF_CONTENT: Final = (
    _form(
        "text", "the content, with blank lines between blocks; null if `PAGELETS_FORMATS` leaves it out", nullable=True
    ),
    _form("markdown", "the content as Markdown; only if `PAGELETS_FORMATS` names it", optional=True),
    _form("html", "the content as HTML; only if `PAGELETS_FORMATS` names it", optional=True),
    _list(
        "chunks",
        "pieces of the content for retrieval, see below; only with `PAGELETS_CHUNKS`",
        "object",
        parts=CHUNK,
        setting="PAGELETS_CHUNKS",
        optional=True,
    ),
    _nullable("comments", "what readers say of the page, as text; null if they say nothing, or if it is content"),
    _list(
        "posts",
        "the posts of a thread, or the comments of readers, that tell their author or date, see below; `[]` without "
        "any",
        "object",
        parts=POST,
    ),
)
_near = partial(_nullable, setting="PAGELETS_DUPLICATES", step=DUPLICATES)
FEED: Final = (  # the fields of a line, in their order
    *_set_by(PAGE, _OF_PAGE),
    *_set_by(STRIP, _OF_CONTENT),
    _list("pagelets", "regions of the page, see below", "object", parts=PAGELET, step=SEGMENT),
    _nullable(
        "template", "the template of the page, see below; null if none is known", "object", parts=TEMPLATE, step=STRIP
    ),
    _near("near_duplicate_of", "URL of an earlier page with nearly the same content, see below"),
    _near("similarity", "how similar the two are, 0 to 1", "number"),
    _near(
        "sketch",
        "MinHash signature of the content, in hexadecimal digits; null if the content has fewer than five words",
    ),
    _nullable(
        "content_hash",
        "hash of the words of the content in their order, in hexadecimal digits; null if there are none",
        step=STRIP,
    ),
    _nullable(
        "changed",
        "`new`, `same` or `changed` since an earlier crawl, see below; null without one to compare with",
        step=RECRAWL,
    ),
    _nullable("changed_share", "share of the words that differ, 0 to 1; null if unknown", "number", step=RECRAWL),
)
#: The fields that the lean feed does without.
HEAVY: Final = ("pagelets", "template", "similarity", "sketch", "content_hash", "changed", "changed_share")


def arrow_type(field: FeedField) -> pa.DataType:
    """The Arrow type of the column of a field; pyarrow must be installed."""
    import pyarrow as pa

    if field.kind == "object":
        kind = pa.struct({part.name: arrow_type(part) for part in field.parts})
    else:
        kind = {"string": pa.string(), "integer": pa.int32(), "number": pa.float64()}[field.kind]
    return pa.list_(kind) if field.listed else kind
