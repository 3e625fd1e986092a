"""Threads: no thread can change a tree while the core reads it."""

import sys
from threading import Event, Thread

import pytest

from scrapy_pagelets.page.flattening import flatten
from scrapy_pagelets.page.page import parse

#: Texts and looks that need Python: beyond ASCII, verbatim, unseen before, too long, hidden by a style.
PART = "<div class='{0}é{1}' style='x'><p>Ärger {0} {1}<pre>\n x{0}</pre><i id='{2}'>{0}</i><b hidden>{1}</b></div>"
ROWS = 300


@pytest.fixture
def hasty():
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def replace_again_and_again(body, first, second, stop):
    """Replace one part by the other in one call, until told to stop."""
    while not stop.is_set():
        body.replace(first, second)
        first, second = second, first


def test_the_table_of_a_tree_that_another_thread_changes_is_that_of_one_moment(hasty):
    for turn in range(8):
        body = parse("<body><main></main><p>end")[0]
        parts = [
            parse("".join(PART.format(turn, name, "long" * 300 if row == 9 else row) for row in range(ROWS)))[0]
            for name in ("one", "two")
        ]
        for part in parts:
            part.tag = "main"
        body.replace(body[0], parts[0])
        stop = Event()
        thread = Thread(target=replace_again_and_again, args=(body, *parts, stop))
        thread.start()
        found = [flatten(body, False) for _ in range(5)]
        stop.set()
        thread.join()
        moments = []
        for part in parts:
            if body[0] is not part:
                body.replace(body[0], part)
            columns, _ = flatten(body, False)
            moments.append(columns["strings"])
        assert moments[0] != moments[1]
        for columns, _ in found:
            assert columns["strings"] in moments
