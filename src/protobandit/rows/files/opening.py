"""Open what users pass as rows: files, frames and containers of other libraries.

A path, a pattern, a folder or a list of these becomes `Opened`.
The format of each file follows from its suffix (`protobandit.rows.files.formats`).
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from protobandit.foundation.checks import is_integer, require_integer
from protobandit.foundation.errors import InvalidInput, ProtobanditError
from protobandit.rows.column_choice import FILE, FRAME, OptionNames
from protobandit.rows.columns import Columns
from protobandit.rows.containers import as_contained
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.formats import FileFormat, format_of, listed_suffixes
from protobandit.rows.files.images import open_images
from protobandit.rows.files.locating import File, located
from protobandit.rows.files.npy import open_npy, open_npz
from protobandit.rows.files.opened import ColumnsInMemory, Opened, ReadRequest, ignore
from protobandit.rows.files.partitions import partition_columns
from protobandit.rows.files.remote import copied, remove_copies
from protobandit.rows.files.table_rows import open_tables, opened_table
from protobandit.rows.files.tables import FileTable, open_arrow, open_parquet
from protobandit.rows.files.text_tables import open_delimited, open_json_lines
from protobandit.rows.frames import column_table, frame_table, is_frame
from protobandit.rows.memory_maps import Joined
from protobandit.rows.rows import Rows, is_sparse

# Formats that other libraries read into rows that `select` accepts.
_READ_ELSEWHERE = {
    ".h5ad": "anndata.read_h5ad(path) in Python, with obsm= for another array than X",
    ".nc": "xarray.load_dataset(path) in Python",
    ".pt": "torch.load(path) in Python",
    ".xlsx": "pandas.read_excel(path) in Python, or a .csv file",
}
Reader: TypeAlias = Callable[[Sequence[Any], ReadRequest], Opened]


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
    obsm: str | None = None,
    image_size: Any = None,
    is_colour: bool = False,
    sample: int | None = None,
    assume_shuffled: bool = False,
    cache: Any = None,
    seed: int = 0,
    in_parts: bool = False,
    tell: Callable[[str], None] | None = None,
    like: Any = None,
    options: OptionNames = FILE,
) -> Opened:
    """Open files as rows that `select` accepts.

    The format follows from the suffix: ``.npy``; ``.npz`` (arrays or a sparse matrix); ``.csv``;
    ``.tsv``, ``.tab``; ``.jsonl``, ``.ndjson``; ``.parquet``, ``.pq``; ``.arrow``, ``.feather``,
    ``.ipc``; ``.txt`` (one text per line); images such as ``.png`` and ``.jpg``. CSV, TSV and JSON
    files may be compressed (``.csv.gz``, ``.bz2``, ``.zst``, ``.xz``).

    Parameters
    ----------
    path
        A file, a folder of images or of files of one format, a pattern such as ``"part-*.npy"``, a
        zip archive, a URL that fsspec opens, or a list of these. Several files make one set of
        rows. Folders below with names such as ``year=2024`` are columns, which are features only
        if ``columns`` names them. Or a DataFrame, an Arrow table, an AnnData object or an xarray
        Dataset, of which some columns are wanted.
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
    obsm
        The array of an AnnData object that holds the rows, such as "X_pca". None means ``X``.
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
    in_parts
        Whether the numbers are not read here: the rows of Parquet files are then parts that Dask
        tasks read, one per row group or several small ones. `select` accepts them like a Dask
        collection.
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
    are_paths = bool(given) and all(isinstance(each, (str, Path)) and str(each) for each in given)
    require_integer(sample, "sample", allows_none=True)
    require_integer(seed, "seed", at_least=0)
    asked = ReadRequest(
        shown=", ".join(map(str, given)) if are_paths else _description(path),
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
        obsm=obsm,
        image_size=_as_size(image_size),
        is_colour=is_colour,
        sample=None if sample is None else int(sample),
        assume_shuffled=assume_shuffled,
        cache=None if cache is None else Path(cache),
        seed=int(seed),
        in_parts=in_parts,
        tell=tell or ignore,
    )
    if are_paths:
        return _open_files(given, asked)
    found = None if is_plain(path) or isinstance(path, str) else _opened(path, asked)
    if isinstance(found, Opened):
        return found
    raise InvalidInput(
        f"{name}={path!r:.60} is not a path. Pass a path, a pattern, or a list of them; or a frame "
        f"with named columns."
    )


