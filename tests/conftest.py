"""What holds for all tests. What needs a service stands in `tests/services/conftest.py`."""

import signal

from hypothesis import settings

import tests.trees  # noqa: F401 - no example has a time limit, also where a file is tested alone

settings.register_profile("quick", deadline=None, max_examples=20)

#: A job in the background of a shell ignores Ctrl-C, and so would the commands that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: What takes minutes. Each file is a matter of one process, see the Makefile.
_LONG = (
    "test_hardened.py", "test_corpus_spark.py", "test_rendering.py", "test_documents.py", "test_corpus.py",
    "test_layout.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Begin with what takes longest, or one process would end long after the others."""
    items.sort(key=lambda item: item.path.name not in _LONG)
