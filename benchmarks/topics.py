"""What feedback gains on queries with many answers: what a page lists, what is linked by the same text, what has a tag.

Data: the sites of the folders ``sites`` and ``sites2`` below ``--data``. Links and tags alone decide the answers:

- category pages: a page whose content links to three or more pages, but at most a third of its site, with a tenth of
  its words or more in these links. The query is the text that most links to this page have; it leads to no other page.
  The answers are the pages that it links to. Ten pages of a site at most; they are not in the collection.
- shared anchors: the text of links in content that lead to three or more pages on two or more sites, at most five on a
  site. These pages are the answers. The text is removed from the pages that have the links.
- tags: a category or tag of three or more pages, but at most a third of their site; these are the answers. Pages that
  list others are not in the collection (``searched_sites.py`` has the rules). Ten tags of a site at most.

A text of nothing but stop words is no query, nor is *uncategorized*. All text is cut by VIPS without a browser here,
without tags and breadcrumbs; the pagelets are those of ``--feeds``, and are left out if there are none. The figures are
means of average precision and precision at 10, as printed and by default, and the gain over no feedback with the
p-value of a paired randomisation test.

    python -m benchmarks topics
    python -m benchmarks topics --feeds .data/feeds
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.retrieval import gain
from benchmarks.searched_sites import Key, Link, Searched, Site, Words, add_data, digest, load, tuned
from benchmarks.tools import option_parser, table
from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.retrieval.ranking import Floats
from scrapy_pagelets.retrieval.search import printed, search

#: Answers that a topic needs, and topics of category pages and of tags that a site may have.
LEAST, MOST = 3, 10
FOLDERS: Final = ("sites", "sites2")
#: What pages without a category are filed under.
NO_TAG: Final = ("uncategorized",)
WAYS: Final = ("none", "pages", "windows", "blocks", "segments", "rm3")


class Topic(NamedTuple):
    """A query with many answers."""

    words: Words
    answers: frozenset[Key]

    @property
    def tuned(self) -> bool:
        """Whether parameters are chosen on this topic: by the site of its first answer."""
        return tuned(min(self.answers)[0])


class Kind(NamedTuple):
    """Topics of one kind, with the links whose texts are removed, and the pages that are not searched."""

    label: str
    topics: list[Topic]
    links: list[tuple[Site, Link]]
    left_out: set[Key]

    def answerable(self) -> Kind:
        """The same with the topics that have an answer among the pages that are searched, and no other answers."""
        found = (Topic(topic.words, topic.answers - self.left_out) for topic in self.topics)
        return self._replace(topics=[topic for topic in found if topic.answers])

    def describe(self) -> None:
        """Print how many topics there are, and how many answers they have."""
        count = np.mean([len(topic.answers) for topic in self.topics])
        print(f"\n{self.label}: {len(self.topics)} queries, {count:.1f} answers on average\n")


class Found(NamedTuple):
    """What a search finds."""

    right: Bools  # whether each page of the ranking is an answer
    answers: int  # number of answers in the collection


def kinds(sites: list[Site]) -> list[Kind]:
    """The topics by kind, without kinds that have none."""
    listed, listing = categories(sites)
    shared = anchors(sites)
    by_words = {topic.words for topic in shared}
    taken = [(site, link) for site in sites for link in site.links if link.words in by_words]
    lists = {(site.name, path) for site in sites for path in site.listing}
    every = [
        Kind("category pages", listed, [], listing),
        Kind("shared anchors", shared, taken, set()),
        Kind("tags", tagged(sites), [], lists),
    ]
    found = [kind.answerable() for kind in every]
    if lost := sum(len(kind.topics) for kind in every) - sum(len(kind.topics) for kind in found):
        print(f"topics that are left out, because they have no answer among the pages that are searched: {lost}")
    return [kind for kind in found if kind.topics] or sys.exit("these sites have no topic: name more with --only")


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


def compare(sites: list[Site], kind: Kind, systems: Sequence[str]) -> None:
    """Print a row for each collection, search and source of feedback."""
    kind.describe()
    rows: list[list[Any]] = []
    for system in systems:
        searched = Searched(sites, system, kind.links, kind.left_out)
        for name in ("as printed", "default"):
            base = None
            for way in WAYS[: -1 if name == "as printed" else None]:
                method = printed(way) if name == "as printed" else {"feedback": way}
                found = precisions(answered(searched, kind.topics, method))
                base = found if base is None else base
                label = f"{'all text' if system == 'vips' else system}, {name}, {way}"
                rows.append([label, *map(float, found.mean(axis=0)), *gain(found[:, 0], base[:, 0])])
                print(*rows[-1], file=sys.stderr, flush=True)
    table(["collection, search, feedback", "MAP", "P@10", "MAP", "p"], rows)


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    add_data(parser)
    args = parser.parse_args(argv)
    systems = ("vips", "pagelets") if args.feeds.exists() else ("vips",)
    sites = load(args, systems, FOLDERS, tags=True)
    print(f"{len(sites)} sites, {sum(len(site.titles) for site in sites)} pages")
    for kind in kinds(sites):
        compare(sites, kind, systems)
