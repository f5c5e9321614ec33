"""Where words go: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from protobandit.foundation.errors import ProtobanditError

if TYPE_CHECKING:
    from rich.table import Table

_PIPE_WIDTH = 120  # columns where there is no terminal to ask


def say(text: str) -> bool:
    """Write a result to stdout; tell whether someone is still reading."""
    return write(text, sys.stdout)


def tell(text: str) -> None:
    """Write a line to stderr."""
    write(f"{text}\n", sys.stderr)


def say_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write one JSON object to stdout; numbers that JSON does not know become null."""
    text = json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)
    if not _is_encodable(text, sys.stdout):
        text = json.dumps(_plain(document), allow_nan=False)
    say(text + "\n")


def say_data(text: str) -> bool:
    """Write a part of a table to stdout: as in a file, in UTF-8 whatever the locale."""
    if sys.stdout is None or sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        return say(text)
    # A lone surrogate, as of a file name that is not UTF-8, has no bytes of its own.
    return _write(sys.stdout.buffer, text.encode("utf-8", "backslashreplace"), sys.stdout)


def write(text: str, stream: TextIO | None) -> bool:
    """Write what the stream can encode; a reader who has left, such as ``head``, is no failure."""
    if stream is None:
        return False
    encoding = stream.encoding or "utf-8"
    return _write(stream, text.encode(encoding, "replace").decode(encoding), stream)


def _write(file: Any, content: str | bytes, stream: TextIO) -> bool:
    try:
        file.write(content)
        file.flush()
    except BrokenPipeError:
        _mute(stream)
        return False
    except OSError as error:
        _mute(stream)
        if stream is sys.stderr:  # there is nowhere left to say so
            return False
        raise ProtobanditError(f"cannot write to {stream.name}: {error.strerror}.") from None
    return True


def _is_encodable(text: str, stream: TextIO | None) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _mute(stream: TextIO) -> None:
    """Let what is still to be written go nowhere: the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fail(message: str, *, code: int) -> NoReturn:
    """End the process with one line on stderr."""
    tell(f"protobandit: {' '.join(message.split())}")
    raise SystemExit(code)


# -- tables ---------------------------------------------------------------------------------------


def new_table(first: str, *others: str) -> Table:
    """Return a table that reads well with and without a terminal."""
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


def say_table(table: Table, legend: str = "") -> None:
    """Write a table to stdout, and what its words mean below it."""
    from rich.console import Console

    real = Console()
    encoding = real.encoding
    page = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", newline="")
    console = Console(
        file=page,
        highlight=False,
        markup=False,
        width=real.width if real.is_terminal else _PIPE_WIDTH,
        force_terminal=real.is_terminal,
        color_system=real.color_system,  # type: ignore[arg-type]
    )
    console.print(table)
    if legend:
        console.print(legend, style="dim")
    page.flush()
    text = page.buffer.getvalue().decode(encoding)
    say("\n".join(line.rstrip() for line in text.splitlines()) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
