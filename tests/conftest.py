"""What holds for all tests. What needs a service stands in `tests/services/conftest.py`."""

from hypothesis import settings

import tests.trees  # noqa: F401 - no example has a time limit, also where a file is tested alone

settings.register_profile("quick", deadline=None, max_examples=20)
