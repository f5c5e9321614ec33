"""The door to files: a path, a pattern, a folder or several of them become `Opened`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.files.file_errors import missing, reading
from protobandit.rows.files.images import SUFFIXES, open_images
from protobandit.rows.files.npy import open_npy, open_npz
from protobandit.rows.files.opened import Listed, Opened, ReadRequest
from protobandit.rows.files.readers import TABULAR
from protobandit.rows.files.table_rows import open_tables


def open_rows(
    path: Any,
    *,
    name: str = "source",
    columns: Any = None,
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
) -> Opened:
    """Open files as rows that `select` takes.

    Formats go by suffix: ``.npy``, ``.npz`` (also sparse), ``.csv``, ``.tsv``, ``.jsonl``,
    ``.parquet``, ``.arrow``, ``.feather``, ``.txt`` (a text a line), images; CSV, TSV and JSON may
    be gzipped.

    Parameters
    ----------
    path
        A file, a folder of images or of files of one format, a pattern such as ``"part-*.npy"``, or
        a list of these, which make one set.
    name
        What the rows are, "source" or "target", for sentences.
    columns
        The feature columns, by name or pattern; None means all but ``without`` and row numbers that
        pandas wrote. One column of texts alone makes rows that are texts. Of an ``.npz``: which
        array.
    without
        Columns that are no features: ids, labels, weights, groups.
    perhaps
        Columns that are no features either, if they are there at all.
    texts
        Columns whose values are kept as they are written, such as ids: "007" is no 7. Names that a
        file has not are passed over.
    categories
        Whether columns of texts are features too; rows are then `Columns`.
    image_size
        Height and width of images, as one number or a pair; None keeps the size they have in
        common, or makes them 32 by 32.
    is_colour
        Whether images are read as RGB rather than grey.
    sample
        The most rows of a table to take; of a larger one a uniform sample is drawn in one pass and
        kept in ``cache`` for the next time. None means all.
    assume_shuffled
        Whether a sample may be made of whole row groups, which are quicker to read, but fair only
        if the rows are in random order.
    cache
        The folder for samples and for rows too many to hold; None means the user's own cache.
    seed
        Of the sample.
    tell
        Called with sentences about what takes long.

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
        raise InvalidInput(f"{name}={path!r:.60} is no path. Pass a path, a pattern, or several.")
    asked = ReadRequest(
        shown=", ".join(map(str, given)),
        name=name,
        columns=None if columns is None else _names(columns),
        without=_names(without),
        perhaps=_names(perhaps),
        texts=_names(texts),
        categories=categories,
        image_size=_as_size(image_size),
        is_colour=is_colour,
        sample=_as_sample(sample),
        assume_shuffled=assume_shuffled,
        cache=None if cache is None else Path(cache),
        seed=_as_seed(seed),
        **({} if tell is None else {"tell": tell}),
    )
    files = [file for each in given for file in _files(_expanded(each, name), name)]
    form = _one_format(files, asked)
    return _OPENERS[form](files, asked)


# -- paths ----------------------------------------------------------------------------------------


