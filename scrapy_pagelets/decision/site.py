"""A site: what is learnt from its pages, and which parts of a page are template according to that."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base import display as notebook
from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.cut import shifted
from scrapy_pagelets.decision.model import LABELLED, Model, load, site_parts
from scrapy_pagelets.decision.page_features import site_features
from scrapy_pagelets.evidence.class_template import ClassTemplate, KeptPage
from scrapy_pagelets.evidence.evidence import Column, Counts, differing, keys_of, pages_alike, pictures_of
from scrapy_pagelets.evidence.site_counts import Observation, PageClass, SiteCounts, Unsaved, body_of
from scrapy_pagelets.metadata.dates import Habits, keys_asked
from scrapy_pagelets.page.page import Page

_ALIKE: Final = 3  # other pages with a picture from which on it may be template


class Site(Unsaved[Observation]):
    """One site, learnt page by page. Thread-safe.

    Parameters
    ----------
    name : registrable domain, or host and port
    model : name or path of the model that combines the evidence
    strict : -1 to 1, see `cut.shifted`

    Attributes
    ----------
    learnt : everything learnt from the pages of the site

    Examples
    --------
    >>> site = Site("example.com")
    >>> for name in ("a", "b", "c"):
    ...     menu = "<div id=menu><a href=a>A</a> <a href=b>B</a> <a href=c>C</a></div>"
    ...     page = Page.parse(f"{menu}<p>All there is to say of {name}.".encode(), f"http://example.com/{name}")
    ...     page_class = site.learn(page)
    >>> site.pages, page_class.id
    (3, 'example.com#1')
    """

    def __init__(self, name: str, model: str = LABELLED, strict: float = 0.0) -> None:
        super().__init__()
        self.name = name
        self.learnt = SiteCounts(name)
        self._model = model
        self._strict = strict

    @property
    def model(self) -> Model:
        """The model that combines the evidence."""
        return load(self._model)

    @property
    def counts(self) -> Counts:
        """Counts of the fragments of all pages."""
        return self.learnt.counts

    @property
    def classes(self) -> list[PageClass]:
        """The page classes seen so far."""
        return self.learnt.classes

    @property
    def pages(self) -> int:
        """Number of distinct pages learnt; copies of one text count once."""
        return self.counts.pages

    def _repr_html_(self) -> str:
        classes = sorted(self.classes, key=lambda one: -one.pages)[: notebook.MOST]
        rows = [(one.id, one.pages, "no" if one.subdigraph_template is None else "yes") for one in classes]
        head = ("class of pages", "pages", "template from pages that link each other")
        note = f"Pages known: {self.pages:,}. Classes of pages: {len(self.classes):,}."
        return notebook.table(self.name, head, rows, note)

    def fits(self, page_outline: frozenset[int]) -> bool:
        """Return True if pages with this outline belong to a known class, or join the nearest one; does not lock."""
        return self.learnt.fitting(page_outline) is not None

    def has_set(self, page_outline: frozenset[int]) -> bool:
        """Return True if a complete subdigraph was found for the class of pages with this outline."""
        with self.lock:
            page_class = self.learnt.fitting(page_outline)
            return page_class is not None and page_class.subdigraph_template is not None

    @property
    def size(self) -> int:
        """Number of entries in memory, see `SiteCounts.size`."""
        with self.lock:
            return self.learnt.size

    def known(self, key: int) -> tuple[frozenset[int], PageClass, KeptPage] | None:
        """Return links and class of a page that was learnt, and the page itself; None if it was not kept."""
        with self.lock:
            links, page_class = self.learnt.links.get(key), self.learnt.counted_class(key)
            source = self.learnt.kept.get(key)
            return None if links is None or page_class is None or source is None else (links, page_class, source)

    def learn(self, page: Page, *, keep: bool = False) -> PageClass:
        """Count a page, once for each URL and each text; returns its class.

        ``keep``: keep the page, if it is among the first of its class, for subdigraphs that are found later.
        """
        with self.lock:
            if (page_class := self.learnt.counted_class(page.key)) is not None:
                return page_class
            is_copy = self.learnt.knows(page)
            observation = Observation.of(page, None if is_copy else self.model.page_evidence(page).odds)
            if keep and self.learnt.keeps(observation):
                observation.source = KeptPage.of(page)
            self.append(observation)
            page_class = self.learnt.count(observation)
            if page_class.template is None:
                page_class.template = ClassTemplate.of_page(page)
            elif not is_copy:
                page_class.template.count(page)
            return page_class

    def learn_set(self, key_page: Page, pages: Sequence[Page]) -> PageClass:
        """Count the pages of a complete subdigraph; what they share is the template of the key page's class.

        A page of the set with another outline is counted with its own class.

        ``pages``: its pages other than the key page, at least one; if all are copies of it, they define no template.
        """
        distinct = {body_of(page): page for page in (*pages, key_page)}  # copies have their content in common, too
        others = [page for page in distinct.values() if page is not key_page]
        template = ClassTemplate.of_set(key_page, others) if others else None
        page_class = self.learn(key_page, keep=True)
        for page in pages:
            self.learn(page, keep=True)
        with self.lock:
            page_class = self.learnt.counted_class(key_page.key) or page_class
            page_class.template = template or page_class.template
        return page_class

    def page_class(self, page: Page) -> PageClass | None:
        """The class of a page, None if it is new."""
        with self.lock:
            return self.learnt.page_class(page)

    def templateness(self, page: Page, strict: float = 0.0) -> Floats:
        """(m,) templateness of each leaf, 0 to 1: how certainly it belongs to the template.

        ``strict``: how much stricter the cut of this page is than that of others, see `cut.shifted`.
        """
        with self.lock:
            evidence = self.model.page_evidence(page)
            others, of_site = self.evidence(page, evidence.odds)
            odds = self.model.decision(*site_parts(evidence, of_site)) if others else evidence.in_context
            return sigmoid(shifted(self.model.cut, page.nodes, odds, others, self._strict + strict))

    def roles(self, page: Page, templateness: Floats) -> Ints:
        """(m,) the role of each leaf, see `Model.roles_of`."""
        with self.lock:
            return self.model.roles_of(page, templateness)

    def pages_alike(self, page: Page) -> Ints:
        """(m,) number of other pages that have the text of each leaf at the same path.

        Of a text with digits, it is estimated from how often two pages differ there.
        """
        with self.lock:
            return pages_alike(self.counts.tables, page.nodes, keys_of(page), self.learnt.knows(page))

    def pages_with_text(self, page: Page) -> Ints:
        """(m,) number of other pages that have the text of each leaf, at any place."""
        return self._other_pages("text", keys_of(page).text, page)

    def pages_with_place(self, page: Page) -> Ints:
        """(m,) number of other pages that have any text at the path of each leaf."""
        return self._other_pages("path", page.nodes.path[page.nodes.leaves], page)

    def differing(self, page: Page) -> Floats:
        """(m,) how likely two other pages differ in the text at the path of each leaf, as `SiteEvidence.values`."""
        with self.lock:
            return differing(self.counts.tables["path"], page.nodes, keys_of(page), self.learnt.knows(page))

    def _other_pages(self, table: str, keys: Ints, page: Page) -> Ints:
        with self.lock:
            pages = self.counts.tables[table].pages(keys) - self.learnt.knows(page)
            return np.rint(np.maximum(pages, 0)).astype(np.int64)

    def repeated_pictures(self, page: Page) -> Ints:
        """(k,) rows of the pictures that most other pages show at such a place, three at least."""
        rows, keys = pictures_of(page)
        if not len(rows):
            return rows
        with self.lock:
            pages = self.counts.tables["target"].pages(keys).astype(np.int64) - self.learnt.knows(page)
            return rows[pages >= max(_ALIKE, (self.pages - 1) / 2)]

    def habits(self, page: Page) -> Habits:
        """What the pages of the site tell alike, of what a page asks for."""
        keys = keys_asked(page)
        with self.lock:
            told = self.counts.tables["told"].pages(np.array(keys, np.int64))
            return Habits(self.pages, dict(zip(keys, told.tolist(), strict=True)))

    def in_subdigraph_template(self, page: Page) -> Bools:
        """(m,) whether each leaf is in the template of a complete subdigraph; no leaf if the site has none.

        A page whose class has none gets the template of another class, of those the one that explains most words.
        Source: Alarte et al. 2014, Algorithms 1 and 2.
        """
        with self.lock:
            own = self.learnt.page_class(page)
            classes = [own] if own and own.subdigraph_template else self.learnt.classes
            templates = [template for one in classes if (template := one.subdigraph_template)]
        leaves = [template.rows_of(page)[page.nodes.leaves] for template in templates]
        nothing = np.zeros(len(page.nodes.leaves), np.bool_)
        return max(leaves, key=lambda found: int(page.nodes.words[found].sum()), default=nothing)

    def count(self, page: Page, odds: Floats) -> PageClass:
        """Count a page with the (n, CLASSIFIERS) log odds of the page-level classifiers; not thread-safe."""
        observation = Observation.of(page, odds)
        self.append(observation)
        return self.learnt.count(observation)

    def evidence(self, page: Page, odds: Floats) -> tuple[int, NDArray[np.float32]]:
        """The number of other pages of the family of a page, and (m, features) their evidence about each leaf.

        Not thread-safe. Without such pages, the evidence means nothing, see `Counts.family`.

        ``odds``: (n, CLASSIFIERS) log odds of the page-level classifiers.
        """
        page_class, known = self.learnt.page_class(page), self.learnt.knows(page)
        of_class = max(page_class.pages if page_class else 0, known)  # a copy may be alone in its class
        number = page_class.number if page_class else 0
        keys, mixed = keys_of(page), self.learnt.full
        evidence = self.counts.evidence(page.nodes, keys, odds, number, of_class, known, mixed=mixed)
        return evidence.pages, site_features(page, evidence, odds, min(of_class - known, evidence.pages))

    def arrays(self) -> dict[str, Column]:
        """Everything learnt, as columns."""
        with self.lock:
            return self.learnt.arrays()

    def replace(self, learnt: SiteCounts) -> None:
        """Continue from the counts of a store, and add the observations recorded since `hand_over`."""
        with self.lock:
            learnt.count_new(self.entries or ())
            learnt.adopt_templates(self.learnt)
            self.learnt = learnt
