"""Turn errors of reading files into messages of one sentence that name the file."""

from __future__ import annotations

import csv
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from protobandit.foundation.errors import InvalidInput, NotAvailable, ProtobanditError
from protobandit.rows.messages import reason_of, suggestion

_ROW_OF_CSV = "CSV parse error: Row #"
# What libraries raise for content that they cannot decode.
_DECODING_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    csv.Error,
    struct.error,
    tokenize.TokenError,  # an .npy header without an end
    zipfile.BadZipFile,
    zlib.error,
)

_PROGRAMMING_ERRORS = (AttributeError, NameError, AssertionError)


@contextmanager
def reading(path: Any, *, name: str, as_what: str) -> Iterator[None]:
    """Raise every error of reading a file as one sentence that names the file.

    ``path`` is a `Path`, or a remote file.
    """
    try:
        yield
    except ProtobanditError:
        raise
    except FileNotFoundError:
        if not isinstance(path, Path):
            raise InvalidInput(f"{name}: {path} does not exist. Check the address.") from None
        raise InvalidInput(missing_file(path, name=name)) from None
    except OSError as error:
        # Libraries raise OSError without a number for content that they cannot decode.
        if error.errno is None:
            raise InvalidInput(_undecodable(path, name, as_what, error)) from None
        reason = os.strerror(error.errno)
        raise InvalidInput(f"{name}: {path} cannot be read: {reason}. Check the file.") from None
    except MemoryError:
        raise NotAvailable(
            f"{name}: {path} does not fit into memory. Convert it to .npy or .parquet, which are "
            f"read in parts."
        ) from None
    except _DECODING_ERRORS as error:
        raise InvalidInput(_undecodable(path, name, as_what, error)) from None
    except Exception as error:
        if isinstance(path, (str, Path)) or isinstance(error, _PROGRAMMING_ERRORS):
            raise
        # Every remote file system has exceptions of its own.
        raise InvalidInput(_undecodable(path, name, as_what, error)) from None


def _undecodable(path: Any, name: str, as_what: str, error: BaseException) -> str:
    reason = reason_of(error)
    advice = "Check that the file is complete and that its suffix matches its format."
    if _ROW_OF_CSV in reason:
        advice = "Repair that line; row 1 is the first line, and empty lines are not counted."
    return f"{name}: {path} cannot be read as {as_what}: {reason}. {advice}"


def missing_file(path: Path, *, name: str) -> str:
    """Return the message for a file that does not exist, with similar names."""
    if path.is_symlink():
        to = os.readlink(path)
        return f"{name}: {path} is a link to {to}, which does not exist. Repair the link."
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return f"{name}: {path} does not exist, and its folder cannot be read. Check the path."
    return f"{name}: {path} does not exist.{suggestion(path.name, names)} Check the path."
