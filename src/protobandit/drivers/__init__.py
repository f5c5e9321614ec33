"""HOW OFTEN? Rounds repeated until there are k prototypes; races and swaps."""

from protobandit.drivers._assess import Assessment, assess
from protobandit.drivers._farthest import farthest_first
from protobandit.drivers._greedy import Pick, given, greedy
from protobandit.drivers._lead import leaders
from protobandit.drivers._medoids import Pass, best_passes, eager_passes, ordered
from protobandit.drivers._race import Lap, covered, race, ranked
from protobandit.drivers._round import play
from protobandit.drivers._rungs import Rung, least_evaluations, planned_evaluations, rungs_for
from protobandit.drivers._search_swaps import search_swaps
from protobandit.drivers._spend import spend
from protobandit.drivers._subsample import Jury, Verdict, built, drawn_rows, subsample
from protobandit.drivers._swap import refine_eagerly
from protobandit.drivers._voronoi import voronoi_passes
from protobandit.drivers._wander import BLOCK, Columns, wander

__all__ = [
    "BLOCK",
    "Assessment",
    "Columns",
    "Jury",
    "Lap",
    "Pass",
    "Pick",
    "Rung",
    "Verdict",
    "assess",
    "best_passes",
    "built",
    "covered",
    "drawn_rows",
    "eager_passes",
    "farthest_first",
    "given",
    "greedy",
    "leaders",
    "least_evaluations",
    "ordered",
    "planned_evaluations",
    "play",
    "race",
    "ranked",
    "refine_eagerly",
    "rungs_for",
    "search_swaps",
    "spend",
    "subsample",
    "voronoi_passes",
    "wander",
]
