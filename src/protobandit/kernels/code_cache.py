"""Keep compiled kernels on disk, in files that are verified before they are used.

numba's own cache raises an error if a file is damaged or cannot be written, it does not notice
damaged machine code, and it may load code of another version or signature if a process is killed
between two of its writes or if two processes write at once. Here each function has one file per
signature, which is replaced as a whole. It begins with a digest of its content. The content begins
with an identity of all that the code depends on: source, signature, processor, versions, options.

So a file that is missing, damaged or out of date, or a folder that cannot be written, costs a
compilation and a remark, never the result.

This module uses the parts of numba's cache that find the folder and that serialise code.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import numba
from numba.core import caching, serialize

_N_BYTES = 16  # of a digest
_FunctionCache: Any = caching.FunctionCache
_dumps: Any = serialize.dumps


class CodeCache:
    """The cache of one function, in place of numba's own; numba calls it for each signature.

    Parameters
    ----------
    function
        The function that is compiled. RuntimeError is raised if there is no folder for its code.
    options
        What else the code depends on.
    tell
        Function that is called with a sentence if the cache cannot be used.
    """

    def __init__(
        self, function: Callable[..., Any], options: Any, tell: Callable[[str], None]
    ) -> None:
        self._tell = tell
        self.is_writable = True  # until saving fails
        settings: Any = numba.config
        config = settings.BOUNDSCHECK, settings.OPT, settings.DEBUGINFO_DEFAULT
        self._cache: Any = _FunctionCache(function)
        found = self._cache._impl
        self._cache._cache_file = _CodeFiles(
            Path(self.cache_path, found.filename_base),
            repr([numba.__version__, config, found.locator.get_source_stamp(), options]),
        )

    @property
    def cache_path(self) -> str:
        """Return the folder of the files."""
        return str(self._cache.cache_path)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None."""
        try:
            return self._cache.load_overload(signature, target_context)
        except Exception as error:  # numba raises anything for code that it cannot load
            self._tell(
                f"Compiled code in {self.cache_path} cannot be used ({_reason(error)}), so it was "
                f"compiled again, which takes some seconds."
            )
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the code of a signature if possible."""
        try:
            self._cache.save_overload(signature, data)
        except Exception as error:  # numba raises anything for code that it cannot save
            self.is_writable = False
            self._tell(
                f"Compiled code cannot be kept in {self.cache_path} ({_reason(error)}), so each "
                f"process compiles it again, which takes some seconds. Set NUMBA_CACHE_DIR to a "
                f"folder that can be written."
            )


class _CodeFiles:
    """The files of one function, by signature; ``version`` must be equal for code to be used."""

    def __init__(self, base: Path, version: str) -> None:
        self._base = base
        self._version = version

    def load(self, key: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        digest, content = content[:_N_BYTES], content[_N_BYTES:]
        if digest != _digest(content):
            raise ValueError("a file is damaged")
        if content[:_N_BYTES] != self._identity(key):
            return None  # code of another version
        return pickle.loads(content[_N_BYTES:])

    def save(self, key: Any, data: Any) -> None:
        content: bytes = self._identity(key) + _dumps(data)
        path = self._path(key)
        part = path.with_name(f"{path.name}.{token_hex(8)}.tmp")
        try:
            with part.open("xb") as file:
                file.write(_digest(content) + content)
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise

    def _path(self, key: Any) -> Path:
        signature, target, _ = key  # not the code, so that code of an older version is replaced
        name = _digest(repr((signature, target)).encode()).hex()
        return self._base.with_name(f"{self._base.name}.{name}.nbc")

    def _identity(self, key: Any) -> bytes:
        return _digest(repr((self._version, key)).encode())


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_N_BYTES).digest()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
