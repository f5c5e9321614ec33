"""Conditions on rows, such as ``year >= 2020 and kind in ('a', 'b')``, as pyarrow expressions.

A condition is parsed here, by hand, and never evaluated as Python.

    condition  = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation   = "not" negation | "(" condition ")" | comparison
    comparison = value { ("==" | "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=") value }
               | value ["not"] "in" "(" literal { "," literal } ")"
               | value "is" ["not"] "null"
    value      = column | literal

A column is a word, or any name between backticks. A literal is a number, a text between quotes,
true or false. As in SQL, a comparison with a missing value is neither true nor false, so the row is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import time
from typing import Any, NoReturn

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.arrow import arrow, kind_of
from protobandit.rows.messages import reason_of, shortened, suggestion

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | `(?P<column>[^`]*)`
    | (?P<word>[^\W\d][\w.]*)
    | (?P<sign>==|!=|<>|<=|>=|=|<|>|\(|\)|\[|\]|,)
    )""",
    re.VERBOSE,
)
_KEYWORDS = {"and", "or", "not", "in", "is", "null", "true", "false"}
_COMPARISONS = {
    "==": "equal",
    "=": "equal",
    "!=": "not_equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_INSTEAD = {"&": "and", "|": "or", "!": "not", "~": "not"}
_CLOSING = {"(": ")", "[": "]"}
_DEEPEST = 100  # parentheses within parentheses


@dataclass(frozen=True)
class _Token:
    """A word of a condition: its kind, its value, and where it begins."""

    kind: str
    value: Any
    at: int


@dataclass(frozen=True)
class _Value:
    """A column or a literal; ``type`` is the type of the column, else None."""

    expression: Any
    literal: Any
    type: Any
    shown: str


@dataclass(frozen=True)
class RowFilter:
    """A condition: its pyarrow expression, and the columns that it reads."""

    expression: Any
    columns: tuple[str, ...]


def parse_filter(text: str, schema: Any, *, owner: str, option: str) -> RowFilter:
    """Return the condition for a table with a pyarrow schema; ``option`` is for messages."""
    if not isinstance(text, str):
        raise InvalidInput(f"{option}={text!r:.60} is not a text. Pass a condition, such as 'x>1'.")
    parser = _Parser(text, schema, owner, option)
    expression = parser.condition()
    parser.expect_end()
    if not parser.columns:
        parser.fail("it names no column", 0)
    return RowFilter(expression, tuple(parser.columns))


class _Parser:
    """A recursive-descent parser: one method per rule of the grammar."""

    def __init__(self, text: str, schema: Any, owner: str, option: str) -> None:
        self.text = text
        self.schema = schema
        self.owner = owner
        self.option = option
        self.columns: dict[str, None] = {}
        self.depth = 0
        self.tokens = list(self._tokens())
        self.next = 0

    # -- words ----------------------------------------------------------------------------------

    def _tokens(self) -> Iterator[_Token]:
        at = 0
        while at < len(self.text.rstrip()):
            found = _TOKEN.match(self.text, at)
            if found is None:
                self._fail_at_character(at + len(self.text[at:]) - len(self.text[at:].lstrip()))
            kind = str(found.lastgroup)
            start, at = found.start(kind), found.end()
            yield _token(kind, found.group(kind), start)
        yield _Token("end", "", len(self.text))

    def _fail_at_character(self, at: int) -> NoReturn:
        character = self.text[at]
        if character in "'\"`":
            self.fail(f"the {character} is not closed", at)
        if character in _INSTEAD:
            self.fail(f"{character!r} is not supported; write {_INSTEAD[character]!r}", at)
        self.fail(f"{character!r} is not expected", at)

    def fail(self, problem: str, at: int) -> NoReturn:
        """Raise an error that shows the place."""
        shown = f"{self.text[max(0, at - 20) : at]}⟶{self.text[at : at + 20]}"
        raise InvalidInput(
            f"{self.option} {self.text!r:.80} cannot be read: {problem} at character {at + 1} "
            f"({shown!r}). Write comparisons such as \"year >= 2020 and kind in ('a', 'b')\"."
        )

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def accept(self, *values: str) -> str | None:
        """Go on and return the keyword or sign if it is one of these, else return None."""
        token = self.token
        if token.kind not in ("keyword", "sign") or token.value not in values:
            return None
        self.next += 1
        return str(token.value)

    def expect(self, value: str) -> None:
        if self.accept(value) is None:
            self.fail(f"{value!r} is expected", self.token.at)

    def expect_end(self) -> None:
        if self.token.kind != "end":
            self.fail("'and' or 'or' is expected", self.token.at)

    # -- rules ----------------------------------------------------------------------------------

    def condition(self) -> Any:
        found = self.conjunction()
        while self.accept("or"):
            found = found | self.conjunction()
        return found

    def conjunction(self) -> Any:
        found = self.negation()
        while self.accept("and"):
            found = found & self.negation()
        return found

    def negation(self) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"more than {_DEEPEST} parentheses or 'not' are nested", self.token.at)
        if self.accept("not"):
            found = ~self.negation()
        elif self.accept("("):
            found = self.condition()
            self.expect(")")
        else:
            found = self.comparison()
        self.depth -= 1
        return found

    def comparison(self) -> Any:
        start, left = self.token.at, self.value()
        if self.accept("is"):
            is_not = self.accept("not")
            self.expect("null")
            return left.expression.is_valid() if is_not else left.expression.is_null()
        is_not = self.accept("not")
        if self.accept("in"):
            found = self.membership(left)
            return ~found if is_not else found
        if is_not:
            self.fail("'in' is expected after 'not'", self.token.at)
        found = None
        while sign := self.accept(*_COMPARISONS):
            at, right = self.token.at, self.value()
            one = self.compared(left, sign, right, at)
            found, left = one if found is None else found & one, right
        if found is not None:
            return found
        if left.type is None:
            self.fail(f"{left.shown} is not a condition", start)
        if not arrow().types.is_boolean(left.type):
            self.fail(f"a comparison such as == is expected after {left.shown}", self.token.at)
        return left.expression

    def compared(self, left: _Value, sign: str, right: _Value, at: int) -> Any:
        from pyarrow import compute

        left, right = self.fitted(left, right, at), self.fitted(right, left, at)
        if left.type is not None and right.type is not None:
            self.require_comparable(left, right, at)
        return getattr(compute, _COMPARISONS[sign])(left.expression, right.expression)

    def membership(self, left: _Value) -> Any:
        opening = self.accept(*_CLOSING)
        if opening is None:
            self.fail("a list such as ('a', 'b') is expected after 'in'", self.token.at)
        if left.type is None:
            self.fail("a column is expected before 'in'", self.token.at)
        found = None
        while found is None or self.accept(","):
            at, item = self.token.at, self.value()
            if item.type is not None:
                self.fail("only literals are allowed in a list", at)
            one = self.compared(left, "==", item, at)
            found = one if found is None else found | one
        self.expect(_CLOSING[opening])
        return found

    def value(self) -> _Value:
        """Read a column or a literal."""
        from pyarrow import compute

        token = self.token
        is_literal = token.kind in ("number", "text") or token.value in ("true", "false")
        if token.kind == "column":
            self.next += 1
            return self.column(token)
        if token.value == "null" and token.kind == "keyword":
            self.fail("null is compared with 'is null' or 'is not null'", token.at)
        if not is_literal:
            self.fail("a column or a value is expected", token.at)
        self.next += 1
        literal = token.value == "true" if token.kind == "keyword" else token.value
        try:
            expression = compute.scalar(literal)
        except OverflowError:  # more digits than an integer of 64 bits
            expression = compute.scalar(float(literal))
        return _Value(expression, literal, None, repr(literal))

    def column(self, token: _Token) -> _Value:
        from pyarrow import compute

        names: Sequence[str] = self.schema.names
        if token.value not in names:
            raise InvalidInput(
                f"{self.option}: {self.owner} has no column {token.value!r}."
                f"{suggestion(token.value, names)} It has {shortened(map(repr, names))}. Texts "
                f"need quotes: '{token.value}'."
            )
        self.columns[token.value] = None
        found = self.schema.field(token.value).type
        if arrow().types.is_dictionary(found):
            found = found.value_type
        return _Value(compute.field(token.value), None, found, f"column {token.value!r} ({found})")

    # -- types ----------------------------------------------------------------------------------

    def fitted(self, value: _Value, other: _Value, at: int) -> _Value:
        """Return a literal converted to the type of the column with which it is compared."""
        from pyarrow import compute

        if value.type is not None or other.type is None:
            return value
        pa = arrow()
        literal, dtype, kind = value.literal, other.type, kind_of(other.type)
        is_boolean = pa.types.is_boolean(dtype)
        if isinstance(literal, str) == (kind == "number") or (
            isinstance(literal, bool) != is_boolean
        ):
            advice = f"; write '{literal}'" if kind == "text" else ""
            self.fail(f"{other.shown} cannot be compared with {value.shown}{advice}", at)
        if kind == "number" and not is_boolean:  # a fraction may be compared with integers
            if pa.types.is_decimal(dtype):
                return replace(value, expression=compute.scalar(float(literal)))
            return value
        try:
            if pa.types.is_time(dtype):
                scalar = pa.scalar(time.fromisoformat(literal), dtype)
            else:
                scalar = pa.scalar(literal).cast(dtype)
        except (ValueError, TypeError, NotImplementedError) as error:
            self.fail(
                f"{other.shown} cannot be compared with {value.shown}: {reason_of(error)}", at
            )
        return replace(value, expression=compute.scalar(scalar))

    def require_comparable(self, left: _Value, right: _Value, at: int) -> None:
        kinds = kind_of(left.type), kind_of(right.type)
        is_boolean = [arrow().types.is_boolean(each.type) for each in (left, right)]
        is_same = kinds[0] == kinds[1] in ("number", "text") or left.type == right.type
        if not is_same or "vector" in kinds or is_boolean[0] != is_boolean[1]:
            self.fail(f"{left.shown} cannot be compared with {right.shown}", at)


def _token(kind: str, word: str, at: int) -> _Token:
    if kind == "number":
        is_whole = re.fullmatch(r"[+-]?\d+", word) is not None
        return _Token(kind, int(word) if is_whole else float(word), at)
    if kind == "text":
        quote = word[0]
        plain = re.sub(r"\\(.)|(['\"])\2", lambda m: m.group(1) or m.group(2), word[1:-1])
        return _Token(kind, plain if quote in word[1:-1] or "\\" in word else word[1:-1], at)
    if kind == "word":
        lower = word.lower()
        return _Token("keyword", lower, at) if lower in _KEYWORDS else _Token("column", word, at)
    return _Token(kind, word, at)
