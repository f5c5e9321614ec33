"""HOW OFTEN? Rounds repeated until there are k prototypes."""

from protobandit.drivers._assess import Assessment, assess
from protobandit.drivers._greedy import Pick, greedy
from protobandit.drivers._round import play

__all__ = ["Assessment", "Pick", "assess", "greedy", "play"]
