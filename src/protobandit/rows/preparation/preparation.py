"""Preparation: the requested steps, and how they are fitted on a sample of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles, Ids
from protobandit.foundation.checks import is_integer, require_choice
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import as_generator
from protobandit.foundation.slices import cuts
from protobandit.rows.columns import Columns, require_no_missing
from protobandit.rows.memory_maps import is_mapped
from protobandit.rows.messages import shortened
from protobandit.rows.preparation.column_statistics import (
    Blocks,
    moments,
    principal_components,
    ranges,
    sparse_moments,
    standard_deviations,
)
from protobandit.rows.preparation.encoding import (
    category_fills,
    levels_of,
    number_fills,
    require_no_infinity,
)
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.tables import RowsAsArray, as_table
from protobandit.rows.rows import is_sparse

CATEGORIES = ("one-hot", "gower")
IMPUTE = ("mean", "median", "most-frequent")
MOST_ROWS = 65_536
MOST_ON_DISK = 16_384  # rows on disk are read in runs:
_RUN = 16  # rows
_MOST_CELLS = 1 << 26  # so that a sample of wide rows fits into memory

_NOT_SPARSE = {
    "pca": "it would make the rows dense. Reduce them with scikit-learn's TruncatedSVD first, or "
    "pass toarray()",
    "impute": "only NaN counts as missing there. Replace NaN by numbers",
    "categories": "it has no categories. Omit categories, or pass toarray()",
}


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Steps applied to rows before they are compared: fitted on the target, used for all rows.

    The steps are, in this order: missing values, categories, ``standardize``, ``pca``,
    ``normalize``. They are fitted on at most 65,536 target rows, all with the same weight. If the
    rows are on disk, they are fitted on 16,384 rows in runs of 16 that are spread evenly over the
    file, so that little of it is read. Rows of float32 stay float32. Columns of frames are matched
    by name.

    Parameters
    ----------
    standardize
        Scale every column of numbers to mean 0 and standard deviation 1. Constant columns become 0.
        Columns of 0 and 1 for categories are not scaled. Sparse rows are scaled but not centred, so
        that they stay sparse.
    normalize
        Scale every row to length 1. Rows of zeros stay zeros.
    pca
        Keep this number of principal components, or as many as hold this share of the variance,
        such as 0.95. Does not support sparse matrices.
    categories
        How columns of texts are encoded; None does not allow them. "one-hot": a column of 0 and 1
        per category; a category missing from the sample of the target is all zeros. "gower": for
        the distance of Gower (1971), in which a difference of numbers counts as a share of the
        column's range, different categories count 1, and all columns have the same weight. Requires
        metric="manhattan" and does not support the other steps except ``impute``.
    impute
        What replaces a missing number: "mean", "median" or "most-frequent". A missing category is
        always replaced by the most frequent one. None does not allow missing values.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties.

    Examples
    --------
    >>> import numpy as np, protobandit as pb
    >>> rows = np.array([[1.0, 1000.0], [2.0, 1000.0], [3.0, 5000.0], [9.0, 4000.0]])
    >>> selection = pb.select(rows, k=2, preparation=pb.Preparation(standardize=True))
    >>> selection.assign([[8.0, 4500.0]]).labels
    array([1])
    """

    standardize: bool = False
    normalize: bool = False
    pca: int | float | None = None
    categories: str | None = None
    impute: str | None = None

    def __post_init__(self) -> None:
        for name in ("standardize", "normalize"):
            if not isinstance(value := getattr(self, name), bool):
                raise InvalidInput(f"{name}={value!r:.40} is not allowed. Pass True or False.")
        object.__setattr__(self, "pca", _as_components(self.pca))
        for name, allowed in (("categories", CATEGORIES), ("impute", IMPUTE)):
            if (value := getattr(self, name)) is not None:
                require_choice(value, name, allowed)
        others = [name for name in ("standardize", "normalize", "pca") if getattr(self, name)]
        if self.is_gower and others:
            raise InvalidInput(
                f"categories='gower' is given with {' and '.join(others)}, but Gower's distance "
                f"defines its own scale. Omit {' and '.join(others)}, or use "
                f"categories='one-hot'."
            )

    @property
    def is_gower(self) -> bool:
        """Return whether the Manhattan distance of prepared rows is Gower's distance."""
        return self.categories == "gower"

    @property
    def has_equal_scales(self) -> bool:
        """Return whether all columns of numbers have the same scale after preparation."""
        return self.standardize or self.is_gower

    @property
    def fills_gaps(self) -> bool:
        """Return whether missing values are allowed."""
        return self.impute is not None

    def fit(self, rows: Any, *, random_state: Any = None) -> FittedPreparation:
        """Return the preparation fitted on these rows.

        Parameters
        ----------
        rows
            A 2-D array, a pandas or polars DataFrame, a pyarrow Table, a sparse matrix, or the path
            of a file of rows. If there are more than 65,536 rows (16,384 of a memory map), as many
            are drawn at random.
        random_state
            A seed, Generator or RandomState for the draw. None always draws the same rows.
        """
        # Imported here, so that the file readers are loaded only on use.
        from protobandit.rows.files.opening import as_opened

        table = as_table(as_opened(rows, name="rows", preparation=self), name="rows")
        return self.fit_table(table, name="rows", random_state=random_state)

    def fit_table(self, table: Any, *, name: str, random_state: Any = None) -> FittedPreparation:
        """Return the preparation fitted on `Columns` or a CSR matrix; ``name`` is for errors.

        :meta private:
        """
        random = as_generator(0 if random_state is None else random_state)
        sample = fitting_sample(table, random)
        return _fit_sparse(self, sample, name) if is_sparse(sample) else _fit(self, sample, name)


