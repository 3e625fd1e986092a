"""What a corpus job needs to know; it travels to worker processes and executors."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.document.blocks import Switches
from scrapy_pagelets.duplicates.shingles import SIZE
from scrapy_pagelets.duplicates.threshold import Threshold
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.papers.detections import FUSED, PAGE_LEVEL

#: A site with more pages than this is divided: its pages are learnt, and cleaned, by several tasks.
PART: Final = 1000
#: A site with more pages than this is learnt from this number of its pages.
SAMPLE: Final = 4000
#: Sites are hashed to this number of buckets, by which a job is divided into rounds.
BUCKETS: Final = 1024


class CorpusError(PageletsError, ValueError):
    """Raised for a corpus job that cannot run; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """The settings of a crawl that decide how pages are cleaned, as plain values.

    Attributes
    ----------
    started : when the job began, ``2026-11-20T10:00:00Z``; for pages without a date
    part, sample : pages of a site from which on it is divided, and learnt from a sample
    others : named as the fields of ``session.config.Config``
    """

    started: str
    model: str = LABELLED
    detection: str = FUSED
    classifier: str = PAGE_LEVEL
    strict: float = 0.0
    segmenter: str = "pagelets"
    segmenter_options: dict[str, str] = field(default_factory=dict)
    export: str = "content"
    formats: tuple[str, ...] = ("text",)
    switches: Switches = field(default_factory=Switches)
    chunks: int = 0
    chunks_overlap: int = 0
    rules: str = ""
    limits: Limits = field(default_factory=Limits)
    duplicates: str = "flag"
    threshold: Threshold = field(default_factory=Threshold)
    shingle: int = SIZE
    within_sites: bool = False
    part: int = PART
    sample: int = SAMPLE

    def record(self) -> dict[str, Any]:
        """All values but the time, as JSON writes them: a job may be continued if they are the same."""
        values = {name: value for name, value in asdict(self).items() if name != "started"}
        return values | {"formats": list(self.formats), "threshold": list(self.threshold)}
