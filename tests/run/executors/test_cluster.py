"""Commands that start workers, or use those of a scheduler."""

from __future__ import annotations

import json
import signal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import protobandit as pb
from protobandit.interfaces.cli.main import main
from protobandit.run.executors.cluster import opened_client

ROWS = np.random.default_rng(0).normal(size=(3000, 3)).astype(np.float32)


@pytest.fixture
def files(tmp_path):
    for number, rows in enumerate(np.split(ROWS, 3)):
        table = pa.table({f"c{i}": rows[:, i] for i in range(3)})
        parquet.write_table(table, tmp_path / f"{number}.parquet")
    return tmp_path


def run(capsys, *arguments):
    """Return the exit code and what was printed."""
    try:
        code = main(list(map(str, arguments)))
    except SystemExit as end:
        code = end.code
    return code or 0, capsys.readouterr()


def test_workers_and_schedulers_give_the_result_of_python(files, capsys):
    pattern, out = files / "*.parquet", files / "out"
    common = ("select", pattern, "-k", 4, "--out", out, "--json", "--quiet", "--force")
    code, printed = run(capsys, *common, "--workers", 1, "--worker-memory", "2GB")
    assert code == 0, printed.err
    found = json.loads(printed.out)
    assert found["rows"] == 3000
    assert found["indices"] == pb.select(ROWS, k=4, random_state=0).indices.tolist()
    with opened_client(workers=1) as client:
        # Ctrl-C of a terminal reaches workers too, and only the command is to answer it.
        assert set(client.run(signal.getsignal, signal.SIGINT).values()) == {signal.SIG_IGN}
        code, printed = run(capsys, *common, "--scheduler", client.scheduler.address)
    assert code == 0, printed.err
    assert json.loads(printed.out)["indices"] == found["indices"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workers", "1", "--scheduler", "tcp://localhost:1"), "Pass one of them"),
        (("--worker-memory", "1GB"), "--worker-memory requires --workers"),
        (("--workers", "1", "--worker-memory", "1MB"), "less than a worker needs"),
        (("--workers", "1", "--report"), "--report and --labelled are not supported"),
    ],
)
def test_options_that_do_not_fit(files, capsys, arguments, message):
    code, printed = run(
        capsys, "select", files / "*.parquet", "-k", 4, "--out", files / "o", *arguments
    )
    assert code == 2
    assert message in printed.err
