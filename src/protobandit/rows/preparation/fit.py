"""How a preparation is fitted: one look at a sample of the rows, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Doubles
from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import as_generator
from protobandit.foundation.slices import cuts
from protobandit.rows.columns import Columns
from protobandit.rows.missing_values import called, require_whole
from protobandit.rows.preparation.block_statistics import (
    Blocks,
    ColumnMoments,
    moments,
    principal,
    ranges,
    spreads,
)
from protobandit.rows.preparation.categories import levels_of
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.imputation import (
    category_fills,
    number_fills,
    require_no_infinity,
)
from protobandit.rows.preparation.inputs import is_sparse, sampled
from protobandit.rows.preparation.sparse import require_sparse_steps, sparse_moments


def fit(
    parameters: Mapping[str, Any], table: Any, *, name: str, random_state: Any = None
) -> FittedPreparation:
    """Return the steps with their numbers, for a table of `Columns` or a CSR matrix."""
    random = as_generator(0 if random_state is None else random_state)
    sample = sampled(table, random)
    if is_sparse(sample):
        return _fit_sparse(parameters, sample, name)
    fitted = _encoding(parameters, sample, name)
    if parameters["categories"] == "gower":
        fitted = _by_shares(fitted, _blocks(fitted, sample, name))
    if parameters["standardize"]:
        found = moments(_blocks(fitted, sample, name))
        fitted = _standardized(fitted, found, sample, name)
    if parameters["pca"] is not None:
        axes = principal(_blocks(fitted, sample, name), parameters["pca"], name=name)
        fitted = replace(
            fitted, centre=axes.centre, components=axes.components, variance_share=axes.share
        )
    return fitted


def _encoding(parameters: Mapping[str, Any], sample: Columns, name: str) -> FittedPreparation:
    """Return the first steps: what stands for missing values, and what categories there are."""
    if sample.categories and parameters["categories"] is None:
        shown = ", ".join(called(column, sample) for column in list(sample.categories)[:5])
        raise InvalidInput(
            f"{name} has columns of texts: {shown}. Pass Preparation(categories='one-hot') or "
            f"'gower' (--categories on the command line), or leave them out."
        )
    if not sample.features:
        raise InvalidInput(f"{name} has no columns. Pass at least one.")
    require_no_infinity(sample, name=name)
    impute = parameters["impute"]
    if impute is None:
        require_whole(sample, name=name)
    return FittedPreparation(
        parameters=dict(parameters),
        names=sample.names,
        levels=levels_of(sample, name=name),
        is_named=sample.is_named,
        n_rows=len(sample),
        fills=None if impute is None else number_fills(sample, impute, name=name),
        commonest={} if impute is None else category_fills(sample, name=name),
    )


def _blocks(fitted: FittedPreparation, sample: Columns, name: str) -> Blocks:
    """Return the sample as far as it is prepared, block by block, as often as asked."""

    def blocks() -> Iterator[Doubles]:
        for cut in cuts(len(sample), fitted.block_rows):
            yield fitted.scaled(fitted.encoded(sample.take(cut), name=name))

    return blocks


def _by_shares(fitted: FittedPreparation, blocks: Blocks) -> FittedPreparation:
    """Divide numbers by their range, count categories by halves, and take the mean of columns.

    Two rows of different categories differ in two columns of 0 and 1.
    """
    n_numbers, n_features = len(fitted.names), len(fitted.names) + len(fitted.levels)
    low, spread = ranges(blocks)
    low[n_numbers:], spread[n_numbers:] = 0.0, 2.0
    with np.errstate(over="ignore"):
        divisors = np.minimum(spread * n_features, np.finfo(np.float64).max)
    return replace(fitted, offsets=low, divisors=divisors)


def _standardized(
    fitted: FittedPreparation, found: ColumnMoments, sample: Columns, name: str
) -> FittedPreparation:
    def column(at: int) -> str:
        return called(sample.features[min(at, len(sample.features) - 1)], sample)

    return replace(fitted, offsets=found.mean, divisors=spreads(found, column, name=name))


def _fit_sparse(parameters: Mapping[str, Any], sample: Any, name: str) -> FittedPreparation:
    require_sparse_steps(parameters, name=name)
    divisors = None
    if parameters["standardize"]:
        found = sparse_moments(sample)
        divisors = spreads(found, lambda at: f"column {at}", name=name)
    return FittedPreparation(
        parameters=dict(parameters),
        names=tuple(map(str, range(sample.shape[1]))),
        levels={},
        is_named=False,
        n_rows=sample.shape[0],
        divisors=divisors,
    )
