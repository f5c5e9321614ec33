"""Files that fsspec opens: on other machines, in memory, and members of zip archives.

Parquet files are read where they are, so that only the requested columns are transferred. Files of
other formats are copied to a temporary folder first, because they are read as a whole, and more
than once.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

from protobandit.foundation.errors import InvalidInput, NotAvailable, ProtobanditError
from protobandit.rows.files.formats import FileFormat
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.messages import reason_of

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|.*::")
_CUT_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")  # as a Path writes it
_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
_QUERY = re.compile(r"(https?://[^\s'\"?]*)\?[^\s'\"]*")
_NOT_FOUND = 404
_WAIT = 60  # seconds without a byte


def is_url(given: Any) -> bool:
    """Return whether a text is a URL, or a chain of them such as ``zip://a.csv::b.zip``."""
    return isinstance(given, str) and _URL.match(given) is not None


def without_secrets(text: str) -> str:
    """Return a text without the passwords, and without the queries, of the web addresses in it."""
    return _QUERY.sub(r"\1", _PASSWORD.sub("", text))


def require_uncut(path: Path, name: str) -> None:
    """Raise if a path was a URL: a `Path` keeps one of the two slashes only."""
    if _CUT_URL.match(str(path)):
        raise InvalidInput(
            f"{name}: {path} is a URL that was made a Path, which removes a slash. Pass the URL as "
            f"text."
        )


@dataclass(frozen=True, eq=False)
class RemoteFile:
    """A file of a file system of fsspec.

    ``path`` is its path in ``system``; ``below`` is the same relative to the folder or pattern that
    the user passed. ``url`` is for messages, and ``info`` what the file system says about it.
    """

    system: Any
    path: str
    below: PurePosixPath
    url: str
    info: Mapping[str, Any]

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return PurePosixPath(self.path.partition("?")[0] if self._is_http else self.path).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def _is_http(self) -> bool:
        return self.path.startswith(("http://", "https://"))

    def is_read_in_place(self) -> bool:
        """Return whether parts of the file can be read alone; not every server allows it."""
        if "::" in self.url or not self._is_http:
            return "::" not in self.url
        try:
            with self.open() as file:
                file.seek(-1, os.SEEK_END)
                return len(file.read(1)) == 1
        except Exception:  # of fsspec or of the server; reading all of the file may still succeed
            return False

    def stat(self) -> Any:
        """Return the size of the file, and a number that changes with its content if known."""
        info = self.system.info(self.path)
        known = [str(value) for key, value in sorted(info.items()) if key not in ("name", "url")]
        version = int.from_bytes(blake2b("\0".join(known).encode(), digest_size=6).digest(), "big")
        return SimpleNamespace(
            st_size=int(info.get("size") or 0), st_mtime_ns=version, st_ctime_ns=0, st_mode=0o600
        )

    def open(self) -> Any:
        """Return the file, opened for reading."""
        return self.system.open(self.path, "rb")

    def copy_to(self, folder: Path) -> Path:
        """Copy the file to a folder, below a folder of the name that it was in."""
        parent = PurePosixPath(self.path).parent.name
        local = folder / ("files" if parent in ("", ".", "..") else parent) / self.name
        local.parent.mkdir(parents=True)
        size, free = int(self.info.get("size") or 0), shutil.disk_usage(local.parent).free
        if size > free:
            raise NotAvailable(
                f"{self.url} has {size:,} bytes, but {folder} has room for {free:,}. Set TMPDIR to "
                f"a folder with enough space."
            )
        self.system.get_file(self.path, str(local))
        return local


@contextmanager
def reaching(url: str, name: str) -> Iterator[None]:
    """Raise every error of a file system as one sentence; each has exceptions of its own."""
    try:
        yield
    except ProtobanditError:
        raise
    except ImportError as error:
        raise NotAvailable(
            f"{name}: {url} cannot be opened: {reason_of(error)}. Run pip install "
            f"'protobandit[remote]', and the package for such addresses, for example s3fs or gcsfs."
        ) from None
    except Exception as error:
        # HTTP file systems raise FileNotFoundError for every failure of the first request.
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
        status = getattr(cause, "status", None)
        if cause is None or isinstance(cause, FileNotFoundError) or status == _NOT_FOUND:
            raise InvalidInput(f"{name}: {url} does not exist. Check the address.") from None
        reason = without_secrets(reason_of(cause))
        reason = reason if status is None else f"the server answered {status}"
        raise InvalidInput(
            f"{name}: {url} cannot be read: {reason}. Check the address, your access to it, and "
            f"that the file is complete."
        ) from None


