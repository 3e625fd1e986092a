"""Why a pagelet is content or template: each witness in a sentence; and the rule that decides otherwise."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.decision.classifiers import sigmoid, size_class
from scrapy_pagelets.decision.decision import Decision
from scrapy_pagelets.decision.page_features import NODE, node_features
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import KEEP, STRIP
from scrapy_pagelets.page.text import roots
from scrapy_pagelets.page.urls import host_of
from scrapy_pagelets.papers.page_level import smoothed
from scrapy_pagelets.rules.host_rules import Selector

_STRONGEST: Final = 3  # features of the classifier that are named
#: Whether a feature tells nodes apart: not those of the page as a whole, which are the same for all nodes.
_OF_NODE: Final = np.array([feature.less != "" for feature in NODE])
_ALL, _NONE = 0.99, 0.01  # shares of words that count as all and as none
_PLAIN: Final = lazily(r"-?[A-Za-z_][\w-]*", re.ASCII)  # names that a selector can have as they are
_MOST: Final = 20  # most selectors of a rule; a pagelet with more parts has no rule
_LONGEST: Final = 80  # longest name of an element's class or id in a selector


class Reasons:
    """What spoke for the decision about a page.

    ``site``: what was known of its site; the page is among its pages. ``by_method``: (m,) templateness of the leaves
    before the page itself and the rules had their say.
    """

    def __init__(self, page: Page, site: Site, by_method: Floats, decision: Decision) -> None:
        self.page, self.site, self.by_method, self.decision = page, site, by_method, decision
        evidence, known, nodes = site.model.page_evidence(page), site.model.classifier, page.nodes
        self._words = np.maximum(nodes.words.astype(np.float64), 0.1)
        self._alike = site.pages_alike(page)
        self._in_template = site.in_subdigraph_template(page)
        #: (n, features) of all nodes, within the bounds of the classifier; (n,) the size class of each
        self._columns = np.clip(node_features(page, evidence.features), known.low, known.high)
        self._mean_node = self._columns[nodes.last_leaf > nodes.first_leaf].mean(axis=0)  # of those with text
        self._sizes = size_class(nodes)
        scores = sigmoid(evidence.odds[:, 1])
        self._scores = scores, smoothed(nodes, scores)  # (n,) templateness by the classifier, and after smoothing
        rules = {cause: rows for cause, rows in page.marks.rows.items() if cause.action in (KEEP, STRIP)}
        self._named = {cause: nodes.leaves_below(rows) for cause, rows in rules.items()}  # (m,) leaves that each names

    def of(self, index: Ints) -> list[str]:
        """Sentences about some leaves that stand together, (k,) with k > 0, the most telling first."""
        together = f"All together: {self._mean(self.decision.templateness, index):.2f}. From 0.50 on it is template."
        return [*self.witnesses(index), together]

    def witnesses(self, index: Ints) -> list[str]:
        """Sentences without the result, for a page whose decision stands in a feed."""
        return [*self._by_rule(index), *self._by_page(index), *self._by_site(index), *self.by_classifier(index)]

    def _mean(self, values: Floats | Bools, index: Ints) -> float:
        return float(np.average(values[index], weights=self._words[index]))

    def _by_rule(self, index: Ints) -> Iterator[str]:
        for cause, mask in self._named.items():
            if mask[index].any():
                yield f"The rule {cause.action} for {cause.host} names {_part(self._mean(mask, index))}."

    def _by_page(self, index: Ints) -> Iterator[str]:
        if self.decision.headline is not None:
            leaves = self.page.nodes.leaves_of(self.decision.headline.row)
            if ((index >= leaves.start) & (index < leaves.stop)).any():
                yield "It has the page's own heading, which is always content."
        final = self.decision.templateness[index]
        ruled = np.any([mask[index] for mask in self._named.values()], axis=0)
        changed = (final != self.by_method[index]) & ~ruled
        if (changed & (final == 1)).any():
            yield "The page marks some of it as comments, breadcrumbs, permalinks or the name of the site: template."
        if (changed & (final == 0)).any():
            yield "The page itself says that some of it is its heading, author, product or price: content."

    def _by_site(self, index: Ints) -> Iterator[str]:
        others = counted(self.site.pages - 1, "other page")
        if self.site.pages < 2:
            yield "No other page of the site is known: the page alone decides."
            return
        repeated = self._alike[index] > 0
        share = self._mean(self._alike > 0, index)
        if share <= _NONE:
            yield f"It stands on none of the {others}."
        else:
            typical = int(np.median(self._alike[index][repeated]))
            yield f"{_part(share).capitalize()} stands at the same place on {typical} of the {others}."
        if self._in_template.any():
            share = self._mean(self._in_template, index)
            yield f"{_part(share).capitalize()} is in the template of the pages that link to each other."

    def by_classifier(self, index: Ints) -> Iterator[str]:
        """What the page alone says: the classifier of nodes, and its smoothing over the tree."""
        nodes = self.page.nodes
        row = max(roots(nodes, index), key=lambda row: self._words[nodes.leaves_of(row)].sum())
        raw, smooth = (float(scores[row]) for scores in self._scores)
        pulls = self._strongest(row)
        named = ", ".join(f"{name} (for {'template' if weight > 0 else 'content'})" for name, weight in pulls)
        yield f"By the page alone, the classifier says {raw:.2f}. What counts most: {named}."
        if abs(raw - smooth) >= 0.005:
            yield f"Smoothing over the tree of the page turns that into {smooth:.2f}."

    def _strongest(self, row: int) -> list[tuple[str, float]]:
        """The features that move the classifier's odds of a node most, against the mean node of the page."""
        difference = self._columns[row] - self._mean_node
        pull = self.site.model.classifier.weight[self._sizes[row]] * difference * _OF_NODE
        found: dict[str, float] = {}
        for number in np.argsort(-np.abs(pull), kind="stable").tolist():
            feature = NODE[number]
            found.setdefault(feature.more if difference[number] > 0 else feature.less, float(pull[number]))
        return list(found.items())[:_STRONGEST]


