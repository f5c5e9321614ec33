from __future__ import annotations

import ast
import re
from itertools import count

import numpy as np
import pytest

from protobandit.kernels.compiler.calling import callable_at, type_of
from protobandit.kernels.compiler.instructions import ONE, ZERO, Instructions
from protobandit.kernels.compiler.machine import Machine
from protobandit.kernels.compiler.values import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    MEMORY,
    UINT64,
    Array,
    KernelError,
    Number,
    constant,
)

NUMBERS = count()
LINE = 17


@pytest.fixture(scope="module")
def machine():
    return Machine()


@pytest.fixture(scope="module")
def result(machine):
    """Return a function that returns what some instructions compute of some numbers."""

    def run(build, *numbers, is_checked=False):
        code = Instructions(LINE, is_checked=is_checked)
        types = [type_of(number) for number in numbers]
        parameters = [f"{each.code} %p{i}" for i, each in enumerate(types)]
        found = build(code, *(Number(each, f"%p{i}") for i, each in enumerate(types)))
        own = code.converted(found, INT64) if found.type in (BOOL, INT32) else found
        code.store(own.type.code, own.reference, "%results")
        code.leave()
        symbol = f"built_{next(NUMBERS)}"
        text = code.text(symbol, [*parameters, "ptr %results"])
        address = machine.loaded(machine.compiled(text), symbol)
        call = callable_at(address, types, [own.type], is_tuple=False, name="built")
        return found.type, call(numbers)

    return run


CONVERSIONS = [
    (True, INT64, 1),
    (True, FLOAT64, 1.0),
    (True, UINT64, 1),
    (5, BOOL, 1),
    (256, BOOL, 1),
    (0, BOOL, 0),
    (0.5, BOOL, 1),
    (-0.0, BOOL, 0),
    (np.nan, BOOL, 1),
    (-7, INT32, -7),
    (2**32 + 5, INT32, 5),
    (-7, FLOAT64, -7.0),
    (-7, FLOAT32, -7.0),
    (-1, UINT64, 2**64 - 1),
    (np.uint64(2**64 - 1), INT64, -1),
    (np.uint64(2**63), FLOAT64, 2.0**63),
    (-2.75, INT64, -2),
    (2.0**63, UINT64, 2**63),
    (0.1, FLOAT32, float(np.float32(0.1))),
    (np.float32(0.1), FLOAT64, float(np.float32(0.1))),
]


@pytest.mark.parametrize(("number", "type_", "expected"), CONVERSIONS)
def test_numbers_are_converted(result, number, type_, expected):
    assert result(lambda code, own: code.converted(own, type_), number) == (type_, expected)
    is_same = result(lambda code, own: code.converted(code.converted(own, type_), type_), number)
    assert is_same == (type_, expected)


CONSTANTS = [
    *((number, type_, expected) for number, type_, expected in CONVERSIONS if type_ != INT32),
    (2**53, FLOAT32, 2.0**53),
    (np.uint64(5), FLOAT64, 5.0),
]


@pytest.mark.parametrize(("number", "type_", "expected"), CONSTANTS)
def test_constants_are_converted(result, number, type_, expected):
    assert result(lambda code: code.converted(constant(number), type_)) == (type_, expected)


def test_an_int32_is_sign_extended(result):
    def build(code, own):
        narrow = code.converted(own, INT32)
        return code.operation(ast.Add(), narrow, code.converted(narrow, INT64))

    assert result(build, -5) == (INT64, -10)


