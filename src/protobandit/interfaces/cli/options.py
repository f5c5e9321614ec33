"""The options that several commands share, each defined once; panels group them in the help."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

PROBLEM = "Problem"
INPUT = "Input"
PREPARATION = "Preparation"
SEARCH = "Search"
LIMITS = "Limits and checkpoints"
OUTPUT = "Output"


class TableFormat(str, Enum):
    """Format of a table."""

    csv = "csv"
    parquet = "parquet"


class Kind(str, Enum):
    """Kind of a certificate."""

    rigorous = "rigorous"
    asymptotic = "asymptotic"


class Categories(str, Enum):
    """How categories become numbers."""

    one_hot = "one-hot"
    gower = "gower"


class Impute(str, Enum):
    """How missing values are replaced."""

    mean = "mean"
    median = "median"
    most_frequent = "most-frequent"


def option(*names: str, panel: str, help: str, **rest: Any) -> Any:
    """Return an option in a panel of the help; ``help`` states the default."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **rest)


def flag(*names: str, panel: str, help: str) -> Any:
    """Return an option without a value."""
    return option(*names, panel=panel, help=help, metavar="")  # else typer may show <bool>


def _complete_method(incomplete: str) -> list[str]:
    from protobandit.search.methods.table import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


def _complete_metric(incomplete: str) -> list[str]:
    from protobandit.metrics.metrics import METRICS, PARAMETERS

    return [name for name in {**METRICS, **PARAMETERS} if name.startswith(incomplete)]


# -- input ----------------------------------------------------------------------------------------

