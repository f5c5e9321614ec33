"""The program ``protobandit``: its commands, its version and its exit codes.

Exit codes: 0 success, 1 failure, 2 invalid call or input, 3 partial result, 4 new rows exceed the
limit of `check --fail-above`. Every error is one line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from protobandit._version import __version__
from protobandit.foundation.errors import InvalidInput, ProtobanditError
from protobandit.interfaces.cli import (
    assign_command,
    cache_command,
    certify_command,
    check_command,
    compare_command,
    compile_command,
    demo_command,
    list_commands,
    output,
    report_command,
    select_command,
    update_command,
)
from protobandit.interfaces.cli.interrupts import ending_on_signals

# The class that typer raises for a call it cannot parse; its module depends on typer's release.
_UsageError: Any = typer.BadParameter.__base__

_INTERRUPTED = 130  # some releases of typer return this for Ctrl-C, others raise Abort

app = typer.Typer(
    name="protobandit",
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        # In standalone mode typer would print a usage error as a box of several lines.
        with ending_on_signals():
            code = _command().main(
                args=words, prog_name="protobandit", standalone_mode=False, obj=words
            )
    except _UsageError as error:
        output.exit_with_error(_usage_message(error), code=2)
    except InvalidInput as error:
        output.exit_with_error(str(error), code=2)
    except (ProtobanditError, OSError) as error:
        output.exit_with_error(str(error), code=1)
    except MemoryError:
        output.exit_with_error(
            "Not enough memory. Pass --max-memory, fewer rows, or a --target with --sample-rows.",
            code=1,
        )
    except typer.Abort:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        output.exit_with_error("Interrupted; nothing was written.", code=1)
    raise SystemExit(code if isinstance(code, int) else 0)


@cache
def _command() -> Any:
    group: Any = typer.main.get_command(app)
    for command in (group, *group.commands.values()):
        _hide_types(command)
    return group


def _hide_types(command: Any) -> None:
    """Let the help show no Python types, such as <list[str]>, beside names that say enough."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None
        elif parameter.metavar is None:
            parameter.metavar = ""
    find = command.get_help_option

    def without_type(context: Any) -> Any:
        option = find(context)
        if option is not None:
            option.metavar = ""
        return option

    command.get_help_option = without_type


def _usage_message(error: Any) -> str:
    message = error.format_message().replace(": Value error, ", ": ").rstrip(".")
    if getattr(error, "option_name", None) == "--k":
        message = "No such option: --k (write -k)"
    context = getattr(error, "ctx", None)
    path = "protobandit" if context is None else context.command_path
    end = "" if message.endswith("?") else "."
    return f"{message}{end} See `{path} --help`."


def _print_version(is_requested: bool) -> None:
    if is_requested:
        output.print_text(f"protobandit {__version__}\n")
        raise typer.Exit


@app.callback()
def protobandit(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            metavar="",
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Select a few real rows (prototypes) that represent many.

    To try it without data, run: protobandit demo
    """


# In the order of the help.
for _function, _examples in (
    (select_command.select, select_command.EXAMPLES),
    (assign_command.assign, assign_command.EXAMPLES),
    (check_command.check, check_command.EXAMPLES),
    (update_command.update, update_command.EXAMPLES),
    (report_command.report, report_command.EXAMPLES),
    (certify_command.certify, certify_command.EXAMPLES),
    (compare_command.compare, compare_command.EXAMPLES),
    (list_commands.methods, list_commands.METHODS_EXAMPLES),
    (list_commands.metrics, list_commands.METRICS_EXAMPLES),
    (cache_command.cache, cache_command.EXAMPLES),
    (compile_command.compile_, compile_command.EXAMPLES),
    (demo_command.demo, demo_command.EXAMPLES),
):
    _name = _function.__name__.rstrip("_")
    app.command(_name, epilog="\n\n".join(["Examples:", *map("`{}`".format, _examples)]))(_function)
