"""HOW FAST? Arrays in, arrays out; serial, without the interpreter lock, nothing allocated."""

from protobandit.kernels._coverage import absorb, costs, gains, rewards
from protobandit.kernels._permutation import permuted
from protobandit.kernels._swap import (
    affinities,
    copy_ragged,
    exchange,
    removal_losses,
    scatter,
    swap_changes,
    two_nearest,
)

__all__ = [
    "absorb",
    "affinities",
    "copy_ragged",
    "costs",
    "exchange",
    "gains",
    "permuted",
    "removal_losses",
    "rewards",
    "scatter",
    "swap_changes",
    "two_nearest",
]