_FORMATS = (
    "Input files: .npy, .npz, .csv, .tsv, .parquet, .arrow, .feather, .jsonl, .txt (one text per "
    "line), or a folder of images. Several files, or a quoted glob, are read as one set."
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
Targets = Annotated[
    list[str] | None,
    option(
        "--target",
        panel=INPUT,
        metavar="PATH",
        help="Rows to represent, in the same formats; repeatable. Default: the source itself.",
    ),
]
MovedSources = Annotated[
    list[str] | None,
    option(
        "--source",
        panel=INPUT,
        metavar="PATH",
        help="Path of the source files, if they have moved; repeatable.",
    ),
]
MovedTargets = Annotated[
    list[str] | None,
    option(
        "--target",
        panel=INPUT,
        metavar="PATH",
        help="Path of the target files, if they have moved; repeatable.",
    ),
]
Columns = Annotated[
    list[str] | None,
    option(
        "--columns",
        panel=INPUT,
        metavar="GLOB",
        help="Feature columns, as names or globs; repeatable. Default: all columns except those "
        "named by other options.",
    ),
]
Id = Annotated[str | None, option("--id", panel=INPUT, metavar="COL", help="Column with row ids.")]
Label = Annotated[
    str | None, option("--label", panel=INPUT, metavar="COL", help="Column with class labels.")
]
Weights = Annotated[
    str | None,
    option("--weights", panel=INPUT, metavar="COL", help="Column of the target with row weights."),
]
ImageSize = Annotated[
    str | None,
    option(
        "--image-size",
        panel=INPUT,
        metavar="N",
        help="Resize images to N x N pixels. Default: their common size, or 32 x 32 if their "
        "sizes differ.",
    ),
]
Colour = Annotated[
    bool, flag("--colour", panel=INPUT, help="Read images in colour instead of greyscale.")
]
SampleRows = Annotated[
    str | None,
    option(
        "--sample-rows",
        panel=INPUT,
        metavar="N",
        help="Use a random sample of at most N rows of a target table, drawn in one pass.",
    ),
]
AssumeShuffled = Annotated[
    bool,
    flag(
        "--assume-shuffled",
        panel=INPUT,
        help="Sample whole row groups. Correct only if the rows are in random order.",
    ),
]
Cache = Annotated[
    str | None,
    option("--cache", panel=INPUT, metavar="DIR", help="Folder that keeps samples for later runs."),
]

# -- preparation ----------------------------------------------------------------------------------

Standardize = Annotated[
    bool,
    flag(
        "--standardize",
        panel=PREPARATION,
        help="Scale each column to mean 0 and standard deviation 1.",
    ),
]
Normalize = Annotated[
    bool, flag("--normalize", panel=PREPARATION, help="Scale each row to length 1.")
]
PCA = Annotated[
    str | None,
    option(
        "--pca",
        panel=PREPARATION,
        metavar="N|FRACTION",
        help="Keep N principal components, or as many as explain a fraction of the variance such "
        "as 0.95.",
    ),
]
CategoriesAs = Annotated[
    Categories | None,
    option(
        "--categories",
        panel=PREPARATION,
        metavar="one-hot|gower",
        help="Use text columns as categories: as one-hot columns, or with Gower's distance.",
    ),
]
ImputeAs = Annotated[
    Impute | None,
    option(
        "--impute",
        panel=PREPARATION,
        metavar="mean|median|most-frequent",
        help="Replace missing values by this statistic of their column. Default: missing values "
        "are an error.",
    ),
]

# -- problem --------------------------------------------------------------------------------------

K = Annotated[
    str,
    option(
        "-k",
        "--prototypes",
        panel=PROBLEM,
        metavar="N|FRACTION|auto",
        help="Number of rows to select: an integer, a fraction of the source rows such as 0.05, "
        "or auto.",
    ),
]
MetricName = Annotated[
    str | None,
    option(
        "--metric",
        panel=PROBLEM,
        metavar="NAME",
        autocompletion=_complete_metric,
        help="Metric between rows; see `protobandit metrics`. Default: levenshtein for texts, "
        "manhattan with --categories gower, otherwise euclidean.",
    ),
]
MetricParam = Annotated[
    list[str] | None,
    option(
        "--metric-param",
        panel=PROBLEM,
        metavar="KEY=VALUE",
        help="Parameter of the metric, such as p=3; repeatable.",
    ),
]
Fixed = Annotated[
    str | None,
    option(
        "--fixed",
        panel=PROBLEM,
        metavar="ROWS|@FILE",
        help="Rows that must be selected, separated by commas: row numbers from 0, or ids with "
        "--id. @FILE reads them from a file, one per line.",
    ),
]
Groups = Annotated[
    str | None,
    option(
        "--groups",
        panel=PROBLEM,
        metavar="COL",
        help="Column with the groups for --at-least and --at-most.",
    ),
]
AtLeast = Annotated[
    list[str] | None,
    option(
        "--at-least",
        panel=PROBLEM,
        metavar="N|GROUP=N",
        help="Minimum number of selected rows per group, or of one group; repeatable.",
    ),
]
AtMost = Annotated[
    list[str] | None,
    option(
        "--at-most",
        panel=PROBLEM,
        metavar="N|GROUP=N",
        help="Maximum number of selected rows per group, or of one group; repeatable.",
    ),
]
By = Annotated[
    str | None,
    option(
        "--by",
        panel=PROBLEM,
        metavar="COL",
        help="Select separately for each value of this column; -k is the total number.",
    ),
]

# -- search ---------------------------------------------------------------------------------------

MethodName = Annotated[
    str,
    option(
        "--method",
        panel=SEARCH,
        metavar="NAME",
        autocompletion=_complete_method,
        help="Method; see `protobandit methods`. Default: lazybandit, if it supports the "
        "constraints.",
    ),
]
Param = Annotated[
    list[str] | None,
    option(
        "--param",
        panel=SEARCH,
        metavar="KEY=VALUE",
        help="Parameter of the method, such as epsilon=0.2; repeatable.",
    ),
]
Effort = Annotated[
    str | None,
    option(
        "--effort",
        panel=SEARCH,
        metavar="fast|balanced|thorough|NUMBER",
        help="Effort of lazybandit. Default: balanced.",
    ),
]
Seed = Annotated[
    str,
    option(
        "--seed",
        panel=SEARCH,
        metavar="N",
        help="Random seed; the same seed gives the same result. Default: 0.",
    ),
]
Jobs = Annotated[
    str | None,
    option(
        "--jobs",
        panel=SEARCH,
        metavar="N",
        help="Number of threads; -1 means all cores. Default: all cores.",
    ),
]
MaxEvaluations = Annotated[
    str | None,
    option(
        "--max-evaluations",
        panel=LIMITS,
        metavar="N",
        help="Stop after N computed dissimilarities, such as 1e9, with the best result so far.",
    ),
]
MaxSeconds = Annotated[
    str | None,
    option(
        "--max-seconds",
        panel=LIMITS,
        metavar="S",
        help="Stop after S seconds, with the best result so far.",
    ),
]
MaxMemory = Annotated[
    str | None,
    option(
        "--max-memory",
        panel=LIMITS,
        metavar="SIZE",
        help="Memory for stored dissimilarities, such as 4GB. Default: half of the free memory.",
    ),
]

# -- output ---------------------------------------------------------------------------------------

Force = Annotated[bool, flag("--force", panel=OUTPUT, help="Replace existing output files.")]
AsJson = Annotated[
    bool, flag("--json", panel=OUTPUT, help="Print one JSON object instead of text.")
]
Quiet = Annotated[
    bool, flag("--quiet", "-q", panel=OUTPUT, help="Print only the requested output.")
]
Format = Annotated[
    TableFormat,
    option("--format", panel=OUTPUT, metavar="csv|parquet", help="Format of tables. Default: csv."),
]
