"""The table of options: their names, values and help, by panel of the help."""

from __future__ import annotations

from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from protobandit.rows.files.formats import listed_suffixes

PROBLEM = "Problem"
INPUT = "Input"
PREPARATION = "Preparation"
SEARCH = "Search"
LIMITS = "Limits and checkpoints"
OUTPUT = "Output"


# Enums, which all supported versions of typer take as choices.
TableFormat = Enum("TableFormat", {"csv": "csv", "parquet": "parquet"})
Kind = Enum(
    "Kind",
    {
        "auto": "auto",
        "exact": "exact",
        "rigorous": "rigorous",
        "asymptotic": "asymptotic",
    },
)
Categories = Enum("Categories", {"one_hot": "one-hot", "gower": "gower"})
Impute = Enum("Impute", {"mean": "mean", "median": "median", "most_frequent": "most-frequent"})

# An option by the names it has and the form of its value, which a flag does not have.
OPTIONS = {
    INPUT: {
        "--target PATH": "Rows to represent, in the same formats; repeatable. Default: the source "
        "itself.",
        "--columns NAME,GLOB": "Columns to compare: names or globs, separated by commas; "
        "repeatable. A name counts even if another option names it too. Default: the columns of "
        "vectors if there are any, otherwise all columns except those named by other options.",
        "--exclude NAME,GLOB": "Columns not to compare: names or globs, separated by commas; "
        "repeatable.",
        "--where CONDITION": "Use only rows of source and target with this condition on their "
        "columns, such as \"year >= 2020 and kind in ('a', 'b')\". Comparisons, in, is null, and, "
        "or, not, parentheses. Put column names with spaces or symbols between backticks.",
        "--id COL": "Column with row ids.",
        "--label COL": "Column with class labels.",
        "--weights COL": "Column of the target with row weights.",
        "--image-size N": "Resize images to N x N pixels. Default: their common size, or 32 x 32 "
        "if their sizes differ.",
        "--colour": "Read images in colour instead of greyscale.",
        "--sample-rows N": "Use a random sample of at most N rows of a target table, drawn in one "
        "pass.",
        "--assume-shuffled": "Sample whole row groups. Correct only if the rows are in random "
        "order.",
        "--cache DIR": "Folder that keeps samples for later runs.",
    },
    PREPARATION: {
        "--standardize": "Scale each column to mean 0 and standard deviation 1.",
        "--normalize": "Scale each row to length 1.",
        "--pca N|FRACTION": "Keep N principal components, or as many as explain a fraction of the "
        "variance such as 0.95.",
        "--categories one-hot|gower": "Use text columns as categories: as one-hot columns, or "
        "with Gower's distance.",
        "--impute mean|median|most-frequent": "Replace missing values by this statistic of their "
        "column. Default: missing values are an error.",
    },
    PROBLEM: {
        "-k --prototypes N|FRACTION|auto": "Number of rows to select: an integer, a fraction of "
        "the source rows such as 0.05, or auto.",
        "--metric NAME": "Metric between rows; see `protobandit metrics`. Default: levenshtein for "
        "texts, manhattan with --categories gower, otherwise euclidean.",
        "--metric-param KEY=VALUE": "Parameter of the metric, such as p=3; repeatable.",
        "--fixed ROWS|@FILE": "Rows that must be selected, separated by commas: row numbers from "
        "0, or ids with --id. @FILE reads them from a file, one per line.",
        "--groups COL": "Column with the groups for --at-least and --at-most.",
        "--at-least N|GROUP=N": "Minimum number of selected rows per group, or of one group; "
        "repeatable, for exceptions. If a group has fewer than N rows, all of them are selected; "
        "with GROUP=N this is an error.",
        "--at-most N|GROUP=N": "Maximum number of selected rows per group, or of one group; "
        "repeatable, for exceptions.",
        "--min-distance D": "Least distance between two selected rows, in the metric; there may be "
        "fewer than -k rows. Excludes near-duplicates.",
        "--by COL": "Select separately for each value of this column; -k is the total number.",
    },
    SEARCH: {
        "--method NAME": "Method; see `protobandit methods`. Default: auto, which is localsearch "
        "for many rows and lazybandit for few.",
        "--param KEY=VALUE": "Parameter of the method, such as epsilon=0.2; repeatable.",
        "--effort fast|balanced|thorough|NUMBER": "Effort of auto, lazybandit and localsearch. "
        "Default: balanced.",
        "--certified RATIO": "Search with growing effort until the cost is proven to be at most "
        "RATIO times the best possible cost, such as 1.05.",
        "--seed N": "Random seed; the same seed gives the same result. Default: 0.",
        "--jobs N": "Number of threads; -1 means all cores. Default: all cores.",
        "--confidence P": "Probability that the bound holds. Default: 0.95.",
        "--kind auto|exact|rigorous|asymptotic": "exact computes every dissimilarity and holds for "
        "certain; rigorous draws rows and holds with the given probability for any data; "
        "asymptotic need not read the whole target, holds with about that probability, and only if "
        "no outlier that was never drawn matters. auto is exact up to 2e8 dissimilarities (source "
        "rows times target rows) without --evaluations, otherwise rigorous. Default: auto.",
        "--evaluations N": "Maximum number of computed dissimilarities, such as 1e8.",
    },
    LIMITS: {
        "--max-evaluations N": "Limit of computed dissimilarities, such as 1e9: auto, lazybandit "
        "and localsearch plan a smaller search, other methods stop with the best result so far.",
        "--max-seconds S": "Stop after S seconds, with the best result so far.",
        "--max-memory SIZE": "Memory that the search may use, such as 4GB. The plan becomes "
        "smaller, if the method allows it (lazybandit then leaves out source rows); otherwise the "
        "call is refused. Default: 4 GiB for methods that allow it.",
        "--checkpoint": "Save the search to OUT.checkpoint, so that --resume can continue it. The "
        "file is removed when the search is complete and its result is written.",
        "--checkpoint-every S": "Seconds between two checkpoints. Default: 5.",
        "--resume": "Continue from OUT.checkpoint. The file must exist unless --checkpoint is "
        "given too.",
        "--workers N": "Start N worker processes with Dask that read Parquet files in parts, for "
        "rows that do not fit into memory. They end with the command.",
        "--scheduler ADDRESS": "Use the workers of a Dask scheduler, such as tcp://host:8786. "
        "They must be able to read the files.",
        "--worker-memory SIZE": "Memory of each worker of --workers, such as 2GB. Default: an "
        "equal share of all memory.",
        "--keep-partial": "On Ctrl-C, SIGTERM or SIGHUP, write the best result so far. A second "
        "one writes nothing.",
    },
    OUTPUT: {
        "--report": "Also write report.html, a page to view.",
        "--show NAME,NAME": "Columns that the report shows first, separated by commas; repeatable.",
        "--labelled FILE": "Also write every target row with its prototype to this .parquet or "
        ".csv file.",
        "--certify": "Also compute a certificate: a bound on the cost relative to the best "
        "possible cost.",
        "--format csv|parquet": "Format of tables. Default: csv.",
        "--excel-safe": "Put an apostrophe before CSV cells that a spreadsheet would take for "
        "formulas.",
        "--dry-run": "Estimate the cost and exit.",
        "--no-save": "Do not change selection.json.",
        "--force": "Replace existing output files.",
        "--json": "Print one JSON object instead of text.",
        "--quiet -q": "Print only the requested output.",
    },
}
_BY_NAME = {
    usage.split()[0]: (usage, panel, text)
    for panel, entries in OPTIONS.items()
    for usage, text in entries.items()
}


