"""The command line itself: its name, its version, and how it ends.

Exit codes: 0 done, 1 failed, 2 the call cannot be carried out as given. Whatever goes wrong is one
line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from protobandit import __version__
from protobandit.foundation.errors import InvalidInput, ProtobanditError
from protobandit.interfaces.cli import output

# What typer raises for a call it cannot parse; where its class lives depends on typer's release.
_UsageError: Any = typer.BadParameter.__base__

_INTERRUPTED = 130  # which some releases return for Ctrl-C, where others raise Abort

app = typer.Typer(
    name="protobandit",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        # By typer's own standards a wrong call is a box of several lines.
        code = _command().main(
            args=words, prog_name="protobandit", standalone_mode=False, obj=words
        )
    except _UsageError as error:
        output.fail(_said(error), code=2)
    except InvalidInput as error:
        output.fail(str(error), code=2)
    except (ProtobanditError, OSError) as error:
        output.fail(str(error), code=1)
    except MemoryError:
        output.fail(
            "The memory of this machine is not enough. Pass --max-memory, fewer rows, or a "
            "--target sampled by --sample-rows.",
            code=1,
        )
    except typer.Abort:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        output.fail("Interrupted; nothing was written.", code=1)
    raise SystemExit(code if isinstance(code, int) else 0)


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def _said(error: Any) -> str:
    message = error.format_message().replace(": Value error, ", ": ").rstrip(".")
    context = getattr(error, "ctx", None)
    path = "protobandit" if context is None else context.command_path
    return f"{message}. See `{path} --help`."


def _show_version(is_asked: bool) -> None:
    if is_asked:
        output.say(f"protobandit {__version__}\n")
        raise typer.Exit


@app.callback()
def protobandit(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            metavar="",
            help="Show the version.",
        ),
    ] = False,
) -> None:
    """Choose a few real rows that stand for many.

    New here? Run: protobandit demo
    """
