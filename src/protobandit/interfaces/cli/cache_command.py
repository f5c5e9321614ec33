"""``protobandit cache``: list the rows that are kept for later runs, and remove them."""

from __future__ import annotations

from datetime import datetime
from math import prod
from pathlib import Path
from typing import Annotated, Any

from protobandit.interfaces.cli import options, output
from protobandit.interfaces.cli.options import INPUT, OUTPUT, option

EXAMPLES = ("protobandit cache", "protobandit cache --clear")


def cache(
    clear: Annotated[bool, option("--clear", OUTPUT, "Remove all cached rows.")] = False,
    folder: Annotated[
        Path | None,
        option("--cache DIR", INPUT, "The folder that was passed to other commands as --cache."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the samples and large tables that are kept for later runs, the most recently used last.

    The cache keeps at most 20 GB; beyond that, files that have not been used for the longest time
    are removed. Set the environment variable PROTOBANDIT_CACHE_GB to another number of gigabytes,
    or to 0 to keep nothing. Runs that use a file while it is removed are not disturbed.
    """
    from protobandit.rows.files.cache_folder import (
        cache_folder,
        cached_files,
        remove_all,
        size_limit,
    )

    place, limit = cache_folder(folder), size_limit()
    files = cached_files(place)
    if clear:
        n_bytes = remove_all(place)
        if as_json:
            output.print_json({"folder": str(place), "removed_bytes": n_bytes})
        else:
            output.print_text(f"Removed {_size(n_bytes)} from {_printable(str(place))}.\n")
        return
    entries = [_entry(file) for file in files]
    if as_json:
        output.print_json({"folder": str(place), "limit": limit, "files": entries})
        return
    table = output.new_table("last used", "size", "rows", "columns", "read from")
    table.columns[-1].overflow = "fold"  # show long paths completely
    for entry in entries:
        used = datetime.fromtimestamp(entry["used"]).strftime("%Y-%m-%d %H:%M")
        shape = entry["shape"]
        counts = (f"{shape[0]:,}", f"{prod(shape[1:]):,}") if shape else ("", "")
        table.add_row(used, _size(entry["bytes"]), *counts, _printable(entry["source"]))
    total = sum(entry["bytes"] for entry in entries)
    output.print_table(
        table, f"{_size(total)} of at most {_size(limit)} in {_printable(str(place))}."
    )


def _entry(file: Any) -> dict[str, Any]:
    header = file.header()
    source = "(damaged)" if file.is_complete else "(being written, or left by a killed run)"
    return {
        "file": str(file.path),
        "bytes": file.n_bytes,
        "used": file.used,
        "shape": None if header is None else header.shape,
        "dtype": None if header is None else header.dtype,
        "source": source if header is None else header.source,
    }


def _size(n_bytes: int) -> str:
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{n_bytes} bytes"


def _printable(text: str) -> str:
    """Return a path with control characters escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
