"""A site: what has been learnt of it, and what that says of a page."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Bools, Floats, Ints, NodeTable
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.evidence import Column, Counts, keys_of
from scrapy_pagelets.templates.isotonic import smooth
from scrapy_pagelets.templates.journal import Journal
from scrapy_pagelets.templates.model import LABELLED, Model, load
from scrapy_pagelets.templates.page_features import site_features
from scrapy_pagelets.templates.site_counts import Observation, SiteCounts, Template
from scrapy_pagelets.templates.trees import sigmoid

#: What a further section must gain, in words on a log scale; levels of the grid of templateness.
_SECTION: Final = 0.3
_GRID: Final = 16
#: A word is content if it is so likely so, of the mean of the page's content words: with other pages known, and alone.
KNOWN, ALONE = 0.5, 0.6
#: No word is content that is less likely so than this.
_LEAST: Final = 0.02


class Site(Journal[Observation]):
    """One site, learnt page by page. Safe for several threads.

    Parameters
    ----------
    name : registrable domain, or host and port
    model : name or path of the model that weighs the witnesses

    Attributes
    ----------
    learnt : all that is known of the site

    Examples
    --------
    >>> site = Site("example.com")
    >>> for name in ("a", "b", "c"):
    ...     menu = "<div id=menu><a href=a>A</a> <a href=b>B</a> <a href=c>C</a></div>"
    ...     page = Page.parse(f"{menu}<p>All there is to say of {name}.".encode(), f"http://example.com/{name}")
    ...     template = site.learn(page)
    >>> site.pages, template.id
    (3, 'example.com#1')
    """

    def __init__(self, name: str, model: str = LABELLED) -> None:
        super().__init__()
        self.name = name
        self.learnt = SiteCounts(name)
        self._model = model

    @property
    def model(self) -> Model:
        """What weighs the witnesses."""
        return load(self._model)

    @property
    def counts(self) -> Counts:
        """Fragments of all pages."""
        return self.learnt.counts

    @property
    def templates(self) -> list[Template]:
        """The classes of pages seen so far."""
        return self.learnt.templates

    @property
    def links(self) -> OrderedDict[int, frozenset[int]]:
        """Keys of the pages that a page links to, by its key, of the last pages."""
        return self.learnt.links

    @property
    def pages(self) -> int:
        """Number of distinct pages learnt, copies of one text being one."""
        return self.counts.pages

    def fits(self, mark: frozenset[int]) -> bool:
        """True if pages of this outline are of a known class, or join the nearest one; waits for no thread."""
        return self.learnt.fitting(mark) is not None

    @property
    def size(self) -> int:
        """Number of entries of all that is known, see `SiteCounts.size`."""
        with self._lock:
            return self.learnt.size

    def learn(self, page: Page) -> Template:
        """Count a page, once for each URL and each text; returns its template."""
        with self._lock:
            if (template := self.learnt.seen.get(page.key)) is not None:
                return template
            copied = self.learnt.knows(page)
            return self._take(Observation.of(page, None if copied else self.model.judge(page)[1]))

    def template(self, page: Page) -> Template | None:
        """The template that the page fits, None if it fits no known one."""
        with self._lock:
            return self.learnt.template(page)

    def templateness(self, page: Page) -> Floats:
        """(m,) how surely each leaf belongs to the template, 0 to 1."""
        with self._lock:
            columns, odds = self.model.judge(page)
            others = self.pages - self.learnt.knows(page)
            decide, share = (self.model.decision, KNOWN) if others else (self.model.alone, ALONE)
            decided = decide(np.hstack([columns, self.evidence(page, odds)]))
            nodes = page.nodes
            own = nodes.spread(sigmoid(balanced(decided, nodes.words, share)))
            return smoothed(nodes, own, nodes.spread(nodes.words))[nodes.leaves]

    def template_nodes(self, page: Page, *, include_slots: bool = False) -> Bools:
        """(n,) rows of a page that are its template: the ETDM by votes, see `Counts.mapped`.

        How many votes are needed depends on the pages of the page's class. Votes of other classes for the same path
        count as well. Source: Alarte et al. 2014, Definition 3.3 (``docs/algorithms/menu-templates-2014.md``).

        Parameters
        ----------
        include_slots : also runs of text whose place the pages share while their words vary
        """
        with self._lock:
            template = self.learnt.template(page)
            pages = template.pages if template else self.pages
            return self.counts.mapped(page.nodes, keys_of(page), pages, include_slots=include_slots)

    def count(self, page: Page, odds: Floats) -> Template:
        """Count a page by the (n, JUDGES) log odds of the page-level classifiers; not guarded against other threads."""
        return self._take(Observation.of(page, odds))

    def _take(self, lesson: Observation) -> Template:
        self._remember(lesson)
        return self.learnt.take(lesson)

    def evidence(self, page: Page, odds: Floats) -> NDArray[np.float32]:
        """(m, features) what the other pages of the site say of each leaf; not guarded against other threads.

        Parameters
        ----------
        odds : (n, JUDGES) of the page-level classifiers
        """
        template, known = self.learnt.template(page), self.learnt.knows(page)
        of_class = max(template.pages if template else 0, known)  # a copy may be alone in its class
        number = template.number if template else 0
        witness = self.counts.witness(page.nodes, keys_of(page), odds, number, of_class, known)
        return site_features(page, witness, odds, self.pages - known, of_class - known)

    def arrays(self) -> dict[str, Column]:
        """All that is known, as columns."""
        with self._lock:
            return self.learnt.arrays()

    def replace(self, learnt: SiteCounts) -> None:
        """Go on from what a store knows, together with the lessons since `hand_over`."""
        with self._lock:
            learnt.take_new(self._recorded or ())
            self.learnt = learnt


def balanced(odds: Floats, words: Ints, share: float = KNOWN) -> Floats:
    """(m,) log odds, shifted so that content is below 0: leaves nearly as likely content as the content of the page is.

    The threshold is a share of the mean probability of its content words. A fixed one would leave nothing of an unclear
    page. That of the best expected F1 (Lipton, Elkan, Naryanaswamy 2014) keeps too much of a clear one: it takes words
    for independent draws, while a list of teasers is content or template as a whole.

    Parameters
    ----------
    odds : (m,) of template
    words : (m,)
    share : of the mean
    """
    content = 1 - sigmoid(odds)
    likely = words * content
    mean = float((likely * content).sum() / max(1e-9, likely.sum()))
    threshold = max(share * mean, _LEAST)
    shifted: Floats = odds - np.log((1 - threshold) / threshold)
    return shifted


def smoothed(nodes: NodeTable, x: Floats, words: Ints) -> Floats:
    """(n,) templateness of all nodes after isotonic smoothing: few sections, no node more template than a part of it.

    Source: Chakrabarti, Kumar, Punera 2007 (slides); ``docs/algorithms/isotonic-2007.md``.

    Parameters
    ----------
    x : (n,) of each node by itself
    words : (n,) a node weighs as the logarithm of so many words; 0 for nodes that have no say
    """
    return smooth(nodes.levels, nodes.parent, x, np.log1p(words.astype(np.float64)), _SECTION, _GRID)
