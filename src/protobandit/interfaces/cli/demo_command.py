"""``protobandit demo``: what this is for, in seconds, without data of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from protobandit.interfaces.cli import options, output, values

if TYPE_CHECKING:
    from rich.table import Table

    from protobandit.interfaces.jobs.demo import Demo

EXAMPLES = ("protobandit demo", "protobandit demo -k 50 --out fifty.svg")

_PICTURE = Path("protobandit-demo.svg")
_LEGEND = """
cost         mean distance of an image to its nearest prototype
evaluations  distances computed, including those that measured the cost
seconds      one run, warmed up; fewer evaluations pay where each is dear
nearest      images labelled correctly by their nearest prototype
barycentric  the same by the nearest mean of a prototype's own images
random       mean over several seeds; ± is the standard error of its cost"""


def demo(
    k: Annotated[
        str,
        typer.Option(
            "-k",
            "--prototypes",
            metavar="N",
            help="How many images to choose; 20 by default.",
        ),
    ] = "20",
    out: Annotated[
        Path,
        typer.Option(metavar="PATH", help=f"Where to write the picture; {_PICTURE} by default."),
    ] = _PICTURE,
    seed: Annotated[
        str, typer.Option(metavar="N", help="The seed of the methods that draw; 0 by default.")
    ] = "0",
    force: options.Force = False,
) -> None:
    """Choose handwritten digits that stand for the 1,797 bundled with scikit-learn (no network).

    Prints a table that compares methods by cost, evaluations, seconds, and how well the chosen
    images label all others. Writes a picture of the choice.

    A picture of an earlier demo under the default name is replaced; any other file only with
    --force.
    """
    from protobandit.interfaces.jobs.demo import run
    from protobandit.interfaces.jobs.files import destination, never, write_whole

    n, start = values.as_whole(k, "-k"), values.as_whole(seed, "--seed", least=0)
    is_replaceable = _is_ours if out == _PICTURE else never
    free = partial(destination, out, force=force, is_replaceable=is_replaceable)
    free()  # before the work: a refusal should not take seconds
    with _progress() as tell:
        result = run(n, seed=start, tell=tell)
    output.say_table(_table(result, n, start), _LEGEND)
    write_whole(free(), result.picture.encode("utf-8"), shown=out)
    output.tell(
        f"\nPicture: {out}\n"
        f"Next:    protobandit select your-rows.csv -k {n}, or in Python pb.select(rows, k={n})\n"
        f"         after import protobandit as pb; protobandit methods and protobandit metrics\n"
        f"         list the choices."
    )


def _is_ours(path: Path) -> bool:
    from protobandit.interfaces.jobs.demo import is_ours

    return is_ours(path.read_bytes().decode("utf-8", "replace"))


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Tell what is going on: a spinner where there is a terminal, else lines."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
    else:
        yield output.tell


def _table(result: Demo, k: int, seed: int) -> Table:
    from protobandit.interfaces.jobs.demo import N_RANDOM

    table = output.new_table("method")
    table.title = f"{k} of {result.n_images:,} digits, seed {seed}"
    for figure in ("cost", "evaluations", "seconds", "nearest", "barycentric"):
        table.add_column(figure, justify="right", no_wrap=True)
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
