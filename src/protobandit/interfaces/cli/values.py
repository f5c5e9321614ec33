"""What is typed on the command line, as values; nothing here reads rows."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protobandit.foundation.errors import InvalidInput

if TYPE_CHECKING:
    from protobandit.problem.limits import Limits
    from protobandit.rows.preparation.preparation import Preparation

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def as_k(text: str) -> int | float | str:
    """Return how many prototypes are asked for."""
    if text == "auto":
        return text
    number = _number(text)
    if isinstance(number, float) and number > 1 and "e" in text.lower() and number.is_integer():
        return int(number)  # 1e3
    if number is None:
        raise InvalidInput(
            f"-k {text!r} is not a number of rows. Pass a whole number, a share of the source rows "
            f"in (0, 1) such as 0.05, or auto."
        )
    return number


def as_pca(text: str) -> int | float:
    """Return a number of components, or the share they explain."""
    number = _number(text)
    if number is None:
        raise InvalidInput(
            f"--pca {text!r} is not a number. Pass how many components, or a share such as 0.95."
        )
    return number


def as_whole(text: str, option: str, *, least: int = 1) -> int:
    """Return a whole number, such as 1e9."""
    number = _number(text)
    if number is None or not least <= number < math.inf or number % 1:
        raise InvalidInput(
            f"{option} {text!r} is not a whole number >= {least}. Pass one such as 20."
        )
    return int(number)


def as_optional(text: str | None, option: str) -> int | None:
    """Return a whole number > 0, or None where none was given."""
    return None if text is None else as_whole(text, option)


def as_jobs(text: str) -> int:
    """Return a number of threads; -1 is all cores."""
    return -1 if text == "-1" else as_whole(text, "--jobs")


def as_seconds(text: str, option: str, *, is_zero_allowed: bool = False) -> float:
    """Return a time in seconds."""
    number = _number(text)
    if number is None or not 0 <= number < math.inf or (number == 0 and not is_zero_allowed):
        least = ">= 0" if is_zero_allowed else "> 0"
        raise InvalidInput(f"{option} {text!r} is not a number {least}. Pass seconds, such as 60.")
    return float(number)


def as_confidence(text: str) -> float:
    """Return a probability."""
    number = _number(text)
    if number is None or not 0 < number < 1:
        raise InvalidInput(
            f"--confidence {text!r} is not between 0 and 1. Pass a probability such as 0.95."
        )
    return float(number)


def as_size(text: str) -> int:
    """Return bytes: ``500MB``, ``4GB``, ``1.5GiB``."""
    found = re.fullmatch(r"([\d.]+(?:e\d+)?)\s*([kmgt]?i?)b?", text.strip().lower())
    number = _number(found.group(1)) if found else None
    scale = (_UNITS | _BINARY_UNITS).get(found.group(2)) if found else None
    if number is None or scale is None or number * scale < 1:
        raise InvalidInput(f"--max-memory {text!r} is not a size. Pass one such as 500MB or 4GB.")
    return int(number * scale)


def as_value(text: str) -> Any:
    """Return JSON as what it says, and anything else as the text it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def as_parameters(texts: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Return ``key=value`` pairs as a mapping; values are JSON or plain text."""
    pairs = [text.partition("=") for text in texts or ()]
    for text, (key, equals, _) in zip(texts or (), pairs, strict=True):
        if not (key and equals):
            raise InvalidInput(f"{option} {text!r} is not of the form key=value. Pass it so.")
    _require_once([key for key, _, _ in pairs], option)
    return {key: as_value(value) for key, _, value in pairs}


def as_quotas(texts: Sequence[str] | None, option: str) -> int | dict[str, int] | None:
    """Return one number for all groups, or a number for each that is named."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _count(texts[0], option)
    pairs = [text.rpartition("=") for text in texts]
    for text, (group, equals, _) in zip(texts, pairs, strict=True):
        if not (group and equals):
            raise InvalidInput(
                f"{option} {text!r} is given with others. Pass one number for all groups, or "
                f"GROUP=NUMBER for each."
            )
    _require_once([group for group, _, _ in pairs], option)
    return {group: _count(number, option) for group, _, number in pairs}


def as_names(text: str | None, option: str) -> tuple[str, ...]:
    """Return what is written with commas between, or in a file with one a line (``@FILE``)."""
    if text is None:
        return ()
    names = _lines(text[1:], option) if text.startswith("@") else text.split(",")
    found = tuple(name.strip() for name in names if name.strip())
    if not found:
        raise InvalidInput(f"{option} {text!r} names nothing. Pass names with commas between.")
    return found


def as_preparation(
    standardize: bool,
    normalize: bool,
    pca: str | None,
    categories: Enum | None,
    impute: Enum | None,
) -> Preparation | None:
    """Return what is to be done to columns, or None."""
    from protobandit.rows.preparation.preparation import Preparation

    asked = Preparation(
        standardize=standardize,
        normalize=normalize,
        pca=None if pca is None else as_pca(pca),
        categories=None if categories is None else categories.value,
        impute=None if impute is None else impute.value,
    )
    return None if asked == Preparation() else asked


def as_limits(evaluations: str | None, seconds: str | None, memory: str | None) -> Limits:
    """Return what a search may take."""
    from protobandit.problem.limits import Limits

    return Limits(
        evaluations=as_optional(evaluations, "--max-evaluations"),
        seconds=None if seconds is None else as_seconds(seconds, "--max-seconds"),
        memory=None if memory is None else as_size(memory),
    )


def _lines(path: str, option: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not text in UTF-8"
    raise InvalidInput(
        f"{option} @{path} cannot be read: {reason}. Pass a text file with one row a line."
    )


def _require_once(names: Sequence[str], option: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidInput(f"{option} says {name!r} {times} times. Pass it once.")


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _count(text: str, option: str) -> int:
    if not re.fullmatch(r"\d+", text.strip()):
        raise InvalidInput(f"{option} {text!r} is not a number of rows. Pass a whole number >= 0.")
    return int(text)
