"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Replace a file by this text."""
    replace_file(path, lambda partial: partial.write_text(text, encoding="utf-8", newline=""))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write`` with a path in the same folder and of the same suffix, then rename it."""
    partial = path.with_name(f"{path.stem}.part{path.suffix}")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
