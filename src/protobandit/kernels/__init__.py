"""HOW FAST? Arrays in, arrays out; serial, without the interpreter lock, nothing allocated."""

from protobandit.kernels._coverage import absorb, costs, gains, rewards
from protobandit.kernels._permutation import permuted

__all__ = ["absorb", "costs", "gains", "permuted", "rewards"]
