"""The parsed arguments of ``protobandit select``, before any file is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from protobandit.interfaces.jobs.read_options import ReadOptions
from protobandit.problem.limits import Limits
from protobandit.rows.preparation.preparation import Preparation


@dataclass(frozen=True, kw_only=True)
class SelectArguments:
    """Files, and how to select from them.

    Attributes
    ----------
    sources, targets
        Paths; no targets means that the source is also the target.
    k
        Number of prototypes, a fraction of the source rows, or "auto".
    read_options, preparation
        How files become rows, and how rows are prepared.
    metric, metric_parameters
        Name and parameters of the metric; None chooses a metric by the kind of rows.
    method, parameters
        Name and parameters of the method.
    fixed
        Row numbers, or ids if the read options name a column of ids.
    at_least, at_most
        One number for all groups, or a number per group.
    limits, seed, n_jobs
        As in `protobandit.select`.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    k: int | float | str
    read_options: ReadOptions = field(default_factory=ReadOptions)
    preparation: Preparation | None = None
    metric: str | None = None
    metric_parameters: Mapping[str, Any] = field(default_factory=dict)
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    at_least: int | Mapping[str, int] | None = None
    at_most: int | Mapping[str, int] | None = None
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    n_jobs: int | None = None
