"""What holds for all tests. What needs a service stands in `tests/services/conftest.py`."""

import tests.trees  # noqa: F401 - no example has a time limit, also where a file is tested alone
