from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kernels.compiler.three_ways import EXTREMES
from protobandit.kernels.compiler import calling
from protobandit.kernels.compiler.calling import (
    callable_at,
    checked,
    is_layout_known,
    kind_of,
    require_writeable,
    type_of,
)
from protobandit.kernels.compiler.values import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    ArrayType,
    KernelError,
)


class Named(np.ndarray):
    """A subclass whose objects have attributes."""

    def __array_finalize__(self, values):
        self.name = "named"


def read_only(values):
    values.flags.writeable = False
    return values


NUMBERS = [
    (True, BOOL),
    (np.True_, BOOL),
    (3, INT64),
    *((dtype(3), INT64) for dtype in (np.int8, np.int16, np.int32, np.int64)),
    *((dtype(3), INT64) for dtype in (np.uint8, np.uint16, np.uint32)),
    (np.uint64(3), UINT64),
    (np.float32(0.5), FLOAT32),
    (np.float64(0.5), FLOAT64),
    (0.5, FLOAT64),
]


@pytest.mark.parametrize(("number", "expected"), NUMBERS)
def test_types_of_numbers(number, expected):
    assert type_of(number) == expected
    assert kind_of(number) == kind_of(type(number)(1))
    if type(number) is not bool:
        assert kind_of(number) != kind_of(True)


@pytest.mark.parametrize("dtype", EXTREMES)
def test_types_of_arrays(dtype):
    cube = np.zeros((4, 6, 8), dtype)
    for array, n_dimensions, has_whole_rows in (
        (cube, 3, True),
        (cube[0, 0], 1, True),
        (cube[0, 0, ::2], 1, False),
        (cube[0, 0, ::-1], 1, False),
        (cube[0, :, :1].T, 2, False),
        (cube[0].T, 2, False),
        (cube[:, ::2, 1:5], 3, True),
        (cube[:0], 3, True),
        (cube[0, 0, 0, ...], 0, True),
        (cube[0].view(Named), 2, True),
    ):
        assert type_of(array) == ArrayType(dtype, n_dimensions, has_whole_rows)


def test_types_of_tuples():
    argument = (1, (), (np.zeros(2), (0.5, True)))
    expected = (INT64, (), (ArrayType("f8", 1, True), (FLOAT64, BOOL)))
    assert type_of(argument) == expected
    assert kind_of(argument) == kind_of((2, (), (np.zeros(3), (1.5, False))))
    assert kind_of(argument) != kind_of((2, (), (np.zeros(3), (1.5,), False)))


ROWS = np.zeros((4, 6))
KINDS = [
    ROWS,
    ROWS[0],
    ROWS.T,
    ROWS[0, ::2],
    ROWS.astype("f4"),
    ROWS.astype("i8"),
    ROWS.astype(np.dtype("f8").newbyteorder()),
    read_only(ROWS.copy()),
    np.zeros(33, "u1")[1:].view("f8"),
    *(1, 1.0, True, np.float32(1), np.uint64(1)),
    *((), (1,), (1, 1), ((1,), 1)),
]


def test_arguments_of_different_types_are_of_different_kinds():
    kinds = [kind_of(each) for each in KINDS]
    assert len({*kinds}) == len(kinds)


def test_the_kind_of_an_array_does_not_depend_on_its_shape_and_class():
    assert kind_of(ROWS) == kind_of(np.zeros((1, 2))) == kind_of(ROWS.view(Named))
    assert kind_of(ROWS) == kind_of(ROWS[::2, 1:3]) == kind_of(ROWS[::-1])
    assert kind_of(ROWS.T) == kind_of(ROWS[:, ::2])


@pytest.mark.parametrize("argument", [[1], "text", None, 1j, np.float16(1), {}, object(), (1, [2])])
def test_other_arguments_have_no_kind(argument):
    with pytest.raises(KernelError, match="a kernel cannot get "):
        kind_of(argument)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, np.dtype("f8").newbyteorder()),
        np.zeros(33, "u1")[1:].view("f8"),
        *(np.zeros(3, dtype) for dtype in ("f2", "c8", "O", "M8[s]", "m8[s]", "S8", "U2", "V8")),
        np.zeros(3, [("a", "f8")]),
    ],
    ids=lambda array: array.dtype.str,
)
def test_other_arrays_have_no_type(array):
    with pytest.raises(KernelError, match="a kernel cannot get an array of dtype"):
        type_of(array)


def test_the_layout_of_arrays_is_known(monkeypatch):
    assert is_layout_known()
    for name, offset in (("DATA", calling.SHAPE), ("SHAPE", calling.STRIDES)):
        with monkeypatch.context() as patch:
            patch.setattr(calling, name, offset)
            assert not is_layout_known()
    monkeypatch.setattr(calling, "STRIDES", calling.SHAPE)
    assert not is_layout_known()


def test_a_header_that_is_too_short_is_not_known(monkeypatch):
    monkeypatch.setattr(calling, "HEADER", 8)
    assert not is_layout_known()