def remote_files(url: str, name: str) -> list[RemoteFile] | Path:
    """Return the files that a URL stands for: one, all of a folder, or those of a pattern.

    Return a path if the URL is that of a local file.
    """
    shown = without_secrets(url)
    with reaching(shown, name):
        import fsspec

        # Archives are read in parts, which not every server allows.
        cached = re.sub(r"(?<!cache)::(?=https?://)", "::simplecache::", url)
        system, path = fsspec.url_to_fs(cached, **_options(cached))
        own = system.protocol
        protocols = {own} if isinstance(own, str) else set(own)
        if "file" in protocols:
            return Path(path)
        system.invalidate_cache()
        is_http = "http" in protocols
        if any(mark in path for mark in ("*[" if is_http else "*?[")):
            found, base = system.glob(path, detail=True), _fixed(path)
        else:
            base = path
            info = {"type": "directory"} if path == "" else system.info(path)  # "" is an archive
            is_folder = info["type"] == "directory"
            found = system.find(path, detail=True) if is_folder else {path: info}
        if not found and base != path:
            raise InvalidInput(f"{name}: no file matches {shown}. Check the pattern.")
    return [
        RemoteFile(
            system=system,
            path=each,
            below=PurePosixPath(each.removeprefix(base).lstrip("/") or PurePosixPath(each).name),
            url=_member_url(shown, each),
            info=info,
        )
        for each, info in sorted(found.items())
        if info["type"] == "file"
    ]


def _member_url(url: str, path: str) -> str:
    """Return the URL of a file, given that of the folder or pattern that it was found in."""
    first, mark, rest = url.partition("::")
    scheme, slashes, _ = first.partition("://")
    if scheme in ("http", "https"):
        return without_secrets(path)
    return f"{scheme}{slashes}{path.lstrip('/')}{mark}{rest}"


def _options(url: str) -> dict[str, Any]:
    """Return options by protocol, for those that the URL uses."""
    # A file system that fsspec keeps would keep its first copy of an archive, too.
    found: dict[str, Any] = {}
    if "simplecache::" in url:
        found["simplecache"] = {"skip_instance_cache": True}
    for protocol in ("http", "https"):
        if f"{protocol}://" in url:
            import aiohttp

            # Wait for bytes, but not for a total time, which a large file may take.
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_WAIT, sock_read=_WAIT)
            found[protocol] = {"client_kwargs": {"timeout": timeout}}
    return found


def _fixed(pattern: str) -> str:
    """Return the folders of a pattern before the first one with a wildcard."""
    parts = pattern.split("/")
    first = next(at for at, part in enumerate(parts) if any(mark in part for mark in "*?["))
    return "/".join(parts[:first])


# -- copies ---------------------------------------------------------------------------------------


def copied(
    files: Sequence[Path | RemoteFile], form: FileFormat, asked: ReadRequest
) -> tuple[list[Path | RemoteFile], ReadRequest]:
    """Copy remote files that are not read in place; return all files, and the request with them."""
    remote = [file for file in files if isinstance(file, RemoteFile)]
    if not remote or (form.is_read_in_parts and all(file.is_read_in_place() for file in remote)):
        return list(files), asked
    folder = Path(tempfile.mkdtemp(prefix="protobandit-"))
    copies: dict[Path, RemoteFile] = {}
    found: list[Path | RemoteFile] = []
    try:
        for number, file in enumerate(files):
            if isinstance(file, RemoteFile):
                asked.tell(f"Copying {file}.")
                with reaching(file.url, asked.name):
                    local = file.copy_to(folder / str(number))
                copies[local] = file
                found.append(local)
            else:
                found.append(file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return found, replace(asked, copies=copies)


def remove_copies(copies: Mapping[Path, Any]) -> None:
    """Remove the folder of local copies."""
    for local in list(copies)[:1]:
        shutil.rmtree(local.parents[2], ignore_errors=True)
