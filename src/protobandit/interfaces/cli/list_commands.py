"""``protobandit methods`` and ``protobandit metrics``: the tables of names."""

from __future__ import annotations

from typing import Any

from protobandit.interfaces.cli import options, output

METHODS_EXAMPLES = ("protobandit methods", "protobandit methods --json | jq '.lazybandit'")
METRICS_EXAMPLES = ("protobandit metrics",)


def methods(as_json: options.AsJson = False) -> None:
    """List the methods: what each does, and its parameters with their defaults."""
    from protobandit.search.methods.method import parameters_of
    from protobandit.search.methods.table import METHODS

    words = {name: _first_line(method) for name, method in METHODS.items()}
    parameters = {name: parameters_of(method()) for name, method in METHODS.items()}
    if as_json:
        output.say_json(
            {name: {"does": words[name], "parameters": parameters[name]} for name in METHODS}
        )
        return
    table = output.new_table("method", "what it does", "parameters")
    for name in METHODS:
        shown = (f"{key}={value!r}" for key, value in parameters[name].items())
        table.add_row(name, words[name], "\n".join(shown))
    output.say_table(table)


def metrics(as_json: options.AsJson = False) -> None:
    """List the metrics: the rows each reads, its largest value if it has one, its parameters."""
    from protobandit.metrics.metrics import METRICS, PARAMETERS

    # Those that are not in the table cannot do without their parameter.
    kinds = {name: sorted(metric.kinds) for name, metric in METRICS.items()}
    kinds |= {name: ["dense"] for name in PARAMETERS if name not in METRICS}
    bounds = {name: metric.bound for name, metric in METRICS.items()}
    of_sets = [name for name, metric in METRICS.items() if metric.is_of_sets]
    if as_json:
        output.say_json(
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
        shown = (f"{key}: {what}" for key, what in PARAMETERS.get(name, {}).items())
        largest = "" if bound is None else f"{bound:.6g}"
        table.add_row(name, ", ".join(kinds[name]), largest, "\n".join(shown))
    output.say_table(
        table,
        f"{', '.join(of_sets)} compare which numbers are not 0. Parameters are given as in "
        f"--metric-param p=3 or --metric-param V='[1, 4]'.",
    )


def _first_line(method: Any) -> str:
    return str(method.__doc__).splitlines()[0].replace("`", "")
