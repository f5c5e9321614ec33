"""Printing: results go to stdout, everything else to stderr."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from protobandit.foundation.errors import ProtobanditError
from protobandit.foundation.visible_text import visible

if TYPE_CHECKING:
    from rich.table import Table

# What writing to a pipe raises if nobody reads it; Windows has no EPIPE.
_CLOSED = {errno.EPIPE, *([errno.EINVAL] if os.name == "nt" else [])}
_PIPE_WIDTH = 80  # columns, if stdout is not a terminal


def print_text(text: str) -> bool:
    """Write a result to stdout; return whether the reader is still there."""
    return _write_text(visible(text, keeps_lines=True), sys.stdout)


def print_status(text: str) -> None:
    """Write a line to stderr."""
    _write_text(f"{visible(text, keeps_lines=True)}\n", sys.stderr)


def print_json(document: Any) -> None:
    """Write a mapping or a dataclass as JSON to stdout; NaN and infinity become null."""
    text = json.dumps(_as_json(document), ensure_ascii=False, allow_nan=False)
    if not _is_encodable(text, sys.stdout):
        text = json.dumps(_as_json(document), allow_nan=False)
    print_text(text + "\n")


def print_data(text: str) -> bool:
    """Write a part of a table to stdout as to a file: in UTF-8, independent of the locale."""
    if sys.stdout is None or sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        return print_text(text)
    # A lone surrogate, as in a file name that is not UTF-8, has no UTF-8 encoding.
    return _write(sys.stdout.buffer, text.encode("utf-8", "backslashreplace"), sys.stdout)


def exit_with_error(message: str, *, code: int) -> NoReturn:
    """Exit the process with one line on stderr."""
    print_status(f"protobandit: {' '.join(message.split())}")
    raise SystemExit(code)


def _write_text(text: str, stream: TextIO | None) -> bool:
    """Write what the stream can encode; other characters are replaced."""
    if stream is None:
        return False
    encoding = stream.encoding or "utf-8"
    return _write(stream, text.encode(encoding, "replace").decode(encoding), stream)


def _write(file: Any, content: str | bytes, stream: TextIO) -> bool:
    """Write and flush; a reader that has closed the pipe, such as ``head``, is not an error."""
    try:
        file.write(content)
        file.flush()
    except OSError as error:
        _discard_output(stream)
        # A message cannot be shown if stderr cannot be written.
        if error.errno in _CLOSED or stream is sys.stderr:
            return False
        raise ProtobanditError(f"cannot write to {stream.name}: {error.strerror}.") from None
    return True


def _is_encodable(text: str, stream: TextIO | None) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _discard_output(stream: TextIO) -> None:
    """Redirect the stream to the null device, or the flush at exit would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _as_json(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    if hasattr(value, "tolist"):
        return _as_json(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


# -- tables ---------------------------------------------------------------------------------------


def new_table(first: str, *others: str) -> Table:
    """Return an empty table in the style of all commands."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
        title_style="bold",
    )
    table.add_column(first, style="bold", no_wrap=True)
    for name in others:
        table.add_column(name)
    return table


def print_table(table: Table, legend: str = "") -> None:
    """Write a table to stdout, and a legend below it."""
    from rich.console import Console

    stdout = Console()
    encoding = stdout.encoding
    page = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", newline="")
    console = Console(
        file=page,
        highlight=False,
        markup=False,
        width=stdout.width if stdout.is_terminal else _PIPE_WIDTH,
        force_terminal=stdout.is_terminal,
        color_system=stdout.color_system,  # type: ignore[arg-type]
    )
    console.print(table)
    if legend:
        console.print(legend, style="dim")
    page.flush()
    text = page.buffer.getvalue().decode(encoding)
    # Not `print_text`: the colours of a terminal are control characters.
    _write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", sys.stdout)
