"""Queries with many answers, which links and tags alone decide: what a page lists, shares a link's text, or has a tag.

- category pages: a page whose content links to three or more pages, but at most a third of its site, with a tenth of
  its words or more in these links. The query is the text that most links to this page have; it leads to no other page.
  The answers are the pages that it links to. Ten pages of a site at most; they are not searched.
- shared anchors: the text of links in content that lead to three or more pages on two or more sites, at most five on a
  site. These pages are the answers. The text is removed from the pages that have the links.
- tags: a category or tag of three or more pages, but at most a third of their site; these are the answers. Pages that
  list others are not searched (``searched_sites.py`` has the rules). Ten tags of a site at most.

A text of nothing but stop words is no query, nor is *uncategorized*. All kinds search one collection.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.searched_sites import Key, Searched, Site, Words, digest, tuned
from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.retrieval.search import printed, search

#: Answers that a topic needs, and topics of category pages and of tags that a site may have.
LEAST, MOST = 3, 10
#: What pages without a category are filed under.
NO_TAG: Final = ("uncategorized",)


class Topic(NamedTuple):
    """A query with many answers."""

    words: Words
    answers: frozenset[Key]

    @property
    def tuned(self) -> bool:
        """Whether parameters are chosen on this topic: by the site of its first answer."""
        return tuned(min(self.answers)[0])


class Found(NamedTuple):
    """What a search finds."""

    right: Bools  # whether each page of the ranking is an answer
    answers: int  # number of answers in the collection


class Topics:
    """The topics of some sites by kind, the links whose texts are removed, and the pages that are not searched."""

    def __init__(self, sites: list[Site]) -> None:
        listed, self.left_out = categories(sites)
        self.left_out |= {(site.name, path) for site in sites for path in site.listing}
        shared = anchors(sites)
        by_words = {topic.words for topic in shared}
        self.links = [(site, link) for site in sites for link in site.links if link.words in by_words]
        every = {"category pages": listed, "shared anchors": shared, "tags": tagged(sites)}
        found = {kind: answerable(topics, self.left_out) for kind, topics in every.items()}
        self.kinds = {kind: topics for kind, topics in found.items() if topics}
        if not self.kinds:
            sys.exit("these sites have no topic: name more with --only")
        if lost := sum(map(len, every.values())) - sum(map(len, found.values())):
            print(f"topics that are left out, because they have no answer among the pages that are searched: {lost}")

    def searched(self, sites: list[Site], system: str) -> Searched:
        """The pages as a collection, by a system."""
        return Searched(sites, system, self.links, self.left_out)


def answerable(topics: Iterable[Topic], left_out: set[Key]) -> list[Topic]:
    """The topics that have an answer among the pages that are searched, without their other answers."""
    found = (Topic(topic.words, topic.answers - left_out) for topic in topics)
    return [topic for topic in found if topic.answers]


def anchors(sites: list[Site]) -> list[Topic]:
    """Topics of shared link texts, by the rule in the module docstring."""
    targets = defaultdict(set)
    for site in sites:
        for link in site.links:
            targets[link.words].add((site.name, link.target))
    return [
        Topic(found, frozenset(pages))
        for found, pages in sorted(targets.items())
        if len(pages) >= LEAST and _is_shared(Counter(site for site, _ in pages)) and is_specific(found)
    ]


def _is_shared(sites: Counter[str]) -> bool:
    return len(sites) >= 2 and max(sites.values()) <= 5


def is_specific(found: Words) -> bool:
    """Whether a query is left without stop words."""
    return any((len(word) > 1 or not word.isascii()) and word not in printed()["stop_words"] for word in found)


def categories(sites: list[Site]) -> tuple[list[Topic], set[Key]]:
    """Topics of pages that list others, by the rule in the module docstring; and these pages."""
    leading = defaultdict(set)
    for site in sites:
        for link in site.links:
            leading[link.words].add((site.name, link.target))
    topics, listing = [], set()
    for site in sites:
        named: dict[str, Counter[Words]] = defaultdict(Counter)
        listed: dict[str, dict[str, int]] = defaultdict(dict)
        for link in site.links:
            listed[link.source][link.target] = len(link.words)
            if len(leading[link.words]) == 1 and is_specific(link.words):
                named[link.target][link.words] += 1
        fit = [
            path
            for path, pages in sorted(listed.items())
            if named[path]
            and LEAST <= len(pages) <= len(site.titles) / 3
            and sum(pages.values()) >= 0.1 * site.words[path]
        ]
        for path in sorted(fit, key=lambda path: digest(site.name, path))[:MOST]:
            [(found, _)] = named[path].most_common(1)
            topics.append(Topic(found, frozenset((site.name, target) for target in listed[path])))
            listing.add((site.name, path))
    return topics, listing


def tagged(sites: list[Site]) -> list[Topic]:
    """Topics of tags, by the rule in the module docstring; a tag of several sites is one topic."""
    answers: dict[Words, set[Key]] = defaultdict(set)
    for site in sites:
        having = defaultdict(set)
        for path in site.tags.keys() - site.listing:
            for found in site.tags[path]:
                having[found].add((site.name, path))
        fit = [found for found, pages in having.items() if LEAST <= len(pages) <= len(site.titles) / 3]
        fit = [found for found in fit if found != NO_TAG and is_specific(found)]
        for found in sorted(fit, key=lambda found: digest(site.name, *found))[:MOST]:
            answers[found] |= having[found]
    return [Topic(found, frozenset(pages)) for found, pages in sorted(answers.items())]


def answered(searched: Searched, topics: Iterable[Topic], method: dict[str, Any]) -> list[Found]:
    """What a method finds for each topic."""
    found = []
    for topic in topics:
        answers = [searched.number[key] for key in topic.answers if key in searched.number]
        ranking = search(searched.collection, " ".join(topic.words), **method).ranking
        found.append(Found(np.isin(ranking.page, answers), len(answers)))
    return found


def average_precision(found: Found) -> float:
    """The mean, over the answers, of the precision at the rank of each; 0 for one that is not found."""
    at = np.flatnonzero(found.right)
    return float(np.sum(np.arange(1, len(at) + 1) / (at + 1))) / max(1, found.answers)


def precisions(found: Iterable[Found]) -> Floats:
    """(n, 2) average precision and precision at 10 of each topic."""
    return np.array([(average_precision(each), each.right[:10].sum() / 10) for each in found])
