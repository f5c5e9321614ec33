"""Parse the text of options into values; nothing here reads rows."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protobandit.foundation.errors import InvalidInput

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_k(text: str) -> int | float | str:
    """Return the number of prototypes, a fraction of the rows, or "auto"."""
    if text == "auto":
        return text
    number = _number(text)
    if isinstance(number, float) and number > 1 and "e" in text.lower() and number.is_integer():
        return int(number)  # 1e3
    if number is None:
        raise InvalidInput(
            f"-k {text!r} is not a number of rows. Pass an integer, a fraction of the source rows "
            f"in (0, 1) such as 0.05, or auto."
        )
    return number


def parse_pca(text: str) -> int | float:
    """Return a number of components, or the fraction of the variance they explain."""
    number = _number(text)
    if number is None:
        raise InvalidInput(
            f"--pca {text!r} is not a number. Pass a number of components, or a fraction such as "
            f"0.95."
        )
    return number


def parse_integer(text: str, option: str, *, at_least: int = 1) -> int:
    """Return an integer; 1e9 is allowed."""
    number = _number(text)
    if number is None or not at_least <= number < math.inf or number % 1:
        raise InvalidInput(
            f"{option} {text!r} is not an integer >= {at_least}. Pass an integer such as 20."
        )
    return int(number)


def parse_optional_integer(text: str | None, option: str) -> int | None:
    """Return an integer >= 1, or None if the option was not given."""
    return None if text is None else parse_integer(text, option)


def parse_seed(text: str) -> int:
    """Return a seed."""
    return parse_integer(text, "--seed", at_least=0)


def parse_jobs(text: str | None) -> int | None:
    """Return a number of threads; -1 means all cores, None that the option was not given."""
    return -1 if text == "-1" else parse_optional_integer(text, "--jobs")


def parse_seconds(text: str, option: str, *, is_zero_allowed: bool = False) -> float:
    """Return a time in seconds."""
    number = _number(text)
    if number is None or not 0 <= number < math.inf or (number == 0 and not is_zero_allowed):
        allowed = ">= 0" if is_zero_allowed else "> 0"
        raise InvalidInput(
            f"{option} {text!r} is not a number {allowed}. Pass seconds, such as 60."
        )
    return float(number)


def parse_confidence(text: str) -> float:
    """Return a probability."""
    number = _number(text)
    if number is None or not 0 < number < 1:
        raise InvalidInput(
            f"--confidence {text!r} is not between 0 and 1. Pass a probability such as 0.95."
        )
    return float(number)


def parse_ratio(text: str, option: str) -> float:
    """Return a ratio of costs."""
    number = _number(text)
    if number is None or not 1 <= number < math.inf:
        raise InvalidInput(f"{option} {text!r} is not a number >= 1. Pass a ratio such as 1.05.")
    return float(number)


def parse_positive(text: str, option: str, *, such_as: str = "a ratio such as 1.2") -> float:
    """Return a number > 0."""
    number = _number(text)
    if number is None or not 0 < number < math.inf:
        raise InvalidInput(f"{option} {text!r} is not a number > 0. Pass {such_as}.")
    return float(number)


def parse_share(text: str, option: str) -> float:
    """Return a number from 0 to 1."""
    number = _number(text)
    if number is None or not 0 <= number <= 1:
        raise InvalidInput(
            f"{option} {text!r} is not a number from 0 to 1. Pass a share such as 0.8."
        )
    return float(number)


def parse_bytes(text: str, option: str = "--max-memory") -> int:
    """Return a number of bytes: ``500MB``, ``4GB``, ``1.5GiB``."""
    found = re.fullmatch(r"([\d.]+(?:e\d+)?)\s*([kmgt]?i?)b?", text.strip().lower())
    number = _number(found.group(1)) if found else None
    scale = (_UNITS | _BINARY_UNITS).get(found.group(2)) if found else None
    if number is None or scale is None or number * scale < 1:
        raise InvalidInput(f"{option} {text!r} is not a size. Pass a size such as 500MB or 4GB.")
    return int(number * scale)


def parse_value(text: str) -> Any:
    """Return the value of JSON, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_parameters(texts: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Return ``key=value`` pairs as a mapping; values are JSON or plain text."""
    pairs = [text.partition("=") for text in texts or ()]
    for text, (key, equals, _) in zip(texts or (), pairs, strict=True):
        if not (key and equals):
            raise InvalidInput(f"{option} {text!r} has no key or no '='. Pass key=value.")
    _require_unique([key for key, _, _ in pairs], option)
    return {key: parse_value(value) for key, _, value in pairs}


def parse_quotas(texts: Sequence[str] | None, option: str) -> int | dict[str | None, int] | None:
    """Return one number for all groups, or a number per named group; None stands for the others."""
    if not texts:
        return None
    defaults = [text for text in texts if "=" not in text]
    if len(defaults) > 1:
        raise InvalidInput(
            f"{option} has several numbers for all groups: {', '.join(defaults)}. Pass one, and "
            f"GROUP=NUMBER for exceptions."
        )
    if len(texts) == len(defaults):
        return _count(defaults[0], option)
    pairs = [text.rpartition("=") for text in texts if "=" in text]
    for group, _, number in pairs:
        if not group:
            raise InvalidInput(
                f"{option} '={number}' is not GROUP=NUMBER. Pass one number for all groups, or "
                f"GROUP=NUMBER for each group."
            )
    _require_unique([group for group, _, _ in pairs], option)
    found: dict[str | None, int] = {group: _count(number, option) for group, _, number in pairs}
    if defaults:
        found[None] = _count(defaults[0], option)
    return found


def parse_columns(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return names of columns, each text with one or several that are separated by commas."""
    parts = (part.strip() for text in texts or () for part in text.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def parse_names(text: str | None, option: str) -> tuple[str, ...]:
    """Return names that are separated by commas, or the lines of a file (``@FILE``)."""
    if text is None:
        return ()
    names = _lines(text[1:], option) if text.startswith("@") else text.split(",")
    found = tuple(name.strip() for name in names if name.strip())
    if not found:
        raise InvalidInput(f"{option} {text!r} holds no names. Pass names separated by commas.")
    return found


def _lines(path: str, option: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    raise InvalidInput(
        f"{option} @{path} cannot be read: {reason}. Pass a text file with one name per line."
    )


def _require_unique(names: Sequence[str], option: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidInput(f"{option} has {name!r} {times} times. Pass it once.")


def _number(text: str) -> int | float | None:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return None


def _count(text: str, option: str) -> int:
    if not re.fullmatch(r"\d+", text.strip()):
        raise InvalidInput(f"{option} {text!r} is not a number of rows. Pass an integer >= 0.")
    return int(text)
