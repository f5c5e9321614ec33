"""A file of a JSON header and arrays under one digest: it is read completely or not at all.

Layout: a line with format and version, the number of bytes of the header, the header, the arrays in
the order of the header, and a digest of everything before it. There are no pickles.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from protobandit.foundation.durable_files import PRIVATE, open_regular, replacing

VERSION = 3
_MAGIC = b"protobandit checkpoint "
_LENGTH = 8  # bytes of the number of bytes of the header
_DIGEST = 32
_PIECE = 1 << 20
_ARRAYS = "arrays"


class Damaged(Exception):
    """A file that this version has not written, or that has changed since."""


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Replace a file; other users of the system cannot read it."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    with replacing(path, permissions=PRIVATE, name=path.name) as file:

        def add(data: Any) -> None:
            digest.update(data)
            file.write(data)

        plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        shapes = [[name, array.dtype.str, array.shape] for name, array in plain.items()]
        text = json.dumps({**header, _ARRAYS: shapes}).encode()
        add(_MAGIC + b"%d\n" % VERSION)
        add(len(text).to_bytes(_LENGTH, "little"))
        add(text)
        for array in plain.values():
            add(array.reshape(-1).view(np.uint8).data)
        file.write(digest.digest())


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of a file; raise `Damaged` if they are not as written."""
    with os.fdopen(open_regular(path), "rb") as file:
        head = _MAGIC + b"%d\n" % VERSION
        n_bytes = os.fstat(file.fileno()).st_size - _DIGEST
        if n_bytes < len(head) + _LENGTH or file.read(len(head)) != head:
            raise Damaged
        _require_digest(file, n_bytes)
        file.seek(len(head))
        try:
            header = json.loads(file.read(int.from_bytes(file.read(_LENGTH), "little")))
            return header, {
                name: _array(file, n_bytes - file.tell(), *kind)
                for name, *kind in header.pop(_ARRAYS)
            }
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise Damaged from None  # the digest is right, so somebody has made it up


def _require_digest(file: IO[bytes], n_bytes: int) -> None:
    file.seek(0)
    digest = hashlib.blake2b(digest_size=_DIGEST)
    while n_bytes and (piece := file.read(min(_PIECE, n_bytes))):
        digest.update(piece)
        n_bytes -= len(piece)
    if n_bytes or file.read() != digest.digest():
        raise Damaged


def _array(file: IO[bytes], n_left: int, dtype: str, shape: list[int]) -> Any:
    """Read an array of numbers that has at most ``n_left`` bytes."""
    kind = np.dtype(dtype)
    if kind.kind not in "biuf" or math.prod(shape) * kind.itemsize > n_left:
        raise Damaged
    array = np.empty(shape, dtype=kind)
    file.readinto(array.reshape(-1).view(np.uint8).data)  # type: ignore[attr-defined]
    return array
