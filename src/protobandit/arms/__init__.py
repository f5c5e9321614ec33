"""WHICH arm? Strategies that decide which arms to pull and when to stop.

One strategy a file, named as its paper names it. A strategy sees numbers only: it asks for pulls,
is told moments, and returns a choice (see `_contract`). It never meets rows, metrics or an oracle.

===========================  ==========  =======================================================
strategy                     picks       what holds of the choice
===========================  ==========  =======================================================
`Exhaustive`                 any         the best arms
`Lazy`                       any         the best arms, from fewer pulls where bounds are handed on
`Uniform`                    any         within ``nu`` of the best, with probability 1 - ``delta``
`KLLUCB`                     any         the same, unless its early stop fires (``is_proven``)
`AggressiveElimination`      1           the same
`MedianElimination`          1           the same
`SequentialHalving`          1           the same
`SuccessiveElimination`      any         the best, in all likelihood: a heuristic unless all is seen
`Threshold`                  1           worth at least 1 - ``epsilon`` of the best
`Subset`                     as inner    as the inner strategy's, among the arms it drew
===========================  ==========  =======================================================
"""

from protobandit.arms._aggressive_elimination import AggressiveElimination
from protobandit.arms._contract import Bounds, Choice, Moments, Pull, Strategy, Terms
from protobandit.arms._exhaustive import Exhaustive
from protobandit.arms._kl_lucb import KLLUCB
from protobandit.arms._lazy import Lazy
from protobandit.arms._median_elimination import MedianElimination
from protobandit.arms._sequential_halving import SequentialHalving
from protobandit.arms._subset import Subset
from protobandit.arms._successive_elimination import SuccessiveElimination
from protobandit.arms._threshold import Level, Threshold
from protobandit.arms._uniform import Uniform

__all__ = [
    "KLLUCB",
    "AggressiveElimination",
    "Bounds",
    "Choice",
    "Exhaustive",
    "Lazy",
    "Level",
    "MedianElimination",
    "Moments",
    "Pull",
    "SequentialHalving",
    "Strategy",
    "Subset",
    "SuccessiveElimination",
    "Terms",
    "Threshold",
    "Uniform",
]
