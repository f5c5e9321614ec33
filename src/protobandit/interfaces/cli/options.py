"""The options that commands share, each said once; panels group them in the help."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

READING = "Reading files"
PROBLEM = "What is wanted"
PREPARING = "Preparing columns"
SEARCH = "How it searches"
LIMITS = "Limits"
OUTPUT = "Output"


class TableFormat(str, Enum):
    """How a table is written."""

    csv = "csv"
    parquet = "parquet"


class Kind(str, Enum):
    """What a certificate rests on."""

    rigorous = "rigorous"
    asymptotic = "asymptotic"


class Categories(str, Enum):
    """How categories become numbers."""

    one_hot = "one-hot"
    gower = "gower"


class Impute(str, Enum):
    """What missing values become."""

    mean = "mean"
    median = "median"
    most_frequent = "most-frequent"


def _option(*names: str, panel: str, help: str, **rest: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **rest)


def _flag(*names: str, panel: str, help: str) -> Any:
    return _option(*names, panel=panel, help=help, metavar="")  # else typer may show <bool>


def _methods(incomplete: str) -> list[str]:
    from protobandit.search.methods.table import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


def _metrics(incomplete: str) -> list[str]:
    from protobandit.metrics.metrics import METRICS, PARAMETERS

    return [name for name in {**METRICS, **PARAMETERS} if name.startswith(incomplete)]


# -- files ----------------------------------------------------------------------------------------

_FORMATS = (
    "Files of rows: .npy, .npz, .csv, .tsv, .parquet, .arrow, .feather, .jsonl, .txt (lines of "
    "text), or a folder of images; several, or a glob in quotes, are one set."
)
Sources = Annotated[list[str], typer.Argument(metavar="SOURCE", help=_FORMATS, show_default=False)]
Rows = Annotated[list[str], typer.Argument(metavar="ROWS", help=_FORMATS, show_default=False)]
Saved = Annotated[
    Path,
    typer.Argument(
        metavar="SELECTION",
        help="The folder that `protobandit select` wrote, or its selection.json.",
        show_default=False,
    ),
]
Targets = Annotated[
    list[str] | None,
    _option(
        "--target",
        panel=READING,
        metavar="PATH",
        help="The rows to stand for, in the same formats; may be given several times. Without it "
        "the source stands for itself.",
    ),
]
OtherSources = Annotated[
    list[str] | None,
    _option("--source", panel=READING, metavar="PATH", help="Where the source rows are now."),
]
OtherTargets = Annotated[
    list[str] | None,
    _option("--target", panel=READING, metavar="PATH", help="Where the target rows are now."),
]
Columns = Annotated[
    list[str] | None,
    _option(
        "--columns",
        panel=READING,
        metavar="GLOB",
        help="The columns to compare rows by, as names or globs; may be given several times. "
        "Without it, all columns but those named by the options below.",
    ),
]
Id = Annotated[
    str | None,
    _option("--id", panel=READING, metavar="COL", help="The column that names the rows."),
]
Label = Annotated[
    str | None,
    _option("--label", panel=READING, metavar="COL", help="The column that says what a row is."),
]
Weights = Annotated[
    str | None,
    _option(
        "--weights",
        panel=READING,
        metavar="COL",
        help="The column of the target that says how much a row counts.",
    ),
]
ImageSize = Annotated[
    str | None,
    _option(
        "--image-size",
        panel=READING,
        metavar="N",
        help="Resize images to N x N pixels. Without it they keep the size they have in common; "
        "images of different sizes become 32 x 32.",
    ),
]
Colour = Annotated[
    bool, _flag("--colour", panel=READING, help="Read images in colour instead of grey.")
]
SampleRows = Annotated[
    str | None,
    _option(
        "--sample-rows",
        panel=READING,
        metavar="N",
        help="Keep at most N random rows of the target, a table, drawn in one pass over it.",
    ),
]
AssumeShuffled = Annotated[
    bool,
    _flag(
        "--assume-shuffled",
        panel=READING,
        help="Sample whole row groups, which is right only if the rows are in random order.",
    ),
]
Cache = Annotated[
    str | None,
    _option(
        "--cache",
        panel=READING,
        metavar="DIR",
        help="The folder in which samples are kept for the next run.",
    ),
]

# -- preparing ------------------------------------------------------------------------------------

Standardize = Annotated[
    bool,
    _flag("--standardize", panel=PREPARING, help="Bring each column to mean 0, deviation 1."),
]
Normalize = Annotated[
    bool, _flag("--normalize", panel=PREPARING, help="Bring each row to length 1.")
]
PCA = Annotated[
    str | None,
    _option(
        "--pca",
        panel=PREPARING,
        metavar="N|SHARE",
        help="Keep N principal components, or as many as explain a share such as 0.95.",
    ),
]
CategoriesAs = Annotated[
    Categories | None,
    _option(
        "--categories",
        panel=PREPARING,
        metavar="one-hot|gower",
        help="Use columns of text as categories: as one-hot columns, or by Gower's distance.",
    ),
]
ImputeAs = Annotated[
    Impute | None,
    _option(
        "--impute",
        panel=PREPARING,
        metavar="mean|median|most-frequent",
        help="Fill missing values with the column's own; without it they are refused.",
    ),
]

# -- the problem ----------------------------------------------------------------------------------

K = Annotated[
    str,
    _option(
        "-k",
        "--prototypes",
        panel=PROBLEM,
        metavar="N|SHARE|auto",
        help="How many rows to choose: a number, a share of the source such as 0.05, or auto.",
    ),
]
MetricName = Annotated[
    str | None,
    _option(
        "--metric",
        panel=PROBLEM,
        metavar="NAME",
        autocompletion=_metrics,
        help="How rows are compared: see `protobandit metrics`. Without it, levenshtein for "
        "texts, manhattan with --categories gower, else euclidean.",
    ),
]
MetricParam = Annotated[
    list[str] | None,
    _option(
        "--metric-param",
        panel=PROBLEM,
        metavar="KEY=VALUE",
        help="A parameter of the metric, such as p=3; may be given several times.",
    ),
]
Fixed = Annotated[
    str | None,
    _option(
        "--fixed",
        panel=PROBLEM,
        metavar="ROWS|@FILE",
        help="Rows that must be chosen: their numbers (the first is 0), or their ids with --id, "
        "with commas between; or @FILE with one a line.",
    ),
]
Groups = Annotated[
    str | None,
    _option(
        "--groups",
        panel=PROBLEM,
        metavar="COL",
        help="The column of groups that --at-least and --at-most count.",
    ),
]
AtLeast = Annotated[
    list[str] | None,
    _option(
        "--at-least",
        panel=PROBLEM,
        metavar="N|GROUP=N",
        help="How many rows of each group there must be, or of this one; may be repeated.",
    ),
]
AtMost = Annotated[
    list[str] | None,
    _option(
        "--at-most",
        panel=PROBLEM,
        metavar="N|GROUP=N",
        help="How many rows of each group there may be, or of this one; may be repeated.",
    ),
]
By = Annotated[
    str | None,
    _option(
        "--by",
        panel=PROBLEM,
        metavar="COL",
        help="Choose for each value of this column separately; -k is the number in all.",
    ),
]

# -- the search -----------------------------------------------------------------------------------

MethodName = Annotated[
    str,
    _option(
        "--method",
        panel=SEARCH,
        metavar="NAME",
        autocompletion=_methods,
        help="See `protobandit methods`. Without it, lazybandit where that can be used.",
    ),
]
Param = Annotated[
    list[str] | None,
    _option(
        "--param",
        panel=SEARCH,
        metavar="KEY=VALUE",
        help="A parameter of the method, such as epsilon=0.2; may be given several times.",
    ),
]
Effort = Annotated[
    str | None,
    _option(
        "--effort",
        panel=SEARCH,
        metavar="fast|balanced|thorough|NUMBER",
        help="How much work lazybandit puts in. Without it, balanced.",
    ),
]
Seed = Annotated[
    str,
    _option(
        "--seed",
        panel=SEARCH,
        metavar="N",
        help="The seed of all that is drawn; 0 if not given. The same seed gives the same answer.",
    ),
]
Jobs = Annotated[
    str | None,
    _option("--jobs", panel=SEARCH, metavar="N", help="Threads; -1 or without it, all cores."),
]
MaxEvaluations = Annotated[
    str | None,
    _option(
        "--max-evaluations",
        panel=LIMITS,
        metavar="N",
        help="Stop after this many dissimilarities, such as 1e9, with the best so far.",
    ),
]
MaxSeconds = Annotated[
    str | None,
    _option(
        "--max-seconds",
        panel=LIMITS,
        metavar="S",
        help="Stop after this long, with the best so far.",
    ),
]
MaxMemory = Annotated[
    str | None,
    _option(
        "--max-memory",
        panel=LIMITS,
        metavar="SIZE",
        help="Keep at most this much in memory, such as 4GB. Without it, half of what is free.",
    ),
]

# -- output ---------------------------------------------------------------------------------------

Force = Annotated[
    bool, _flag("--force", panel=OUTPUT, help="Replace an earlier result of the same name.")
]
AsJson = Annotated[
    bool, _flag("--json", panel=OUTPUT, help="Print one JSON object instead of words.")
]
Quiet = Annotated[
    bool, _flag("--quiet", "-q", panel=OUTPUT, help="Say nothing but what was asked for.")
]
Format = Annotated[
    TableFormat,
    _option(
        "--format",
        panel=OUTPUT,
        metavar="csv|parquet",
        help="How tables are written; csv if not given.",
    ),
]
