"""Loops give the same results compiled, compiled with checks of indices, and in plain Python."""

# The loops contain what nobody would write in Python:
# ruff: noqa: RET503, RET504, SIM113

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from kernels.compiler.three_ways import (
    EXTREMES,
    assert_same_three_ways,
    compiled,
    compiler,
    line_of,
    run,
)
from protobandit.kernels.compiler.lowering import lower
from protobandit.kernels.compiler.values import INT64, KernelError

CASES = []
INTEGERS = [dtype for dtype in EXTREMES if dtype[0] in "iu"]
FLOATS = ["f4", "f8"]


def case(*runs, shared=()):
    """Return a decorator that adds a loop to the table; each of ``runs`` makes its arguments."""

    def add(loop):
        CASES.append(pytest.param(loop, runs, shared, id=loop.__name__))
        return loop

    return add


def ints(*numbers, dtype="i8"):
    return np.array(numbers, dtype)


def floats(*numbers, dtype="f8"):
    return np.array(numbers, dtype)


def counted(*shape, dtype="f8"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


# Statements


@case(lambda: (3,))
def nothing_is_returned(n):
    """A docstring is ignored."""
    for _ in range(n):
        pass


@case(lambda: (3,), lambda: (-3,))
def return_ends_a_loop_early(n):
    if n < 0:
        return -1
    for i in range(10):
        if i == n:
            return i * 100
    return 7


@case(lambda: (floats(1, -2, 3),), lambda: (floats(),))
def empty_return(values):
    for i in range(len(values)):
        if values[i] < 0:
            return
        values[i] = 10


@case(lambda: (2, 2.5, np.float32(0.1), np.uint64(2**64 - 1), True))
def many_results(i, x, y, u, is_true):
    return i, x, y, u, is_true, i > 5


@case(lambda: (5,))
def one_result_in_a_tuple(n):
    return (n + 1,)


@case(lambda: (1, 2, 3))
def tuple_assignment(a, b, c):
    a, b, c = c, a + b, a
    (a, d), c = (b, a), c + 10
    return a, b, c, d


@case(lambda: (ints(5, 6, 7), 0))
def targets_are_assigned_from_left_to_right(values, i):
    i, values[i] = 2, 40
    values[0], values[1] = values[1], values[0]
    return i


@case(lambda: (ints(5, 6, 7),))
def several_targets(values):
    a = values[1] = b = 9
    values[a - b] = a = 3
    b = values[b - 8] = b + 1
    return a, b


@case(lambda: (5,))
def annotated_assignment(n):
    half: float = n / 2
    return half


@case(lambda: (17, 5, 2.5))
def updates_of_numbers(n, m, x):
    n += m
    n -= 2
    n *= 3
    n //= 7
    n <<= 4
    n >>= 1
    n |= 3
    n ^= 5
    n &= 29
    n %= 8
    x /= 4
    x *= n
    return n, x


@case(lambda: (ints(5, 6, 7, dtype="i4"), floats(1, 2, 3)))
def updates_of_arrays(values, out):
    for i in range(len(values)):
        values[i] -= 10 * i
        values[i] *= 3
        out[i] /= 8
        out[i] += values[i]


@case(lambda: (ints(0, 0, 0), ints(1, 1, 2)))
def index_is_computed_before_the_number(counts, places):
    counts[places[0]] += places[1]
    counts[places[2]] = counts[places[0]] + 5


@case(*[lambda n=n: (n,) for n in (-3, 0, 4, 9)])
def branches(n):
    found = 0
    if n < 0:
        found = 1
    elif n == 0:
        found = 2
    elif n < 5:
        if n > 2:
            found = 3
    else:
        found = 4
    if n > 100:
        found += 10
    return found


@case(lambda: (5,), lambda: (-5,))
def branches_that_all_return(n):
    if n > 0:
        return 1
    else:  # noqa: RET505
        return -1


@case(lambda: (27,), lambda: (1,))
def while_loop(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@case(lambda: (ints(3, -1, 4, -1, 5, 0, 9),), lambda: (ints(),), lambda: (ints(2, 2),))
def break_and_continue(values):
    total, at = 0, 0
    while at < len(values):
        at += 1
        if values[at - 1] < 0:
            continue
        if values[at - 1] == 0:
            break
        total += values[at - 1]
    for i in range(len(values)):
        if values[i] < 0:
            continue
        if values[i] == 0:
            break
        total += 100 * values[i]
    return total, at


@case(lambda: (100,), lambda: (1,))
def endless_loop_with_break(n):
    found = 0
    while True:
        found += 1
        if found * found > n:
            break
        for i in range(found):
            if i > 3:
                break
            found += 1
    return found


@case(lambda: (30,))
def endless_loop_with_return(n):
    i = 0
    while True:
        i += 1
        if i * i < n:
            continue
        return i


@case(lambda: (4,), lambda: (0,))
def inner_loops_break_alone(n):
    total = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if j == 1:
                continue
            total += 10 * i + j
        total += 1000
    return total


@case(
    *[lambda a=a, b=b, c=c: (a, b, c) for a, b, c in [(2, 9, 1), (2, 9, 3), (9, 2, 2), (0, 0, 1)]]
)
def ranges(start, stop, step):
    a = b = c = d = 0
    for i in range(stop):
        a = 10 * a + i
    for i in range(start, stop):
        b = 10 * b + i
    for i in range(start, stop, step):
        c = 10 * c + i
    for i in range(start, stop, 2):
        d = 10 * d + i
    return a, b, c, d


@case(lambda: (2, 9), lambda: (9, 2), lambda: (9, 3), lambda: (0, 0), lambda: (1, -2))
def downward_ranges(first, last):
    a, b = 1, 1
    for i in range(first, last, -1):
        a = 11 * a + i
    for i in range(first, last, -3):
        b = 11 * b + i
    return a, b


@case(lambda: (5,))
def bounds_are_computed_once(n):
    rounds, step = 0, 1
    for i in range(0, n, step):
        n = 100
        step = 2
        rounds += i
    return rounds, n


@case(lambda: (5,), lambda: (0,))
def loop_variable_after_the_loop(n):
    i = -1
    for i in range(n):  # noqa: B007
        pass
    return i


@case(lambda: (5,))
def loop_variable_is_changed_inside(n):
    total = 0
    for i in range(n):
        i = i * 10
        i += 1
        total += i
    return total, i


@case(lambda: (4,))
def nested_loops_with_one_variable(n):
    total = 0
    for i in range(n):
        total += i
        for i in range(3):
            total += 10 * i
        total += 100 * i
    return total


@case(lambda: (np.uint64(2), np.uint64(6)))
def unsigned_range(start, stop):
    total = np.uint64(0)
    for i in range(start, stop):
        total += i
    return total


@case(
    lambda: (ints(3, 1, 4), floats(0.5, 2), np.array([True, False, True])),
    lambda: (ints(), floats(), np.array([], bool)),
    lambda: (ints(0, 9, 3, 9, 1)[::-2], floats(1, 2, 3, 4)[::3], np.zeros(4, bool)[::2]),
)
def loops_over_arrays(numbers, shares, flags):
    total, share, n_flags = 0, 0.0, 0
    for number in numbers:
        total = 10 * total + number
    for each in shares:
        share = share / 2 + each
    for flag in flags:
        if flag:
            n_flags += 1
    return total, share, n_flags


@case(lambda: (ints(1, 2, 3, 4),))
def loop_over_an_array_that_changes(values):
    total, at = 0, 0
    for value in values:
        at += 1
        if at < len(values):
            values[at] = 10 * value
        total += value
    return total


@case(lambda: (counted(3, 4), ints(1, 2, 3)))
def loop_over_a_row(rows, places):
    total = 0.0
    for i in places[1:]:
        for value in rows[i - 1]:
            total += value
    return total


# Expressions


@case(
    *[lambda a=a, b=b: (a, b) for a in (7, -7, 0, 2**62, -(2**62)) for b in (2, -2, 7, -7, 1, -1)],
    *[lambda a=a: (np.int64(a), np.int64(0)) for a in (7, -7, 0)],
)
def integer_division(a, b):
    return a // b, a % b


@case(lambda: (7, -7))
def integer_division_by_constants(a, b):
    return a // 2, b // 2, a % 3, b % 3, a // -2, b % -3, 100 // a, -100 % a, a / 2


@case(
    *[lambda a=a, b=b: (np.uint64(a), np.uint64(b)) for a in (7, 2**64 - 1) for b in (2, 2**63, 0)]
)
def unsigned_division(a, b):
    return a // b, a % b


@case(lambda: (np.uint64(2**64 - 1), np.uint64(3)), lambda: (np.uint64(1), np.uint64(2**63)))
def unsigned_numbers_wrap_around(a, b):
    c = np.uint64(0x9E3779B97F4A7C15)
    h = (a ^ b) * c
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return a + b, b - a, a * b, h, a << np.uint64(1), a > b, a & b, a | b


@case(lambda: (np.uint64(2**64 - 1), -1, 3.75), lambda: (np.uint64(0), 5, 2.0**40))
def conversions(u, i, x):
    a, b = np.int64(u), np.uint64(np.int64(x))
    return a, b, np.float64(u), np.int64(x), float(i), np.float32(x), np.int64(i > 0), np.float64(i)


@case(lambda: (-3.75,), lambda: (3.75,), lambda: (-0.25,))
def conversion_to_integers_cuts_off(x):
    return np.int64(x), np.int64(-x)


@case(lambda: (5, 3), lambda: (-5, 3), lambda: (0, 0))
def integer_arithmetic(a, b):
    return a + b, a - b, a * b, -a, abs(a), a**2, a & b, a | b, a ^ b, a << b, a >> b, (a - 1) / 4


@case(lambda: (2.5, -0.75), lambda: (0.0, 1.0), lambda: (np.inf, 2.0), lambda: (np.nan, 2.0))
def float_arithmetic(a, b):
    return a + b, a - b, a * b, a / b, -a, abs(b), a**2, abs(a) ** b, abs(a) ** 0.5, np.ceil(b)


@case(lambda: (np.float64(1.0), np.float64(0.0)), lambda: (np.float64(-1.0), np.float64(0.0)))
def float_division_by_zero(a, b):
    return a / b, b / b, -a / b


@case(lambda: (np.float32(0.1), 0.1, 3, True))
def promotion(narrow, wide, n, flag):
    own = narrow * narrow
    own += narrow
    return (
        own,
        narrow + wide,
        np.float64(narrow) * n,
        np.sqrt(narrow),
        np.sqrt(n),
        abs(-narrow),
        flag + flag,
        flag + n,
        -flag,
        n + wide,
        np.float64(narrow) / n,
        n / n,
        flag * wide,
    )


def narrow_values():
    return floats(0.1, 0.2, 0.3, dtype="f4"), floats(0.1, 0.2, 0.3), np.zeros(3), np.zeros(3, "f4")


@case(narrow_values)
def single_and_double_precision(narrow, wide, out, narrow_out):
    zero = narrow.dtype.type(0)
    total = zero
    for i in range(len(narrow)):
        total += narrow[i] * narrow[i]
        out[i] = np.float64(narrow[i]) - wide[i]
        narrow_out[i] = wide[i]
    return total, narrow.dtype.type(0.1), wide.dtype.type(0.1)


@case(*[lambda a=a, b=b: (a, b) for a in (1, -1, 2) for b in (1, 2)])
def integer_comparisons(a, b):
    return a < b, a <= b, a > b, a >= b, a == b, a != b, a < b + 0.5, a == 1.0, a > True


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5)


@case(*[lambda a=a, b=b: (a, b) for a in SPECIAL for b in SPECIAL])
def float_comparisons(a, b):
    return a < b, a <= b, a > b, a >= b, a == b, a != b, not a, not (a < b), a == np.inf


@case(
    *[lambda a=a, b=b: (a, b) for a in SPECIAL for b in SPECIAL],
    *[
        lambda a=a, b=b: (np.float32(a), np.float32(b))
        for a, b in [(np.nan, 1), (1, np.nan), (1, 2)]
    ],
)
def extremes(a, b):
    return min(a, b), max(a, b), abs(a), a if a < b else b, a if a != a else b


@case(lambda: (3, -8), lambda: (-8, 3))
def integer_extremes(a, b):
    return min(a, b), max(a, b), max(min(a, 1), -1), min(a, 0.5) + 0.0


@case(*[lambda a=a, b=b: (a, b, 2) for a in (0, 3) for b in (0, 1, 5)])
def chained_comparisons(a, b, c):
    return a < b < c, 0 <= a <= b != c, a == b == c, a < b > c


@case(lambda: (ints(4, 5, 6), 5), lambda: (ints(4, 5, 6), 7))
def chained_comparison_with_an_array(values, n):
    return values[0] < values[1] < n


@case(*[lambda a=a, b=b: (a, b, 0.5) for a in (True, False) for b in (True, False)])
def conditions(a, b, x):
    return (
        a and b,
        a or b,
        not a,
        (a and not b) or (b and not a),
        a & b,
        a | b,
        a ^ b,
        not x,
        bool_of(x > 0 and a),
        a < b,
        a == b,
    )


bool_of = np.float64  # a type that is called by another name


@case(*[lambda n=n: (ints(5, 0, 7), n) for n in (0, 1, 2, 3, 100)])
def right_side_is_not_computed(values, n):
    found = 0
    if n < len(values) and values[n] > 0:
        found += 1
    if n >= len(values) or values[n] == 0:
        found += 10
    if n < 2 and (values[n] == 0 or values[n + 1] == 0) and values[n + 1] != 7:
        found += 100
    at = 0
    while at < len(values) and values[at] != n:
        at += 1
    is_there = at < len(values) and values[at] == n
    return found, at, is_there


@case(*[lambda n=n: (ints(5, 0, 7), floats(0.5, 1.5), n) for n in (0, 1, 2, 3)])
def conditional_expressions(values, shares, n):
    a = values[n] if n < len(values) else -1
    b = shares[n] if n < len(shares) else a
    c = (shares[n] if n == 0 else values[n]) if n < 2 else shares[0] if n == 2 else 0
    d = n if n > 1 else -n
    e = 1 if n > 1 else 0.5
    return a, b + 0.0, c + 0.0, d, e + 0.0, (n > 1) if n > 0 else (n == 0)


@case(lambda: (True, 3), lambda: (False, 3))
def types_of_conditional_expressions(choose, n):
    a = choose if n > 5 else 7
    b = choose if n > 1 else 7
    return a, b


@case(lambda: (2, 0.5, True))
def variables_that_hold_other_types(n, x, flag):
    whole, share = 1, 0.25
    whole = flag
    whole += flag
    share = n
    share += flag
    x = n > 1
    return whole, share + 0.0, x + 0.0


@case(lambda: (ints(1, 2, dtype="i4"), 2**40), lambda: (ints(1, -2, dtype="i4"), -(2**40)))
def variables_that_begin_with_few_bytes(values, large):
    first = values[1]
    for i in range(len(values)):
        first = first * 3 + i
    first = large + np.int64(first)
    second, third = values[0], values[1]
    if first > 0:
        second = large
    third = second if first > 0 else third
    return first, second, third


FACTOR, IS_WANTED, SHARE, SMALL = 3, True, 0.5, np.float32(0.1)


@case(lambda: (2,))
def global_constants(n):
    return n * FACTOR, IS_WANTED, n * SHARE, SMALL, np.inf, -np.inf


@case(lambda: (4.0, 5.0))
def parameters_hide_global_names(FACTOR, SHARE):
    SMALL = FACTOR
    return SMALL + SHARE


@case(lambda: (3, 2.0))
def names_of_functions_are_free(sum, index):
    abs_, type_ = sum, index
    len_of = abs_ + 1
    return abs(len_of) + max(sum, 1), type_


# Arrays


@case(
    lambda: (counted(5), counted(2, 3), counted(2, 3, 4)),
    lambda: (counted(10)[::2], counted(3, 2).T, counted(4, 3, 2).T),
    lambda: (counted(5)[::-1], counted(2, 3)[::-1], counted(2, 3, 4)[:, ::-1, ::-1]),
    lambda: (counted(5)[1:], counted(4, 9)[1:3, 2:5], counted(4, 6, 4)[1:3, ::2]),
    lambda: (counted(0), counted(0, 3), counted(2, 0, 4)),
    lambda: (counted(1, 5)[0], counted(6, 3)[::3], counted(2, 3, 1)),
    lambda: (counted(5), counted(4, 6)[::-2, 1:4], counted(5, 6, 7)[3:1:-1, 1:6:2, 2:6]),
)
def one_to_three_dimensions(line, rows, cube):
    total, n = 0.0, 0
    for i in range(len(line)):
        total += line[i] * (i + 1)
        line[i] = -i
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            total += rows[i, j] * (10 * i + j) + rows[i][j]
            rows[i, j] = 100 * i + j
    a, b, c = cube.shape
    for i in range(a):
        for j in range(b):
            for k in range(c):
                total += cube[i, j, k] * (100 * i + 10 * j + k) + cube[i][j, k] + cube[i, j][k]
                cube[i, j, k] = total
                n += 1
    return total, n, len(line), len(rows), len(cube), a, b, c


@case(
    lambda: (counted(3, 4), counted(2, 3, 4)),
    lambda: (counted(4, 3).T, counted(4, 3, 2).T),
    lambda: (counted(6, 8)[::2, ::-2], counted(2, 6, 8)[:, ::-2, ::2]),
    lambda: (counted(6, 8)[::-2, 1:5], counted(2, 6, 4)[:, ::-2]),
)
def rows_and_slices(rows, cube):
    row, plane = rows[1], cube[1]
    total = row[0] + plane[2, 3] + len(row) + 10 * len(plane) + 100 * plane.shape[1]
    part, rest, most, whole = row[1:3], row[2:], row[:3], row[:]
    total += len(part) + 10 * len(rest) + 100 * len(most) + 1000 * len(whole)
    total += part[0] + rest[1] * 3 + most[2] * 5 + whole[3] * 7
    planes, lines = cube[1:], cube[0, 1:]
    total += len(planes) + len(lines) + planes[0, 1, 2] + lines[1, 3] + len(row[2:2])
    row[3] = 1000.0
    part[1] = 2000.0
    lines[1, 0] = 3000.0
    plane[0][1] = 4000.0
    return total


@case(
    lambda: (counted(7), counted(3, 4), counted(2, 3, 4), counted(5, dtype="i2"), ints(1) > 0),
    lambda: (
        counted(14)[::2],
        counted(4, 3).T,
        counted(4, 3, 2).T,
        counted(5, dtype="i2"),
        ints(1),
    ),
    lambda: (counted(2), counted(2, 0), counted(1, 1, 0), counted(0, dtype="i2"), ints(3, 4)),
)
def fills(line, rows, cube, numbers, flags):
    line[:] = 3
    line[1:] = 5.5
    line[1:2] = line[0] + 1
    rows[0] = 7
    rows[1, :] = 8
    cube[0, 0] = 9
    numbers[:] = len(line)
    flags[:] = False


@case(lambda: (counted(13),))
def reshaped_arrays(values):
    most = values[1:]
    rows, cube, line = most.reshape(3, 4), most.reshape(2, 3, 2), most.reshape(12)
    again = line[4:].reshape(2, 4)
    rows[2, 1] = 100
    cube[1, 0, 1] = 200
    again[1, 3] = 300
    row = cube[1, 2].reshape(1, 2)
    return rows[1, 2], cube[1, 2, 0], again[0, 0], again.shape[1], len(rows), row[0, 1], line[9]


@case(lambda: (counted(0), 3), lambda: (counted(0), 0))
def reshaped_empty_arrays(values, n):
    rows = values.reshape(n, 0)
    columns = values.reshape(0, n)
    return len(rows), rows.shape[1], len(columns), columns.shape[1]


@case(lambda: (counted(4), (counted(2, 3), (5, counted(3, dtype="i4"), 0.5)), (), 7))
def nested_tuples(values, parts, nothing, n):
    rows, rest = parts
    k, numbers, share = rest
    total = rows[1, 2] * k + share + n + parts[1][1][2]
    for i in range(len(numbers)):
        numbers[i] += k
        parts[0][1, i] = values[i]
    return total, len(parts[0])


@case(
    lambda: (counted(6), counted(4), True, 3),
    lambda: (counted(6), counted(4), False, 3),
    lambda: (counted(12)[::2], counted(4)[::-1], True, 1),
)
def arrays_selected_by_a_condition(first, second, choose, n):
    own = first if choose else second
    other = second if choose else first
    if n > 2:
        other = first
    for i in range(1, len(own)):
        own[i] = own[i - 1] + n
        other[i % len(other)] += 1
    return len(own), own[1], first[1], second[1]


@case(*[lambda n=n: (counted(40), -counted(40), n) for n in (0, 1, 2, 3)])
def arrays_that_take_turns(a, b, n):
    old, new = a, b
    for _ in range(n):
        for i in range(1, len(old)):
            new[i] = old[i - 1] + 1
        old, new = new, old
    return old[1], new[1], len(old)


@case(lambda: (counted(40), counted(40)), lambda: (counted(80)[::2], counted(80)[::-2]))
def a_variable_that_becomes_another_array(a, b):
    # Until the second assignment, nothing says that a write to `a` changes what is read.
    own, total = b, 0.0
    for i in range(len(a)):
        total += own[0]
        a[0] = i * 2
        total += own[0]
        own = a
    return total


@case(*[lambda flag=flag: (counted(40), counted(40), flag) for flag in (True, False)])
def writes_through_a_selected_array(a, b, choose):
    target = a if choose else b
    for i in range(len(a) - 1):
        target[i + 1] = a[i] + 1
    return a[39], b[39]


@case(lambda: (counted(3, 40),))
def rows_of_one_array_overlap(rows):
    first, second = rows[0], rows[0, 1:]
    for i in range(len(second)):
        second[i] = first[i] + 1
    third = rows[1]
    for i in range(len(third)):
        rows[2, i] = third[i]
        third[i] = rows[1, 0] + 1
    return first[39]


@case(lambda: (counted(5, 3), 4))
def rows_that_move(rows, n):
    row = rows[0]
    for i in range(n):
        following = rows[i + 1]
        for j in range(len(row)):
            following[j] += row[j]
        row = following
    return row[0]


def overlapping():
    values = counted(40)
    return values, values.view("i8"), values[::-1], counted(40)


@case(overlapping, shared=("values", "words", "back"))
def shared_arrays_overlap(values, words, back, out):
    total = 0
    for i in range(len(values)):
        values[i] = 1.5
        total += words[i] % 1000
        values[i] = 2.5
        words[i] += 1
        out[i] = values[i] + back[i]
    for i in range(1, len(values)):
        back[i] = values[i - 1] + 1
    return total, values[0]


def shared_tuple():
    values = counted(40)
    return (values, values[1:]), counted(40)


@case(shared_tuple, shared=("parts",))
def arrays_of_a_shared_tuple_overlap(parts, out):
    values, behind = parts
    for i in range(len(behind)):
        behind[i] = values[i] + 1
        out[i] = values[i]


@case(lambda: (counted(40), counted(40)))
def read_arrays_may_be_the_same(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[len(b) - 1 - i]
    return total


@case(lambda: ((counted(5),) * 2, counted(5)))
def one_array_that_is_read_twice(pair, out):
    a, b = pair
    for i in range(len(out)):
        out[i] = a[i] - b[4 - i]


def matrices(m, k, n, dtype="f8"):
    out = np.full((m, n), np.nan, dtype)  # nothing of this is left
    return counted(m, k, dtype=dtype) - 2, 3 - counted(k, n, dtype=dtype), out


@case(*[lambda s=s: matrices(*s) for s in [(2, 3, 4), (1, 1, 1), (5, 1, 2), (1, 7, 1), (3, 3, 3)]])
def product_of_matrices(a, b, out):
    np.dot(a, b, out)
    return out[0, 0]


@case(
    *[lambda s=s: matrices(*s) for s in [(0, 3, 4), (2, 3, 0), (2, 0, 4), (0, 0, 0), (1, 0, 1)]],
    lambda: (np.broadcast_to(counted(0), (2, 0)), *matrices(2, 0, 4)[1:]),
    lambda: matrices(2, 3, 4, "f4"),
)
def product_of_empty_matrices(a, b, out):
    np.dot(a, b, out)


@case(lambda: (counted(1, 9)[:, 2:5], counted(3, 4), np.zeros((1, 4))))
def product_of_one_row(a, b, out):
    np.dot(a, b, out)
    return out[0, 3]


@case(lambda: (counted(6, 3), counted(3, 2), np.zeros((2, 2)), np.zeros(3)))
def products_of_slices(rows, b, out, sums):
    for i in range(3):
        np.dot(rows[2 * i : 2 * i + 2], b, out)
        for j in range(2):
            sums[i] += out[j, 0] - out[j, 1]


@pytest.mark.parametrize(("loop", "runs", "shared"), CASES)
def test_results_are_those_of_python(loop, runs, shared):
    for make in runs:
        assert_same_three_ways(loop, make, shared)


def test_product_of_parts_of_matrices():
    a, b, around = counted(8, 9)[1:7:2, 2:5], counted(3, 7)[:, 1:5], np.zeros((5, 9))
    for is_checked in (False, True):
        expected = np.zeros((5, 9))
        expected[1:4, 3:7] = a @ b
        run(product_of_matrices, a, b, around[1:4, 3:7], is_checked=is_checked)
        assert around.tolist() == expected.tolist()


# Dtypes


def copy(values, out):
    for i in range(len(values)):
        out[i] = values[i]


def first(values):
    return values[0]


def double(values, out):
    for i in range(len(values)):
        out[i] = values[i] + values[i]


def layouts(values):
    """Return arrays of these numbers that lie in memory in different ways."""
    n = len(values)
    wide = np.zeros(3 * n, values.dtype)
    wide[::3] = values
    return values, wide[::3], values[::-1].copy()[::-1]


@pytest.mark.parametrize("dtype", EXTREMES)
def test_all_numbers_of_a_dtype_are_read_and_written(dtype):
    values = np.array(EXTREMES[dtype], dtype)
    for number in values:
        expected = float(number) if dtype in FLOATS else int(number)
        for own in layouts(np.array([number])):
            found = run(first, own)
            assert type(found) is type(expected)
            assert found == pytest.approx(expected, nan_ok=True, rel=0, abs=0)
    for own in layouts(values):
        for out in layouts(np.zeros_like(values)):
            run(copy, own, out)
            np.testing.assert_array_equal(out, values, strict=True)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_that_are_too_large_are_cut_off(dtype):
    kind = "u8" if dtype == "u8" else "i8"
    values = np.array([300, 70_000, 5_000_000_000, 127, 128, 255, 2**40 + 7], kind)
    out = np.zeros(len(values), dtype)
    run(copy, values, out)
    np.testing.assert_array_equal(out, values.astype(dtype))


@pytest.mark.parametrize("dtype", [each for each in EXTREMES if each not in ("u8", *FLOATS)])
def test_integers_of_few_bytes_are_added_as_int64(dtype):
    values, out = np.array(EXTREMES[dtype], dtype), np.zeros(len(EXTREMES[dtype]), "f8")
    if dtype == "i8":
        values //= 2
    run(double, values, out)
    assert out.tolist() == [float(2 * int(number)) for number in values]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", [*INTEGERS, "b1"])
def test_integers_become_floats(kind, dtype):
    values = np.array(EXTREMES[kind], kind)
    for is_checked in (False, True):
        out = np.zeros(len(values), dtype)
        run(copy, values, out, is_checked=is_checked)
        np.testing.assert_allclose(out, values.astype(dtype), rtol=1e-7)


def test_numbers_become_flags():
    out = np.zeros(4, bool)
    run(copy, ints(0, 1, -1, 256), out)
    assert out.tolist() == [False, True, True, True]
    out = np.zeros(3, "u1")
    run(copy, np.array([True, False, True]), out)
    assert out.tolist() == [1, 0, 1]
    out = np.zeros(3, bool)
    run(copy, np.array([True, False, True]), out)
    assert out.view("u1").tolist() == [1, 0, 1]


def total(values):
    found = values.dtype.type(0)
    for i in range(len(values)):
        found += values[i]
    return found


@pytest.mark.parametrize("dtype", [each for each in EXTREMES if each != "b1"])
@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_sums(dtype, n):
    values = (np.arange(n) % 100).astype(dtype)
    for own in layouts(values):
        assert run(total, own) == values.sum(dtype="f8")


# Errors


def wrong(message, *arguments):
    """Return a decorator that adds a loop that is not supported to the table."""

    def add(loop):
        param = pytest.param(loop, arguments, message, id=loop.__name__)
        ERRORS.append(param)
        return loop

    return add


ERRORS = []
VALUES, ROWS, SINGLE = counted(4), counted(2, 3), np.ones((3, 3), "f4")


@wrong("this With is not supported", 1)
def with_statement(n):
    with n:  # wrong
        pass


@wrong("this For is not supported", 1)
def for_with_else(n):
    for _ in range(n):  # wrong
        n += 1
    else:
        n = 0


@wrong("this For is not supported", VALUES)
def for_with_two_targets(values):
    for _, _ in values:  # wrong
        pass


@wrong("this While is not supported", 1)
def while_with_else(n):
    while n:  # wrong
        n = 0
    else:
        n = 1


@wrong("this AnnAssign is not supported", 1)
def annotation_alone(n):
    m: int  # noqa: F842  # wrong
    return n


@wrong("this Delete is not supported", 1)
def delete(n):
    n += 1
    del n  # wrong


@wrong("this Raise is not supported", 1)
def raised(n):
    if n:
        raise ValueError  # wrong


@wrong("this List is not supported", 1)
def list_of_numbers(n):
    values = [n]  # wrong
    return values[0]


@wrong("this NamedExpr is not supported", 1)
def named_expression(n):
    return (m := n) + m  # wrong


@wrong("this Lambda is not supported", 1)
def inner_function(n):
    f = lambda: n  # noqa: E731  # wrong
    return f()


@wrong("this JoinedStr is not supported", 1)
def formatted_text(n):
    return f"{n}"  # wrong


@wrong("this UnaryOp is not supported", 1)
def inverted(n):
    return ~n  # wrong


@wrong("this Call is not supported", 1, 2)
def keyword_argument(a, b):
    return max(a, b, key=abs)  # wrong


@wrong("this Slice is not supported", ROWS)
def column(rows):
    return rows[:, 0]  # wrong


@wrong("the step of a slice is not supported", VALUES)
def slice_with_step(values):
    return values[::2]  # wrong


@wrong("there are more indices than dimensions", VALUES)
def too_many_indices(values):
    return values[0, 0]  # wrong


@wrong("an index must be an integer", VALUES)
def float_as_index(values):
    return values[1.0]  # wrong


@wrong("an index must be an integer", VALUES, True)
def flag_as_index(values, flag):
    return values[flag]  # wrong


@wrong("only arrays and tuples have indices", 1)
def index_of_a_number(n):
    return n[0]  # wrong


@wrong("the index of a tuple must be a constant", (1, 2), 0)
def variable_index_of_a_tuple(pair, i):
    return pair[i]  # wrong


@wrong("reshape is for contiguous arrays of one dimension", counted(12)[::2])
def reshape_of_strided_array(values):
    return len(values.reshape(2, 3))  # wrong


@wrong("reshape is for contiguous arrays of one dimension", ROWS)
def reshape_of_two_dimensions(rows):
    return len(rows.reshape(3, 2))  # wrong


@wrong("reshape is for arrays", 1)
def reshape_of_a_number(n):
    return len(n.reshape(2, 3))  # wrong


@wrong("array[:] = number is for arrays of one dimension", ROWS)
def fill_of_two_dimensions(rows):
    rows[:] = 0  # wrong


@wrong("a number is expected", ROWS)
def array_as_number(rows):
    rows[0, 0] = rows[1]  # wrong


@wrong("a number is expected", VALUES, ROWS)
def array_in_arithmetic(values, rows):
    return rows[1] + values  # wrong


@wrong("a number is expected", VALUES)
def returned_array(values):
    return values  # wrong


@wrong("a number is expected", ROWS, 1)
def conditional_row(rows, n):
    row = rows[0] if n else rows[1]  # wrong
    return row[0]


@wrong("only single numbers of arrays are updated", ROWS)
def updated_row(rows):
    rows[0] += 1  # wrong


@wrong("the attribute size is not supported", VALUES)
def unknown_attribute(values):
    return values.size  # wrong


@wrong("sum is not supported", VALUES)
def unknown_function(values):
    return sum(values)  # wrong


@wrong("np.floor is not supported", 1.5)
def unknown_function_of_numpy(x):
    y = x
    return np.floor(y)  # wrong


@wrong("nowhere is not known", 1)
def unknown_name(n):
    return n + nowhere  # noqa: F821  # wrong


@wrong("later is not known", 1)
def variable_before_its_value(n):
    n += later  # noqa: F821  # wrong
    later = n  # noqa: F841


@wrong("n cannot hold a number of type float64", 1)
def float_for_an_integer(n):
    n = 0.5  # wrong
    return n


@wrong("n cannot hold a number of type float64", 1)
def quotient_for_an_integer(n):
    n /= 2  # wrong
    return n


@wrong("x cannot hold a number of type float64", np.float32(1))
def double_for_single_precision(x):
    x = 0.5  # wrong
    return x


@wrong("u cannot hold a number of type int64", np.uint64(1))
def signed_for_unsigned(u):
    u = 1  # wrong
    return u


@wrong("flag cannot hold a number of type int64", True)
def integer_for_a_flag(flag):
    flag = 1  # wrong
    return flag


@wrong("own is an array", VALUES)
def number_for_an_array(values):
    own = values[1:]
    own = 1  # wrong
    return own


@wrong("own is of another type", VALUES, ROWS)
def array_for_another_type(values, rows):
    own = values[1:]
    own = rows  # wrong
    return own[0]


@wrong("n is of another type", VALUES, 1)
def array_for_a_number(values, n):
    n = values  # wrong
    return n[0]


@wrong("n is a number", VALUES, 1)
def tuple_for_a_number(values, n):
    n = values.shape  # wrong
    return n[0]


@wrong("pair is neither a number nor an array, so it cannot change", 1)
def two_tuples(n):
    pair = 1, 2
    if n > 0:
        pair = 3, 4  # wrong
    return pair[0]


@wrong("numbers is neither a number nor an array, so it cannot change", 1)
def number_for_a_range(n):
    numbers = range(n)
    numbers = 3  # wrong
    return numbers


@wrong("kind is neither a number nor an array, so it cannot change", 1)
def two_types(n):
    kind = np.float64
    if n > 0:
        kind = np.int64  # wrong
    return kind(n)


@wrong("own is neither a number nor an array, so it cannot change", 1)
def two_modules(n):
    own = np
    own = np  # wrong
    return own.sqrt(n)


@wrong("pair is neither a number nor an array, so it cannot change", (VALUES, 1), 2)
def array_for_a_tuple(pair, n):
    pair = pair[0]  # wrong
    return pair[n]


@wrong("values is a parameter, to which nothing is assigned", VALUES, VALUES, 1)
def array_for_a_parameter(values, others, n):
    if n > 0:
        values = others  # wrong
    return values[0]


@wrong("the step of a range is 0", 3)
def range_without_step(n):
    for i in range(0, n, 0):  # wrong
        return i
    return n


@wrong("values is a parameter, to which nothing is assigned", VALUES)
def number_for_a_parameter(values):
    values = 1  # wrong
    return values


@wrong("3 values are expected", ROWS)
def too_few_values(rows):
    a, b, c = rows.shape  # wrong
    return a + b + c


@wrong("2 values are expected", VALUES)
def unpacked_array(values):
    a, b = values  # wrong
    return a + b


@wrong("Starred cannot be assigned to", ROWS)
def starred_target(rows):
    a, *b = rows.shape  # wrong
    return a + b


@wrong("both arrays must have the same type", VALUES, ROWS, 1)
def selected_arrays_of_two_types(values, rows, n):
    own = values if n else rows  # wrong
    return own[0]


@wrong("a loop is over a range or a one-dimensional array", ROWS)
def loop_over_rows(rows):
    for row in rows:  # wrong
        row[0] = 1


@wrong("a loop is over a range or a one-dimensional array", 3)
def loop_over_a_number(n):
    for _ in n:  # wrong
        pass


@wrong("nothing leads here", 1)
def code_after_return(n):
    return n
    n += 1  # wrong


@wrong("nothing leads here", 1)
def code_after_endless_loop(n):
    while True:
        for _ in range(n):
            break
    return n  # wrong


@wrong("a loop that returns numbers does so at its end", 1)
def result_is_missing(n):
    if n > 0:
        return n
    n += 1  # wrong


@wrong("results of another type were returned before", 1)
def results_of_two_types(n):
    if n > 0:
        return n
    return 0.5  # wrong


@wrong("results of another type were returned before", 1)
def different_numbers_of_results(n):
    if n > 0:
        return n, n
    return n  # wrong


@wrong("results of another type were returned before", 1)
def result_and_nothing(n):
    if n > 0:
        return  # noqa: RET502
    return n  # wrong


@wrong("a float cannot be written to an array of integers", ints(1, 2), 0.5)
def float_for_integers(values, x):
    values[0] = 1
    values[1] = x  # wrong


@wrong("FloorDiv of float64 is not supported", 0.5)
def floor_division_of_floats(x):
    return x // 2  # wrong


@wrong("Mod of float64 is not supported", 0.5)
def rest_of_floats(x):
    return x % 2  # wrong


@wrong("BitAnd of float64 is not supported", 0.5)
def bits_of_floats(x):
    return x & 2  # wrong


@wrong("MatMult of int64 is not supported", 1)
def product_of_numbers(n):
    return n @ n  # wrong


@wrong("a power other than 2 is a float64", 3)
def power_of_integers(n):
    return n**3  # wrong


@wrong("Is is not supported", 3)
def identity_of_numbers(n):
    return n is n  # wrong


@wrong("In is not supported", 3)
def membership(n):
    return n in n  # wrong


@wrong("a chain of comparisons reads no array after its second number", VALUES, 1)
def chain_that_reads_an_array(values, n):
    return 0 < n < values[n]  # wrong


@wrong("np.dot is for matrices of one float type whose rows are whole", VALUES, ROWS, ROWS)
def product_with_a_vector(a, b, out):
    np.dot(a, b, out)  # wrong


@wrong(
    "np.dot is for matrices of one float type whose rows are whole", ROWS.T, ROWS, np.ones((3, 3))
)
def product_with_a_strided_matrix(a, b, out):
    np.dot(a, b, out)  # wrong


@wrong("np.dot is for matrices of one float type whose rows are whole", ROWS, SINGLE, ROWS)
def product_of_two_types(a, b, out):
    np.dot(a, b, out)  # wrong


@wrong(
    "np.dot is for matrices of one float type whose rows are whole", *[np.ones((2, 2), "i8")] * 3
)
def product_of_integers(a, b, out):
    np.dot(a, b, out)  # wrong


@pytest.mark.parametrize(("loop", "arguments", "message"), ERRORS)
def test_unsupported_code_raises_an_error_that_names_the_line(loop, arguments, message):
    for is_checked in (False, True):
        with pytest.raises(KernelError) as found:
            compiled(loop, arguments, is_checked=is_checked)
        assert str(found.value) == f"Line {line_of(loop)}: {message}."


def signed_and_unsigned(u, n):
    return u + n


def text(n):
    return "text"


def huge(n):
    return n + 18446744073709551616


def large_and_signed(n):
    return n + 9223372036854775808


def array_from_outside(n):
    return n + VALUES[n]


@pytest.mark.parametrize(
    ("loop", "arguments", "message"),
    [
        (signed_and_unsigned, (np.uint64(1), 1), "uint64 and int64 cannot be combined"),
        (text, (1,), "'text' is not a number"),
        (huge, (1,), f"{2**64} does not fit 64 bits"),
        (large_and_signed, (1,), "int64 and uint64 cannot be combined"),
        (array_from_outside, (1,), "is not a number"),
        (first, (), "first takes 1 arguments"),
        (first, (VALUES, 1), "first takes 1 arguments"),
    ],
)
def test_other_errors(loop, arguments, message):
    with pytest.raises(KernelError, match=message):
        compiled(loop, arguments)


def test_an_assertion_is_not_supported():
    # Not as a loop of this file: pytest replaces assertions, so the bytecode is not of this source.
    function = ast.parse("def assertion(n):\n    assert n").body[0]
    with pytest.raises(KernelError, match=r"^Line 2: this Assert is not supported\.$"):
        lower(function, {}, [INT64], symbol="loop", header=16)


# Indices


def read(values, i):
    return values[i]


def read_row(rows, i):
    row = rows[i]
    return row[0]


def read_number(rows, i, j):
    x = 1.0
    return x + rows[i, j]  # wrong


def write(values, i):
    n = i
    values[n] = 1.0  # wrong


def update(values, i):
    values[i] += 1.0


def length_of_slice(values, i, j):
    part = values[i:j]
    return len(part)


def length_from(values, i):
    return len(values[i:])


def length_until(values, i):
    return len(values[:i])


def read_slice(values, i, j):
    part = values[1:3]
    part[i] = 1
    return part[j]  # wrong


def rows_of_reshaped(values, n, m):
    return len(values.reshape(n, m))


def fill_part(rows, i):
    rows[0, :i] = 0.0


def read_if(values, i, choose):
    return values[i] if choose else 0.0


def product(a, b, out):
    np.dot(a, b, out)


LARGEST = 2**63 - 1
OUTSIDE = [
    (read, (VALUES, 4)),
    (read, (VALUES, -1)),
    (read, (VALUES, LARGEST)),
    (read, (VALUES, -LARGEST - 1)),
    (read, (VALUES, 2**61)),
    (read, (VALUES, np.uint64(2**64 - 1))),
    (read, (VALUES, np.uint64(2**63))),
    (read, (VALUES[::-1], 4)),
    (read, (VALUES[::2], 2)),
    (read, (VALUES[:0], 0)),
    (read_row, (ROWS, 2)),
    (read_row, (ROWS[:, :0], 0)),
    (read_number, (ROWS, 0, 3)),
    (read_number, (ROWS, 2, 0)),
    (read_number, (ROWS, -1, 3)),
    (read_number, (ROWS.T, 1, 2)),
    (write, (VALUES, 4)),
    (write, (VALUES, -1)),
    (update, (VALUES, 4)),
    (length_of_slice, (VALUES, 0, 5)),
    (length_of_slice, (VALUES, -1, 2)),
    (length_of_slice, (VALUES, 3, 2)),
    (length_of_slice, (VALUES, 5, 5)),
    (length_from, (VALUES, 5)),
    (length_from, (VALUES, -1)),
    (length_until, (VALUES, 5)),
    (length_until, (VALUES, -1)),
    (read_slice, (VALUES, 0, 2)),
    (rows_of_reshaped, (VALUES, 2, 3)),
    (rows_of_reshaped, (VALUES, 1, 3)),
    (rows_of_reshaped, (VALUES, -1, 4)),
    (fill_part, (ROWS, 4)),
    (read_if, (VALUES, 4, True)),
    (product, (np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4)))),
    (product, (np.ones((2, 3)), np.ones((3, 4)), np.ones((3, 4)))),
    (product, (np.ones((2, 3)), np.ones((3, 4)), np.ones((2, 3)))),
]