@pytest.mark.parametrize(
    ("op", "numbers", "type_", "expected"),
    [
        (ast.Add, (2, 3), INT64, 5),
        (ast.Add, (True, True), INT64, 2),
        (ast.Sub, (np.uint64(2), np.uint64(3)), UINT64, 2**64 - 1),
        (ast.Mult, (2, 0.5), FLOAT64, 1.0),
        (ast.Mult, (np.float32(0.5), np.float32(3)), FLOAT32, 1.5),
        (ast.Mult, (np.float32(0.5), 3), FLOAT64, 1.5),
        (ast.Div, (1, 4), FLOAT64, 0.25),
        (ast.Div, (np.uint64(2**63), np.uint64(2)), FLOAT64, 2.0**62),
        (ast.Div, (np.float32(1), np.float32(4)), FLOAT32, 0.25),
        (ast.FloorDiv, (-7, 2), INT64, -4),
        (ast.FloorDiv, (7, 0), INT64, 0),
        (ast.Mod, (-7, 2), INT64, 1),
        (ast.Mod, (7, -2), INT64, -1),
        (ast.Mod, (-8, 2), INT64, 0),
        (ast.Mod, (7, 0), INT64, 0),
        (ast.Mod, (np.uint64(2**64 - 1), np.uint64(10)), UINT64, 5),
        (ast.FloorDiv, (np.uint64(2**64 - 1), np.uint64(0)), UINT64, 0),
        (ast.BitAnd, (True, False), BOOL, 0),
        (ast.BitXor, (True, False), BOOL, 1),
        (ast.BitOr, (6, 3), INT64, 7),
        (ast.BitXor, (True, 3), INT64, 2),
        (ast.LShift, (-3, 2), INT64, -12),
        (ast.RShift, (-8, 1), INT64, -4),
        (ast.RShift, (np.uint64(2**64 - 1), np.uint64(60)), UINT64, 15),
        (ast.Pow, (2.5, 3), FLOAT64, 15.625),
        (ast.Pow, (4, 0.5), FLOAT64, 2.0),
    ],
)
def test_operations(result, op, numbers, type_, expected):
    found_type, found = result(lambda code, a, b: code.operation(op(), a, b), *numbers)
    assert found_type == type_
    assert found == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("number", "type_", "expected"),
    [(-3, INT64, 9), (0.5, FLOAT64, 0.25), (np.float32(0.5), FLOAT32, 0.25), (True, INT64, 1)],
)
def test_squares(result, number, type_, expected):
    found = result(lambda code, own: code.operation(ast.Pow(), own, constant(2)), number)
    assert found == (type_, expected)


ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


@pytest.mark.parametrize("op", ORDERS)
@pytest.mark.parametrize(
    ("one", "other"),
    [(-1, 1), (np.uint64(1), np.uint64(2**64 - 1)), (0.5, np.nan), (False, True), (-1, 0.5)],
)
def test_comparisons(result, op, one, other):
    for a, b in ((one, other), (other, one), (one, one), (other, other)):
        expected = eval(f"a {ORDERS[op]} b", {"a": a, "b": b})
        found = result(lambda code, left, right: code.compared(op, left, right), a, b)
        assert found == (BOOL, int(expected))


def test_extremes_are_those_of_python(result):
    for a, b in ((1.0, np.nan), (np.nan, 1.0), (1.0, 2.0), (2.0, 1.0)):
        least = result(lambda code, x, y: code.extreme(ast.Lt, x, y), a, b)[1]
        most = result(lambda code, x, y: code.extreme(ast.Gt, x, y), a, b)[1]
        np.testing.assert_array_equal([least, most], [min(a, b), max(a, b)])


def test_one_of_two_numbers_has_a_common_type(result):
    def build(code, condition, yes, no):
        return code.selected(condition, yes, no)

    assert result(build, True, 3, 0.5) == (FLOAT64, 3.0)
    assert result(build, False, 3, 0.5) == (FLOAT64, 0.5)
    assert result(build, False, 3, True) == (INT64, 1)


def test_functions_of_one_number(result):
    assert result(lambda code, own: code.negated(own), 2.5) == (FLOAT64, -2.5)
    assert result(lambda code, own: code.negated(own), True) == (INT64, -1)
    assert result(lambda code, own: code.absolute(own), -3) == (INT64, 3)
    assert result(lambda code, own: code.absolute(own), np.float32(-3)) == (FLOAT32, 3.0)
    assert result(lambda code, own: code.opposite(own), True) == (BOOL, 0)
    assert result(lambda code, own: code.rounded("sqrt", own), 9) == (FLOAT64, 3.0)
    assert result(lambda code, own: code.rounded("ceil", own), np.float32(1.25)) == (FLOAT32, 2.0)


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_conditions(result, a, b):
    assert result(lambda code, x, y: code.both(x, y), a, b) == (BOOL, int(a and b))
    assert result(lambda code, x, y: code.either(x, y), a, b) == (BOOL, int(a or b))


def test_a_number_can_be_stored_at_the_end_of_an_earlier_block(result):
    def build(code, condition, number):
        yes, no, after = code.label(), code.label(), code.label()
        code.branch(condition, yes, no)
        code.begin(yes)
        own, at = code.operation(ast.Add(), number, ONE), code.mark()
        code.jump(after)
        code.begin(no)
        place = code.place("double")
        code.inserted(at, own, FLOAT64, place)
        code.store("double", "0x3FE0000000000000", place)
        code.begin(after)
        return Number(FLOAT64, code.emit(f"load double, ptr {place}"))

    assert result(build, True, 3) == (FLOAT64, 4.0)
    assert result(build, False, 3) == (FLOAT64, 0.5)


# Text


def array(*origins, dtype="f8", lengths=("4",), strides=()):
    return Array(MEMORY[dtype], "%start", lengths, strides, frozenset(origins))


