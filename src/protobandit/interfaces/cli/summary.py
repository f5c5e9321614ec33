"""What is said of a result, in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protobandit._plan import Plan
    from protobandit.certificate.certificate import Certificate
    from protobandit.interfaces.jobs.select_job import Done


def said(done: Done) -> str:
    """Return what was selected and where it is."""
    lines = [
        repr(done.result.selection),
        f"  written      {', '.join(str(done.folder / name) for name in done.files)}",
    ]
    if done.left_out:
        lines.append(f"  interrupted  without {' and '.join(done.left_out)}")
    if "report.html" not in done.files:
        lines.append(f"  to look at   protobandit report {done.folder}")
    return "\n".join(lines) + "\n"


def said_as_json(done: Done) -> dict[str, Any]:
    """Return the same for machines."""
    selection, run = done.result.selection, done.result.run
    return {
        "k": selection.k,
        "rows": done.n_source,
        "indices": selection.indices,
        "ids": None if run is None else run.ids,
        "cost": selection.cost,
        "cost_error": selection.cost_error,
        "gains": selection.gains,
        "mass": selection.mass,
        "evaluations": selection.evaluations,
        "lookups": selection.lookups,
        "seconds": selection.seconds,
        "method": selection.method,
        "metric": getattr(selection.metric, "name", selection.metric),
        "status": selection.status,
        "certificate": None
        if selection.certificate is None
        else certificate_as_json(selection.certificate),
        "out": str(done.folder),
        "files": done.files,
        "left_out": done.left_out,
    }


def certificate_as_json(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate for machines; a ratio of infinity, where nothing is proven, is null."""
    return asdict(certificate)


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """Return a plan for machines."""
    return {
        "method": plan.method,
        "parameters": plan.parameters,
        "evaluations": plan.evaluations,
        "memory": plan.memory,
        "seconds": plan.seconds,
    }
