"""Find the files that a path stands for: a file, a pattern, a folder, a zip archive or a URL."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple, TypeAlias

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.files.file_errors import missing_file, reading
from protobandit.rows.files.formats import format_of, listed_suffixes
from protobandit.rows.files.partitions import are_partitions
from protobandit.rows.files.remote import RemoteFile, is_url, remote_files, require_uncut

File: TypeAlias = "Path | RemoteFile"


class LocatedFile(NamedTuple):
    """A file, and its path below the folder or pattern that the user passed."""

    file: File
    below: PurePath


def located(given: str | Path, name: str) -> list[LocatedFile]:
    """Return the files that a path or URL stands for; raise if there are none."""
    if is_url(given) and not os.path.lexists(given):
        found = remote_files(str(given), name)
        return _local(found, name) if isinstance(found, Path) else _remote(found, str(given), name)
    return _local(_expanded(given, name), name)


def _expanded(given: str | Path, name: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise InvalidInput(
            f"{name}: {given} begins with ~ but names an unknown user. Pass the full path."
        ) from None


def _local(path: Path, name: str) -> list[LocatedFile]:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _matches(path, name)
    except ValueError:  # a zero byte
        raise InvalidInput(f"{name}={str(path)!r:.60} is not a path. Check the path.") from None
    except OSError as error:
        shown, reason = f"{path!s:.200}", os.strerror(error.errno or 0)
        raise InvalidInput(f"{name}: {shown} cannot be read: {reason}. Check the path.") from None
    if stat.S_ISDIR(mode):
        return _in_folder(path, name)
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{name}: {path} is not a regular file. Save it to a file first.")
    if path.suffix.lower() == ".zip":
        return _in_archive(str(path.absolute()), str(path), name)
    return [LocatedFile(path, PurePath(path.name))]


def _matches(path: Path, name: str) -> list[LocatedFile]:
    if not glob.has_magic(str(path)):
        require_uncut(path, name)
        raise InvalidInput(missing_file(path, name=name))
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    if not found:
        raise InvalidInput(f"{name}: no file matches {path}. Check the pattern.")
    parts = path.parts
    n_fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return [
        LocatedFile(each.file, PurePath(*file.parts[n_fixed:-1], each.below))
        for file in found
        for each in _local(file, name)
    ]


def _in_folder(folder: Path, name: str) -> list[LocatedFile]:
    with reading(folder, name=name, as_what="a folder"):
        below = sorted(each for each in folder.rglob("*") if each.is_file())
    found = [LocatedFile(each, each.relative_to(folder)) for each in below]
    return _of_known_format(found) or _nothing_in(str(folder), "folder", name)


def _remote(files: Sequence[RemoteFile], url: str, name: str) -> list[LocatedFile]:
    found = [LocatedFile(each, PurePath(each.below)) for each in files]
    if len(found) == 1 and found[0].file.suffix.lower() == ".zip":
        return _in_archive(url, str(files[0]), name)
    is_one_file = len(found) == 1 and len(found[0].below.parts) == 1
    return found if is_one_file else _of_known_format(found) or _nothing_in(url, "folder", name)


def _in_archive(url: str, shown: str, name: str) -> list[LocatedFile]:
    """Return the members of an archive; they may be in any of its folders."""
    members = remote_files(f"zip://::{url}", name)
    assert not isinstance(members, Path)
    found = [LocatedFile(each, PurePath(each.name)) for each in members]
    return _of_known_format(found) or _nothing_in(shown, "zip archive", name)


def _of_known_format(found: Sequence[LocatedFile]) -> list[LocatedFile]:
    """Return the images in a folder and its subfolders, or else its files of a known format.

    Files in subfolders are part of a table if these have names such as ``year=2024``.
    """
    visible = [
        each for each in found if not any(part.startswith((".", "_")) for part in each.below.parts)
    ]
    formats = {each: form.name for each in visible if (form := format_of(each.file)) is not None}
    images = [each for each, form in formats.items() if form == "images"]
    return images or [each for each in formats if are_partitions(each.below.parts[:-1])]


def _nothing_in(shown: str, what: str, name: str) -> list[LocatedFile]:
    raise InvalidInput(
        f"{name}: {shown} is a {what} without images or files of a known format. Pass a file, or a "
        f"folder of {listed_suffixes()}; for files in subfolders, a pattern such as "
        f"{PurePosixPath(shown, '**', '*.parquet')}."
    )
