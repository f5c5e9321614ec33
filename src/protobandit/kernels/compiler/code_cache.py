"""Keep compiled loops on disk, in files that are verified before they are used.

Each loop has one file per combination of types and processor, which is replaced as a whole. It
begins with a checksum of its content. The content begins with an identity of all that the code
depends on: the loop, types, processor, versions. So a file that is missing, damaged or out of date,
or a folder that cannot be written, costs a compilation and a remark, never the result.

Folders
-------
The folder of the environment variable `FOLDER`, if it is set. Otherwise the folder beside the
kernels, where Python keeps its own compiled code, and then one in the cache folder of the user, if
nobody else can write to it. Files are read from any of them and written to the first that can be
written: code that an administrator has compiled ahead is found by all users.

Others may have been able to write to the folder of the user earlier, and have left files there. So
a file is read from it only if it is not a link, belongs to the user, and no one else can write it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from protobandit.foundation.durable_files import PRIVATE, open_new, open_regular, part_name
from protobandit.foundation.private_folders import (
    is_private,
    make_private,
    name_for_user,
    require_private,
    user_cache_folder,
)

FOLDER = "PROTOBANDIT_CODE_FOLDER"  # environment variable
_N_BYTES = 16  # of a digest
_BESIDE = Path(__file__).parent.with_name("__pycache__")


def digest(*parts: str | bytes) -> bytes:
    """Return a digest of these parts, in this order."""
    found = hashlib.blake2b(digest_size=_N_BYTES)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(b"%d " % len(content) + content)
    return found.digest()


class CodeCache:
    """The files of compiled loops; ``tell`` is called with a sentence if they cannot be used."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        given = os.environ.get(FOLDER)
        self._shared = [Path(given)] if given else [_BESIDE]
        self._own: list[Path] = []
        if not given:
            with suppress(OSError):
                self._own.append(user_cache_folder() / name_for_user("code"))
        self.folder: str | None = None  # where a file was last read or written
        self.is_writable = True  # until no folder can be written

    def read(self, name: str, identity: bytes) -> bytes | None:
        """Return the content of a file if it has this identity, or None."""
        for folder in (*self._shared, *filter(is_private, self._own)):
            try:
                whole = self._content(folder, name)
            except OSError:
                continue  # it is not there, or somebody else may have written it
            checksum, content = whole[:_N_BYTES], whole[_N_BYTES:]
            if checksum != digest(content):
                self._tell(
                    f"Compiled code in {folder} cannot be used (a file is damaged), so it was "
                    f"compiled again."
                )
            elif content[:_N_BYTES] == identity:
                self.folder = str(folder)
                return content[_N_BYTES:]
        return None

    def _content(self, folder: Path, name: str) -> bytes:
        if folder not in self._own:
            return (folder / name).read_bytes()
        with os.fdopen(open_regular(folder / name), "rb") as file:
            require_private(os.fstat(file.fileno()), name)
            return file.read()

    def write(self, name: str, identity: bytes, content: bytes) -> None:
        """Replace a file if possible."""
        whole = identity + content
        reason = ""
        for folder in (*self._shared, *self._own):
            try:
                permissions = PRIVATE if folder in self._own else 0o666
                if folder in self._own:
                    make_private(folder)
                else:
                    folder.mkdir(parents=True, exist_ok=True)
                _replace(folder / name, digest(whole) + whole, permissions)
            except OSError as error:
                reason = error.strerror or str(error)
            else:
                self.folder = str(folder)
                return
        self.is_writable = False
        self._tell(
            f"Compiled code cannot be kept ({reason}), so each process compiles it again, which "
            f"takes some seconds. Set {FOLDER} to a folder that can be written."
        )


def _replace(path: Path, content: bytes, permissions: int) -> None:
    part = path.with_name(part_name())
    try:
        with open_new(part, permissions) as file:
            file.write(content)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
