"""Files that are either as they were or written whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Put a file of this text in place of what was there."""
    put(path, lambda beside: beside.write_text(text, encoding="utf-8", newline=""))


def put(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a file beside ``path``, with the same ending, and put it in its place."""
    beside = path.with_name(f"{path.stem}.part{path.suffix}")
    try:
        write(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
