"""Read NumPy's formats .npy and .npz; arrays are memory-mapped if possible, never unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import require_known
from protobandit.rows.files.file_errors import reading
from protobandit.rows.files.opened import ColumnsInMemory, Opened, ReadRequest
from protobandit.rows.files.row_cache import MOST_HELD, cached
from protobandit.rows.memory_maps import Joined, read_at_random
from protobandit.rows.messages import shortened
from protobandit.rows.sparse_format import checked_csr

_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}
_SPARSE = {"format", "shape", "data"}
_MOST_NAMES = 1 << 16  # a small sparse file may declare millions of columns


def open_npy(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open one `.npy` file, or several as one set of rows."""
    _require_no_names(asked)
    arrays = [_mapped(path, asked.name) for path in paths]
    shapes = {array.shape[1:] for array in arrays}
    if len(shapes) > 1:
        shown = " and ".join(map(str, sorted(shapes)))
        raise InvalidInput(
            f"{asked.name}: {asked.shown} have rows of different shapes, {shown}. Pass files with "
            f"the same columns."
        )
    if len(arrays) == 1:
        return _opened(arrays[0], "npy", asked)
    flat = [_flat(array, asked.shown, asked.name) for array in arrays]
    return _opened(Joined(flat), "npy", asked, image_shape=_image_shape(arrays[0]))


def _mapped(path: Path, name: str) -> np.ndarray[Any, Any]:
    with reading(path, name=name, as_what=".npy"):
        with path.open("rb") as file:
            shape, is_fortran, dtype = _header(file, str(path), name)
            offset = file.tell()
        n_there = path.stat().st_size - offset
        _require_whole(shape, dtype, n_there, str(path), name)
        order: Any = "F" if is_fortran else "C"
        array = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)
        if not is_fortran or len(shape) == 1:
            read_at_random(array)
            return array
        _require_small_fortran_order(array.nbytes, str(path), name)
        return np.ascontiguousarray(array)


def _require_small_fortran_order(n_bytes: int, shown: str, name: str) -> None:
    if n_bytes > MOST_HELD:
        raise InvalidInput(
            f"{name}: {shown} is in Fortran order, in which the values of a row are far apart. "
            f"Save it again with np.ascontiguousarray(rows)."
        )


def _header(file: IO[bytes], shown: str, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether in Fortran order, and type; raise unless it holds plain numbers."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise InvalidInput(
            f"{name}: {shown} has a header of version {version}, which structured arrays use. "
            f"Save plain numbers."
        )
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise InvalidInput(
            f"{name}: {shown} holds Python objects, which are not unpickled for safety. Save plain "
            f"numbers."
        )
    if dtype.kind not in "fiub":
        raise InvalidInput(f"{name}: {shown} holds {_description(dtype)}. Save real numbers.")
    return shape, is_fortran, dtype


def _description(dtype: np.dtype[Any]) -> str:
    kinds = {"U": "texts", "S": "texts", "c": "complex numbers", "V": "structured records"}
    return f"{kinds.get(dtype.kind, 'values')} ({dtype})"


def _require_whole(
    shape: tuple[int, ...], dtype: np.dtype[Any], n_there: int, shown: str, name: str
) -> None:
    if any(n < 0 for n in shape):
        raise InvalidInput(
            f"{name}: {shown} has the invalid shape {shape} in its header. Save it again."
        )
    n_bytes = prod(map(int, shape), start=dtype.itemsize)
    if n_bytes > n_there:
        raise InvalidInput(
            f"{name}: {shown} is incomplete: its header requires {n_bytes:,} bytes of numbers "
            f"(shape {shape}, {dtype}), but it has {n_there:,}. Save it again."
        )
    if len(shape) < 2:
        raise InvalidInput(
            f"{name}: {shown} has {len(shape)} dimension(s) and shape {shape}. Save 2-D rows: "
            f"reshape(-1, 1) for one column."
        )
    if n_bytes == 0:
        raise InvalidInput(
            f"{name}: {shown} has shape {shape}: no {'rows' if shape[0] == 0 else 'columns'}. "
            f"Save at least one."
        )


def _require_no_names(asked: ReadRequest) -> None:
    wanted = (*(asked.columns or ()), *asked.without)
    if wanted:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} has no named columns, but {wanted[0]!r} was requested. "
            f"Use .npz, .csv or .parquet for columns with names."
        )


def _image_shape(array: Any) -> tuple[int, ...] | None:
    is_image = array.dtype == np.uint8 and (
        array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (1, 3))
    )
    if not is_image:
        return None
    shape = tuple(int(n) for n in array.shape[1:])
    return shape[:2] if shape[2:] == (1,) else shape


def _flat(array: Any, shown: str, name: str) -> Any:
    if array.ndim > 2 and _image_shape(array) is None:
        raise InvalidInput(
            f"{name}: {shown} has {array.ndim} dimensions and shape {array.shape}. Save 2-D rows: "
            f"reshape(len(X), -1); bytes of shape (n, height, width[, 3]) are images."
        )
    return array if array.ndim == 2 else array.reshape(len(array), -1)


