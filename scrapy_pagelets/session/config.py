"""All settings with their defaults and checks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final, Self

from scrapy_pagelets.base.errors import DOCS, ConfigError
from scrapy_pagelets.document.blocks import Switches
from scrapy_pagelets.document.units import LEAST_TOKENS
from scrapy_pagelets.duplicates.sketch import LEAST, Threshold
from scrapy_pagelets.feed.feed_schema import FEED, HEAVY
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.page.roles import CONTENT, ROLES
from scrapy_pagelets.papers.methods import CLASSIFIER, DETECTIONS, ETDM, FUSED, LEARNT, METHODS, PAGE_LEVEL, REPEATED
from scrapy_pagelets.rules.robots import HANDLINGS, TELL
from scrapy_pagelets.session import values

FIELDS: Final = tuple(field.name for field in FEED)  # the names of the fields of the feed
FORMATS: Final = tuple(field.name for field in FEED if field.setting == "PAGELETS_FORMATS")
SWITCHES: Final = tuple(field.name for field in fields(Switches))  # what Markdown may have beside text
ONLY: Final = "only"  # of the pages of a recrawl: only those that are new or have changed
AUTO: Final = "auto"  # of the rendering: only what needs it
#: With fewer pages of its class known, a page is cleaned less well (``docs/how-it-works.md``, *Early pages*).
FEW: Final = 10
_LEAN: Final[Mapping[str, None]] = MappingProxyType(dict.fromkeys(HEAVY))
#: Settings that do not work in a shared crawl.
_NOT_SHARED: Final = ("store", "templates", "report", "index", "index_purge")
_REMOVED: Final = {  # settings of earlier versions, by field, and what to do instead
    "settle": "set PAGELETS_FIRST_PAGES, which the spider site follows too",
    "vips_tree": "scrapy_pagelets.papers.vips.vips.vips(page) returns the blocks of a page",
    "duplicates_shingle": "shingles have five words",
}
_RESEMBLANCE: Final = values.decimal(f"give a resemblance from {LEAST} to 1", LEAST, 1)
_TOKENS: Final = values.whole(
    f"give a number of tokens from {LEAST_TOKENS}, or 0 for no limit", lambda n: n == 0 or n >= LEAST_TOKENS
)


def _setting(default: Any, read: values.Reader) -> Any:
    """A field of `Config`, with its default and a function that reads and checks its value."""
    return field(default_factory=lambda: default, metadata={"read": read})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The ``PAGELETS_*`` settings, explained in ``docs/settings.md``; ConfigError for the first unusable one."""

    #: PAGELETS_PROBE: number of pages linking each other that a template needs; with 0, no pages are loaded for it.
    probe: int = _setting(
        4, values.whole("give 0 to load no pages, or how many must link each other, from 2", lambda n: n == 0 or n >= 2)
    )
    #: PAGELETS_PRIVATE_ADDRESSES: whether links to private addresses other than the start hosts are followed.
    private_addresses: bool = _setting(False, values.flag)
    #: PAGELETS_FIRST_PAGES: pages of its class, with the spider `site` of its site, known before an item is processed.
    first_pages: int = _setting(FEW, values.whole("give a number of pages, from 1", lambda n: n >= 1))
    #: PAGELETS_MAX_NODES: maximal number of elements and comments of a page; a larger page is not cleaned.
    max_nodes: int = _setting(Limits().nodes, values.whole("give a number of nodes, from 1", lambda n: n >= 1))
    #: PAGELETS_MAX_SIZE: maximal size of a page in bytes; a larger page is not cleaned.
    max_size: int = _setting(Limits().size, values.whole("give a number of bytes, from 1", lambda n: n >= 1))
    #: PAGELETS_SEGMENTER: how pages are cut into pagelets.
    segmenter: str = _setting("pagelets", values.choice(METHODS))
    #: PAGELETS_SEGMENTER_WEIGHTS: file with weights for GCuts and CClus, instead of the shipped ones.
    segmenter_weights: str = _setting("", values.path)
    #: PAGELETS_EXPORT: which pagelets are exported.
    export: str = _setting("content", values.choice(("content", "all")))
    #: PAGELETS_KEEP: what counts as content beside the content itself.
    keep: tuple[str, ...] = _setting((CONTENT,), values.choices(ROLES))
    #: PAGELETS_FORMATS: in which formats the content is exported.
    formats: tuple[str, ...] = _setting(("text",), values.choices(FORMATS))
    #: PAGELETS_MARKDOWN: what the Markdown has beside text.
    markdown: tuple[str, ...] = _setting(("links", "images", "tables"), values.choices(SWITCHES))
    #: PAGELETS_CHUNKS: maximal number of words of a chunk; with 0, items get no chunks.
    chunks: int = _setting(0, values.whole("give a number of words, or 0 for no chunks", lambda n: n >= 0))
    #: PAGELETS_CHUNKS_OVERLAP: number of words that a chunk may repeat from the one before.
    chunks_overlap: int = _setting(0, values.whole("give a number of words, from 0", lambda n: n >= 0))
    #: PAGELETS_CHUNKS_TOKENS: number of tokens that no chunk exceeds; with 0, words alone count.
    chunks_tokens: int = _setting(0, _TOKENS)
    #: PAGELETS_TOKENIZER: a function of the user that counts the tokens of a text, "" for an estimate.
    tokenizer: str = _setting("", values.tokenizer)
    #: PAGELETS_MODEL: name of a shipped model or path of your own, which combines the evidence for template.
    model: str = _setting("labelled", values.path)
    #: PAGELETS_DETECTION: the method that decides what is template.
    detection: str = _setting(FUSED, values.choice(DETECTIONS))
    #: PAGELETS_CLASSIFIER: the shipped page-level file, or the path of your own, of the method `classifier`.
    classifier: str = _setting(PAGE_LEVEL, values.path)
    #: PAGELETS_STRICT: from recall to precision.
    strict: float = _setting(0.0, values.decimal("give a number from -1, which keeps what is doubtful, to 1", -1, 1))
    #: PAGELETS_RULES: file with rules of the user: what to keep, to strip and to ignore, by host.
    rules: str = _setting("", values.path)
    #: PAGELETS_ROBOTS: whether what a page asks of robots is told in the feed, or obeyed as well.
    robots: str = _setting(TELL, values.choice(HANDLINGS))
    #: PAGELETS_STORE: folder for the counts of the sites; without it the job directory, if there is one.
    store: str = _setting("", values.path)
    #: PAGELETS_EARLIER_FEED: feed of an earlier crawl that the contents of pages are compared with.
    earlier_feed: str = _setting("", values.path)
    #: PAGELETS_CHANGED: whether pages that are the same as in the earlier crawl are in the feed, or left out.
    changed: str = _setting(TELL, values.choice((TELL, ONLY)))
    #: PAGELETS_TEMPLATES: file that gets the template of each class of pages when the crawl ends.
    templates: str = _setting("", values.path)
    #: PAGELETS_REPORT: HTML file that gets a report on the feed when the crawl ends.
    report: str = _setting("", values.path)
    #: PAGELETS_METRICS: file that gets the stats of the crawl while it runs, in the text format of Prometheus.
    metrics: str = _setting("", values.path)
    #: PAGELETS_RENDER: whether pages are rendered in a browser, ``auto`` for those that are shells of scripts.
    render: bool | str = _setting(False, values.flag_or(AUTO))
    #: PAGELETS_RENDER_SCRIPTS: whether scripts of rendered pages run.
    render_scripts: bool = _setting(True, values.flag)
    #: PAGELETS_RENDER_TIMEOUT: seconds that rendering a page may take.
    render_timeout: float = _setting(30.0, values.decimal("give seconds, from 1 to 3600", 1, 3600))
    #: PAGELETS_DUPLICATES: whether near-duplicates are flagged, dropped or ignored.
    duplicates: str = _setting("flag", values.choice(("flag", "drop", "off")))
    #: PAGELETS_DUPLICATES_THRESHOLD: least resemblance of near-duplicates on one site.
    duplicates_threshold: float = _setting(Threshold().within, _RESEMBLANCE)
    #: PAGELETS_DUPLICATES_THRESHOLD_ACROSS: least resemblance of near-duplicates on two sites.
    duplicates_threshold_across: float = _setting(Threshold().across, _RESEMBLANCE)
    #: PAGELETS_DUPLICATES_SCOPE: whether a page is compared with all pages, or with those of its site.
    duplicates_scope: str = _setting("auto", values.choice(("auto", "all", "site")))
    #: PAGELETS_PRIORITY: whether requests get priorities; a topic switches this on as well.
    priority: bool = _setting(False, values.flag)
    #: PAGELETS_TOPIC: words that describe the topic of the crawl.
    topic: str = _setting("", values.words)
    #: PAGELETS_TOPIC_PAGES: files with example pages of the topic: HTML, or feeds.
    topic_pages: tuple[str, ...] = _setting((), values.paths)
    #: PAGELETS_INDEX: the search index that pages are written to, "" for none.
    index: str = _setting("", values.index)
    #: PAGELETS_INDEX_PURGE: whether a finished crawl deletes those pages of its sites that it has not seen.
    index_purge: bool = _setting(False, values.flag)
    #: PAGELETS_REDIS: URL of the Redis server through which several processes share one crawl.
    redis: str = _setting("", values.server)
    #: PAGELETS_REDIS_KEY: name of the shared crawl, which begins all of its keys in Redis.
    redis_key: str = _setting("", values.words)
    #: PAGELETS_REDIS_LEASE: seconds without a sign of life after which other processes take over the requests of one.
    redis_lease: float = _setting(30.0, values.decimal("give seconds, from 1 to 3600", 1, 3600))
    #: PAGELETS_FIELDS: other names for fields of the feed, None to leave a field out; ``lean`` leaves out heavy ones.
    fields: Mapping[str, str | None] = _setting(MappingProxyType({}), values.names(FIELDS, {"lean": _LEAN}))

    def __post_init__(self) -> None:
        for setting in fields(self):
            object.__setattr__(self, setting.name, _read(setting.name, getattr(self, setting.name)))
        if self.duplicates_scope == "auto":  # a thief's copy may come first: nothing is dropped for another site's page
            object.__setattr__(self, "duplicates_scope", "site" if self.duplicates == "drop" else "all")
        if problem := next(self._contradictions(), None):
            raise ConfigError(problem)

    def _contradictions(self) -> Iterator[str]:
        if self.segmenter_weights and self.segmenter not in LEARNT:
            problem = f"PAGELETS_SEGMENTER_WEIGHTS is set, but the segmenter {self.segmenter} has no weights"
            yield f"{problem}: choose PAGELETS_SEGMENTER from {', '.join(LEARNT)}"
        if self.classifier != PAGE_LEVEL and self.detection != CLASSIFIER:
            yield f"PAGELETS_CLASSIFIER is set, but PAGELETS_DETECTION is {self.detection}: set it to {CLASSIFIER}"
        if 2 * self.chunks_overlap > self.chunks:
            yield "PAGELETS_CHUNKS_OVERLAP is too large: give at most half of the words of a chunk (PAGELETS_CHUNKS)"
        if self.chunks_tokens and not self.chunks:
            yield "PAGELETS_CHUNKS_TOKENS is set, but there are no chunks: set PAGELETS_CHUNKS to their number of words"
        if self.changed == ONLY and self.index_purge:
            yield "PAGELETS_INDEX_PURGE deletes the pages that PAGELETS_CHANGED=only leaves out: switch one of them off"
        if self.render and (obstacle := self.obstacle_to_rendering):
            yield f"PAGELETS_RENDER is on, but {obstacle}"
        if self.detection == ETDM and not self.probe:
            needed = "which needs pages that link each other: set PAGELETS_PROBE to their number"
            yield f"PAGELETS_DETECTION is etdm, {needed}"
        alone = [setting_of(name) for name in _NOT_SHARED if getattr(self, name)]
        alone += [f"{setting_of('detection')}={self.detection}"] if self.detection in REPEATED else []
        if self.redis and alone:
            yield f"{alone[0]} cannot be combined with PAGELETS_REDIS: see {DOCS}/shared-crawl.md"
        names = [name for f in FEED if f.is_on(self) and (name := self.field_name(f.name)) is not None]
        for name in names:
            if names.count(name) > 1:
                yield f"PAGELETS_FIELDS gives two fields the name {name}: give each a different name"

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """Read the settings of a crawler or of any mapping; a missing or None setting has its default."""
        all_values = {name: settings.get(setting_of(name)) for name in _READERS}
        return cls(**{name: value for name, value in all_values.items() if value is not None})

    @property
    def lean(self) -> bool:
        """Whether the feed does without what is heavy, and chunks without their paths."""
        return self.fields == _LEAN

    @property
    def segmenter_options(self) -> dict[str, str]:
        """Keyword arguments of the segmenter."""
        return {"weights": self.segmenter_weights} if self.segmenter_weights else {}

    @property
    def switches(self) -> Switches:
        """What the Markdown has beside text."""
        return Switches(**{name: name in self.markdown for name in SWITCHES})

    @property
    def limits(self) -> Limits:
        """Limits on the size of pages that are cleaned."""
        return Limits(self.max_nodes, self.max_size)

    @property
    def obstacle_to_rendering(self) -> str:
        """A missing requirement for cutting rendered pages, and how to install it; "" if there is none."""
        if METHODS[self.segmenter].needs_maxflow and find_spec("maxflow") is None:
            return f"{self.segmenter} needs PyMaxflow for rendered pages: pip install 'scrapy-pagelets[render]'"
        return ""

    def blank_item(self, url: str) -> dict[str, Any]:
        """Return an item of our spiders with the fields of the feed; the pipelines fill the blank ones."""
        wanted = [each for each in FEED if not each.optional and (each.is_on(self) or not self.lean)]
        line: dict[str, Any] = {each.name: [] if each.listed else None for each in wanted} | {"url": url}
        return {field: value for name, value in line.items() if (field := self.field_name(name)) is not None}

    def field_name(self, name: str) -> str | None:
        """Return the name of a feed field in items, None if the field is left out."""
        return self.fields.get(name, name)


