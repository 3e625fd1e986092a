"""Every setting with its default, read in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final, Self

from scrapy_pagelets.duplicates.threshold import LEAST, Threshold
from scrapy_pagelets.index.base import IndexUnusable
from scrapy_pagelets.index.targets import kind_of
from scrapy_pagelets.limits import Limits

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


class ConfigError(ValueError):
    """A setting has a value that cannot be used; the message names the setting and says what it takes."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The ``PAGELETS_*`` settings; ``docs/settings.md`` explains each.

    Raises
    ------
    ConfigError : at once, for every value that cannot be used
    """

    #: PAGELETS_PROBE: how many pages shall link each other before a template is believed; 0 loads none.
    probe: int = 4
    #: PAGELETS_SETTLE: how many pages of a site the spider `site` waits for before it hands out the first one.
    settle: int = 100
    #: PAGELETS_MAX_NODES: elements and comments of a page that is cleaned; a larger one goes through as it is.
    max_nodes: int = Limits().nodes
    #: PAGELETS_MAX_SIZE: bytes of a page that is cleaned.
    max_size: int = Limits().size
    #: PAGELETS_SEGMENTER: how pages are cut into pagelets.
    segmenter: str = "pagelets"
    #: PAGELETS_SEGMENTER_WEIGHTS: file of weights of GCuts and CClus, instead of those that are shipped.
    weights: str = ""
    #: PAGELETS_VIPS_TREE: whether items get the visual blocks of their page, a tree with degrees of coherence.
    vips_tree: bool = False
    #: PAGELETS_EXPORT: which pagelets are exported.
    export: str = "content"
    #: PAGELETS_FORMATS: in which forms the content is exported.
    formats: tuple[str, ...] = ("text",)
    #: PAGELETS_MODEL: name of a shipped model or path of one of your own, which weighs what speaks for template.
    model: str = "labelled"
    #: PAGELETS_DETECTION: whether pagelets that pages share are counted, and whether that alone is the template.
    detection: str = "off"
    #: PAGELETS_STORE: folder in which what is learnt of the sites is kept; the job directory if there is one.
    store: str = ""
    #: PAGELETS_RENDER: whether pages are rendered in a browser; request meta ``pagelets_render`` wins.
    render: bool = False
    #: PAGELETS_RENDER_SCRIPTS: whether scripts of rendered pages run.
    render_scripts: bool = True
    #: PAGELETS_RENDER_TIMEOUT: seconds that rendering a page may take.
    render_timeout: float = 30.0
    #: PAGELETS_DUPLICATES: what becomes of near-duplicates.
    duplicates: str = "flag"
    #: PAGELETS_DUPLICATES_THRESHOLD: how much contents of a site must resemble each other to be near-duplicates.
    duplicates_threshold: float = Threshold().within
    #: PAGELETS_DUPLICATES_THRESHOLD_ACROSS: the same for contents of two sites.
    duplicates_threshold_across: float = Threshold().across
    #: PAGELETS_DUPLICATES_SHINGLE: words of a shingle.
    duplicates_shingle: int = 5
    #: PAGELETS_DUPLICATES_SCOPE: with which pages a page is compared.
    duplicates_scope: str = "all"
    #: PAGELETS_PRIORITY: whether requests get priorities; a topic switches it on as well.
    priority: bool = False
    #: PAGELETS_TOPIC: words that say what the crawl is about.
    topic: str = ""
    #: PAGELETS_TOPIC_PAGES: files of pages that are about it: HTML, or feeds.
    topic_pages: tuple[str, ...] = ()
    #: PAGELETS_INDEX: the search index that pages are written to; none without it.
    index: str = ""
    #: PAGELETS_INDEX_PURGE: whether a crawl that has finished deletes the pages of its sites that it has not seen.
    index_purge: bool = False
    #: PAGELETS_FIELDS: other names for fields of the feed, None to leave one out.
    fields: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if self.probe < 0 or self.probe == 1:
            raise ConfigError(
                f"PAGELETS_PROBE is {self.probe}: give 0 to load no pages, or how many shall link each other, from 2"
            )
        if self.settle < 1:
            raise ConfigError(f"PAGELETS_SETTLE is {self.settle}: give a number of pages, from 1")
        if self.max_nodes < 1:
            raise ConfigError(f"PAGELETS_MAX_NODES is {self.max_nodes}: give a number of nodes, from 1")
        if self.max_size < 1:
            raise ConfigError(f"PAGELETS_MAX_SIZE is {self.max_size}: give a number of bytes, from 1")
        if not 1 <= self.render_timeout <= 3600:
            raise ConfigError(f"PAGELETS_RENDER_TIMEOUT is {self.render_timeout:g}: give seconds, from 1 to 3600")
        _one_of("PAGELETS_SEGMENTER", [self.segmenter], SEGMENTERS)
        if self.weights and self.segmenter not in LEARNT:
            raise ConfigError(
                f"PAGELETS_SEGMENTER_WEIGHTS is set, but {self.segmenter} has none: "
                f"choose PAGELETS_SEGMENTER from {', '.join(LEARNT)}"
            )
        if self.render and (obstacle := self.obstacle_to_rendering):
            raise ConfigError(f"PAGELETS_RENDER is on, but {obstacle}")
        _one_of("PAGELETS_EXPORT", [self.export], EXPORTS)
        _one_of("PAGELETS_FORMATS", self.formats, FORMATS)
        _one_of("PAGELETS_DETECTION", [self.detection], DETECTIONS)
        _one_of("PAGELETS_DUPLICATES", [self.duplicates], DUPLICATES)
        _one_of("PAGELETS_DUPLICATES_SCOPE", [self.duplicates_scope], SCOPES)
        _threshold("PAGELETS_DUPLICATES_THRESHOLD", self.duplicates_threshold)
        _threshold("PAGELETS_DUPLICATES_THRESHOLD_ACROSS", self.duplicates_threshold_across)
        if self.duplicates_shingle < 1:
            raise ConfigError(f"PAGELETS_DUPLICATES_SHINGLE is {self.duplicates_shingle}: give words, from 1")
        if not isinstance(self.topic, str):
            raise ConfigError(f"PAGELETS_TOPIC is {self.topic!r}: give words, in one string")
        _one_of("PAGELETS_FIELDS", self.fields, FIELDS)
        if self.index:
            try:
                kind_of(self.index)
            except IndexUnusable as error:
                raise ConfigError(f"PAGELETS_INDEX cannot be used: {error}") from error
        if "markdown" in self.formats and find_spec("markdownify") is None:
            raise ConfigError(
                "PAGELETS_FORMATS has markdown, which needs a library: pip install 'scrapy-pagelets[markdown]'"
            )

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """Read the settings of a crawler, or of any object with Scrapy's ``getint``, ``getlist`` and ``getdict``."""
        default = {f.name: f for f in fields(cls)}
        try:
            return cls(
                probe=settings.getint("PAGELETS_PROBE", default["probe"].default),
                settle=settings.getint("PAGELETS_SETTLE", default["settle"].default),
                max_nodes=settings.getint("PAGELETS_MAX_NODES", default["max_nodes"].default),
                max_size=settings.getint("PAGELETS_MAX_SIZE", default["max_size"].default),
                segmenter=settings.get("PAGELETS_SEGMENTER", default["segmenter"].default),
                weights=settings.get("PAGELETS_SEGMENTER_WEIGHTS", default["weights"].default),
                vips_tree=settings.getbool("PAGELETS_VIPS_TREE", default["vips_tree"].default),
                export=settings.get("PAGELETS_EXPORT", default["export"].default),
                formats=tuple(settings.getlist("PAGELETS_FORMATS", default["formats"].default)),
                model=settings.get("PAGELETS_MODEL", default["model"].default),
                detection=settings.get("PAGELETS_DETECTION", default["detection"].default),
                store=settings.get("PAGELETS_STORE", default["store"].default),
                render=settings.getbool("PAGELETS_RENDER", default["render"].default),
                render_scripts=settings.getbool("PAGELETS_RENDER_SCRIPTS", default["render_scripts"].default),
                render_timeout=settings.getfloat("PAGELETS_RENDER_TIMEOUT", default["render_timeout"].default),
                duplicates=settings.get("PAGELETS_DUPLICATES", default["duplicates"].default),
                duplicates_threshold=settings.getfloat(
                    "PAGELETS_DUPLICATES_THRESHOLD", default["duplicates_threshold"].default
                ),
                duplicates_threshold_across=settings.getfloat(
                    "PAGELETS_DUPLICATES_THRESHOLD_ACROSS", default["duplicates_threshold_across"].default
                ),
                duplicates_shingle=settings.getint(
                    "PAGELETS_DUPLICATES_SHINGLE", default["duplicates_shingle"].default
                ),
                duplicates_scope=settings.get("PAGELETS_DUPLICATES_SCOPE", default["duplicates_scope"].default),
                priority=settings.getbool("PAGELETS_PRIORITY", default["priority"].default),
                topic=settings.get("PAGELETS_TOPIC", default["topic"].default),
                topic_pages=tuple(settings.getlist("PAGELETS_TOPIC_PAGES", default["topic_pages"].default)),
                index=settings.get("PAGELETS_INDEX", default["index"].default),
                index_purge=settings.getbool("PAGELETS_INDEX_PURGE", default["index_purge"].default),
                fields=settings.getdict("PAGELETS_FIELDS"),
            )
        except ConfigError:
            raise
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"a PAGELETS_ setting has a value of the wrong kind: {error}; see docs/settings.md"
            ) from error

    @property
    def options(self) -> dict[str, str]:
        """Options of the segmenter."""
        return {"weights": self.weights} if self.weights else {}

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

    def field_name(self, name: str) -> str | None:
        """The item's name of a field of the feed, None if it is left out."""
        return self.fields.get(name, name)


def focused(settings: Any) -> bool:
    """True if the settings of a crawler give it a topic."""
    return bool(str(settings.get("PAGELETS_TOPIC", "")).strip() or settings.getlist("PAGELETS_TOPIC_PAGES"))


def _one_of(setting: str, values: Any, allowed: tuple[str, ...]) -> None:
    for value in values:
        if value not in allowed:
            raise ConfigError(f"{setting} has {value!r}: choose from {', '.join(allowed)}")


def _threshold(setting: str, value: float) -> None:
    if not LEAST <= value <= 1:  # nor is "nan"
        raise ConfigError(f"{setting} is {value}: give a resemblance from {LEAST} to 1")
