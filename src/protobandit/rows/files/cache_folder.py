"""The folder of cached rows: where it is, which files it holds, and how it is kept small.

Each user has a folder that nobody else can read. If a new file would exceed the limit, those that
have not been used for the longest time are removed. The time of the last use is the modification
time of a file, since nobody changes its content. Files that others have mapped can be removed: the
system keeps their content until they are unmapped.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.private_folders import make_private, name_for_user, user_cache_folder
from protobandit.rows.files.row_file import (
    SUFFIX,
    UNFINISHED,
    RowHeader,
    is_abandoned,
    open_row_file,
    read_header,
)

LIMIT = "PROTOBANDIT_CACHE_GB"  # environment variable
_DEFAULT_LIMIT = 20.0  # GB


@dataclass(frozen=True)
class CachedFile:
    """A file of the cache, complete or not; ``used`` is the time of its last use."""

    path: Path
    n_bytes: int
    used: float

    @property
    def is_complete(self) -> bool:
        return self.path.suffix == SUFFIX

    def header(self) -> RowHeader | None:
        """Return what the file holds; None if it is incomplete, damaged or gone."""
        try:
            with open_row_file(self.path) as file:
                return read_header(file)
        except OSError:
            return None


def cache_folder(cache: Path | None) -> Path:
    """Return the folder of this user's cached rows, in ``cache`` or in the user's cache folder."""
    return (user_cache_folder() if cache is None else cache) / name_for_user("rows")


def private_folder(cache: Path | None) -> Path:
    """Return the folder, made if necessary; raise OSError unless only this user can use it."""
    return make_private(cache_folder(cache))


def size_limit() -> int:
    """Return the most bytes that the cache may have."""
    given = os.environ.get(LIMIT)
    try:
        gigabytes = _DEFAULT_LIMIT if given is None else float(given)
        if gigabytes >= 0:
            return int(gigabytes * 1e9)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(f"{LIMIT}={given!r} is not a size. Set it to a number of gigabytes >= 0.")


def cached_files(folder: Path) -> list[CachedFile]:
    """Return the files of the cache; those that were used last come last."""
    found = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((SUFFIX, UNFINISHED)):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    size, used = status.st_size, status.st_mtime_ns
                    found.append((used, CachedFile(Path(entry.path), size, used / 1e9)))
    return [file for _, file in sorted(found, key=lambda pair: (pair[0], pair[1].path.name))]


def make_room(folder: Path, n_bytes: int, limit: int) -> None:
    """Remove abandoned files, and complete ones until ``n_bytes`` more are within the limit."""
    files = cached_files(folder)
    gone = [file for file in files if not file.is_complete and is_abandoned(file.path)]
    _remove(gone)
    left = [file for file in files if file not in gone]
    excess = sum(file.n_bytes for file in left) + n_bytes - limit
    for file in left:
        if excess <= 0:
            break
        if file.is_complete:
            excess -= _remove([file])


def remove_oldest(folder: Path, n_bytes: int) -> bool:
    """Remove the file that was not used for the longest time; return whether one was removed.

    None is removed if the disk has no place for ``n_bytes`` even without all files.
    """
    files = [file for file in cached_files(folder) if file.is_complete]
    if shutil.disk_usage(folder).free + sum(file.n_bytes for file in files) < n_bytes:
        return False
    return any(_remove([file]) for file in files)


def remove_all(folder: Path) -> int:
    """Remove all files; return the number of bytes. Runs that use one go on without it."""
    return _remove(cached_files(folder))


def _remove(files: list[CachedFile]) -> int:
    """Remove files; return the bytes of those that could be removed."""
    n_bytes = 0
    for file in files:
        with suppress(OSError):
            file.path.unlink()
            n_bytes += file.n_bytes
    return n_bytes
