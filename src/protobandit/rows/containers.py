"""Arrays and data sets of other libraries: tensors, AnnData, xarray.

The libraries are never imported here: an object of a library exists only if the library is loaded.
Arrays that lie elsewhere than in memory are refused with the call that reads them, because reading
all of them may take more memory than there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.columns import require_known
from protobandit.rows.files.opened import ColumnsInMemory, Opened, ReadRequest
from protobandit.rows.messages import reason_of, shortened
from protobandit.rows.rows import is_sparse

# By library: how all rows, and every hundredth row, are read into memory.
_NOT_READ = {
    "dask": ("{0}.compute()", "a sample of it, such as {0}[::100].compute()"),
    "zarr": ("{0}[:]", "a part of it, such as {0}[:100_000], or dask.array.from_zarr({0})"),
}
_LAZY_FRAMES = ("dask", "dask_expr")
# By library: tensors that NumPy can read.
_READABLE = {
    "torch": "{0}.detach().cpu(), with .float() for bfloat16 and .to_dense() if it is sparse",
    "jax": "jax.device_get({0}), with .astype('float32') for bfloat16",
    "cupy": "{0}.get()",
}
_ANY_READABLE = "it as a NumPy array"


def _libraries_of(data: Any) -> set[str]:
    """Return the libraries that define the type of ``data`` and its base classes."""
    return {base.__module__.partition(".")[0] for base in type(data).__mro__}


def as_contained(data: Any, asked: ReadRequest) -> Any:
    """Return the rows of a container of another library, or ``data`` itself.

    The rows of a Dataset are returned as a dict of columns.
    """
    libraries = _libraries_of(data)
    require_readable(data, name=asked.name)
    if "anndata" in libraries and hasattr(data, "obsm"):
        return _anndata(data, asked)
    if asked.obsm is not None:
        raise InvalidInput(
            f"obsm={asked.obsm!r} is given with {asked.shown}, which has no obsm. Pass an AnnData "
            f"object, or omit obsm."
        )
    if "xarray" in libraries:
        return _dataset(data, asked) if hasattr(data, "data_vars") else _data_array(data, asked)
    if hasattr(data, "__dlpack__") and "pyarrow" not in libraries:  # its arrays are like Series
        return _tensor(data, asked.name)
    return data


def require_readable(data: Any, *, name: str) -> None:
    """Raise if rows lie elsewhere than in memory; ``name`` is for errors."""
    libraries = _libraries_of(data)
    if libraries & set(_LAZY_FRAMES) and hasattr(data, "columns"):
        raise InvalidInput(
            f"{name} is a dask {type(data).__name__}, which is not read into memory here. Pass "
            f"{name}.compute(), or a sample of it: {name}.sample(frac=0.01).compute()."
        )
    for library, (whole, part) in _NOT_READ.items():
        if library in libraries and hasattr(data, "__array__"):
            raise InvalidInput(
                f"{name} is a {library} {type(data).__name__}, which is not read into memory here. "
                f"Pass {whole.format(name)}, or {part.format(name)}."
            )


# -- tensors --------------------------------------------------------------------------------------


def _tensor(data: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a tensor of PyTorch, JAX or another library as an array that shares its memory."""
    library = type(data).__module__.partition(".")[0].removesuffix("lib")  # of JAX: jaxlib
    try:
        return np.from_dlpack(data)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"{name} is a {library} {type(data).__name__} that NumPy cannot read: "
            f"{reason_of(error)}. Pass {_READABLE.get(library, _ANY_READABLE).format(name)}."
        ) from None


# -- AnnData --------------------------------------------------------------------------------------


def _require_no_choice(asked: ReadRequest) -> None:
    """Raise if some columns or rows are requested, which these containers select themselves."""
    asks_columns = asked.columns is not None or asked.exclude
    if asks_columns or asked.where is not None or asked.sample is not None:
        raise InvalidInput(
            f"{asked.name}: columns, exclude, where and sample do not apply to {asked.shown}. "
            f"Select rows and columns before you pass it, for example {asked.name}[:, ['a', 'b']]."
        )


