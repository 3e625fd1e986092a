"""The command ``pagelets search``: search an index for pages and their best pagelets."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import warn, write
from scrapy_pagelets.index.interface import TITLE_NUMBER, shown
from scrapy_pagelets.index.targets import kind_of
from scrapy_pagelets.retrieval.collection import StoredCollection
from scrapy_pagelets.retrieval.search import FEEDBACK, distinct, highlighted, is_common, printed, query_of, search
from scrapy_pagelets.retrieval.stored import stored

EXAMPLES: Final = (
    'pagelets search pages.sqlite "install"',
    'pagelets search pages.sqlite "install" --feedback segments --top 3',
)
_PASSAGE: Final = 40  # length of the passage of a pagelet that is shown, in runs without white space


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", help="NAME.sqlite, as PAGELETS_INDEX and `pagelets index` write it")
    parser.add_argument("query", help="words to search; in quotes if there are several")
    parser.add_argument(
        "--feedback", choices=("none", "segments", "blocks", "windows", "pages", "rm3"), default="none",
        help="search again with terms of the best pagelets (segments), paragraphs (blocks), windows of 200 words or "
        "pages of a first search, or with a model of these pages (rm3); default: none",
    )  # fmt: skip
    parser.add_argument("--pages", type=int, metavar="N", help="with feedback: number of the best pages to cut")
    parser.add_argument("--segments", type=int, metavar="N", help="with feedback: number of segments to select")
    parser.add_argument("--terms", type=int, metavar="N", help="with feedback: number of terms to add (default: 10)")
    share = "with feedback: weight of added terms as a share of the paper's (default: 0.1; as printed: 1)"
    parser.add_argument("--share", type=float, metavar="X", help=share)
    parser.add_argument(
        "--as-printed", action="store_true",
        help="rank and expand as Yu et al. (2003) do: weights of terms may be negative, titles count once, added terms "
        "have their full weight, English stop words are left out",
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=10, metavar="N", help="number of pages to show (default: 10)")


def run(options: argparse.Namespace) -> None:
    if options.top < 1:
        raise CommandError(f"--top is {options.top}: give the number of pages, from 1")
    with filled(options.index) as collection:
        for line in _answer(collection, options):
            write(line)


@contextmanager
def filled(index: str) -> Iterator[StoredCollection]:
    """Open an SQLite index that has pages."""
    if kind_of(index) != "sqlite":
        raise CommandError(f"{shown(index)} is not an SQLite index: fill one with `pagelets index`")
    with stored(index) as collection:
        if not collection.size.words:
            raise CommandError(f"{index} has no pages: fill it with PAGELETS_INDEX or `pagelets index`")
        yield collection


def _answer(collection: StoredCollection, options: argparse.Namespace) -> Iterator[str]:
    """The lines to print. Text of pages is made visible, so that only our own marks control a terminal."""
    asked, left_out = query_of(options.query)
    answer = search(collection, options.query, **_method(options))
    if not len(answer.ranking):
        raise CommandError("no page has a word of the query: try other words")
    if left_out:
        warn(f"the query has {len(asked) + left_out} different words: the last {left_out} are left out")
    if is_common(collection, asked):
        warn("the words of the query are on most pages, so the ranking says little: give rarer words")
    yield f"{len(answer.ranking)} of {collection.size.pages} pages"
    if answer.added:
        yield "added: " + ", ".join(f"{term} {answer.query[term]:.2f}" for term in answer.added)
    marks = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("**", "**")
    for place, pagelet in enumerate(distinct(collection, answer.ranking, options.top), 1):
        name = "title" if pagelet.number == TITLE_NUMBER else f"pagelet {pagelet.number}"
        yield ""
        yield f"{place:>3}  {pagelet.score:.3f}  {visible(pagelet.url)}  {visible(pagelet.title)}".rstrip()
        yield f"     {name}: {highlighted(visible(pagelet.text), answer.query, _PASSAGE, marks)}"


def _method(options: argparse.Namespace) -> dict[str, Any]:
    given = {"pages": options.pages, "selected": options.segments, "terms": options.terms, "share": options.share}
    given = {name: value for name, value in given.items() if value is not None}
    method = printed(options.feedback) if options.as_printed else {"feedback": FEEDBACK.get(options.feedback, "none")}
    if not given:
        return method
    feedback = method["feedback"]
    if isinstance(feedback, str):
        raise CommandError("--pages, --segments, --terms and --share are for feedback: choose one with --feedback")
    try:
        return method | {"feedback": replace(feedback, **given)}
    except ValueError as error:
        raise CommandError(f"--{error}".replace("--selected", "--segments")) from None
