"""Tables in text files: CSV, TSV and JSON lines.

Small files are read once and held in memory. Large files are read again for each request. The size
of a compressed file says nothing about its content, so its content is measured.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import arrow
from protobandit.rows.files.formats import COMPRESSIONS
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.tables import Batches, Piece, TableFile, held_table
from protobandit.rows.messages import shortened

_MOST_HELD = 1 << 28  # bytes; larger files are not held in memory
_BLOCK = 1 << 24  # bytes
_LONGEST_LINE = 1 << 26  # bytes of a JSON object


def open_delimited(path: Path, asked: ReadRequest, *, delimiter: str) -> TableFile:
    """Open one CSV or TSV file; a suffix such as ``.gz`` means that it is compressed."""
    from pyarrow import csv as arrow_csv

    first = _first_line(path, delimiter, asked.name)
    given = _given_names(first)
    if given is not None:
        asked.tell(f"{path} has no header: its first line holds numbers.")
    reads = arrow_csv.ReadOptions(block_size=_BLOCK, column_names=given)
    parses = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    nulls = {"strings_can_be_null": True, "quoted_strings_can_be_null": False}
    as_written = dict.fromkeys(asked.texts, arrow().string())
    converts = arrow_csv.ConvertOptions(column_types=as_written, **nulls)
    if _is_small(path):
        with _numbering_rows(path, reads, parses), _stream(path) as file:
            table = arrow_csv.read_csv(file, reads, parses, converts)
        _require_texts(table.schema, path, asked.name)
        return _held(path, table)
    with (
        _numbering_rows(path, reads, parses),
        _stream(path) as file,
        arrow_csv.open_csv(file, reads, parses, converts) as reader,
    ):
        types = _widened(reader.schema)

    def read(columns: list[str], batch_rows: int) -> Batches:
        converts = arrow_csv.ConvertOptions(include_columns=columns, column_types=types, **nulls)
        with (
            _numbering_rows(path, reads, parses),
            _stream(path) as file,
            arrow_csv.open_csv(file, reads, parses, converts) as reader,
        ):
            yield from reader

    return _read_in_blocks(path, types, read, asked)


def _first_line(path: Path, delimiter: str, name: str) -> list[str]:
    """Return the cells of the first line; raise if it is not UTF-8 or has another delimiter."""
    with _stream(path) as file:
        start = bytes(file.read(_BLOCK))
    try:
        text = start.decode("utf-8-sig", "ignore" if len(start) == _BLOCK else "strict")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name}: {path} is not valid UTF-8 at byte {error.start}. Save it as UTF-8."
        ) from None
    lines = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    first, second = next(lines, []), next(lines, [])
    for mark in set(";\t,|") - {delimiter}:
        if len(first) == len(second) == 1 and 0 < first[0].count(mark) == second[0].count(mark):
            raise InvalidInput(
                f"{name}: {path} has the single column {first[0]!r:.60}, which seems to be "
                f"separated by {mark!r}. Save it with {delimiter!r} between columns."
            )
    return first


@contextmanager
def _numbering_rows(path: Path, reads: Any, parses: Any) -> Iterator[None]:
    """Read a file with a parse error again on one thread; only then pyarrow counts the rows."""
    from pyarrow import csv as arrow_csv

    try:
        yield
    except arrow().ArrowInvalid as error:
        if "CSV parse error" in str(error):
            alone = arrow_csv.ReadOptions(
                block_size=reads.block_size, column_names=reads.column_names, use_threads=False
            )
            # Only a column that does not exist is read: nothing is converted, so that the parse
            # error is the only possible one.
            none = arrow_csv.ConvertOptions(include_columns=["\0"], include_missing_columns=True)
            with _stream(path) as file, arrow_csv.open_csv(file, alone, parses, none) as reader:
                for _ in reader:
                    pass
        raise


def _given_names(first: list[str]) -> list[str] | None:
    """Return names for a file without a header, else None.

    A first line of numbers is not a header. There are two exceptions: the numbers 0, 1, 2 and so on
    are the header of an array that was saved as a table, and a line whose first cell is empty is a
    header of pandas, which writes no name above its row numbers.
    """
    counted = [str(at) for at in range(len(first))]
    has_numbers = bool(first) and all(
        _is_number(word) or (at > 0 and not word) for at, word in enumerate(first)
    )
    return counted if has_numbers and first != counted else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _require_texts(schema: Any, path: Path, name: str) -> None:
    """Raise if pyarrow read a column as bytes, because it is not valid UTF-8."""
    types = arrow().types
    wrong = [repr(field.name) for field in schema if types.is_binary(field.type)]
    if wrong:
        raise InvalidInput(
            f"{name}: {path} is not valid UTF-8 in column(s) {shortened(wrong)}. Save it as UTF-8."
        )


# -- JSON lines -----------------------------------------------------------------------------------


def open_json_lines(path: Path, asked: ReadRequest) -> TableFile:
    """Open one file with a JSON object per line."""
    _require_objects(path, asked.name)
    if _is_small(path):
        with _stream(path) as file:
            table = _as_written(file.read())
        return _held(path, table)
    types = _widened(_as_written(next(_lines(path, asked.name))).schema)

    def read(columns: list[str], batch_rows: int) -> Batches:
        for lines in _lines(path, asked.name):
            yield from _parsed(lines, types).select(columns).to_batches(batch_rows)

    return _read_in_blocks(path, types, read, asked)


def _as_written(lines: Any) -> Any:
    """Return lines as a table and keep texts that pyarrow would convert to dates."""
    table, pa = _parsed(lines), arrow()
    dates = [each.name for each in table.schema if pa.types.is_timestamp(each.type)]
    texts = pa.schema([(name, pa.string()) for name in dates])
    return _parsed(lines, texts) if dates else table


def _parsed(lines: Any, schema: Any = None) -> Any:
    from pyarrow import json as arrow_json

    reads = arrow_json.ReadOptions(block_size=max(len(lines), 1))  # no block ends within a row
    parses = arrow_json.ParseOptions(explicit_schema=schema, newlines_in_values=False)
    return arrow_json.read_json(arrow().BufferReader(lines), reads, parses)


def _lines(path: Path, name: str) -> Iterator[bytes]:
    """Yield blocks of complete lines; raise if a line is so long that it may not fit in memory."""
    rest = bytearray()
    with _stream(path) as file:
        while block := file.read(_BLOCK):
            whole, newline, tail = bytes(block).rpartition(b"\n")
            if newline:
                yield bytes(rest) + whole + newline
                rest.clear()
            rest += tail
            if len(rest) > _LONGEST_LINE:
                raise InvalidInput(
                    f"{name}: {path} has a line of more than {_LONGEST_LINE:,} bytes. Write one "
                    f"object per line."
                )
    if rest.strip():
        yield bytes(rest)


def _require_objects(path: Path, name: str) -> None:
    with _stream(path) as file:
        start = bytes(file.read(_BLOCK)).lstrip(b"\xef\xbb\xbf \t\r\n")
    first = start.split(b"\n", 1)[0]
    try:
        value = json.loads(first)
    except ValueError:
        return  # a line longer than the block, or not JSON: the parser raises if needed
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{name}: {path} holds a {type(value).__name__} in its first line, not an object. "
            f'Write one object per line, such as {{"x": 1.5, "y": 2}}.'
        )


# -- both -----------------------------------------------------------------------------------------


def _stream(path: Path) -> Any:
    return text_stream(path, path.suffix.lower())


def text_stream(path: Path, suffix: str) -> Any:
    """Return a file opened for reading; ``suffix`` says how it is compressed, if it is."""
    if suffix == ".xz":
        import lzma

        return lzma.open(path)
    return arrow().input_stream(str(path), compression=COMPRESSIONS.get(suffix))


def _is_small(path: Path) -> bool:
    """Return whether the content of a file, decompressed, may be held in memory."""
    if path.suffix.lower() not in COMPRESSIONS:
        return path.stat().st_size <= _MOST_HELD
    n_bytes = 0
    with _stream(path) as file:
        while n_bytes <= _MOST_HELD and (block := file.read(_BLOCK)):
            n_bytes += len(block)
    return n_bytes <= _MOST_HELD


def _held(path: Path, table: Any) -> TableFile:
    pieces = [Piece(path, table.num_rows, held_table(table))]
    return TableFile(schema=table.schema, pieces=pieces, has_groups=False)


def _widened(schema: Any) -> Any:
    """Return the schema with floats for integers: later rows may hold fractions."""
    pa = arrow()
    types = pa.types
    wide = [
        pa.field(field.name, pa.float64() if types.is_integer(field.type) else field.type)
        for field in schema
    ]
    return pa.schema(wide)


def _read_in_blocks(
    path: Path, schema: Any, read: Callable[[list[str], int], Batches], asked: ReadRequest
) -> TableFile:
    asked.tell(f"Counting the rows of {path}.")
    n_rows = sum(batch.num_rows for batch in read(schema.names[:1], 1 << 16))
    return TableFile(schema=schema, pieces=[Piece(path, n_rows, read)], has_groups=False)