@pytest.mark.parametrize(("loop", "arguments"), OUTSIDE)
def test_a_wrong_index_raises_an_error_that_names_the_line(loop, arguments):
    marked = loop in (read_number, write, read_slice)
    line = line_of(loop) if marked else None
    with pytest.raises(IndexError) as found:
        run(loop, *arguments, is_checked=True)
    message = rf"{loop.__name__}, line (\d+): an index is out of bounds"
    number = re.fullmatch(message, str(found.value))
    assert number is not None
    first_line = loop.__code__.co_firstlineno
    last_line = max(line for *_, line in loop.__code__.co_lines() if line)
    assert first_line < int(number[1]) <= last_line
    assert line in (None, int(number[1]))


INSIDE = [
    (read, (VALUES, 3), 3.0),
    (read, (VALUES, np.uint64(3)), 3.0),
    (read_number, (ROWS, 1, 2), 6.0),
    (length_of_slice, (VALUES, 4, 4), 0),
    (length_of_slice, (VALUES, 0, 4), 4),
    (length_of_slice, (VALUES[:0], 0, 0), 0),
    (length_from, (VALUES, 4), 0),
    (length_until, (VALUES, 0), 0),
    (rows_of_reshaped, (VALUES, 2, 2), 2),
    (rows_of_reshaped, (VALUES[:0], 7, 0), 7),
    (read_if, (VALUES, 4, False), 0.0),
]


