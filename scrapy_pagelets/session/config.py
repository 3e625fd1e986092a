"""Every setting with its default and its check, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final, Self

from scrapy_pagelets.duplicates.threshold import LEAST, Threshold
from scrapy_pagelets.errors import ConfigError
from scrapy_pagelets.limits import Limits
from scrapy_pagelets.session import values

FORMATS: Final = ("text", "markdown", "html")
#: The fields of the feed, by the name that other tools know them by.
FIELDS: Final = (
    "url", "title", "language", "fetched_at", *FORMATS, "pagelets", "blocks", "template",
    "near_duplicate_of", "similarity", "sketch",
)  # fmt: skip
SEGMENTERS: Final = (
    "pagelets", "pagelets-strict", "gcuts-top", "gcuts", "gcuts-strict", "gcuts-np", "gcuts-nl", "cclus",
    "vips", "vips-top", "vips-strict",
)  # fmt: skip
#: Those that cut rendered pages by maximum flows.
EXPANDING: Final = ("gcuts-strict", "gcuts-np", "gcuts-nl")
#: Those that have learnt what they cost.
LEARNT: Final = ("gcuts-top", "gcuts", *EXPANDING, "cclus")
EXPORTS: Final = ("content", "all")
DETECTIONS: Final = ("off", "count", "local", "global")
DUPLICATES: Final = ("flag", "drop", "off")
SCOPES: Final = ("all", "site")

_PREFIX: Final = "PAGELETS_"
#: What begins so is meant for us, or nearly.
_LIKE_OURS: Final = "PAGELET"
_RESEMBLANCE: Final = values.decimal(f"give a resemblance from {LEAST} to 1", LEAST, 1)


def _setting(default: Any, read: values.Reader) -> Any:
    """A field of `Config`: the setting of its name, its default, and what reads and checks a value of it."""
    return field(default_factory=lambda: default, metadata={"read": read})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The ``PAGELETS_*`` settings; ``docs/settings.md`` explains each.

    Raises
    ------
    ConfigError : at once, for every value that cannot be used
    """

    #: PAGELETS_PROBE: how many pages shall link each other before a template is believed; 0 loads none.
    probe: int = _setting(
        4,
        values.whole("give 0 to load no pages, or how many shall link each other, from 2", lambda n: n == 0 or n >= 2),
    )
    #: PAGELETS_PRIVATE_ADDRESSES: whether links are followed to private addresses that the crawl was not started on.
    private_addresses: bool = _setting(False, values.flag)
    #: PAGELETS_SETTLE: how many pages of a site the spider `site` waits for before it hands out the first one.
    settle: int = _setting(100, values.whole("give a number of pages, from 1", lambda n: n >= 1))
    #: PAGELETS_MAX_NODES: elements and comments of a page that is cleaned; a larger one goes through as it is.
    max_nodes: int = _setting(Limits().nodes, values.whole("give a number of nodes, from 1", lambda n: n >= 1))
    #: PAGELETS_MAX_SIZE: bytes of a page that is cleaned.
    max_size: int = _setting(Limits().size, values.whole("give a number of bytes, from 1", lambda n: n >= 1))
    #: PAGELETS_SEGMENTER: how pages are cut into pagelets.
    segmenter: str = _setting("pagelets", values.choice(SEGMENTERS))
    #: PAGELETS_SEGMENTER_WEIGHTS: file of weights of GCuts and CClus, instead of those that are shipped.
    segmenter_weights: str = _setting("", values.path)
    #: PAGELETS_VIPS_TREE: whether items get the visual blocks of their page, a tree with degrees of coherence.
    vips_tree: bool = _setting(False, values.flag)
    #: PAGELETS_EXPORT: which pagelets are exported.
    export: str = _setting("content", values.choice(EXPORTS))
    #: PAGELETS_FORMATS: in which forms the content is exported.
    formats: tuple[str, ...] = _setting(("text",), values.choices(FORMATS))
    #: PAGELETS_MODEL: name of a shipped model or path of one of your own, which weighs what speaks for template.
    model: str = _setting("labelled", values.path)
    #: PAGELETS_DETECTION: whether pagelets that pages share are counted, and whether that alone is the template.
    detection: str = _setting("off", values.choice(DETECTIONS))
    #: PAGELETS_STORE: folder in which what is learnt of the sites is kept; the job directory if there is one.
    store: str = _setting("", values.path)
    #: PAGELETS_RENDER: whether pages are rendered in a browser; request meta ``pagelets_render`` wins.
    render: bool = _setting(False, values.flag)
    #: PAGELETS_RENDER_SCRIPTS: whether scripts of rendered pages run.
    render_scripts: bool = _setting(True, values.flag)
    #: PAGELETS_RENDER_TIMEOUT: seconds that rendering a page may take.
    render_timeout: float = _setting(30.0, values.decimal("give seconds, from 1 to 3600", 1, 3600))
    #: PAGELETS_DUPLICATES: what becomes of near-duplicates.
    duplicates: str = _setting("flag", values.choice(DUPLICATES))
    #: PAGELETS_DUPLICATES_THRESHOLD: how much contents of a site must resemble each other to be near-duplicates.
    duplicates_threshold: float = _setting(Threshold().within, _RESEMBLANCE)
    #: PAGELETS_DUPLICATES_THRESHOLD_ACROSS: the same for contents of two sites.
    duplicates_threshold_across: float = _setting(Threshold().across, _RESEMBLANCE)
    #: PAGELETS_DUPLICATES_SHINGLE: words of a shingle.
    duplicates_shingle: int = _setting(5, values.whole("give words, from 1", lambda n: n >= 1))
    #: PAGELETS_DUPLICATES_SCOPE: with which pages a page is compared.
    duplicates_scope: str = _setting("all", values.choice(SCOPES))
    #: PAGELETS_PRIORITY: whether requests get priorities; a topic switches it on as well.
    priority: bool = _setting(False, values.flag)
    #: PAGELETS_TOPIC: words that say what the crawl is about.
    topic: str = _setting("", values.words)
    #: PAGELETS_TOPIC_PAGES: files of pages that are about it: HTML, or feeds.
    topic_pages: tuple[str, ...] = _setting((), values.paths)
    #: PAGELETS_INDEX: the search index that pages are written to; none without it.
    index: str = _setting("", values.index)
    #: PAGELETS_INDEX_PURGE: whether a crawl that has finished deletes the pages of its sites that it has not seen.
    index_purge: bool = _setting(False, values.flag)
    #: PAGELETS_FIELDS: other names for fields of the feed, None to leave one out.
    fields: Mapping[str, str | None] = _setting(MappingProxyType({}), values.names(FIELDS))

    def __post_init__(self) -> None:
        for setting in fields(self):
            object.__setattr__(self, setting.name, _read(setting.name, getattr(self, setting.name)))
        if self.segmenter_weights and self.segmenter not in LEARNT:
            raise ConfigError(
                f"PAGELETS_SEGMENTER_WEIGHTS is set, but {self.segmenter} has none: "
                f"choose PAGELETS_SEGMENTER from {', '.join(LEARNT)}"
            )
        if self.render and (obstacle := self.obstacle_to_rendering):
            raise ConfigError(f"PAGELETS_RENDER is on, but {obstacle}")
        if (name := self._doubled()) is not None:
            raise ConfigError(f"PAGELETS_FIELDS gives two fields the name {name}: give each a name of its own")
        if "markdown" in self.formats and find_spec("markdownify") is None:
            raise ConfigError(
                "PAGELETS_FORMATS has markdown, which needs a library: pip install 'scrapy-pagelets[markdown]'"
            )

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """Read the settings of a crawler, or of any mapping; one that is None has its default."""
        given = {name: settings.get(setting_of(name)) for name in _READERS}
        return cls(**{name: value for name, value in given.items() if value is not None})

    @property
    def options(self) -> dict[str, str]:
        """Options of the segmenter."""
        return {"weights": self.segmenter_weights} if self.segmenter_weights else {}

    @property
    def limits(self) -> Limits:
        """What a page may have at the most."""
        return Limits(self.max_nodes, self.max_size)

    @property
    def obstacle_to_rendering(self) -> str:
        """What is missing to cut rendered pages, and how to get it; "" if nothing is."""
        if self.segmenter in EXPANDING and find_spec("maxflow") is None:
            return f"{self.segmenter} needs PyMaxflow for rendered pages: pip install 'scrapy-pagelets[render]'"
        return ""

    def _doubled(self) -> str | None:
        """A name that two fields of the same item have."""
        unset = {*FORMATS} - {*self.formats} | ({"blocks"} if not self.vips_tree else set())
        names = [name for f in FIELDS if f not in unset and (name := self.field_name(f)) is not None]
        return next((name for name in names if names.count(name) > 1), None)

    def field_name(self, name: str) -> str | None:
        """The item's name of a field of the feed, None if it is left out."""
        return self.fields.get(name, name)


