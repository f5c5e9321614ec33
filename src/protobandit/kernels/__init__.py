"""HOW FAST? Arrays in, arrays out; serial, without the interpreter lock, nothing allocated."""

from protobandit.kernels._coverage import costs, gains, rewards
from protobandit.kernels._lead import lead
from protobandit.kernels._medoids import (
    cell_costs,
    enter,
    nearest_arms,
    pair_changes,
    slot_changes,
    two_nearest_of,
)
from protobandit.kernels._moments import gain_moments, swap_moments
from protobandit.kernels._neighbours import first_better
from protobandit.kernels._permutation import permuted
from protobandit.kernels._shake import next_helpful, put
from protobandit.kernels._swap import (
    exchange,
    home_cells,
    keep_within,
    removal_losses,
    scatter,
    swap_changes,
)

__all__ = [
    "cell_costs",
    "costs",
    "enter",
    "exchange",
    "first_better",
    "gain_moments",
    "gains",
    "home_cells",
    "keep_within",
    "lead",
    "nearest_arms",
    "next_helpful",
    "pair_changes",
    "permuted",
    "put",
    "removal_losses",
    "rewards",
    "scatter",
    "slot_changes",
    "swap_changes",
    "swap_moments",
    "two_nearest_of",
]
