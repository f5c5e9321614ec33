"""Open files: a path, a pattern, a folder or a list of these becomes `Opened`.

The format of each file follows from its suffix (`protobandit.rows.files.formats`).
"""

from __future__ import annotations

import glob
import os
import stat
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.checks import is_integer, require_integer
from protobandit.foundation.errors import InvalidInput
from protobandit.rows.column_choice import FILE, OptionNames
from protobandit.rows.files.file_errors import missing_file, reading
from protobandit.rows.files.formats import TABLE_FORMATS, format_of, listed_suffixes
from protobandit.rows.files.images import open_images
from protobandit.rows.files.npy import open_npy, open_npz
from protobandit.rows.files.opened import ColumnsInMemory, Opened, ReadRequest
from protobandit.rows.files.table_rows import open_tables
from protobandit.rows.files.tables import open_arrow, open_parquet
from protobandit.rows.files.text_tables import open_delimited, open_json_lines

Reader: TypeAlias = Callable[[Sequence[Path], ReadRequest], Opened]


def open_rows(
    path: Any,
    *,
    name: str = "source",
    columns: Any = None,
    exclude: Any = (),
    where: str | None = None,
    without: Any = (),
    perhaps: Any = (),
    texts: Any = (),
    categories: bool = False,
    image_size: Any = None,
    is_colour: bool = False,
    sample: int | None = None,
    assume_shuffled: bool = False,
    cache: Any = None,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
    like: Any = None,
    options: OptionNames = FILE,
) -> Opened:
    """Open files as rows that `select` accepts.

    The format follows from the suffix: ``.npy``; ``.npz`` (arrays or a sparse matrix); ``.csv``;
    ``.tsv``, ``.tab``; ``.jsonl``, ``.ndjson``; ``.parquet``, ``.pq``; ``.arrow``, ``.feather``,
    ``.ipc``; ``.txt`` (one text per line); images such as ``.png`` and ``.jpg``. CSV, TSV and JSON
    files may be compressed by gzip (``.csv.gz``).

    Parameters
    ----------
    path
        A file, a folder of images or of files of one format, a pattern such as ``"part-*.npy"``, or
        a list of these. Several files make one set of rows.
    name
        The name of the rows in messages, "source" or "target".
    columns
        The compared columns, by name or pattern; a text may hold several, separated by commas.
        None means the columns of vectors if there are any, else all columns; never ``without`` and
        row numbers written by pandas. `Opened.left_out` says why a column is left out. If a single
        column of texts is named, the rows are texts. For an ``.npz`` file, the name of the array.
    exclude
        Columns that are not compared, by name or pattern.
    where
        A condition on the columns of a table, such as ``"year >= 2020 and kind in ('a', 'b')"``;
        other rows are left out. Comparisons, ``in``, ``is null``, ``and``, ``or``, ``not`` and
        parentheses are supported; names that are not words stand between backticks.
    without
        Columns that are used otherwise: ids, labels, weights, groups. They are compared only if
        ``columns`` has their names. A mapping gives the use of each column, for messages.
    perhaps
        As ``without``, but the columns need not exist.
    texts
        Columns whose values are kept as written, such as ids: "007" does not become 7. Names that
        do not exist are ignored.
    categories
        Whether columns of texts are features too. The rows are then `Columns`.
    image_size
        Height and width of images, as one number or a pair. None keeps the size that all images
        have in common, or resizes them to 32 by 32.
    is_colour
        Whether images are read as RGB instead of grey. Grey images with 16 or 32 bits or floats
        keep their values.
    sample
        Maximum number of rows of a table. From a larger table, a uniform sample is drawn in one
        pass and kept in ``cache`` for later calls. None means all rows.
    assume_shuffled
        Whether a sample may consist of whole row groups. They are faster to read, but the sample is
        fair only if the rows are in random order.
    cache
        Folder for samples and for rows that do not fit into memory, in which a folder is made that
        only this user can read. None means the user's cache folder. It keeps at most 20 GB, or
        what the environment variable PROTOBANDIT_CACHE_GB says.
    seed
        Seed of the sample.
    tell
        Function that is called with messages about slow steps.
    like
        The compared columns of other rows, which a table with names must have too. Used if
        ``columns`` is None.
    options
        What messages call the options.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from protobandit.data import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(pathlib.Path(folder, "a.npy"), np.ones((3, 2)))
    ...     opened = open_rows(pathlib.Path(folder, "a.npy"))
    ...     opened.format, len(opened), opened.kind
    ('npy', 3, 'numbers')
    """
    given = list(path) if isinstance(path, (list, tuple)) else [path]
    if not given or not all(isinstance(each, (str, Path)) and str(each) for each in given):
        raise InvalidInput(
            f"{name}={path!r:.60} is not a path. Pass a path, a pattern, or a list of them."
        )
    require_integer(sample, "sample", allows_none=True)
    require_integer(seed, "seed", at_least=0)
    asked = ReadRequest(
        shown=", ".join(map(str, given)),
        name=name,
        columns=None if columns is None else _names(columns),
        like=None if like is None else _names(like),
        exclude=_names(exclude),
        without=_uses(without),
        perhaps=_uses(perhaps),
        where=where,
        options=options,
        texts=_names(texts),
        categories=categories,
        image_size=_as_size(image_size),
        is_colour=is_colour,
        sample=None if sample is None else int(sample),
        assume_shuffled=assume_shuffled,
        cache=None if cache is None else Path(cache),
        seed=int(seed),
        **({} if tell is None else {"tell": tell}),
    )
    files = [file for each in given for file in _files(_expanded(each, name), name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries; what matters of a file is in `remark`
        form = _one_format(files, asked)
        _require_applicable(form, asked)
        return READERS[form](files, asked)


def open_if_path(
    data: Any,
    *,
    name: str,
    has_categories: bool = False,
    like: tuple[str, ...] | None = None,
    without: Any = (),
) -> Any:
    """Return the opened file if ``data`` is a path, else ``data`` itself.

    ``has_categories`` is whether columns of texts are features too; ``like`` and ``without`` are as
    in `open_rows`.
    """
    if not isinstance(data, (str, Path)):
        return data
    return open_rows(data, name=name, categories=has_categories, like=like, without=without)


# -- paths ----------------------------------------------------------------------------------------


def _expanded(given: str | Path, name: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise InvalidInput(
            f"{name}: {given} begins with ~ but names an unknown user. Pass the full path."
        ) from None


def _files(path: Path, name: str) -> list[Path]:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _matches(path, name)
    except ValueError:  # a zero byte
        raise InvalidInput(f"{name}={str(path)!r:.60} is not a path. Check the path.") from None
    except OSError as error:
        shown, reason = f"{path!s:.200}", os.strerror(error.errno or 0)
        raise InvalidInput(f"{name}: {shown} cannot be read: {reason}. Check the path.") from None
    if stat.S_ISDIR(mode):
        return _in_folder(path, name)
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{name}: {path} is not a regular file. Save it to a file first.")
    return [path]


def _matches(path: Path, name: str) -> list[Path]:
    if not glob.has_magic(str(path)):
        raise InvalidInput(missing_file(path, name=name))
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    if not found:
        raise InvalidInput(f"{name}: no file matches {path}. Check the pattern.")
    return [file for each in found for file in _files(each, name)]


def _in_folder(folder: Path, name: str) -> list[Path]:
    """Return the images in a folder and its subfolders, or else its files of a known format."""
    with reading(folder, name=name, as_what="a folder"):
        below = sorted(each for each in folder.rglob("*") if each.is_file())
    visible = [each for each in below if not each.name.startswith((".", "_"))]
    formats = {each: found.name for each in visible if (found := format_of(each)) is not None}
    images = [each for each, form in formats.items() if form == "images"]
    others = [each for each in formats if each.parent == folder]
    if images or others:
        return images or others
    raise InvalidInput(
        f"{name}: {folder} is a folder without images or files of a known format. Pass a file, or "
        f"a folder of {listed_suffixes()}."
    )


def _one_format(files: Sequence[Path], asked: ReadRequest) -> str:
    first_files: dict[str, Path] = {}
    for file in files:
        form = format_of(file)
        if form is None:
            raise InvalidInput(
                f"{asked.name}: {file} has the unknown suffix {file.suffix!r}. Pass one of "
                f"{listed_suffixes()}."
            )
        first_files.setdefault(form.name, file)
    if len(first_files) > 1:
        shown = " and ".join(str(file) for file in list(first_files.values())[:2])
        raise InvalidInput(
            f"{asked.name}: {shown} have different formats. Pass files of one format."
        )
    return next(iter(first_files))


# -- options --------------------------------------------------------------------------------------


def _names(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _uses(given: Any) -> dict[str, str]:
    """Return by column what it is used for."""
    if isinstance(given, Mapping):
        return {str(name): str(use) for name, use in given.items()}
    return dict.fromkeys(_names(given), "not a feature")


def _require_applicable(form: str, asked: ReadRequest) -> None:
    """Raise if an option needs a table with named columns and the files are none."""
    for option, value in (("exclude", asked.exclude), ("where", asked.where)):
        if value and form not in TABLE_FORMATS:
            raise InvalidInput(
                f"{asked.name}: {asked.shown} has no named columns, which "
                f"{asked.options.prefix}{option} needs. Remove the option, or pass a table such as "
                f".csv or .parquet."
            )


def _as_size(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    pair = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    if len(pair) != 2 or not all(is_integer(n) and n > 0 for n in pair):
        raise InvalidInput(
            f"image_size={size!r:.60} is not allowed. Pass a number of pixels, or (height, width)."
        )
    return int(pair[0]), int(pair[1])


# -- texts, and the readers of all formats --------------------------------------------------------


def _open_texts(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open text files; each line is a row."""
    if asked.columns is not None:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} holds one text per line and no columns. Omit columns."
        )
    texts: list[str] = []
    for path in paths:
        with reading(path, name=asked.name, as_what="UTF-8 text"):
            lines = path.read_bytes().decode("utf-8-sig").split("\n")
        texts += [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
    if not texts:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} is empty. Pass a file with one text per line."
        )
    values = np.empty(len(texts), dtype=object)
    values[:] = texts
    return Opened(
        path=asked.shown,
        format="text",
        rows=texts,
        kind="texts",
        features=(),
        n_total=len(texts),
        names=("text",),
        other_columns=ColumnsInMemory({"text": values}),
    )


# By name of the format, as in `protobandit.rows.files.formats`.
READERS: dict[str, Reader] = {
    "npy": open_npy,
    "npz": open_npz,
    "csv": partial(open_tables, form="csv", open_file=partial(open_delimited, delimiter=",")),
    "tsv": partial(open_tables, form="tsv", open_file=partial(open_delimited, delimiter="\t")),
    "jsonl": partial(open_tables, form="jsonl", open_file=open_json_lines),
    "parquet": partial(open_tables, form="parquet", open_file=open_parquet),
    "arrow": partial(open_tables, form="arrow", open_file=open_arrow),
    "text": _open_texts,
    "images": open_images,
}
