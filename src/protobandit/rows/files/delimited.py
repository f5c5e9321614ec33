"""CSV, TSV and JSON lines, by pyarrow: small files are held, large ones read again and again."""

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
from protobandit.rows.files.file_errors import shortened
from protobandit.rows.files.opened import ReadRequest
from protobandit.rows.files.tables import Batches, Piece, Pieces

_MOST_HELD = 1 << 28  # bytes of a file that is held as a table
_BLOCK = 1 << 24
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def open_delimited(path: Path, form: str, asked: ReadRequest) -> Pieces:
    """Open one CSV or TSV file; gzip is undone if its name ends in ``.gz``."""
    from pyarrow import csv as arrow_csv

    delimiter = _DELIMITERS[form]
    first = _first_line(path, delimiter, asked.name)
    given = _given_names(first)
    if given is not None:
        asked.tell(f"{path} has no header: its first line is numbers.")
    reads = arrow_csv.ReadOptions(block_size=_BLOCK, column_names=given)
    parses = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    nulls = {"strings_can_be_null": True, "quoted_strings_can_be_null": False}
    as_written = dict.fromkeys(asked.texts, arrow().string())
    converts = arrow_csv.ConvertOptions(column_types=as_written, **nulls)
    if _is_small(path):
        with _numbering_rows(path, reads, parses), _stream(path) as file:
            table = arrow_csv.read_csv(file, reads, parses, converts)
        _require_texts(table.schema, path, asked.name)
        return table.schema, [_held(path, table)]
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

    return types, [_counted(path, types, read, asked.tell)]


def _first_line(path: Path, delimiter: str, name: str) -> list[str]:
    """Return the cells of the first line; refuse what is no UTF-8, or delimited otherwise."""
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
                f"{name}: {path} has one column, {first[0]!r:.60}, which {mark!r} seems to divide. "
                f"Save it with {delimiter!r} between columns."
            )
    return first


@contextmanager
def _numbering_rows(path: Path, reads: Any, parses: Any) -> Iterator[None]:
    """Read a file that cannot be parsed once more, by one thread: only so pyarrow counts rows."""
    from pyarrow import csv as arrow_csv

    try:
        yield
    except arrow().ArrowInvalid as error:
        if "CSV parse error" in str(error):
            alone = arrow_csv.ReadOptions(
                block_size=reads.block_size, column_names=reads.column_names, use_threads=False
            )
            # A column that is not there: nothing is converted, so nothing else can go wrong.
            none = arrow_csv.ConvertOptions(include_columns=["\0"], include_missing_columns=True)
            with _stream(path) as file, arrow_csv.open_csv(file, alone, parses, none) as reader:
                for _ in reader:
                    pass
        raise


def _given_names(first: list[str]) -> list[str] | None:
    """Return names for a file without a header: one whose first line is all numbers.

    Names that count from 0 are a header all the same: that of an array saved as a table. A number
    may be missing, but not the first, above which pandas writes no name.
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
    """Refuse columns that pyarrow took for bytes, since they are no text."""
    types = arrow().types
    wrong = [repr(field.name) for field in schema if types.is_binary(field.type)]
    if wrong:
        raise InvalidInput(
            f"{name}: {path} is not valid UTF-8 in column(s) {shortened(wrong)}. Save it as UTF-8."
        )


# -- JSON lines -----------------------------------------------------------------------------------


def open_json_lines(path: Path, form: str, asked: ReadRequest) -> Pieces:
    """Open one file of JSON objects, one a line."""
    _require_objects(path, asked.name)
    if _is_small(path):
        with _stream(path) as file:
            table = _as_written(file.read())
        return table.schema, [_held(path, table)]
    types = _widened(_as_written(next(_lines(path))).schema)

    def read(columns: list[str], batch_rows: int) -> Batches:
        for lines in _lines(path):
            yield from _parsed(lines, types).select(columns).to_batches(batch_rows)

    return types, [_counted(path, types, read, asked.tell)]


def _as_written(lines: Any) -> Any:
    """Return lines as a table in which texts are texts; pyarrow takes some of them for dates."""
    table, pa = _parsed(lines), arrow()
    dates = [each.name for each in table.schema if pa.types.is_timestamp(each.type)]
    texts = pa.schema([(name, pa.string()) for name in dates])
    return _parsed(lines, texts) if dates else table


def _parsed(lines: Any, schema: Any = None) -> Any:
    from pyarrow import json as arrow_json

    reads = arrow_json.ReadOptions(block_size=max(len(lines), 1))  # no row is cut by a block
    parses = arrow_json.ParseOptions(explicit_schema=schema, newlines_in_values=False)
    return arrow_json.read_json(arrow().BufferReader(lines), reads, parses)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield whole lines, many at a time."""
    rest = b""
    with _stream(path) as file:
        while block := file.read(_BLOCK):
            whole, newline, tail = bytes(block).rpartition(b"\n")
            if newline:
                yield rest + whole + newline
                rest = tail
            else:
                rest += tail
    if rest.strip():
        yield rest


def _require_objects(path: Path, name: str) -> None:
    with _stream(path) as file:
        start = bytes(file.read(_BLOCK)).lstrip(b"\xef\xbb\xbf \t\r\n")
    first = start.split(b"\n", 1)[0]
    try:
        value = json.loads(first)
    except ValueError:
        return  # cut by the block, or no JSON at all: the parser says which
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{name}: {path} holds a {type(value).__name__} in its first line, not an object. "
            f'Write one object a line, as in {{"x": 1.5, "y": 2}}.'
        )


# -- both -----------------------------------------------------------------------------------------


def _stream(path: Path) -> Any:
    return arrow().input_stream(str(path), compression="detect")


def _is_small(path: Path) -> bool:
    packed = 4 if path.suffix == ".gz" else 1
    return packed * path.stat().st_size <= _MOST_HELD


def _held(path: Path, table: Any) -> Piece:
    def read(columns: list[str], batch_rows: int) -> Batches:
        yield from table.select(columns).to_batches(batch_rows)

    return Piece(path, table.num_rows, read)


def _widened(schema: Any) -> Any:
    """Return a schema that later rows will fit: what looks whole at first may not stay so."""
    pa = arrow()
    types = pa.types
    wide = [
        pa.field(field.name, pa.float64() if types.is_integer(field.type) else field.type)
        for field in schema
    ]
    return pa.schema(wide)


def _counted(
    path: Path, schema: Any, read: Callable[[list[str], int], Batches], tell: Callable[[str], None]
) -> Piece:
    tell(f"Counting the rows of {path}.")
    n_rows = sum(batch.num_rows for batch in read(schema.names[:1], 1 << 16))
    return Piece(path, n_rows, read)
