"""The command line: parse, call, write. Tables go to stdout, everything else to stderr.

Exit codes: 0 done, 1 failed, 2 the call cannot be carried out as given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO

import typer

from protobandit import __version__
from protobandit._errors import InvalidInput, ProtobanditError

if TYPE_CHECKING:
    from rich.table import Table

    from protobandit._demo import Demo

_PICTURE = Path("protobandit-demo.svg")
_PIPE_WIDTH = 120  # columns where there is no terminal to ask

app = typer.Typer(
    name="protobandit",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with its exit code."""
    try:
        app(arguments)
    except InvalidInput as error:
        _fail(str(error), code=2)
    except (ProtobanditError, OSError) as error:
        _fail(str(error), code=1)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        _write(f"protobandit {__version__}\n", sys.stdout)
        raise typer.Exit


@app.callback()
def protobandit(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Choose a few real rows that stand for many.

    New here? Run: protobandit demo
    """


@app.command()
def demo(
    k: Annotated[
        int, typer.Option("-k", "--prototypes", min=1, help="How many images to choose.")
    ] = 20,
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="Where to write the picture.")
    ] = _PICTURE,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the methods that draw.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Choose handwritten digits that stand for the 1,797 bundled with scikit-learn (no network).

    Prints a table that compares methods by cost, evaluations, seconds, and how well the chosen
    images label all others. Writes a picture of the choice.

    A picture of an earlier demo under the default name is replaced; any other file only with
    --force.
    """
    from protobandit._demo import is_ours, run

    is_replaceable = is_ours if out == _PICTURE else _never
    destination = partial(_destination, out, force=force, is_replaceable=is_replaceable)
    destination()  # before the work: a refusal should not take seconds
    with _progress() as tell:
        result = run(k, seed=seed, tell=tell)
    _print(_demo_table(result, k, seed), _LEGEND)
    _write_whole(destination(), result.picture)
    _write(
        f"\nPicture: {out}\n"
        f"Next:    in Python, pb.select(rows, k={k}) after import protobandit as pb;\n"
        f"         protobandit methods and protobandit metrics list the choices.\n",
        sys.stderr,
    )


@app.command()
def methods() -> None:
    """List the methods: what each does, and its parameters with their defaults."""
    from protobandit.methods import METHODS, parameters_of

    table = _table("method", "what it does", "parameters")
    for name, method in METHODS.items():
        parameters = (f"{key}={value!r}" for key, value in parameters_of(method()).items())
        table.add_row(
            name, str(method.__doc__).splitlines()[0].replace("`", ""), "\n".join(parameters)
        )
    _print(table)


@app.command()
def metrics() -> None:
    """List the metrics: the kinds of rows each reads, and its largest value if there is one."""
    from protobandit._metrics import METRICS

    table = _table("metric", "kinds of rows", "largest value")
    for name, metric in METRICS.items():
        bound = "" if metric.bound is None else f"{metric.bound:.6g}"
        table.add_row(name, ", ".join(sorted(metric.kinds)), bound)
    _print(table)


# -- tables ---------------------------------------------------------------------------------------

_LEGEND = """
cost         mean distance of an image to its nearest prototype
evaluations  distances computed, including those that measured the cost
seconds      one run, warmed up; fewer evaluations pay where each is dear
nearest      images labelled correctly by their nearest prototype
barycentric  the same by the nearest mean of a prototype's own images
random       mean over several seeds; ± is the standard error of its cost"""


def _demo_table(result: Demo, k: int, seed: int) -> Table:
    from protobandit._demo import N_RANDOM

    table = _table("method")
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


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
        title_style="bold",
    )
    table.add_column(first, style="bold", no_wrap=True)
    for name in others:
        table.add_column(name)
    return table


def _print(table: Table, legend: str = "") -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    with console.capture() as captured:
        console.print(table)
        if legend:
            console.print(legend, style="dim")
    lines = (line.rstrip() for line in captured.get().splitlines())
    _write("\n".join(lines) + "\n", sys.stdout)


# -- streams and files ----------------------------------------------------------------------------


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Tell what is going on: a spinner where there is a terminal, else lines."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
    else:
        yield lambda text: _write(f"{text}\n", sys.stderr)


def _write(text: str, stream: TextIO | None) -> None:
    """Write what the stream can encode; a reader who has left, such as ``head``, is no failure."""
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _fail(message: str, *, code: int) -> NoReturn:
    _write(f"protobandit: {' '.join(message.split())}\n", sys.stderr)
    raise SystemExit(code)


def _never(text: str) -> bool:
    return False


def _destination(path: Path, *, force: bool, is_replaceable: Callable[[str], bool]) -> Path:
    """Return where a file of this name may be written, links resolved, or refuse."""
    target, shown = Path(os.path.realpath(path)), repr(str(path))
    if not target.parent.is_dir():
        raise InvalidInput(f"{shown} lies in no existing folder. Create it, or pass another --out.")
    if not target.exists():
        return target
    if not target.is_file():
        raise InvalidInput(f"{shown} is not a regular file. Pass --out with the name of one.")
    if not (force or is_replaceable(target.read_bytes().decode("utf-8", "replace"))):
        raise InvalidInput(f"{shown} exists. Pass --force to replace it, or another --out.")
    return target


def _write_whole(path: Path, text: str) -> None:
    """Write all of ``text`` or nothing: a finished file takes the name in one move."""
    part = path.with_name(f".protobandit-{token_hex(8)}.part")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(part, path)
    except OSError as error:
        _fail(f"cannot write {str(path)!r}: {error.strerror}.", code=1)
    finally:
        with suppress(OSError):
            part.unlink()