_READERS: Final[Mapping[str, values.Reader]] = {f.name: f.metadata["read"] for f in fields(Config)}


def setting_of(name: str) -> str:
    """Return the name of the setting for a field of `Config`: ``PAGELETS_MAX_NODES`` for ``max_nodes``."""
    return f"PAGELETS_{name.upper()}"


def _read(name: str, value: Any) -> Any:
    try:
        return _READERS[name](value)
    except ValueError as error:
        raise ConfigError(f"{setting_of(name)} {error}") from error.__cause__


def unknown(settings: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each unknown setting that looks like one of this plugin."""
    known = {setting_of(name): name.upper() for name in _READERS}
    for name in settings:
        if isinstance(name, str) and name.upper().startswith("PAGELET") and name not in known:
            # The prefix, which all have in common, would make any two names alike.
            stem = name.upper().partition("_")[2]
            closest = get_close_matches(stem, known.values(), 1)
            meant = f"did you mean {setting_of(closest[0].lower())}?" if closest else ""
            advice = meant or f"{DOCS}/settings.md lists all of them"
            yield f"there is no setting {name}: {_REMOVED.get(stem.lower(), advice)}"


def focused(settings: Any) -> bool:
    """True if the settings of a crawler give it a topic; False if the topic settings cannot be used."""
    try:
        return any(_read(name, settings.get(setting_of(name)) or "") for name in ("topic", "topic_pages"))
    except ConfigError:  # the crawl will end with this error
        return False
