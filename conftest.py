"""Keeps pytest, when it is started on the whole tree, from collecting the same modules under a second name."""

import os
import sys

collect_ignore = ["crawler", "middlewares", "pipelines"]

# Containers are often told to keep no bytecode. But the tests start many processes, and each of them would compile our
# modules anew, which takes longer than a short crawl.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
