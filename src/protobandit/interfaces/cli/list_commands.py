"""``protobandit methods`` and ``protobandit metrics``: list the names that options take."""

from __future__ import annotations

from typing import Any

from protobandit.interfaces.cli import options, output

METHODS_EXAMPLES = ("protobandit methods", "protobandit methods --json | jq '.lazybandit'")
METRICS_EXAMPLES = ("protobandit metrics",)


def methods(as_json: options.AsJson = False) -> None:
    """List the methods with their parameters and defaults."""
    from protobandit.search.methods.method import parameters_of
    from protobandit.search.methods.table import METHODS

    summaries = {name: _first_line(method) for name, method in METHODS.items()}
    parameters = {name: parameters_of(method()) for name, method in METHODS.items()}
    if as_json:
        output.print_json(
            {name: {"does": summaries[name], "parameters": parameters[name]} for name in METHODS}
        )
        return
    table = output.new_table("method", "description", "parameters")
    for name in METHODS:
        shown = (f"{key}={value!r}" for key, value in parameters[name].items())
        table.add_row(name, summaries[name], "\n".join(shown))
    output.print_table(table)


def metrics(as_json: options.AsJson = False) -> None:
    """List the metrics with the kinds of rows they take, their largest values and parameters."""
    from protobandit.metrics.metrics import METRICS, PARAMETERS

    # Metrics with a required parameter are missing from METRICS.
    kinds = {name: sorted(metric.kinds) for name, metric in METRICS.items()}
    kinds |= {name: ["dense"] for name in PARAMETERS if name not in METRICS}
    bounds = {name: metric.bound for name, metric in METRICS.items()}
    of_sets = [name for name, metric in METRICS.items() if metric.is_of_sets]
    if as_json:
        output.print_json(
            {
                name: {
                    "rows": kinds[name],
                    "largest": bounds.get(name),
                    "parameters": PARAMETERS.get(name, {}),
                    "sets": name in of_sets,
                }
                for name in kinds
            }
        )
        return
    table = output.new_table("metric", "kinds of rows", "largest value", "parameters")
    for name in kinds:
        bound = bounds.get(name)
        shown = (f"{key}: {meaning}" for key, meaning in PARAMETERS.get(name, {}).items())
        largest = "" if bound is None else f"{bound:.6g}"
        table.add_row(name, ", ".join(kinds[name]), largest, "\n".join(shown))
    output.print_table(
        table,
        f"{', '.join(of_sets)} compare which numbers are nonzero. Pass parameters as in "
        f"--metric-param p=3 or --metric-param V='[1, 4]'.",
    )


def _first_line(method: Any) -> str:
    return str(method.__doc__).splitlines()[0].replace("`", "")