def _part(share: float) -> str:
    """What share of its words: "all of it", "none of it", "some of it (40 %)"."""
    if share >= _ALL:
        return "all of it"
    return "none of it" if share <= _NONE else f"some of it ({share:.0%})"


def write_rule(page: Page, rows: Sequence[int], action: str) -> str | None:
    """Write a rule for the `text.roots` of a pagelet, for ``rules.toml``; None if no selectors name just them."""
    if not rows or len(rows) > _MOST:
        return None
    written = [find_selector(page, row) for row in rows]
    if None in written:
        return None
    listed = ", ".join(json.dumps(one, ensure_ascii=False) for one in dict.fromkeys(written))
    host = json.dumps(host_of(page.url) or "*")
    return f"[[rule]]\nhosts = [{host}]\n{action} = [{listed}]"


def find_selector(page: Page, row: int) -> str | None:
    """The shortest selector that names just the element of a row, in a rendered page and as it was received; None if
    there is none, as for text beside other text."""
    nodes = page.nodes
    if nodes.tag[row] == TEXT:
        row = int(nodes.parent[row])
        if nodes.last_leaf[row] - nodes.first_leaf[row] > 1:
            return None
    element = nodes.elements[row]
    for written in _candidates(element, nodes.xpath(row)):
        one = Selector.of(written)
        # A crawl that does not render the page must find the element as well: browsers add some, such as tbody.
        is_received = page.source is None or len(one.elements(page.source.root)) == 1
        if is_received and one.elements(page.root) == [element]:
            return written
    return None


def _candidates(element: etree._Element, path: str) -> Iterator[str]:
    tag = element.tag if isinstance(element.tag, str) and _PLAIN.fullmatch(element.tag) else ""
    if name := _plain(element.get("id", "").strip()):
        yield f"#{name}"
    classes = [name for name in element.get("class", "").split() if _plain(name)]
    yield from (f"{tag}.{name}" for name in classes)
    if tag and len(classes) > 1:
        yield f"{tag}.{'.'.join(classes)}"
    if role := _plain(element.get("role", "").strip()):
        yield f'[role="{role}"]'
    if tag in ("nav", "header", "footer", "aside", "main", "article", "h1"):
        yield tag
    yield path


def _plain(name: str) -> str:
    return name if len(name) <= _LONGEST and _PLAIN.fullmatch(name) else ""