def _anndata(data: Any, asked: ReadRequest) -> Opened:
    _require_no_choice(asked)
    obsm = asked.obsm
    if obsm is None and asked.like is not None and len(asked.like) == 1:
        (name,) = asked.like  # perhaps rows that these are compared with come from this array
        obsm = name if name in data.obsm else None
    if obsm is None:
        if data.X is None:
            raise InvalidInput(
                f"{asked.name} is an AnnData object without X. Name one of its arrays "
                f"({_listed(data.obsm)}) with obsm=."
            )
        if data.isbacked:
            raise InvalidInput(
                f"{asked.name} is an AnnData object whose X is in a file. Pass "
                f"{asked.name}.to_memory(), or name one of its arrays with obsm=."
            )
        rows, features = data.X, tuple(map(str, data.var_names))
        compared = features
    else:
        if not isinstance(obsm, str) or obsm not in data.obsm:
            raise InvalidInput(f"{asked.name} has no obsm[{obsm!r}]. It has {_listed(data.obsm)}.")
        rows = data.obsm[obsm]
        rows = rows.to_numpy() if hasattr(rows, "columns") else rows
        features = tuple(f"{obsm}[{at}]" for at in range(rows.shape[1]))
        compared = (obsm,)
    require_readable(rows, name=f"{asked.name}.X")
    if not (is_sparse(rows) or isinstance(rows, np.ndarray)):
        rows = np.asarray(rows)
    columns = {str(name): data.obs[name].to_numpy() for name in data.obs.columns}
    values = {"obs_names": data.obs_names.to_numpy(), **columns}
    require_known(tuple(values), tuple(asked.without), f"{asked.name}: {asked.shown}")
    return Opened(
        path=asked.shown,
        format="anndata",
        rows=rows,
        kind="numbers",
        features=features,
        n_total=int(rows.shape[0]),
        names=tuple(values),
        columns=compared,
        left_out=dict.fromkeys(columns, "a column of obs")
        | {name: use for name, use in asked.perhaps.items() if name in columns}
        | dict(asked.without),
        other_columns=ColumnsInMemory(values),
    )


def _listed(arrays: Mapping[str, Any]) -> str:
    return shortened(map(repr, arrays)) if len(arrays) else "none"


# -- xarray ---------------------------------------------------------------------------------------


def _data_array(data: Any, asked: ReadRequest) -> Any:
    _require_no_choice(asked)
    require_known((), tuple(asked.without), f"{asked.name}: {asked.shown}")
    _require_in_memory(data, asked.name)
    rows = np.asarray(data.values)
    if rows.ndim != 2 or data.dims[1] not in getattr(data, "coords", ()):  # a Variable has none
        return rows
    names = [str(each) for each in data.coords[data.dims[1]].values]
    return Opened(
        path=asked.shown,
        format="xarray",
        rows=rows,
        kind="numbers",
        features=tuple(names),
        n_total=len(rows),
        columns=tuple(names),
    )


def _dataset(data: Any, asked: ReadRequest) -> dict[str, Any]:
    """Return the variables of a Dataset as columns; those of two dimensions hold vectors."""
    firsts = {variable.dims[:1] for variable in data.data_vars.values()}
    if len(firsts) != 1 or firsts == {()}:
        shown = shortened(f"{name!r} {each.dims}" for name, each in data.data_vars.items())
        raise InvalidInput(
            f"{asked.name} is a Dataset whose variables do not have one first dimension in common: "
            f"{shown or 'it has none'}. Pass some of them, such as {asked.name}[['a', 'b']]."
        )
    columns = {}
    for name, variable in data.data_vars.items():
        _require_in_memory(variable, f"{asked.name}[{name!r}]")
        values = np.asarray(variable.values)
        if values.ndim > 2:
            raise InvalidInput(
                f"{asked.name}[{name!r}] has dimensions {variable.dims}. Pass variables of one or "
                f"two dimensions, for example by {asked.name}.stack(...)."
            )
        columns[str(name)] = values
    return columns


def _require_in_memory(data: Any, name: str) -> None:
    if data.chunks is not None:
        raise InvalidInput(
            f"{name} holds a dask array, which is not read into memory here. Pass "
            f"{name}.compute(), or a part of it such as {name}[::100].compute()."
        )
