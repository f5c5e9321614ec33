"""The command line: parse, call, write; no logic. Results go to stdout, all else to stderr."""

from protobandit._cli import _commands as _commands
from protobandit._cli._app import app, main

__all__ = ["app", "main"]
