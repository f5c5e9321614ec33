"""Write docs/cli.md from the help of the commands: ``python docs/make_cli.py``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import typer

from protobandit.interfaces.cli.main import app

PAGE = Path(__file__).with_name("cli.md")

_HEAD = """# The command line

This page is generated from the help of the commands by `python docs/make_cli.py`.

`protobandit COMMAND --help` prints the same text. Exit codes: 0 success, 1 failure, 2 invalid call
or input, 3 partial result: fewer prototypes than requested, or something left out after an
interruption, 4 drift: the ratio of `protobandit check` exceeds `--fail-above`. Ctrl-C, SIGTERM and
SIGHUP end a command alike: a checkpoint is saved, and nothing else is written unless
`--keep-partial` is given. Results go to stdout; progress and errors go to stderr, one line each.
`protobandit --install-completion` installs completion of commands and options for your shell.
"""


def page() -> str:
    """Return the page."""
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    contents = "\n".join(
        f"- [{name}](#{name}): {_paragraphs(command.help)[0]}" for name, command in commands.items()
    )
    parts = [_HEAD, contents, *(_section(name, each) for name, each in commands.items())]
    return "\n".join(part.strip() + "\n" for part in parts)


def _section(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    shown = [f"{p.metavar or p.name.upper()}{'...' if p.nargs == -1 else ''}" for p in arguments]
    lines = [f"## {name}", "", f"`protobandit {' '.join([name, *shown])} [OPTIONS]`", ""]
    lines += ["\n\n".join(_paragraphs(command.help)), ""]
    for argument, word in zip(arguments, shown, strict=True):
        lines.append(f"- `{word}`: {argument.help}")
    for panel, options in _panels(command).items():
        lines += ["", f"**{panel}**", "", "| option | |", "|---|---|"]
        lines += [f"| {_names(option)} | {_cell(option.help)} |" for option in options]
    lines += ["", "```sh", *re.findall(r"`(.+?)`(?=\n|$)", command.epilog), "```"]
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]


def _panels(command: Any) -> dict[str, list[Any]]:
    panels: dict[str, list[Any]] = {}
    for option in command.params:
        if option.param_type_name == "option" and option.name != "help":
            panels.setdefault(option.rich_help_panel or "Options", []).append(option)
    return panels


def _names(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar}"
    return ", ".join(f"`{name}{value}`" for name in option.opts).replace("|", "\\|")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
