"""An index in a folder, written by tantivy (extra ``search``)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy_pagelets.index import interface
from scrapy_pagelets.index.interface import terms

if TYPE_CHECKING:
    import tantivy

_HEAP: Final = 50_000_000  # memory of the writer in bytes
_PAGELETS: Final = 8  # pagelets that a search reads per requested page; it reads more if these belong to too few pages


class TantivyIndex(interface.Index):
    """An index in a folder, made if there is none; crawls take turns. IndexUnusable for one of another version."""

    def __init__(self, folder: str | Path) -> None:
        import tantivy

        self._tantivy, self._folder = tantivy, Path(folder)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
        builder.add_text_field("site", tokenizer_name="raw", index_option="basic")
        builder.add_integer_field("first", indexed=True)
        builder.add_integer_field("crawled", stored=True, indexed=True, fast=True)
        builder.add_text_field("terms", tokenizer_name="whitespace", index_option="position")
        builder.add_bytes_field("stored", stored=True)
        builder.add_bytes_field("page", stored=True)
        self._schema, about = builder.build(), self._folder / "pagelets.json"
        with self._errors():
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._turn():
                if tantivy.Index.exists(str(self._folder)):
                    interface.check_version(str(self._folder), interface.version_in(about, "version"))
                else:
                    about.write_text(json.dumps({"version": interface.VERSION}), encoding="utf-8")
                self._index = tantivy.Index(self._schema, path=str(self._folder))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with interface.errors_of_files(self._folder):
                yield
        except interface.IndexUnusable:
            raise
        except ValueError as error:
            raise interface.IndexUnusable(f"{self._folder} cannot be used ({error}): name another folder.") from error

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the exclusive right to write: the lock of the library does not wait."""
        with open(self._folder / "pagelets.lock", "wb") as file:
            flock(file, LOCK_EX)
            yield

    @contextmanager
    def _writer(self) -> Iterator[tantivy.IndexWriter]:
        with self._turn():
            self._index.reload()
            writer = self._index.writer(_HEAP, num_threads=1)
            try:
                yield writer
                writer.commit()
            except BaseException:
                writer.rollback()
                raise
            finally:
                writer.wait_merging_threads()  # also releases the lock of the library
            self._index.reload()

    def upsert(self, pages: Sequence[interface.IndexedPage]) -> None:
        with self._errors(), self._writer() as writer:
            for page in interface.latest(pages):
                key = interface.key_of(page.url)
                if self._crawled(key) <= interface.milliseconds(page.crawled):
                    writer.delete_documents_by_term("key", key)
                    for document in self._documents(page, key):
                        writer.add_document(document)

    def _crawled(self, key: str) -> int:
        """When a page was last seen, in milliseconds; 0 for a new page."""
        query = self._tantivy.Query.term_query(self._schema, "key", key)
        searcher = self._index.searcher()
        hits = searcher.search(query, 1).hits
        return int(searcher.doc(hits[0][1])["crawled"][0]) if hits else 0

    def _documents(self, page: interface.IndexedPage, key: str) -> Iterator[tantivy.Document]:
        """One document for each searched pagelet; others would change the statistics of BM25. The first one also holds
        the page; without searched pagelets, it has no terms."""
        about = {"key": key, "site": page.site, "crawled": interface.milliseconds(page.crawled)}
        shown = {"url": page.url, "title": page.title, "near_duplicate_of": page.near_duplicate_of}
        searched = [pagelet for pagelet in page.pagelets if pagelet.role not in interface.UNSEARCHED]
        for number, pagelet in enumerate(searched or [None]):
            stored = interface.to_json(shown | (vars(pagelet) if pagelet else {})).encode()
            fields: dict[str, Any] = {**about, "stored": stored}
            fields["terms"] = " ".join(terms(pagelet.text)) if pagelet else ""
            fields["first"] = int(number == 0)
            if number == 0:
                others = tuple(pagelet for pagelet in page.pagelets if pagelet.role in interface.UNSEARCHED)
                fields["page"] = interface.to_json(asdict(replace(page, pagelets=others))).encode()
            yield self._tantivy.Document.from_dict(fields, self._schema)

    def purge(self, before: str, sites: Collection[str]) -> int:
        query = self._tantivy.Query
        kind, bound = self._tantivy.FieldType.Integer, interface.milliseconds(before)
        old = query.range_query(self._schema, "crawled", kind, upper_bound=bound, include_upper=False)
        purged = query.term_set_query(self._schema, "site", sorted(sites)).and_must_match(old)
        pages = purged.and_must_match(query.term_query(self._schema, "first", 1))
        with self._errors(), self._writer() as writer:
            searcher = self._index.searcher()
            number = len(searcher.search(pages, searcher.num_docs).hits) if searcher.num_docs else 0
            writer.delete_documents_by_query(purged)
        return number

    def find(self, wanted: Sequence[Sequence[str]], limit: int) -> list[interface.Match]:
        """Find pages by BM25 (k1 = 1.2, b = 0.75); lengths above 40 terms are rounded."""
        should = [(self._tantivy.Occur.Should, self._phrase(phrase)) for phrase in wanted]
        expression = self._tantivy.Query.boolean_query(should)
        with self._errors():
            self._index.reload()
            searcher, number = self._index.searcher(), _PAGELETS * limit
            while True:
                pagelets = searcher.search(expression, number).hits
                matches = [_match(searcher.doc(place), score) for score, place in pagelets]
                if len(pagelets) < number or len(interface.hits_of(matches, limit)) == limit:
                    return matches
                number *= 4

    def _phrase(self, phrase: Sequence[str]) -> tantivy.Query:
        if len(phrase) == 1:
            return self._tantivy.Query.term_query(self._schema, "terms", phrase[0])
        words: list[str | tuple[int, str]] = [*phrase]
        return self._tantivy.Query.phrase_query(self._schema, "terms", words)


def _match(document: Any, score: float) -> interface.Match:
    stored = json.loads(bytes(document["stored"][0]))
    return interface.Match(**{name: stored[name] for name in interface.Match._fields if name != "score"}, score=score)
