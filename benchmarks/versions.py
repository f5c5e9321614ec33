"""Install the package with every Python, and with the lowest versions of its dependencies.

    .ci/versions [--only 3.12,lowest] [--out FILE]

Builds wheel and sdist, installs the wheel in a new environment per version of Python, and runs
there: `pip check`, a few calls, `protobandit demo`, and the tests in `TESTS`, which come from the
sdist. "lowest" installs the lower bound of every requirement on Python 3.11. Writes
docs/results/versions.json and versions.md; ``--only`` keeps the results of other versions there.

A Python comes from the PATH or pyenv, from the packages of the system, from `uv python install`, or
from Debian testing in a folder of its own (root only), in this order.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

from packaging.requirements import Requirement

from benchmarks.common import machine
from benchmarks.common.files import write_text
from benchmarks.common.pages import table
from benchmarks.common.records import RESULTS, read_measurement, write_measurement

ROOT = Path(__file__).parents[1]
FILE = RESULTS / "versions.json"
PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10")
LOWEST, PYTHON_OF_LOWEST = "lowest", "3.11"
TESTS = (
    "kernels",
    "test_select.py",
    "test_surface.py",
    "test_examples.py",
    "rows/test_frames.py",
    "rows/test_containers.py",
    "rows/files/test_opening.py",
    "rows/preparation/test_transformer.py",
    "result/test_plots.py",
    "result/test_serialization.py",
    "result/test_table.py",
    "interfaces/estimators/test_selector.py",
    "interfaces/cli/test_main.py",
    "interfaces/jobs/test_table_formats.py",
    "run/checkpoint/test_archive.py",
    "run/executors",
)
_SHOWN = ("numpy", "scipy", "scikit-learn", "llvmlite", "narwhals", "pyarrow", "pandas", "polars")

_CALLS = """
import tempfile
import numpy as np
import protobandit as pb

rows = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
print(pb.plan(rows, k=10).evaluations)
for method in ("auto", "localsearch", "lazygreedy", "protobandit", "fasterpam"):
    assert pb.select(rows, k=5, method=method, random_state=0).k == 5