def _as_components(pca: Any) -> int | float | None:
    if pca is None:
        return None
    if is_integer(pca) and pca >= 1:
        return int(pca)
    if isinstance(pca, (float, np.floating)) and 0 < pca < 1:
        return float(pca)
    raise InvalidInput(
        f"pca={pca!r:.40} is not allowed. Pass a number of components >= 1, or a share of the "
        f"variance between 0 and 1 such as 0.95."
    )


# -- fitting --------------------------------------------------------------------------------------


def fitting_sample(table: Any, random: np.random.Generator) -> Any:
    """Return all rows of a table, or a random sample of a large one."""
    n, width = table.shape
    if is_sparse(table):
        some = slice(0, n) if n <= MOST_ROWS else _drawn(n, MOST_ROWS, random)
        return table[some]
    most = min(MOST_ROWS, max(1, _MOST_CELLS // max(1, width)))
    if n <= most:
        return table.take(slice(0, n))
    if isinstance(table.numbers, RowsAsArray):  # such rows choose a sample that is cheap to read
        numbers = table.numbers.rows.sample(most)
        return Columns(numbers=numbers, names=table.names, is_named=False)
    if is_mapped(table.numbers):
        return table.take(_runs(n, min(most, MOST_ON_DISK), random))
    return table.take(_drawn(n, most, random))


def _drawn(n: int, most: int, random: np.random.Generator) -> Ids:
    return np.sort(random.choice(n, most, replace=False, shuffle=False))


def _runs(n: int, most: int, random: np.random.Generator) -> Ids:
    """Return short runs of rows, one at a random place in each of equal sections of the table.

    A page of a file holds several rows, so reading single rows would cost many times as much. If a
    file is sorted by class, each class still has its share, up to one section.
    """
    if n <= most:
        return np.arange(n)
    n_blocks, n_runs = -(-n // _RUN), max(1, most // _RUN)
    edges = np.linspace(0, n_blocks, n_runs + 1).astype(np.int64)
    blocks = random.integers(edges[:-1], edges[1:])
    rows = (blocks[:, None] * _RUN + np.arange(_RUN)).ravel()
    return rows[rows < n]


def _fit(asked: Preparation, sample: Columns, name: str) -> FittedPreparation:
    fitted = _encoding(asked, sample, name)
    if asked.is_gower:
        fitted = _with_gower_scale(fitted, _blocks(fitted, sample, name))
    if asked.standardize:
        fitted = _standardized(fitted, sample, name)
    if asked.pca is not None:
        found = principal_components(_blocks(fitted, sample, name), asked.pca, name=name)
        fitted = replace(
            fitted, centre=found.centre, components=found.components, variance_share=found.share
        )
    return fitted


def _encoding(asked: Preparation, sample: Columns, name: str) -> FittedPreparation:
    """Return the first steps: the values that replace missing ones, and the categories."""
    if sample.categories and asked.categories is None:
        shown = shortened(sample.label(column) for column in sample.categories)
        raise InvalidInput(
            f"{name} has columns of texts: {shown}. Pass Preparation(categories='one-hot') or "
            f"'gower' (--categories on the command line), or omit them."
        )
    if not sample.features:
        raise InvalidInput(f"{name} has no columns. Pass at least one.")
    require_no_infinity(sample, name=name)
    if asked.impute is None:
        require_no_missing(sample, name=name)
    return FittedPreparation(
        parameters=asdict(asked),
        names=sample.names,
        levels=levels_of(sample, name=name),
        is_named=sample.is_named,
        n_rows=len(sample),
        fills=None if asked.impute is None else number_fills(sample, asked.impute, name=name),
        commonest={} if asked.impute is None else category_fills(sample, name=name),
    )


def _blocks(fitted: FittedPreparation, sample: Columns, name: str) -> Blocks:
    """Return a function that yields the sample in blocks, prepared by the steps fitted so far."""

    def blocks() -> Iterator[Doubles]:
        for cut in cuts(len(sample), fitted.block_rows):
            yield fitted.scaled(fitted.encoded(sample.take(cut), name=name))

    return blocks


def _with_gower_scale(fitted: FittedPreparation, blocks: Blocks) -> FittedPreparation:
    """Divide numbers by their range and columns of categories by 2, and all by the feature count.

    Categories are divided by 2 because two rows of different categories differ in two columns.
    """
    n_numbers, n_features = len(fitted.names), len(fitted.names) + len(fitted.levels)
    low, spread = ranges(blocks)
    low[n_numbers:], spread[n_numbers:] = 0.0, 2.0
    with np.errstate(over="ignore"):
        divisors = np.minimum(spread * n_features, np.finfo(np.float64).max)
    return replace(fitted, offsets=low, divisors=divisors)


def _standardized(fitted: FittedPreparation, sample: Columns, name: str) -> FittedPreparation:
    """Scale the numbers only: a column of 0 and 1 of a rare category would become very wide."""

    def label(at: int) -> str:
        return sample.label(sample.features[min(at, len(sample.features) - 1)])

    found = moments(_blocks(fitted, sample, name))
    offsets, divisors = found.mean, standard_deviations(found, label, name=name)
    offsets[len(fitted.names) :], divisors[len(fitted.names) :] = 0.0, 1.0
    return replace(fitted, offsets=offsets, divisors=divisors)


def _fit_sparse(asked: Preparation, sample: Any, name: str) -> FittedPreparation:
    """Fit a scale but no centre, so that rows stay sparse."""
    parameters = asdict(asked)
    for step, why in _NOT_SPARSE.items():
        if parameters[step] is not None:
            raise InvalidInput(
                f"{step}={parameters[step]!r} does not support a sparse matrix ({name}): {why}."
            )
    divisors = None
    if asked.standardize:
        found = sparse_moments(sample)
        divisors = standard_deviations(found, lambda at: f"column {at}", name=name)
    return FittedPreparation(
        parameters=parameters,
        names=tuple(map(str, range(sample.shape[1]))),
        levels={},
        is_named=False,
        n_rows=sample.shape[0],
        divisors=divisors,
    )
