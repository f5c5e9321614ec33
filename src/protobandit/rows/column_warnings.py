"""Warnings about compared columns: ids or labels among them, unequal scales, many categories.

They are computed from some rows as they are before any preparation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.run_warning import RunWarning, WarningKind
from protobandit.rows.column_choice import OptionNames
from protobandit.rows.columns import Columns
from protobandit.rows.messages import shortened

MOST_ROWS = 16_384
_MOST_CELLS = 1 << 20
_LEAST_LOOKED_AT = 256
_LEAST_ROWS = 10  # in fewer rows, numbers are distinct by chance
_MOST_NAMED = 8  # columns in the text of an option
_UNEQUAL = 100.0  # largest standard deviation / smallest one
_MOST_LEVELS = 100
# Usual names of columns with classes. Whole numbers under another name may well be measurements.
_LABEL_NAMES = {"class", "class_id", "classes", "label", "label_id", "labels", "target"}


def some_rows(n: int, width: int) -> Ids:
    """Return at most `MOST_ROWS` rows of this width, fewer of wide ones, spread evenly over all."""
    most = min(MOST_ROWS, max(_LEAST_LOOKED_AT, _MOST_CELLS // max(width, 1)))
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def column_warnings(
    sample: Columns, columns: Sequence[str], *, is_scaled: bool, options: OptionNames
) -> tuple[RunWarning, ...]:
    """Return the warnings about the compared ``columns`` of some rows.

    ``is_scaled`` is whether the metric or the preparation makes the scales of columns equal.
    ``options`` are the names of options in the messages.
    """
    if len(columns) < 2:  # nothing can be left out, and there is one scale
        return tuple(_many_categories(sample, options))
    return (
        *_ids(sample, columns, options),
        *_labels(sample, columns, options),
        *(() if is_scaled else _unequal_scales(sample, columns, options)),
        *_many_categories(sample, options),
    )


def _ids(sample: Columns, columns: Sequence[str], options: OptionNames) -> Iterator[RunWarning]:
    """Warn of whole numbers that are all distinct."""
    found = _some_columns(sample, columns, lambda name, values: _are_distinct_integers(values))
    if found:
        have = "holds" if len(found) == 1 else "hold"
        yield RunWarning(
            WarningKind.ID_COLUMN,
            f"{shortened(map(repr, found))} {have} a different whole number in each of the "
            f"{len(sample):,} rows checked, like an id, and {'is' if len(found) == 1 else 'are'} "
            f"compared. If rows should not be close because their ids are, pass "
            f"{options.choose('exclude', found[:_MOST_NAMED])}.",
        )


def _labels(sample: Columns, columns: Sequence[str], options: OptionNames) -> Iterator[RunWarning]:
    """Warn of classes that are written as numbers."""

    def are_labels(name: str, values: Any) -> bool:
        return name.strip().lower() in _LABEL_NAMES and _are_classes(values)

    found = _some_columns(sample, columns, are_labels)
    if found:
        is_one = len(found) == 1
        yield RunWarning(
            WarningKind.LABEL_COLUMN,
            f"{shortened(map(repr, found))} {'seems' if is_one else 'seem'} to hold class labels, "
            f"by name and by the few different whole numbers in the {len(sample):,} rows checked, "
            f"and {'is' if is_one else 'are'} compared. If rows should not be close because their "
            f"labels are, pass {options.choose('exclude', found[:_MOST_NAMED])}.",
        )


def _some_columns(
    sample: Columns, columns: Sequence[str], is_such: Callable[[str, Any], bool]
) -> list[str]:
    """Return the compared columns of a kind; none if all are, or if there are few rows."""
    if len(sample) < _LEAST_ROWS:
        return []
    wanted, names = set(columns), enumerate(sample.names)
    found = [n for at, n in names if n in wanted and is_such(n, sample.numbers[:, at])]
    return found if len(found) < len(columns) else []


def _are_classes(values: Any) -> bool:
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    levels = np.unique(numbers)
    return 2 <= len(levels) <= min(_MOST_LEVELS, len(numbers) // 2) and not (levels % 1).any()


def _are_distinct_integers(values: Any) -> bool:
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) < _LEAST_ROWS or (numbers[:_LEAST_ROWS] % 1).any():
        return False
    return not (numbers % 1).any() and len(np.unique(numbers)) == len(numbers)


def _unequal_scales(
    sample: Columns, columns: Sequence[str], options: OptionNames
) -> Iterator[RunWarning]:
    """Warn of columns that hardly count, because others vary very much more."""
    scales = {name: scale for name, scale in _scales(sample, columns).items() if scale > 0}
    if len(scales) < 2:
        return
    widest = max(scales, key=lambda name: scales[name])
    small = [name for name in scales if scales[name] * _UNEQUAL < scales[widest]]
    if small:
        least = min(small, key=lambda name: scales[name])
        count = "counts" if len(small) == 1 else "count"
        yield RunWarning(
            WarningKind.UNEQUAL_SCALES,
            f"Columns have very unequal scales: the standard deviation of {widest!r} is "
            f"{scales[widest]:.2g}, that of {least!r} {scales[least]:.2g}, so that "
            f"{shortened(map(repr, small), 4)} hardly {count}. Pass {options.standardize} to give "
            f"them equal scales.",
        )


def _scales(sample: Columns, columns: Sequence[str]) -> dict[str, float]:
    """Return the standard deviation of each column; that of vectors and categories as a whole."""
    variances: dict[str, float] = dict.fromkeys(columns, 0.0)
    numbers: Doubles = np.asarray(sample.numbers, dtype=np.float64)
    with np.errstate(all="ignore"):
        known = np.maximum((~np.isnan(numbers)).sum(axis=0), 1)
        centred = numbers - np.nansum(numbers, axis=0) / known
        found = np.nansum(centred**2, axis=0) / known
    for name, variance in zip(sample.names, found, strict=True):
        owner = name if name in variances else name.rpartition("[")[0]
        variances[owner] = variances.get(owner, 0.0) + float(variance)
    for name, texts in sample.categories.items():
        _, counts = np.unique([str(text) for text in texts], return_counts=True)
        variances[name] = 1.0 - float(((counts / len(texts)) ** 2).sum())
    deviations = {name: variance**0.5 for name, variance in variances.items()}
    # Rounding makes the deviation of a constant column slightly more than 0.
    noise = 1e-12 * max(deviations.values(), default=0.0)
    return {name: each if each > noise else 0.0 for name, each in deviations.items()}


def _many_categories(sample: Columns, options: OptionNames) -> Iterator[RunWarning]:
    """Warn of texts that are names or ids rather than categories."""
    levels = {name: len(set(texts)) for name, texts in sample.categories.items()}
    many = {
        name: n
        for name, n in levels.items()
        if n > _MOST_LEVELS or (n >= _LEAST_ROWS and n > len(sample) / 2)
    }
    if many:
        shown = shortened(f"{name!r} ({n:,})" for name, n in many.items())
        yield RunWarning(
            WarningKind.MANY_CATEGORIES,
            f"Columns of texts have many categories: {shown} in {len(sample):,} rows. Most rows "
            f"differ in them. If they hold names or ids, pass "
            f"{options.choose('exclude', list(many)[:_MOST_NAMED])}.",
        )
