"""What a system lacks has an alternative: the package without POSIX."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import protobandit as pb
from protobandit.foundation import memory
from protobandit.interfaces.cli import output
from protobandit.rows.files import row_file

# Other libraries have alternatives of their own, for systems on which they were built.
WITHOUT_POSIX = """
import mmap, os, signal, sys
from pathlib import Path
import filelock, joblib, llvmlite.binding, narwhals, numpy as np, pyarrow.csv, pyarrow.dataset
import scipy.sparse
import sklearn.base, sklearn.utils.validation, threadpoolctl, typer

for name in ("fcntl", "resource", "termios", "pwd", "grp", "psutil"):
    sys.modules[name] = None
for name in ("fork", "register_at_fork", "getuid", "geteuid", "posix_fallocate", "posix_fadvise",
             "fchmod", "O_NOFOLLOW", "sysconf", "sched_getaffinity", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGUSR1", "SIGALRM", "SIGKILL"):
    delattr(signal, name)
for name in [name for name in dir(mmap) if name.startswith("MADV")]:
    delattr(mmap, name)

import protobandit as pb
from protobandit.foundation import memory
from protobandit.interfaces.cli.main import main

memory._read = lambda path: ""  # no /proc
assert memory.available_memory() > 0
folder = sys.argv[1]
rows = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
np.save(f"{folder}/rows.npy", rows)
selection = pb.select(pb.data.open_rows(f"{folder}/rows.npy"), k=3, random_state=0)
np.savetxt(f"{folder}/rows.csv", rows, delimiter=",", header="a,b,c", comments="")
sampled = pb.data.open_rows(f"{folder}/rows.csv", sample=100, cache=Path(folder))
assert len(pb.select(sampled, k=3, random_state=0).indices) == 3
sys.argv = ["protobandit", "select", f"{folder}/rows.csv", "-k", "3", "--out", f"{folder}/out",
            "--report", "--checkpoint", "--quiet"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert pb.Selection.load(f"{folder}/out/selection.json").k == 3
print("done")
"""


def test_a_job_without_posix(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(pb.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("done\n"), done.stderr
    assert (tmp_path / "out" / "report.html").exists()
    assert not [*tmp_path.rglob("*.part")]


def test_physical_memory_where_python_cannot_ask_the_system(monkeypatch):
    monkeypatch.delattr(os, "sysconf", raising=False)
    status = SimpleNamespace(total=8 << 30)
    fake = SimpleNamespace(virtual_memory=lambda: status)
    monkeypatch.setitem(sys.modules, "psutil", fake)
    assert memory._half_of_physical() == 4 << 30
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert memory._half_of_physical() == 2 << 30


@pytest.mark.parametrize(("codes", "is_error"), [({errno.EINVAL}, False), ({errno.EPIPE}, True)])
def test_a_closed_pipe_of_windows_is_not_an_error(monkeypatch, codes, is_error):
    class Closed(io.StringIO):
        name = "<stdout>"

        def write(self, text):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(output, "_CLOSED", codes)
    monkeypatch.setattr(output, "_discard_output", lambda stream: None)
    monkeypatch.setattr(sys, "stdout", Closed())
    if is_error:
        with pytest.raises(pb.ProtobanditError, match="Invalid argument"):
            output.print_text("text")
    else:
        assert not output.print_text("text")


def test_an_unfinished_file_is_closed_before_it_is_removed(tmp_path, monkeypatch):
    files, unlink = [], Path.unlink

    def unlink_of_windows(path, missing_ok=False):
        if not all(file.closed for file in files):
            raise PermissionError(errno.EACCES, "used by another process")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_of_windows)
    with row_file.unfinished_rows(tmp_path, (2, 2), np.dtype("f4"), 0o600) as rows:
        files.append(rows.file)
    assert not [*tmp_path.iterdir()]
