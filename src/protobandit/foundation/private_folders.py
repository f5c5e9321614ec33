"""Folders that only this user can use, and where they are."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_OTHERS = 0o077 if hasattr(os, "geteuid") else 0  # permissions of other users


def user_cache_folder() -> Path:
    """Return the folder of this package for files that can be made again; raise OSError if none."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(given) if given else Path.home() / ".cache") / "protobandit"
    except RuntimeError:
        raise OSError(errno.ENOENT, "this user has no home folder") from None


def name_for_user(name: str) -> str:
    """Return a name that differs between users, where there are users."""
    return f"{name}-{os.geteuid()}" if hasattr(os, "geteuid") else name


def make_private(folder: Path) -> Path:
    """Return the folder, made if necessary; raise OSError unless only this user can use it."""
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or is_foreign(status):
        raise OSError(errno.EACCES, f"{folder} is a link or belongs to another user")
    if status.st_mode & _OTHERS:
        folder.chmod(0o700)
        if folder.lstat().st_mode & _OTHERS:  # some file systems have no permissions
            raise OSError(errno.EACCES, f"other users can read {folder}")
    return folder


def is_private(folder: Path) -> bool:
    """Return whether this is a folder of this user to which nobody else can write."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and not _can_others_write(status)


def require_private(status: os.stat_result, name: str) -> None:
    """Raise OSError if somebody else may have written a file, or can write to it."""
    if _can_others_write(status):
        raise OSError(errno.EACCES, f"other users can write to {name}")


def _can_others_write(status: os.stat_result) -> bool:
    return is_foreign(status) or bool(status.st_mode & 0o022 & _OTHERS)


def is_foreign(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to another user."""
    return hasattr(os, "geteuid") and status.st_uid != os.geteuid()