def _expanded(given: str | Path, name: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise InvalidInput(
            f"{name}: {given} begins with ~ and no user of this machine. Pass the whole path."
        ) from None


def _files(path: Path, name: str) -> list[Path]:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _matches(path, name)
    except ValueError:  # a zero byte
        raise InvalidInput(f"{name}={str(path)!r:.60} is no path. Check it.") from None
    except OSError as error:
        shown, reason = f"{path!s:.200}", os.strerror(error.errno or 0)
        raise InvalidInput(f"{name}: {shown} cannot be read: {reason}.") from None
    if stat.S_ISDIR(mode):
        return _in_folder(path, name)
    if not stat.S_ISREG(mode):
        raise InvalidInput(f"{name}: {path} is not a regular file. Save it to a file first.")
    return [path]


def _matches(path: Path, name: str) -> list[Path]:
    if not glob.has_magic(str(path)):
        raise InvalidInput(missing(path, name=name))
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    if not found:
        raise InvalidInput(f"{name}: no file matches {path}. Check the pattern.")
    return [file for each in found for file in _files(each, name)]


def _in_folder(folder: Path, name: str) -> list[Path]:
    """Return the images of a folder and those below it, or else its files of one format."""
    with reading(folder, name=name, as_what="a folder"):
        below = sorted(each for each in folder.rglob("*") if each.is_file())
    seen = [each for each in below if not each.name.startswith((".", "_"))]
    images = [each for each in seen if each.suffix.lower() in SUFFIXES]
    others = [each for each in seen if each.parent == folder and _suffix(each) in _FORMATS]
    if images or others:
        return images or others
    raise InvalidInput(
        f"{name}: {folder} is a folder without images or files of a known format. Pass a file, or "
        f"a folder of {_known()}."
    )


def _one_format(files: Sequence[Path], asked: ReadRequest) -> str:
    forms: dict[str, Path] = {}
    for file in files:
        form = _FORMATS.get(_suffix(file))
        if form is None:
            raise InvalidInput(
                f"{asked.name}: {file} has a suffix of no known format, {file.suffix!r}. Known are "
                f"{_known()}."
            )
        forms.setdefault(form, file)
    if len(forms) > 1:
        shown = " and ".join(str(file) for file in list(forms.values())[:2])
        raise InvalidInput(
            f"{asked.name}: {shown} are of different formats. Pass files of one format."
        )
    return next(iter(forms))


def _suffix(path: Path) -> str:
    name = path.name.lower()
    is_packed = name.endswith(".gz") and Path(name[:-3]).suffix in _PACKED
    return Path(name[:-3] if is_packed else name).suffix


def _known() -> str:
    return ", ".join(sorted(set(_FORMATS) - set(SUFFIXES))) + ", images (.png, .jpg, …)"


# -- options --------------------------------------------------------------------------------------


def _names(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def _as_size(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    pair = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
    is_pair = len(pair) == 2 and all(isinstance(n, (int, np.integer)) and n > 0 for n in pair)
    if not is_pair:
        raise InvalidInput(
            f"image_size={size!r} is no size. Pass a number of pixels, or (height, width)."
        )
    return int(pair[0]), int(pair[1])


def _as_sample(sample: Any) -> int | None:
    if sample is None:
        return None
    if not isinstance(sample, (int, np.integer)) or isinstance(sample, bool) or sample < 1:
        raise InvalidInput(f"sample={sample!r} is no number of rows. Pass an int >= 1, or None.")
    return int(sample)


def _as_seed(seed: Any) -> int:
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise InvalidInput(f"seed={seed!r:.40} is no seed. Pass an int >= 0.")
    return int(seed)


# -- texts, and the table of formats --------------------------------------------------------------


def _open_texts(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open files of texts, one a line."""
    if asked.columns is not None:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} holds a text a line, no columns. Leave columns out."
        )
    texts: list[str] = []
    for path in paths:
        with reading(path, name=asked.name, as_what="UTF-8 text"):
            lines = path.read_bytes().decode("utf-8-sig").split("\n")
        texts += [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
    if not texts:
        raise InvalidInput(f"{asked.name}: {asked.shown} is empty. Pass a file with a text a line.")
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
        besides=Listed({"text": values}),
    )


_FORMATS = {
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".txt": "text",
    **dict.fromkeys(SUFFIXES, "images"),
}
_PACKED = {".csv", ".tsv", ".tab", ".jsonl", ".ndjson"}
_OPENERS: dict[str, Callable[[Sequence[Path], ReadRequest], Opened]] = {
    "npy": open_npy,
    "npz": open_npz,
    "images": open_images,
    "text": _open_texts,
    **{form: partial(open_tables, form=form) for form in TABULAR},
}