@pytest.mark.parametrize(("loop", "arguments", "expected"), INSIDE)
def test_a_right_index_raises_nothing(loop, arguments, expected):
    assert run(loop, *arguments, is_checked=True) == expected


def test_nothing_is_written_after_a_wrong_index():
    values = counted(4)

    def add(values, n):
        for i in range(n):
            values[i] += 10.0

    with pytest.raises(IndexError):
        run(add, values, 6, is_checked=True)
    assert values.tolist() == [10, 11, 12, 13]


# Which arrays are written


def written(loop, *arguments, shared=()):
    return compiled(loop, arguments, shared).written


def write_one_of(choose, a, b, c):
    own = a if choose else b
    own[0] = c[0]


def write_shared(a, b, c):
    b[0] = a[0] + c[0]


def write_in_tuple(a, parts):
    parts[1][0] = parts[0][0] + a[0]


def test_written_arrays_are_known():
    assert written(first, VALUES) == ()
    assert written(copy, VALUES, VALUES.copy()) == (1,)
    assert written(write_in_tuple, VALUES, (VALUES, VALUES.copy())) == (2,)
    assert written(write_one_of, True, *(VALUES.copy() for _ in range(3))) == (0, 1)
    assert written(arrays_that_take_turns, VALUES, VALUES.copy(), 1) == (0, 1)
    assert written(fills, VALUES, ROWS, counted(2, 3, 4), VALUES.copy(), ints(1)) == (0, 1, 2, 3, 4)
    assert written(product, *(ROWS,) * 3) == (2,)
    assert written(write_shared, *(VALUES.copy() for _ in range(3))) == (1,)
    shared = written(write_shared, *(VALUES.copy() for _ in range(3)), shared=("a", "b"))
    assert shared == (0, 1)


def test_the_code_of_a_loop_is_compiled_once():
    one, other = (compiled(first, (counted(n),)) for n in (1, 2))
    assert one is other
    assert compiled(first, (counted(2, dtype="f4"),)) is not one
    assert compiler(False) is not compiler(True)
