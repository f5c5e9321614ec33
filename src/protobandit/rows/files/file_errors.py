"""What can be wrong with a file, said in one sentence."""

from __future__ import annotations

import csv
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from protobandit.foundation.errors import InvalidInput, NotAvailable, ProtobanditError

_LONGEST = 160
ROW_OF_CSV = "CSV parse error: Row #"
_MANGLED = (
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
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def reading(path: Any, *, name: str, as_what: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one sentence that names it."""
    try:
        yield
    except ProtobanditError:
        raise
    except FileNotFoundError:
        raise InvalidInput(missing(Path(path), name=name)) from None
    except OSError as error:
        # Libraries raise OSError without a number for what they cannot decode.
        if error.errno is None:
            raise InvalidInput(_mangled(path, name, as_what, error)) from None
        reason = os.strerror(error.errno)
        raise InvalidInput(f"{name}: {path} cannot be read: {reason}.") from None
    except MemoryError:
        raise NotAvailable(
            f"{name}: {path} does not fit into memory. Convert it to .npy or .parquet, of which "
            f"only what is needed is read."
        ) from None
    except _MANGLED as error:
        raise InvalidInput(_mangled(path, name, as_what, error)) from None


def _mangled(path: Any, name: str, as_what: str, error: BaseException) -> str:
    reason = first_line(error)
    advice = "It may be cut short, or of another format than its name says."
    if ROW_OF_CSV in reason:
        advice = "Repair that line; row 1 is the first line, and empty lines are not counted."
    return f"{name}: {path} cannot be read as {as_what}: {reason}. {advice}"


def first_line(error: BaseException) -> str:
    """Return what an error says, shortened to one line without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0].rstrip(" .:")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def missing(path: Path, *, name: str) -> str:
    """Return the sentence for a file that is not there, with names like it."""
    if path.is_symlink():
        return f"{name}: {path} is a link to {os.readlink(path)}, which does not exist. Mend it."
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return f"{name}: {path} does not exist, nor can its folder be read. Check the path."
    return f"{name}: {path} does not exist.{like(path.name, names)}"


def like(wanted: str, known: Any) -> str:
    """Return a sentence with the names nearest to ``wanted``, or nothing."""
    near = get_close_matches(wanted, list(known), n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def shortened(words: Any, most: int = 8) -> str:
    """Return words in one line, the first few of many."""
    some = [str(word) for word in words]
    return ", ".join(some[:most]) + (f", … ({len(some)} in all)" if len(some) > most else "")
