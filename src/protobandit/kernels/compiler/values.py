"""What an expression of a kernel is while it is compiled: numbers, arrays, tuples and ranges.

A number has one of six types. Numbers of other types in memory become one of them when they are
read. A ``reference`` is what the code of LLVM calls a number: a name, or a constant.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np


class KernelError(TypeError):
    """A kernel uses what the compiler does not support."""


@dataclass(frozen=True)
class Scalar:
    """A type of numbers: ``kind`` is b (bool), i (signed), u (unsigned) or f (float)."""

    name: str  # in Python
    code: str  # in LLVM
    kind: str


BOOL = Scalar("bool", "i1", "b")
INT32 = Scalar("int32", "i32", "i")
INT64 = Scalar("int64", "i64", "i")
UINT64 = Scalar("uint64", "i64", "u")
FLOAT32 = Scalar("float32", "float", "f")
FLOAT64 = Scalar("float64", "double", "f")


@dataclass(frozen=True)
class Memory:
    """How a number lies in an array: its type in LLVM, its bytes, and the type it is read as."""

    code: str
    n_bytes: int
    scalar: Scalar
    is_signed: bool = True


# By kind and size of a dtype.
MEMORY: dict[str, Memory] = {
    "b1": Memory("i8", 1, BOOL),
    "i1": Memory("i8", 1, INT64),
    "i2": Memory("i16", 2, INT64),
    "i4": Memory("i32", 4, INT32),
    "i8": Memory("i64", 8, INT64),
    "u1": Memory("i8", 1, INT64, is_signed=False),
    "u2": Memory("i16", 2, INT64, is_signed=False),
    "u4": Memory("i32", 4, INT64, is_signed=False),
    "u8": Memory("i64", 8, UINT64),
    "f4": Memory("float", 4, FLOAT32),
    "f8": Memory("double", 8, FLOAT64),
}


# Where an array of NumPy holds the addresses of its numbers, shape and strides: a part of its
# binary interface. See `calling.is_layout_known`.
DATA, SHAPE, STRIDES = 0, 16, 24  # behind the header of every object


@dataclass(frozen=True)
class ArrayType:
    """The type of an array that a kernel gets. ``dtype`` is a key of `MEMORY`.

    ``has_whole_rows`` means that the numbers of each row follow each other in memory.
    """

    dtype: str
    n_dimensions: int
    has_whole_rows: bool

    def __str__(self) -> str:
        text = f"array({self.dtype}, {self.n_dimensions}d"
        return f"{text})" if self.has_whole_rows else f"{text}, strided)"


# Of a parameter of a kernel: an array, a number, or a tuple of these.
ParameterType: TypeAlias = "ArrayType | Scalar | tuple[ParameterType, ...]"


@dataclass(frozen=True)
class Number:
    """A number of some type."""

    type: Scalar
    reference: str


@dataclass(frozen=True)
class Array:
    """An array: where its numbers begin, and how many there are in each dimension.

    ``strides`` are in bytes. There is none for the last dimension if the numbers of each row follow
    each other in memory.
    ``origins`` are the parameters to which the numbers may belong, by position.
    An array without dimensions is the place of one number.
    """

    memory: Memory
    start: str
    lengths: tuple[str, ...]
    strides: tuple[str, ...]
    origins: frozenset[int]

    @property
    def kind(self) -> tuple[Memory, int, int]:
        """Return what two arrays must have in common to be values of one variable."""
        return self.memory, len(self.lengths), len(self.strides)

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the references that may differ between arrays of one kind."""
        return (self.start, *self.lengths, *self.strides)

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the type of each part in LLVM."""
        return ("ptr", *["i64"] * (len(self.parts) - 1))

    def with_parts(self, parts: Sequence[str], origins: frozenset[int]) -> Array:
        """Return an array of the same kind."""
        start, *numbers = parts
        n = len(self.lengths)
        return Array(self.memory, start, tuple(numbers[:n]), tuple(numbers[n:]), origins)


@dataclass(frozen=True)
class Range:
    """The numbers of a range."""

    start: Number
    stop: Number
    step: Number


Value: TypeAlias = "Number | Array | Range | tuple[Value, ...] | Any"


def constant(value: object) -> Number:
    """Return a constant of Python or NumPy as a number, with the type that it has there."""
    if isinstance(value, (bool, np.bool_)):
        return Number(BOOL, "true" if value else "false")
    if isinstance(value, (np.uint64, np.uintp)):
        return Number(UINT64, str(int(value)))
    if isinstance(value, (int, np.integer)):
        if not -(2**63) <= value < 2**64:
            raise KernelError(f"{value} does not fit 64 bits")
        return Number(INT64 if value < 2**63 else UINT64, str(int(value)))
    if isinstance(value, np.float32):
        return Number(FLOAT32, float_code(float(value)))
    if isinstance(value, (float, np.float64)):
        return Number(FLOAT64, float_code(float(value)))
    raise KernelError(f"{value!r} is not a number")


def float_code(value: float) -> str:
    """Return a number as LLVM reads it: the bits of a double, also for float32."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{bits:016X}"


def promoted(left: Scalar, right: Scalar) -> Scalar:
    """Return the type in which two numbers are added or compared.

    It is that of NumPy for arrays of the two types, with these exceptions. Signed and unsigned
    numbers cannot be combined. Integers are computed in 64 bits, so a float32 and any integer or
    bool give a float64.
    """
    kinds = {left.kind, right.kind}
    if "f" in kinds:
        return FLOAT32 if left == right == FLOAT32 else FLOAT64
    if kinds == {"u"}:
        return UINT64
    if "u" in kinds:
        raise KernelError(f"{left.name} and {right.name} cannot be combined: convert one of them")
    return INT64


def joined(left: Scalar, right: Scalar) -> Scalar:
    """Return the type of a number that is either of two numbers."""
    return left if left == right else promoted(left, right)


def can_hold(own: Scalar, other: Scalar) -> bool:
    """Return whether a variable of the first type can hold a number of the second.

    A float64 rounds integers beyond 2**53.
    """
    if own in (other, FLOAT64):
        return True
    return own.kind == "i" and other.kind in "bi" and own == INT64