def scopes_of(text):
    """Return the accesses of a module: their scopes, and what they are apart from."""
    lists = {
        name: re.findall(r"!\d+", content)
        for name, content in re.findall(r"^(!\d+) = (?:distinct )?!\{(.*)\}$", text, re.MULTILINE)
    }
    found = []
    for line in text.splitlines():
        if "align" in line:
            scope = re.search(r"!alias.scope (!\d+)", line)
            apart = re.search(r"!noalias (!\d+)", line)
            found.append((lists[scope[1]], lists[apart[1]] if apart else []))
    return found, lists


def test_accesses_say_what_memory_they_are_apart_from():
    code = Instructions(LINE, is_checked=False)
    code.origins = frozenset({0, 1, 2})
    for origins in ((0,), (1,), (0, 2), (0, 1, 2)):
        code.write(code.part(array(*origins), [ZERO]), ONE)
    assert code.written == {0, 1, 2}
    code.leave()
    text = code.text("loop", ["ptr %start"])
    found, lists = scopes_of(text)
    first, second, both, every = found
    assert (len(first[0]), len(first[1])) == (len(second[0]), len(second[1])) == (1, 2)
    assert first[0] != second[0]
    assert set(first[0]) < set(second[1])
    assert set(second[0]) < set(first[1])
    assert (set(both[0]), both[1]) == ({*first[0], *both[0]}, second[0])
    assert (set(every[0]), every[1]) == ({*first[0], *first[1]}, [])
    assert all(lists[scope][0] == scope for scope in every[0]), "each scope is distinct"
    assert len({lists[scope][1] for scope in every[0]}) == 1, "all are of one domain"


def test_reading_writes_nothing():
    code = Instructions(LINE, is_checked=False)
    code.loaded(code.part(array(1), [ONE]))
    assert code.written == frozenset()


def test_conditions_are_written_only_with_checks():
    for is_checked in (False, True):
        code = Instructions(LINE, is_checked=is_checked)
        code.part(array(0), [ONE])
        code.leave()
        assert (f"ret i32 {LINE}" in code.text("loop", ["ptr %start"])) == is_checked


def test_floats_keep_nan_and_infinity():
    code = Instructions(LINE, is_checked=False)
    x = Number(FLOAT64, "%x")
    own = code.rounded("sqrt", code.negated(code.operation(ast.Div(), x, x)))
    code.compared(ast.Lt, own, x)
    code.leave()
    words = set(code.text("loop", ["double %x"]).split())
    assert {"reassoc", "contract"} <= words
    assert words.isdisjoint({"fast", "nnan", "ninf", "arcp"})


def test_only_signed_arithmetic_must_not_overflow():
    for type_, is_signed in ((INT64, True), (UINT64, False)):
        for op in (ast.Add(), ast.Sub(), ast.Mult()):
            code = Instructions(LINE, is_checked=False)
            code.operation(op, Number(type_, "%x"), Number(type_, "%y"))
            assert (" nsw " in code.text("loop", [])) == is_signed


def test_a_block_continues_with_the_next_unless_it_has_ended():
    code = Instructions(LINE, is_checked=False)
    first, second = code.label(), code.label()
    code.begin(first)
    assert code.is_reachable
    code.leave()
    assert not code.is_reachable
    code.begin(second)
    assert code.is_reachable
    text = code.text("loop", [])
    assert f"br label %{first}" in text
    assert f"br label %{second}" not in text


def test_errors_name_the_line():
    code = Instructions(LINE, is_checked=False)
    assert str(code.error("this is wrong")) == f"Line {LINE}: this is wrong."
    x, n = Number(FLOAT64, "%x"), Number(INT64, "%n")
    matrix = array(0, lengths=("2", "2"), strides=("16",))
    for call in (
        lambda: code.operation(ast.FloorDiv(), x, x),
        lambda: code.operation(ast.Pow(), n, n),
        lambda: code.compared(ast.In, n, n),
        lambda: code.part(array(0), [x]),
        lambda: code.write(array(0, dtype="i8", lengths=()), x),
        lambda: code.reshaped(matrix, [n]),
        lambda: code.selected_array(Number(BOOL, "%b"), array(0), matrix),
        lambda: code.matrix_product(matrix, matrix, array(1)),
        lambda: code.matrix_product(*[array(0, dtype="i8", lengths=("2",) * 2)] * 3),
    ):
        with pytest.raises(KernelError, match=f"^Line {LINE}: .*[.]$"):
            call()
    assert not code.needs_blas
    code.matrix_product(matrix, matrix, matrix)
    assert code.needs_blas
    assert code.written == {0}
