"""Cases in processes of their own, so that a crash of the interpreter has a name.

A batch writes one line when a case starts and one when it ends. If the process dies, the case that
was running is the one that killed it, and a new process continues after it.
"""

from __future__ import annotations

import faulthandler
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import IO

from benchmarks.fuzz.cases import Outcome, kind_of, run_case

PROGRAM = (sys.executable, "-m", "benchmarks.fuzz")
_LONGEST = 300  # seconds of one case; compiling on a busy machine is slow


def run_here(seed: int, numbers: range, kind: str | None = None) -> None:
    """Run cases in this process and print a line as each starts and ends."""
    faulthandler.enable()
    for number in numbers:
        print(json.dumps({"started": number}), flush=True)
        faulthandler.dump_traceback_later(_LONGEST, exit=True)
        outcome = run_case(seed, number, kind=kind)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"outcome": asdict(outcome)}), flush=True)


def run_batch(
    seed: int, numbers: range, kind: str | None = None, *, program: Sequence[str] = PROGRAM
) -> Iterator[Outcome]:
    """Run cases in other processes and yield their outcomes."""
    while len(numbers):
        command = [*program, "--batch", "--seed", str(seed)]
        command += ["--first", str(numbers[0]), "--cases", str(len(numbers))]
        command += [] if kind is None else ["--kind", kind]
        running = numbers[0]
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
            _started(command, errors) as process,
        ):
            for line in process.stdout or ():
                record = json.loads(line)
                running = record.get("started", running)
                if "outcome" in record:
                    yield Outcome(**record["outcome"])
                    numbers = numbers[1:]
            code = process.wait()
            errors.seek(0)
            text = " ".join(errors.read().split())[-300:]
        if len(numbers):
            complaint = f"the process ended with code {code}: {text}"
            yield Outcome(running, kind or kind_of(seed, running), complaints=[complaint])
            numbers = numbers[1:]


def _started(command: Sequence[str], errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
