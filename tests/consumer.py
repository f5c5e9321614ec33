"""A program of a user, for a type checker: `.ci/run` checks it against the installed package.

A line with ``type: ignore`` must be an error: in strict mode mypy reports a needless one.
"""

import numpy as np

import protobandit as pb
from protobandit.data import open_rows
from protobandit.methods import LazyBandit

rows = np.zeros((10, 2))
selection: pb.Selection = pb.select(rows, k=2, method=LazyBandit(effort="fast"))
n: int = selection.k
cost: float = selection.cost
certificate: pb.Certificate = selection.certify()
ratio: float = certificate.cost_ratio
plan: pb.Plan = pb.plan(rows, k=2)
assignment: pb.Assignment = selection.assign(rows)
loaded: pb.Selection = pb.Selection.from_json(selection.to_json())
limited = pb.select(rows, k=2, limits=pb.Limits(evaluations=10), until=None)
constrained = pb.select(rows, k=2, constraints=pb.Constraints(fixed=[1]))
same = pb.data.open_rows is open_rows
medoids: pb.KMedoids = pb.KMedoids(n_clusters=2).fit(rows)

unknown = pb.Selektion  # type: ignore[attr-defined]
pb.select(rows, k=2, limits=3)  # type: ignore[arg-type]
wrong: int = selection.indices  # type: ignore[assignment]
pb.Limits(evaluation=10)  # type: ignore[call-arg]
selection.certfy()  # type: ignore[attr-defined]