@cache
def listed(name: str, **rest: Any) -> Any:
    """Return an option of the table by its first name."""
    return option(*_BY_NAME[name], **rest)


def option(usage: str, panel: str, help: str, **rest: Any) -> Any:
    """Return an option; ``usage`` is as in the table, and ``help`` states the default."""
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    value = "".join(words[len(names) :])  # "" for a flag, else typer may show <bool>
    return typer.Option(
        *names, metavar=value, help=help, rich_help_panel=panel, show_default=False, **rest
    )


def complete_method(incomplete: str) -> list[str]:
    """Return the methods that start with these letters."""
    from protobandit.search.methods.table import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


def complete_effort(incomplete: str) -> list[str]:
    """Return the names of efforts that start with these letters."""
    return [name for name in ("fast", "balanced", "thorough") if name.startswith(incomplete)]


def complete_metric(incomplete: str) -> list[str]:
    """Return the metrics that start with these letters."""
    from protobandit.metrics.metrics import METRICS, PARAMETERS

    return [name for name in {**METRICS, **PARAMETERS} if name.startswith(incomplete)]


_FORMATS = (
    f"Input files: {listed_suffixes()}, or a folder of them. A .txt file holds one text per line. "
    f"Text tables may be compressed (.gz, .bz2, .zst, .xz). Several files, a quoted glob, folders "
    f"such as year=2024, or a .zip archive are read as one set. Also URLs (s3://, https://, "
    f"zip://a.csv::b.zip), and - for standard input."
)
Sources = Annotated[list[str], typer.Argument(metavar="SOURCE", help=_FORMATS, show_default=False)]
Rows = Annotated[list[str], typer.Argument(metavar="ROWS", help=_FORMATS, show_default=False)]
Saved = Annotated[
    Path,
    typer.Argument(
        metavar="SELECTION",
        help="Folder written by `protobandit select`, or its selection.json.",
        show_default=False,
    ),
]
Force = Annotated[bool, listed("--force")]
AsJson = Annotated[bool, listed("--json")]
Quiet = Annotated[bool, listed("--quiet")]
Format = Annotated[TableFormat, listed("--format")]
Seed = Annotated[str, listed("--seed")]
Jobs = Annotated[str | None, listed("--jobs")]
MovedSources = Annotated[
    list[str] | None,
    option("--source PATH", INPUT, "Path of the source files, if they have moved; repeatable."),
]
MovedTargets = Annotated[
    list[str] | None,
    option("--target PATH", INPUT, "Path of the target files, if they have moved; repeatable."),
]
