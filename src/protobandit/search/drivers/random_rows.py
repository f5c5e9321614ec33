"""Random rows that constraints allow."""

from __future__ import annotations

import numpy as np

from protobandit.foundation.array_types import Ids
from protobandit.problem.feasibility import Feasibility


def random_rows(feasibility: Feasibility, k: int, random: np.random.Generator) -> Ids:
    """Return ``k`` source rows: the fixed ones, then random ones that fulfil the quotas."""
    fixed = feasibility.fixed
    return np.append(fixed, feasibility.draw(fixed, k - len(fixed), random))
