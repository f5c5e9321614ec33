"""All commands, in the order of the help, each with the examples at the end of its own."""

from protobandit.interfaces.cli import (
    assign_command,
    certify_command,
    compare_command,
    demo_command,
    list_commands,
    report_command,
    select_command,
)
from protobandit.interfaces.cli.app import app
from protobandit.interfaces.cli.app import main as main

for _command, _examples in (
    (select_command.select, select_command.EXAMPLES),
    (assign_command.assign, assign_command.EXAMPLES),
    (report_command.report, report_command.EXAMPLES),
    (certify_command.certify, certify_command.EXAMPLES),
    (compare_command.compare, compare_command.EXAMPLES),
    (list_commands.methods, list_commands.METHODS_EXAMPLES),
    (list_commands.metrics, list_commands.METRICS_EXAMPLES),
    (demo_command.demo, demo_command.EXAMPLES),
):
    app.command(epilog="\n\n".join(["For example:", *map("`{}`".format, _examples)]))(_command)
