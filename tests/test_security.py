"""What the package never does: execute what it reads, start processes, use the network."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import protobandit

ROOT = Path(protobandit.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# Modules that execute what they read, start processes or open connections.
MODULES = {
    *("pickle", "marshal", "shelve", "dill", "cloudpickle", "subprocess", "multiprocessing"),
    *("socket", "ssl", "http", "urllib", "ftplib", "smtplib", "requests", "fsspec", "webbrowser"),
    "aiohttp",
    *("ctypes", "code", "runpy"),
}
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "execv", "spawnv"}
# Machine code of loops is called through ctypes. Public names and libraries are imported by names
# that stand in the package. One file opens URLs that the user passes. The source of loops is
# compiled to compare its bytecode, which is never run.
ALLOWED = {
    ("kernels/compiler/calling.py", "ctypes"),
    ("kernels/compiler/loop_compiler.py", "compile"),
    ("kernels/compiler/machine.py", "ctypes"),
    ("rows/files/remote.py", "fsspec"),
    ("run/executors/dask_executor.py", "pickle"),  # for the class of an error only
    ("rows/files/remote.py", "aiohttp"),
}


def offences(tree):
    """Yield the forbidden modules and calls of a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            yield from {(node.module or "").split(".")[0]} & MODULES
        elif isinstance(node, ast.Call):
            function = node.func
            own = isinstance(function, ast.Attribute)
            if own and isinstance(function.value, ast.Name) and function.value.id == "os":
                yield from {function.attr} & CALLS
            yield from {getattr(function, "id", "")} & CALLS
            for keyword in node.keywords:
                is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg == "allow_pickle" and not is_false:
                    yield "allow_pickle"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_file_can_execute_what_it_reads(path):
    name = path.relative_to(ROOT).as_posix()
    found = {(name, offence) for offence in offences(ast.parse(path.read_text(encoding="utf-8")))}
    assert found <= ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "def f():\n    from urllib.request import urlopen",
        "eval('1')",
        "os.system('ls')",
        "np.load(file, allow_pickle=True)",
        "np.load(file, allow_pickle=flag)",
    ],
)
def test_the_rules_see_an_offender(code):
    assert list(offences(ast.parse(code)))


SCRIPT = """
import sys

WATCHED = (
    *("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "pickle."),
    *("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"),
)
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(WATCHED) else None)

import numpy as np
import protobandit as pb
from protobandit.__main__ import main

rows = np.random.default_rng(0).normal(size=(60, 3))
np.savetxt("rows.csv", rows, delimiter=",", header="x,y,z", comments="")
np.savez("rows.npz", rows)
for name in ("rows.csv", "rows.npz"):
    options = "-k", "3", "--report", "--quiet", "--checkpoint"
    sys.argv = ["protobandit", "select", name, *options, "--out", f"{name}.out"]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    with open(f"{name}.out/selection.json") as file:
        pb.Selection.from_json(file.read()).assign(rows)
pb.select(rows, k=3, method="pam").certify()
assert not seen, seen
try:
    import socket
    socket.socket()
finally:
    assert seen, "the audit hook works"
"""


def test_a_run_starts_no_process_and_opens_no_connection(tmp_path):
    """Files in, a report out, a selection read back. Kernels are not compiled here."""
    paths = os.pathsep.join(sys.path)
    environment = {**os.environ, "PROTOBANDIT_NUMPY_ONLY": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