def _opened(
    array: Any,
    form: str,
    asked: ReadRequest,
    *,
    image_shape: tuple[int, ...] | None = None,
    other_columns: dict[str, np.ndarray[Any, Any]] | None = None,
) -> Opened:
    shape = image_shape or _image_shape(array)
    rows = _flat(array, asked.shown, asked.name)
    n_names = min(rows.shape[1], _MOST_NAMES) if form == "csr" else rows.shape[1]
    return Opened(
        path=asked.shown,
        format=form,
        rows=rows,
        kind="numbers" if shape is None else "images",
        features=tuple(map(str, range(n_names))),
        image_shape=shape,
        n_total=int(rows.shape[0]),
        names=tuple(other_columns or ()),
        other_columns=ColumnsInMemory(other_columns or {}),
    )


# -- .npz -----------------------------------------------------------------------------------------


def open_npz(paths: Sequence[Path], asked: ReadRequest) -> Opened:
    """Open an `.npz` file of arrays, one of which holds the rows, or of a sparse matrix."""
    if len(paths) > 1:
        raise InvalidInput(
            f"{asked.name}: {asked.shown} are several .npz files. Pass one, or several .npy."
        )
    path = paths[0]
    with reading(path, name=asked.name, as_what=".npz"), zipfile.ZipFile(path) as archive:
        members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}
        if set(members) >= _SPARSE:
            return _sparse(path, asked)
        headers = {}
        for key, member in members.items():
            with archive.open(member) as file:
                headers[key] = _header_or_none(file)
        key = _chosen(headers, asked)
        rows = _member(archive, members[key], path, asked)
        # Other arrays with one value per row can be requested by name.
        others = [
            other
            for other, header in headers.items()
            if header is not None and header[0] == (len(rows),) and other != key
        ]
        n_bytes = sum(members[other].file_size for other in others)
        if n_bytes > MOST_HELD:
            raise InvalidInput(
                f"{asked.name}: {path} holds {n_bytes:,} bytes of other columns beside its rows, "
                f"which do not fit into memory. Remove the largest ones."
            )
        other_columns = {other: _loaded(archive, members[other]) for other in others}
    require_known(tuple(other_columns), tuple(asked.without), f"{asked.name}: {asked.shown}")
    return _opened(rows, "npz", asked, other_columns=other_columns)


def _header_or_none(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]] | None:
    version = npy.read_magic(file)
    if version not in _HEADERS:
        return None
    header = _HEADERS[version](file)
    return None if header[2].hasobject or header[2].kind not in "fiubUS" else header


def _chosen(headers: dict[str, Any], asked: ReadRequest) -> str:
    """Return the name of the array that holds the rows."""
    what = f"{asked.name}: {asked.shown}"
    if asked.columns is not None:
        require_known(tuple(headers), asked.columns, what)
        if len(asked.columns) > 1:
            raise InvalidInput(
                f"{what}: columns={list(asked.columns)} names several arrays. Name one."
            )
        return asked.columns[0]
    tables = [key for key, header in headers.items() if header and len(header[0]) > 1]
    candidates = tables or list(headers)
    if len(candidates) == 1:
        return candidates[0]
    held = shortened(map(repr, candidates)) if candidates else "nothing"
    raise InvalidInput(
        f"{what} holds {held}. Name the array of rows with data.open_rows(path, columns=...) "
        f"(--columns)."
    )


def _member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, asked: ReadRequest
) -> np.ndarray[Any, Any]:
    shown = f"{path}[{member.filename.removesuffix('.npy')}]"
    with archive.open(member) as file:
        shape, is_fortran, dtype = _header(file, shown, asked.name)
        _require_whole(shape, dtype, member.file_size - file.tell(), shown, asked.name)
        if is_fortran:
            _require_small_fortran_order(member.file_size, shown, asked.name)
        if member.file_size <= MOST_HELD:
            return np.ascontiguousarray(_loaded(archive, member))
        start = file.tell()

        def fill(out: np.ndarray[Any, Any]) -> None:
            file.seek(start)
            step = max(1, (1 << 24) // (out.nbytes // len(out)))
            for at in range(0, len(out), step):
                some = out[at : at + step]
                some[...] = np.frombuffer(file.read(some.nbytes), dtype).reshape(some.shape)

        key = (member.filename, member.CRC)
        return cached([path], key, shape=shape, dtype=dtype, fill=fill, asked=asked)


def _loaded(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(member) as file:
        return npy.read_array(file, allow_pickle=False)


def _sparse(path: Path, asked: ReadRequest) -> Opened:
    from scipy.sparse import load_npz

    _require_no_names(asked)
    matrix: Any = load_npz(path)
    return _opened(checked_csr(matrix, name=f"{asked.name}: {asked.shown}"), "csr", asked)
