"""Write instructions of LLVM for numbers and arrays, in its text form.

Variables are places on the stack, which LLVM turns into registers. Blocks of instructions begin
with a label and end with a branch or a return.

Assumptions that make code fast
-------------------------------
- No index is negative or beyond the end, and no slice either. With ``is_checked``, code returns the
  number of a line where one is.
- An array that is written lies apart from all arrays of other origins.
- Arithmetic of signed integers does not overflow. That of unsigned integers wraps around.
- Sums of floats may be re-associated, as SIMD requires, but NaN and infinity keep their meaning. A
  quotient is rounded once: a product with a reciprocal would overflow for tiny divisors.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from protobandit.kernels.compiler.values import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Array,
    KernelError,
    Number,
    Scalar,
    constant,
    float_code,
    joined,
    promoted,
)

FAST_MATH = "reassoc nsz contract"
BLAS = {"float": "sgemm", "double": "dgemm"}  # by the type of the numbers
SYMBOL = "protobandit_{}"  # what the code calls a function of the BLAS

ZERO, ONE = constant(0), constant(1)
_ORDERS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITWISE = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_SHIFTS = {ast.LShift: "shl", ast.RShift: "shr"}


class Instructions:
    """The instructions of one function; ``line`` is that of the source, for errors."""

    def __init__(self, line: int, *, is_checked: bool) -> None:
        self.line = line
        self.is_reachable = True  # whether the last block has not ended yet
        self.needs_blas = False
        self._is_checked = is_checked
        self._places: list[str] = []  # made once, at the beginning
        self._lines: list[str] = []
        self._declarations: set[str] = set()
        self._n_names = 0
        self.origins: frozenset[int] = frozenset()  # of all arrays
        self.written: frozenset[int] = frozenset()  # of the arrays that are written
        self._lists: dict[frozenset[int], int] = {}  # of the origins of arrays

    def text(self, symbol: str, parameters: Sequence[str]) -> str:
        """Return the module with the function of this name and these parameters."""
        return "\n".join(
            [
                *sorted(self._declarations),
                f"define i32 @{symbol}({', '.join(parameters)}) nounwind {{",
                "entry:",
                *self._places,
                *self._lines,
                "}",
                *self._scopes(),
                "",
            ]
        )

    def error(self, reason: str) -> KernelError:
        """Return an error that names the line of the source."""
        return KernelError(f"Line {self.line}: {reason}.")

    # Names, places and blocks

    def emit(self, text: str) -> str:
        """Add an instruction that has a result; return the name of the result."""
        name = self._name()
        self._lines.append(f"  {name} = {text}")
        return name

    def place(self, code: str) -> str:
        """Return a place on the stack for a value of a type of LLVM."""
        name = self._name()
        self._places.append(f"  {name} = alloca {code}")
        return name

    def store(self, code: str, value: str, place: str) -> None:
        """Store a value of a type of LLVM."""
        self._lines.append(f"  store {code} {value}, ptr {place}")

    def label(self) -> str:
        """Return the name of a block that begins later."""
        self._n_names += 1
        return f"b{self._n_names}"

    def begin(self, label: str) -> None:
        """Begin a block; the one before continues with it unless it has ended."""
        if self.is_reachable:
            self._lines.append(f"  br label %{label}")
        self._lines.append(f"{label}:")
        self.is_reachable = True

    def jump(self, label: str) -> None:
        """End a block; continue with another."""
        self._end(f"br label %{label}")

    def branch(self, condition: Number, yes: str, no: str) -> None:
        """End a block; continue with one of two."""
        self._end(f"br i1 {condition.reference}, label %{yes}, label %{no}")

    def leave(self, line: int = 0) -> None:
        """End a block and the function; ``line`` has an index that is out of bounds."""
        self._end(f"ret i32 {line}")

    def mark(self) -> int:
        """Return where the last block ends now, for `inserted`."""
        return len(self._lines)

    def inserted(self, at: int, value: Number, type_: Scalar, place: str) -> None:
        """Store a number, converted, at the end of an earlier block."""
        kept, self._lines = self._lines, []
        self.store(type_.code, self.converted(value, type_).reference, place)
        kept[at:at], self._lines = self._lines, kept

    def _name(self) -> str:
        self._n_names += 1
        return f"%v{self._n_names}"

    def _end(self, text: str) -> None:
        self._lines.append(f"  {text}")
        self.is_reachable = False

    def _require(self, condition: str) -> None:
        """Leave the function, with the line of the source, unless a condition holds."""
        right, wrong = self.label(), self.label()
        self.branch(Number(BOOL, condition), right, wrong)
        self.begin(wrong)
        self.leave(self.line)
        self.begin(right)

    # Numbers

    def converted(self, own: Number, type_: Scalar) -> Number:
        """Return a number in another type; what the type cannot hold is cut off."""
        before, text = own.type, own.reference
        if before == type_:
            return own
        is_constant = not text.startswith("%") and before != BOOL
        if type_ == BOOL:
            zero = float_code(0.0) if before.kind == "f" else "0"
            return self.compared(ast.NotEq, own, Number(before, zero))
        if before.kind == "f":
            if type_.kind == "f" and is_constant:
                value = np.array(int(text, 16), np.uint64).view(np.float64)
                rounded = np.float32(value) if type_ == FLOAT32 else value
                return Number(type_, float_code(float(rounded)))
            names = {"f": "fpext" if type_ == FLOAT64 else "fptrunc", "i": "fptosi", "u": "fptoui"}
            name = names[type_.kind]
        elif type_.kind == "f":
            if is_constant:
                return Number(type_, float_code(float(int(text))))
            name = "sitofp" if before.kind == "i" else "uitofp"
        elif before.code == type_.code or is_constant:
            return Number(type_, text)
        else:
            wider = "zext" if before == BOOL else "sext"
            name = wider if int(before.code[1:]) < int(type_.code[1:]) else "trunc"
        return Number(type_, self.emit(f"{name} {before.code} {text} to {type_.code}"))

    def operation(self, op: ast.operator, left: Number, right: Number) -> Number:
        """Return the result of an operation, in the type of `promoted`."""
        kind = type(op)
        if kind in _BITWISE and left.type == right.type == BOOL:
            return Number(
                BOOL, self.emit(f"{_BITWISE[kind]} i1 {left.reference}, {right.reference}")
            )
        type_ = promoted(left.type, right.type)
        if kind is ast.Div and type_.kind != "f":
            type_ = FLOAT64
        if kind is ast.Pow:
            return self._power(left, right, type_)
        left, right = self.converted(left, type_), self.converted(right, type_)
        if kind in (ast.FloorDiv, ast.Mod) and type_.kind != "f":
            return self._quotient(kind, left, right)
        name = self._instruction(kind, type_)
        if name is None:
            raise self.error(f"{kind.__name__} of {type_.name} is not supported")
        operands = f"{left.reference}, {right.reference}"
        return Number(type_, self.emit(f"{name} {type_.code} {operands}"))

    @staticmethod
    def _instruction(kind: type[ast.operator], type_: Scalar) -> str | None:
        own = "div" if kind is ast.Div else _ARITHMETIC.get(kind)
        if type_.kind == "f":
            return own and f"f{own} {FAST_MATH}"
        if kind in _SHIFTS:
            return "shl" if kind is ast.LShift else "lshr" if type_.kind == "u" else "ashr"
        if own is not None:
            return f"{own} nsw" if type_.kind == "i" else own
        return _BITWISE.get(kind)

    def _power(self, base: Number, exponent: Number, type_: Scalar) -> Number:
        if exponent.reference == "2":
            return self.operation(ast.Mult(), base, base)
        if type_ != FLOAT64:
            raise self.error("a power other than 2 is a float64")
        values = [self.converted(each, type_).reference for each in (base, exponent)]
        return self.intrinsic("pow", type_, *values)

    def _quotient(self, kind: type[ast.operator], left: Number, right: Number) -> Number:
        """Return the quotient, rounded down, or the rest; 0 if the divisor is 0."""
        type_, code = left.type, left.type.code
        sign = "u" if type_.kind == "u" else "s"
        is_zero = self.emit(f"icmp eq {code} {right.reference}, 0")
        divisor = self.emit(f"select i1 {is_zero}, {code} 1, {code} {right.reference}")
        rest = self.emit(f"{sign}rem {code} {left.reference}, {divisor}")
        is_rest = kind is ast.Mod
        own = rest if is_rest else self.emit(f"{sign}div {code} {left.reference}, {divisor}")
        if sign == "s":
            is_uneven = self.emit(f"icmp ne {code} {rest}, 0")
            signs = self.emit(f"xor {code} {rest}, {divisor}")
            differ = self.emit(f"icmp slt {code} {signs}, 0")
            is_above = self.emit(f"and i1 {is_uneven}, {differ}")
            by = self.emit(f"select i1 {is_above}, {code} {divisor if is_rest else -1}, {code} 0")
            own = self.emit(f"add {code} {own}, {by}")
        return Number(type_, self.emit(f"select i1 {is_zero}, {code} 0, {code} {own}"))

    def compared(self, op: type[ast.cmpop], left: Number, right: Number) -> Number:
        """Return whether an order of two numbers holds."""
        if op not in _ORDERS:
            raise self.error(f"{op.__name__} is not supported")
        order, type_ = _ORDERS[op], joined(left.type, right.type)
        left, right = self.converted(left, type_), self.converted(right, type_)
        if type_.kind == "f":
            head = f"fcmp {FAST_MATH} {'une' if order == 'ne' else 'o' + order}"
        elif order in ("eq", "ne"):
            head = f"icmp {order}"
        else:
            head = f"icmp {'s' if type_.kind == 'i' else 'u'}{order}"
        return Number(BOOL, self.emit(f"{head} {type_.code} {left.reference}, {right.reference}"))

    def selected(self, condition: Number, yes: Number, no: Number) -> Number:
        """Return one of two numbers."""
        type_ = joined(yes.type, no.type)
        pair = (self.converted(each, type_).reference for each in (yes, no))
        return Number(type_, self._choice(condition, type_.code, *pair))

    def both(self, left: Number, right: Number) -> Number:
        """Return whether two conditions hold."""
        return Number(BOOL, self._choice(left, "i1", right.reference, "false"))

    def either(self, left: Number, right: Number) -> Number:
        """Return whether one of two conditions holds."""
        return Number(BOOL, self._choice(left, "i1", "true", right.reference))

    def negated(self, own: Number) -> Number:
        """Return minus a number."""
        if own.type.kind == "f":
            text = self.emit(f"fneg {FAST_MATH} {own.type.code} {own.reference}")
            return Number(own.type, text)
        return self.operation(ast.Sub(), ZERO, own)

    def opposite(self, condition: Number) -> Number:
        """Return whether a condition does not hold."""
        return Number(BOOL, self.emit(f"xor i1 {condition.reference}, true"))

    def absolute(self, own: Number) -> Number:
        """Return a number without its sign."""
        if own.type.kind == "f":
            return self.intrinsic("fabs", own.type, own.reference)
        return self.selected(self.compared(ast.Lt, own, ZERO), self.negated(own), own)

    def extreme(self, op: type[ast.cmpop], first: Number, second: Number) -> Number:
        """Return the first number unless the second is smaller (larger), as Python does."""
        return self.selected(self.compared(op, second, first), second, first)

    def rounded(self, name: str, own: Number) -> Number:
        """Return the result of a function that has one in each float type."""
        type_ = promoted(own.type, FLOAT32)
        return self.intrinsic(name, type_, self.converted(own, type_).reference)

    def intrinsic(self, name: str, type_: Scalar, *values: str) -> Number:
        """Return the result of a function that LLVM knows."""
        full = f"@llvm.{name}.{'f32' if type_ == FLOAT32 else 'f64'}"
        codes = ", ".join([type_.code] * len(values))
        self._declarations.add(f"declare {type_.code} {full}({codes})")
        own = ", ".join(f"{type_.code} {value}" for value in values)
        return Number(type_, self.emit(f"call {FAST_MATH} {type_.code} {full}({own})"))

    def _choice(self, condition: Number, code: str, yes: str, no: str) -> str:
        return self.emit(f"select i1 {condition.reference}, {code} {yes}, {code} {no}")

    # Arrays

    def part(self, array: Array, indices: Sequence[Number]) -> Array:
        """Return the row or the number of these indices; a number has no dimension."""
        start, n = array.start, len(indices)
        for axis, index in enumerate(indices):
            if index.type.kind not in "iu":
                raise self.error("an index must be an integer")
            own = index if index.type.kind == "u" else self.converted(index, INT64)
            if self._is_checked:
                self._require(self.emit(f"icmp ult i64 {own.reference}, {array.lengths[axis]}"))
            start = self._shifted(replace(array, start=start), axis, own.reference)
        return replace(array, start=start, lengths=array.lengths[n:], strides=array.strides[n:])

    def sliced(self, array: Array, first: Number, last: Number | None) -> Array:
        """Return some of the first dimension of an array."""
        length = Number(INT64, array.lengths[0])
        start = self.converted(first, INT64)
        stop = length if last is None else self.converted(last, INT64)
        if self._is_checked:
            orders = (ZERO, start), (start, stop), (stop, length)
            for low, high in orders:
                self._require(self.compared(ast.LtE, low, high).reference)
        n = self.operation(ast.Sub(), stop, start).reference
        place = self._shifted(array, 0, start.reference)
        return replace(array, start=place, lengths=(n, *array.lengths[1:]))

    def _shifted(self, array: Array, axis: int, at: str) -> str:
        """Return where the part of an array with this index of an axis begins."""
        code = array.memory.code
        if axis < len(array.strides):
            code, at = "i8", self.emit(f"mul nsw i64 {at}, {array.strides[axis]}")
        return self.emit(f"getelementptr inbounds {code}, ptr {array.start}, i64 {at}")

    def reshaped(self, array: Array, shape: Sequence[Number]) -> Array:
        """Return an array of one dimension with other dimensions."""
        if len(array.lengths) != 1 or array.strides:
            raise self.error("reshape is for contiguous arrays of one dimension")
        lengths = tuple(self.converted(each, INT64).reference for each in shape)
        total, strides = str(array.memory.n_bytes), []
        for length in reversed(lengths):
            total = self.emit(f"mul nsw i64 {total}, {length}")
            strides.append(total)
        if self._is_checked:
            n_bytes = self.emit(f"mul nsw i64 {array.lengths[0]}, {array.memory.n_bytes}")
            self._require(self.emit(f"icmp eq i64 {n_bytes}, {total}"))
        return replace(array, lengths=lengths, strides=tuple(strides[-2::-1]))

    def selected_array(self, condition: Number, yes: Array, no: Array) -> Array:
        """Return one of two arrays."""
        if yes.kind != no.kind:
            raise self.error("both arrays must have the same type")
        pairs = zip(yes.parts, no.parts, strict=True)
        chosen = [
            self._choice(condition, code, *pair)
            for code, pair in zip(yes.codes, pairs, strict=True)
        ]
        return yes.with_parts(chosen, yes.origins | no.origins)

    def loaded(self, place: Array) -> Number:
        """Return the number at a place."""
        memory, type_ = place.memory, place.memory.scalar
        own = self.emit(f"load {memory.code}, ptr {place.start}{self._access(place)}")
        if type_ == BOOL:
            return Number(BOOL, self.emit(f"icmp ne i8 {own}, 0"))
        if memory.code != type_.code:
            name = "sext" if memory.is_signed else "zext"
            own = self.emit(f"{name} {memory.code} {own} to {type_.code}")
        return Number(type_, own)

    def write(self, place: Array, value: Number) -> None:
        """Write a number to a place, in the type of the array."""
        memory, type_ = place.memory, place.memory.scalar
        self.written |= place.origins
        if value.type.kind == "f" and type_.kind != "f":
            raise self.error("a float cannot be written to an array of integers")
        own = self.converted(value, type_).reference
        if memory.code != type_.code:
            name = "zext" if type_ == BOOL else "trunc"
            own = self.emit(f"{name} {type_.code} {own} to {memory.code}")
        self._lines.append(f"  store {memory.code} {own}, ptr {place.start}{self._access(place)}")

    def matrix_product(self, left: Array, right: Array, out: Array) -> None:
        """Call the BLAS, which knows the transposed matrices: it orders numbers by column."""
        arrays = left, right, out
        code = out.memory.code
        if code not in BLAS or any(
            each.kind != out.kind or (len(each.lengths), len(each.strides)) != (2, 1)
            for each in arrays
        ):
            raise self.error("np.dot is for matrices of one float type whose rows are whole")
        (m, k), (rows, n) = left.lengths, right.lengths
        if self._is_checked:
            for one, other in ((k, rows), (m, out.lengths[0]), (n, out.lengths[1])):
                self._require(self.emit(f"icmp eq i64 {one}, {other}"))

        def at(kind: str, value: str) -> str:
            place = self.place(kind)
            self.store(kind, value, place)
            return place

        def size(length: str) -> str:
            return at("i32", self.emit(f"trunc i64 {length} to i32"))

        def step(array: Array) -> str:
            """Numbers from row to row. The stride of a single row may be any number."""
            width = Number(INT64, array.lengths[1])
            between = self.emit(f"sdiv i64 {array.strides[0]}, {array.memory.n_bytes}")
            most = self.extreme(ast.Gt, Number(INT64, between), width)
            return size(self.extreme(ast.Gt, most, ONE).reference)

        letter, zero, one = at("i8", "78"), at(code, float_code(0.0)), at(code, float_code(1.0))
        values = [
            *(letter, letter, size(n), size(m), size(k), one, right.start, step(right)),
            *(left.start, step(left), zero, out.start, step(out)),
        ]
        function = f"@{SYMBOL.format(BLAS[code])}"
        self.needs_blas = True
        self.written |= out.origins
        self._declarations.add(f"declare void {function}({', '.join(['ptr'] * len(values))})")
        self._lines.append(f"  call void {function}({', '.join(f'ptr {each}' for each in values)})")

    # What memory cannot be the same

    def _access(self, place: Array) -> str:
        """Return how numbers are aligned, and whose memory they are not."""
        text = f", align {place.memory.n_bytes}, !alias.scope {self._list(place.origins)}"
        others = self.origins - place.origins
        return text + (f", !noalias {self._list(others)}" if others else "")

    def _list(self, origins: frozenset[int]) -> str:
        return f"!{self._lists.setdefault(origins, len(self._lists))}"

    def _scopes(self) -> list[str]:
        """Return the lines that say what the lists of origins contain."""
        domain = len(self._lists)  # lists come first, then what they refer to
        scopes = {origin: domain + 1 + i for i, origin in enumerate(sorted(self.origins))}
        return [
            *(
                f"!{at} = !{{{', '.join(f'!{scopes[origin]}' for origin in sorted(origins))}}}"
                for origins, at in self._lists.items()
            ),
            f"!{domain} = distinct !{{!{domain}}}",
            *(f"!{at} = distinct !{{!{at}, !{domain}}}" for at in scopes.values()),
        ]
