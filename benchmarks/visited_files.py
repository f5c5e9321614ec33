"""Print the files of the package that one call visits, in the order of the first visit.

    python -m benchmarks.visited_files [select] [protobandit] [certificate] [command-line]

A file is visited when a Python function defined in it is called, on the calling thread or on a
thread that the call starts. Code that runs while a module is imported does not count. Each call
runs in a new process, so that nothing is cached from the call before.

Loops are not compiled: their NumPy references run, which are in the same files.

The script uses public names only. Set ``PYTHONPATH`` to the ``src`` folder of another checkout to
count its files.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import protobandit as pb

PACKAGE = Path(pb.__file__).parent


def main(arguments: list[str] | None = None) -> None:
    """Print the visited files of each call; a single call is measured in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("calls", nargs="*", metavar="CALL", help=f"some of {', '.join(CALLS)}")
    names = parser.parse_args(arguments).calls or list(CALLS)
    for name in names:
        if name not in CALLS:
            parser.error(f"CALL={name!r} is unknown. Pass some of {', '.join(CALLS)}.")
    if len(names) == 1:
        print(report(names[0], CALLS[names[0]]()))
        return
    for name in names:
        environment = {**os.environ, "PROTOBANDIT_NUMPY_ONLY": "1"}
        subprocess.run([sys.executable, __file__, name], check=True, env=environment)


def report(name: str, files: list[str]) -> str:
    """Return the count and the list of files as text."""
    return "\n".join([f"{name}: {len(files)} files", *(f"  {file}" for file in files), ""])


@contextmanager
def visited_files(package: Path = PACKAGE) -> Iterator[list[str]]:
    """Yield a list to which the files below ``package`` are added as they are visited.

    Threads are seen if they start within the block.
    """
    files: list[str] = []
    known: dict[
        str, str | None
    ] = {}  # code file -> its name in the list, None if not below package
    seen: set[str] = set()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or path in seen:
            return
        if path not in known:
            known[path] = _name_below(package, path)
        name = known[path]
        if name is None:
            seen.add(path)
        elif not _is_importing(frame, known):
            seen.add(path)
            files.append(name)

    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield files
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])


def _name_below(package: Path, path: str) -> str | None:
    """Return a path relative to the package, or None if it lies elsewhere."""
    try:
        return Path(path).relative_to(package).as_posix()
    except ValueError:
        return None


def _is_importing(frame: FrameType | None, known: dict[str, str | None]) -> bool:
    """Return whether a frame runs because a module of the package is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and known.get(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _source_and_target() -> tuple[np.ndarray, np.ndarray]:
    """Return 1,000 source and 20,000 target rows: the default method samples such a target."""
    random = np.random.default_rng(0)
    shapes = (1000, 8), (20_000, 8)
    source, target = (random.normal(size=shape).astype(np.float32) for shape in shapes)
    return source, target


def visited_by_select(method: str = "auto") -> list[str]:
    """Return the files that `select` visits."""
    source, target = _source_and_target()
    select = pb.select  # loads the modules before the count starts
    with visited_files() as files:
        select(source, target, k=20, method=method, random_state=0)
    return files


def visited_by_certificate() -> list[str]:
    """Return the files that `Selection.certify` visits."""
    source, target = _source_and_target()
    selection = pb.select(source, target, k=20, random_state=0)
    with visited_files() as files:
        selection.certify(random_state=0)
    return files


def visited_by_command_line() -> list[str]:
    """Return the files that ``protobandit select`` visits: .npy files in, a report out."""
    from protobandit.__main__ import main as run

    with tempfile.TemporaryDirectory() as folder:
        source, target, out = (Path(folder) / name for name in ("s.npy", "t.npy", "result"))
        for path, rows in zip((source, target), _source_and_target(), strict=True):
            np.save(path, rows)
        arguments = ["select", source, "--target", target, "-k", 20, "--seed", 0]
        sys.argv = ["protobandit", *map(str, arguments), "--out", str(out), "--report"]
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), visited_files() as files:
            try:
                run()
            except SystemExit as end:
                if end.code:
                    raise
    return files


CALLS: dict[str, Callable[[], list[str]]] = {
    "select": visited_by_select,
    "protobandit": lambda: visited_by_select("protobandit"),
    "certificate": visited_by_certificate,
    "command-line": visited_by_command_line,
}

if __name__ == "__main__":
    main()
