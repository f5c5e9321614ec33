"""HOW OFTEN? Rounds repeated until there are k prototypes; races and swaps."""

from protobandit.drivers._assess import Assessment, assess
from protobandit.drivers._greedy import Pick, greedy
from protobandit.drivers._race import Lap, race, ranked
from protobandit.drivers._round import play
from protobandit.drivers._rungs import Rung, least_evaluations, planned_evaluations, rungs_for
from protobandit.drivers._swap import refine_best, refine_eagerly

__all__ = [
    "Assessment",
    "Lap",
    "Pick",
    "Rung",
    "assess",
    "greedy",
    "least_evaluations",
    "planned_evaluations",
    "play",
    "race",
    "ranked",
    "refine_best",
    "refine_eagerly",
    "rungs_for",
]