selection = pb.select(rows[:500], rows, k=10, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    path = selection.save(folder)
    assert pb.Selection.load(path).indices.tolist() == selection.indices.tolist()
    selection.report(folder)
assert selection.certify().cost_ratio >= 1
assert pb.KMedoids(n_clusters=3, random_state=0).fit(rows).labels_.shape == (2000,)
assert pb.select(["ant", "ants", "bee", "bees"], k=2).k == 2
"""


@dataclass
class Place:
    """Where an interpreter runs: in this system, or in a system of its own below ``root``."""

    python: str
    origin: str
    room: Path  # a folder that both sides see
    root: Path | None = None

    def inside(self, path: Path) -> str:
        """Return a path of the room as the interpreter sees it."""
        return str(path) if self.root is None else f"/{path.relative_to(self.root)}"

    def run(
        self, *command: str | Path, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        shown = [self.inside(each) if isinstance(each, Path) else each for each in command]
        where = cwd or self.room
        if self.root is not None:
            # Only this process sees the mount, which ends with it.
            steps = f'cd {self.inside(where)} && mount -t proc proc /proc && exec "$@"'
            shown = [
                "unshare",
                "--mount",
                "chroot",
                str(self.root),
                "sh",
                "-c",
                steps,
                "sh",
                *shown,
            ]
        environment = {
            **os.environ,
            "PROTOBANDIT_CODE_FOLDER": self.inside(self.room / "code"),
            "HOME": self.inside(self.room),
            "TMPDIR": "/tmp" if self.root is not None else os.environ.get("TMPDIR", "/tmp"),
        }
        environment.pop("PYTHONPATH", None)
        environment.pop("VIRTUAL_ENV", None)
        return subprocess.run(
            shown, cwd=where, env=environment, capture_output=True, text=True, check=False
        )


@dataclass
class Result:
    """What happened with one version."""

    name: str
    python: str = ""
    origin: str = ""
    failed: str = ""  # the step that failed, "" if none did
    reason: str = ""
    tests: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""


# -- interpreters ---------------------------------------------------------------------------------


def find_python(name: str, room: Path) -> tuple[Place | None, list[str]]:
    """Return an interpreter, or None; and what was tried in vain."""
    tried = []
    for attempt in (_installed, _from_system, _from_uv, _from_testing):
        place = attempt(name, room)
        if isinstance(place, Place):
            return place, tried
        tried.append(place)
    return None, tried


def _installed(name: str, room: Path) -> Place | str:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = shutil.which(f"python{name}")
    candidates = [Path(found)] if found else []
    for path in [*sorted(pyenv.glob(f"{name}.*/bin/python{name}")), *candidates]:
        done = _quietly(str(path), "-c", "import ensurepip, venv")
        if done.returncode == 0:
            return Place(str(path), "pyenv" if pyenv in path.parents else "the PATH", room)
    return "neither on the PATH nor in pyenv"


def _from_system(name: str, room: Path) -> Place | str:
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return "no packages of the system"
    packages = [f"python{name}", f"python{name}-venv"]
    if _quietly("apt-get", "install", "-y", "-qq", *packages).returncode:
        return "no package of the system"
    return Place(f"/usr/bin/python{name}", "a package of the system", room)


def _from_uv(name: str, room: Path) -> Place | str:
    folder = room / "uv"
    done = _quietly("uv", "python", "install", "--install-dir", str(folder), name)
    found = [*folder.glob(f"*/bin/python{name}")]
    return Place(str(found[0]), "uv", room) if found else f"uv: {_last(done.stderr)}"


def _from_testing(name: str, room: Path) -> Place | str:
    """Make a small Debian testing, which has Pythons that are newer than this system."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "Debian testing: needs root"
    _quietly("apt-get", "install", "-y", "-qq", "debootstrap")
    root = room / "testing"
    packages = f"python{name},python{name}-venv,ca-certificates"
    options = ["--variant=minbase", f"--include={packages}", "testing", str(root)]
    done = _quietly("debootstrap", *options)
    if not (root / f"usr/bin/python{name}").exists():
        return f"Debian testing: {_last(done.stdout)}"
    for path in ("etc/resolv.conf", "etc/hosts"):
        if Path("/", path).exists():
            shutil.copy(Path("/", path), root / path)
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.exists():  # this machine may trust more than Debian does
        shutil.copy(certificates, root / "etc/ssl/certs/ca-certificates.crt")
    inner = root / "room"
    inner.mkdir()
    return Place(f"/usr/bin/python{name}", "a package of Debian testing", inner, root)


def _quietly(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\b(error|failed)\b", line, re.IGNORECASE)]
    return ((errors or lines or ["no reason given"])[-1])[:200]


# -- requirements ---------------------------------------------------------------------------------


def lower_bounds(requirements: list[str]) -> list[str]:
    """Return requirements that demand the lower bound of each; extras of the package are left out.

    >>> lower_bounds(["numpy>=1.26", "dask[array]>=2025.1,<2027", "protobandit[test]"])
    ['numpy==1.26', 'dask[array]==2025.1']
    """
    found = []
    for text in requirements:
        requirement = Requirement(text)
        least = [each.version for each in requirement.specifier if each.operator == ">="]
        if least and (requirement.marker is None or requirement.marker.evaluate({"extra": "test"})):
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            found.append(f"{requirement.name}{extras}=={least[0]}")
    return [*dict.fromkeys(found)]


def required(wheel: Path) -> list[str]:
    """Return the requirements of the package and of all its extras except those of developers."""
    import zipfile

    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().split("\n\n", 1)[0].splitlines()
    texts = [line.removeprefix("Requires-Dist: ") for line in lines if "Requires-Dist: " in line]
    of_developers = re.compile(r"extra == ['\"](dev|docs)['\"]")
    return [re.sub(r";.*", "", text) for text in texts if not of_developers.search(text)]


# -- one version ----------------------------------------------------------------------------------


def try_version(name: str, packages: Path, room: Path) -> Result:
    """Install and test the package with one version."""
    result = Result(name)
    place, tried = find_python(PYTHON_OF_LOWEST if name == LOWEST else name, room)
    if place is None:
        result.failed, result.reason = "python", "; ".join(tried)
        return result
    result.origin = place.origin
    shutil.copytree(packages, place.room / "packages")
    wheel = next((place.room / "packages").glob("*.whl"))
    tests = next((place.room / "packages").glob("*/tests"))
    environment = place.room / "venv"
    inside = environment / "bin" / "python"
    demo = place.room / "demo"
    demo.mkdir()
    (place.room / "calls.py").write_text(_CALLS, encoding="utf-8")
    wanted = [f"{place.inside(wheel)}[test,pandas,polars]"]
    # Old versions warn of what newer versions of their own dependencies deprecate.
    lenient = ["-W", "default"] if name == LOWEST else []
    if name == LOWEST:
        wanted += lower_bounds(required(wheel))
    chosen = [f"tests/{each}" for each in TESTS]
    pytest = ["-m", "pytest", "-p", "no:cacheprovider", *lenient, *chosen]
    steps: dict[str, list[str | Path]] = {
        "environment": [place.python, "-m", "venv", environment],
        "installation": [inside, "-m", "pip", "install", "-q", *wanted],
        "pip check": [inside, "-m", "pip", "check"],
        "calls": [inside, place.room / "calls.py"],
        "demo": [environment / "bin" / "protobandit", "demo", "-k", "10"],
        "tests": [inside, *pytest],
    }
    for step, command in steps.items():
        cwd = tests.parent if step == "tests" else demo
        done = place.run(*command, cwd=cwd)
        if done.returncode:
            print(done.stdout[-6000:], done.stderr[-3000:], file=sys.stderr)
            result.failed, result.reason = step, _last(done.stdout + "\n" + done.stderr)
            break
        if step == "tests":
            result.tests = done.stdout.strip().splitlines()[-1]
    result.python = place.run(inside, "--version").stdout.removeprefix("Python ").strip()
    listed = place.run(inside, "-m", "pip", "list", "--format", "json").stdout
    installed = {each["name"].lower(): each["version"] for each in json.loads(listed or "[]")}
    result.versions = {each: installed[each] for each in _SHOWN if each in installed}
    return result


def build(folder: Path) -> None:
    """Build wheel and sdist, and unpack the tests of the sdist without the package."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    shutil.rmtree(next(folder.glob("*/src")))


# -- results --------------------------------------------------------------------------------------


def page(path: Path) -> Iterator[str]:
    """Yield the lines of the page."""
    measurement = read_measurement(path)
    session = measurement.session
    results = measurement.figures["results"]
    yield "# Versions that were tried"
    yield ""
    yield (
        "`.ci/versions` builds wheel and sdist, installs the wheel in a new environment, and runs "
        "there `pip check`, a few calls, `protobandit demo` and some files of tests, which come "
        'from the sdist. "lowest" has exactly the lower bounds of pyproject.toml.'
    )
    yield ""
    rows = [
        [
            each["name"],
            each["python"] or "–",
            each["origin"] or "could not be had",
            f"**{each['failed']} failed:** {each['reason']}" if each["failed"] else "works",
            each["tests"].strip("= ") or "–",
            each["commit"] or "unknown",
        ]
        for each in results
    ]
    yield table(["", "Python", "from", "result", "tests", "commit"], rows)
    yield ""
    yield table(
        ["", *_SHOWN],
        [[each["name"], *(each["versions"].get(p, "–") for p in _SHOWN)] for each in results],
    )
    yield ""
    commit = f"commit {session.commit}" if session.commit else "unknown commit"
    yield f"Data: [versions.json](versions.json), `{session.command}`, {commit}, {session.date}."
    yield f"Machine: {session.machine}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = (LOWEST, *PYTHONS)
    parser.add_argument("--only", default=",".join(names), help=f"some of {','.join(names)}")
    parser.add_argument("--out", type=Path, default=FILE, help="data file")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if not {*chosen} <= {*names}:
        parser.error(f"--only={options.only} is not allowed. Use some of {','.join(names)}.")
    started = perf_counter()
    results = []
    if options.out.exists():
        kept = read_measurement(options.out).figures["results"]
        results = [Result(**each) for each in kept if each["name"] not in chosen]
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(folder) / "packages"
        packages.mkdir()
        build(packages)
        for name in chosen:
            room = Path(folder) / name
            room.mkdir()
            result = try_version(name, packages, room)
            result.commit = machine.commit()
            results = sorted([*results, result], key=lambda each: names.index(each.name))
            print(f"{name:7} {result.failed or 'works'} {result.reason} {result.tests}", flush=True)
            shutil.rmtree(room, ignore_errors=True)
            figures = {"results": [asdict(each) for each in results]}
            seconds = perf_counter() - started
            write_measurement(options.out, "benchmarks.versions", figures, seconds=seconds)
            write_text(options.out.with_suffix(".md"), "\n".join(page(options.out)) + "\n")
    if any(each.failed and each.failed != "python" for each in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
