"""The record of a page: what the feed says of it, for crawls, the corpus job and the inspector alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from threading import RLock
from typing import Any, Final, Self

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.decision.decision import Decision
from scrapy_pagelets.document.blocks import Block, Switches
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunking import chunk_records, chunks_of, xpaths_of
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.document.units import tokenizer_of
from scrapy_pagelets.evidence.site_counts import PageClass
from scrapy_pagelets.feed.content_words import content_hash, content_of
from scrapy_pagelets.feed.feed_schema import FEED
from scrapy_pagelets.feed.pagelet import Pagelet, pagelets_of, records_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import COMMENTS, CONTENT, ROLES, role_of
from scrapy_pagelets.page.text import cleaned, plain
from scrapy_pagelets.papers.methods import METHODS, labels_of

_DIGITS: Final = 5  # of the share of template, with which the words that were stripped follow from those kept
_SAID: Final = 0.25  # share of the words of a post from which on it is content, but for its author and date


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """The settings that a record depends on, named as the attributes of ``session.config.Config``."""

    segmenter: str = "pagelets"
    segmenter_options: Mapping[str, Any] = field(default_factory=dict)
    export: str = "content"
    formats: tuple[str, ...] = ("text",)
    switches: Switches = field(default_factory=Switches)
    chunks: int = 0
    chunks_overlap: int = 0
    lean: bool = False
    chunks_tokens: int = 0
    tokenizer: str = ""

    @classmethod
    def of(cls, settings: object, **others: Any) -> Self:
        """Take the values from the attributes of settings, unless they are given."""
        names = [each.name for each in fields(cls) if each.name not in others and hasattr(settings, each.name)]
        return cls(**{name: getattr(settings, name) for name in names}, **others)


@dataclass(frozen=True, eq=False)
class PageRecord:
    """What the feed says of a page: each field is an attribute, computed when it is read, in any thread."""

    page: Page
    decision: Decision  # what of it is template
    page_class: PageClass | None = None  # the class of the page when it was decided; None without one
    fetched_at: str = ""  # when it was fetched
    options: RecordOptions = field(default_factory=RecordOptions)  # what is wanted
    _cut: dict[bool, list[Pagelet]] = field(default_factory=dict, init=False, repr=False)
    _lock: RLock = field(default_factory=RLock, init=False, repr=False)

    def values(self, *steps: str, **known: Any) -> dict[str, Any]:
        """Return the fields of some steps that the options ask for, in their order; ``known`` need not be computed."""
        headline, page = self.decision.headline, self.page
        about: dict[str, Any] = {"url": page.url, "title": page.title, "headline": headline.text if headline else None}
        about |= {"language": page.language, "fetched_at": self.fetched_at, "robots": list(page.marks.robots)}
        known = about | self.decision.metadata.fields | known
        names = [each.name for each in FEED if each.step in steps and each.is_on(self.options)]
        return {name: known[name] if name in known else getattr(self, name) for name in names}

    @cached_property
    def text(self) -> str:
        """The content as text."""
        return plain(self.page.nodes, self.decision.content)

    @property
    def comments(self) -> str | None:
        """What readers say of the page, as text; None if they say nothing, and of a number of comments alone."""
        text = plain(self.page.nodes, self.decision.roles == ROLES.index(COMMENTS))
        return text if any(map(str.isalpha, text)) else None

    @property
    def posts(self) -> list[dict[str, Any]]:
        """The posts of a thread, or the comments of readers: who wrote each of them, and when."""
        page, decision = self.page, self.decision
        leaves = [np.array(post.leaves, np.int64) for post in decision.metadata.thread.posts]
        words, kept = page.nodes.words, decision.content
        means = [float(np.average(decision.templateness[own], weights=words[own] + 1)) for own in leaves]
        for number, post in enumerate(decision.metadata.thread.posts):  # a quotation may be longer than the answer
            text = np.setdiff1d(leaves[number], (*post.profile, *post.line))
            if words[text].any():
                means[number] *= (words * kept)[text].sum() < _SAID * words[text].sum()
        roles = [role_of(page.nodes, own, mean, decision.roles) for own, mean in zip(leaves, means, strict=True)]
        return [
            {"author": post.author, "published": post.published, "role": role, "xpaths": xpaths_of(page, own)}
            for post, role, own in zip(decision.metadata.thread.posts, roles, leaves, strict=True)
            if role in (CONTENT, COMMENTS)
        ]

    @property
    def markdown(self) -> str:
        """The content as Markdown."""
        return markdown_of(self._document)

    @property
    def html(self) -> str:
        """The content as HTML."""
        return cleaned(self.page, self.decision.content)

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """Pieces of the content for retrieval."""
        number = {leaf: pagelet.id for pagelet in self.content for leaf in pagelet.index.tolist()}
        for post, told in enumerate(self.decision.metadata.thread.posts):  # author and date stay with what they wrote
            number |= dict.fromkeys(told.leaves, ~post)
        options, size = self.options, tokenizer_of(self.options.tokenizer)
        chunks = chunks_of(self._document, options.chunks, options.chunks_overlap, number, options.chunks_tokens, size)
        records = chunk_records(self.page, self._document, chunks, self.decision.templateness, size)
        if options.lean:
            return [{name: value for name, value in each.items() if name != "xpaths"} for each in records]
        return records

    @property
    def pagelets(self) -> list[dict[str, Any]]:
        """The pagelets that are exported."""
        return records_of(self.exported)

    @property
    def template(self) -> dict[str, Any] | None:
        """The template of the page; None for a page without a class."""
        if self.page_class is None:
            return None
        words = self.words_of_page
        share = round((words - self.words_of_content) / words, _DIGITS) if words else 0.0
        return {"id": self.page_class.id, "pages": self.page_class.pages, "share": share}

    @property
    def content_hash(self) -> str | None:
        """Hash of the words of the content; None without content."""
        return content_hash(content_of(self.page.nodes, self.decision.content))

    def cut(self, *, whole: bool = False) -> list[Pagelet]:
        """Cut the page into pagelets, once. ``whole``: do not divide pagelets that have both content and template."""
        with self._lock:
            if whole not in self._cut:
                of_leaves = self.decision.templateness, self.decision.roles
                self._cut[whole] = pagelets_of(self.page, self._labels, *of_leaves, whole=whole)
            return self._cut[whole]

    @property
    def content(self) -> list[Pagelet]:
        """The pagelets that are not template."""
        return [pagelet for pagelet in self.cut() if pagelet.role == CONTENT]

    @property
    def exported(self) -> list[Pagelet]:
        """The pagelets of the field ``pagelets``."""
        if self.options.export == "content":
            return self.content
        return self.cut(whole=METHODS[self.options.segmenter].whole)

    @property
    def words_of_page(self) -> int:
        """Number of the words of the page."""
        return int(self.page.nodes.words.sum())

    @cached_property
    def words_of_content(self) -> int:
        """Number of the words of the content."""
        return int(self.page.nodes.words[self.decision.content].sum())

    @cached_property
    def _document(self) -> Block:
        decision = self.decision
        return document_of(self.page, decision.content, decision.headline, self.options.switches, decision.repeated)

    @cached_property
    def _labels(self) -> Ints:
        options = self.options
        return labels_of(self.page, options.segmenter, self.decision.templateness, **options.segmenter_options)
