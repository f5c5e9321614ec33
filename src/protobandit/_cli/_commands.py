"""All commands, in the order of the help, each with the examples at the end of its own."""

from protobandit._cli import _assign, _certify, _compare, _demo, _lists, _report, _select
from protobandit._cli._app import app

for _command, _examples in (
    (_select.select, _select.EXAMPLES),
    (_assign.assign, _assign.EXAMPLES),
    (_report.report, _report.EXAMPLES),
    (_certify.certify, _certify.EXAMPLES),
    (_compare.compare, _compare.EXAMPLES),
    (_lists.methods, _lists.METHODS_EXAMPLES),
    (_lists.metrics, _lists.METRICS_EXAMPLES),
    (_demo.demo, _demo.EXAMPLES),
):
    app.command(epilog="\n\n".join(["For example:", *map("`{}`".format, _examples)]))(_command)
