"""Check the values of a dataclass that was read from a file against its annotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from protobandit.foundation.checks import is_finite, is_integer, is_number


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (is_number(value) and is_finite(value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


# By annotation; values with other annotations are not checked.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: is_integer(value) and abs(value) < 2**63,
    "bool": lambda value: isinstance(value, bool),
    "float": _is_float,
    "float | None": lambda value: value is None or _is_float(value),
    "tuple[str, ...]": _are_texts,
}


def require_types(record: Any) -> None:
    """Raise ValueError unless plain values of a dataclass have the types that it declares."""
    for field in fields(record):
        value = getattr(record, field.name)
        if not _CHECKS.get(str(field.type), lambda value: True)(value):
            raise ValueError(f"{field.name} is {value!r:.40}")
