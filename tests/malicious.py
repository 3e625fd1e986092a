"""A pickle that runs code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class Malicious:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)
