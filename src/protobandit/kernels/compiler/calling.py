"""Call machine code with arrays and numbers of Python.

An array is passed as the address of its object: the code reads from there where the numbers are,
which takes less time than to pass that from Python. So the caller holds the arrays until the code
returns. A call releases the interpreter lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from protobandit.kernels.compiler.values import (
    BOOL,
    DATA,
    FLOAT32,
    FLOAT64,
    INT64,
    MEMORY,
    SHAPE,
    STRIDES,
    UINT64,
    ArrayType,
    KernelError,
    ParameterType,
    Scalar,
)

HEADER = object.__basicsize__  # bytes of every object before its own fields

# By the type of a number: its type in code, and how Python makes the number that ctypes takes.
_NUMBERS: dict[type, tuple[Scalar, Callable[[Any], Any]]] = {
    bool: (BOOL, bool),
    np.bool_: (BOOL, bool),
    float: (FLOAT64, float),
    np.float64: (FLOAT64, float),
    np.float32: (FLOAT32, float),
    np.uint64: (UINT64, int),
    **dict.fromkeys(
        (int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32), (INT64, int)
    ),
}
_CTYPES: dict[Scalar, Any] = {
    BOOL: ctypes.c_bool,
    INT64: ctypes.c_int64,
    UINT64: ctypes.c_uint64,
    FLOAT32: ctypes.c_float,
    FLOAT64: ctypes.c_double,
}
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # bits of ``flags.num``
_KNOWN_FLAGS = _CONTIGUOUS | _ALIGNED | _WRITEABLE


def kind_of(argument: Any) -> Any:
    """Return what the type of an argument depends on: a key, as fast as possible."""
    kind = type(argument)
    if kind is np.ndarray:
        return _kind_of_array(argument)
    if kind in _NUMBERS:
        return kind
    if kind is tuple:
        return tuple(map(kind_of, argument))
    if isinstance(argument, np.ndarray):  # a memory map, for example
        return _kind_of_array(argument)
    raise KernelError(f"a kernel cannot get {kind.__name__}")


def _kind_of_array(array: np.ndarray[Any, Any]) -> Any:
    flags = array.flags.num & _KNOWN_FLAGS
    if not flags & _CONTIGUOUS and array.strides[-1] == array.itemsize:
        flags |= _CONTIGUOUS  # its rows are
    return array.dtype, array.ndim, flags


def type_of(argument: Any) -> ParameterType:
    """Return the type of an argument."""
    if isinstance(argument, tuple):
        return tuple(map(type_of, argument))
    if not isinstance(argument, np.ndarray):
        return _NUMBERS[type(argument)][0]
    dtype, flags = argument.dtype, argument.flags
    name = f"{dtype.kind}{dtype.itemsize}"
    if name not in MEMORY or not dtype.isnative or not flags.aligned:
        raise KernelError(f"a kernel cannot get an array of {dtype!r} with {flags}")
    is_whole = bool(flags.c_contiguous) or argument.strides[-1] == argument.itemsize
    return ArrayType(name, argument.ndim, is_whole)


def require_writeable(arguments: Sequence[Any], written: Sequence[int], name: str) -> None:
    """Raise ValueError if an array that is written, by position among arrays, is read-only."""
    arrays = _arrays(arguments)
    for at in written:
        if not arrays[at].flags.writeable:
            raise ValueError(f"{name} writes to an array of shape {arrays[at].shape}: read-only")


def checked(
    call: Callable[[Sequence[Any]], Any],
    written: Sequence[int],
    shared: Sequence[int],
    name: str,
) -> Callable[[Sequence[Any]], Any]:
    """Return a function that also raises if an array that is written overlaps another one."""

    def call_checked(arguments: Sequence[Any]) -> Any:
        arrays = _arrays(arguments)
        for one in written:
            for other in range(len(arrays)):
                is_allowed = one == other or {one, other} <= {*shared}
                if not is_allowed and np.shares_memory(arrays[one], arrays[other]):
                    raise ValueError(f"{name}: arrays {one} and {other} overlap")
        return call(arguments)

    return call_checked


def _arrays(arguments: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    return [each for each in _flattened(arguments) if isinstance(each, np.ndarray)]


def is_layout_known() -> bool:
    """Return whether arrays lie in memory as the code expects it of this Python and this NumPy."""
    array = np.arange(6.0).reshape(2, 3)[:, ::2]
    if 2 * ctypes.sizeof(ctypes.c_void_p) > HEADER:
        return False
    data, shape, strides = (
        ctypes.c_void_p.from_address(id(array) + HEADER + at).value for at in (DATA, SHAPE, STRIDES)
    )
    if data != array.ctypes.data or not shape or not strides:
        return False
    numbers = [tuple((ctypes.c_int64 * 2).from_address(at)) for at in (shape, strides)]
    return numbers == [array.shape, array.strides]


def callable_at(
    address: int,
    types: Sequence[ParameterType],
    results: Sequence[Scalar],
    *,
    is_tuple: bool,
    name: str,
    owner: Any = None,
) -> Callable[[Sequence[Any]], Any]:
    """Return a function that calls the code at an address with a sequence of arguments.

    See `Lowered` for what the code takes and returns. The function keeps the ``owner`` alive, which
    frees the code when it is deleted.
    """
    are_nested = any(isinstance(each, tuple) for each in types)
    flat = list(_flattened(types))
    arrays = [i for i, each in enumerate(flat) if isinstance(each, ArrayType)]
    numbers = [i for i, each in enumerate(flat) if isinstance(each, Scalar)]
    own_types = [_CTYPES[each] if isinstance(each, Scalar) else ctypes.c_void_p for each in flat]
    function: Any = ctypes.CFUNCTYPE(ctypes.c_int32, *own_types, ctypes.c_void_p)(address)
    function.owner = owner
    room = ctypes.c_int64 * len(results) if results else None

    def call(arguments: Sequence[Any]) -> Any:
        values = list(_flattened(arguments)) if are_nested else list(arguments)
        for i in arrays:
            values[i] = id(values[i])
        for i in numbers:
            values[i] = _NUMBERS[type(values[i])][1](values[i])
        if room is None:
            line, found = function(*values, None), None
        else:
            found = room()
            line = function(*values, ctypes.addressof(found))
        if line:
            raise IndexError(f"{name}, line {line}: an index is out of bounds")
        if found is None:
            return None
        own = tuple(_CTYPES[each].from_buffer(found, 8 * i).value for i, each in enumerate(results))
        return own if is_tuple else own[0]

    return call


def _flattened(values: Sequence[Any]) -> Any:
    for each in values:
        if isinstance(each, tuple):
            yield from _flattened(each)
        else:
            yield each
