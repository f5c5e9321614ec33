"""The file ``selection.json``: where it is, and how it is read and written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from protobandit.foundation.durable_files import replacing
from protobandit.foundation.errors import InvalidInput

NAME = "selection.json"


def file_of(path: Any, name: str = NAME) -> Path:
    """Return the file that ``path`` means: itself, or the file ``name`` in that folder."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise InvalidInput(f"path={path!r:.40} is not a path. Pass the path of a file or a folder.")
    found = Path(os.path.expanduser(os.fspath(path)))
    return found / name if found.is_dir() else found


def write_text(path: Any, text: str, name: str = NAME) -> Path:
    """Write a text completely or not at all, and return its file; ``name`` is as in `file_of`."""
    file = file_of(path, name)
    try:
        with replacing(Path(os.path.realpath(file))) as opened:
            opened.write(text.encode("utf-8"))
    except OSError as error:
        raise InvalidInput(
            f"{str(file)!r} cannot be written: {error.strerror or error}. Pass another path."
        ) from None
    return file


def read_text(path: Any) -> str:
    """Return the text of a selection."""
    file = file_of(path)
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = str(error.strerror)
    raise InvalidInput(
        f"{str(file)!r} cannot be read: {reason}. Pass a file that Selection.save wrote, or the "
        f"folder of `protobandit select`."
    )
