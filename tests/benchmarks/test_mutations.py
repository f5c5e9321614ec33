"""Changes of a file, and which of them its tests do not notice."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.mutations import ROOT, mirror, mutants

SOURCE = '''"""A docstring with 1 number."""

from functools import cache

@cache
def f(x: int | None = 3, *, lock) -> float:
    if x is None or x < 2:
        fsync(x)
    with lock:
        total = 0.5 + min(x, 4)
    return {"a": total, "b": not x} if True else f"{x + 1}"
'''


def changed(source):
    return {(mutant.before, mutant.after) for mutant in mutants(source)}


def test_changes_of_a_file():
    found = changed(SOURCE)
    assert ("x < 2", "x <= 2") in found
    assert ("x < 2", "not x < 2") in found
    assert ("x is None", "x is not None") in found
    assert ("x is None or x < 2", "x is None and x < 2") in found
    assert ("fsync(x)", "(left out)") in found
    assert ("0.5 + min(x, 4)", "0.5 - min(x, 4)") in found
    assert ("min(x, 4)", "max(x, 4)") in found
    assert ("0.5", "1.0") in found
    assert ("4", "5") in found
    assert ("True", "False") in found
    assert ("not x", "x") in found
    assert ("{'a': total, 'b': not x}", "{'b': not x}") in found
    assert any(before.startswith("with lock") and "lock" not in after for before, after in found)


def test_annotations_decorators_and_texts_are_left_alone():
    assert not {before for before, _ in changed(SOURCE)} & {"int | None", "cache", "1", "x + 1"}


def test_arguments_of_calls_are_left_out():
    found = {after for before, after in changed("digest(a, b, c, d=1)") if before != "1"}
    assert {
        "digest(b, c, d=1)",
        "digest(a, c, d=1)",
        "digest(a, b, d=1)",
        "digest(a, b, c)",
    } < found
    assert not any("digest(" in after for _, after in changed("digest(a, b)"))


def test_every_change_is_one_change_of_the_whole_file():
    base = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in mutants(SOURCE):
        compile(mutant.source, "changed", "exec")
        assert mutant.source != SOURCE
        assert len(set(mutant.source.splitlines()) ^ set(base)) <= 4, str(mutant)


def test_the_test_file_of_a_module():
    file = Path("src/protobandit/search/arms/kl_lucb.py")
    assert mirror(file) == str(Path("tests/search/arms/test_kl_lucb.py"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_survivors_are_changes_that_no_test_notices(tmp_path):
    """The test tells + from -, but not whether the end of a range is included."""
    for name in ("src/small", "tests", "benchmarks", "docs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "src/small/__init__.py").write_text("def f(x):\n    return x + 1 if x < 5 else 0\n")
    (tmp_path / "tests/test_small.py").write_text(
        "from small import f\n\ndef test_f():\n    assert (f(2), f(9)) == (3, 0)\n"
    )
    script = f"""
from pathlib import Path
from benchmarks import mutations
mutations.ROOT = Path({str(tmp_path)!r})
file = Path("src/small/__init__.py")
chosen = list(mutations.mutants((mutations.ROOT / file).read_text()))
for mutant in mutations.survivors(file, ["tests/test_small.py"], chosen):
    print(mutant)
"""

    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.splitlines() == ["2: x < 5  ->  x <= 5", "2: 5  ->  6"]
