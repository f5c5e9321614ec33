"""Create one environment per package of the comparison, from pinned requirements.

    python benchmarks/peers/setup.py DIR [NAME ...]

DIR/NAME is the environment of requirements/NAME.txt; pass ``--peers DIR`` to the benchmarks. The
versions of further dependencies come from requirements/NAME.lock (``pip freeze``), if it exists.
The packages are not installed beside this one because their dependencies differ, and so do their
licences (kmedoids is under the GPL). If an environment cannot be created, the reason is printed and
the others are still created. A first line ``# python <= 3.11`` requires an older Python, which is
searched on the PATH if the running one is newer.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"
_MADE_FROM = "made-from.txt"  # marks a complete environment, and contains its pins
_OLDEST = 9


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, *given = sys.argv[1:]
    known = names()
    unknown = sorted(set(given) - set(known))
    if unknown:
        sys.exit(f"Got the unknown environments {unknown}. Use some of {known}.")
    failures = {name: make(Path(folder), name) for name in given or known}
    for name, reason in failures.items():
        home = Path(folder) / name
        print(f"{home} contains {packages(name)[0]}" if reason is None else f"{name}: {reason}")
    sys.exit(int(any(failures.values())))


def names() -> list[str]:
    """Return the names of the environments."""
    return sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))


def packages(name: str) -> list[str]:
    """Return the pins of an environment, the compared package first."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _files(name: str) -> dict[str, Path]:
    """Return the files of an environment by the options of pip that read them."""
    files = {"-r": REQUIREMENTS / f"{name}.txt", "-c": REQUIREMENTS / f"{name}.lock"}
    return {option: path for option, path in files.items() if path.exists()}


def make(folder: Path, name: str) -> str | None:
    """Create folder/name unless it is complete; return why that failed, or None."""
    home, files = folder / name, _files(name)
    pins = "".join(path.read_text(encoding="utf-8") for path in files.values())
    mark = home / _MADE_FROM
    if mark.exists() and mark.read_text(encoding="utf-8") == pins:
        return None
    python, reason = _python_for(pins)
    if python is None:
        return reason
    if home.exists() and not (home / "pyvenv.cfg").exists():
        return f"{name} in that folder is not an environment. Move it away, or pass another folder"
    shutil.rmtree(home, ignore_errors=True)
    inside = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    options = [word for option, path in files.items() for word in (option, str(path))]
    for command in (
        [python, "-m", "venv", str(home)],
        [str(inside), "-m", "pip", "install", "--quiet", *options],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(home, ignore_errors=True)
            return _reason(done.stderr)
    mark.write_text(pins, encoding="utf-8")
    return None


def _python_for(pins: str) -> tuple[str | None, str]:
    """Return a suitable interpreter, or None and the reason."""
    asked = re.match(r"# python <= 3\.(\d+)", pins)
    newest = int(asked[1]) if asked else sys.version_info.minor
    if sys.version_info[:2] <= (3, newest):
        return sys.executable, ""
    older = (shutil.which(f"python3.{minor}") for minor in range(newest, _OLDEST - 1, -1))
    found = next(filter(None, older), None)
    return found, f"needs Python 3.{newest} or older, which is not on the PATH"


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no reason given"])[-1]


if __name__ == "__main__":
    main()
