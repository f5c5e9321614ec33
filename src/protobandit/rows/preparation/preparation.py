"""Preparation: what the user asks for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.preparation.fit import fit
from protobandit.rows.preparation.fitted import FittedPreparation
from protobandit.rows.preparation.inputs import as_table

CATEGORIES = ("one-hot", "gower")
IMPUTE = ("mean", "median", "most-frequent")


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What to do to rows before they are compared; fitted on the target, the same for all rows.

    The steps, in this order: missing values, categories, ``standardize``, ``pca``, ``normalize``.
    Each is fitted on at most 65,536 target rows, every row counting alike; of rows on disk, on
    16,384 in runs of 16 spread evenly over the file, which is then hardly read. Rows of float32
    stay float32. Frames are matched by the names of their columns.

    Parameters
    ----------
    standardize
        Give every column mean 0 and standard deviation 1. Columns that are constant become 0. Rows
        of a sparse matrix are scaled but not centred, so that they stay sparse.
    normalize
        Scale every row to length 1; rows of zeros stay zeros.
    pca
        Keep this many principal components, or as many as hold this share of the variance, such as
        0.95. Not for sparse matrices.
    categories
        What becomes of columns of texts, which are refused otherwise. "one-hot": a column of 0 and
        1 for each category; one that the target's sample has not is all zeros. "gower": as Gower
        (1971) has it, numbers count by their share of the column's range, categories as alike or
        not, all columns the same; needs metric="manhattan", and none of the other steps.
    impute
        What stands for a missing number: "mean", "median" or "most-frequent"; for a missing
        category it is always the most frequent one. None refuses missing values.

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
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value in allowed):
                raise InvalidInput(
                    f"{name}={value!r:.40} is not known. Use one of {list(allowed)}, or None."
                )
        others = [name for name in ("standardize", "normalize", "pca") if getattr(self, name)]
        if self.is_gower and others:
            raise InvalidInput(
                f"categories='gower' is given with {' and '.join(others)}, but Gower's distance "
                f"has a scale of its own. Leave {' and '.join(others)} out, or use "
                f"categories='one-hot'."
            )

    @property
    def is_gower(self) -> bool:
        """Tell whether the manhattan distance of prepared rows is Gower's."""
        return self.categories == "gower"

    @property
    def fills_gaps(self) -> bool:
        """Tell whether missing values are allowed."""
        return self.impute is not None

    def fit(self, rows: Any, *, random_state: Any = None) -> FittedPreparation:
        """Return what the steps are for these rows.

        Parameters
        ----------
        rows
            A 2-D array, a pandas or polars DataFrame, a pyarrow Table, `data.Columns`, or a CSR
            matrix. Of more than 65,536 rows, so many are drawn; of a memory map, 16,384.
        random_state
            A seed, Generator or RandomState for that draw; None draws the same rows every time.
        """
        return self.fit_table(as_table(rows, name="rows"), name="rows", random_state=random_state)

    def fit_table(self, table: Any, *, name: str, random_state: Any = None) -> FittedPreparation:
        """Do as `fit` does with a table that is one already; ``name`` is for errors."""
        return fit(asdict(self), table, name=name, random_state=random_state)


def _as_components(pca: Any) -> int | float | None:
    if pca is None:
        return None
    is_whole = isinstance(pca, (int, np.integer)) and not isinstance(pca, bool)
    if is_whole and pca >= 1:
        return int(pca)
    if isinstance(pca, (float, np.floating)) and 0 < pca < 1:
        return float(pca)
    raise InvalidInput(
        f"pca={pca!r:.40} is not allowed. Pass a number of components from 1 on, or a share of the "
        f"variance between 0 and 1 such as 0.95."
    )