_READERS: Final[Mapping[str, values.Reader]] = {f.name: f.metadata["read"] for f in fields(Config)}


def setting_of(name: str) -> str:
    """The setting that a field of `Config` holds.

    >>> setting_of("vips_tree")
    'PAGELETS_VIPS_TREE'
    """
    return _PREFIX + name.upper()


def _read(name: str, value: Any) -> Any:
    try:
        return _READERS[name](value)
    except ValueError as error:
        raise ConfigError(f"{setting_of(name)} {error}") from error.__cause__


def unknown(settings: Iterable[str]) -> Iterator[str]:
    """A sentence for each setting that looks like one of ours and is none.

    >>> list(unknown(["PAGELETS_PROBE", "PAGELET_FILEDS", "BOT_NAME"]))
    ['there is no setting PAGELET_FILEDS: did you mean PAGELETS_FIELDS?']
    """
    known = [setting_of(name) for name in _READERS]
    for name in settings:
        if isinstance(name, str) and name.upper().startswith(_LIKE_OURS) and name not in known:
            near = get_close_matches(name.upper(), known, 1, 0.0)
            yield f"there is no setting {name}: did you mean {near[0]}?"


def focused(settings: Any) -> bool:
    """True if the settings of a crawler give it a topic; False if what they give cannot be used."""
    try:
        return any(_read(name, settings.get(setting_of(name)) or "") for name in ("topic", "topic_pages"))
    except ConfigError:  # the crawl will end with it
        return False
