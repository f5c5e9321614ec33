"""Change one expression of a file at a time, and print the changes that its tests do not notice.

    python -m benchmarks.mutations FILE... [--tests TEST...] [--lines 10-80] [--skip 20] [--most 50]

FILE is a module below ``src/protobandit``; TEST defaults to its mirror in ``tests``. Source and
tests are copied to a temporary folder. One copy of the file after the other is changed there, and
the tests run until the first failure, in a forked process that has already loaded NumPy, SciPy,
scikit-learn and llvmlite. A change that no test notices is a survivor: a test is missing, or the
change makes no difference.

The changes: comparisons and operators are exchanged, conditions are negated, numbers and truth
values are altered, ``min`` and ``max`` are exchanged, statements that only call something are left
out (``fsync``), the bodies of ``with`` blocks run without them (locks), and entries are removed
from dictionaries and calls (parts of an identity).
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "numpy",
    "scipy.sparse",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.metrics",
    "llvmlite.binding",
)
LIBRARIES += "joblib", "filelock", "pytest", "hypothesis.strategies"
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
NAMES |= {"argmin": "argmax", "argmax": "argmin", "log1p": "log", "expm1": "exp"}
NAMES |= {"ceil": "floor", "floor": "ceil", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A changed file: the line of the change, the code before and after it, and the whole file."""

    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.line}: {_short(self.before)}  ->  {_short(self.after)}"


def _short(code: str) -> str:
    text = " ".join(code.split())
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-25:]}"


# -- the changes ----------------------------------------------------------------------------------


def mutants(source: str) -> Iterator[Mutant]:
    """Yield the changed versions of a file, in the order of its lines."""
    tree = ast.parse(source)
    found = [
        (parent, name, index, node, changed)
        for parent, name, index, node in _places(tree)
        for changed in changes(node)
    ]
    found.sort(key=lambda change: (change[3].lineno, change[3].col_offset))
    for parent, name, index, node, changed in found:
        _put(parent, name, index, changed)
        after = "" if isinstance(changed, ast.Pass) else ast.unparse(changed)
        text = ast.unparse(ast.fix_missing_locations(tree))
        _put(parent, name, index, node)
        yield Mutant(node.lineno, ast.unparse(node), after or "(left out)", text)


def _places(parent: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr | ast.stmt]]:
    """Yield where expressions and statements are, without annotations, decorators and texts."""
    for name, value in ast.iter_fields(parent):
        if name in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, (ast.expr, ast.stmt)):
                yield parent, name, index, node
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr):
                yield from _places(node)


def _put(parent: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node is replaced by."""
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[position] = COMPARISONS[type(operator)]()
            yield other
            if isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and len(node.ops) == 1:
                yield ast.UnaryOp(ast.Not(), copy.deepcopy(node))
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        if not _is_type(node):
            other = copy.deepcopy(node)
            other.op = OPERATORS[type(node.op)]()
            yield other
    elif isinstance(node, ast.BoolOp):
        other = copy.deepcopy(node)
        other.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield other
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Constant):
        yield from _other_values(node.value)
    elif isinstance(node, ast.With):
        yield ast.If(ast.Constant(True), node.body, [])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)
    elif isinstance(node, ast.Dict) and len(node.keys) > 1:
        for position in range(len(node.keys)):
            other = copy.deepcopy(node)
            del other.keys[position], other.values[position]
            yield other


def _is_type(node: ast.BinOp | ast.AugAssign) -> bool:
    """Return whether an operator joins types or adds texts, as in ``int | None``."""
    parts = [node.value] if isinstance(node, ast.AugAssign) else [node.left, node.right]
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, (str, type(None)))
        for part in parts
    )


def _other_values(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value * 2 if value else 1.0)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in NAMES:
        other = copy.deepcopy(node)
        if isinstance(other.func, ast.Attribute):
            other.func.attr = NAMES[name]
        elif isinstance(other.func, ast.Name):
            other.func.id = NAMES[name]
        yield other
    for position in range(len(node.args)) if len(node.args) > 2 else ():
        other = copy.deepcopy(node)
        del other.args[position]
        yield other
    for position in range(len(node.keywords)):
        other = copy.deepcopy(node)
        del other.keywords[position]
        yield other


# -- the tests ------------------------------------------------------------------------------------


class Copy:
    """A copy of the project in a temporary folder, in which one file is changed."""

    def __init__(self, folder: Path, file: Path, tests: list[str]) -> None:
        self._folder, self._file, self._tests = folder, folder / file, tests
        skipped = shutil.ignore_patterns("__pycache__")
        for name in ("src", "tests", "benchmarks", "docs"):
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
        for path in (*ROOT.glob("*.md"), ROOT / "pyproject.toml"):
            shutil.copy(path, folder)

    def passes(self, source: str, seconds: float) -> bool:
        """Return whether the tests pass with this content of the file, within some seconds."""
        self._file.write_text(source, encoding="utf-8")
        child = os.fork()
        if child == 0:
            os._exit(self._run_tests())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                _end_group(child)  # what a test has left running
                return status == 0
            time.sleep(0.02)
        _end_group(child)
        os.waitpid(child, 0)
        return False

    def _run_tests(self) -> int:
        import pytest

        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.chdir(self._folder)
        paths = [str(self._folder / "src"), str(self._folder)]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        sys.path[:] = [*paths, *(path for path in sys.path if path not in ("", str(ROOT)))]
        for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
            del sys.modules[name]
        base = f"--basetemp={self._folder / 'temporary'}"
        # pytest warns of plugins that were loaded before it.
        options = [
            "-x",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        return int(pytest.main([*options, base, *self._tests]))


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def mirror(file: Path) -> str:
    """Return the test file of a module: ``tests/a/test_b.py`` for ``src/protobandit/a/b.py``."""
    inner = file.relative_to("src/protobandit")
    return str(Path("tests") / inner.with_name(f"test_{inner.name}"))


def survivors(file: Path, tests: list[str], chosen: list[Mutant]) -> Iterator[Mutant]:
    """Yield the changes after which the tests still pass."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        project = Copy(Path(folder), file, tests)
        start = time.monotonic()
        source = (ROOT / file).read_text(encoding="utf-8")
        if not project.passes(ast.unparse(ast.parse(source)), 600):
            raise SystemExit(f"{' '.join(tests)} fail without a change")
        limit = 20 + 5 * (time.monotonic() - start)  # other processes may slow the tests down
        for mutant in chosen:
            if project.passes(mutant.source, limit):
                yield mutant


def main(arguments: list[str] | None = None) -> None:
    """Print the survivors of each file as they are found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--tests", nargs="+", help="test files; the default is the mirror")
    parser.add_argument("--lines", default="1-1000000", help="first and last line, as in 10-80")
    parser.add_argument("--skip", type=int, default=0, help="changes to leave out at the start")
    parser.add_argument("--most", type=int, help="the largest number of changes per file")
    options = parser.parse_args(arguments)
    first, last = map(int, options.lines.split("-"))
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for library in LIBRARIES:
        importlib.import_module(library)
    for name in options.files:
        file = Path(name).resolve().relative_to(ROOT)
        source = (ROOT / file).read_text(encoding="utf-8")
        chosen = [each for each in mutants(source) if first <= each.line <= last][options.skip :]
        chosen = chosen[: options.most]
        n_left = 0
        for mutant in survivors(file, options.tests or [mirror(file)], chosen):
            n_left += 1
            print(f"{file}:{mutant}", flush=True)
        print(f"{file}: {len(chosen)} changes, {n_left} survivors", flush=True)


if __name__ == "__main__":
    main()
