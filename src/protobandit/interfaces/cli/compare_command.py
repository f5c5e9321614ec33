"""``protobandit compare``: compare methods on your own rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from protobandit.foundation.errors import ProtobanditError
from protobandit.foundation.visible_text import visible
from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.option_groups import (
    ProblemOptions,
    SearchOptions,
    select_arguments,
    with_option_groups,
)
from protobandit.interfaces.cli.options import SEARCH, option
from protobandit.interfaces.cli.progress import progress_display

if TYPE_CHECKING:
    from rich.table import Table

    from protobandit.interfaces.jobs.compare import Comparison, MethodScore

EXAMPLES = (
    "protobandit compare rows.csv -k 20",
    "protobandit compare train.npy -k 100 --methods lazybandit,fasterpam --seeds 5",
)

_METHODS = "lazybandit,onebatch,lazygreedy,random"


@with_option_groups
def compare(
    problem: ProblemOptions,
    *,
    methods: Annotated[
        str,
        option(
            "--methods NAME,NAME", SEARCH, f"Methods, separated by commas. Default: {_METHODS}."
        ),
    ] = _METHODS,
    seeds: Annotated[str, option("--seeds N", SEARCH, "Number of seeds. Default: 1.")] = "1",
    search: SearchOptions,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare methods by cost, evaluations and seconds; writes no files.

    All costs are measured on the same target rows: all rows, or 32,768 rows drawn by weight if
    there are more. Seconds are those of the search; short first runs are repeated, so that they do
    not include compilation.
    """
    from protobandit.interfaces.jobs.compare import compare_methods

    arguments = select_arguments(problem, search)
    n_seeds = parsing.parse_integer(seeds, "--seeds")
    names = tuple(dict.fromkeys(parsing.parse_names(methods, "--methods")))
    with progress_display(is_quiet=quiet) as display:
        comparison = compare_methods(arguments, names, n_seeds, display.notify)
    if as_json:
        output.print_json(_as_json(comparison))
    else:
        output.print_table(_table(comparison), _legend(comparison, n_seeds))
    if comparison.best is None:
        raise ProtobanditError("All methods failed; the table shows why.")


def _as_json(comparison: Comparison) -> dict[str, object]:
    return {
        "methods": comparison.scores,
        "best": comparison.best,
        "judged_on": comparison.n_test,
        "target_rows": comparison.n_target,
    }


def _table(comparison: Comparison) -> Table:
    table = output.new_table("method")
    for name in ("prototypes", "cost", "evaluations", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for score in comparison.scores:
        table.add_row(score.method, *_cells(score, is_best=score.cost == comparison.best_cost))
    return table


def _cells(score: MethodScore, *, is_best: bool) -> list[str]:
    if score.cost is None:
        return ["", "", "", "", visible(f"failed: {score.failure}")]
    deviation = f" ± {score.cost_deviation:.2g}" if score.cost_deviation else ""
    return [
        f"{score.prototypes:,.6g}",
        f"{score.cost:.6g}{deviation}",
        f"{score.evaluations:,.0f}",
        f"{score.seconds:.3f}",
        "best" if is_best else "",
    ]


def _legend(comparison: Comparison, n_seeds: int) -> str:
    n_test, n_target = comparison.n_test, comparison.n_target
    rows = f"all {n_target:,}" if n_test == n_target else f"{n_test:,} of the {n_target:,}"
    mean = f"; mean ± standard deviation over {n_seeds} seeds" if n_seeds > 1 else ""
    return f"\ncost: mean distance of {rows} target rows to their nearest prototype{mean}"