def as_opened(
    data: Any,
    *,
    name: str,
    preparation: Any = None,
    has_categories: bool = False,
    like: Sequence[str] | None = None,
    others: str = "",
    without: Any = (),
    perhaps: Any = (),
    takes_objects: bool = False,
) -> Any:
    """Return what the user passed as rows: files, frames and containers are opened.

    Arrays, sparse matrices, lists and rows of this package are returned as they are.

    Parameters
    ----------
    data
        Anything that `select` accepts.
    name
        The name of the rows in messages.
    preparation
        The preparation of the rows, if any. It says whether columns of texts are features too, and
        if it is fitted, only its columns are read.
    has_categories
        Whether columns of texts are features also without a preparation.
    like
        The columns of the rows with which these are compared, or None. Other columns are left out
        if all of these exist.
    others
        The reason why other columns than ``like`` are left out.
    without, perhaps
        As in `open_rows`.
    takes_objects
        Whether rows need not be numbers.
    """
    if is_plain(data):
        return data
    fitted = None if like else getattr(preparation, "features", None)
    asked = ReadRequest(
        shown=_description(data),
        name=name,
        like=tuple(like or fitted or ()) or None,
        others=others or ("" if fitted is None else "not used by the preparation"),
        without=_uses(without),
        perhaps=_uses(perhaps),
        options=FILE if isinstance(data, (str, Path)) else FRAME,
        as_categories=tuple(getattr(preparation, "levels", ())),
        categories=has_categories or _reads_texts(preparation),
    )
    return _opened(data, asked, takes_objects=takes_objects)


def _reads_texts(preparation: Any) -> bool:
    """Return whether a preparation, fitted or not, reads columns of texts."""
    is_any = preparation is not None  # of another library, which may read everything
    return bool(getattr(preparation, "levels", getattr(preparation, "categories", is_any)))


def is_plain(data: Any) -> bool:
    """Return whether rows need not be opened."""
    if isinstance(data, (list, tuple)):
        return not (data and isinstance(data[0], Mapping))
    is_own = data is None or isinstance(data, (np.ndarray, Rows, Columns, Opened, Joined))
    return is_own or is_sparse(data)


def _opened(data: Any, asked: ReadRequest, *, takes_objects: bool = False) -> Any:
    if isinstance(data, (str, Path)):
        return _open_files([data], asked)
    found: Any = as_contained(data, asked)
    if found is data and is_frame(data):
        words = {"shown": asked.shown, "name": asked.name}
        found = frame_table(data, **words, takes_objects=takes_objects)
    elif found is not data and isinstance(found, dict):
        found = column_table(found, shown=asked.shown, name=asked.name)
    if not isinstance(found, FileTable):
        return found
    is_one = found.form == "series"
    return opened_table(found, replace(asked, columns=found.names) if is_one else asked)


def _description(data: Any) -> str:
    """Return how messages call what the user passed."""
    if isinstance(data, (str, Path)):
        return str(data)
    if isinstance(data, (list, tuple)):
        return "list of dicts"
    return f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"


def _open_files(given: Sequence[Any], asked: ReadRequest) -> Opened:
    found = [each for path in given for each in located(path, asked.name)]
    form = _one_format([each.file for each in found], asked)
    if form.is_table:
        asked = replace(asked, partitions=partition_columns([each.below for each in found]))
    else:
        _require_no_table(asked)
    if asked.in_parts and form.name != "parquet":
        raise InvalidInput(
            f"{asked.name}: {asked.shown} is not read in parts. Pass Parquet files, or leave out "
            f"what asks for parts (in_parts, --workers, --scheduler)."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries; what matters of a file is in `remark`
        files, asked = copied([each.file for each in found], form, asked)
        opened = None
        try:
            opened = READERS[form.name](files, asked)
        except ProtobanditError as error:
            raise type(error)(asked.naming_originals(str(error))) from None
        finally:
            if opened is None:
                remove_copies(asked.copies)
    if asked.copies:
        weakref.finalize(opened.other_columns, remove_copies, asked.copies)
    return opened


def _one_format(files: Sequence[File], asked: ReadRequest) -> FileFormat:
    first_files: dict[FileFormat, File] = {}
    for file in files:
        form = format_of(file)
        if form is None:
            known = _READ_ELSEWHERE.get(file.suffix.lower(), f"one of {listed_suffixes()}")
            raise InvalidInput(
                f"{asked.name}: {file} has the unknown suffix {file.suffix!r}. Pass {known}."
            )
        first_files.setdefault(form, file)
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


def _require_no_table(asked: ReadRequest) -> None:
    """Raise if an option needs a table with named columns."""
    for option, value in (("exclude", asked.exclude), ("where", asked.where)):
        if value:
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
