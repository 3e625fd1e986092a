"""Keeps pytest, when it is started on the whole tree, from collecting the same modules under a second name."""

import gc
import os
import sys

# What is imported and collected stays: to look for garbage in it takes a fifth of the time of collecting the tests.
gc.disable()

collect_ignore = ["crawler", "middlewares", "pipelines"]

# Containers are often told to keep no bytecode. But the tests start many processes, and each of them would compile our
# modules anew, which takes longer than a short crawl.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# All processors are busy with tests: threads of linear algebra would only wait for each other, which takes time, too.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def pytest_collection_finish() -> None:
    """From here on there is garbage; what is there by now is none, and is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.enable()
