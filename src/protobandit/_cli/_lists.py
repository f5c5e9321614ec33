"""``protobandit methods`` and ``protobandit metrics``: the tables of names."""

from __future__ import annotations

from typing import Any

from protobandit._cli import _options, _streams

METHODS_EXAMPLES = ("protobandit methods", "protobandit methods --json | jq '.lazybandit'")
METRICS_EXAMPLES = ("protobandit metrics",)


def methods(as_json: _options.AsJson = False) -> None:
    """List the methods: what each does, and its parameters with their defaults."""
    from protobandit.methods import METHODS, parameters_of

    words = {name: _first_line(method) for name, method in METHODS.items()}
    parameters = {name: parameters_of(method()) for name, method in METHODS.items()}
    if as_json:
        _streams.say_json(
            {name: {"does": words[name], "parameters": parameters[name]} for name in METHODS}
        )
        return
    table = _streams.new_table("method", "what it does", "parameters")
    for name in METHODS:
        shown = (f"{key}={value!r}" for key, value in parameters[name].items())
        table.add_row(name, words[name], "\n".join(shown))
    _streams.say_table(table)


def metrics(as_json: _options.AsJson = False) -> None:
    """List the metrics: the kinds of rows each reads, and its largest value if there is one."""
    from protobandit._metrics import METRICS

    kinds = {name: sorted(metric.kinds) for name, metric in METRICS.items()}
    bounds = {name: metric.bound for name, metric in METRICS.items()}
    if as_json:
        _streams.say_json(
            {name: {"rows": kinds[name], "largest": bounds[name]} for name in METRICS}
        )
        return
    table = _streams.new_table("metric", "kinds of rows", "largest value")
    for name in METRICS:
        bound = bounds[name]
        table.add_row(name, ", ".join(kinds[name]), "" if bound is None else f"{bound:.6g}")
    _streams.say_table(table)


def _first_line(method: Any) -> str:
    return str(method.__doc__).splitlines()[0].replace("`", "")
