"""``protobandit demo``: try the methods in seconds, without own data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from protobandit.interfaces.cli import options, output, parsing
from protobandit.interfaces.cli.options import OUTPUT, PROBLEM, option

if TYPE_CHECKING:
    from rich.table import Table

    from protobandit.interfaces.jobs.demo import Demo

EXAMPLES = ("protobandit demo", "protobandit demo -k 50 --out fifty.svg")

_PICTURE = Path("protobandit-demo.svg")
_LEGEND = """
cost         mean distance of an image to its nearest prototype
evaluations  computed distances, including those that measured the cost
seconds      time of one run without compilation
nearest      images labelled correctly by their nearest prototype
barycentric  the same with the mean of the images nearest to each prototype
random       mean over several seeds; ± is the standard error of the cost"""


def demo(
    k: Annotated[
        str, option("-k --prototypes N", PROBLEM, "Number of images to select. Default: 20.")
    ] = "20",
    out: Annotated[
        Path, option("--out PATH", OUTPUT, f"Output file. Default: {_PICTURE}.")
    ] = _PICTURE,
    seed: options.Seed = "0",
    force: options.Force = False,
) -> None:
    """Select handwritten digits that represent the 1,797 digits of scikit-learn; no network needed.

    Prints a table that compares methods by cost, evaluations, seconds, and the accuracy with which
    the selected images label all images. Writes a picture of the selected images.

    The unchanged picture of an earlier demo is replaced if --out is not given; any other file is
    replaced only with --force.
    """
    from protobandit.interfaces.jobs.demo import run_demo
    from protobandit.interfaces.jobs.output_files import destination, write_atomically

    n, start = parsing.parse_integer(k, "-k"), parsing.parse_seed(seed)
    is_replaceable = _is_unchanged_demo if out == _PICTURE else None
    find_destination = partial(destination, out, force=force, is_replaceable=is_replaceable)
    find_destination()  # raises before the work if the file may not be written
    with _notifications() as notify:
        result = run_demo(n, seed=start, notify=notify)
    output.print_table(_table(result, n, start), _LEGEND)
    write_atomically(find_destination(), result.picture.encode("utf-8"), shown=out)
    output.print_status(
        f"\nPicture: {out}\n"
        f"Next:    protobandit select your-rows.csv -k {n}\n"
        f"         or in Python: import protobandit as pb; pb.select(rows, k={n})\n"
        f"         `protobandit methods` and `protobandit metrics` list the choices."
    )


def _is_unchanged_demo(path: Path) -> bool:
    from protobandit.interfaces.jobs.demo import is_unchanged

    return is_unchanged(path.read_bytes().decode("utf-8", "replace"))


@contextmanager
def _notifications() -> Iterator[Callable[[str], None]]:
    """Show the current step: a spinner in a terminal, else lines."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
    else:
        yield output.print_status


def _table(result: Demo, k: int, seed: int) -> Table:
    from protobandit.interfaces.jobs.demo import N_RANDOM

    table = output.new_table("method")
    table.title = f"{k} of {result.n_images:,} digits, seed {seed}"
    for name in ("cost", "evaluations", "seconds", "nearest", "barycentric"):
        table.add_column(name, justify="right", no_wrap=True)
    remarks = {"lazygreedy": " (exact)", "random": f" (mean of {N_RANDOM})"}
    for name, score in result.scores.items():
        error = f" ± {score.cost_error:.2f}" if score.cost_error else ""
        table.add_row(
            name + remarks.get(name, ""),
            f"{score.cost:.2f}{error}",
            f"{score.evaluations:,.0f}",
            f"{score.seconds:.3f}",
            f"{score.by_nearest:.1%}",
            f"{score.by_barycentre:.1%}",
        )
    return table
