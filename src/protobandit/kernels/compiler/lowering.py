"""Translate a loop of Python into the language of LLVM.

Kernels use few features of Python, so a small compiler suffices. It takes a fraction of the time of
one for all of Python: types are found in one reading of the code, and no object of Python exists in
it. What LLVM does with the result is as good.

The language of kernels
-----------------------
- A variable has one type: that of the first value that is assigned to it, in the order of the text.
  Later values must have the same type, or be numbers that it can hold: int64 holds bool and int32,
  float64 holds all numbers, rounded. It is int64 if some values are int32 and some int64. Tuples,
  ranges, functions and types are assigned to a name once.
- Numbers are ``bool``, ``int32`` (as read from an array), ``int64`` (constants, results of integer
  arithmetic), ``uint64``, ``float32`` and ``float64``. Promotion is that of NumPy for arrays,
  except that integers are computed in 64 bits: a float32 and any integer or constant give a
  float64. Signed and unsigned numbers do not mix.
- Arrays are read and written by indices, by row, by slice along one axis, and by ``array[:] =
  number``. ``len``, ``shape``, ``reshape`` and ``dtype.type`` are known. Tuples can be unpacked.
- ``for`` over ranges (of positive steps, if they are not constants) and one-dimensional arrays,
  ``while``, ``if``, ``break``, ``continue``, ``return`` of nothing, a number or some numbers.
- ``abs``, ``float``, ``len``, ``max``, ``min``, ``np.ceil``, ``np.sqrt``, types of NumPy as
  functions, and ``np.dot(a, b, out)`` for matrices, which calls a BLAS.
- ``//`` and ``%`` round down, as in Python, but a quotient of integers by zero is 0.
- **An index is not negative and not too large, nor is the end of a slice**: nothing checks that,
  unless ``is_checked``. See `instructions` for other assumptions.

Everything else is a `KernelError` that names the line.

What is not checked
-------------------
The author of a kernel ensures it. The result is undefined otherwise, unless stated.

- A variable that is read was assigned on every path that leads there.
- Signed integers stay within 64 bits, also in ``abs`` and in ``-``, in the counter after the last
  round of a range, and in the number of bytes of a reshaped array. Shifts are by 0 to 63 bits.
- A float that is converted to an integer fits this integer; NaN and infinity do not.
- A step of a range that is not a constant is positive. Otherwise the loop has no rounds.
- An integer that is written to an array fits its dtype. Otherwise it is cut off.
- The sizes of matrices for ``np.dot`` fit 32 bits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from protobandit.kernels.compiler.instructions import (
    ONE,
    ZERO,
    Instructions,
)
from protobandit.kernels.compiler.values import (
    BOOL,
    DATA,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    MEMORY,
    SHAPE,
    STRIDES,
    UINT64,
    Array,
    ArrayType,
    KernelError,
    Number,
    ParameterType,
    Range,
    Scalar,
    Value,
    can_hold,
    constant,
    joined,
    promoted,
)

_TYPES: dict[Any, Scalar] = {
    float: FLOAT64,
    np.float64: FLOAT64,
    np.float32: FLOAT32,
    np.int64: INT64,
    np.uint64: UINT64,
    np.uintp: UINT64,
}
_FUNCTIONS = {"abs": abs, "float": float, "len": len, "max": max, "min": min, "range": range}


@dataclass(frozen=True)
class Lowered:
    """A loop in the language of LLVM, and the types of the numbers that it returns.

    The function takes a pointer to each array and a number for each number, in order, and where to
    write the results, 8 bytes each. It returns 0, or the line of an index that is out of bounds.

    ``written`` are the arrays that it writes to, by position among all arrays; ``shared`` are those
    that may overlap. ``needs_blas`` means that it calls the functions of `BLAS`.
    """

    text: str
    results: tuple[Scalar, ...]
    is_tuple: bool
    written: tuple[int, ...]
    shared: tuple[int, ...]
    needs_blas: bool


def lower(
    function: ast.FunctionDef,
    names: Mapping[str, Any],
    types: Sequence[ParameterType],
    *,
    symbol: str,
    header: int,
    shared: Sequence[str] = (),
    is_checked: bool = False,
) -> Lowered:
    """Return the code of a loop, named ``symbol``, for parameters of these types.

    ``names`` are the global names that it may use, ``header`` the bytes of the header of an object,
    ``shared`` the parameters that may overlap.
    """
    found = _Found()
    while True:
        try:
            lowering = _Lowering(function, names, header, is_checked, found)
            return lowering.lowered(types, symbol, shared)
        except _StartAgain:
            pass


@dataclass
class _Found:
    """What is seen of a variable only after code that depends on it."""

    wide: set[str] = field(default_factory=set)  # it is int64, though its first value is an int32
    origins: dict[str, frozenset[int]] = field(default_factory=dict)  # of arrays


class _StartAgain(Exception):
    """Something was found of a variable that had been used already."""


@dataclass(frozen=True)
class _Variable:
    """A variable, and the places of its value: one of a number, several of an array."""

    like: Number | Array  # a value of its type
    places: tuple[str, ...]


class _Lowering:
    def __init__(
        self,
        function: ast.FunctionDef,
        names: Mapping[str, Any],
        header: int,
        is_checked: bool,
        found: _Found,
    ) -> None:
        self._function = function
        self._names = names
        self._header = header
        self._found = found
        self._code = Instructions(function.lineno, is_checked=is_checked)
        self._variables: dict[str, _Variable] = {}
        self._bound: dict[str, Value] = {}  # parameters, ranges, types: without a place
        self._loops: list[tuple[str, str]] = []  # where to continue and to break
        self._results: tuple[Scalar, ...] | None = None
        self._is_tuple = False
        self._parameters: list[str] = []
        self._shared: frozenset[int] = frozenset()

    def lowered(
        self, types: Sequence[ParameterType], symbol: str, shared: Sequence[str]
    ) -> Lowered:
        names = [each.arg for each in self._function.args.args]
        if len(names) != len(types):
            raise KernelError(f"{self._function.name} takes {len(names)} arguments")
        arrays = [name for name, type_ in zip(names, types, strict=True) for _ in _arrays(type_)]
        self._code.origins = frozenset(range(len(arrays)))
        self._shared = frozenset(i for i, name in enumerate(arrays) if name in shared)
        for name, type_ in zip(names, types, strict=True):
            self._bind(name, self._parameter(type_))
        self._block(self._function.body)
        if self._code.is_reachable:
            if self._results:
                raise self._code.error("a loop that returns numbers does so at its end")
            self._code.leave()
        return Lowered(
            self._code.text(symbol, [*self._parameters, "ptr %results"]),
            self._results or (),
            self._is_tuple,
            tuple(sorted(self._code.written)),
            tuple(sorted(self._shared)),
            self._code.needs_blas,
        )

    # Parameters and variables

    def _parameter(self, type_: ParameterType) -> Value:
        if isinstance(type_, tuple):
            return tuple(map(self._parameter, type_))
        name = f"%p{len(self._parameters)}"
        if isinstance(type_, Scalar):
            self._parameters.append(f"{type_.code} {name}")
            return Number(type_, name)
        self._parameters.append(f"ptr {name}")
        return self._array_parameter(type_, name)

    def _array_parameter(self, type_: ArrayType, name: str) -> Array:
        emit = self._code.emit

        def address(at: int) -> str:
            return emit(f"load ptr, ptr {emit(f'getelementptr i8, ptr {name}, i64 {at}')}")

        def numbers(at: int, n: int) -> tuple[str, ...]:
            start = address(self._header + at)
            places = [emit(f"getelementptr i64, ptr {start}, i64 {i}") for i in range(n)]
            return tuple(emit(f"load i64, ptr {place}") for place in places)

        n, start = type_.n_dimensions, address(self._header + DATA)
        strides = numbers(STRIDES, n - 1 if type_.has_whole_rows else n)
        origins = frozenset({sum(each.startswith("ptr") for each in self._parameters) - 1})
        origins = self._shared if origins <= self._shared else origins
        return Array(MEMORY[type_.dtype], start, numbers(SHAPE, n), strides, origins)

    def _bind(self, name: str, value: Value) -> None:
        """Give a parameter or the target of an assignment its first value."""
        if not isinstance(value, Number):
            self._bound[name] = value
            return
        if name in self._found.wide:
            value = self._code.converted(value, INT64)
        place = self._code.place(value.type.code)
        self._variables[name] = _Variable(value, (place,))
        self._code.store(value.type.code, value.reference, place)

    def _assign(self, name: str, value: Value) -> None:
        variable = self._variables.get(name)
        if isinstance(self._bound.get(name), Array):
            raise self._code.error(f"{name} is a parameter, to which nothing is assigned")
        if name in self._bound:  # what it is would depend on the order of the text, not on branches
            raise self._code.error(f"{name} is neither a number nor an array, so it cannot change")
        if isinstance(value, Array):
            self._assign_array(name, value)
        elif isinstance(value, Number) and variable is not None:
            self._assign_number(name, value, variable)
        elif variable is not None:
            raise self._code.error(f"{name} is a number")
        else:
            self._bind(name, value)

    def _assign_number(self, name: str, value: Number, variable: _Variable) -> None:
        if not isinstance(variable.like, Number):
            raise self._code.error(f"{name} is an array")
        type_ = variable.like.type
        if (type_, value.type) == (INT32, INT64):
            self._found.wide.add(name)
            raise _StartAgain
        if not can_hold(type_, value.type):
            raise self._code.error(f"{name} cannot hold a number of type {value.type.name}")
        converted = self._code.converted(value, type_)
        self._code.store(type_.code, converted.reference, variable.places[0])

    def _assign_array(self, name: str, value: Array) -> None:
        before = self._found.origins.setdefault(name, value.origins)
        if not value.origins <= before:
            self._found.origins[name] = before | value.origins
            raise _StartAgain
        variable = self._variables.get(name)
        if variable is None:
            variable = _Variable(value, tuple(map(self._code.place, value.codes)))
            self._variables[name] = variable
        elif not isinstance(variable.like, Array) or variable.like.kind != value.kind:
            raise self._code.error(f"{name} is of another type")
        for code, part, place in zip(value.codes, value.parts, variable.places, strict=True):
            self._code.store(code, part, place)

    def _read(self, name: str) -> Value:
        variable = self._variables.get(name)
        if variable is None:
            if name in self._bound:
                return self._bound[name]
            if name not in self._names:
                raise self._code.error(f"{name} is not known")
            value = self._names[name]
            return value if callable(value) or hasattr(value, "__file__") else constant(value)
        like = variable.like
        codes = (like.type.code,) if isinstance(like, Number) else like.codes
        loaded = [
            self._code.emit(f"load {code}, ptr {place}")
            for code, place in zip(codes, variable.places, strict=True)
        ]
        if isinstance(like, Number):
            return Number(like.type, loaded[0])
        return like.with_parts(loaded, self._found.origins[name])

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._code.line = statement.lineno
            if not self._code.is_reachable:
                raise self._code.error("nothing leads here")
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(ast.Constant()):  # nothing, or a docstring
                pass
            case ast.Expr(value):
                self._value(value)
            case ast.Assign(targets, value):
                found = self._value(value)
                for target in targets:
                    self._assign_to(target, found)
            case ast.AnnAssign(target, _, value) if value is not None:
                self._assign_to(target, self._value(value))
            case ast.AugAssign(target, op, value):
                self._update(target, op, value)
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name(name), values, body, []):
                self._for(name, values, body)
            case ast.Continue():
                self._code.jump(self._loops[-1][0])
            case ast.Break():
                self._code.jump(self._loops[-1][1])
            case ast.Return(value):
                self._return(value)
            case _:
                raise self._code.error(f"this {type(node).__name__} is not supported")

    def _assign_to(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Tuple(targets):
                if not isinstance(value, tuple) or len(value) != len(targets):
                    raise self._code.error(f"{len(targets)} values are expected")
                for each, part in zip(targets, value, strict=True):
                    self._assign_to(each, part)
            case ast.Name(name):
                self._assign(name, value)
            case ast.Subscript():
                place, number = self._element(target), self._as_number(value)
                if place.lengths:
                    self._fill(place, number)
                else:
                    self._code.write(place, number)
            case _:
                raise self._code.error(f"{type(target).__name__} cannot be assigned to")

    def _update(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            own = self._as_number(self._read(target.id))
            self._assign(target.id, self._code.operation(op, own, self._number(value)))
            return
        if not isinstance(target, ast.Subscript):
            raise self._code.error(f"{type(target).__name__} cannot be updated")
        place = self._element(target)
        if place.lengths:
            raise self._code.error("only single numbers of arrays are updated")
        own = self._code.loaded(place)
        self._code.write(place, self._code.operation(op, own, self._number(value)))

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        code = self._code
        yes, no, after = code.label(), code.label(), code.label()
        code.branch(self._condition(test), yes, no if orelse else after)
        code.begin(yes)
        self._block(body)
        does_continue = code.is_reachable
        if orelse:
            if does_continue:
                code.jump(after)
            code.begin(no)
            self._block(orelse)
            if not (does_continue or code.is_reachable):
                return
        code.begin(after)

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        code = self._code
        again, inside, after = code.label(), code.label(), code.label()
        is_endless = isinstance(test, ast.Constant) and test.value is True
        code.begin(again)
        if not is_endless:
            code.branch(self._condition(test), inside, after)
        code.begin(inside)
        with self._loop(again, after):
            self._block(body)
        if code.is_reachable:
            code.jump(again)
        if not is_endless or any(isinstance(each, ast.Break) for each in _own_nodes(body)):
            code.begin(after)

    def _for(self, name: str, values: ast.expr, body: list[ast.stmt]) -> None:
        over = self._value(values)
        if isinstance(over, Range):
            self._count(over, lambda now: self._assign(name, now), body)
        elif isinstance(over, Array) and len(over.lengths) == 1:
            array, numbers = over, Range(ZERO, Number(INT64, over.lengths[0]), ONE)
            self._count(
                numbers,
                lambda now: self._assign(name, self._code.loaded(self._code.part(array, [now]))),
                body,
            )
        else:
            raise self._code.error("a loop is over a range or a one-dimensional array")

    def _count(
        self, over: Range, begin: Callable[[Number], None], body: Sequence[ast.stmt]
    ) -> None:
        """Write a loop over a range; ``begin`` gets the number of each round."""
        code, type_ = self._code, over.start.type
        counter = code.place("i64")
        test, inside, following, after = (code.label() for _ in range(4))
        code.store("i64", over.start.reference, counter)
        code.begin(test)
        now = Number(type_, code.emit(f"load i64, ptr {counter}"))
        is_down = over.step.reference.startswith("-")
        condition = code.compared(ast.Gt if is_down else ast.Lt, now, over.stop)
        if over.step.reference.startswith("%"):
            condition = code.both(condition, code.compared(ast.Gt, over.step, ZERO))
        code.branch(condition, inside, after)
        code.begin(inside)
        begin(now)
        with self._loop(following, after):
            self._block(body)
        code.begin(following)
        again = code.emit(f"load i64, ptr {counter}")
        code.store("i64", code.emit(f"add nsw i64 {again}, {over.step.reference}"), counter)
        code.jump(test)
        code.begin(after)

    @contextmanager
    def _loop(self, following: str, after: str) -> Iterator[None]:
        self._loops.append((following, after))
        yield
        self._loops.pop()

    def _fill(self, array: Array, value: Number) -> None:
        if len(array.lengths) != 1:
            raise self._code.error("array[:] = number is for arrays of one dimension")
        stop = Number(INT64, array.lengths[0])
        self._count(
            Range(ZERO, stop, ONE),
            lambda now: self._code.write(self._code.part(array, [now]), value),
            (),
        )

    def _return(self, node: ast.expr | None) -> None:
        value = () if node is None else self._value(node)
        self._is_tuple = isinstance(value, tuple) and node is not None
        numbers = [self._as_number(x) for x in (value if isinstance(value, tuple) else (value,))]
        types = tuple(promoted(each.type, each.type) for each in numbers)
        if self._results not in (None, types):
            raise self._code.error("results of another type were returned before")
        self._results = types
        for i, (number, type_) in enumerate(zip(numbers, types, strict=True)):
            place = self._code.emit(f"getelementptr i64, ptr %results, i64 {i}")
            self._code.store(type_.code, self._code.converted(number, type_).reference, place)
        self._code.leave()

    # Expressions

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value):
                return constant(value)
            case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, (int, float)):
                return constant(-value)
            case ast.Name(name):
                return self._read(name)
            case ast.Tuple(parts):
                return tuple(map(self._value, parts))
            case ast.Attribute(owner, name):
                return self._attribute(owner, name)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(ast.Not(), operand):
                return self._code.opposite(self._condition(operand))
            case ast.UnaryOp(ast.USub(), operand):
                return self._code.negated(self._number(operand))
            case ast.BinOp(first, op, second):
                left = self._number(first)
                return self._code.operation(op, left, self._number(second))
            case ast.Compare(first, ops, others):
                return self._comparisons(first, ops, others)
            case ast.BoolOp(op, values):
                return self._conditions(isinstance(op, ast.And), values)
            case ast.IfExp(test, first, second):
                return self._one_of(self._condition(test), first, second)
            case ast.Call(function, arguments, []):
                return self._call(function, arguments)
            case _:
                raise self._code.error(f"this {type(node).__name__} is not supported")

    def _number(self, node: ast.expr) -> Number:
        return self._as_number(self._value(node))

    def _as_number(self, value: Value) -> Number:
        if not isinstance(value, Number):
            raise self._code.error("a number is expected")
        return value

    def _condition(self, node: ast.expr) -> Number:
        return self._code.converted(self._number(node), BOOL)

    def _attribute(self, owner: ast.expr, name: str) -> Value:
        if isinstance(owner, ast.Attribute) and (owner.attr, name) == ("dtype", "type"):
            array = self._value(owner.value)
            if isinstance(array, Array):
                return array.memory.scalar
        own = self._value(owner)
        if isinstance(own, Array) and name == "shape":
            return tuple(Number(INT64, length) for length in own.lengths)
        if own is not np:
            raise self._code.error(f"the attribute {name} is not supported")
        return constant(np.inf) if name == "inf" else getattr(np, name)

    def _subscript(self, node: ast.Subscript) -> Value:
        own = self._value(node.value)
        if not isinstance(own, tuple):
            found = self._element(node, own)
            return found if found.lengths else self._code.loaded(found)
        if not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, int):
            raise self._code.error("the index of a tuple must be a constant")
        return own[node.slice.value]

    def _element(self, node: ast.Subscript, own: Value | None = None) -> Array:
        """Return a part of an array; that of a number has no dimension."""
        array = self._value(node.value) if own is None else own
        if not isinstance(array, Array):
            raise self._code.error("only arrays and tuples have indices")
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(nodes) > len(array.lengths):
            raise self._code.error("there are more indices than dimensions")
        *before, last = nodes
        if not isinstance(last, ast.Slice):
            return self._code.part(array, [self._number(each) for each in nodes])
        row = self._code.part(array, [self._number(each) for each in before]) if before else array
        if last.step is not None:
            raise self._code.error("the step of a slice is not supported")
        if last.lower is None and last.upper is None:
            return row
        first = ZERO if last.lower is None else self._number(last.lower)
        return self._code.sliced(
            row, first, None if last.upper is None else self._number(last.upper)
        )

    def _comparisons(
        self, first: ast.expr, ops: Sequence[ast.cmpop], others: Sequence[ast.expr]
    ) -> Number:
        left, found = self._number(first), None
        for op, each in zip(ops, others, strict=True):
            if found is not None and not _is_pure(each):
                raise self._code.error(
                    "a chain of comparisons reads no array after its second number"
                )
            right = self._number(each)
            own = self._code.compared(type(op), left, right)
            found, left = own if found is None else self._code.both(found, own), right
        assert found is not None
        return found

    def _conditions(self, is_and: bool, nodes: Sequence[ast.expr]) -> Number:
        code = self._code
        found = self._condition(nodes[0])
        for each in nodes[1:]:
            if _is_pure(each):
                right = self._condition(each)
                found = code.both(found, right) if is_and else code.either(found, right)
                continue
            place, rest, after = code.place("i1"), code.label(), code.label()
            code.store("i1", found.reference, place)
            yes, no = (rest, after) if is_and else (after, rest)
            code.branch(found, yes, no)
            code.begin(rest)
            code.store("i1", self._condition(each).reference, place)
            code.begin(after)
            found = Number(BOOL, code.emit(f"load i1, ptr {place}"))
        return found

    def _one_of(self, condition: Number, first: ast.expr, second: ast.expr) -> Value:
        if not (_is_pure(first) and _is_pure(second)):
            return self._computed_one_of(condition, first, second)
        yes, no = self._value(first), self._value(second)
        if isinstance(yes, Array) and isinstance(no, Array):
            return self._code.selected_array(condition, yes, no)
        return self._code.selected(condition, self._as_number(yes), self._as_number(no))

    def _computed_one_of(self, condition: Number, first: ast.expr, second: ast.expr) -> Number:
        """Return the number of one of two expressions, and do not compute the other."""
        code = self._code
        is_first, is_second, after = code.label(), code.label(), code.label()
        code.branch(condition, is_first, is_second)
        code.begin(is_first)
        yes, at = self._number(first), code.mark()
        code.jump(after)
        code.begin(is_second)
        no = self._number(second)
        type_ = joined(yes.type, no.type)  # known only now: the first is stored where it ended
        place = code.place(type_.code)
        code.inserted(at, yes, type_, place)
        code.store(type_.code, code.converted(no, type_).reference, place)
        code.begin(after)
        return Number(type_, code.emit(f"load {type_.code}, ptr {place}"))

    # Functions

    def _call(self, node: ast.expr, arguments: Sequence[ast.expr]) -> Value:
        if isinstance(node, ast.Attribute) and node.attr == "reshape":
            array = self._value(node.value)
            if not isinstance(array, Array):
                raise self._code.error("reshape is for arrays")
            return self._code.reshaped(array, [self._number(each) for each in arguments])
        function, values = self._function_named(node), list(map(self._value, arguments))
        if isinstance(function, Scalar):
            return self._code.converted(self._as_number(*values), function)
        code = self._code
        known: dict[Any, Callable[..., Value]] = {
            len: lambda array: Number(INT64, array.lengths[0]),
            range: self._range,
            abs: code.absolute,
            max: lambda a, b: code.extreme(ast.Gt, a, b),
            min: lambda a, b: code.extreme(ast.Lt, a, b),
            np.sqrt: lambda value: code.rounded("sqrt", value),
            np.ceil: lambda value: code.rounded("ceil", value),
            np.dot: code.matrix_product,
        }
        if function not in known:
            raise code.error(f"{ast.unparse(node)} is not supported")
        return known[function](*values)

    def _function_named(self, node: ast.expr) -> Any:
        is_own = isinstance(node, ast.Name) and node.id not in (*self._bound, *self._names)
        found = _FUNCTIONS.get(ast.unparse(node)) if is_own else self._value(node)
        return found if isinstance(found, Scalar) else _TYPES.get(found, found)

    def _range(self, *numbers: Number) -> Range:
        start, stop, step = {
            1: (ZERO, *numbers, ONE),
            2: (*numbers, ONE),
            3: numbers,
        }[len(numbers)]
        if step.reference == "0":
            raise self._code.error("the step of a range is 0")
        type_ = promoted(start.type, stop.type)
        start, stop = self._code.converted(start, type_), self._code.converted(stop, type_)
        return Range(start, stop, self._code.converted(step, INT64))


def _arrays(type_: ParameterType) -> Iterator[ArrayType]:
    if isinstance(type_, tuple):
        for each in type_:
            yield from _arrays(each)
    elif isinstance(type_, ArrayType):
        yield type_


def _is_pure(node: ast.expr) -> bool:
    """Return whether computing an expression has no effect and cannot fail: it reads no array."""
    allowed = (
        *(ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp),
        *(ast.Call, ast.Attribute, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.Load),
    )
    return all(isinstance(each, allowed) for each in ast.walk(node))


def _own_nodes(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Return statements and those in them, except in inner loops: a break there ends those."""
    for each in statements:
        if not isinstance(each, (ast.For, ast.While)):
            yield each
            for block in ("body", "orelse"):
                yield from _own_nodes(getattr(each, block, []))
