from __future__ import annotations

import numpy as np
import pytest

from protobandit.kernels.compiler.values import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    MEMORY,
    UINT64,
    Array,
    ArrayType,
    KernelError,
    Number,
    can_hold,
    constant,
    float_code,
    joined,
    promoted,
)

SCALARS = BOOL, INT32, INT64, UINT64, FLOAT32, FLOAT64


@pytest.mark.parametrize(
    ("value", "type_", "reference"),
    [
        (True, BOOL, "true"),
        (np.False_, BOOL, "false"),
        (0, INT64, "0"),
        (-(2**63), INT64, "-9223372036854775808"),
        (2**63 - 1, INT64, "9223372036854775807"),
        (np.int32(-5), INT64, "-5"),
        (np.uint8(5), INT64, "5"),
        (np.uint64(2**64 - 1), UINT64, "18446744073709551615"),
        (1.0, FLOAT64, "0x3FF0000000000000"),
        (np.float64(-0.0), FLOAT64, "0x8000000000000000"),
        (np.float32(0.1), FLOAT32, "0x3FB99999A0000000"),
        (np.inf, FLOAT64, "0x7FF0000000000000"),
        (-np.inf, FLOAT64, "0xFFF0000000000000"),
    ],
)
def test_constants(value, type_, reference):
    assert constant(value) == Number(type_, reference)


@pytest.mark.parametrize("value", ["text", None, 1j, np.float16(1), (1, 2), np.zeros(2)])
def test_what_is_not_a_number_is_no_constant(value):
    with pytest.raises(KernelError, match="is not a number"):
        constant(value)


@pytest.mark.parametrize("value", [0.0, 0.1, -1.5, 1e-310, 1.7e308, np.inf, np.nan])
def test_float_code_has_the_bits_of_a_double(value):
    code = float_code(value)
    assert len(code) == 18
    np.testing.assert_array_equal(np.uint64(int(code, 16)).view(np.float64), value)


# NumPy has no other type of the result, except for what is not mixed, and for narrow integers.
@pytest.mark.parametrize("left", SCALARS)
@pytest.mark.parametrize("right", SCALARS)
def test_promotion_is_that_of_numpy_for_arrays(left, right):
    kinds = {left.kind, right.kind}
    if "u" in kinds and kinds & {"b", "i"}:
        with pytest.raises(KernelError, match=rf"{left.name} and {right.name} cannot be combined"):
            promoted(left, right)
        return
    expected = np.result_type(left.name, right.name).name
    if kinds == {"f"} or "f" not in kinds:
        expected = "int64" if kinds <= {"b", "i"} else expected
        assert promoted(left, right).name == expected
    else:
        assert promoted(left, right) == FLOAT64


def test_a_number_that_is_either_of_two_has_a_common_type():
    for each in SCALARS:
        assert joined(each, each) == each
    assert joined(BOOL, INT64) == INT64
    assert joined(INT32, INT64) == INT64
    assert joined(FLOAT32, FLOAT64) == joined(INT64, FLOAT64) == joined(INT64, FLOAT32) == FLOAT64
    with pytest.raises(KernelError):
        joined(INT64, UINT64)


def test_which_numbers_a_variable_can_hold():
    holds = {(own.name, other.name) for own in SCALARS for other in SCALARS if can_hold(own, other)}
    same = {(each.name, each.name) for each in SCALARS}
    assert holds == same | {("int64", "bool"), ("int64", "int32")} | {
        ("float64", each.name) for each in SCALARS
    }


def test_numbers_in_memory_have_the_size_of_their_dtype():
    for name, memory in MEMORY.items():
        dtype = np.dtype(name)
        assert memory.n_bytes == dtype.itemsize
        assert memory.is_signed == (dtype.kind != "u" or memory.scalar == UINT64)
        assert memory.scalar.kind == ("i" if dtype.kind == "u" and name != "u8" else dtype.kind)
    assert {memory.scalar for memory in MEMORY.values()} <= set(SCALARS)


def test_types_of_arrays_are_shown():
    assert str(ArrayType("f8", 2, True)) == "array(f8, 2d)"
    assert str(ArrayType("i4", 1, False)) == "array(i4, 1d, strided)"


def array(n_lengths, n_strides, dtype="f8"):
    lengths = tuple(f"%n{i}" for i in range(n_lengths))
    strides = tuple(f"%s{i}" for i in range(n_strides))
    return Array(MEMORY[dtype], "%start", lengths, strides, frozenset({0}))


def test_arrays_of_one_kind_have_the_same_parts():
    one = array(2, 1)
    assert one.parts == ("%start", "%n0", "%n1", "%s0")
    assert one.codes == ("ptr", "i64", "i64", "i64")
    other = one.with_parts(["%a", "%b", "%c", "%d"], frozenset({1, 2}))
    assert other == Array(MEMORY["f8"], "%a", ("%b", "%c"), ("%d",), frozenset({1, 2}))
    assert one.kind == other.kind
    kinds = {each.kind for each in (one, array(2, 2), array(1, 1), array(2, 1, "f4"))}
    assert len(kinds) == 4
    assert array(1, 0, "i8").kind != array(1, 0, "u8").kind