def test_read_only_arrays_are_not_written():
    arguments = 1, (np.zeros(2), read_only(np.zeros(3))), np.zeros(4)
    require_writeable(arguments, [], "loop")
    require_writeable(arguments, [0, 2], "loop")
    with pytest.raises(ValueError, match=r"^loop writes to an array of shape \(3,\): read-only$"):
        require_writeable(arguments, [0, 1], "loop")


def test_written_arrays_that_overlap_are_found():
    values, other = np.zeros(6), np.zeros(3)
    calls = []
    overlap = r"^loop: arrays {} and {} overlap$".format

    def call(arguments, *, written=(), shared=()):
        return checked(lambda own: calls.append(own) or 7, written, shared, "loop")(arguments)

    apart, same = (values[:3], 5, other, values[3:]), (values[:3], 5, (other, values[2:]))
    every_second = values[::2], values[1::2]
    assert call(apart, written=[0, 1, 2]) == 7
    assert call(same) == call(same, written=[1]) == call(every_second, written=[0, 1]) == 7
    assert call(same, written=[0], shared=[0, 2]) == 7
    assert calls == [apart, same, same, every_second, same]
    calls.clear()
    with pytest.raises(ValueError, match=overlap(2, 0)):
        call(same, written=[2])
    with pytest.raises(ValueError, match=overlap(0, 2)):
        call(same, written=[0], shared=[0, 1])
    with pytest.raises(ValueError, match=overlap(1, 0)):
        call((values.view("i8"), values), written=[1])
    assert not calls


def at_address(function, n_arguments, types=()):
    """Return a function of ctypes that calls one of Python, and its address."""
    own = types or [ctypes.c_void_p] * n_arguments
    made = ctypes.CFUNCTYPE(ctypes.c_int32, *own, ctypes.c_void_p)(function)
    return made, ctypes.cast(made, ctypes.c_void_p).value


def test_code_gets_addresses_of_arrays_and_values_of_numbers():
    got = []

    def function(*values):
        got.append(values)
        return 0

    numbers = [number for number, _ in NUMBERS]
    array, inner = np.zeros(2), np.zeros((2, 2)).view(Named)
    arguments = array, (5, (inner,)), (), *numbers
    by_scalar = {
        BOOL: ctypes.c_bool,
        INT64: ctypes.c_int64,
        UINT64: ctypes.c_uint64,
        FLOAT32: ctypes.c_float,
        FLOAT64: ctypes.c_double,
    }
    own = [by_scalar[type_of(number)] for number in numbers]
    own = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *own]
    made, address = at_address(function, 0, own)
    types = [type_of(each) for each in arguments]
    call = callable_at(address, types, (), is_tuple=False, name="loop")
    assert call(arguments) is None
    assert call(list(arguments)) is None
    expected = id(array), 5, id(inner), *numbers, None
    assert got == [expected, expected]
    assert made is not None


@pytest.mark.parametrize("number", [2**64 - 1, 2**63, 0])
def test_large_unsigned_numbers(number):
    got = []
    made, address = at_address(lambda own, _: got.append(own) or 0, 1, [ctypes.c_uint64])
    callable_at(address, [UINT64], (), is_tuple=False, name="loop")((np.uint64(number),))
    assert got == [number]
    assert made is not None


def fill_results(_, place):
    ctypes.c_int64.from_address(place).value = -3
    ctypes.c_uint64.from_address(place + 8).value = 2**64 - 1
    ctypes.c_double.from_address(place + 16).value = 0.1
    ctypes.c_float.from_address(place + 24).value = 0.5
    return 0


def test_results_are_numbers_of_python():
    made, address = at_address(fill_results, 1)
    results = INT64, UINT64, FLOAT64, FLOAT32
    types = [ArrayType("f8", 1, True)]
    call = callable_at(address, types, results, is_tuple=True, name="loop")
    found = call((np.zeros(1),))
    assert found == (-3, 2**64 - 1, 0.1, 0.5)
    assert [type(each) for each in found] == [int, int, float, float]
    assert made is not None


def test_one_result_is_a_number_or_a_tuple():
    def function(_, place):
        ctypes.c_int64.from_address(place).value = 7
        return 0

    made, address = at_address(function, 1)
    types = [ArrayType("f8", 1, True)]
    for is_tuple, expected in ((False, 7), (True, (7,))):
        call = callable_at(address, types, [INT64], is_tuple=is_tuple, name="loop")
        assert call((np.zeros(1),)) == expected
    assert made is not None


def test_a_line_is_an_error():
    for results in ((), (INT64,)):
        made, address = at_address(lambda *_: 42, 1)
        call = callable_at(address, [ArrayType("f8", 1, True)], results, is_tuple=False, name="f")
        with pytest.raises(IndexError, match=r"^f, line 42: an index is out of bounds$"):
            call((np.zeros(1),))
        assert made is not None
